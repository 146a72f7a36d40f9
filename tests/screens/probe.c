/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "tests/tap.h"

static void
from_file(struct machine *m, const char *name)
{
	const char *src = getenv("top_srcdir");
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/machines/%s", src ? src : ".",
	    name);
	setenv("HWLOC_XMLFILE", path, 1);
	ok(!machine_probe(m, NULL), "%s is read", name);
	unsetenv("HWLOC_XMLFILE");
}

/* A child that never answers. */
static void
limit(void)
{
	struct buf out = BUF_INIT;
	int pipes[2];
	pid_t child;

	if (pipe(pipes) || (child = fork()) < 0) {
		skip("no child");
		return;
	}
	if (!child) {
		setpgid(0, 0);
		for (;;)
			pause();
	}
	close(pipes[1]);
	ok(probe_collect(child, pipes[0], 50, &out) == -1,
	    "a child that hangs is given up");
	ok(kill(child, 0) == -1, "and gone");
	buf_clear(&out);
}

int
main(void)
{
	struct machine m;
	struct err err = ERR_INIT;
	struct buf out = BUF_INIT;
	int capability;

	setenv("HWLOC_SYNTHETIC", "package:2 numa:2 core:4 pu:2", 1);
	ok(!machine_probe(&m, &err), "a synthetic machine is probed");
	ok(m.packages == 2 && m.numa == 4 && m.cores == 16 && m.cpus == 32,
	    "its packages, NUMA nodes, cores and CPUs are counted");
	ok(!m.here && !m.gpus && !m.ifaces && !m.python,
	    "nothing of this host is mixed in");
	ok(!machine_summary(&m, &out), "it has a summary");
	is(buf_text(&out), "16 cores, 4 GiB, no GPU", "of one line");
	buf_clear(&out);
	machine_clear(&m);
	unsetenv("HWLOC_SYNTHETIC");

	limit();
	from_file(&m, "two-gpus.xml");
	ok(machine_usable_gpus(&m, &capability) == 2 && capability == 90,
	    "two GPUs of capability 9.0 and no console");
	ok(m.gpus == 2 && m.gpu && !strcmp(m.gpu[0].pci, "0000:1b:00.0"),
	    "by their places");
	is(m.hostname, "alpha", "under the host's name");
	machine_clear(&m);

	from_file(&m, "damaged.xml");
	ok(m.cores >= 1 && m.hostname, "and a damaged one still gives facts");
	machine_clear(&m);

	ok(!machine_probe(&m, &err), "this host is probed");
	ok(m.here && m.cores && m.cpus >= m.cores && m.memory && m.ifaces,
	    "cores, memory and interfaces are found");
	ok(!machine_print(&m, &out) && strstr(buf_text(&out), "memory"),
	    "and told");
	buf_clear(&out);
	machine_clear(&m);
	setenv("PATH", "/nonexistent", 1);
	ok(!machine_probe(&m, &err) && !m.python, "no python is no failure");
	machine_clear(&m);
	return tap_done();
}
