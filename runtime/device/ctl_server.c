/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/ctl_server.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/patience.h"
#include "runtime/base/thread.h"
#include "runtime/device/ctl.h"
#include "runtime/device/pmi.h"
#include "runtime/device/wire.h"

#include "runtime/base/banned.h"

#define NEW_MAX	64		/* connections that have not said hello */

struct pair {
	char	*key, *value;
	size_t	 n;
};

struct peer {
	struct wire	 wire;
	bool		 here, left, in_barrier;
	double		 seen;
	char		*want;		/* key of a "get" not there yet */
	char		 host[64];
	uint64_t	 seq;		/* where it is, says its last beat */
	char		 place[128];
};

struct ctl_server {
	const struct ctl_config *config;
	pthread_t	 thread;
	int		 listen_fd;
	_Atomic int	 stop;
	struct peer	*peer;
	int		 n, here, left;
	struct wire	 fresh[NEW_MAX];
	double		 fresh_at[NEW_MAX];
	struct pair	*pair;
	size_t		 npair;
	int		 dead;		/* first rank that died, or -1 */
	char		 why[460];
	struct pmi	*pmi;
	double		 start, last_beat, turn;
};

static void
answer(struct peer *p, enum wire_kind kind, const void *a, size_t n)
{
	/* A failed send shows as an end of the stream or as silence. */
	if (p->wire.fd >= 0)
		(void)wire_send(p->wire.fd, kind, a, n, NULL, 0);
}

static void
tell_dead(struct ctl_server *s, struct peer *p)
{
	uint32_t rank = htonl((uint32_t)s->dead);

	if (p->wire.fd >= 0)
		(void)wire_send(p->wire.fd, WIRE_DEAD, &rank, sizeof(rank),
		    s->why, strlen(s->why));
}

static void
leave(struct ctl_server *s, struct peer *p)
{
	if (!p->left) {
		p->left = true;
		s->left++;
	}
}

static void
died(struct ctl_server *s, int rank, const char *what)
{
	struct peer *p = &s->peer[rank];
	bool first = s->dead < 0;

	leave(s, p);
	if (first) {
		s->dead = rank;
		if (p->here)
			snprintf(s->why, sizeof(s->why), "rank %d (%s) %s",
			    rank, p->host, what);
		else
			snprintf(s->why, sizeof(s->why), "rank %d %s", rank,
			    what);
		/* Rank 0 last: this process may end as it hears of it. */
		for (int i = s->n - 1; i >= 0; i--)
			tell_dead(s, &s->peer[i]);
	}
	wire_close(&p->wire);
}

static struct pair *
find(struct ctl_server *s, const char *key)
{
	for (size_t i = 0; i < s->npair; i++)
		if (strcmp(s->pair[i].key, key) == 0)
			return &s->pair[i];
	return NULL;
}

static int
put(struct ctl_server *s, const char *key, const char *value, size_t n)
{
	struct pair *pair = find(s, key), *more;
	char *copy = malloc(n + 1);

	if (copy == NULL)
		return -1;
	memcpy(copy, value, n);
	copy[n] = '\0';
	if (pair == NULL) {
		char *name = strdup(key);

		more = realloc(s->pair, (s->npair + 1) * sizeof(*more));
		if (more != NULL)
			s->pair = more;
		if (more == NULL || name == NULL) {
			free(name);
			free(copy);
			return -1;
		}
		pair = &s->pair[s->npair++];
		pair->key = name;
	} else {
		free(pair->value);
	}
	pair->value = copy;
	pair->n = n;
	for (int i = 0; i < s->n; i++) {
		struct peer *p = &s->peer[i];

		if (p->want != NULL && strcmp(p->want, key) == 0) {
			free(p->want);
			p->want = NULL;
			answer(p, WIRE_VALUE, copy, n);
		}
	}
	return 0;
}

static void
answer_pmi(void *user, size_t rank, const char *line, size_t n)
{
	struct ctl_server *s = user;

	answer(&s->peer[rank], WIRE_PMI, line, n);
}

static void
beat(struct peer *p, const char *data, size_t n)
{
	size_t k;

	if (n < sizeof(p->seq))
		return;
	memcpy(&p->seq, data, sizeof(p->seq));
	p->seq = be64toh(p->seq);
	n -= sizeof(p->seq);
	k = n < sizeof(p->place) ? n : sizeof(p->place) - 1;
	memcpy(p->place, data + sizeof(p->seq), k);
	p->place[k] = '\0';
}

