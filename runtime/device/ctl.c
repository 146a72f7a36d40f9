/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/ctl.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/patience.h"
#include "runtime/base/thread.h"
#include "runtime/device/ctl_server.h"
#include "runtime/device/wire.h"

#include "runtime/base/banned.h"

struct ctl {
	struct ctl_config	 config;
	char			*addr, *job;
	struct ctl_server	*server;	/* rank 0's */
	struct wire		 wire;
	pthread_t		 thread;
	bool			 threaded;
	pthread_mutex_t		 asking;	/* one at a time */
	pthread_mutex_t		 send;		/* whole frames */
	pthread_mutex_t		 lock;		/* what follows */
	pthread_cond_t		 change;
	bool			 welcome, answered, refused;
	struct buf		 value;
	char			 why[460];
	uint64_t		 seq;		/* see ctl_place() */
	char			 what[16], label[96];
	int64_t			 count;
	_Atomic int		 dead;
	_Atomic int		 stop;
	_Atomic int		 pmi_fd;
	_Atomic int64_t		 bound;		/* clock_ms() of its end, or 0 */
	const char		*bound_what;
	int			 wake[2];	/* ends the thread's poll */
	char			 netdev[64];
};

static int
say(struct ctl *c, enum wire_kind kind, const void *a, size_t na,
    const void *b, size_t nb)
{
	int rc;

	pthread_mutex_lock(&c->send);
	rc = wire_send(c->wire.fd, kind, a, na, b, nb);
	pthread_mutex_unlock(&c->send);
	return rc;
}

static void
set_dead(struct ctl *c, int rank, const char *why, size_t n)
{
	pthread_mutex_lock(&c->lock);
	if (c->dead < 0) {
		snprintf(c->why, sizeof(c->why), "%.*s",
		    (int)(n < sizeof(c->why) ? n : sizeof(c->why) - 1), why);
		c->dead = rank;
	}
	pthread_cond_broadcast(&c->change);
	pthread_mutex_unlock(&c->lock);
}

static void
lost_server(struct ctl *c, const char *what)
{
	char why[300];

	snprintf(why, sizeof(why), "rank 0 (%s) is gone: %s", c->config.addr,
	    what);
	set_dead(c, 0, why, strlen(why));
}

static void
heard(struct ctl *c, int kind, const char *data, size_t n)
{
	uint32_t rank;
	int fd;

	switch (kind) {
	case WIRE_DEAD:
		if (n >= sizeof(rank)) {
			memcpy(&rank, data, sizeof(rank));
			set_dead(c, (int)ntohl(rank), data + sizeof(rank),
			    n - sizeof(rank));
		}
		break;
	case WIRE_PMI:
		fd = c->pmi_fd;
		if (fd >= 0)
			(void)send(fd, data, n, MSG_NOSIGNAL);
		break;
	case WIRE_REFUSED:
	case WIRE_WELCOME:
	case WIRE_VALUE:
	case WIRE_BARRIER:
		pthread_mutex_lock(&c->lock);
		if (kind == WIRE_WELCOME) {
			c->welcome = true;
		} else {
			buf_clear(&c->value);
			buf_add(&c->value, data, n);
			c->refused = kind == WIRE_REFUSED;
			c->answered = true;
		}
		pthread_cond_broadcast(&c->change);
		pthread_mutex_unlock(&c->lock);
		break;
	default:
		break;
	}
}

