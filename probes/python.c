/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python: which one a launch would start, and two packages in it.  The versions
 * come from the packages' metadata: importing torch takes seconds.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

enum { LIMIT_MS = 4000 };

extern char **environ;

static const char script[] =
    "import sys, platform\n"
    "print(sys.executable)\n"
    "print(platform.python_version())\n"
    "from importlib.metadata import version\n"
    "for name in ('torch', 'accelerate'):\n"
    "    try: print(version(name))\n"
    "    except Exception: print()\n";

static int
start(pid_t *child, int *from)
{
	char *argv[] = { "python3", "-c", (char *)script, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int pipes[2], status;

	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attr, 0);
	status = posix_spawnp(child, "python3", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	close(pipes[1]);
	if (status) {
		close(pipes[0]);
		return -1;
	}
	*from = pipes[0];
	return 0;
}

int
probe_python(struct machine *m, struct err *err)
{
	char **to[] = {
		&m->python, &m->python_version, &m->torch, &m->accelerate,
	};
	struct buf out = BUF_INIT;
	const char *at, *end;
	pid_t child;
	int from;

	if (start(&child, &from))
		return 0;
	if (probe_collect(child, from, LIMIT_MS, &out)) {
		buf_clear(&out);
		return 0;
	}
	at = buf_text(&out);
	for (size_t i = 0; i < 4 && (end = strchr(at, '\n')); i++) {
		if (end > at && !(*to[i] = strndup(at, (size_t)(end - at)))) {
			buf_clear(&out);
			return err_nomem(err);
		}
		at = end + 1;
	}
	buf_clear(&out);
	return 0;
}