/* Who has not come to operation "seq": four by name. */
static void
missing(struct ctl_server *s, struct peer *asks, const char *data, size_t n)
{
	struct buf out = BUF_INIT;
	uint64_t seq;
	int more = 0;

	if (n != sizeof(seq))
		return;
	memcpy(&seq, data, sizeof(seq));
	seq = be64toh(seq);
	for (int i = 0; i < s->n; i++) {
		struct peer *p = &s->peer[i];

		if (p->seq >= seq)
			continue;
		if (++more > 4)
			continue;
		buf_addf(&out, "%srank %d (%s) has not come; ",
		    out.len > 0 ? ", " : "", i, p->host);
		if (p->left)
			buf_adds(&out, "it has ended");
		else if (p->seq == 0)
			buf_adds(&out, "it has begun none");
		else
			buf_addf(&out, "its last was %llu, %s",
			    (unsigned long long)p->seq, p->place);
	}
	if (more > 4)
		buf_addf(&out, ", and %d more", more - 4);
	answer(asks, WIRE_VALUE, buf_text(&out), out.len);
	buf_clear(&out);
}

static void
frame(struct ctl_server *s, int rank, int kind, const char *data, size_t n)
{
	struct peer *p = &s->peer[rank];
	const struct pair *pair;
	char text[2500];
	int came = 0;

	snprintf(text, sizeof(text), "%.*s", (int)(n < 2499 ? n : 2499), data);
	switch (kind) {
	case WIRE_BEAT:
		beat(p, data, n);
		break;
	case WIRE_MISSING:
		missing(s, p, data, n);
		break;
	case WIRE_LEAVE:
		leave(s, p);
		break;
	case WIRE_ABORT: {
		char what[400];

		snprintf(what, sizeof(what), "stopped the job: %.370s", text);
		died(s, rank, what);
		break;
	}
	case WIRE_PUT:
		if (memchr(data, '\0', n) != NULL) {
			size_t k = strlen(data) + 1;

			(void)put(s, data, data + k, n - k);
		}
		break;
	case WIRE_GET:
		pair = find(s, text);
		if (pair != NULL) {
			answer(p, WIRE_VALUE, pair->value, pair->n);
		} else {
			free(p->want);
			p->want = strdup(text);
		}
		break;
	case WIRE_BARRIER:
		p->in_barrier = true;
		for (int i = 0; i < s->n; i++)
			came += s->peer[i].in_barrier;
		if (came == s->n)
			for (int i = 0; i < s->n; i++) {
				s->peer[i].in_barrier = false;
				answer(&s->peer[i], WIRE_BARRIER, NULL, 0);
			}
		break;
	case WIRE_PMI:
		/* An abort never comes here: its rank's relay sees to it. */
		(void)pmi_line(s->pmi, (size_t)rank, data, n);
		break;
	default:
		break;
	}
}

static void
refuse(struct wire *w, const char *why)
{
	(void)wire_send(w->fd, WIRE_REFUSED, why, strlen(why), NULL, 0);
	wire_close(w);
}

/* Somebody says who he is: takes the socket over, or refuses. */
static void
hello(struct ctl_server *s, struct wire *w, const char *data, size_t n)
{
	const struct ctl_config *c = s->config;
	size_t job = strlen(c->job);
	uint32_t rank, world;
	struct peer *p;

	if (n != 80 + job || memcmp(data, CTL_MAGIC, 8) != 0 ||
	    memcmp(data + 80, c->job, job) != 0) {
		refuse(w, "this is rank 0 of another job");
		return;
	}
	memcpy(&rank, data + 8, 4);
	memcpy(&world, data + 12, 4);
	rank = ntohl(rank);
	world = ntohl(world);
	if (world != (uint32_t)s->n || rank >= world) {
		refuse(w, "WORLD_SIZE differs from rank 0's");
		return;
	}
	p = &s->peer[rank];
	if (p->here) {
		refuse(w, "two processes have this RANK");
		return;
	}
	memcpy(p->host, data + 16, sizeof(p->host));
	p->host[sizeof(p->host) - 1] = '\0';
	wire_drop(w);
	p->wire = *w;
	*w = (struct wire)WIRE_INIT;
	p->here = true;
	p->seen = clock_s();
	if (s->dead >= 0)
		tell_dead(s, p);
	if (++s->here == s->n)
		for (int i = 0; i < s->n; i++)
			answer(&s->peer[i], WIRE_WELCOME, NULL, 0);
}

