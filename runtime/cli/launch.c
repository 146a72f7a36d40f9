/* SPDX-License-Identifier: Apache-2.0 */
/* accel launch: from flags and a file to a plan, and then to a run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/quick.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/install.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"
#include "runtime/cli/check.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/cloud.h"
#include "runtime/cli/config.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/rounds.h"
#include "runtime/cli/view.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "runtime/launch/beside.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/mpi.h"
#include "runtime/launch/passed.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/slurm.h"
#include "runtime/launch/supervise.h"
#include "runtime/launch/transport.h"
#include "runtime/launch/xla.h"
#include "runtime/launch/xla.h"

#include "runtime/base/banned.h"

extern char **environ;

struct flags {
	const char	*config_file, *ssh_config, *mpi, *grace, *nnodes;
	struct strv	 hosts, hostfile, env, env_file;
	const char	*connect_timeout, *transport, *activate;
	bool		 print, keep_unknown, no_preflight, json, sync;
	const char	*map_by, *bind_to;
	bool		 gpu_per_rank;
	struct view_flags view;
};

/* What says which ranks, where and how: for launch and for check. */
#define COMMON_OPTIONS \
	CONFIG_FILE(struct flags), \
	SWITCH(struct flags, keep_unknown, "keep_unknown", 0, \
	    "let keys be that no version of accel knows yet"), \
	VALUES(struct flags, hosts, "hosts", 0, "H1:4,H2:4", TAKES_HOSTS, \
	    "the machines, each with its number of ranks"), \
	VALUES(struct flags, hostfile, "hostfile", 0, "FILE", TAKES_FILE, \
	    "the same, a line a host: H1 slots=4"), \
	VALUE(struct flags, transport, "transport", 0, "ssh|srun", TAKES_TEXT, \
	    "how hosts are reached; srun in a Slurm allocation"), \
	VALUE(struct flags, ssh_config, "ssh_config", 0, "FILE", TAKES_FILE, \
	    "instead of ~/.ssh/config"), \
	VALUES(struct flags, env, "env", 0, "NAME[=VALUE]", TAKES_TEXT, \
	    "a variable for every rank, or a pattern: 'WANDB_*'"), \
	VALUES(struct flags, env_file, "env_file", 0, "FILE", TAKES_FILE, \
	    "variables for every rank, a line each: NAME=VALUE"), \
	VALUE(struct flags, activate, "activate", 0, "PATH", TAKES_FILE, \
	    "on each host: a venv, a conda environment, or a script"), \
	SWITCH(struct flags, sync, "sync", 0, \
	    "copy this folder to hosts that do not share it"), \
	VALUE(struct flags, connect_timeout, "connect_timeout", 0, "SECONDS", \
	    TAKES_TEXT, "how long a dead host may stay silent (10)"), \
	SWITCH(struct flags, no_preflight, "no_preflight", 0, \
	    "look only at what a start needs"), \
	CHOICE_OF(struct flags, map_by, "map_by", "WHAT", MAP_BY_WORDS, \
	    "how ranks are placed: slot, node, numa, gpu"), \
	CHOICE_OF(struct flags, bind_to, "bind_to", "WHAT", BIND_TO_WORDS, \
	    "to what each is bound: none, core, numa, socket"), \
	SWITCH(struct flags, gpu_per_rank, "gpu_per_rank", 0, \
	    "each rank sees its own GPU alone")

static const struct option options[] = {
	COMMON_OPTIONS,
	VALUE(struct flags, mpi, "mpi", 0, "HOW", TAKES_TEXT,
	    "what starts an MPI program: auto, pmi or pmix"),
	VALUE(struct flags, grace, "grace", 0, "SECONDS", TAKES_TEXT,
	    "from being told to stop to being killed (5)"),
	VALUE(struct flags, nnodes, "nnodes", 0, "MIN:MAX", TAKES_TEXT,
	    "go on with as few hosts as MIN; with those that come back"),
	VIEW_OPTIONS(struct flags, view),
	SWITCH(struct flags, print, "print", 0,
	    "show ranks, environment and commands; start nothing"),
	OPTIONS_END
};

