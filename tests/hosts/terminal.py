# SPDX-License-Identifier: Apache-2.0
"""usage: terminal.py QUESTION ANSWER... -- COMMAND

Runs the command on a terminal and answers each question that begins so, the
last answer again where there are more; prints what was shown, then
"questions N, echo on|off, status N".
"""
import os, pty, select, signal, sys, termios, time
cut = sys.argv.index("--")
question, answers = os.fsencode(sys.argv[1]), sys.argv[2:cut]
argv = sys.argv[cut + 1:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
shown, asked, end = b"", 0, time.time() + 40
while time.time() < end:
    if select.select([fd], [], [], 0.2)[0]:
        try:
            block = os.read(fd, 65536)
        except OSError:
            break
        if not block:
            break
        shown += block
    if shown.count(b": ", shown.rfind(question)) and \
            shown.count(question) > asked:
        # Only once it listens without echo.
        if termios.tcgetattr(fd)[3] & termios.ECHO:
            continue
        answer = answers[min(asked, len(answers) - 1)]
        asked += 1
        if answer == "^C":
            os.kill(pid, signal.SIGINT)
        else:
            os.write(fd, os.fsencode(answer) + b"\n")
echo = "?"
try:
    echo = "on" if termios.tcgetattr(fd)[3] & termios.ECHO else "off"
except termios.error:
    pass
status = os.waitpid(pid, 0)[1]
print(shown.decode(errors="replace"))
print("questions %d, echo %s, status %d" % (asked, echo,
      os.waitstatus_to_exitcode(status)))
