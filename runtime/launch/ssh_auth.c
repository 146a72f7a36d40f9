/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging in: keys of the agent and of files, as ssh_config(5) chooses them,
 * then what can only be asked for.  No agent is ever forwarded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libssh/callbacks.h>

#include "runtime/launch/ssh_link.h"
#include "runtime/base/file.h"
#include "runtime/base/banned.h"

enum { SECRET = 512, TRIES = 3 };

static void
note_key(struct ssh_link *link, const char *key, size_t n)
{
	buf_addf(&link->keys, "%s%.*s", link->keys.len > 0 ? ", " : "",
	    (int)n, key);
}

/* Names the agent's keys that libssh tries; it has no other way to ask. */
static void
hear_log(int priority, const char *function, const char *text, void *arg)
{
	static const char mark[] = "Trying identity ";
	const char *key = strstr(text, mark);

	(void)priority;
	(void)function;
	if (key != NULL) {
		key += sizeof(mark) - 1;
		note_key(arg, key, strcspn(key, "\n"));
	}
}

struct question {		/* about the passphrase of one key */
	struct ssh_link	*link;
	const char	*path;
	bool		 ask, again, asked;
};

static int
give_passphrase(const char *prompt, char *out, size_t n, int echo, int verify,
    void *arg)
{
	struct question	*q = arg;
	char		 text[4200];

	(void)prompt;
	(void)echo;
	(void)verify;
	q->link->locked_key = true;
	if (!q->ask)
		return -1;
	q->asked = true;
	snprintf(text, sizeof(text), "passphrase of %s", q->path);
	return ssh_ask(q->link, text, q->again, out, n);
}

/* The key of a file; with its certificate where it has one.  NULL where it
 * cannot be had (q->link->locked_key tells). */
static ssh_key
load_key(struct question *q)
{
	const struct strv	*certs = &q->link->conf.certificates;
	ssh_key			 key = NULL, cert;
	char			 path[4200];

	for (int i = 0; i < (q->ask ? TRIES : 1) && key == NULL; i++) {
		q->again = i > 0;
		q->asked = false;
		if (ssh_pki_import_privkey_file(q->path, NULL, give_passphrase,
		    q, &key) != SSH_OK)
			key = NULL;
		if (!q->asked)
			break;
	}
	if (key == NULL)
		return NULL;
	for (size_t i = 0; i <= certs->count; i++) {
		char *full = i < certs->count ?
		    ssh_conf_expand(&q->link->conf, certs->item[i]) : NULL;

		snprintf(path, sizeof(path), "%s%s", full ? full : q->path,
		    full ? "" : "-cert.pub");
		free(full);
		cert = NULL;
		if (access(path, R_OK) != 0 ||
		    ssh_pki_import_cert_file(path, &cert) != SSH_OK)
			continue;
		/* Of this very key? */
		if (ssh_pki_copy_cert_to_privkey(cert, key) == SSH_OK) {
			ssh_key_free(cert);
			break;
		}
		ssh_key_free(cert);
	}
	return key;
}

/* Would the server take it?  Its public part tells, unless that is not there. */
static bool
is_wanted(struct ssh_link *link, const char *path)
{
	char	pub[4200];
	ssh_key	key = NULL;
	int	r = SSH_AUTH_SUCCESS;

	snprintf(pub, sizeof(pub), "%s.pub", path);
	if (access(pub, R_OK) == 0 &&
	    ssh_pki_import_pubkey_file(pub, &key) == SSH_OK) {
		r = ssh_userauth_try_publickey(link->session, NULL, key);
		ssh_key_free(key);
	}
	return r == SSH_AUTH_SUCCESS;
}

/* Files that need no question first, then those that do. */
static int
try_files(struct ssh_link *link, const struct strv *files)
{
	int r = SSH_AUTH_DENIED;

	for (int ask = 0; ask <= link->ask && r != SSH_AUTH_SUCCESS; ask++)
		for (size_t i = 0; i < files->count; i++) {
			struct question	 q = { .link = link, .ask = ask,
					     .path = files->item[i] };
			bool		 locked = link->locked_key;
			ssh_key		 key;

			if (access(q.path, R_OK) != 0)
				continue;
			if (ask && !is_wanted(link, q.path))
				continue;
			if (!ask)
				note_key(link, q.path, strlen(q.path));
			link->locked_key = false;
			key = load_key(&q);
			/* Without a question it has been tried before. */
			if (key != NULL && (!ask || link->locked_key))
				r = ssh_userauth_publickey(link->session, NULL,
				    key);
			ssh_key_free(key);
			link->locked_key |= locked;
			if (r == SSH_AUTH_SUCCESS || r == SSH_AUTH_ERROR)
				return r;
		}
	return r;
}

/* The files that the configuration names, else the usual ones. */
static int
list_files(struct ssh_link *link, struct strv *out)
{
	static const char *const usual[] = {
		"id_ed25519", "id_ecdsa", "id_rsa",
	};
	const struct strv *named = &link->conf.identities;

	for (size_t i = 0; i < named->count; i++) {
		char	*full = ssh_conf_expand(&link->conf, named->item[i]);
		int	 r = full != NULL ? strv_add(out, full) : -1;

		free(full);
		if (r < 0)
			return -1;
	}
	for (size_t i = 0; i < 3 && named->count == 0; i++)
		if (strv_addf(out, "%s/.ssh/%s", file_home(), usual[i]) < 0)
			return -1;
	return 0;
}

