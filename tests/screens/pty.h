/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty: the real program on a terminal of its own, its bytes read by libvterm.
 * The program tells by a title how many keys it has drawn (ACCEL_TEST_SYNC), so
 * that no wait is a guess.
 */
#ifndef TESTS_SCREENS_PTY_H
#define TESTS_SCREENS_PTY_H

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
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
	int		 rows, columns;
	pid_t		 child;
	VTerm		*vt;
	struct buf	 seen;
	unsigned	 keys;		/* that the program has drawn */
	struct termios	 before;
};

/* Starts argv on a terminal of that kind and size. */
static inline void
pty_start(struct terminal *t, const char *kind, int rows, int columns,
    char *const argv[])
{
	struct winsize size = { .ws_row = (unsigned short)rows,
	    .ws_col = (unsigned short)columns };

	memset(t, 0, sizeof *t);
	t->rows = rows;
	t->columns = columns;
	openpty(&t->master, &t->slave, NULL, NULL, &size);
	tcgetattr(t->slave, &t->before);
	t->vt = vterm_new(rows, columns);
	vterm_set_utf8(t->vt, 1);
	vterm_screen_enable_altscreen(vterm_obtain_screen(t->vt), 1);
	vterm_screen_reset(vterm_obtain_screen(t->vt), 1);
	fflush(NULL);
	if ((t->child = fork()))
		return;
	close(t->master);
	/* Ignored where make runs in the background. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	/* The test keeps the other end: what it was is compared there. */
	setsid();
	ioctl(t->slave, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(t->slave, i);
	if (t->slave > 2)
		close(t->slave);
	setenv("TERM", kind, 1);
	setenv("ACCEL_TEST_SYNC", "1", 1);
	unsetenv("ACCESSIBLE");
	unsetenv("COLUMNS");
	unsetenv("LINES");
	execv(argv[0], argv);
	_exit(127);
}

/* Some bytes, within the limit: false at the end or without them. */
static inline bool
pty_read(struct terminal *t)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	char bytes[4096];
	ssize_t n;

	if (poll(&p, 1, LIMIT_MS) <= 0)
		return false;
	n = read(t->master, bytes, sizeof bytes);
	if (n <= 0)
		return false;
	vterm_input_write(t->vt, bytes, (size_t)n);
	buf_add(&t->seen, bytes, (size_t)n);
	return true;
}

/* Until the mark of that many keys has come. */
static inline bool
pty_wait(struct terminal *t, unsigned keys)
{
	char mark[32];

	snprintf(mark, sizeof mark, "\033]0;%u\007", keys);
	while (!strstr(buf_text(&t->seen), mark))
		if (!pty_read(t))
			return false;
	t->keys = keys;
	return true;
}

/* Until a text has come behind the first "from" bytes. */
static inline bool
pty_wait_text(struct terminal *t, size_t from, const char *text)
{
	while (t->seen.len < from || !strstr(buf_text(&t->seen) + from, text))
		if (!pty_read(t))
			return false;
	return true;
}

static inline bool
pty_write(struct terminal *t, const char *keys)
{
	return write(t->master, keys, strlen(keys)) == (ssize_t)strlen(keys);
}

/* One key, and the screen that it makes. */
static inline bool
pty_press(struct terminal *t, const char *key)
{
	return pty_write(t, key) && pty_wait(t, t->keys + 1);
}

/* Each byte is a key. */
static inline bool
pty_type(struct terminal *t, const char *keys)
{
	char one[2] = "";

	for (; *keys; keys++) {
		one[0] = *keys;
		if (!pty_press(t, one))
			return false;
	}
	return true;
}

