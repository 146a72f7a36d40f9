/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python: which one a launch would start, and two packages in it.  The versions
 * come from the packages' metadata: importing torch takes seconds.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

enum { LIMIT_MS = 4000 };

static const char script[] =
    "import sys, platform\n"
    "print(sys.executable)\n"
    "print(platform.python_version())\n"
    "from importlib.metadata import version\n"
    "for name in ('torch', 'accelerate'):\n"
    "    try: print(version(name))\n"
    "    except Exception: print()\n";

int
probe_python_start(pid_t *child, int *from)
{
	char *argv[] = { "python3", "-c", (char *)script, NULL };

	return probe_spawn(argv, false, child, from);
}

int
probe_python_take(struct machine *m, const char *said, struct err *err)
{
	char **to[] = {
		&m->python, &m->python_version, &m->torch, &m->accelerate,
	};
	const char *end;

	for (size_t i = 0; i < 4 && (end = strchr(said, '\n')); i++) {
		if (end > said && !*to[i] &&
		    !(*to[i] = strndup(said, (size_t)(end - said))))
			return err_nomem(err);
		said = end + 1;
	}
	return machine_name_torch(m) ? err_nomem(err) : 0;
}

int
probe_python(struct machine *m, struct err *err)
{
	struct buf out = BUF_INIT;
	pid_t child;
	int from, status = 0;

	if (probe_python_start(&child, &from))
		return 0;
	if (!probe_collect(child, from, LIMIT_MS, &out))
		status = probe_python_take(m, buf_text(&out), err);
	buf_clear(&out);
	return status;
}