static void
newcomers(struct ctl_server *s, bool more)
{
	double now = clock_s();
	const char *data;
	int kind, rc;
	size_t n;

	for (int i = 0; i < NEW_MAX; i++) {
		struct wire *w = &s->fresh[i];

		if (w->fd < 0 && more) {
			w->fd = accept(s->listen_fd, NULL, NULL);
			if (w->fd < 0) {
				more = false;
				continue;
			}
			wire_tune(w->fd);
			s->fresh_at[i] = now;
		}
		if (w->fd < 0)
			continue;
		rc = wire_fill(w) != 0 ? -1 : wire_peek(w, &kind, &data, &n);
		if (rc == 1 && kind == WIRE_HELLO)
			hello(s, w, data, n);
		else if (rc != 0 || now - s->fresh_at[i] > 5.0)
			wire_close(w);
	}
}

static void
listen_to(struct ctl_server *s, int rank)
{
	struct peer *p = &s->peer[rank];
	const char *data;
	int kind, rc, gone;
	size_t n;

	gone = wire_fill(&p->wire);
	if (gone == 0)
		p->seen = clock_s();
	while (p->wire.fd >= 0 &&
	    (rc = wire_peek(&p->wire, &kind, &data, &n)) != 0) {
		if (rc < 0) {
			gone = -1;
			break;
		}
		frame(s, rank, kind, data, n);
		if (p->wire.fd >= 0)
			wire_drop(&p->wire);
	}
	if (gone != 0 && p->wire.fd >= 0) {
		if (p->left)
			wire_close(&p->wire);
		else
			died(s, rank, "is gone: its connection closed");
	}
}

static void
watch_clock(struct ctl_server *s)
{
	const struct ctl_config *c = s->config;
	double now = clock_s(), away = now - s->turn;
	char what[80];

	s->turn = now;
	for (int i = 0; i < s->n && away > AWAY_S; i++) {
		s->peer[i].seen += away;
		if (s->peer[i].seen > now)
			s->peer[i].seen = now;
	}
	for (int i = 0; i < s->n; i++) {
		struct peer *p = &s->peer[i];

		if (!p->left && p->here && now - p->seen > c->limit) {
			snprintf(what, sizeof(what),
			    "is gone: silent for %.1f s", now - p->seen);
			died(s, i, what);
		}
		if (!p->left && !p->here && now - s->start > c->start_limit) {
			snprintf(what, sizeof(what),
			    "has not connected within %.0f s", c->start_limit);
			died(s, i, what);
		}
	}
	if (now - s->last_beat >= CTL_BEAT) {
		s->last_beat = now;
		for (int i = 0; i < s->n; i++)
			answer(&s->peer[i], WIRE_BEAT, NULL, 0);
	}
}

static void *
serve(void *arg)
{
	struct ctl_server *s = arg;
	size_t most = (size_t)s->n + NEW_MAX + 1;
	struct pollfd *fds = calloc(most, sizeof(*fds));
	int *who = calloc(most, sizeof(*who));

	while (fds != NULL && who != NULL && s->left < s->n && !s->stop) {
		nfds_t m = 0;

		fds[m].fd = s->listen_fd;
		fds[m++].events = POLLIN;
		for (int i = 0; i < NEW_MAX; i++)
			if (s->fresh[i].fd >= 0) {
				who[m] = -1;
				fds[m].fd = s->fresh[i].fd;
				fds[m++].events = POLLIN;
			}
		for (int i = 0; i < s->n; i++)
			if (s->peer[i].wire.fd >= 0) {
				who[m] = i;
				fds[m].fd = s->peer[i].wire.fd;
				fds[m++].events = POLLIN;
			}
		for (nfds_t j = 0; j < m; j++)
			fds[j].revents = 0;
		(void)poll(fds, m, 100);
		newcomers(s, fds[0].revents != 0);
		for (nfds_t j = 1; j < m; j++)
			if (who[j] >= 0 && fds[j].revents != 0 &&
			    s->peer[who[j]].wire.fd >= 0)
				listen_to(s, who[j]);
		watch_clock(s);
		pmi_tick(s->pmi);
	}
	free(fds);
	free(who);
	return NULL;
}