/* What is shown, a line each; not ASCII is "#". */
static inline void
pty_text(struct terminal *t, struct buf *all)
{
	VTermScreen *s = vterm_obtain_screen(t->vt);

	for (int y = 0; y < t->rows; y++) {
		for (int x = 0; x < t->columns; x++) {
			VTermScreenCell c;

			vterm_screen_get_cell(s, (VTermPos){ y, x }, &c);
			buf_addf(all, "%c", c.chars[0] >= ' ' &&
			    c.chars[0] < 127 ? (char)c.chars[0] :
			    c.chars[0] ? '#' : ' ');
		}
		buf_adds(all, "\n");
	}
}

static inline bool
pty_shows(struct terminal *t, const char *text)
{
	struct buf all = BUF_INIT;
	bool found;

	pty_text(t, &all);
	found = strstr(buf_text(&all), text);
	if (!found)
		for (char *l = all.data, *e; (e = strchr(l, '\n')); l = e + 1)
			printf("# %.*s\n", (int)(e - l), l);
	buf_clear(&all);
	return found;
}

/* Where the cursor stands. */
static inline VTermPos
pty_cursor(struct terminal *t)
{
	VTermPos at = { 0, 0 };

	vterm_state_get_cursorpos(vterm_obtain_state(t->vt), &at);
	return at;
}

/* Reads on, so that the program is not blocked, until it has ended. */
static inline int
pty_finish(struct terminal *t)
{
	struct pollfd p = { .fd = t->master, .events = POLLIN };
	char bytes[4096];
	int status = 0, left = LIMIT_MS / 50;

	while (!waitpid(t->child, &status, WNOHANG)) {
		if (!left--) {		/* a test has failed: not for ever */
			kill(t->child, SIGKILL);
			waitpid(t->child, &status, 0);
			break;
		}
		if (poll(&p, 1, 50) > 0 && p.revents & POLLIN) {
			ssize_t n = read(t->master, bytes, sizeof bytes);

			if (n > 0)
				buf_add(&t->seen, bytes, (size_t)n);
		}
	}
	while (poll(&p, 1, 0) > 0 && p.revents & POLLIN) {
		ssize_t n = read(t->master, bytes, sizeof bytes);

		if (n <= 0)
			break;
		buf_add(&t->seen, bytes, (size_t)n);
	}
	return status;
}

/* As stty -g says it. */
static inline bool
pty_restored(const struct terminal *t)
{
	struct termios now;

	return !tcgetattr(t->slave, &now) &&
	    now.c_iflag == t->before.c_iflag &&
	    now.c_oflag == t->before.c_oflag &&
	    now.c_cflag == t->before.c_cflag &&
	    now.c_lflag == t->before.c_lflag &&
	    !memcmp(now.c_cc, t->before.c_cc, sizeof now.c_cc);
}

static inline const char *
pty_last(const char *text, const char *part)
{
	const char *last = NULL;

	while ((text = strstr(text, part)))
		last = text++;
	return last;
}

/* The alternate screen is left, the mouse is the terminal's, the cursor seen:
 * each sequence that takes is followed by the one that gives back. */
static inline bool
pty_left(const struct terminal *t)
{
	static const char *const pairs[][2] = {
		{ "\033[?1049h", "\033[?1049l" },
		{ "\033[?1006;1000h", "\033[?1006;1000l" },
		{ "\033[?1h", "\033[?1l" },
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const char *on = pty_last(buf_text(&t->seen), pairs[i][0]);
		const char *off = pty_last(buf_text(&t->seen), pairs[i][1]);

		if (on && (!off || off < on)) {
			printf("# %s is left on\n", pairs[i][0] + 1);
			return false;
		}
	}
	return true;
}

static inline void
pty_resize(struct terminal *t, int rows, int columns)
{
	struct winsize size = { .ws_row = (unsigned short)rows,
	    .ws_col = (unsigned short)columns };

	t->rows = rows;
	t->columns = columns;
	vterm_set_size(t->vt, rows, columns);
	ioctl(t->master, TIOCSWINSZ, &size);
}

static inline void
pty_stop(struct terminal *t)
{
	vterm_free(t->vt);
	close(t->master);
	close(t->slave);
	buf_clear(&t->seen);
}
#endif
