/* SPDX-License-Identifier: Apache-2.0 */
/* accel config export: a configuration in other launchers' words. */
#include "runtime/cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/quick.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/cli.h"
#include "runtime/config/environ.h"
#include "runtime/config/export.h"
#include "runtime/config/rules.h"
#include "runtime/launch/hosts.h"

#include "runtime/base/banned.h"

struct order {
	const char	*config_file, *output, *hosts;
	bool		 torchrun, mpirun, slurm, deepspeed;
};

static const struct option options[] = {
	SWITCH(struct order, torchrun, "torchrun", 0,
	    "a command for each machine"),
	SWITCH(struct order, mpirun, "mpirun", 0,
	    "a command for all machines, by MPI"),
	SWITCH(struct order, slurm, "slurm", 0, "a script for sbatch"),
	SWITCH(struct order, deepspeed, "deepspeed", 0,
	    "DeepSpeed's own JSON"),
	CONFIG_FILE(struct order),
	VALUE(struct order, hosts, "hosts", 0, "H1:4,H2:4", TAKES_HOSTS,
	    "the machines, for torchrun and mpirun"),
	VALUE(struct order, output, "output", 'o', "FILE", TAKES_FILE,
	    "write it there, not to the standard output"),
	OPTIONS_END
};

static bool
ends_in(const char *text, const char *end)
{
	size_t	n = strlen(text), k = strlen(end);

	return n > k && !strcmp(text + n - k, end);
}

/* The words are a script and its arguments, as behind "accel launch"; one that
 * is YAML, and alone or before "--", is the file. */
static int
sort_words(const struct order *o, struct call *call, const char **file,
    char ***script, struct err *err)
{
	char	**argv = call->argv;

	*file = o->config_file;
	*script = argv;
	if (!call->argc)
		return 0;
	if ((argv[1] && !strcmp(argv[1], "--")) || (!argv[1] &&
	    (ends_in(argv[0], ".yaml") || ends_in(argv[0], ".yml") ||
	    ends_in(argv[0], ".json")))) {
		if (o->config_file) {
			err_set(err, "two files: %s and %s", o->config_file,
			    argv[0]);
			return err_hint(err, "one is exported");
		}
		*file = argv[0];
		*script = argv + 1 + (argv[1] != NULL);
	} else if (argv[1] && argv[1][0] == '-' && (ends_in(argv[0], ".yaml") ||
	    ends_in(argv[0], ".yml"))) {
		err_set(err, "%s stands behind the file", argv[1]);
		return err_hint(err, "flags go before it, the script behind --");
	}
	return 0;
}

/* Shows all that keeps it from being a run. */
static int
check(const struct config *c, const struct hosts *hosts, struct err *err)
{
	struct site	site = { 0 };
	struct problems	all = PROBLEMS_INIT;
	size_t		fatal;

	hosts_site(hosts, &site);
	if (config_problems(c, &site, &all, err) < 0) {
		problems_clear(&all);
		return -1;
	}
	fatal = problems_fatal(&all);
	for (size_t i = 0; i < fatal; i++)
		fprintf(stderr, "accel config export: %s\n"
		    "                     %s\n", all.item[i].what,
		    all.item[i].hint);
	problems_clear(&all);
	return fatal ? 1 : 0;
}

/* What this machine is counts for a run that is here. */
static int
settle(const struct order *o, struct config *c, struct quick *quick,
    struct export *x, struct err *err)
{
	if (o->slurm || o->deepspeed || o->hosts || c->main.num_machines > 1)
		return 0;
	if (quick_probe(quick, "", err) < 0)
		return -1;
	x->facts = &quick->facts;
	return config_settle(c, x->facts, 0, err);
}

static int
make(const struct order *o, const struct export *x, struct buf *out,
    struct err *err)
{
	if (o->torchrun)
		return export_torchrun(x, out, err);
	if (o->mpirun)
		return export_mpirun(x, out, err);
	if (o->slurm)
		return export_slurm(x, out, err);
	return export_deepspeed(x, out, err);
}

static int
run(struct call *call, struct err *err)
{
	const struct order	*o = call->options;
	const char		*python = getenv("ACCEL_PYTHON"), *file;
	struct export		 x = { .config = call->config,
	    .python = python && *python ? python : "python3" };
	struct hosts		 hosts = HOSTS_INIT;
	struct quick		 quick = QUICK_INIT;
	struct buf		 out = BUF_INIT;
	char			**script;
	int			 ret = -1;

	if (o->torchrun + o->mpirun + o->slurm + o->deepspeed != 1) {
		err_set(err, "exactly one of --torchrun, --mpirun, --slurm and "
		    "--deepspeed is needed");
		err_hint(err, "such as: accel config export --slurm train.py");
		return EXIT_USAGE;
	}
	if (sort_words(o, call, &file, &script, err) < 0 ||
	    (o->hosts && hosts_add(&hosts, o->hosts, err) < 0)) {
		hosts_clear(&hosts);
		return EXIT_USAGE;
	}
	if (cli_config_load(call->config, file, true, err) < 0)
		goto out;
	if ((ret = settle(o, call->config, &quick, &x, err)) != 0 ||
	    (ret = check(call->config, &hosts, err)) != 0)
		goto out;
	x.from = call->config->path ? call->config->path : "flags alone";
	x.argv = script;
	x.hosts = o->hosts;
	x.first = hosts.count ? host_label(&hosts.host[0]) : NULL;
	ret = make(o, &x, &out, err);
	if (!ret && !o->output) {
		fputs(buf_text(&out), stdout);
	} else if (!ret) {
		ret = file_replace(o->output, buf_text(&out), out.len,
		    o->deepspeed ? 0644 : 0755, err);
		if (!ret)
			printf("written: %s\n", o->output);
	}
out:
	quick_clear(&quick);
	buf_clear(&out);
	hosts_clear(&hosts);
	return ret;
}

const struct command command_config_export = {
	"export", "say it for torchrun, mpirun, Slurm or DeepSpeed", .run = run,
	.path = "config export", .words = "[FILE --] [SCRIPT [ARGUMENTS]]",
	.most = -1, .takes = TAKES_FILE, .page = "accel-config(1)",
	.options = options, .size = sizeof(struct order),
	.flags = COMMAND_FIELDS | COMMAND_SCRIPT,
	.about = "Prints what starts the same ranks in the same environment "
	"without accel.  Flags\nand script are those of accel launch.  Without "
	"a script, the one that is printed\ntakes it as its own arguments.",
};