/* MPICH talks in lines.  0, or -1 when its end is closed. */
static int
relay_pmi(struct ctl *c, struct buf *line)
{
	char chunk[1024];
	ssize_t k = recv(c->pmi_fd, chunk, sizeof(chunk), MSG_DONTWAIT);
	const char *end;

	if (k < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (k == 0 || buf_add(line, chunk, (size_t)k) != 0)
		return -1;
	while (line->len > 0 &&
	    (end = memchr(line->data, '\n', line->len)) != NULL) {
		size_t n = (size_t)(end - line->data) + 1;

		if (strncmp(line->data, "cmd=abort", 9) == 0) {
			/* MPICH has given the process up and waits for its
			 * launcher to end it: that is us. */
			ctl_abort(c, "MPI gave up; see its own message");
			_exit(1);
		}
		(void)say(c, WIRE_PMI, line->data, n, NULL, 0);
		buf_take(line, n);
	}
	return 0;
}

/* See ctl_bound(). */
static void
watch_bound(struct ctl *c)
{
	if (!c->bound || (c->dead < 0 && clock_ms() < c->bound))
		return;
	pthread_mutex_lock(&c->lock);
	fprintf(stderr, "accel: rank %d gives up %s: %s\n", c->config.rank,
	    c->bound_what, c->dead < 0 ? "it takes too long" : c->why);
	_exit(1);
}

/* Nobody has waited while this process was stopped. */
static void
put_off_bound(struct ctl *c, double seconds)
{
	int64_t end = c->bound;

	if (end != 0 && end != INT64_MAX)
		atomic_compare_exchange_strong(&c->bound, &end,
		    end + (int64_t)(seconds * 1000));
}

static void
beat(struct ctl *c)
{
	char text[200];
	uint64_t seq;
	int n;

	pthread_mutex_lock(&c->lock);
	seq = htobe64(c->seq);
	n = snprintf(text, sizeof(text), "%s", c->what);
	if (c->count >= 0)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " of %lld",
		    (long long)c->count);
	if (c->label[0] != '\0')
		n += snprintf(text + n, sizeof(text) - (size_t)n, " for %s",
		    c->label);
	pthread_mutex_unlock(&c->lock);
	(void)say(c, WIRE_BEAT, &seq, sizeof(seq), text, (size_t)n);
}

static void *
run(void *arg)
{
	struct ctl *c = arg;
	struct buf line = BUF_INIT;
	double last = 0, seen = clock_s(), turn = seen, now;
	const char *data;
	int kind, rc;
	size_t n;
	char byte;

	while (!c->stop) {
		struct pollfd fds[3] = {
			{ c->wire.fd, POLLIN, 0 },
			{ c->wake[0], POLLIN, 0 },
			{ c->pmi_fd, POLLIN, 0 },
		};

		(void)poll(fds, 3, 100);
		if (wire_fill(&c->wire) != 0) {
			while (wire_peek(&c->wire, &kind, &data, &n) == 1) {
				heard(c, kind, data, n);
				wire_drop(&c->wire);
			}
			lost_server(c, "its connection closed");
			break;
		}
		if (fds[1].revents != 0)
			(void)!read(c->wake[0], &byte, 1);
		now = clock_s();
		if (now - turn > AWAY_S) {
			seen += now - turn;
			put_off_bound(c, now - turn);
		}
		turn = now;
		while ((rc = wire_peek(&c->wire, &kind, &data, &n)) == 1) {
			heard(c, kind, data, n);
			wire_drop(&c->wire);
			seen = now;
		}
		if (rc < 0) {
			lost_server(c, "it sent what is no frame");
			break;
		}
		if (now - seen > c->config.limit) {
			lost_server(c, "silent for too long");
			break;
		}
		if (now - last >= CTL_BEAT) {
			last = now;
			beat(c);
		}
		if (fds[2].revents != 0 && relay_pmi(c, &line) != 0) {
			close(c->pmi_fd);
			c->pmi_fd = -1;
		}
		watch_bound(c);
	}
	watch_bound(c);
	if (c->pmi_fd >= 0) {
		close(c->pmi_fd);
		c->pmi_fd = -1;
	}
	buf_clear(&line);
	return NULL;
}

