/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/tail.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/base/banned.h"

/* What programs say when the other end of a connection went away. */
static const char *const of_peers[] = {
	"Connection reset by peer", "Connection closed by peer",
	"remote process exited or there was a network error",
	"ncclRemoteError", "Socket closed by peer",
	"UCX netmod(",		/* MPICH, whatever UCX says behind it */
	"Connection reset by remote peer",
};

static void
keep(char **to, const char *text, size_t n)
{
	free(*to);
	*to = strndup(text, n < TAIL_WIDTH ? n : TAIL_WIDTH);
}

static bool
begins(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

/* "rank 3 (node2) is gone": libaccel's words for ACCEL_EPEER. */
static const char *
gone_rank(const char *line)
{
	const char *at = strstr(line, "rank ");

	while (at && !(isdigit((unsigned char)at[5]) && strstr(at, " is gone")))
		at = strstr(at + 1, "rank ");
	return at;
}

/* A line of Python as the last one of a traceback has it: "ValueError: x". */
static bool
is_exception(const char *line)
{
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

	return n && !isdigit((unsigned char)*line) &&
	    (line[n] == '\0' || line[n] == ':');
}

static void
look(struct tail *t, const char *line, size_t n)
{
	static const char	 loader[] =
	    "error while loading shared libraries: ";
	/* torch and others put "[rank3]: " in front of each line */
	const char		*at = line, *found;

	if (begins(at, "[rank")) {
		at += 5 + strspn(at + 5, "0123456789");
		at = begins(at, "]: ") ? at + 3 : begins(at, "]:") ? at + 2 :
		    line;
	}
	n -= (size_t)(at - line);
	if (begins(at, "Traceback (most recent call last):"))
		t->traceback = true;
	else if (t->traceback && *at && *at != ' ' && *at != '\t') {
		/* Lines between frames are a program's own: not of ours. */
		if (is_exception(at)) {
			keep(&t->raised, at, n);
			t->traceback = false;
		}
	}
	if (begins(at, "  what():  "))
		keep(&t->what, at + 11, n - 11);
	if ((found = strstr(at, loader))) {
		found += sizeof loader - 1;
		keep(&t->library, found, strcspn(found, ":"));
	}
	if ((found = gone_rank(at)))
		keep(&t->peer, found, strlen(found));
	for (size_t i = 0; i < sizeof of_peers / sizeof *of_peers; i++)
		if (!t->peer && strstr(at, of_peers[i]))
			keep(&t->peer, at, n);
}

void
tail_line(struct tail *t, const char *line, size_t n)
{
	char **slot = &t->line[t->lines++ % TAIL_LINES];

	keep(slot, line, n);
	if (*slot)
		look(t, *slot, strlen(*slot));
}

const char *
tail_get(const struct tail *t, size_t i)
{
	size_t kept = t->lines < TAIL_LINES ? t->lines : TAIL_LINES;

	return i < kept ? t->line[(t->lines - kept + i) % TAIL_LINES] : NULL;
}

void
tail_clear(struct tail *t)
{
	for (size_t i = 0; i < TAIL_LINES; i++)
		free(t->line[i]);
	free(t->raised);
	free(t->what);
	free(t->library);
	free(t->peer);
	*t = (struct tail){ 0 };
}

const char *
signal_name(int sig)
{
	static char	 text[16];
	const char	*name = sigabbrev_np(sig);

	if (name)
		snprintf(text, sizeof text, "SIG%s", name);
	else
		snprintf(text, sizeof text, "signal %d", sig);
	return text;
}

void
tail_why(const struct tail *t, int status, const char *reason, char *why,
    size_t size)
{
	const char	*more = t->raised ? t->raised : t->what;
	int		 n;

	if (!more)
		more = t->peer;
	if (*reason && !WIFSIGNALED(status)) {
		snprintf(why, size, "%s", reason);
		return;
	}
	if (WIFSIGNALED(status)) {
		const char *words = strsignal(WTERMSIG(status));

		n = snprintf(why, size, "ended by %s (%s)",
		    signal_name(WTERMSIG(status)), words ? words : "unknown");
		if (*reason)
			more = reason;
	} else if (WEXITSTATUS(status) == 127 && t->library) {
		snprintf(why, size, "exit code 127: the shared library %s is "
		    "missing there", t->library);
		return;
	} else
		n = snprintf(why, size, "exit code %d", WEXITSTATUS(status));
	if (more && n > 0 && (size_t)n < size)
		snprintf(why + n, size - (size_t)n, ": %s", more);
}

bool
tail_of_peer(const struct tail *t)
{
	if (t->raised)
		for (size_t i = 0; i < sizeof of_peers / sizeof *of_peers; i++)
			if (strstr(t->raised, of_peers[i]))
				return true;
	return t->peer && !t->raised;
}
