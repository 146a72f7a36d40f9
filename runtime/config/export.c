/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/export.h"

#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

enum { USUAL_PORT = 29500 };

/* Where ranks are processes of this machine or of its neighbours. */
static int
takes_ranks(const struct config *c, const char *what, struct err *err)
{
	if (c->main.compute_environment != place_LOCAL_MACHINE) {
		err_set(err, "a job of SageMaker is not started by %s", what);
		return err_hint(err, "accel launch hands it over");
	}
	if (c->main.distributed_type == dist_XLA) {
		err_set(err, "a TPU's processes are not started by %s", what);
		return err_hint(err, "the script forks them: accel launch");
	}
	return 0;
}

/* Ranks of each machine; 0 where the devices are to be counted. */
static int
per_machine(const struct config *c, long *out, struct err *err)
{
	*out = c->main.num_processes / c->main.num_machines;
	if (*out * c->main.num_machines == c->main.num_processes)
		return 0;
	err_set(err, "num_processes %ld does not divide by num_machines %ld",
	    c->main.num_processes, c->main.num_machines);
	return err_hint(err, "accel launch --hosts takes machines that differ");
}

static int
counted(const struct config *c, long *out, struct err *err)
{
	if (c->main.num_processes > 0)
		return per_machine(c, out, err);
	err_set(err, "num_processes is not set");
	return err_hint(err, "give it: --num_processes N");
}

static void
head(const struct export *x, struct buf *out, const char *shell,
    const char *kind)
{
	buf_addf(out, "#!%s\n# Made by: accel config export --%s\n", shell, kind);
	buf_adds(out, "# From: ");
	for (const char *s = x->from; *s; s++)
		buf_add(out, (unsigned char)*s < ' ' ? "?" : s, 1);
	buf_adds(out, "\n");
}

/* One of the names, which ends with NULL. */
static bool
among(const char *name, size_t n, const char *const *names)
{
	for (; names && *names; names++)
		if (strlen(*names) == n && !memcmp(*names, name, n))
			return true;
	return false;
}

/* The job-wide environment, without what is each launcher's own: a variable a
 * line, between "before" and "after". */
static int
environment(const struct export *x, struct buf *out, const char *before,
    const char *after, const char *const *without, struct err *err)
{
	struct strv	env = STRV_INIT;

	if (config_env(x->config, x->facts, &env, err) < 0) {
		strv_clear(&env);
		return -1;
	}
	for (size_t i = 0; i < env.count; i++) {
		const char	*item = env.item[i];
		size_t		 name = strcspn(item, "=");

		if (!strncmp(item, "MASTER_", 7) ||
		    among(item, name, without))
			continue;
		buf_addf(out, "%s%.*s=", before, (int)name, item);
		buf_add_word(out, item + name + 1);
		buf_adds(out, after);
	}
	strv_clear(&env);
	return 0;
}

/* The program and its arguments, as the last of a command. */
static void
program(const struct export *x, struct buf *out, bool python)
{
	const struct config	*c = x->config;

	if (python && !c->launch.no_python) {
		buf_add_word(out, x->python);
		buf_adds(out, c->launch.module ? " -u -m " : " -u ");
	}
	if (!x->argv || !*x->argv)
		buf_adds(out, "\"$@\"");
	for (size_t i = 0; x->argv && x->argv[i]; i++) {
		if (i)
			buf_adds(out, " ");
		buf_add_word(out, x->argv[i]);
	}
	buf_adds(out, "\n");
}

/* Where the others meet rank 0; a shell's word, which complains where nobody
 * said. */
static void
meeting(const struct export *x, struct buf *out)
{
	const struct config	*c = x->config;

	if (c->main.main_process_ip)
		buf_add_word(out, c->main.main_process_ip);
	else if (x->first)
		buf_add_word(out, x->first);
	else if (c->main.num_machines == 1)
		buf_adds(out, "127.0.0.1");
	else
		buf_adds(out, "\"${MASTER_ADDR:?is not set: the address of "
		    "machine 0}\"");
}

static long
port(const struct config *c)
{
	return c->main.main_process_port > 0 ? c->main.main_process_port :
	    USUAL_PORT;
}

static void
flag(struct buf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	buf_addf(out, " --%s ", name);
	buf_add_word(out, value);
}

