/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's file is named by a hash of its bytes, so that "there already" is
 * one stat, and two builds never overwrite each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libssh/sftp.h>

#include "runtime/base/file.h"
#include "runtime/launch/ssh_link.h"
#include "runtime/base/hash.h"
#include "runtime/base/banned.h"

#define CACHE ".cache"
#define NAME  "/accel/agent-%016llx"
#define CHUNK 32768		/* what every server takes at once */
#define OPENSSH_CHUNK 258048	/* below its limit: fewer round trips */

/* What SFTP said, in words. */
static const char *
sftp_why(struct ssh_link *link, sftp_session sftp)
{
	switch (sftp_get_error(sftp)) {
	case SSH_FX_PERMISSION_DENIED:
		return "permission denied";
	case SSH_FX_NO_SUCH_FILE:
	case SSH_FX_NO_SUCH_PATH:
		return "no such folder";
	case SSH_FX_WRITE_PROTECT:
		return "read-only file system";
	case SSH_FX_FAILURE:
		return "it failed there (is the disk or quota full?)";
	case SSH_FX_OK:
	case SSH_FX_NO_CONNECTION:
	case SSH_FX_CONNECTION_LOST:
		return ssh_link_why(link);
	}
	return "refused";
}

/* True if a whole, runnable agent of this build is there. */
static bool
is_there(sftp_session sftp, const char *path, size_t size)
{
	sftp_attributes a = sftp_stat(sftp, path);
	bool there;

	if (a == NULL)
		return false;
	there = a->size == size && (a->permissions & 0100) != 0;
	sftp_attributes_free(a);
	return there;
}

/* All of the bytes into a new file that only its owner reads. */
static int
put_file(struct ssh_link *link, sftp_session sftp, const char *path,
    const struct buf *data, struct err *err)
{
	sftp_file f;
	size_t at = 0, n, most = ssh_get_openssh_version(link->session) ?
	    OPENSSH_CHUNK : CHUNK;
	ssize_t w = 0;

	f = sftp_open(sftp, path, O_WRONLY | O_CREAT | O_EXCL, 0700);
	if (f == NULL)
		goto fail;
	for (; at < data->len; at += (size_t)w) {
		n = data->len - at < most ? data->len - at : most;
		w = sftp_write(f, data->data + at, n);
		if (w <= 0)
			break;
	}
	if (w < 0 || at < data->len) {
		sftp_close(f);
		goto fail;
	}
	if (sftp_close(f) == SSH_OK && sftp_chmod(sftp, path, 0700) == 0)
		return 0;
fail:
	err_set(err, "cannot write %s: %s", path, sftp_why(link, sftp));
	err_hint(err, "the agent goes to ~/" CACHE "/accel there: it needs %zu KiB "
	    "and a folder that the user may write", data->len / 1024 + 1);
	sftp_unlink(sftp, path);
	return -1;
}

/* Beside and renamed: other launches may copy the same at the same time, and
 * hosts may share one home. */
static int
put_agent(struct ssh_link *link, sftp_session sftp, const char *cache,
    const char *path, const struct buf *data, struct err *err)
{
	struct buf temp = BUF_INIT;
	int r;

	/* Fails where they are there: the write below tells. */
	sftp_mkdir(sftp, cache, 0700);
	buf_addf(&temp, "%s/accel", cache);
	sftp_mkdir(sftp, buf_text(&temp), 0700);
	buf_clear(&temp);
	buf_addf(&temp, "%s.%ld.%lx", path, (long)getpid(),
	    (unsigned long)link >> 4);
	if (buf_failed(&temp))
		return err_nomem(err);
	atomic_store(&link->copied, true);
	r = put_file(link, sftp, buf_text(&temp), data, err);
	if (r == 0 && sftp_rename(sftp, buf_text(&temp), path) != 0) {
		if (is_there(sftp, path, data->len))
			sftp_unlink(sftp, buf_text(&temp));
		else {
			/* SFTP's rename does not replace. */
			sftp_unlink(sftp, path);
			if (sftp_rename(sftp, buf_text(&temp), path) != 0) {
				r = err_set(err, "cannot rename %s: %s",
				    buf_text(&temp), sftp_why(link, sftp));
				sftp_unlink(sftp, buf_text(&temp));
			}
		}
	}
	buf_clear(&temp);
	return r;
}

/* The host's XDG_CACHE_HOME, or "".  Only its shell knows; whatever else that
 * says is left out. */
