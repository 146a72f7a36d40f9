/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_link: what the files of the SSH transport share.  Private to them.
 *
 * The thread owns everything below its line; the caller's side touches only
 * what is above, under the lock or as an atomic.
 */
#ifndef RUNTIME_LAUNCH_SSH_LINK_H
#define RUNTIME_LAUNCH_SSH_LINK_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include <libssh/libssh.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/ssh_conf.h"

struct ssh_link {
	pthread_t	 thread;
	pthread_mutex_t	 lock;
	atomic_int	 refs;		/* the caller and the thread */
	atomic_bool	 stop;		/* ssh_close() was called */
	_Atomic(const char *) phase;
	atomic_bool	 copied;
	bool		 failed;	/* lock */
	struct err	 err;		/* lock */
	int		 cut_fd;	/* lock; a copy of the socket, or -1 */
	int		 near_fd;	/* the caller's end */

	char		*given;		/* the host as the caller wrote it */
	char		*user, *host;	/* parts of it; user may be NULL */
	int		 port;		/* 0: from the configuration */
	char		*config_file, *agent_path;
	struct strv	 agent_args;
	int		 limit_s, silence_s;
	bool		 ask;		/* there is a terminal to ask on */
	int		 ask_fd;	/* 0, or who asks there for us */

	/* The thread's own. */
	int		 far_fd;
	struct ssh_conf	 conf;
	pid_t		 proxy;		/* of a jump, or 0 */
	int		 proxy_said;	/* its stderr, or -1 */
	ssh_session	 session;
	ssh_channel	 channel;
	char		 where[300];	/* user@host:port as resolved */
	struct buf	 keys;		/* keys tried, for the error */
	bool		 locked_key;	/* one of them wanted a passphrase */
	struct buf	 said;		/* the end of the agent's stderr */
	struct buf	 kept;		/* sent to an agent that was not there */
};

/* ssh_login.c: a session that is connected, checked and logged in. */
int ssh_login(struct ssh_link *link, struct err *err);

/* Waits for a descriptor (or -1), or for ssh_close().  1 ready, 0 too late, -1
 * to be stopped. */
int ssh_wait(struct ssh_link *link, int fd, short events, long until);

/* ssh_auth.c: who we are. */
int ssh_auth(struct ssh_link *link, struct err *err);

/* ssh_keyring.c: libssh sees the user's ssh-agent as ssh(1) would offer its keys:
 * those of "files" first, with IdentitiesOnly no others.  -1: no agent, or none
 * of its keys. */
int ssh_keyring(struct ssh_link *link, const struct strv *files);

/* ssh_ask.c: a secret from the terminal, the same one for the same question
 * unless it must be asked for "again".  -1 where there is no one to ask. */
int ssh_ask(struct ssh_link *link, const char *question, bool again, char *out,
    size_t room);

/* ssh_proxy.c: a socket to the host by way of others.  Its last words, in
 * "text"; and its end. */
int ssh_proxy_start(struct ssh_link *link, struct err *err);
const char *ssh_proxy_why(struct ssh_link *link, char *text, size_t room);
void ssh_proxy_end(struct ssh_link *link);

/* ssh_upload.c: makes sure that the agent is there; gives its absolute path. */
int ssh_upload(struct ssh_link *link, char **path, struct err *err);
/* Adds, for a shell, the path where it is if it was copied before. */
int ssh_upload_guess(struct ssh_link *link, struct buf *out, struct err *err);

/* ssh_pump.c: runs the command and carries bytes until either side ends.  With
 * "absent", a command that ends without a word is no error: *absent is true,
 * and the next run begins with what this one was sent. */
int ssh_run(struct ssh_link *link, const char *command, bool *absent,
    struct err *err);

/* Hands a copy of the connected socket to ssh_close(), to be cut from there. */
void ssh_link_cuttable(struct ssh_link *link, int fd);

/* The session's own words, in one line. */
const char *ssh_link_why(struct ssh_link *link);
#endif
