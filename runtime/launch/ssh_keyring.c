/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's ssh-agent as the configuration wants it seen.  libssh offers a
 * server all keys that an agent has, in the agent's order, and a server gives
 * up after six.  ssh(1) offers those first whose files the configuration names,
 * and with IdentitiesOnly no others.  So libssh talks to a thread here, which
 * passes on all but the list of keys (draft-ietf-sshm-ssh-agent, section 3).
 */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/thread.h"
#include "runtime/base/banned.h"

enum { LIST = 11, LISTED = 12, MOST = 256 << 10 };

struct keyring {
	int		 libssh, agent;	/* sockets */
	bool		 only;
	struct strv	 named;		/* keys in base64, as in a .pub file */
	uint32_t	 n;		/* bytes of the message */
	char		 message[MOST];
};

static void
keyring_free(struct keyring *k)
{
	if (k->libssh >= 0)
		close(k->libssh);
	if (k->agent >= 0)
		close(k->agent);
	strv_clear(&k->named);
	free(k);
}

static int
move_all(int fd, void *data, size_t n, bool out)
{
	char *p = data;

	while (n > 0) {
		ssize_t got = out ? send(fd, p, n, MSG_NOSIGNAL) :
		    recv(fd, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int
take(struct keyring *k, int fd)
{
	uint32_t n;

	if (move_all(fd, &n, sizeof(n), false) < 0)
		return -1;
	k->n = be32toh(n);
	return k->n > 0 && k->n <= MOST ?
	    move_all(fd, k->message, k->n, false) : -1;
}

static int
give(struct keyring *k, int fd)
{
	uint32_t n = htobe32(k->n);

	return move_all(fd, &n, sizeof(n), true) < 0 ? -1 :
	    move_all(fd, k->message, k->n, true);
}

static bool
is_named(const struct keyring *k, const char *blob, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	struct buf text = BUF_INIT;
	bool named = false;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t u = 0;
		char four[4];

		for (size_t j = 0; j < 3; j++)
			u = u << 8 | (i + j < n ? (unsigned char)blob[i + j] :
			    0);
		for (int j = 0; j < 4; j++)
			four[j] = i + (size_t)j <= n ?
			    digit[u >> (18 - 6 * j) & 63] : '=';
		buf_add(&text, four, sizeof(four));
	}
	for (size_t i = 0; i < k->named.count; i++)
		named |= !strcmp(k->named.item[i], buf_text(&text));
	buf_clear(&text);
	return named;
}

/* A string of the protocol at *at: its length and bytes.  -1: cut off. */
static int
skip(const struct keyring *k, size_t *at, size_t *n)
{
	uint32_t length;

	if (k->n - *at < sizeof(length))
		return -1;
	memcpy(&length, k->message + *at, sizeof(length));
	*n = be32toh(length);
	*at += sizeof(length);
	if (k->n - *at < *n)
		return -1;
	*at += *n;
	return 0;
}

/* Named keys first, and others behind them or not at all. */
static int
sort_list(struct keyring *k)
{
	struct buf named = BUF_INIT, other = BUF_INIT;
	size_t at = 1 + sizeof(uint32_t);
	uint32_t count = 0;
	int ret = -1;

	if (k->n < at)
		return -1;
	while (at < k->n) {
		size_t first = at, n, comment;
		bool is;

		if (skip(k, &at, &n) < 0 || skip(k, &at, &comment) < 0)
			goto out;
		is = is_named(k, k->message + first + sizeof(uint32_t), n);
		if (k->only && !is)
			continue;
		buf_add(is ? &named : &other, k->message + first, at - first);
		count++;
	}
	if (buf_failed(&named) || buf_failed(&other))
		goto out;
	count = htobe32(count);
	memcpy(k->message + 1, &count, sizeof(count));
	k->n = (uint32_t)(1 + sizeof(count) + named.len + other.len);
	if (named.len > 0)
		memcpy(k->message + 1 + sizeof(count), named.data, named.len);
	if (other.len > 0)
		memcpy(k->message + 1 + sizeof(count) + named.len, other.data,
		    other.len);
	ret = 0;
out:
	buf_clear(&named);
	buf_clear(&other);
	return ret;
}

/* Until libssh closes its end, or the agent its. */
static void *
serve(void *arg)
{
	struct keyring *k = arg;
	bool list;

	while (take(k, k->libssh) == 0) {
		list = k->message[0] == LIST;
		if (give(k, k->agent) < 0 || take(k, k->agent) < 0)
			break;
		if (list && k->message[0] == LISTED && sort_list(k) < 0)
			break;
		if (give(k, k->libssh) < 0)
			break;
	}
	keyring_free(k);
	return NULL;
}

static int
connect_agent(const struct ssh_conf *conf)
{
	bool usual = conf->agent == NULL ||
	    strcmp(conf->agent, "SSH_AUTH_SOCK") == 0;
	char *path = usual ? NULL : ssh_conf_expand(conf, conf->agent);
	const char *at = usual ? getenv("SSH_AUTH_SOCK") : path;
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = -1;

	if (at != NULL && strlen(at) < sizeof(to.sun_path)) {
		snprintf(to.sun_path, sizeof(to.sun_path), "%s", at);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	}
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		fd = -1;
	}
	free(path);
	return fd;
}

/* The public part of a key: FILE.pub, or FILE where that has it. */
static int
add_named(struct strv *named, const char *file)
{
	ssh_key key = NULL;
	char pub[4200], *text = NULL;
	int ret = 0;

	snprintf(pub, sizeof(pub), "%s.pub", file);
	if ((access(pub, R_OK) != 0 ||
	    ssh_pki_import_pubkey_file(pub, &key) != SSH_OK) &&
	    (access(file, R_OK) != 0 ||
	    ssh_pki_import_pubkey_file(file, &key) != SSH_OK))
		return 0;
	if (ssh_pki_export_pubkey_base64(key, &text) == SSH_OK)
		ret = strv_add(named, text);
	ssh_string_free_char(text);
	ssh_key_free(key);
	return ret;
}

int
ssh_keyring(struct ssh_link *link, const struct strv *files)
{
	struct keyring *k = calloc(1, sizeof(*k));
	pthread_t thread;
	int pair[2];

	if (k == NULL)
		return -1;
	k->only = link->conf.only;
	k->libssh = -1;
	k->agent = connect_agent(&link->conf);
	for (size_t i = 0; k->agent >= 0 && i < files->count; i++)
		if (add_named(&k->named, files->item[i]) < 0)
			goto fail;
	if (k->agent < 0 || (k->only && k->named.count == 0) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		goto fail;
	k->libssh = pair[1];
	if (ssh_set_agent_socket(link->session, pair[0]) != SSH_OK ||
	    thread_start(&thread, serve, k) != 0) {
		close(pair[0]);
		goto fail;
	}
	pthread_detach(thread);
	return 0;
fail:
	keyring_free(k);
	return -1;
}
