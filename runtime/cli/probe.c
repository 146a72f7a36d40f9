/* SPDX-License-Identifier: Apache-2.0 */
/* accel probe: what this machine is, or what others are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/fleet.h"
#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

struct flags {
	struct strv	 machine;
	bool		 yaml, json, no_python;
};

static const struct option options[] = {
	VALUES(struct flags, machine, "machine", 0, "FILE", TAKES_YAML,
	    "what accel probe --yaml wrote, instead of looking"),
	SWITCH(struct flags, no_python, "no_python", 0,
	    "do not ask Python: takes milliseconds"),
	SWITCH(struct flags, yaml, "yaml", 0, "as a file for --machine"),
	SWITCH(struct flags, json, "json", 0,
	    "as JSON; with hosts, a line each as it comes"),
	OPTIONS_END
};

static int
read_files(struct fleet *fleet, const struct strv *paths, struct err *err)
{
	struct strv	warnings = STRV_INIT;
	int		status = 0;

	for (size_t i = 0; i < paths->count && !status; i++)
		status = fleet_read(fleet, paths->item[i], &warnings, err);
	for (size_t i = 0; i < warnings.count; i++)
		fprintf(stderr, "accel: warning: %s\n", warnings.item[i]);
	strv_clear(&warnings);
	return status;
}

static int
look(struct fleet *fleet, bool python, struct err *err)
{
	struct machine *m = fleet_add(fleet);

	if (!m)
		return err_nomem(err);
	return python ? machine_probe(m, err) : machine_probe_quickly(m, err);
}

static int
print(const struct fleet *fleet, const struct flags *f, struct err *err)
{
	struct buf	out = BUF_INIT;
	int		status = 0;

	if (f->yaml)
		status = fleet_yaml(fleet, &out);
	else if (f->json)
		status = fleet_json(fleet, &out);
	for (size_t i = 0; i < fleet->count && !f->yaml && !f->json; i++) {
		buf_adds(&out, i ? "\n" : "");
		status = machine_print(&fleet->machine[i], &out) || status;
	}
	if (status)
		err_nomem(err);
	else {
		fputs(buf_text(&out), stdout);
		status = fflush(stdout) ? err_set(err, "cannot write: %s",
		    strerror(errno)) : 0;
	}
	buf_clear(&out);
	return status;
}

static int
run(struct call *call, struct err *err)
{
	const struct flags	*f = call->options;
	struct fleet		 fleet = FLEET_INIT;
	int			 status;

	if (f->yaml && f->json) {
		err_set(err, "--yaml and --json are two forms of one thing");
		err_hint(err, "give one of them");
		return EXIT_USAGE;
	}
	status = f->machine.count ? read_files(&fleet, &f->machine, err) :
	    look(&fleet, !f->no_python, err);
	if (!status)
		status = print(&fleet, f, err);
	fleet_clear(&fleet);
	return status;
}

const struct command command_probe = {
	"probe", "say what machines have: CPUs, GPUs, links, networks",
	.run = run,
	.about = "Says what this machine has, or with --hosts and the like "
	    "what others have, side\nby side.  --yaml writes a file that "
	    "--machine reads, here and in accel-setup,\nfor machines that "
	    "cannot be reached.",
	.page = "accel-probe(1)", .options = options,
	.size = sizeof(struct flags),
};
