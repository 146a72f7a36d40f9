/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srun: an agent on a node of the Slurm allocation that we are in: a job step
 * of one task, whose stdin and stdout are the link.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <linux/magic.h>

#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/spawned.h"
#include "runtime/launch/transport.h"

#include "runtime/base/banned.h"

extern char **environ;

/* File systems of one machine: another node has its own. */
static bool
is_shared(const char *path)
{
	static const long own[] = {
		BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC, SQUASHFS_MAGIC, TMPFS_MAGIC,
		XFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */
	};
	struct statfs	fs;

	if (statfs(path, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (fs.f_type == own[i])
			return false;
	return true;
}

/* The environment of srun, which is the ranks' as well.  What a job sets for
 * its own srun would shape ours: it must be one task, with all that the job has
 * on that node.  An address from an ssh to here says nothing of a node. */
static int
srun_env(struct strv *env)
{
	static const char *const not[] = {
		"SLURM_LABELIO=", "SLURM_HOSTFILE=", "SLURM_DISTRIBUTION=",
		"SLURM_EXACT=", "SLURM_EXCLUSIVE=", "SLURM_GPU_BIND=",
		"SLURM_GPUS_PER_TASK=", "SLURM_GPUS_PER_SOCKET=",
		"SLURM_NTASKS_PER_", "SLURM_CPUS_PER_TASK=",
		"SRUN_CPUS_PER_TASK=", "SLURM_CPUS_PER_GPU=",
		"SLURM_TRES_PER_TASK=", "SLURM_MULTI_PROG=", "SLURM_WAIT=",
		"SLURM_OPEN_MODE=", "SSH_CONNECTION=", "SSH_CLIENT=",
		"ACCEL_AGENT_IS_A_COPY=",
	};

	for (char **item = environ; *item; item++) {
		bool out = false;

		for (size_t i = 0; i < sizeof not / sizeof *not; i++)
			out = out || !strncmp(*item, not[i], strlen(not[i]));
		if (!out && strv_add(env, *item) < 0)
			return -1;
	}
	return 0;
}

static int
srun_argv(const struct transport_options *options, const char *host,
    struct strv *argv, struct strv *env)
{
	/* Unbuffered, as else each end of a line is waited for. */
	static const char *const words[] = {
		"srun", "--overlap", "--nodes=1", "--ntasks=1", "--unbuffered",
		"--input=all", "--output=all", "--error=all", "--export=ALL",
		"--mpi=none", "--cpu-bind=none", "--job-name=accel",
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strv_add(argv, words[i]) < 0)
			return -1;
	if (strv_addf(argv, "--nodelist=%s", host) < 0)
		return -1;
	/* Two nodes may share /tmp, and two users a node. */
	if (!is_shared(options->agent_path) &&
	    (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number ||
	    strv_addf(argv, "--bcast=/tmp/accel-agent-%016llx",
	    (unsigned long long)number) < 0 ||
	    strv_setenv(env, "ACCEL_AGENT_IS_A_COPY", "1") < 0))
		return -1;
	return strv_add(argv, options->agent_path);
}

static int
srun_open(const struct transport_options *options, const char *host,
    void **out, struct err *err)
{
	struct strv	argv = STRV_INIT, env = STRV_INIT;
	int		ret;

	if (srun_env(&env) < 0 || srun_argv(options, host, &argv, &env) < 0)
		ret = err_nomem(err);
	else {
		ret = spawned_open("srun", argv.item, env.item, true, out,
		    err);
		if (ret < 0)
			err_hint(err, "Slurm's commands belong on PATH here; "
			    "--transport ssh does without");
	}
	strv_clear(&argv);
	strv_clear(&env);
	return ret;
}

static int
srun_result(void *link, struct err *err)
{
	int	 status = spawned_wait(link);
	char	*said;

	if (!status)
		return 0;
	said = spawned_said(link);
	if (said && *said)
		err_set(err, "srun: %s", said);
	else if (WIFSIGNALED(status))
		err_set(err, "srun was ended by %s",
		    strsignal(WTERMSIG(status)));
	else
		err_set(err, "srun ended with exit code %d",
		    WEXITSTATUS(status));
	free(said);
	return -1;
}

static const char *
srun_phase(const void *link)
{
	(void)link;
	return "srun starts the agent";
}

/* SIGTERM makes srun cancel the step, also one that a node has not begun; Slurm
 * then kills all that is in it. */
static void
srun_close(void *link, bool greeted)
{
	spawned_close(link, greeted, SIGTERM);
}

const struct transport transport_srun = {
	"srun", srun_open, spawned_fd, srun_result, srun_phase, srun_close,
	NULL
};
