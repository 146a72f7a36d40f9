/* SPDX-License-Identifier: Apache-2.0 */
/* accel probe: what this machine is, or what others are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/fleet.h"
#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/probe.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/slurm.h"
#include "runtime/launch/survey.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

struct flags {
	struct strv	 machine, hosts, hostfile;
	const char	*transport, *ssh_config, *connect_timeout;
	bool		 slurm, network, yaml, json, no_python;
};

static const struct option options[] = {
	VALUES(struct flags, hosts, "hosts", 0, "H1,H2", TAKES_HOSTS,
	    "these machines, side by side"),
	VALUES(struct flags, hostfile, "hostfile", 0, "FILE", TAKES_FILE,
	    "the same, a line a host"),
	SWITCH(struct flags, slurm, "slurm", 0,
	    "the nodes of the Slurm allocation that this is"),
	VALUE(struct flags, transport, "transport", 0, "ssh|srun", TAKES_TEXT,
	    "how hosts are reached; srun with --slurm"),
	VALUE(struct flags, ssh_config, "ssh_config", 0, "FILE", TAKES_FILE,
	    "instead of ~/.ssh/config"),
	VALUE(struct flags, connect_timeout, "connect_timeout", 0, "SECONDS",
	    TAKES_TEXT, "how long a dead host may stay silent (10)"),
	SWITCH(struct flags, network, "network", 0,
	    "measure latency and bandwidth between the hosts"),
	VALUES(struct flags, machine, "machine", 0, "FILE", TAKES_YAML,
	    "what accel probe --yaml wrote, instead of looking"),
	SWITCH(struct flags, no_python, "no_python", 0,
	    "do not ask Python: takes milliseconds"),
	SWITCH(struct flags, yaml, "yaml", 0, "as a file for --machine"),
	SWITCH(struct flags, json, "json", 0,
	    "as JSON; with hosts, a line for each as it comes"),
	OPTIONS_END
};

int
probe_read_files(struct fleet *fleet, const struct strv *paths,
    struct err *err)
{
	struct strv	warnings = STRV_INIT;
	int		status = 0;

	for (size_t i = 0; i < paths->count && !status; i++)
		status = fleet_load(fleet, paths->item[i], &warnings, err);
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
put(struct buf *out, int status, struct err *err)
{
	if (status)
		err_nomem(err);
	else {
		fputs(buf_text(out), stdout);
		status = fflush(stdout) ? err_set(err, "cannot write: %s",
		    strerror(errno)) : 0;
	}
	buf_clear(out);
	return status;
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
	if (!f->yaml && !f->json)
		status = fleet_print_network(fleet, &out) || status;
	return put(&out, status, err);
}

/* --- other hosts --- */

struct view {
	const struct flags	*flags;
	const struct hosts	*hosts;
	size_t			 width, problems;
	struct err		*err;
	int			 status;
};

/* A row as it comes. */
static void
show_host(void *user, size_t host, const struct machine *m)
{
	struct view	*v = user;
	struct buf	 out = BUF_INIT;
	int		 status = 0;

	v->problems += m->problem != NULL;
	if (v->flags->json)
		status = machine_json(m, &out);
	else if (!v->flags->yaml || m->problem) {
		buf_addf(&out, "%-*s  ", (int)v->width,
		    v->hosts->host[host].name);
		status = machine_row(m, &out);
		buf_adds(&out, "\n");
		if (m->problem && m->hint && *m->hint)
			buf_addf(&out, "%*s  %s\n", (int)v->width, "", m->hint);
	}
	if (v->flags->yaml) {	/* the file says it too */
		fputs(buf_text(&out), stderr);
		buf_clear(&out);
	} else if (!v->status)
		v->status = put(&out, status, v->err);
}

static void
show_measured(void *user, const struct between *b, size_t n, size_t of)
{
	struct view	*v = user;
	struct buf	 out = BUF_INIT;

	if (v->flags->json && !v->status)
		v->status = put(&out, between_json(b, &out), v->err);
	else if (!v->flags->json && isatty(STDERR_FILENO))
		fprintf(stderr, "\rmeasured %zu of %zu directions%s", n, of,
		    n == of ? "\n" : "");
}

