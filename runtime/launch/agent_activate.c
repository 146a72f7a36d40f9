/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_activate: the environment that a venv, a conda environment or a script
 * makes becomes that of this host's ranks.
 *
 * A shell sources the file, then becomes this program again, which writes its
 * environment to a pipe of its own: NUL-separated, with nothing of what shells
 * and scripts print between.
 */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/launch/descriptors.h"

#include "runtime/base/banned.h"

enum { LIMIT_MS = 300000, SAID_MAX = 65536, ENVIRON_FD = 3 };

extern char **environ;

int
agent_environ(void)
{
	for (char **item = environ; *item; item++) {
		const char	*at = *item;
		size_t		 left = strlen(at) + 1;

		while (left) {
			ssize_t n = write(ENVIRON_FD, at, left);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return 1;
			at += n;
			left -= (size_t)n;
		}
	}
	return 0;
}

/* What is to be sourced, by what is there.  $1 is the path, $2 this program. */
static const char *
recipe(const char *path, struct answer *to)
{
	/* conda's own hook where conda is beside the environment, else what the
	 * hook would do. */
	static const char	conda[] =
	    "for c in \"$1/bin/conda\" \"$1/../../bin/conda\"; do "
	    "[ -x \"$c\" ] && { e=$(\"$c\" shell.posix activate \"$1\") && "
	    "eval \"$e\" || exit; unset e c; exec \"$2\" environ; }; done; "
	    "unset c; export CONDA_PREFIX=\"$1\" CONDA_DEFAULT_ENV=\"$1\" "
	    "PATH=\"$1/bin:$PATH\"; for f in \"$1\"/etc/conda/activate.d/*.sh; "
	    "do if [ -r \"$f\" ]; then . \"$f\" || exit; fi; done; unset f; "
	    "exec \"$2\" environ";
	static const char	script[] =
	    "A_=$2; case $1 in */*) . \"$1\" ;; *) . \"./$1\" ;; esac || exit; "
	    "a=$A_; unset A_; exec \"$a\" environ";
	char			file[4200];
	struct stat		st;

	if (stat(path, &st) < 0) {
		answer_problem(to, true, "it must be there on every host",
		    "--activate %.300s: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISDIR(st.st_mode))
		return script;
	snprintf(file, sizeof file, "%s/conda-meta", path);
	if (access(file, F_OK) == 0)
		return conda;
	snprintf(file, sizeof file, "%s/bin/activate", path);
	if (access(file, R_OK) == 0)
		return "a=$2; . \"$1/bin/activate\" || exit; exec \"$a\" environ";
	answer_problem(to, true, "give the folder of a venv or of a conda "
	    "environment, or a script", "--activate %.300s: neither "
	    "bin/activate nor conda-meta is in it", path);
	return NULL;
}

static pid_t
start(const char *code, const char *path, int said, int env)
{
	const char	*shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" :
			    "/bin/sh";
	char		 self[4096];
	ssize_t		 n = readlink("/proc/self/exe", self, sizeof self - 1);
	sigset_t	 none;
	pid_t		 pid = fork();
	int		 null;

	if (pid)
		return pid;
	self[n > 0 ? n : 0] = '\0';
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	descriptors_restore();
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* Out of the way of the numbers that they get. */
	said = fcntl(said, F_DUPFD_CLOEXEC, 10);
	env = fcntl(env, F_DUPFD_CLOEXEC, 10);
	dup2(null, 0);
	dup2(said, 1);
	dup2(said, 2);
	dup2(env, ENVIRON_FD);
	execl(shell, shell, "-c", code, shell, path, self, (char *)NULL);
	_exit(127);
}

/* What there is in a pipe, into "out"; false at its end. */
static bool
drain(int fd, struct buf *out, size_t most)
{
	char	block[8192];
	ssize_t	n;

	while ((n = read(fd, block, sizeof block)) > 0) {
		buf_add(out, block, (size_t)n);
		if (most && out->len > most)
			buf_take(out, out->len - most);
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Reads both pipes until the shell has ended: a script may leave programs that
 * keep them open.  False where it took too long, or the launcher is gone. */
static bool
collect(struct agent *a, pid_t pid, const int fd[2], struct buf out[2],
    int *status)
{
	int64_t	until = clock_ms() + LIMIT_MS;
	bool	open[2] = { true, true }, ended = false;

	while (!ended) {
		struct pollfd p[2] = { { open[0] ? fd[0] : -1, POLLIN, 0 },
			{ open[1] ? fd[1] : -1, POLLIN, 0 } };

		poll(p, 2, open[0] && open[1] ? 200 : 5);
		ended = waitpid(pid, status, WNOHANG) == pid;
		for (int i = 0; i < 2; i++)	/* what it wrote before its end */
			open[i] = open[i] && drain(fd[i], &out[i],
			    i == 0 ? SAID_MAX : 0);
		if (!ended && (clock_ms() > until || !agent_beat(a))) {
			kill(-pid, SIGKILL);
			waitpid(pid, status, 0);
			return false;
		}
	}
	return true;
}

/* The shell's own doings are no part of it. */
static bool
is_shells(const char *item)
{
	return !strncmp(item, "_=", 2) || !strncmp(item, "SHLVL=", 6) ||
	    !strncmp(item, "OLDPWD=", 7) || !strncmp(item, "PWD=", 4);
}

static int
take_over(const struct buf *text)
{
	size_t	  count = 0, kept = 0, had = 0;
	char	**all, *copy = malloc(text->len + 1);

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == '\0';
	for (char **item = environ; *item; item++)
		had++;
	all = calloc(count + had + 1, sizeof *all);
	if (!copy || !all) {
		free(copy);
		free(all);
		return -1;
	}
	memcpy(copy, text->data, text->len);
	for (char **item = environ; *item; item++)
		if (is_shells(*item))
			all[kept++] = *item;
	for (size_t at = 0; at < text->len; at += strlen(copy + at) + 1)
		if (!is_shells(copy + at))
			all[kept++] = copy + at;
	environ = all;		/* for as long as we are */
	return 0;
}

/* The last line of what was printed. */
static const char *
last_line(struct buf *said)
{
	char *text = said->data, *line;

	while (said->len && strchr("\r\n ", text[said->len - 1]))
		text[--said->len] = '\0';
	if (!said->len)
		return "";
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

bool
agent_activate(struct agent *a, struct answer *to, const char *path)
{
	const char	*code = recipe(path, to), *last;
	int		 said[2], env[2], status = 0;
	struct buf	 out[2] = { BUF_INIT, BUF_INIT };
	pid_t		 pid;
	bool		 well;

	if (!code)
		return false;
	if (pipe2(said, O_CLOEXEC) < 0 || pipe2(env, O_CLOEXEC) < 0 ||
	    (pid = start(code, path, said[1], env[1])) < 0) {
		answer_problem(to, true, "", "--activate: %s", strerror(errno));
		return false;
	}
	close(said[1]), close(env[1]);
	fcntl(said[0], F_SETFL, O_NONBLOCK);
	fcntl(env[0], F_SETFL, O_NONBLOCK);
	well = collect(a, pid, (int[]){ said[0], env[0] }, out, &status);
	close(said[0]), close(env[0]);
	last = last_line(&out[0]);
	if (!well)
		answer_problem(to, true, "", "--activate %.300s: it took longer "
		    "than %d s", path, LIMIT_MS / 1000);
	else if (WIFSIGNALED(status))
		answer_problem(to, true, "", "--activate %.300s: ended by signal "
		    "%d", path, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		answer_problem(to, true, "run it by hand on that host: . FILE; "
		    "echo $?", "--activate %.200s: exit code %d%s%.200s", path,
		    WEXITSTATUS(status), *last ? ": " : "", last);
	else if (!out[1].len)
		answer_problem(to, true, "a script to activate is sourced: it "
		    "must return, not exit", "--activate %.300s: it ended the "
		    "shell", path);
	else if (buf_failed(&out[1]) || take_over(&out[1]) < 0)
		answer_problem(to, true, "", "--activate: out of memory");
	buf_clear(&out[0]);
	buf_clear(&out[1]);
	return well && status == 0;
}