static void
ask_cache(struct ssh_link *link, char *out, size_t room)
{
	static const char mark[] = "accel-cache=";
	ssh_channel ch = ssh_channel_new(link->session);
	struct buf said = BUF_INIT;
	char block[1024], *at;
	int n;

	out[0] = '\0';
	said.max = 65536;
	if (ch != NULL && ssh_channel_open_session(ch) == SSH_OK &&
	    ssh_channel_request_exec(ch, "exec sh -c 'echo accel-cache=$"
	    "XDG_CACHE_HOME'") == SSH_OK)
		while ((n = ssh_channel_read(ch, block, sizeof(block), 0)) > 0)
			buf_add(&said, block, (size_t)n);
	at = said.data != NULL ? memmem(said.data, said.len, mark,
	    sizeof(mark) - 1) : NULL;
	if (at != NULL && at[sizeof(mark) - 1] == '/')
		snprintf(out, room, "%.*s",
		    (int)strcspn(at + sizeof(mark) - 1, "\r\n"),
		    at + sizeof(mark) - 1);
	if (ch != NULL)
		ssh_channel_free(ch);
	buf_clear(&said);
}

static int
upload(struct ssh_link *link, sftp_session sftp, const struct buf *data,
    char **out, struct err *err)
{
	unsigned long long hash = hash_bytes(data->data, data->len);
	struct buf path = BUF_INIT;
	char *home, cache[2048], other[2048];
	int r = 0;

	home = sftp_canonicalize_path(sftp, ".");
	if (home == NULL)
		return err_set(err, "SFTP does not tell the home folder: %s",
		    sftp_why(link, sftp));
	snprintf(cache, sizeof(cache), "%s/" CACHE,
	    strcmp(home, "/") == 0 ? "" : home);
	ssh_string_free_char(home);
	buf_addf(&path, "%s" NAME, cache, hash);
	/* Only where it is not in the usual place is there a question. */
	if (!is_there(sftp, buf_text(&path), data->len)) {
		ask_cache(link, other, sizeof(other));
		if (*other != '\0') {
			snprintf(cache, sizeof(cache), "%s", other);
			buf_clear(&path);
			buf_addf(&path, "%s" NAME, cache, hash);
		}
		if (buf_failed(&path))
			return err_nomem(err);
		if (*other == '\0' || !is_there(sftp, buf_text(&path),
		    data->len))
			r = put_agent(link, sftp, cache, buf_text(&path), data,
			    err);
	}
	if (r == 0 && (*out = buf_detach(&path)) == NULL)
		r = err_nomem(err);
	buf_clear(&path);
	return r;
}

static int
read_agent(struct ssh_link *link, struct buf *data, struct err *err)
{
	if (file_read(link->agent_path, data, err) < 0)
		return -1;
	if (data->len > 0)
		return 0;
	buf_clear(data);
	return err_set(err, "%s is empty", link->agent_path);
}

/* The file is read once for all hosts: its bytes only to find its name. */
int
ssh_upload_guess(struct ssh_link *link, struct buf *out, struct err *err)
{
	static pthread_mutex_t	 lock = PTHREAD_MUTEX_INITIALIZER;
	static char		 path[4096];
	static uint64_t		 hash;
	struct buf		 data = BUF_INIT;
	int			 r = 0;

	pthread_mutex_lock(&lock);
	if (strcmp(path, link->agent_path) != 0) {
		r = read_agent(link, &data, err);
		if (r == 0) {
			hash = hash_bytes(data.data, data.len);
			snprintf(path, sizeof(path), "%s", link->agent_path);
		}
		buf_clear(&data);
	}
	if (r == 0)
		buf_addf(out, "\"$HOME/" CACHE NAME "\"", (unsigned long long)hash);
	pthread_mutex_unlock(&lock);
	return r == 0 && buf_failed(out) ? err_nomem(err) : r;
}

int
ssh_upload(struct ssh_link *link, char **path, struct err *err)
{
	struct buf data = BUF_INIT;
	sftp_session sftp;
	int r = -1;

	if (read_agent(link, &data, err) < 0)
		return -1;
	sftp = sftp_new(link->session);
	if (sftp == NULL || sftp_init(sftp) != SSH_OK) {
		err_set(err, "no SFTP there: %s", ssh_link_why(link));
		err_hint(err, "sshd_config needs \"Subsystem sftp "
		    "internal-sftp\"");
	} else
		r = upload(link, sftp, &data, path, err);
	if (sftp != NULL)
		sftp_free(sftp);
	buf_clear(&data);
	return r;
}
