/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/clock.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

#define TRIES 4		/* a busy sshd drops connections before its banner */
#define AGAIN (-2)
#define PATIENCE_S 30	/* for one that does answer, if slowly */

/* Waits for the socket, or for ssh_close().  1 ready, 0 too late, -1 stop. */
int
ssh_wait(struct ssh_link *link, int fd, short events, long until)
{
	struct pollfd p[2] = {
		{ .fd = fd, .events = events },
		{ .fd = link->far_fd, .events = 0 },	/* its hang-up */
	};
	long left;
	int n;

	do {
		left = until - clock_ms();
		n = poll(p, 2, left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (atomic_load(&link->stop))
		return -1;
	return n > 0 && p[0].revents != 0;
}

/* The kernel notices a dead peer for us, idle or in the middle of a write. */
static void
watch_peer(int fd, int silence_s)
{
	int one = 1, idle = silence_s / 3 + 1, step = silence_s / 5 + 1;
	int count = 3, ms = silence_s * 1000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &step, sizeof(step));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int
connect_to(struct ssh_link *link, const struct addrinfo *ai, long until)
{
	socklen_t n = sizeof(int);
	int fd, e = 0, r;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd < 0)
		return -1;
	watch_peer(fd, link->silence_s);
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	e = errno;
	if (e == EINPROGRESS) {
		r = ssh_wait(link, fd, POLLOUT, until);
		if (r == 0)
			e = ETIMEDOUT;
		else if (r < 0)
			e = ECANCELED;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n) < 0)
			e = errno;
	}
	if (e == 0)
		return fd;
	close(fd);
	errno = e;
	return -1;
}

/* A connected socket: every address of the name in turn, within the limit. */
static int
dial(struct ssh_link *link, const char *host, unsigned port, long until,
    struct err *err)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *all, *ai;
	const char *family = link->conf.family;
	char service[16];
	int fd = -1, e = 0, r;

	if (family != NULL && strcasecmp(family, "any") != 0)
		want.ai_family = strcasecmp(family, "inet6") == 0 ? AF_INET6 :
		    AF_INET;
	snprintf(service, sizeof(service), "%u", port);
	r = getaddrinfo(host, service, &want, &all);
	if (r != 0) {
		err_set(err, "the name \"%s\" has no address: %s", host,
		    r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
		return err_hint(err, "check its spelling; it must be known "
		    "here, to DNS, /etc/hosts or ~/.ssh/config");
	}
	for (ai = all; ai != NULL && fd < 0; ai = ai->ai_next) {
		fd = connect_to(link, ai, until);
		if (fd < 0)
			e = errno;
	}
	freeaddrinfo(all);
	if (fd >= 0)
		return fd;
	if (e == ETIMEDOUT) {
		err_set(err, "no answer within %d s", link->limit_s);
		return err_hint(err, "is the host up, and does a firewall let "
		    "port %u through?", port);
	}
	err_set(err, "cannot connect: %s", strerror(e));
	if (e == ECONNREFUSED)
		err_hint(err, "is sshd running there, and on port %u?", port);
	else if (e == EHOSTUNREACH || e == ENETUNREACH)
		err_hint(err, "is the host up, and on a network that this "
		    "machine reaches?");
	return -1;
}

