/* SPDX-License-Identifier: Apache-2.0 */
/* accel env: what to paste into a report of a problem. */
#include "runtime/cli/env.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/software.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"

#include "runtime/base/banned.h"

enum { PYTHON_MS = 10000 };

extern char **environ;

struct env {
	const char	*config_file;
	bool		 json, no_python;
};

static const struct option options[] = {
	CONFIG_FILE(struct env),
	SWITCH(struct env, no_python, "no_python", 0,
	    "do not ask Python: takes milliseconds"),
	SWITCH(struct env, json, "json", 0, "as JSON"),
	OPTIONS_END
};

/* Variables that a launch or a rank looks at. */
static bool
matters(const char *item)
{
	static const char *const prefixes[] = {
		"ACCELERATE_", "ACCEL_", "FSDP_", "PARALLELISM_CONFIG_",
		"MEGATRON_", "NCCL_", "RCCL_", "GLOO_", "UCX_", "MPI", "PMI",
		"CUDA_", "HIP_", "ROCR_", "ONEAPI_", "ZE_", "PYTORCH_",
		"TORCH", "OMP_", "MKL_", "KMP_", "HF_", "TRANSFORMERS_",
		"MASTER_", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=",
		"LOCAL_WORLD_SIZE=", "SLURM_JOB_ID=", "SLURM_NNODES=",
		"SLURM_PROCID=", "LD_LIBRARY_PATH=", "LD_PRELOAD=",
		"PYTHONPATH=", "VIRTUAL_ENV=", "CONDA_PREFIX=",
		"XDG_CACHE_HOME=", "HWLOC_",
	};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(item, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* A name that speaks of a secret: the report is for others' eyes. */
static bool
is_secret(const char *name, size_t n)
{
	static const char *const words[] = {
		"TOKEN", "KEY", "SECRET", "PASSW", "CREDENTIAL", "AUTH",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (size_t k = 0; k + strlen(words[i]) <= n; k++)
			if (!strncasecmp(name + k, words[i], strlen(words[i])))
				return true;
	return false;
}

/* "https://user:password@host": without what stands before "@"; and without
 * what moves a terminal's cursor. */
static void
add_value(struct buf *out, const char *value)
{
	const char	*at;

	while ((at = strstr(value, "://"))) {
		size_t n = strcspn(at + 3, "/@ \t");

		buf_add(out, value, (size_t)(at + 3 - value));
		value = at + 3;
		if (value[n] == '@') {
			buf_adds(out, "(hidden)");
			value += n;
		}
	}
	for (; *value; value++)
		buf_add(out, (unsigned char)*value < ' ' || *value == 0x7f ?
		    "?" : value, 1);
}

static int
read_variables(struct strv *variables)
{
	for (char **item = environ; *item; item++) {
		const char	*equals = strchr(*item, '=');
		struct buf	 text = BUF_INIT;
		int		 ret;

		if (!equals || !matters(*item))
			continue;
		buf_add(&text, *item, (size_t)(equals + 1 - *item));
		if (is_secret(*item, (size_t)(equals - *item)) && equals[1])
			buf_adds(&text, "(hidden)");
		else
			add_value(&text, equals + 1);
		ret = buf_failed(&text) ? -1 : strv_add(variables,
		    buf_text(&text));
		buf_clear(&text);
		if (ret < 0)
			return -1;
	}
	return 0;
}

static void
slow(const char *python)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "accel env: waiting for %s, at most %d s ...\n",
		    python, PYTHON_MS / 1000);
}

static int
run(struct call *call, struct err *err)
{
	const struct env	*o = call->options;
	const char		*python = getenv("ACCEL_PYTHON");
	struct report		 r = { .python = !o->no_python,
	    .asked = o->config_file };
	struct buf		 out = BUF_INIT;
	struct config		 config;
	struct err		 wrong = ERR_INIT;
	int			 ret = -1, code = 0;

	config_init(&config);
	r.config = &config;
	/* A file that cannot be read is a part of the report, and then an
	 * error. */
	if (cli_config_load(&config, o->config_file, true, &wrong) < 0) {
		r.wrong = wrong.text;
		code = 1;
	}
	if (machine_probe_quickly(&r.machine, err) < 0 ||
	    probe_software(&r.software, err) < 0)
		goto out;
	if (r.python && probe_packages(&r.packages, python && *python ? python :
	    "python3", PYTHON_MS, slow, code ? NULL : &wrong) < 0 && !code)
		fprintf(stderr, "accel env: %s\n           %s\n", wrong.text,
		    wrong.hint);
	if (read_variables(&r.variables) < 0 ||
	    (o->json ? env_json(&r, &out) : env_text(&r, &out)) < 0) {
		err_nomem(err);
		goto out;
	}
	fputs(buf_text(&out), stdout);
	if (code && err)
		*err = wrong;
	ret = code;
out:
	buf_clear(&out);
	machine_clear(&r.machine);
	strv_clear(&r.software);
	strv_clear(&r.packages);
	strv_clear(&r.variables);
	config_clear(&config);
	return ret;
}

const struct command command_env = {
	"env", "say what this machine has, for a report", .run = run,
	.about = "Says what this machine has: Accelerate's lines first, to "
	    "paste into a report of\na problem, then accel's own.  Secrets are "
	    "left out.",
	.page = "accel-env(1)", .options = options, .size = sizeof(struct env),
};
