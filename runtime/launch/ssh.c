/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/num.h"
#include "runtime/launch/ssh.h"
#include "runtime/launch/ssh_link.h"
#include "runtime/base/banned.h"

#define CONNECT_S 10
#define SILENCE_S 15
#define SAID_MAX  4096

static void
link_unref(struct ssh_link *link)
{
	if (atomic_fetch_sub(&link->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&link->lock);
	if (link->cut_fd >= 0)
		close(link->cut_fd);
	if (link->near_fd >= 0)
		close(link->near_fd);
	if (link->far_fd >= 0)
		close(link->far_fd);
	free(link->given);
	free(link->user);
	free(link->host);
	free(link->config_file);
	free(link->agent_path);
	ssh_conf_clear(&link->conf);
	strv_clear(&link->agent_args);
	buf_clear(&link->keys);
	buf_clear(&link->said);
	buf_clear(&link->kept);
	free(link);
}

void
ssh_link_cuttable(struct ssh_link *link, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	pthread_mutex_lock(&link->lock);
	if (link->cut_fd >= 0)
		close(link->cut_fd);
	link->cut_fd = copy;
	pthread_mutex_unlock(&link->lock);
}

const char *
ssh_link_why(struct ssh_link *link)
{
	const char *why = ssh_get_error(link->session);

	return why[0] != '\0' ? why : "the connection was closed";
}

/* One word for sh: within single quotes nothing is special but they. */
static void
add_quoted(struct buf *out, const char *word)
{
	buf_adds(out, "'");
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			buf_adds(out, "'\\''");
		else
			buf_add(out, word, 1);
	}
	buf_adds(out, "'");
}

/* Runs the agent at a path that is quoted for sh. */
static int
run_agent(struct ssh_link *link, const char *path, bool *absent,
    struct err *err)
{
	struct buf command = BUF_INIT;
	int r;

	buf_addf(&command, "exec %s", path);
	for (size_t i = 0; i < link->agent_args.count; i++) {
		buf_adds(&command, " ");
		add_quoted(&command, link->agent_args.item[i]);
	}
	r = buf_failed(&command) ? err_nomem(err) :
	    ssh_run(link, buf_text(&command), absent, err);
	buf_clear(&command);
	return r;
}

/* Mostly the agent is there since the last launch: it is started at once, which
 * saves SFTP's round trips and its process.  Only where nothing answers is it
 * looked for, copied and started again. */
static int
link_work(struct ssh_link *link, struct err *err)
{
	struct buf quoted = BUF_INIT;
	char *path = NULL;
	bool absent = false;
	int r;

	if (ssh_login(link, err) < 0)
		return -1;
	atomic_store(&link->phase, "starting the agent");
	r = ssh_upload_guess(link, &quoted, err);
	if (r == 0)
		r = run_agent(link, buf_text(&quoted), &absent, err);
	if (r == 0 && absent) {
		atomic_store(&link->phase, "copying the agent");
		r = ssh_upload(link, &path, err);
		buf_clear(&quoted);
		if (r == 0) {
			add_quoted(&quoted, path);
			atomic_store(&link->phase, "starting the agent");
			r = buf_failed(&quoted) ? err_nomem(err) :
			    run_agent(link, buf_text(&quoted), NULL, err);
		}
		free(path);
	}
	buf_clear(&quoted);
	return r;
}

static void *
link_thread(void *arg)
{
	struct ssh_link *link = arg;
	struct err err = ERR_INIT;
	int r = link_work(link, &err);

	if (r < 0)
		err_at(&err, "%s", link->where[0] != '\0' ? link->where :
		    link->given);
	if (link->channel != NULL)
		ssh_channel_free(link->channel);
	if (link->session != NULL) {
		ssh_disconnect(link->session);
		ssh_free(link->session);
	}
	ssh_proxy_end(link);
	pthread_mutex_lock(&link->lock);
	link->failed = r < 0;
	link->err = err;
	pthread_mutex_unlock(&link->lock);
	atomic_store(&link->phase, "ended");
	/* Last: who reads end of file asks for the result next. */
	shutdown(link->far_fd, SHUT_RDWR);
	link_unref(link);
	return NULL;
}