static int
connect_once(struct ctl *c, const struct addrinfo *list)
{
	int fd, saved = ECONNREFUSED;

	for (; list != NULL; list = list->ai_next) {
		struct pollfd p;
		socklen_t len = sizeof(saved);

		fd = socket(list->ai_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		p = (struct pollfd){ fd, POLLOUT, 0 };
		saved = connect(fd, list->ai_addr, list->ai_addrlen) == 0 ?
		    0 : errno;
		if (saved == EINPROGRESS) {
			saved = ETIMEDOUT;
			if (poll(&p, 1, 3000) == 1)
				getsockopt(fd, SOL_SOCKET, SO_ERROR, &saved,
				    &len);
		}
		if (saved == 0) {
			c->wire.fd = fd;
			return 0;
		}
		close(fd);
	}
	return saved;
}

static void
find_netdev(struct ctl *c)
{
	struct sockaddr_storage me;
	socklen_t len = sizeof(me);
	struct ifaddrs *list, *i;
	const struct sockaddr_in *a = (void *)&me, *b;

	if (getsockname(c->wire.fd, (void *)&me, &len) != 0 ||
	    me.ss_family != AF_INET || getifaddrs(&list) != 0)
		return;
	for (i = list; i != NULL; i = i->ifa_next) {
		b = (const void *)i->ifa_addr;
		if (b != NULL && b->sin_family == AF_INET &&
		    b->sin_addr.s_addr == a->sin_addr.s_addr)
			snprintf(c->netdev, sizeof(c->netdev), "%s",
			    i->ifa_name);
	}
	freeifaddrs(list);
}

static int
connect_to(struct ctl *c, struct err *err)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *list;
	double end = clock_s() + c->config.start_limit;
	char port[16];
	int rc, flags, nap = 1;

	snprintf(port, sizeof(port), "%d", c->config.port);
	rc = getaddrinfo(c->addr, port, &want, &list);
	if (rc != 0) {
		err_set(err, "MASTER_ADDR %s: %s", c->addr, gai_strerror(rc));
		return err_hint(err, "give rank 0's numeric address");
	}
	while ((rc = connect_once(c, list)) != 0 && clock_s() < end) {
		(void)poll(NULL, 0, nap);
		nap = nap < 50 ? nap * 2 : 50;
	}
	freeaddrinfo(list);
	if (rc != 0) {
		err_set(err, "rank %d reached no rank 0 at %s port %s within "
		    "%.0f s: %s", c->config.rank, c->addr, port,
		    c->config.start_limit, strerror(rc));
		return err_hint(err, "see that rank 0 runs there, that "
		    "MASTER_ADDR and MASTER_PORT are the same on all ranks, "
		    "and that no firewall closes the port");
	}
	/* Blocking again: SO_SNDTIMEO limits sends; reads ask not to wait. */
	flags = fcntl(c->wire.fd, F_GETFL);
	if (flags < 0 ||
	    fcntl(c->wire.fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
		return err_set(err, "control connection: %s", strerror(errno));
	wire_tune(c->wire.fd);
	find_netdev(c);
	return 0;
}

static int
greet(struct ctl *c)
{
	char hello[80] = CTL_MAGIC;
	uint32_t rank = htonl((uint32_t)c->config.rank);
	uint32_t world = htonl((uint32_t)c->config.world);

	memcpy(hello + 8, &rank, 4);
	memcpy(hello + 12, &world, 4);
	if (gethostname(hello + 16, 63) != 0)
		memcpy(hello + 16, "?", 2);
	return say(c, WIRE_HELLO, hello, sizeof(hello), c->job,
	    strlen(c->job));
}

int
ctl_why(struct ctl *c, struct err *err)
{
	pthread_mutex_lock(&c->lock);
	err_set(err, "%s", c->why);
	pthread_mutex_unlock(&c->lock);
	return err_hint(err, "the launcher can start the job again from its "
	    "last saved state");
}

/* Waits for the flag or a death; 1 when limit_s (0: none) is over. */
static int
wait_for(struct ctl *c, const bool *flag, double limit_s, struct err *err)
{
	struct patience patience;
	bool dead = false;
	int rc = 0;

	patience_begin(&patience, limit_s);
	pthread_mutex_lock(&c->lock);
	while (!*flag && !c->refused && c->dead < 0 && rc == 0)
		if (patience_wait(&patience, &c->change, &c->lock) != 0)
			rc = 1;
	if (c->refused)
		rc = err_set(err, "rank 0 at %s port %d refused rank %d: %s",
		    c->addr, c->config.port, c->config.rank,
		    buf_text(&c->value));
	else if (*flag)
		rc = 0;
	else
		dead = c->dead >= 0;
	pthread_mutex_unlock(&c->lock);
	return dead ? ctl_why(c, err) : rc;
}

static void
ctl_free(struct ctl *c)
{
	c->stop = 1;
	if (c->wake[1] >= 0)
		(void)!write(c->wake[1], "", 1);
	if (c->threaded)
		pthread_join(c->thread, NULL);
	wire_close(&c->wire);
	ctl_server_stop(c->server, c->dead >= 0 || !c->welcome);
	if (c->wake[0] >= 0)
		close(c->wake[0]);
	if (c->wake[1] >= 0)
		close(c->wake[1]);
	pthread_mutex_destroy(&c->asking);
	pthread_mutex_destroy(&c->send);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->change);
	buf_clear(&c->value);
	free(c->addr);
	free(c->job);
	free(c);
}

int
ctl_open(struct ctl **out, const struct ctl_config *config, struct err *err)
{
	struct ctl *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (c == NULL)
		return err_nomem(err);
	c->count = -1;
	c->config = *config;
	c->addr = strdup(config->addr);
	c->job = strdup(config->job);
	c->config.addr = c->addr;
	c->config.job = c->job;
	c->dead = c->pmi_fd = c->wake[0] = c->wake[1] = -1;
	c->wire = (struct wire)WIRE_INIT;
	pthread_mutex_init(&c->asking, NULL);
	pthread_mutex_init(&c->send, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->change, &attr);
	pthread_condattr_destroy(&attr);
	if (c->addr == NULL || c->job == NULL) {
		err_nomem(err);
		goto fail;
	}
	if (pipe(c->wake) != 0) {
		err_set(err, "pipe: %s", strerror(errno));
		goto fail;
	}
	if (c->config.rank == 0 &&
	    ctl_server_start(&c->server, &c->config, err) != 0)
		goto fail;
	if (connect_to(c, err) != 0)
		goto fail;
	if (greet(c) != 0) {
		err_set(err, "rank 0 (%s) is gone: it closed the connection "
		    "at once", c->addr);
		goto fail;
	}
	if (thread_start(&c->thread, run, c) != 0) {
		err_set(err, "no thread for the control connection");
		goto fail;
	}
	c->threaded = true;
	if (wait_for(c, &c->welcome, 0, err) != 0)
		goto fail;
	*out = c;
	return 0;
fail:
	ctl_free(c);
	return -1;
}

void
ctl_close(struct ctl *c)
{
	if (c == NULL)
		return;
	(void)say(c, WIRE_LEAVE, NULL, 0, NULL, 0);
	ctl_free(c);
}

static int
ask_alone(struct ctl *c, enum wire_kind kind, const void *question, size_t n,
    double limit_s, struct buf *out, struct err *err)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	c->answered = false;
	pthread_mutex_unlock(&c->lock);
	(void)say(c, kind, question, n, NULL, 0);
	if ((rc = wait_for(c, &c->answered, limit_s, err)) != 0)
		return rc;
	if (out != NULL) {
		pthread_mutex_lock(&c->lock);
		buf_add(out, buf_text(&c->value), c->value.len);
		pthread_mutex_unlock(&c->lock);
		if (buf_failed(out))
			return err_nomem(err);
	}
	return 0;
}

