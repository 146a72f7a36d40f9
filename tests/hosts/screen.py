# SPDX-License-Identifier: Apache-2.0
"""usage: screen.py TEXT KEYS [TEXT KEYS...] -- COMMAND

Runs the command on a terminal of 80x24; types each KEYS ("\\n" for Enter) once
its TEXT was drawn since the keys before, the screen being drawn anew (Ctrl-L)
from time to time; prints all that was shown, then "echo on|off, status N".
"""
import fcntl, os, pty, select, struct, sys, termios, time
cut = sys.argv.index("--")
steps = list(zip(sys.argv[1:cut:2], sys.argv[2:cut:2]))
argv = sys.argv[cut + 1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(argv[0], argv)
shown, new, end = b"", b"", time.time() + 60
while time.time() < end:
    if select.select([fd], [], [], 0.5)[0]:
        try:
            block = os.read(fd, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
        new += block
    elif b"\x1b[?1049h" in shown:
        os.write(fd, b"\f")
    if steps and os.fsencode(steps[0][0]) in new:
        os.write(fd, os.fsencode(steps.pop(0)[1].replace("\\n", "\n")))
        new = b""
echo = "?"
try:
    echo = "on" if termios.tcgetattr(fd)[3] & termios.ECHO else "off"
except termios.error:
    pass
status = os.waitpid(pid, 0)[1]
print(shown.decode(errors="replace"))
print("steps left %d, echo %s, status %d" % (len(steps), echo,
      os.waitstatus_to_exitcode(status)))
