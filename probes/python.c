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
probe_python(struct machine *m, struct err *err)
{
	char **to[] = {
		&m->python, &m->python_version, &m->torch, &m->accelerate,
	};
	char *argv[] = { "python3", "-c", (char *)script, NULL };
	struct buf out = BUF_INIT;
	const char *at, *end;
	pid_t child;
	int from;

	if (probe_spawn(argv, &child, &from))
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