static int
read_hosts(struct hosts *hosts, const struct flags *f, bool *srun,
    long *connect_timeout_s, struct err *err)
{
	static const struct strv	none;
	const struct launch_said	said = {
		&f->hosts, &f->hostfile, &none, &none, NULL, f->connect_timeout
	};
	struct strv	env = STRV_INIT;
	double		grace;

	if (launch_read(&said, hosts, &env, &grace, connect_timeout_s, err) < 0)
		return EXIT_USAGE;
	if (f->slurm && hosts->count) {
		err_set(err, "--slurm names the hosts, and so do --hosts and "
		    "--hostfile");
		err_hint(err, "give one of them");
		return EXIT_USAGE;
	}
	if (f->slurm && !slurm_inside()) {
		err_set(err, "--slurm: this is no Slurm allocation");
		return err_hint(err, "get one with salloc, or put the command "
		    "in a script for sbatch");
	}
	if (!f->slurm && !hosts->count)
		return 0;
	return slurm_choose(f->transport, hosts, false, srun, err);
}

static int
ask_hosts(const struct hosts *hosts, const struct flags *f, bool srun,
    long connect_timeout_s, struct err *err)
{
	char		*agent = launch_agent(), *folder = getcwd(NULL, 0);
	struct view	 view = { f, hosts, 0, 0, err, 0 };
	struct fleet	 fleet = FLEET_INIT;
	struct buf	 out = BUF_INIT;
	const struct transport_options transport = {
		.agent_path = agent, .srun = srun, .ssh_config = f->ssh_config,
		.connect_timeout_s = (int)connect_timeout_s,
	};
	const struct survey_options how = {
		.transport = &transport, .folder = folder,
		.no_python = f->no_python, .network = f->network,
		.row = show_host, .measured = show_measured, .user = &view,
	};
	int		 status;

	for (size_t i = 0; i < hosts->count; i++)
		if (strlen(hosts->host[i].name) > view.width)
			view.width = strlen(hosts->host[i].name);
	status = agent ? survey(hosts, &how, &fleet, err) : err_nomem(err);
	if (!status)
		status = view.status;
	if (!status && f->yaml)
		status = put(&out, fleet_yaml(&fleet, &out), err);
	else if (!status && !f->json)
		status = put(&out, fleet_print_network(&fleet, &out), err);
	fleet_clear(&fleet);
	free(agent);
	free(folder);
	return status ? status : view.problems > 0;
}

static int
check_flags(const struct flags *f, const struct hosts *hosts, struct err *err)
{
	if (f->yaml && f->json) {
		err_set(err, "--yaml and --json are two forms of one thing");
		err_hint(err, "give one of them");
		return EXIT_USAGE;
	}
	if (f->machine.count && hosts->count) {
		err_set(err, "--machine reads a file, and hosts are looked at");
		err_hint(err, "give one of them");
		return EXIT_USAGE;
	}
	if (f->network && hosts->count < 2) {
		err_set(err, "--network measures between hosts, and here %s",
		    hosts->count ? "is one" : "are none");
		err_hint(err, "name them: --hosts H1,H2");
		return EXIT_USAGE;
	}
	return 0;
}

static int
run(struct call *call, struct err *err)
{
	const struct flags	*f = call->options;
	struct fleet		 fleet = FLEET_INIT;
	struct hosts		 hosts = HOSTS_INIT;
	bool			 srun = false;
	long			 connect_timeout_s = 0;
	int			 status = read_hosts(&hosts, f, &srun,
				    &connect_timeout_s, err);

	if (!status)
		status = check_flags(f, &hosts, err);
	if (!status && hosts.count) {
		status = ask_hosts(&hosts, f, srun, connect_timeout_s, err);
	} else if (!status) {
		status = f->machine.count ? probe_read_files(&fleet,
		    &f->machine, err) : look(&fleet, !f->no_python, err);
		if (!status)
			status = print(&fleet, f, err);
	}
	fleet_clear(&fleet);
	hosts_clear(&hosts);
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