/* [user@]host[:port]; colons in a host need brackets around it. */
static int
read_host(struct ssh_link *link, struct err *err)
{
	const char *text = link->given, *at = strrchr(text, '@'), *end;
	long port;

	if (at != NULL) {
		link->user = strndup(text, (size_t)(at - text));
		if (link->user == NULL)
			return err_nomem(err);
		text = at + 1;
	}
	if (text[0] == '[' && (end = strchr(text, ']')) != NULL) {
		link->host = strndup(text + 1, (size_t)(end - text - 1));
		end++;
	} else {
		end = strchr(text, ':');
		/* Two colons: an IPv6 address without a port. */
		if (end == NULL || strchr(end + 1, ':') != NULL)
			end = text + strlen(text);
		link->host = strndup(text, (size_t)(end - text));
	}
	if (link->host == NULL)
		return err_nomem(err);
	if (end[0] == ':') {
		if (num_parse(end + 1, 1, 65535, &port) < 0)
			goto bad;
		link->port = (int)port;
	} else if (end[0] != '\0')
		goto bad;
	/* A leading "-" would be an option to a ProxyCommand's ssh. */
	if (link->host[0] == '\0' || link->host[0] == '-' ||
	    (link->user != NULL && link->user[0] == '\0'))
		goto bad;
	return 0;
bad:
	err_set(err, "\"%s\" is not a host", link->given);
	return err_hint(err, "write [user@]host[:port]");
}

static char *
copy_text(const char *text, bool *failed)
{
	char *copy = text == NULL ? NULL : strdup(text);

	if (text != NULL && copy == NULL)
		*failed = true;
	return copy;
}

static int
link_start(struct ssh_link *link)
{
	sigset_t all, old;
	int r;

	/* Signals are the caller's; SIGPIPE stays pending here for ever. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	atomic_store(&link->refs, 2);
	r = pthread_create(&link->thread, NULL, link_thread, link);
	if (r != 0)
		atomic_store(&link->refs, 1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int
ssh_open(const struct ssh_options *options, const char *host,
    struct ssh_link **out, struct err *err)
{
	struct ssh_link *link = calloc(1, sizeof(*link));
	const char *const *arg = options->agent_args;
	bool failed = false;
	int pair[2], r;

	if (link == NULL)
		return err_nomem(err);
	pthread_mutex_init(&link->lock, NULL);
	link->refs = 1;
	link->proxy_said = -1;
	link->ask = options->ask;
	link->ask_fd = options->ask_fd;
	link->cut_fd = link->near_fd = link->far_fd = -1;
	link->phase = "connecting";
	link->said.max = 2 * SAID_MAX;
	link->keys.max = 1024;
	link->limit_s = options->connect_timeout_s > 0 ?
	    options->connect_timeout_s : CONNECT_S;
	link->silence_s = options->silence_s > 0 ? options->silence_s :
	    SILENCE_S;
	link->given = copy_text(host, &failed);
	link->config_file = copy_text(options->config_file, &failed);
	link->agent_path = copy_text(options->agent_path, &failed);
	for (; arg != NULL && *arg != NULL; arg++)
		failed |= strv_add(&link->agent_args, *arg) < 0;
	if (failed) {
		err_nomem(err);
		goto fail;
	}
	if (read_host(link, err) < 0)
		goto fail;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		err_set(err, "no socket for %s: %s", host, strerror(errno));
		goto fail;
	}
	link->near_fd = pair[0];
	link->far_fd = pair[1];
	fcntl(link->far_fd, F_SETFL, O_NONBLOCK);
	if ((r = link_start(link)) != 0) {
		err_set(err, "no thread for %s: %s", host, strerror(r));
		goto fail;
	}
	*out = link;
	return 0;
fail:
	link_unref(link);
	return -1;
}

int
ssh_fd(const struct ssh_link *link)
{
	return link->near_fd;
}

int
ssh_result(struct ssh_link *link, struct err *err)
{
	int r = 0;

	pthread_mutex_lock(&link->lock);
	if (link->failed) {
		if (err != NULL)
			*err = link->err;
		r = -1;
	}
	pthread_mutex_unlock(&link->lock);
	return r;
}

const char *
ssh_phase(const struct ssh_link *link)
{
	return atomic_load(&((struct ssh_link *)link)->phase);
}

const char *
ssh_ignored(const struct ssh_link *link, size_t i)
{
	return i < link->conf.ignored.count ? link->conf.ignored.item[i] : NULL;
}

int
ssh_copied(const struct ssh_link *link)
{
	return atomic_load(&((struct ssh_link *)link)->copied);
}

void
ssh_close(struct ssh_link *link)
{
	struct timespec until;

	if (link == NULL)
		return;
	atomic_store(&link->stop, true);
	shutdown(link->near_fd, SHUT_RDWR);
	pthread_mutex_lock(&link->lock);
	if (link->cut_fd >= 0)
		shutdown(link->cut_fd, SHUT_RDWR);
	pthread_mutex_unlock(&link->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += link->limit_s;
	/* A name lookup cannot be interrupted: leave it to end by itself, it
	 * holds the other reference. */
	if (pthread_timedjoin_np(link->thread, NULL, &until) != 0)
		pthread_detach(link->thread);
	link_unref(link);
}
