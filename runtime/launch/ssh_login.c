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
#include <sys/socket.h>
#include <unistd.h>

#include <libssh/callbacks.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/clock.h"
#include "runtime/base/banned.h"

#define TRIES 4		/* a busy sshd drops connections before its banner */
#define AGAIN (-2)

/* Waits for the socket, or for ssh_close().  1 ready, 0 too late, -1 stop. */
static int
wait_for(struct ssh_link *link, int fd, short events, long until)
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
		r = wait_for(link, fd, POLLOUT, until);
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
	char service[16];
	int fd = -1, e = 0, r;

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

/* Names the keys that libssh tries; it has no other way to ask. */
static void
note_key(int priority, const char *function, const char *text, void *arg)
{
	static const char *const marks[] = {
		"Trying to authenticate with ", "Trying identity file ",
	};
	struct ssh_link *link = arg;
	const char *key = NULL;

	(void)priority;
	(void)function;
	for (size_t i = 0; key == NULL && i < 2; i++)
		if ((key = strstr(text, marks[i])) != NULL)
			key += strlen(marks[i]);
	if (key == NULL)
		return;
	if (strncmp(key, "file://", 7) == 0)
		key += 7;
	buf_addf(&link->keys, "%s%.*s", link->keys.len > 0 ? ", " : "",
	    (int)strcspn(key, "\n"), key);
}

/* A key wants its passphrase: there is no one to ask. */
static int
no_passphrase(const char *prompt, char *out, size_t n, int echo, int verify,
    void *arg)
{
	struct ssh_link *link = arg;

	(void)prompt;
	(void)out;
	(void)n;
	(void)echo;
	(void)verify;
	link->locked_key = true;
	return -1;
}

static int
set_options(struct ssh_link *link, struct err *err)
{
	ssh_session s = link->session;
	long limit = link->limit_s;
	unsigned port = 22;
	char *host = NULL, *user = NULL;

	ssh_options_set(s, SSH_OPTIONS_HOST, link->host);
	if (ssh_options_parse_config(s, link->config_file) < 0) {
		err_set(err, "cannot read %s", link->config_file != NULL ?
		    link->config_file : "~/.ssh/config");
		return err_hint(err, "ssh -G %s shows what ssh reads there",
		    link->host);
	}
	if (link->user != NULL)
		ssh_options_set(s, SSH_OPTIONS_USER, link->user);
	if (link->port != 0)
		ssh_options_set(s, SSH_OPTIONS_PORT, &link->port);
	ssh_options_set(s, SSH_OPTIONS_TIMEOUT, &limit);
	ssh_options_get_port(s, &port);
	ssh_options_get(s, SSH_OPTIONS_HOST, &host);
	if (ssh_options_get(s, SSH_OPTIONS_USER, &user) != SSH_OK) {
		/* NULL: the name of who runs this. */
		ssh_options_set(s, SSH_OPTIONS_USER, NULL);
		ssh_options_get(s, SSH_OPTIONS_USER, &user);
	}
	snprintf(link->where, sizeof(link->where), "%s@%s:%u",
	    user != NULL ? user : "?", host != NULL ? host : link->host, port);
	ssh_string_free_char(host);
	ssh_string_free_char(user);
	return 0;
}

/* TCP, then SSH's own handshake.  AGAIN where sshd had no room for us. */
static int
connect_once(struct ssh_link *link, long until, struct err *err)
{
	char *host = NULL, *proxy = NULL;
	unsigned port = 22;
	int fd, r;

	if ((link->session = ssh_new()) == NULL)
		return err_nomem(err);
	if (set_options(link, err) < 0)
		return -1;
	ssh_options_get(link->session, SSH_OPTIONS_PROXYCOMMAND, &proxy);
	if (proxy == NULL) {
		ssh_options_get(link->session, SSH_OPTIONS_HOST, &host);
		ssh_options_get_port(link->session, &port);
		fd = dial(link, host != NULL ? host : link->host, port, until,
		    err);
		ssh_string_free_char(host);
		if (fd < 0)
			return -1;
		ssh_link_cuttable(link, fd);
		ssh_options_set(link->session, SSH_OPTIONS_FD, &fd);
	}
	ssh_string_free_char(proxy);
	r = ssh_connect(link->session);
	if (r == SSH_OK) {
		ssh_link_cuttable(link, ssh_get_fd(link->session));
		return 0;
	}
	if (clock_ms() >= until) {
		err_set(err, "no SSH answer within %d s", link->limit_s);
		return err_hint(err, "the port is open but silent: is it "
		    "sshd that listens there?");
	}
	err_set(err, "SSH did not start: %s", ssh_link_why(link));
	return ssh_get_serverbanner(link->session) == NULL ? AGAIN : -1;
}