static const struct option check_options[] = {
	COMMON_OPTIONS,
	SWITCH(struct flags, json, "json", 0, "as JSON"),
	OPTIONS_END
};

struct order {
	struct config	*config;	/* borrowed */
	struct hosts	 hosts;
	struct strv	 env;		/* NAME=VALUE for every rank */
	struct quick	 quick;		/* what this machine is */
	struct beside	 beside;	/* of the configuration */
	const char	*config_file, *ssh_config, *nnodes, *activate;
	const struct view_flags *view;	/* borrowed */
	double		 grace_s;
	long		 connect_timeout_s;
	const char	*transport, *mpi; /* or NULL */
	bool		 srun;		/* is the transport */
	bool		 print, no_preflight, sync;
	bool		 check, json;	/* accel check */
	struct map_wish	 map;
	char		**script;	/* the rest of argv */
};

int
launch_read(const struct launch_said *said, struct hosts *hosts,
    struct strv *env, double *grace_s, long *connect_timeout_s,
    struct err *err)
{
	for (size_t i = 0; i < said->hosts->count; i++)
		if (hosts_add(hosts, said->hosts->item[i], err) < 0)
			return -1;
	for (size_t i = 0; i < said->hostfile->count; i++)
		if (hosts_read(hosts, said->hostfile->item[i], err) < 0)
			return -1;
	for (size_t i = 0; i < said->env_file->count; i++)
		if (passed_read(env, said->env_file->item[i], err) < 0)
			return -1;
	for (size_t i = 0; i < said->env->count; i++)
		if (passed_add(env, said->env->item[i], environ, err) < 0)
			return -1;
	*grace_s = 5;
	if (said->grace && num_parse_real(said->grace, 0, 86400, grace_s) < 0) {
		err_set(err, "--grace %s: not a number of seconds", said->grace);
		return err_hint(err, "such as --grace 30");
	}
	if (said->connect_timeout && num_parse(said->connect_timeout, 1, 3600,
	    connect_timeout_s) < 0) {
		err_set(err, "--connect_timeout %s: not a number of seconds",
		    said->connect_timeout);
		return err_hint(err, "from 1 to 3600; 10 where nobody says");
	}
	return 0;
}

/* What the flags mean. */
static int
read_flags(struct order *o, const struct flags *f, struct err *err)
{
	const struct launch_said said = {
		&f->hosts, &f->hostfile, &f->env_file, &f->env, f->grace,
		f->connect_timeout
	};

	if (launch_read(&said, &o->hosts, &o->env, &o->grace_s,
	    &o->connect_timeout_s, err) < 0)
		return -1;
	if (!*o->script && !o->check) {
		err_set(err, "no script was given");
		return err_hint(err, "such as: accel launch train.py; see accel "
		    "launch --help");
	}
	o->config_file = f->config_file;
	o->ssh_config = f->ssh_config;
	o->transport = f->transport;
	o->mpi = f->mpi;
	o->nnodes = f->nnodes;
	o->print = f->print;
	o->view = &f->view;
	o->no_preflight = f->no_preflight;
	o->json = f->json;
	o->activate = f->activate;
	o->sync = f->sync;
	if (map_wish_read(&o->map, f->map_by, f->bind_to, err) < 0)
		return -1;
	o->map.gpu_per_rank = f->gpu_per_rank;
	o->config->keep_unknown = f->keep_unknown;
	return 0;
}

/* Hosts and the like of the file beside the configuration: where it speaks of
 * several machines, and nobody else named them. */
static int
take_beside(struct order *o, struct err *err)
{
	int status = 0;

	if (o->hosts.count || !o->config->path || o->config->main.num_machines <
	    2 || (slurm_inside() && !o->transport))
		return 0;
	if (beside_read(&o->beside, o->config->path, err) < 0)
		return -1;
	if (o->beside.hosts && *o->beside.hosts)
		status = hosts_add(&o->hosts, o->beside.hosts, err);
	if (!o->ssh_config && o->beside.ssh_config && *o->beside.ssh_config)
		o->ssh_config = o->beside.ssh_config;
	return status;
}

