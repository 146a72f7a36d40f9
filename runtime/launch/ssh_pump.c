/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pump: one poll() on two descriptors.  Each direction holds at most one
 * block; while it is held, its source is not read, and SSH's windows and the
 * socket pair's buffer make the writer wait.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/banned.h"

#define BLOCK	 65536
#define SAID_MAX 4096
#define KEPT_MAX 262144

struct pump {
	struct ssh_link *link;
	ssh_event	 event;
	struct buf	 up;		/* to the agent */
	struct buf	 down;		/* from it */
	bool		 up_ended;	/* the caller's end of file was read */
	bool		 eof_sent;	/* and passed on */
	bool		 gone;		/* the caller's end no longer takes */
	bool		 ended;		/* the agent's output is over */
	bool		 keep;		/* what goes up, in the link */
	bool		 heard;		/* something came down */
};

/* The agent's stderr: its last lines are for the error. */
static void
keep_said(struct ssh_link *link)
{
	char block[4096];
	int n;

	while ((n = ssh_channel_read_nonblocking(link->channel, block,
	    sizeof(block), 1)) > 0) {
		if (buf_add(&link->said, block, (size_t)n) < 0)
			return;
		if (link->said.len > SAID_MAX)
			buf_take(&link->said, link->said.len - SAID_MAX);
	}
}

/* The agent is there, or is taken to be: nothing is sent again. */
static void
forget(struct pump *p)
{
	p->keep = false;
	buf_clear(&p->link->kept);
}