static int
bind_to(struct ctl_server *s, const struct addrinfo *ai)
{
	int one = 1;

	s->listen_fd = socket(ai->ai_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->listen_fd < 0)
		return -1;
	setsockopt(s->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s->listen_fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(s->listen_fd, s->n + 64) == 0)
		return 0;
	one = errno;
	close(s->listen_fd);
	s->listen_fd = -1;
	errno = one;
	return -1;
}

/* The address that others are told, alone, so that no other network sees the
 * port; where that is no address of this host (NAT), every address. */
static int
bind_all(struct ctl_server *s, struct err *err)
{
	const struct ctl_config *c = s->config;
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *list, *ai;
	char port[16];
	int rc;

	snprintf(port, sizeof(port), "%d", c->port);
	rc = getaddrinfo(c->addr, port, &want, &list);
	if (rc != 0) {
		err_set(err, "MASTER_ADDR %s: %s", c->addr, gai_strerror(rc));
		return err_hint(err, "give rank 0's numeric address");
	}
	for (ai = list; ai != NULL && s->listen_fd < 0; ai = ai->ai_next)
		(void)bind_to(s, ai);
	rc = errno;
	freeaddrinfo(list);
	if (s->listen_fd < 0 && rc == EADDRNOTAVAIL) {
		want.ai_flags = AI_PASSIVE;
		want.ai_family = AF_INET;
		if (getaddrinfo(NULL, port, &want, &list) == 0) {
			(void)bind_to(s, list);
			rc = errno;
			freeaddrinfo(list);
		}
	}
	if (s->listen_fd >= 0)
		return 0;
	err_set(err, "rank 0 cannot listen on %s port %s: %s", c->addr, port,
	    strerror(rc));
	return err_hint(err, "choose another MASTER_PORT, or end the process "
	    "that has this one");
}

static void
server_free(struct ctl_server *s)
{
	for (int i = 0; s->peer != NULL && i < s->n; i++) {
		wire_close(&s->peer[i].wire);
		free(s->peer[i].want);
	}
	for (int i = 0; i < NEW_MAX; i++)
		wire_close(&s->fresh[i]);
	for (size_t i = 0; i < s->npair; i++) {
		free(s->pair[i].key);
		free(s->pair[i].value);
	}
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	pmi_free(s->pmi);
	free(s->pair);
	free(s->peer);
	free(s);
}

int
ctl_server_start(struct ctl_server **out, const struct ctl_config *config,
    struct err *err)
{
	struct ctl_server *s = calloc(1, sizeof(*s));
	char kvsname[64];

	if (s == NULL)
		return err_nomem(err);
	s->config = config;
	s->n = config->world;
	s->listen_fd = s->dead = -1;
	s->start = s->turn = clock_s();
	/* MPICH names its shared memory after this: unique on the host. */
	snprintf(kvsname, sizeof(kvsname), "accel_%ld_%d_%llx",
	    (long)getpid(), config->port,
	    (unsigned long long)(s->start * 1e6));
	for (int i = 0; i < NEW_MAX; i++)
		s->fresh[i] = (struct wire)WIRE_INIT;
	s->pmi = pmi_new((size_t)s->n, kvsname, answer_pmi, s);
	s->peer = calloc((size_t)s->n, sizeof(*s->peer));
	if (s->peer == NULL || s->pmi == NULL) {
		server_free(s);
		return err_nomem(err);
	}
	for (int i = 0; i < s->n; i++)
		s->peer[i].wire = (struct wire)WIRE_INIT;
	if (bind_all(s, err) != 0) {
		server_free(s);
		return -1;
	}
	if (thread_start(&s->thread, serve, s) != 0) {
		server_free(s);
		return err_set(err, "no thread for the control connection");
	}
	*out = s;
	return 0;
}

void
ctl_server_stop(struct ctl_server *s, int now)
{
	if (s == NULL)
		return;
	if (now)
		s->stop = 1;
	pthread_join(s->thread, NULL);
	server_free(s);
}