/* Values of ssh_config(5) for libssh, which checks them. */
static int
pass_on(struct ssh_link *link, struct err *err)
{
	static const struct {
		const char *word;
		enum ssh_options_e option;
	} rows[] = {
		{ "ciphers", SSH_OPTIONS_CIPHERS_C_S },
		{ "ciphers", SSH_OPTIONS_CIPHERS_S_C },
		{ "compression", SSH_OPTIONS_COMPRESSION },
		{ "globalknownhostsfile", SSH_OPTIONS_GLOBAL_KNOWNHOSTS },
		{ "hostkeyalgorithms", SSH_OPTIONS_HOSTKEYS },
		{ "kexalgorithms", SSH_OPTIONS_KEY_EXCHANGE },
		{ "macs", SSH_OPTIONS_HMAC_C_S },
		{ "macs", SSH_OPTIONS_HMAC_S_C },
		{ "pubkeyacceptedalgorithms",
		    SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES },
		{ "pubkeyacceptedkeytypes",
		    SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES },
		{ "userknownhostsfile", SSH_OPTIONS_KNOWNHOSTS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *value = strv_getenv(&link->conf.given_on,
		    rows[i].word);

		if (value != NULL && ssh_options_set(link->session,
		    rows[i].option, value) != SSH_OK)
			return err_set(err, "%s %s of the SSH configuration: %s",
			    rows[i].word, value, ssh_get_error(link->session));
	}
	return 0;
}

static int
set_options(struct ssh_link *link, struct err *err)
{
	ssh_session s = link->session;
	long limit = PATIENCE_S, port = 22;
	unsigned number;
	bool no = false;
	const char *host = link->conf.host_name != NULL ?
	    link->conf.host_name : link->host;

	if (link->conf.port != NULL && num_parse(link->conf.port, 1, 65535,
	    &port) < 0)
		return err_set(err, "Port %s of the SSH configuration is none",
		    link->conf.port);
	number = (unsigned)port;
	/* Its own reading of the files would come on top. */
	ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no);
	ssh_options_set(s, SSH_OPTIONS_HOST, host);
	ssh_options_set(s, SSH_OPTIONS_PORT, &number);
	ssh_options_set(s, SSH_OPTIONS_USER, ssh_conf_user(&link->conf));
	ssh_options_set(s, SSH_OPTIONS_TIMEOUT, &limit);
	snprintf(link->where, sizeof(link->where), "%s@%s:%u",
	    ssh_conf_user(&link->conf), host, number);
	return pass_on(link, err);
}

/* How long silence may last before a first word: each jump may take as much. */
static long
until_first_word(const struct ssh_link *link)
{
	long hosts = 1;

	if (link->conf.proxy != NULL)
		hosts++;
	if (link->conf.jump != NULL) {
		hosts++;
		for (const char *c = link->conf.jump; *c != '\0'; c++)
			hosts += *c == ',';
	}
	return clock_ms() + hosts * link->limit_s * 1000L;
}

/* A socket on which the other side has begun to speak: a dead one is told from
 * a slow one by that, as sshd speaks first. */
static int
open_socket(struct ssh_link *link, struct err *err)
{
	long until = until_first_word(link);
	char *host = NULL;
	unsigned port = 22;
	int fd, r;

	if (link->conf.jump != NULL || link->conf.proxy != NULL) {
		fd = ssh_proxy_start(link, err);
	} else {
		ssh_options_get(link->session, SSH_OPTIONS_HOST, &host);
		ssh_options_get_port(link->session, &port);
		fd = dial(link, host != NULL ? host : link->host, port, until,
		    err);
		ssh_string_free_char(host);
	}
	if (fd < 0)
		return -1;
	ssh_link_cuttable(link, fd);
	r = ssh_wait(link, fd, POLLIN, until);
	if (r == 1)
		return fd;
	close(fd);
	if (r < 0)
		return err_set(err, "stopped");
	err_set(err, "no SSH answer within %d s", link->limit_s);
	return err_hint(err, "the port is open but silent: is it sshd that "
	    "listens there?");
}

/* A socket, then SSH's own handshake.  AGAIN where sshd had no room for us. */
static int
connect_once(struct ssh_link *link, struct err *err)
{
	const char *said;
	char text[1000];
	unsigned usual = 22;
	int fd, r;

	if ((link->session = ssh_new()) == NULL)
		return err_nomem(err);
	if (set_options(link, err) < 0)
		return -1;
	fd = open_socket(link, err);
	if (fd < 0)
		return -1;
	ssh_options_set(link->session, SSH_OPTIONS_FD, &fd);
	/* The known key is looked for under this name, as it is, from here on:
	 * there is a socket already. */
	if (link->conf.alias != NULL) {
		ssh_options_set(link->session, SSH_OPTIONS_HOST,
		    link->conf.alias);
		ssh_options_set(link->session, SSH_OPTIONS_PORT, &usual);
	}
	r = ssh_connect(link->session);
	if (r == SSH_OK)
		return 0;
	r = ssh_get_serverbanner(link->session) == NULL ? AGAIN : -1;
	said = ssh_proxy_why(link, text, sizeof(text));
	if (*said != '\0') {
		err_set(err, "the way there failed: %s", said);
		return err_hint(err, "ssh %s, by hand, goes the same way",
		    link->given);
	}
	err_set(err, "SSH did not start: %s", ssh_link_why(link));
	return r;
}

