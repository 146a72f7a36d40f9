/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/agent_warden.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/banned.h"

enum { SWEEPS = 100, SWEEP_MS = 20 };
enum { BEAT = '.', DISMISSED = '!' };

static bool
write_text(const char *folder, const char *file, const char *text)
{
	char	path[600];
	int	fd;
	bool	done;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

/* Where version 2 of cgroups is mounted, and this process in it; "" where that
 * is nowhere. */
static void
own_cgroup(char *out, size_t room)
{
	char	 line[1024], mount[256] = "", where[256] = "";
	FILE	*file = fopen("/proc/self/mountinfo", "re");

	/* id parent major:minor root MOUNT options... - TYPE source ... */
	while (file && fgets(line, sizeof line, file)) {
		const char *type = strstr(line, " - cgroup2 ");

		if (type && sscanf(line, "%*s %*s %*s %*s %255s", mount) == 1)
			break;
	}
	if (file)
		fclose(file);
	file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "0::%255[^\n]", where) == 1)
			break;
	if (file)
		fclose(file);
	*out = '\0';
	if (*mount && *where)
		snprintf(out, room, "%s%s", mount,
		    strcmp(where, "/") ? where : "");
}

/* A folder of cgroups for this job alone: allowed to root, and to users whose
 * session manager delegated theirs.  Linux 5.14 can kill a whole one. */
static void
make_cgroup(struct warden *w, const char *job)
{
	char	own[400], path[600];

	own_cgroup(own, sizeof own);
	w->cgroup[0] = '\0';
	if (!*own)
		return;
	snprintf(w->cgroup, sizeof w->cgroup, "%s/accel-%.40s-%ld", own, job,
	    (long)getpid());
	snprintf(path, sizeof path, "%s/cgroup.kill", w->cgroup);
	if (mkdir(w->cgroup, 0755) == 0 && access(path, W_OK) == 0)
		return;
	rmdir(w->cgroup);
	w->cgroup[0] = '\0';
}

/* True where the process has the mark in its environment. */
static bool
belongs(const char *pid, const char *mark)
{
	static char	environment[1 << 21];	/* what exec() takes at most */
	char		path[300];
	size_t		n = 0, want = strlen(mark);
	ssize_t		k;
	int		fd;

	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n < sizeof environment &&
	    (k = read(fd, environment + n, sizeof environment - n)) > 0)
		n += (size_t)k;
	close(fd);
	for (size_t at = 0; at + want < n;
	    at += strnlen(environment + at, n - at) + 1)
		if (!memcmp(environment + at, mark, want + 1))
			return true;
	return false;
}

static bool
kill_marked(const struct warden *w)
{
	DIR		*proc = opendir("/proc");
	struct dirent	*entry;
	bool		 found = false;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    pid == getpid() || !belongs(entry->d_name, w->mark))
			continue;
		found = kill(pid, SIGKILL) == 0 || found;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* True where there may be more. */
static bool
sweep(const struct warden *w)
{
	bool more = false;

	if (w->cgroup[0]) {
		write_text(w->cgroup, "cgroup.kill", "1");
		more = rmdir(w->cgroup) < 0 && errno == EBUSY;
	}
	return kill_marked(w) || more;
}

/* True where the agent dismissed us; false at its end and when it is silent. */
static bool
wait_for_word(int line)
{
	struct pollfd	p = { line, POLLIN, 0 };
	char		word[64];
	ssize_t		n;

	while (poll(&p, 1, WARDEN_SILENCE_MS) > 0) {
		n = read(line, word, sizeof word);
		if (n <= 0)
			return false;
		if (word[n - 1] == DISMISSED)
			return true;
	}
	return false;
}

/* The warden's whole life. */
static void
watch(const struct warden *w, int line, pid_t agent)
{
	bool dismissed;

	prctl(PR_SET_NAME, "accel-warden", 0L, 0L, 0L);
	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (chdir("/") < 0)
		_exit(1);
	/* The link to the launcher is not this one's to hold open. */
	dup2(line, 0);
	close_range(1, ~0U, 0);
	dismissed = wait_for_word(0);
	if (!dismissed)
		kill(agent, SIGKILL);
	for (int i = 0; i < SWEEPS; i++) {
		if (dismissed ? !w->cgroup[0] || rmdir(w->cgroup) == 0 :
		    !sweep(w))
			break;
		poll(NULL, 0, SWEEP_MS);
	}
	_exit(0);
}

void
warden_prepare(struct warden *w, const char *job)
{
	job = job ? job : "";
	/* Two hosts of a job may be one machine under two names. */
	snprintf(w->mark, sizeof w->mark, "ACCEL_AGENT=%.40s-%ld", job,
	    (long)getpid());
	make_cgroup(w, job);
}

pid_t
warden_fork(const struct warden *w)
{
	struct clone_args	args = { .exit_signal = SIGCHLD };
	long			pid = -1;
	int			fd;

	/* Born in it: moving a process there takes up to 15 ms. */
	if (w->cgroup[0] &&
	    (fd = open(w->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)fd;
		pid = syscall(SYS_clone3, &args, sizeof args);
		if (pid != 0)
			close(fd);
	}
	return pid < 0 ? fork() : (pid_t)pid;
}

void
warden_post(struct warden *w)
{
	int	line[2];
	pid_t	agent = getpid();
	long	pid;

	if (pipe2(line, O_CLOEXEC) < 0)
		return;
	fcntl(line[1], F_SETFL, O_NONBLOCK);	/* a beat may be lost */
	/* A sibling, not a child: those are all the job's.  Without a stack of
	 * its own this is fork(). */
	pid = syscall(SYS_clone, (long)(CLONE_PARENT | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		watch(w, line[0], agent);
	close(line[0]);
	if (pid < 0)
		close(line[1]);
	else
		w->line = line[1];
}

void
warden_beat(struct warden *w)
{
	if (w->line >= 0 && write(w->line, &(char){ BEAT }, 1) < 0 &&
	    errno == EPIPE) {		/* somebody killed it */
		close(w->line);
		w->line = -1;
	}
}

void
warden_dismiss(struct warden *w)
{
	if (w->line < 0)
		return;
	if (write(w->line, &(char){ DISMISSED }, 1) == 1)
		close(w->line);
	w->line = -1;
}
