/* SPDX-License-Identifier: Apache-2.0 */
/* accel run: any command, once on each host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/view.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/passed.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/slurm.h"
#include "runtime/launch/supervise.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

extern char **environ;

struct flags {
	struct strv	 hosts, hostfile, env, env_file;
	const char	*transport, *ssh_config, *connect_timeout, *grace;
	const char	*folder;
	const char	*log_dir, *tee, *redirects;
	struct view_flags view;
	bool		 shell, keep_going;
};

static const struct option options[] = {
	VALUES(struct flags, hosts, "hosts", 0, "H1,H2", TAKES_HOSTS,
	    "the machines"),
	VALUES(struct flags, hostfile, "hostfile", 0, "FILE", TAKES_FILE,
	    "the same, a line a host"),
	VALUE(struct flags, transport, "transport", 0, "ssh|srun", TAKES_TEXT,
	    "how hosts are reached; srun in a Slurm allocation"),
	VALUE(struct flags, ssh_config, "ssh_config", 0, "FILE", TAKES_FILE,
	    "instead of ~/.ssh/config"),
	VALUE(struct flags, connect_timeout, "connect_timeout", 0, "SECONDS",
	    TAKES_TEXT, "how long a dead host may stay silent (10)"),
	VALUES(struct flags, env, "env", 0, "NAME[=VALUE]", TAKES_TEXT,
	    "a variable for every host, or a pattern: 'WANDB_*'"),
	VALUES(struct flags, env_file, "env_file", 0, "FILE", TAKES_FILE,
	    "variables for every host, a line each: NAME=VALUE"),
	VALUE(struct flags, folder, "folder", 0, "FOLDER", TAKES_FOLDER,
	    "where it runs; this folder's path"),
	SWITCH(struct flags, shell, "shell", 0,
	    "COMMAND is a line for sh"),
	SWITCH(struct flags, keep_going, "keep_going", 0,
	    "a failure on one host does not end the others"),
	VALUE(struct flags, grace, "grace", 0, "SECONDS", TAKES_TEXT,
	    "from being told to stop to being killed (5)"),
	VIEW_OPTIONS(struct flags, view),
	VALUE(struct flags, log_dir, "log_dir", 0, "FOLDER", TAKES_FOLDER,
	    "for the outputs, a folder a run"),
	VALUE(struct flags, tee, "tee", 't', "WHICH", TAKES_TEXT,
	    "outputs that go to files as well: 0 to 3"),
	VALUE(struct flags, redirects, "redirects", 'r', "WHICH", TAKES_TEXT,
	    "outputs that go to files alone: 0 to 3"),
	OPTIONS_END
};

struct order {
	struct hosts	 hosts;
	struct strv	 env, argv;
	double		 grace_s;
	long		 connect_timeout_s;
	bool		 srun;		/* is the transport */
};

/* What the flags mean. */
static int
read_flags(struct order *o, const struct call *call, struct err *err)
{
	const struct flags *f = call->options;
	const struct launch_said said = {
		&f->hosts, &f->hostfile, &f->env_file, &f->env, f->grace,
		f->connect_timeout
	};

	if (launch_read(&said, &o->hosts, &o->env, &o->grace_s,
	    &o->connect_timeout_s, err) < 0)
		return -1;
	if (f->shell && call->argc > 1) {
		err_set(err, "--shell takes one word, and here are %d",
		    call->argc);
		return err_hint(err, "put the line in quotes");
	}
	if (f->shell && (strv_add(&o->argv, "/bin/sh") < 0 ||
	    strv_add(&o->argv, "-c") < 0))
		return err_nomem(err);
	for (int i = 0; i < call->argc; i++)
		if (strv_add(&o->argv, call->argv[i]) < 0)
			return err_nomem(err);
	return 0;
}

static int
start(const struct order *o, const struct flags *f, struct err *err)
{
	struct transport_options transport = {
		.srun = o->srun, .ssh_config = f->ssh_config,
		.connect_timeout_s = (int)o->connect_timeout_s,
		.ask_fd = view_ask_fd(),
	};
	struct supervise_options how = {
		.transport = &transport, .grace_s = o->grace_s,
		.no_preflight = true, .keep_going = f->keep_going,
	};
	struct view_order	 show = {
		.flags = &f->view, .log_dir = f->log_dir, .tee = f->tee,
		.redirects = f->redirects, .command = "run",
		.argv = o->argv.item,
	};
	struct plan		 plan = PLAN_INIT;
	struct view		 view;
	char			 job[LAUNCH_JOB], *folder, *agent;
	int			 code = -1;

	if (launch_job(job, err) < 0)
		return -1;
	folder = f->folder ? strdup(f->folder) : getcwd(NULL, 0);
	agent = launch_agent();
	show.job = job;
	transport.agent_path = agent;
	if (!folder || !agent)
		err_set(err, "the working folder is not to be found: %s",
		    strerror(errno));
	else if (plan_command(&plan, &o->hosts, o->argv.item, &o->env, folder,
	    job, err) == 0) {
		code = view_begin(&view, &show, &how, err);
		if (!code)
			code = view_attempt(&view, &plan, &how, err);
		if (!code)
			code = supervise(&plan, &how);
		view_end(&view, code);
	}
	plan_clear(&plan);
	free(folder);
	free(agent);
	return code;
}

static int
run(struct call *call, struct err *err)
{
	struct order	o = { .hosts = HOSTS_INIT };
	int		code;

	if (read_flags(&o, call, err) < 0)
		code = EXIT_USAGE;
	else if ((code = view_screen(call,
	    &((struct flags *)call->options)->view, err)) != 0)
		;
	else if (slurm_choose(((struct flags *)call->options)->transport,
	    &o.hosts, false, &o.srun, err) < 0)
		code = -1;
	else
		code = start(&o, call->options, err);
	hosts_clear(&o.hosts);
	strv_clear(&o.env);
	strv_clear(&o.argv);
	return code;
}

const struct command command_run_any = {
	"run", "run any command once on each host", .run = run,
	.words = "COMMAND [ARGUMENTS]", .least = 1, .most = -1,
	.about = "Runs COMMAND once on each host, with no shell and no world "
	    "of ranks.  Its end,\nits output and its signals are as with accel "
	    "launch.",
	.page = "accel-run(1)", .options = options,
	.size = sizeof(struct flags), .takes = TAKES_FILE,
	.flags = COMMAND_SCRIPT,
};