static int
connect_link(struct ssh_link *link, struct err *err)
{
	unsigned seed = (unsigned)((unsigned long)link >> 6) ^
	    (unsigned)clock_ms();
	int r = AGAIN;

	for (int try = 1; r == AGAIN && try <= TRIES; try++) {
		r = connect_once(link, err);
		if (r == 0)
			return 0;
		if (link->session != NULL)
			ssh_free(link->session);
		link->session = NULL;
		ssh_proxy_end(link);
		/* sshd's MaxStartups: come back, not all at once. */
		if (r == AGAIN && try < TRIES &&
		    ssh_wait(link, -1, 0, clock_ms() + try * 100L +
		    rand_r(&seed) % (try * 200L)) < 0)
			return err_set(err, "stopped");
	}
	if (r == AGAIN)
		err_hint(err, "sshd closed %d connections before a word: see "
		    "its MaxStartups, PerSourcePenalties and its log", TRIES);
	return -1;
}

static int
check_host_key(struct ssh_link *link, struct err *err)
{
	enum ssh_known_hosts_e state;
	unsigned char *hash = NULL;
	char *print = NULL, *file = NULL;
	const char *known = "~/.ssh/known_hosts", *config = link->config_file;
	ssh_key key = NULL;
	size_t n;

	state = ssh_session_is_known_server(link->session);
	if (state == SSH_KNOWN_HOSTS_OK)
		return 0;
	if (ssh_get_server_publickey(link->session, &key) == SSH_OK &&
	    ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash,
	    &n) == 0)
		print = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256,
		    hash, n);
	ssh_options_get(link->session, SSH_OPTIONS_KNOWNHOSTS, &file);
	if (file != NULL)
		known = file;
	switch (state) {
	case SSH_KNOWN_HOSTS_CHANGED:
	case SSH_KNOWN_HOSTS_OTHER:
		err_set(err, "the host key has changed: it is %s now and "
		    "another in %s", print != NULL ? print : "unknown", known);
		err_hint(err, "if the host was installed anew: ssh-keygen -R "
		    "%s, then ssh %s once; if not, someone may listen in",
		    link->host, link->given);
		break;
	case SSH_KNOWN_HOSTS_UNKNOWN:
	case SSH_KNOWN_HOSTS_NOT_FOUND:
		err_set(err, "the host key is not known: %s is not in %s",
		    print != NULL ? print : "it", known);
		err_hint(err, "run: ssh %s%s%s%s (once, by hand: it asks), or "
		    "ssh-keyscan it, if you trust this network",
		    config != NULL ? "-F " : "", config != NULL ? config : "",
		    config != NULL ? " " : "", link->given);
		break;
	default:
		err_set(err, "cannot check the host key: %s",
		    ssh_link_why(link));
		err_hint(err, "is every line of %s readable to libssh?", known);
	}
	ssh_string_free_char(file);
	ssh_string_free_char(print);
	ssh_clean_pubkey_hash(&hash);
	ssh_key_free(key);
	return -1;
}

int
ssh_login(struct ssh_link *link, struct err *err)
{
	link->conf.given = link->host;
	link->conf.user = link->user;
	if (ssh_conf_read(&link->conf, link->config_file, err) < 0)
		return -1;
	if (link->port != 0) {
		char port[16];

		snprintf(port, sizeof(port), "%d", link->port);
		free(link->conf.port);
		if ((link->conf.port = strdup(port)) == NULL)
			return err_nomem(err);
	}
	if (connect_link(link, err) < 0)
		return -1;
	atomic_store(&link->phase, "checking the host key");
	if (check_host_key(link, err) < 0)
		return -1;
	atomic_store(&link->phase, "logging in");
	return ssh_auth(link, err);
}