static void
torchrun_rendezvous(const struct export *x, struct buf *out)
{
	const struct config	*c = x->config;
	const char		*backend = c->main.rdzv_backend;
	bool			 fixed = !backend || !strcmp(backend, "static");

	if (c->main.num_machines == 1 && c->main.main_process_port <= 0) {
		buf_adds(out, " --standalone");
		return;
	}
	if (c->main.num_machines > 1)
		buf_addf(out, " --nnodes %ld \\\n\t--node_rank "
		    "\"${NODE_RANK:?is not set: the number of this machine, from "
		    "0}\" \\\n\t", c->main.num_machines);
	if (fixed) {
		buf_adds(out, c->main.num_machines > 1 ? "--master_addr " :
		    " --master_addr ");
		meeting(x, out);
		buf_addf(out, " --master_port %ld", port(c));
		return;
	}
	buf_adds(out, c->main.num_machines > 1 ? "--rdzv_backend " :
	    " --rdzv_backend ");
	buf_add_word(out, backend);
	buf_adds(out, " --rdzv_endpoint ");
	meeting(x, out);
	buf_addf(out, ":%ld --rdzv_id \"${JOB_ID:-accel}\"", port(c));
}

int
export_torchrun(const struct export *x, struct buf *out, struct err *err)
{
	const struct config	*c = x->config;
	long			 ranks;

	if (takes_ranks(c, "torchrun", err) < 0 ||
	    per_machine(c, &ranks, err) < 0)
		return -1;
	head(x, out, "/bin/sh", "torchrun");
	if (c->main.num_machines > 1)
		buf_addf(out, "# Run it on each of the %ld machines, with "
		    "NODE_RANK=0 on the first, and so on.\n",
		    c->main.num_machines);
	if (environment(x, out, "", " \\\n", NULL, err) < 0)
		return -1;
	if (ranks)
		buf_addf(out, "torchrun --nproc_per_node %ld", ranks);
	else
		buf_addf(out, "torchrun --nproc_per_node %s",
		    c->main.use_cpu ? "cpu" : "gpu");
	torchrun_rendezvous(x, out);
	if (c->launch.max_restarts)
		buf_addf(out, " --max_restarts %ld", c->launch.max_restarts);
	flag(out, "rdzv_conf", c->launch.rdzv_conf);
	flag(out, "tee", c->launch.tee);
	flag(out, "redirects", c->launch.redirects);
	flag(out, "log_dir", c->launch.log_dir);
	if (c->launch.role && strcmp(c->launch.role, "default"))
		flag(out, "role", c->launch.role);
	if (c->launch.no_python)
		buf_adds(out, " --no_python");
	if (c->launch.module)
		buf_adds(out, " -m");
	buf_adds(out, " \\\n\t");
	program(x, out, false);
	return buf_failed(out) ? err_nomem(err) : 0;
}

int
export_mpirun(const struct export *x, struct buf *out, struct err *err)
{
	const struct config	*c = x->config;
	long			 ranks;
	bool			 others = c->main.num_machines > 1 || x->hosts;

	if (takes_ranks(c, "mpirun", err) < 0 ||
	    (x->hosts ? c->main.num_processes < 1 &&
	    counted(c, &ranks, err) < 0 : counted(c, &ranks, err) < 0))
		return -1;
	head(x, out, "/bin/sh", "mpirun");
	if (others)
		buf_adds(out, "# For MPICH; with Open MPI write -H for -hosts, "
		    "--hostfile for -f,\n# -npernode for -ppn.\n");
	buf_addf(out, "mpirun -n %ld", c->main.num_processes);
	if (x->hosts) {
		buf_adds(out, " -hosts ");
		buf_add_word(out, x->hosts);
	} else if (others) {
		buf_addf(out, " -ppn %ld -f ", ranks);
		if (c->mpirun.hostfile)
			buf_add_word(out, c->mpirun.hostfile);
		else
			buf_adds(out, "\"${HOSTFILE:?is not set: a file with a "
			    "host a line}\"");
	}
	buf_adds(out, " env \\\n");
	if (environment(x, out, "\t", " \\\n", NULL, err) < 0)
		return -1;
	if (c->main.num_processes > 1) {
		buf_adds(out, "\tMASTER_ADDR=");
		meeting(x, out);
		/* What torchrun would say, from what MPI says. */
		buf_addf(out, " MASTER_PORT=%ld WORLD_SIZE=%ld \\\n"
		    "\tsh -c '\n"
		    "\t\texport RANK=\"${PMI_RANK:-$OMPI_COMM_WORLD_RANK}\"\n"
		    "\t\texport LOCAL_RANK=\"${MPI_LOCALRANKID:-"
		    "$OMPI_COMM_WORLD_LOCAL_RANK}\"\n"
		    "\t\texport LOCAL_WORLD_SIZE=\"${MPI_LOCALNRANKS:-"
		    "$OMPI_COMM_WORLD_LOCAL_SIZE}\"\n"
		    "\t\texec \"$@\"' rank \\\n", port(c),
		    c->main.num_processes);
	}
	buf_adds(out, "\t");
	program(x, out, true);
	return buf_failed(out) ? err_nomem(err) : 0;
}