/* One question, one answer.  0, -1, or 1 when limit_s is over. */
static int
ask(struct ctl *c, enum wire_kind kind, const void *question, size_t n,
    double limit_s, struct buf *out, struct err *err)
{
	int rc;

	pthread_mutex_lock(&c->asking);
	rc = ask_alone(c, kind, question, n, limit_s, out, err);
	pthread_mutex_unlock(&c->asking);
	return rc;
}

int
ctl_put(struct ctl *c, const char *key, const void *data, size_t n,
    struct err *err)
{
	if (ctl_dead(c) >= 0)
		return ctl_why(c, err);
	if (say(c, WIRE_PUT, key, strlen(key) + 1, data, n) != 0)
		return err_set(err, "control connection: cannot send");
	return 0;
}

int
ctl_get(struct ctl *c, const char *key, struct buf *out, struct err *err)
{
	return ask(c, WIRE_GET, key, strlen(key), 0, out, err);
}

int
ctl_barrier(struct ctl *c, const char *what, struct err *err)
{
	struct buf who = BUF_INIT;
	uint64_t seq;
	int rc = ask(c, WIRE_BARRIER, "", 0, c->config.wait_limit, NULL, err);

	if (rc != 1)
		return rc;
	pthread_mutex_lock(&c->lock);
	seq = c->seq;
	pthread_mutex_unlock(&c->lock);
	if (ctl_missing(c, seq, &who, NULL) != 0 || who.len == 0)
		buf_adds(&who, "another rank has not come");
	err_set(err, "rank %d has waited %.0f s in %s: %s", c->config.rank,
	    c->config.wait_limit, what, buf_text(&who));
	err_hint(err, "see what that rank does, or set ACCEL_TIMEOUT to more "
	    "seconds (0: no limit)");
	buf_clear(&who);
	if (err != NULL)
		ctl_abort(c, err->text);
	return -1;
}

