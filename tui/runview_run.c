/* SPDX-License-Identifier: Apache-2.0 */
/* runview_run: the loop of the launch screen: keys, the launcher's words, time,
 * signals; and the terminal, which is restored on every way out. */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "tui/runview.h"
#include "tui/runview_child.h"
#include "tui/runview_screen.h"
#include "tui/screen.h"
#include "tui/terminal.h"
#include "runtime/base/banned.h"

enum {
	AT_ONCE = 256 << 10,	/* bytes of output between two looks at keys */
	DRAW_MS = 100		/* between two draws that no key asked for */
};

struct loop {
	const struct runview_order *order;
	struct run_view	 v;
	struct run_child child;
	struct screen	 s;
	bool		 dirty, over;
	bool		 again, leave;	/* when the run is over */
	bool		 blind;		/* there is no terminal any more */
	unsigned	 stops;		/* that were sent */
	int64_t		 drawn;
	unsigned long	 keys;
	const char	*sync;		/* a test waits for each draw */
};

static void
draw(struct loop *l)
{
	if (l->blind)
		return;
	runview_draw(&l->v, &l->s, clock_ms());
	if (l->sync) {		/* tells a test what has been drawn */
		printf("\033]0;%lu\007", l->keys);
		fflush(stdout);
	}
	l->drawn = clock_ms();
	l->dirty = false;
}

/* The first time it is asked, and then it is not. */
static void
stop_run(struct loop *l)
{
	if (l->over)
		return;
	l->v.stop_asked = true;
	if (l->stops < 2)
		child_signal(&l->child, SIGINT);
	else
		child_signal(&l->child, SIGKILL);
	l->stops++;
	snprintf(l->v.note, sizeof l->v.note, "%s", l->stops == 1 ?
	    "Ranks were told to end; s again kills them." : l->stops == 2 ?
	    "Ranks are killed; s again gives the launcher up." :
	    "The launcher is killed; agents end what is left.");
}

static int
start_run(struct loop *l, struct err *err)
{
	l->over = l->again = false;
	l->stops = 0;
	return child_start(&l->child, l->order->accel, l->order->argv, err);
}

/* Job control as the terminal would do it: ranks, launcher, then we. */
static void
suspend(struct loop *l)
{
	struct sigaction stop = { .sa_handler = SIG_DFL }, was;

	if (!l->over && !child_pause(&l->child)) {
		child_signal(&l->child, SIGCONT);
		snprintf(l->v.note, sizeof l->v.note,
		    "The ranks cannot be stopped just now.");
		return;
	}
	endwin();
	sigaction(SIGTSTP, &stop, &was);
	kill(0, SIGTSTP);		/* here we stand still */
	sigaction(SIGTSTP, &was, NULL);
	child_signal(&l->child, SIGCONT);
	clearok(curscr, TRUE);
	refresh();
	l->dirty = true;
}

static void
obey(struct loop *l, enum run_wish wish)
{
	switch (wish) {
	case WISH_STOP:
		stop_run(l);
		break;
	case WISH_RESTART:
		l->again = true;
		stop_run(l);
		break;
	case WISH_QUIT:
		l->leave = true;
		stop_run(l);
		break;
	case WISH_SUSPEND:
		suspend(l);
		break;
	case WISH_REDRAW:
		clearok(curscr, TRUE);
		break;
	case WISH_ANSWER:
	case WISH_REFUSE:
		child_answer(&l->child, wish == WISH_ANSWER ? l->v.typed :
		    NULL);
		explicit_bzero(l->v.typed, sizeof l->v.typed);
		l->v.ask = ASK_NOTHING;
		break;
	default:
		break;
	}
}

static void
read_keys(struct loop *l)
{
	wint_t	key;
	int	kind;
	MEVENT	e;

	while ((kind = get_wch(&key)) != ERR) {
		bool code = kind == KEY_CODE_YES;

		l->dirty = true;
		l->drawn = 0;		/* at once */
		if (code && key == KEY_RESIZE)
			continue;
		l->keys++;
		if (!code || key != KEY_MOUSE)
			obey(l, runview_key(&l->v, (int)key, code));
		else if (getmouse(&e) != OK)
			continue;
		else if (e.bstate & BUTTON4_PRESSED)
			runview_scroll(&l->v, -3);
		else if (e.bstate & BUTTON5_PRESSED)
			runview_scroll(&l->v, 3);
		else if (e.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
			runview_click(&l->v, e.y);
	}
}

/* Reads what is there, up to a bound; closes at its end. */
static size_t
read_some(int *fd, char *bytes, size_t room)
{
	ssize_t n = read(*fd, bytes, room);

	if (n > 0)
		return (size_t)n;
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(*fd);
		*fd = -1;
	}
	return 0;
}

static void
read_events(struct loop *l)
{
	struct run_child *c = &l->child;
	char	 bytes[65536];
	size_t	 total = 0, n;

	while (total < AT_ONCE && c->out >= 0 &&
	    (n = read_some(&c->out, bytes, sizeof bytes))) {
		const char *at = bytes, *end = bytes + n, *nl;

		total += n;
		while ((nl = memchr(at, '\n', (size_t)(end - at)))) {
			buf_add(&c->line, at, (size_t)(nl - at));
			if (!c->skip && !c->line.failed)
				runview_event(&l->v, clock_ms(),
				    buf_text(&c->line), c->line.len);
			c->skip = false;
			c->line.failed = false;
			c->line.len = 0;
			at = nl + 1;
		}
		if (buf_add(&c->line, at, (size_t)(end - at)) < 0) {
			c->skip = true;		/* nothing that we know */
			c->line.failed = false;
			c->line.len = 0;
		}
	}
	l->dirty = true;
}

