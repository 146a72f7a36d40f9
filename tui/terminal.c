/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/terminal.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* term.h has macros by these names. */
#undef lines
#undef columns

#include "runtime/base/err.h"
#include "runtime/base/banned.h"

static const int asks[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
	SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSYS,
	SIGTRAP, SIGSTKFLT,
};
static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
enum {
	ASKS = sizeof asks / sizeof *asks,
	FAULTS = sizeof faults / sizeof *faults
};

static volatile sig_atomic_t caught;
static struct sigaction old_asks[ASKS], old_faults[FAULTS];
static sigset_t open_mask;
static SCREEN *screen;

/* For a fault: nothing but calls that a handler may make. */
static struct termios before;
static bool has_before;
static char farewell[256];
static size_t farewell_length;

static void
on_ask(int sig)
{
	caught = sig;
}

static void
on_fault(int sig)
{
	ssize_t ignored;

	ignored = write(STDOUT_FILENO, farewell, farewell_length);
	(void)ignored;
	if (has_before)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	for (size_t i = 0; i < FAULTS; i++)
		if (faults[i] == sig)
			sigaction(sig, &old_faults[i], NULL);
	raise(sig);	/* held back until this returns */
}

static void
add(const char *capability)
{
	size_t n = capability && capability != (char *)-1 ?
	    strlen(capability) : 0;

	if (!n || farewell_length + n > sizeof farewell)
		return;
	memcpy(farewell + farewell_length, capability, n);
	farewell_length += n;
}

static void
catch(void)
{
	struct sigaction on = { .sa_handler = on_ask };
	struct sigaction fault = { .sa_handler = on_fault };
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < ASKS; i++) {
		sigaddset(&block, asks[i]);
		sigaction(asks[i], &on, &old_asks[i]);
		/* nohup(1) and the like are meant. */
		if (old_asks[i].sa_handler == SIG_IGN)
			sigaction(asks[i], &old_asks[i], NULL);
	}
	for (size_t i = 0; i < FAULTS; i++)
		sigaction(faults[i], &fault, &old_faults[i]);
	sigprocmask(SIG_BLOCK, &block, &open_mask);
}

static void
let_go(void)
{
	for (size_t i = 0; i < ASKS; i++)
		sigaction(asks[i], &old_asks[i], NULL);
	for (size_t i = 0; i < FAULTS; i++)
		sigaction(faults[i], &old_faults[i], NULL);
	sigprocmask(SIG_SETMASK, &open_mask, NULL);
}

int
terminal_open(bool mouse, struct err *err)
{
	has_before = !tcgetattr(STDIN_FILENO, &before);
	caught = 0;
	farewell_length = 0;
	catch();
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		let_go();
		err_set(err, "the terminal cannot be used: TERM is %s",
		    getenv("TERM") ? getenv("TERM") : "not set");
		return err_hint(err, "--plain asks without one");
	}
	if (mouse)
		add("\033[?1006;1000l");
	add(exit_attribute_mode);
	add(cursor_normal);
	add(keypad_local);
	add(exit_ca_mode);
	add("\r\n");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	if (mouse) {
		mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED |
		    BUTTON5_PRESSED, NULL);
		mouseinterval(0);
	}
	return 0;
}

void
terminal_close(void)
{
	endwin();
	delscreen(screen);
	screen = NULL;
	let_go();
	if (caught)		/* as the sender expects */
		raise(caught);
}

void
terminal_fit(void)
{
	struct winsize now;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) && now.ws_row &&
	    now.ws_col && is_term_resized(now.ws_row, now.ws_col))
		resize_term(now.ws_row, now.ws_col);
}

int
terminal_wait(struct pollfd *p, int n, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	return ppoll(p, (nfds_t)n, ms < 0 ? NULL : &t, &open_mask);
}

int
terminal_caught(void)
{
	return caught;
}

void
terminal_forget(void)
{
	caught = 0;
}
