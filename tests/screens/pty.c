/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty: the real program on a terminal of its own, its bytes read by libvterm.
 * The program tells by a title how many keys it has drawn (ACCEL_TEST_SYNC), so
 * that no wait is a guess.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>

#include "runtime/base/buf.h"
#include "tests/tap.h"

enum { LIMIT_MS = 20000 };

struct terminal {
	int		 master, slave;
	pid_t		 child;
	VTerm		*vt;
	struct buf	 seen;
	struct termios	 before;
};

static void
start(struct terminal *t, const char *program, const char *file,
    const char *option)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };

	memset(t, 0, sizeof *t);
	openpty(&t->master, &t->slave, NULL, NULL, &size);
	tcgetattr(t->slave, &t->before);
	t->vt = vterm_new(24, 80);
	vterm_set_utf8(t->vt, 1);
	vterm_screen_reset(vterm_obtain_screen(t->vt), 1);
	fflush(NULL);
	if ((t->child = fork()))
		return;
	login_tty(dup(t->slave));
	setenv("TERM", "xterm-256color", 1);
	setenv("ACCEL_TEST_SYNC", "1", 1);
	unsetenv("ACCESSIBLE");
	execl(program, program, "--config_file", file, option, (char *)NULL);
	_exit(127);
}

/* Until the mark of that many keys has come. */
static bool
wait_keys(struct terminal *t, unsigned keys)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	char mark[32], bytes[4096];
	ssize_t n;

	snprintf(mark, sizeof mark, "\033]0;%u\007", keys);
	while (!strstr(buf_text(&t->seen), mark)) {
		if (poll(&p, 1, LIMIT_MS) <= 0)
			return false;
		n = read(t->master, bytes, sizeof bytes);
		if (n <= 0)
			return false;
		vterm_input_write(t->vt, bytes, (size_t)n);
		buf_add(&t->seen, bytes, (size_t)n);
	}
	return true;
}

static bool
on_screen(struct terminal *t, const char *text)
{
	VTermScreen *s = vterm_obtain_screen(t->vt);
	struct buf all = BUF_INIT;
	bool found;

	for (int y = 0; y < 24; y++) {
		for (int x = 0; x < 80; x++) {
			VTermScreenCell c;

			vterm_screen_get_cell(s, (VTermPos){ y, x }, &c);
			buf_addf(&all, "%c", c.chars[0] >= ' ' &&
			    c.chars[0] < 127 ? (char)c.chars[0] :
			    c.chars[0] ? '#' : ' ');
		}
		buf_adds(&all, "\n");
	}
	found = strstr(buf_text(&all), text);
	if (!found)
		for (char *l = all.data, *e; (e = strchr(l, '\n')); l = e + 1)
			printf("# %.*s\n", (int)(e - l), l);
	buf_clear(&all);
	return found;
}

/* Reads on, so that the program is not blocked, until it has ended. */
static int
finish(struct terminal *t)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	char bytes[4096];
	int status = 0;

	while (!waitpid(t->child, &status, WNOHANG))
		if (poll(&p, 1, 10) > 0 &&
		    read(t->master, bytes, sizeof bytes) <= 0)
			break;
	return status;
}

static bool
restored(struct terminal *t)
{
	struct termios now;

	tcgetattr(t->slave, &now);
	return now.c_lflag == t->before.c_lflag &&
	    now.c_iflag == t->before.c_iflag &&
	    now.c_oflag == t->before.c_oflag;
}

static void
stop(struct terminal *t)
{
	close(t->master);
	close(t->slave);
	vterm_free(t->vt);
	buf_clear(&t->seen);
}

static bool
send_keys(struct terminal *t, const char *keys)
{
	return write(t->master, keys, strlen(keys)) == (ssize_t)strlen(keys);
}

/* The sequences that choose a colour: ESC [ 3x, 4x, 9x or 10x m. */
static bool
coloured(const struct terminal *t)
{
	for (const char *p = buf_text(&t->seen); (p = strstr(p, "\033[")); ) {
		const char *end = p + 2 + strspn(p + 2, "0123456789;");

		for (p += 2; *end == 'm' && p < end; p += strcspn(p, ";m") + 1) {
			long n = strtol(p, NULL, 10);

			if ((n >= 30 && n < 49 && n != 39) || n >= 90)
				return true;
		}
	}
	return false;
}

/* Draws Start and Training, and leaves; true where there were colours. */
static bool
uses_colour(const char *program, const char *file, const char *option)
{
	struct terminal t;
	bool colour;

	start(&t, program, file, option);
	ok(wait_keys(&t, 0) && send_keys(&t, "4") && wait_keys(&t, 1) &&
	    on_screen(&t, "> Distributed type"), "two screens are drawn");
	colour = coloured(&t);
	kill(t.child, SIGTERM);
	finish(&t);
	stop(&t);
	return colour;
}

int
main(void)
{
	static const int signals[] = { SIGTERM, SIGHUP };
	const char *build = getenv("top_builddir");
	char program[4096], dir[] = "pty-XXXXXX", file[64];
	struct terminal t;
	int status;

	snprintf(program, sizeof program, "%s/accel-setup",
	    build ? build : ".");
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(mkdtemp(dir) != NULL, "a folder");
	snprintf(file, sizeof file, "%s/c.yaml", dir);

	start(&t, program, file, NULL);
	ok(wait_keys(&t, 0), "the first screen is drawn");
	ok(on_screen(&t, "1/6 Start"), "it is Start");
	ok(send_keys(&t, "4") && wait_keys(&t, 1) &&
	    on_screen(&t, "> Distributed type"), "Enter goes to the fields");
	ok(send_keys(&t, "\033OB") && wait_keys(&t, 2) &&
	    on_screen(&t, "Distributed type"), "Down moves");
	ok(send_keys(&t, "q") && wait_keys(&t, 3) &&
	    on_screen(&t, "Unsaved changes"), "q asks");
	ok(send_keys(&t, "s"), "s is pressed");
	status = finish(&t);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "it has ended");
	ok(!access(file, R_OK), "the file is there");
	ok(restored(&t), "and the terminal as before");
	stop(&t);

	for (size_t i = 0; i < 2; i++) {
		start(&t, program, file, NULL);
		ok(wait_keys(&t, 0) && !restored(&t), "a screen is open");
		kill(t.child, signals[i]);
		status = finish(&t);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == signals[i],
		    "it dies of signal %d", signals[i]);
		ok(restored(&t), "and restores the terminal");
		stop(&t);
	}
	unsetenv("NO_COLOR");
	ok(uses_colour(program, file, NULL), "there are colours");
	ok(!uses_colour(program, file, "--no-color"), "not with --no-color");
	setenv("NO_COLOR", "1", 1);
	ok(!uses_colour(program, file, NULL), "nor with NO_COLOR");
	setenv("NO_COLOR", "", 1);
	ok(uses_colour(program, file, NULL), "an empty NO_COLOR says nothing");
	unlink(file);
	rmdir(dir);
	return tap_done();
}