static void
read_said(struct loop *l)
{
	char	bytes[8192];
	size_t	n = read_some(&l->child.err, bytes, sizeof bytes);

	if (n)
		runview_say(&l->v, bytes, n);
	l->dirty = true;
}

static void
read_question(struct loop *l)
{
	struct run_child *c = &l->child;
	char	 bytes[1024], *nl;
	size_t	 n = read_some(&c->ask, bytes, sizeof bytes);

	if (n && buf_add(&c->question, bytes, n) < 0)
		buf_clear(&c->question);
	if (!c->question.len ||
	    !(nl = memchr(c->question.data, '\n', c->question.len)))
		return;
	*nl = '\0';
	snprintf(l->v.question, sizeof l->v.question, "%s", c->question.data);
	buf_clear(&c->question);
	explicit_bzero(l->v.typed, sizeof l->v.typed);
	l->v.help = false;
	l->v.ask = ASK_SECRET;
	l->dirty = true;
}

/* The terminal is left now, however long the end takes; and whatever the
 * launcher makes of a signal is the end. */
static void
read_signals(struct loop *l)
{
	int sig = terminal_caught();

	if (!sig)
		return;
	terminal_forget();
	if (sig == SIGUSR1 || sig == SIGUSR2) {
		child_signal(&l->child, sig);
		return;
	}
	child_signal(&l->child, sig == SIGINT || sig == SIGHUP ||
	    sig == SIGQUIT ? sig : SIGTERM);
	l->leave = true;
	if (!l->blind)
		endwin();
	l->blind = true;
}

/* Until something happens, or is due. */
static void
wait_for(struct loop *l)
{
	struct run_child *c = &l->child;
	struct pollfd	p[] = {
		{ l->blind ? -1 : STDIN_FILENO, POLLIN, 0 },
		{ c->out, POLLIN, 0 }, { c->err, POLLIN, 0 },
		{ c->ask, POLLIN, 0 },
	};
	int64_t		now = clock_ms(), due = runview_tick(&l->v, now);
	int64_t		ms = 1000 - (now - l->v.began) % 1000;

	if (due >= 0 && due - now < ms)
		ms = due - now;
	if (l->dirty && l->drawn + DRAW_MS - now < ms)
		ms = l->drawn + DRAW_MS - now;
	if (!l->over && c->out < 0 && c->err < 0 && ms > 20)
		ms = 20;		/* it ends in a moment */
	if (terminal_wait(p, 4, ms < 0 ? 0 : (int)ms) >= 0) {
		if (p[0].revents & ~POLLIN) {	/* the terminal is gone */
			child_signal(c, SIGHUP);
			l->blind = l->leave = true;
		}
		if (p[3].revents)
			read_question(l);
		if (p[1].revents)
			read_events(l);
		if (p[2].revents)
			read_said(l);
	}
	if (clock_ms() / 1000 != now / 1000)
		l->dirty = true;	/* the time that is shown */
}

static int
loop(struct loop *l, struct err *err)
{
	for (;;) {
		if (!l->blind)
			read_keys(l);
		read_signals(l);
		if (!l->over && child_over(&l->child)) {
			l->over = l->dirty = true;
			l->drawn = 0;
			runview_over(&l->v, clock_ms(), child_code(&l->child));
			child_clear(&l->child);
			if (l->again && !l->leave) {
				runview_again(&l->v, clock_ms());
				if (start_run(l, err) < 0)
					return -1;
			}
		}
		if (l->over && l->leave)
			return 0;
		if (l->over && l->again) {
			runview_again(&l->v, clock_ms());
			if (start_run(l, err) < 0)
				return -1;
			l->dirty = true;
		}
		if (l->dirty && clock_ms() - l->drawn >= DRAW_MS)
			draw(l);
		wait_for(l);
	}
}

/* "accel launch train.py", for the first line. */
static void
name_command(char *const *argv, struct buf *out)
{
	for (size_t i = 0; argv[i]; i++) {
		/* what is seen anyway */
		if (!strncmp(argv[i], "--view=", 7))
			continue;
		if (!strcmp(argv[i], "--view") && argv[i + 1]) {
			i++;
			continue;
		}
		buf_adds(out, i ? " " : "");
		buf_add_word(out, argv[i]);
	}
}

static int
with_terminal(struct loop *l, struct err *err)
{
	int ret;

	if (terminal_open(!l->order->no_mouse, err) < 0)
		return err_hint(err, "--view lines shows the run without one");
	raw();			/* ^C and ^Z are keys */
	nonl();
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		l->s.ascii = true;
	screen_setup(&l->s);
	ret = start_run(l, err);
	if (ret == 0)
		ret = loop(l, err);
	terminal_close();
	return ret;
}

int
runview_run(const struct runview_order *order, struct err *err)
{
	struct loop	l = { .order = order, .child = RUN_CHILD_INIT,
			      .s = { .ascii = order->ascii,
			      .color = order->color }, .dirty = true,
			      .sync = getenv("ACCEL_TEST_SYNC") };
	struct buf	text = BUF_INIT;
	int		code = -1;

	name_command(order->argv, &text);
	if (runview_init(&l.v, buf_text(&text), clock_ms()) < 0)
		err_nomem(err);
	else if (with_terminal(&l, err) == 0) {
		code = l.v.code;
		/* As it would stand there without a screen. */
		fwrite(buf_text(&l.v.said), 1, l.v.said.len, stderr);
		buf_clear(&text);
		runview_farewell(&l.v, &text);
		fputs(buf_text(&text), stderr);
	}
	child_clear(&l.child);
	runview_clear(&l.v);
	buf_clear(&text);
	return code;
}

bool
runview_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	    strcmp(term, "dumb") && !getenv("ACCESSIBLE");
}