static int
connect_link(struct ssh_link *link, struct err *err)
{
	long until = clock_ms() + link->limit_s * 1000L;
	unsigned seed = (unsigned)((unsigned long)link >> 6) ^ (unsigned)until;
	int r = AGAIN;

	for (int try = 1; r == AGAIN && try <= TRIES; try++) {
		r = connect_once(link, until, err);
		if (r == 0)
			return 0;
		if (link->session != NULL)
			ssh_free(link->session);
		link->session = NULL;
		/* sshd's MaxStartups: come back, not all at once. */
		if (r == AGAIN && try < TRIES &&
		    wait_for(link, -1, 0, clock_ms() + try * 100L +
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

static void
list_methods(int methods, struct buf *out)
{
	static const struct { int bit; const char *name; } all[] = {
		{ SSH_AUTH_METHOD_PUBLICKEY, "publickey" },
		{ SSH_AUTH_METHOD_PASSWORD, "password" },
		{ SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive" },
		{ SSH_AUTH_METHOD_HOSTBASED, "hostbased" },
		{ SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (methods & all[i].bit)
			buf_addf(out, "%s%s", out->len > 0 ? ", " : "",
			    all[i].name);
	if (out->len == 0)
		buf_adds(out, "nothing");
}

static int
log_in(struct ssh_link *link, struct err *err)
{
	struct ssh_callbacks_struct calls = {
		.userdata = link, .auth_function = no_passphrase,
	};
	struct buf methods = BUF_INIT;
	int r, old = ssh_get_log_level();

	ssh_callbacks_init(&calls);
	ssh_set_callbacks(link->session, &calls);
	ssh_set_log_userdata(link);
	ssh_set_log_callback(note_key);
	r = ssh_userauth_none(link->session, NULL);
	if (r == SSH_AUTH_DENIED || r == SSH_AUTH_PARTIAL) {
		list_methods(ssh_userauth_list(link->session, NULL), &methods);
		ssh_set_log_level(SSH_LOG_DEBUG);
		r = ssh_userauth_publickey_auto(link->session, NULL, NULL);
		ssh_set_log_level(old);
	}
	/* "calls" is on this stack and ends with it. */
	memset(&calls, 0, sizeof(calls));
	ssh_callbacks_init(&calls);
	ssh_set_callbacks(link->session, NULL);
	if (r == SSH_AUTH_SUCCESS) {
		buf_clear(&methods);
		return 0;
	}
	if (r == SSH_AUTH_DENIED || r == SSH_AUTH_PARTIAL) {
		err_set(err, "login refused; offered: %s; keys tried: %s",
		    buf_text(&methods), link->keys.len > 0 ?
		    buf_text(&link->keys) : "none");
		if (link->locked_key)
			err_hint(err, "a key needs its passphrase: load it "
			    "with ssh-add first");
		else
			err_hint(err, "is this the right user, and is a key "
			    "of yours there? ssh-copy-id %s puts it",
			    link->given);
	} else
		err_set(err, "login failed: %s", ssh_link_why(link));
	buf_clear(&methods);
	return -1;
}

int
ssh_login(struct ssh_link *link, struct err *err)
{
	if (connect_link(link, err) < 0)
		return -1;
	atomic_store(&link->phase, "checking the host key");
	if (check_host_key(link, err) < 0)
		return -1;
	atomic_store(&link->phase, "logging in");
	return log_in(link, err);
}