static bool
gpus(const struct config *c)
{
	return !c->main.use_cpu && c->main.distributed_type != dist_MULTI_CPU;
}

int
export_slurm(const struct export *x, struct buf *out, struct err *err)
{
	const struct config	*c = x->config;
	/* Slurm says itself which devices there are, and how many cores. */
	const char *const	 own[] = { "OMP_NUM_THREADS",
	    env_mask(env_device(c, ENV_NONE)), NULL };
	long			 ranks, threads = config_threads(c, x->facts);

	if (takes_ranks(c, "Slurm's srun", err) < 0 ||
	    counted(c, &ranks, err) < 0)
		return -1;
	head(x, out, "/bin/bash", "slurm");
	buf_addf(out, "# Submit it: sbatch FILE%s; a task is a rank.\n"
	    "#SBATCH --job-name=accel\n"
	    "#SBATCH --output=%%x-%%j.out\n"
	    "#SBATCH --nodes=%ld\n"
	    "#SBATCH --ntasks-per-node=%ld\n"
	    "#SBATCH --cpus-per-task=%ld\n",
	    x->argv && *x->argv ? "" : " SCRIPT ARGUMENTS",
	    c->main.num_machines, ranks, threads);
	/* Every rank sees all of its node's, and takes that of LOCAL_RANK. */
	if (gpus(c))
		buf_addf(out, "#SBATCH --gpus-per-node=%ld\n", ranks);
	buf_adds(out, "set -euo pipefail\n\n");
	if (environment(x, out, "export ", "\n", own, err) < 0)
		return -1;
	buf_addf(out, "export SRUN_CPUS_PER_TASK=\"${SLURM_CPUS_PER_TASK:-%ld}\""
	    "\nexport OMP_NUM_THREADS=\"$SRUN_CPUS_PER_TASK\"\n\n", threads);
	if (c->main.num_processes == 1) {
		buf_adds(out, "exec srun ");
		program(x, out, true);
		return buf_failed(out) ? err_nomem(err) : 0;
	}
	if (c->main.main_process_ip) {
		buf_adds(out, "export MASTER_ADDR=");
		buf_add_word(out, c->main.main_process_ip);
		buf_adds(out, "\n");
	} else
		buf_adds(out, "hosts=$(scontrol show hostnames "
		    "\"$SLURM_JOB_NODELIST\")\n"
		    "export MASTER_ADDR=\"${hosts%%$'\\n'*}\"\n");
	if (c->main.main_process_port > 0)
		buf_addf(out, "export MASTER_PORT=%ld\n",
		    c->main.main_process_port);
	else
		buf_adds(out, "# Two jobs on a node do not share a port.\n"
		    "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))\n");
	buf_addf(out, "export WORLD_SIZE=%ld LOCAL_WORLD_SIZE=%ld\n\n"
	    "# One task fails, and all of them stop.\n"
	    "exec srun --kill-on-bad-exit=1 sh -c '\n"
	    "\texport RANK=\"$SLURM_PROCID\" LOCAL_RANK=\"$SLURM_LOCALID\"\n"
	    "\texport GROUP_RANK=\"$SLURM_NODEID\"\n"
	    "\texec \"$@\"' rank \\\n\t", c->main.num_processes, ranks);
	program(x, out, true);
	return buf_failed(out) ? err_nomem(err) : 0;
}