/* Each operation passes here: snprintf would cost more than the rest. */
static void
copy(char *to, size_t room, const char *from)
{
	size_t n = strnlen(from, room - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

void
ctl_place(struct ctl *c, uint64_t seq, const char *what, const char *label,
    int64_t n)
{
	pthread_mutex_lock(&c->lock);
	c->seq = seq;
	c->count = n;
	copy(c->what, sizeof(c->what), what);
	copy(c->label, sizeof(c->label), label);
	pthread_mutex_unlock(&c->lock);
}

int
ctl_missing(struct ctl *c, uint64_t seq, struct buf *out, struct err *err)
{
	uint64_t number = htobe64(seq);
	int rc = ask(c, WIRE_MISSING, &number, sizeof(number), 5, out, err);

	return rc == 1 ? err_set(err, "rank 0 does not answer") : rc;
}

int
ctl_dead(const struct ctl *c)
{
	return c == NULL ? -1 : c->dead;
}

void
ctl_abort(struct ctl *c, const char *why)
{
	(void)say(c, WIRE_ABORT, why, strlen(why), NULL, 0);
}

int
ctl_pmi(struct ctl *c, struct err *err)
{
	char text[32];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return err_set(err, "socketpair: %s", strerror(errno));
	snprintf(text, sizeof(text), "%d", pair[1]);
	setenv("PMI_FD", text, 1);
	snprintf(text, sizeof(text), "%d", c->config.rank);
	setenv("PMI_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", c->config.world);
	setenv("PMI_SIZE", text, 1);
	c->pmi_fd = pair[0];
	(void)!write(c->wake[1], "", 1);
	return 0;
}

void
ctl_bound(struct ctl *c, const char *what, double limit_s)
{
	if (c == NULL)
		return;
	c->bound_what = what;
	c->bound = limit_s > 0 ? clock_ms() + (int64_t)(limit_s * 1000) :
	    INT64_MAX;
}

void
ctl_unbound(struct ctl *c)
{
	if (c != NULL)
		c->bound = 0;
}

const char *
ctl_netdev(const struct ctl *c)
{
	return c->netdev;
}
