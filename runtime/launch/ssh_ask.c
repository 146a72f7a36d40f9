/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passphrases and passwords: asked for on the terminal, one question at a time
 * and each once for all hosts, kept in memory until the program ends, never
 * written.  The terminal's echo comes back however the question ends: signals
 * are the main thread's, which then closes the link, which ends the question.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/clock.h"
#include "runtime/base/banned.h"

enum { ANSWER = 512 };

struct asked {
	struct asked	*next;
	char		*question;
	char		 answer[ANSWER];
};

static pthread_mutex_t	 turn = PTHREAD_MUTEX_INITIALIZER;
static struct asked	*known;		/* turn */
static bool		 over;		/* turn: nobody answers any more */

/* When the plugin is let go of. */
static __attribute__((destructor)) void
forget(void)
{
	while (known) {
		struct asked *a = known;

		known = a->next;
		explicit_bzero(a->answer, sizeof a->answer);
		free(a->question);
		free(a);
	}
}

/* A prompt may come from a host: no control characters reach the terminal. */
static void
show(int tty, const char *text)
{
	char	clean[600];
	size_t	n = 0;

	for (; *text && n < sizeof clean; text++)
		clean[n++] = (unsigned char)*text < ' ' || *text == 127 ? ' ' :
		    *text;
	if (write(tty, clean, n) < 0)
		return;
}

static int
read_answer(struct ssh_link *link, int tty, char *out, size_t room)
{
	size_t	n = 0;
	char	c;
	ssize_t	got;

	for (;;) {
		if (ssh_wait(link, tty, POLLIN, clock_ms() + 3600000) != 1)
			return -1;
		got = read(tty, &c, 1);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return -1;
		if (c == '\n' || c == '\r')
			break;
		if (n + 1 < room)
			out[n++] = c;
	}
	out[n] = '\0';
	return 0;
}

static int
ask_terminal(struct ssh_link *link, const char *question, char *out,
    size_t room)
{
	struct termios	old, quiet;
	int		tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	int		ret = -1;

	if (tty < 0)
		return -1;
	/* In the background, to read would stop us. */
	if (tcgetpgrp(tty) == getpgrp() && tcgetattr(tty, &old) == 0) {
		quiet = old;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
		tcsetattr(tty, TCSAFLUSH, &quiet);
		show(tty, question);
		show(tty, ": ");
		ret = read_answer(link, tty, out, room);
		tcsetattr(tty, TCSAFLUSH, &old);
		if (write(tty, "\n", 1) < 0)
			ret = -1;
	}
	close(tty);
	return ret;
}

/* A screen has the terminal, and asks there. */
static int
ask_screen(struct ssh_link *link, const char *question, char *out,
    size_t room)
{
	show(link->ask_fd, question);
	if (write(link->ask_fd, "\n", 1) < 0 ||
	    read_answer(link, link->ask_fd, out, room) < 0)
		return -1;
	return *out ? 0 : -1;
}

int
ssh_ask(struct ssh_link *link, const char *question, bool again, char *out,
    size_t room)
{
	struct asked	*a;
	int		 ret = 0;

	if (!link->ask)
		return -1;
	/* Another question may be open for as long as someone is at lunch. */
	while (pthread_mutex_trylock(&turn) != 0)
		if (ssh_wait(link, -1, 0, clock_ms() + 50) < 0)
			return -1;
	/* ^C ends the question of one host; no other host asks it then. */
	if (over) {
		pthread_mutex_unlock(&turn);
		return -1;
	}
	for (a = known; a && strcmp(a->question, question); a = a->next)
		;
	if (!a && (a = calloc(1, sizeof *a))) {
		a->question = strdup(question);
		a->next = known;
		if (a->question)
			known = a;
		again = true;
	}
	if (!a || !a->question) {
		free(a);
		ret = -1;
	} else if (again || !*a->answer) {
		const char *phase = atomic_exchange(&link->phase,
		    "waiting for an answer on the terminal");

		ret = link->ask_fd > 0 ? ask_screen(link, question, a->answer,
		    sizeof a->answer) : ask_terminal(link, question, a->answer,
		    sizeof a->answer);
		over = ret < 0;
		atomic_store(&link->phase, phase);
	}
	if (ret == 0) {
		size_t n = strlen(a->answer);

		if (n < room)
			memcpy(out, a->answer, n + 1);
		else
			ret = -1;
	}
	pthread_mutex_unlock(&turn);
	return ret;
}