/* What nobody said, from this machine. */
static int
settle(struct order *o, struct err *err)
{
	const char	*root = getenv("ACCEL_DEVICES");
	long		 ranks = 0;

	if (quick_probe(&o->quick, root ? root : "", err) < 0 ||
	    (!o->hosts.count && hosts_of_config(&o->hosts, o->config, err) < 0) ||
	    take_beside(o, err) < 0 ||
	    slurm_choose(o->transport, &o->hosts, config_wants_device(o->config),
	    &o->srun, err) < 0)
		return -1;
	for (size_t i = 0; i < o->hosts.count; i++)
		ranks += o->hosts.host[i].slots ? o->hosts.host[i].slots : 1;
	return config_settle(o->config, &o->quick.facts, ranks, err);
}

static int
check_script(const struct order *o, struct err *err)
{
	const char	*script = o->script[0];
	char		 head[4] = "";
	struct stat	 st;
	int		 fd;

	if (o->config->launch.module && o->config->launch.no_python) {
		err_set(err, "--module and --no_python exclude each other");
		return err_hint(err, "a module needs Python");
	}
	if (!script || o->hosts.count || o->config->launch.module)
		return 0;	/* looked for where it will run */
	if (o->config->launch.no_python && !strchr(script, '/'))
		return 0;	/* on PATH */
	if (stat(script, &st) < 0) {
		err_set(err, "%s: %s", script, strerror(errno));
		return err_hint(err, "flags of accel go before the script");
	}
	if (S_ISDIR(st.st_mode))
		return err_set(err, "%s is a folder", script);
	if (o->config->launch.no_python)
		return 0;
	fd = open(script, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, "%s: %s", script, strerror(errno));
	if (read(fd, head, sizeof head) < 0)
		head[0] = '\0';
	close(fd);
	if (!memcmp(head, "\177ELF", 4)) {
		err_set(err, "%s is a program, not a Python script", script);
		return err_hint(err, "run it with --no_python");
	}
	return 0;
}

/* Shows all that is wrong; the last goes into *err.  Warnings are left to
 * "accel config check". */
static int
check_rules(const struct order *o, struct err *err)
{
	struct site	site = { 0 };
	struct problems	all = PROBLEMS_INIT;
	size_t		fatal;
	int		ret;

	hosts_site(&o->hosts, &site);
	ret = site_read_json(&site, o->config, err);
	if (!ret)
		ret = config_problems(o->config, &site, &all, err);
	fatal = problems_fatal(&all);
	for (size_t i = 0; !ret && i < fatal; i++) {
		struct err	one = ERR_INIT;

		err_set(&one, "%s", all.item[i].what);
		err_hint(&one, "%s", all.item[i].hint);
		if (i + 1 < fatal)
			err_print("accel launch", &one);
		else
			*err = one;
	}
	problems_clear(&all);
	return fatal ? -1 : ret;
}

/* Variables that another host needs as they are here.  A local rank has them
 * all: the agent is our child. */
static int
forward(struct order *o)
{
	static const char *const prefixes[] = {
		"ACCELERATE_", "ACCEL_", "FSDP_", "PARALLELISM_", "MEGATRON_",
		"NCCL_", "RCCL_", "GLOO_", "UCX_", "MPIR_", "OMPI_MCA_",
		"PMIX_MCA_", "CUDA_", "HIP_", "ROCR_", "PYTORCH_", "TORCH_",
		"TORCHELASTIC_", "PYTHON",
		"HF_", "TRANSFORMERS_", "OMP_", "OPENBLAS_", "MKL_", "KMP_",
		"LANG=", "LC_",
	};

	for (char **item = environ; *item; item++)
		for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
			const char	*equals = strchr(*item, '=');
			char		*name;
			int		 ret = 0;

			if (!equals || strncmp(*item, prefixes[i],
			    strlen(prefixes[i])))
				continue;
			name = strndup(*item, (size_t)(equals - *item));
			if (!name)
				return -1;
			/* DeepSpeed's ranks get a longer PYTHONPATH */
			if (!strv_getenv(&o->env, name) &&
			    (strcmp(name, "PYTHONPATH") ||
			    o->config->main.distributed_type != dist_DEEPSPEED))
				ret = strv_setenv(&o->env, name, equals + 1);
			free(name);
			if (ret < 0)
				return -1;
		}
	return 0;
}