/* Agent to caller.  1 if anything moved. */
static int
pump_down(struct pump *p)
{
	ssh_channel ch = p->link->channel;
	static _Thread_local char block[BLOCK];
	ssize_t w;
	int n, moved = 0;

	keep_said(p->link);
	if (p->down.len == 0 && !p->ended) {
		n = ssh_channel_read_nonblocking(ch, block, sizeof(block), 0);
		if (n > 0) {
			if (strcmp(atomic_load(&p->link->phase),
			    "running") != 0)
				atomic_store(&p->link->phase, "running");
			p->heard = true;
			/* Frames have NULs; what a shell's files print has
			 * none. */
			if (memchr(block, '\0', (size_t)n) != NULL)
				forget(p);
			buf_add(&p->down, block, (size_t)n);
			moved = 1;
		} else if (n != 0 && n != SSH_AGAIN)
			p->ended = true;
		else if (ssh_channel_is_eof(ch) || ssh_channel_is_closed(ch))
			p->ended = true;
	}
	while (p->down.len > 0) {
		w = p->gone ? (ssize_t)p->down.len :
		    send(p->link->far_fd, p->down.data, p->down.len,
		    MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (w < 0) {
			p->gone = true;
			continue;
		}
		buf_take(&p->down, (size_t)w);
		moved = 1;
	}
	return moved;
}

/* One block at a time; and what may have to be sent again stays small. */
static bool
may_read_up(const struct pump *p)
{
	return p->up.len == 0 && !p->up_ended &&
	    (!p->keep || p->heard || p->link->kept.len < KEPT_MAX);
}

/* Caller to agent.  1 if anything moved. */
static int
pump_up(struct pump *p)
{
	ssh_channel ch = p->link->channel;
	static _Thread_local char block[BLOCK];
	uint32_t n;
	ssize_t r;
	int w, moved = 0;

	if (may_read_up(p)) {
		r = recv(p->link->far_fd, block, sizeof(block), 0);
		if (r > 0) {
			buf_add(&p->up, block, (size_t)r);
			if (p->link->kept.len >= KEPT_MAX)
				forget(p);
			if (p->keep)
				buf_add(&p->link->kept, block, (size_t)r);
		} else if (r == 0 || (errno != EAGAIN && errno != EINTR))
			p->up_ended = true;
	}
	while (p->up.len > 0 && (n = ssh_channel_window_size(ch)) > 0) {
		if (n > p->up.len)
			n = (uint32_t)p->up.len;
		w = ssh_channel_write(ch, p->up.data, n);
		if (w <= 0)
			break;
		buf_take(&p->up, (size_t)w);
		moved = 1;
	}
	if (p->up_ended && p->up.len == 0 && !p->eof_sent) {
		ssh_channel_send_eof(ch);
		p->eof_sent = true;
		moved = 1;
	}
	return moved;
}

static int
pump_wait(struct pump *p)
{
	ssh_session s = p->link->session;
	struct pollfd fd[2] = { { .fd = ssh_get_fd(s), .events = POLLIN },
	    { .fd = p->link->far_fd } };

	if (ssh_get_poll_flags(s) & SSH_WRITE_PENDING)
		fd[0].events |= POLLOUT;
	if (may_read_up(p))
		fd[1].events |= POLLIN;
	if (p->down.len > 0)
		fd[1].events |= POLLOUT;
	/* A hang-up is always reported: it would spin once it is known. */
	if (fd[1].events == 0)
		fd[1].fd = -1;
	if (poll(fd, 2, -1) < 0)
		return errno == EINTR ? 0 : -1;
	if (fd[0].revents != 0 && ssh_event_dopoll(p->event, 0) == SSH_ERROR)
		return -1;
	return 0;
}

static void
pump_all(struct pump *p)
{
	struct ssh_link *link = p->link;
	int moved;

	while (!atomic_load(&link->stop)) {
		moved = pump_down(p);
		moved |= pump_up(p);
		if (p->ended && p->down.len == 0)
			break;
		if (moved)
			continue;
		if (!ssh_is_connected(link->session) || pump_wait(p) < 0) {
			/* What came before the cut still counts. */
			while (pump_down(p) && p->down.len == 0)
				continue;
			break;
		}
	}
}

/* The last line that the agent or its shell said. */
static const char *
last_said(struct ssh_link *link)
{
	char *text = link->said.data, *line;

	while (link->said.len > 0 && strchr("\n\r ",
	    text[link->said.len - 1]) != NULL)
		text[--link->said.len] = '\0';
	if (link->said.len == 0)
		return "";
	line = strrchr(text, '\n');
	return line != NULL ? line + 1 : text;
}

/* How it ended, once its output is over: exit status or lost connection. */
static int
pump_verdict(struct ssh_link *link, struct err *err)
{
	const char *said;
	int status;

	if (atomic_load(&link->stop))
		return 0;
	ssh_set_blocking(link->session, 1);
	/* With the session's limit; -1 for a signal or no word at all. */
	status = ssh_channel_get_exit_status(link->channel);
	keep_said(link);
	said = last_said(link);
	if (status == 0)
		return 0;
	if (status < 0 && !ssh_is_connected(link->session)) {
		err_set(err, "the connection was lost%s%s",
		    said[0] != '\0' ? "; last said: " : "", said);
		return err_hint(err, "the host, its network or its sshd went "
		    "away; its ranks end by themselves");
	}
	if (status == 126 || status == 127) {
		err_set(err, "the agent could not run: %s", said[0] != '\0' ?
		    said : "no reason given");
		return err_hint(err, "is the home mounted noexec there, or "
		    "is the machine of another architecture?");
	}
	if (status < 0)
		err_set(err, "the agent was killed%s%s",
		    said[0] != '\0' ? ": " : "", said);
	else
		err_set(err, "the agent ended with status %d%s%s", status,
		    said[0] != '\0' ? ": " : "", said);
	return -1;
}

/* It ended without a word of its own: a shell that does not find a program says
 * 127, most of them. */
static bool
is_absent(const struct pump *p)
{
	struct ssh_link *link = p->link;
	int status;

	if (atomic_load(&link->stop) || buf_failed(&link->kept) ||
	    !ssh_is_connected(link->session))
		return false;
	ssh_set_blocking(link->session, 1);
	status = ssh_channel_get_exit_status(link->channel);
	return !p->heard || status == 126 || status == 127;
}

static int
start(struct ssh_link *link, const char *command, struct err *err)
{
	link->channel = ssh_channel_new(link->session);
	if (link->channel != NULL &&
	    ssh_channel_open_session(link->channel) == SSH_OK &&
	    ssh_channel_request_exec(link->channel, command) == SSH_OK)
		return 0;
	err_set(err, "cannot start the agent: %s", ssh_link_why(link));
	return err_hint(err, "does sshd force a command, or limit "
	    "MaxSessions, for this user?");
}

int
ssh_run(struct ssh_link *link, const char *command, bool *absent,
    struct err *err)
{
	struct pump p = { .link = link, .up = link->kept,
	    .keep = absent != NULL };

	link->kept = (struct buf)BUF_INIT;
	if (start(link, command, err) < 0) {
		buf_clear(&p.up);
		return -1;
	}
	p.event = ssh_event_new();
	if (p.event == NULL || ssh_event_add_session(p.event, link->session)) {
		if (p.event != NULL)
			ssh_event_free(p.event);
		buf_clear(&p.up);
		return err_nomem(err);
	}
	ssh_set_blocking(link->session, 0);
	pump_all(&p);
	ssh_event_remove_session(p.event, link->session);
	ssh_event_free(p.event);
	buf_clear(&p.up);
	buf_clear(&p.down);
	if (p.keep && is_absent(&p)) {
		*absent = true;
		ssh_channel_free(link->channel);
		link->channel = NULL;
		buf_clear(&link->said);
		return 0;
	}
	return pump_verdict(link, err);
}
