/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/cloud.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/cli/child.h"
#include "runtime/config/cloud.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

enum { NO_PACKAGE = 66 };	/* exit code of the program below */

/* Reads the job from a file that has no name: what is in it stands neither on
 * a command line nor on a disk. */
static const char submit[] =
"import json, sys\n"
"try:\n"
"    from sagemaker.huggingface import HuggingFace\n"
"except ImportError as error:\n"
"    print(error, file=sys.stderr)\n"
"    sys.exit(66)\n"
"with open(sys.argv[1]) as file:\n"
"    job = json.load(file)\n"
"estimator = HuggingFace(**job['estimator'])\n"
"estimator.fit(inputs=job['inputs'])\n"
"print('The model is at', estimator.model_data)\n";

bool
cloud_wanted(const struct config *c)
{
	return c->main.compute_environment == place_AMAZON_SAGEMAKER ||
	    (c->main.distributed_type == dist_XLA && c->main.tpu_use_cluster);
}

/* An unnamed file with the text, to be inherited; -1. */
static int
unnamed_file(const char *text, struct err *err)
{
	int	fd = memfd_create("job", 0);
	size_t	n = strlen(text);

	for (ssize_t k = 0; fd >= 0 && n; n -= (size_t)k, text += k) {
		k = write(fd, text, n);
		if (k <= 0) {
			close(fd);
			fd = -1;
			break;
		}
	}
	return fd >= 0 ? fd : err_set(err, "the job cannot be handed over: %s",
	    strerror(errno));
}

static int
run_job(const struct config *c, const char *text, struct err *err)
{
	const char	*python = getenv("ACCEL_PYTHON");
	const char	*argv[] = { python && *python ? python : "python3",
	    "-c", submit, NULL, NULL };
	struct strv	 account = STRV_INIT;
	char		 path[40];
	int		 fd, code = -1;

	fd = unnamed_file(text, err);
	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	argv[3] = path;
	if (sagemaker_account(c, &account, err) == 0)
		code = child_run(argv, (const char *const *)(uintptr_t)
		    account.item, 0, NULL, err);
	if (code == NO_PACKAGE) {
		code = err_set(err, "%s has no package sagemaker with the "
		    "HuggingFace estimator", argv[0]);
		err_hint(err, "%s -m pip install 'sagemaker<3'; ACCEL_PYTHON "
		    "names another Python", argv[0]);
	}
	close(fd);
	strv_clear(&account);
	return code;
}

static int
launch_sagemaker(const struct config *c, char *const script[],
    const struct strv *env, bool print, struct err *err)
{
	json_t	*job;
	char	*text;
	int	 code = -1;

	if (access(script[0], R_OK) < 0) {
		err_set(err, "%s: %s", script[0], strerror(errno));
		return err_hint(err, "flags of accel go before the script");
	}
	job = sagemaker_job(c, script, env, err);
	text = job ? json_dumps(job, JSON_INDENT(2)) : NULL;
	if (job && !text)
		err_nomem(err);
	if (text) {
		printf("%s\n", text);
		fflush(stdout);
		code = print ? 0 : run_job(c, text, err);
	}
	free(text);
	json_decref(job);
	return code;
}

static int
launch_pod(const struct config *c, char *const script[],
    const struct strv *env, bool print, struct err *err)
{
	struct strv	argv = STRV_INIT;
	int		code = tpu_launch_words(c, script, env, &argv, err);

	for (size_t i = 0; code == 0 && i < argv.count; i++)
		printf("%s%s", i ? " " : "Running ", argv.item[i]);
	if (code == 0) {
		printf("\n");
		fflush(stdout);
		if (!print)
			code = child_run((const char *const *)(uintptr_t)
			    argv.item, NULL, 0, NULL, err);
	}
	if (code < 0 && !print && argv.count && !err->hint[0])
		err_hint(err, "gcloud is Google Cloud's command: install it, "
		    "or use --print");
	strv_clear(&argv);
	return code;
}

int
cloud_launch(const struct config *c, char *const script[],
    const struct strv *env, bool print, struct err *err)
{
	return c->main.compute_environment == place_AMAZON_SAGEMAKER ?
	    launch_sagemaker(c, script, env, print, err) :
	    launch_pod(c, script, env, print, err);
}