static int
try_agent(struct ssh_link *link, const struct strv *files)
{
	int r, old = ssh_get_log_level();

	if ((link->conf.agent != NULL && strcmp(link->conf.agent, "none") == 0)
	    || ssh_keyring(link, files) < 0)
		return SSH_AUTH_DENIED;
	ssh_set_log_userdata(link);
	ssh_set_log_callback(hear_log);
	ssh_set_log_level(SSH_LOG_DEBUG);
	r = ssh_userauth_agent(link->session, NULL);
	ssh_set_log_level(old);
	return r;
}

/* The same password for all hosts of a user, until one refuses it. */
static int
password(struct ssh_link *link, int try, char secret[SECRET])
{
	char	question[700];
	size_t	n = strcspn(link->where, "@");

	if (try == 0)
		snprintf(question, sizeof(question), "password of %.*s",
		    (int)n, link->where);
	else
		snprintf(question, sizeof(question), "password of %s",
		    link->where);
	return ssh_ask(link, question, try > 1, secret, SECRET);
}

static int
try_password(struct ssh_link *link)
{
	char	secret[SECRET];
	int	r = SSH_AUTH_DENIED;

	for (int i = 0; i < TRIES && r == SSH_AUTH_DENIED; i++) {
		if (password(link, i, secret) < 0)
			break;
		r = ssh_userauth_password(link->session, NULL, secret);
	}
	explicit_bzero(secret, sizeof(secret));
	return r;
}

/* One hidden prompt is a password; anything else is asked for each host. */
static int
try_prompts(struct ssh_link *link)
{
	char	secret[SECRET], question[900];
	int	r = SSH_AUTH_DENIED;

	for (int i = 0; i < TRIES && r == SSH_AUTH_DENIED; i++) {
		r = ssh_userauth_kbdint(link->session, NULL, NULL);
		while (r == SSH_AUTH_INFO) {
			int n = ssh_userauth_kbdint_getnprompts(link->session);

			for (int k = 0; k < n; k++) {
				char		 echo = 0;
				const char	*text =
				    ssh_userauth_kbdint_getprompt(link->session,
				    (unsigned)k, &echo);
				int		 got;

				snprintf(question, sizeof(question), "%s: %.300s",
				    link->where, text != NULL ? text : "");
				got = n == 1 && !echo ?
				    password(link, i, secret) :
				    ssh_ask(link, question, true, secret,
				    sizeof(secret));
				if (got < 0)
					return SSH_AUTH_DENIED;
				ssh_userauth_kbdint_setanswer(link->session,
				    (unsigned)k, secret);
				explicit_bzero(secret, sizeof(secret));
			}
			r = ssh_userauth_kbdint(link->session, NULL, NULL);
		}
	}
	return r;
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
refused(struct ssh_link *link, int methods, struct err *err)
{
	struct buf names = BUF_INIT;

	list_methods(methods, &names);
	err_set(err, "login refused; offered: %s; keys tried: %s",
	    buf_text(&names), link->keys.len > 0 ? buf_text(&link->keys) :
	    "none");
	buf_clear(&names);
	if (link->locked_key)
		return err_hint(err, "a key needs its passphrase: load it with "
		    "ssh-add first%s", link->ask ? "" :
		    ", or launch from a terminal");
	return err_hint(err, "is this the right user, and is a key of yours "
	    "there? ssh-copy-id %s puts it", link->given);
}

int
ssh_auth(struct ssh_link *link, struct err *err)
{
	struct strv	files = STRV_INIT;
	int		r, methods;

	r = ssh_userauth_none(link->session, NULL);
	if (r == SSH_AUTH_SUCCESS)
		return 0;
	methods = ssh_userauth_list(link->session, NULL);
	if (r != SSH_AUTH_ERROR && list_files(link, &files) < 0) {
		strv_clear(&files);
		return err_nomem(err);
	}
	if (r != SSH_AUTH_ERROR && methods & SSH_AUTH_METHOD_PUBLICKEY) {
		r = try_agent(link, &files);
		if (r != SSH_AUTH_SUCCESS && ssh_is_connected(link->session))
			r = try_files(link, &files);
	}
	strv_clear(&files);
	/* Publickey alone may not be enough. */
	if (r == SSH_AUTH_PARTIAL)
		methods = ssh_userauth_list(link->session, NULL);
	if (r != SSH_AUTH_SUCCESS && r != SSH_AUTH_ERROR && link->ask &&
	    methods & SSH_AUTH_METHOD_INTERACTIVE)
		r = try_prompts(link);
	if (r != SSH_AUTH_SUCCESS && r != SSH_AUTH_ERROR && link->ask &&
	    methods & SSH_AUTH_METHOD_PASSWORD)
		r = try_password(link);
	if (r == SSH_AUTH_SUCCESS)
		return 0;
	if (r == SSH_AUTH_ERROR)
		return err_set(err, "login failed: %s", ssh_link_why(link));
	return refused(link, methods, err);
}
