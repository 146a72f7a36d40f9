# SPDX-License-Identifier: Apache-2.0
"""usage: press.py KEYS UNTIL -- COMMAND

Runs accel-setup on a terminal and presses KEYS (with blanks between), each when
the one before is drawn (ACCEL_TEST_SYNC); then waits for UNTIL in what comes,
and leaves with q.  Prints all that came, then "keys N, status N".
"""
import os, pty, re, select, signal, struct, sys, termios, time, fcntl

names = {"down": "\033OB", "up": "\033OA", "enter": "\r", "escape": "\033",
         "tab": "\t", "space": " "}
cut = sys.argv.index("--")
keys, until, argv = sys.argv[1].split(), sys.argv[2], sys.argv[cut + 1:]
limit = 60
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.environ.update(TERM="xterm-256color", ACCEL_TEST_SYNC="1",
                      LC_ALL="C.UTF-8")
    os.execvp(argv[0], argv)
shown = b""


def wait(done):
    """Reads until done(), the end, or for too long."""
    global shown
    end = time.time() + limit
    while not done():
        left = end - time.time()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return False
        try:
            block = os.read(fd, 65536)
        except OSError:
            return False
        if not block:
            return False
        shown += block
    return True


def drawn(count):
    return wait(lambda: b"\033]0;%d\007" % count in shown)


pressed = 0
good = drawn(0)
for key in keys:
    if not good:
        break
    os.write(fd, os.fsencode(names.get(key, key)))
    pressed += 1
    # The last one leaves the screens for the run.
    good = pressed == len(keys) or drawn(pressed)
# Without what only moves, colours and erases.
plain = lambda: re.sub(rb"\033\[[0-9;?]*[A-Za-z]", b" ", shown)
if good:
    good = wait(lambda: until.encode() in plain())
if good:
    os.write(fd, b"q")
wait(lambda: False)
end = time.time() + limit
status = None
while time.time() < end:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    time.sleep(0.05)
else:
    os.kill(pid, signal.SIGKILL)
print(plain().decode(errors="replace"))
print("keys %d, status %s" % (pressed, status))
