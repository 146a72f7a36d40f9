/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the environment of the ranks with what Accelerate's launcher made
 * of the same 240 files and flags.  Each difference that is allowed has its
 * reason below. */
#include <jansson.h>
#include <stdlib.h>
#include <strings.h>

#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

/* True where the difference is ours on purpose; "got" or "want" may be NULL. */
static int
allowed(const char *mode, const char *name, const char *got, const char *want)
{
	static const char *const lost[] = {	/* 5: names nobody reads */
	    "ACCELERATE_FP8_AMAX_HISTORY_LENGTH", "ACCELERATE_FP8_AMAX_HISTORY_LEN",
	    "ACCELERATE_FP8_AMAX_COMPUTE_ALGORITHM",
	    "ACCELERATE_FP8_AMAX_COMPUTE_ALGO", NULL };

	for (int i = 0; lost[i]; i++)
		if (!strcmp(name, lost[i]))
			return 1;
	/* 12: one spelling of true; 2, 11: CPU worlds say so */
	if (!strcmp(name, "ACCELERATE_USE_CPU"))
		return !want || (got && !strcasecmp(got, want));
	/* 1: the file's key counts */
	if (!strcmp(name, "ACCELERATE_CPU_AFFINITY"))
		return !want;
	/* 4: the strategy under its new name counts */
	if (!strcmp(name, "FSDP_SHARDING_STRATEGY"))
		return got && want && !strcmp(want, "FULL_SHARD");
	/* 8: dynamo, threads and disks under DeepSpeed as well */
	if (!strcmp(mode, "deepspeed") && !want &&
	    (!strncmp(name, "ACCELERATE_DYNAMO_", 18) ||
	    !strcmp(name, "OMP_NUM_THREADS") || strstr(name, "NVME_PATH")))
		return 1;
	/* a key that no reader knows */
	return !strcmp(name, "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD") && !got;
}

static int
compare(json_t *row, const char *mode, const struct strv *env)
{
	int		 bad = 0;
	const char	*key;
	json_t		*value;

	json_object_foreach(json_object_get(row, "env"), key, value) {
		const char	*want = json_string_value(value);
		const char	*got = strv_getenv(env, key);

		if ((!got || strcmp(got, want)) &&
		    !allowed(mode, key, got, want)) {
			printf("# %s %s %s: got %s want %s\n",
			    json_string_value(json_object_get(row, "name")),
			    mode, key, got ? got : "(none)", want);
			bad++;
		}
	}
	for (size_t i = 0; i < env->count; i++) {
		char	name[128];

		snprintf(name, sizeof(name), "%.*s",
		    (int)strcspn(env->item[i], "="), env->item[i]);
		if (!json_object_get(json_object_get(row, "env"), name) &&
		    !allowed(mode, name, env->item[i], NULL)) {
			printf("# %s %s: %s is ours alone\n",
			    json_string_value(json_object_get(row, "name")),
			    mode, env->item[i]);
			bad++;
		}
	}
	return bad;
}

static int
one(json_t *row, const char *mode, int *failed)
{
	const char	*yaml = json_string_value(json_object_get(row, "yaml"));
	json_t		*flags = json_object_get(row, "flags");
	char		*argv[64] = { NULL };
	struct config	 c;
	struct err	 err = ERR_INIT;
	struct strv	 env = STRV_INIT;
	size_t		 n = 0;
	int		 at = 0, bad = 0, rc;

	config_init(&c);
	for (; n < json_array_size(flags) && n < 63; n++)
		argv[n] = (char *)json_string_value(json_array_get(flags, n));
	rc = config_parse(&c, yaml, strlen(yaml), "f", &err);
	while (!rc && argv[at] && (rc = config_flag(&c, argv, &at, &err)) == 1)
		rc = 0;
	if (!rc)
		rc = config_env(&c, &env, &err);
	*failed = rc || config_check(&c, &err);
	if (mode && rc) {
		printf("# %s: %s\n",
		    json_string_value(json_object_get(row, "name")), err.text);
		bad = 1;
	} else if (mode) {
		bad = compare(row, mode, &env);
	}
	strv_clear(&env);
	config_clear(&c);
	return bad;
}

int
main(void)
{
	static const char *const modes[] = { "simple", "multi_gpu", "fsdp",
	    "deepspeed" };
	int		bad[4] = { 0 }, count[4] = { 0 }, taken = 0;
	const char	*top = getenv("top_srcdir");
	char		path[4096], line[8192];
	FILE		*f;

	unsetenv("OMP_NUM_THREADS");
	snprintf(path, sizeof(path), "%s/tests/data/launch_env.jsonl",
	    top ? top : ".");
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		json_t		*row = json_loads(line, 0, NULL);
		const char	*mode;
		int		 failed;

		if (!row)
			continue;
		mode = json_string_value(json_object_get(row, "mode"));
		if (json_object_get(row, "error")) {
			one(row, NULL, &failed);
			taken += !failed;
			if (!failed)
				printf("# taken: %s\n", line);
		}
		for (int i = 0; i < 4; i++)
			if (mode && !strcmp(mode, modes[i])) {
				bad[i] += one(row, mode, &failed);
				count[i]++;
			}
		json_decref(row);
	}
	if (f)
		fclose(f);
	for (int i = 0; i < 4; i++)
		ok(!bad[i] && count[i], "%d files of mode %s give Accelerate's "
		    "environment", count[i], modes[i]);
	ok(!taken, "what Accelerate refuses is refused");
	return tap_done();
}