char *
launch_agent(void)
{
	const char *given = getenv("ACCEL_AGENT");

	return given ? strdup(given) : install_program("accel-agent");
}

int
launch_job(char job[LAUNCH_JOB], struct err *err)
{
	unsigned char random[(LAUNCH_JOB - 1) / 2];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(job + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* What starts an Open MPI program, beside the agent; NULL for others. */
static int
find_pmix(const struct order *o, const char *agent, char **path,
    struct err *err)
{
	const char	*slash = strrchr(agent, '/');
	bool		 wanted;

	if (mpi_choose(o->mpi, o->config->launch.no_python ? o->script[0] :
	    NULL, &wanted, err) < 0)
		return -1;
	if (!wanted)
		return 0;
	if (asprintf(path, "%.*saccel-pmix", slash ? (int)(slash - agent) + 1 :
	    0, agent) < 0) {
		*path = NULL;
		return err_nomem(err);
	}
	if (access(*path, X_OK) == 0)
		return 0;
	err_set(err, "Open MPI programs need %s, which is not there", *path);
	return err_hint(err, "build accel where libpmix-dev is installed; or "
	    "--mpi pmi, if this is another MPI");
}

/* A copy of the folder is elsewhere: a program in it is meant by its place
 * there.  Gives that in *moved. */
static int
place_in(const char *folder, char **program, char **moved)
{
	size_t n = strlen(folder);

	if (strncmp(*program, folder, n) || (*program)[n] != '/')
		return 0;
	if (asprintf(moved, "./%s", *program + n + 1) < 0) {
		*moved = NULL;
		return -1;
	}
	*program = *moved;
	return 0;
}

static int
start(struct order *o, struct err *err)
{
	struct transport_options	 transport = {
		.srun = o->srun, .ssh_config = o->ssh_config,
		.connect_timeout_s = (int)o->connect_timeout_s,
		.ask_fd = view_ask_fd(),
	};
	struct supervise_options	 how = {
		.transport = &transport, .grace_s = o->grace_s,
		.check = o->check, .no_preflight = o->no_preflight,
		.checked = o->json ? check_print_json : check_print_text,
		.role = o->config->launch.role,
		.quiet = o->config->launch.quiet,
	};
	const char			*python = getenv("ACCEL_PYTHON");
	struct plan_order		 order = {
		.config = o->config, .hosts = &o->hosts, .argv = o->script,
		.python = python && *python ? python : "python3",
		.map = o->map,
	};
	struct view_order		 show = {
		.flags = o->view, .log_dir = o->config->launch.log_dir,
		.tee = o->config->launch.tee,
		.redirects = o->config->launch.redirects,
		.command = "launch", .argv = o->script,
		.config_file = o->config->path,
	};
	char				*folder, *agent, *pmix = NULL, *moved = NULL;
	int				 code = -1;
	bool				 remote = false;

	for (size_t i = 0; i < o->hosts.count; i++)
		remote = remote || !host_is_local(&o->hosts.host[i]);
	folder = getcwd(NULL, 0);
	agent = launch_agent();
	if (!folder || !agent) {
		err_set(err, "the working folder is not to be found: %s",
		    strerror(errno));
		goto out;
	}
	if (remote && !o->print && forward(o) < 0) {
		err_nomem(err);
		goto out;
	}
	if (find_pmix(o, agent, &pmix, err) < 0)
		goto out;
	order.pmix = pmix;
	transport.agent_path = agent;
	o->quick.facts.folder = folder;
	order.facts = &o->quick.facts;
	order.folder = folder;
	order.env = &o->env;
	order.slurm = o->srun;
	order.activate = o->activate;
	order.sync = o->sync;
	if (o->sync && *o->script && place_in(folder, o->script, &moved) < 0) {
		err_nomem(err);
		goto out;
	}
	if (o->print) {
		code = launch_print(&order, err);
		goto out;
	}
	if (o->check) {			/* nothing runs, nothing is kept */
		struct plan	plan = PLAN_INIT;
		char		job[LAUNCH_JOB];

		order.job = job;
		if (launch_job(job, err) < 0 ||
		    plan_make(&plan, &order, err) < 0)
			goto out;
		code = supervise(&plan, &how);
		plan_clear(&plan);
		goto out;
	}
	if (!remote && o->quick.facts.device == ENV_NONE &&
	    config_wants_device(o->config) && !xla_wanted(o->config) &&
	    o->config->main.num_processes > 1)
		fprintf(stderr, "accel launch: no accelerator is found here; "
		    "without one, each rank believes that it is alone\n"
		    "  on CPUs, use --cpu\n");
	code = rounds(&order, &o->hosts, o->nnodes, &show, &how, err);
out:
	free(moved);
	free(folder);
	free(agent);
	free(pmix);
	return code;
}

static int
run_as(struct call *call, bool check, struct err *err)
{
	struct order	o = { .config = call->config, .script = call->argv,
			      .check = check };
	int		code;

	/* Left by a torchrun around us; a rank would wait for its store. */
	unsetenv("TORCHELASTIC_USE_AGENT_STORE");
	if (read_flags(&o, call->options, err) < 0)
		code = EXIT_USAGE;
	else if (!check && !o.print &&
	    (code = view_screen(call, o.view, err)) != 0)
		;
	else if (cli_config_load(o.config, o.config_file, true, err) < 0)
		code = -1;
	else if (cloud_wanted(o.config) && o.hosts.count) {
		code = err_set(err, "hosts were named, and the file is for a "
		    "cloud, which has its own");
		err_hint(err, "leave out --hosts and --hostfile");
	} else if (cloud_wanted(o.config))
		code = check_rules(&o, err) < 0 ? -1 : cloud_launch(o.config,
		    o.script, &o.env, o.print, err);
	else if (settle(&o, err) < 0 || check_script(&o, err) < 0 ||
	    check_rules(&o, err) < 0)
		code = -1;
	else
		code = start(&o, err);
	quick_clear(&o.quick);
	beside_clear(&o.beside);
	hosts_clear(&o.hosts);
	strv_clear(&o.env);
	return code;
}

static int
run(struct call *call, struct err *err)
{
	return run_as(call, false, err);
}

static int
run_check(struct call *call, struct err *err)
{
	return run_as(call, true, err);
}

const struct command command_check = {
	"check", "look at all hosts as before a launch, and start nothing",
	.run = run_check, .words = "[SCRIPT]", .most = -1,
	.about = "Looks at every host as launch does before it starts anything, "
	    "and shows\nwhat was found: all problems of all hosts.",
	.page = "accel-check(1)", .options = check_options,
	.size = sizeof(struct flags), .takes = TAKES_FILE,
	.flags = COMMAND_FIELDS | COMMAND_SCRIPT,
};

const struct command command_launch = {
	"launch", "start a program's ranks, here and on other hosts",
	.run = run, .words = "SCRIPT [ARGUMENTS]", .most = -1,
	.about = "Starts every rank of SCRIPT from this one command.",
	.page = "accel-launch(1)", .options = options,
	.size = sizeof(struct flags),
	.takes = TAKES_FILE,
	.flags = COMMAND_FIELDS | COMMAND_ALL_FIELDS | COMMAND_SCRIPT,
};
