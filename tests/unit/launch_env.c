/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the environment of the ranks with what Accelerate's launcher made
 * of the same files and flags: 240 of our own (tests/data/launch_env.jsonl),
 * and Accelerate's own files where the shared folder is beside the project.
 *
 * tests/data/launch_env_ours.tsv lists each difference, with its exact values
 * and the number that accel-launch(1) gives it.  A difference that is not
 * listed fails, and so does a line of the list that does not happen.
 */
#include <jansson.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/strv.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static const char *const modes[] = { "simple", "multi_gpu", "fsdp",
    "deepspeed", "megatron", "tpu", "refused" };
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

struct difference {
	char	line[400];		/* case, variable, theirs, ours */
	bool	happened;
};
static struct difference	differences[4000];
static size_t			difference_count;
static int			bad[MODES], count[MODES];

static void
read_differences(const char *path)
{
	FILE	*f = fopen(path, "r");
	char	 line[480];

	while (f && fgets(line, sizeof(line), f)) {
		struct difference	*d = &differences[difference_count];
		char			*number = strrchr(line, '\t');

		if (*line == '#' || !number || difference_count == 4000)
			continue;
		*number = '\0';
		snprintf(d->line, sizeof(d->line), "%.399s", line);
		difference_count++;
	}
	if (f)
		fclose(f);
}

static bool
listed(const char *name, const char *variable, const char *theirs,
    const char *ours)
{
	char	line[400];

	snprintf(line, sizeof(line), "%s\t%s\t%s\t%s", name, variable,
	    theirs ? theirs : "-", ours ? ours : "-");
	for (size_t i = 0; i < difference_count; i++)
		if (!strcmp(differences[i].line, line)) {
			differences[i].happened = true;
			return true;
		}
	printf("# %s\n", line);
	return false;
}

static int
compare(const char *name, json_t *env, const struct strv *ours)
{
	int		 wrong = 0;
	const char	*key;
	json_t		*value;

	json_object_foreach(env, key, value) {
		const char	*want = json_string_value(value);
		const char	*got = strv_getenv(ours, key);

		if (!got || strcmp(got, want))
			wrong += !listed(name, key, want, got);
	}
	for (size_t i = 0; i < ours->count; i++) {
		char		 key2[128];
		const char	*equals = strchr(ours->item[i], '=');

		snprintf(key2, sizeof(key2), "%.*s",
		    (int)(equals - ours->item[i]), ours->item[i]);
		if (!json_object_get(env, key2))
			wrong += !listed(name, key2, NULL, equals + 1);
	}
	return wrong;
}

/* The machine of the record: two cores, and no accelerator, which is CUDA's
 * variable for the mask. */
static const struct env_facts recorder = { .device = ENV_CUDA, .cores = 2 };

/* What the launcher would do: the file, then the flags.  The rules are for what
 * Accelerate's launcher refuses: they also refuse what its scripts would. */
static int
make(json_t *row, const char *yaml, size_t n, struct strv *env,
    struct err *err)
{
	json_t		*flags = json_object_get(row, "flags");
	char		*argv[64] = { NULL };
	struct config	 c;
	int		 at = 0, rc;

	config_init(&c);
	for (size_t i = 0; i < json_array_size(flags) && i < 63; i++)
		argv[i] = (char *)json_string_value(json_array_get(flags, i));
	rc = config_parse(&c, yaml, n, "f", err);
	while (!rc && argv[at])
		rc = config_flag(&c, argv, &at, err) == 1 ? 0 : -1;
	if (!rc)
		rc = config_env(&c, &recorder, env, err);
	if (!rc && json_object_get(row, "error"))
		rc = config_check(&c, err);
	config_clear(&c);
	return rc;
}

static void
one(json_t *row, const char *yaml, size_t n)
{
	const char	*name = json_string_value(json_object_get(row, "name"));
	const char	*mode = json_string_value(json_object_get(row, "mode"));
	bool		 refused = json_object_get(row, "error") != NULL;
	struct err	 err = ERR_INIT;
	struct strv	 env = STRV_INIT;
	int		 m = 0, rc = make(row, yaml, n, &env, &err);

	while (m < MODES - 1 && strcmp(modes[m], refused ? "refused" : mode))
		m++;
	count[m]++;
	if (refused)
		bad[m] += !rc && !listed(name, "-", "refused", "taken");
	else if (rc)
		bad[m] += !listed(name, "-", "taken", "refused");
	else
		bad[m] += compare(name, json_object_get(row, "env"), &env);
	if (rc && !refused)
		printf("# %s: %s\n", name, err.text);
	strv_clear(&env);
}

/* Rows of a file; the YAML is in the row, or in a file of that folder under
 * its name with "/" as "_". */
static void
all(const char *path, const char *folder)
{
	static char	 line[16384];
	FILE		*f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		json_t		*row = json_loads(line, 0, NULL);
		const char	*yaml = json_string_value(json_object_get(row,
		    "yaml"));
		struct buf	 text = BUF_INIT, at = BUF_INIT;

		if (!yaml && row) {
			buf_addf(&at, "%s/", folder);
			for (const char *s = json_string_value(
			    json_object_get(row, "name")); s && *s; s++)
				buf_addf(&at, "%c", *s == '/' ? '_' : *s);
			if (!file_read(buf_text(&at), &text, NULL))
				yaml = buf_text(&text);
		}
		if (yaml)
			one(row, yaml, strlen(yaml));
		else
			bad[MODES - 1]++;	/* a damaged row */
		buf_clear(&text);
		buf_clear(&at);
		json_decref(row);
	}
	if (f)
		fclose(f);
}

/* "everything": also what Accelerate's own files differ in. */
static void
report(bool everything)
{
	int	idle = 0;

	for (int i = 0; i < MODES - 1; i++)
		ok(!bad[i] && count[i], "%d files of mode %s give Accelerate's "
		    "environment, but for what is listed", count[i], modes[i]);
	ok(!bad[MODES - 1], "what Accelerate refuses is refused");
	for (size_t i = 0; i < difference_count; i++)
		if (!differences[i].happened && (everything ||
		    !strncmp(differences[i].line, "r1-", 3))) {
			printf("# not so: %s\n", differences[i].line);
			idle++;
		}
	ok(!idle && difference_count, "each of the %zu listed differences is one",
	    difference_count);
}

/* With two words, a record and its list: those alone (tests/python). */
int
main(int argc, char **argv)
{
	const char	*top = getenv("top_srcdir");
	const char	*shared = getenv("ACCEL_SHARED");
	char		 path[8192], folder[4096];
	int		 own = 0, upstream = 0;

	unsetenv("OMP_NUM_THREADS");
	if (argc == 3) {
		read_differences(argv[2]);
		all(argv[1], NULL);
		report(true);
		return tap_done();
	}
	top = top ? top : ".";
	snprintf(path, sizeof(path), "%s/tests/data/launch_env_ours.tsv", top);
	read_differences(path);
	snprintf(path, sizeof(path), "%s/tests/data/launch_env.jsonl", top);
	all(path, NULL);
	for (int i = 0; i < MODES; i++)
		own += count[i];
	if (shared)
		snprintf(folder, sizeof(folder), "%s/corpus/accelerate", shared);
	else
		snprintf(folder, sizeof(folder),
		    "%s/../shared/corpus/accelerate", top);
	snprintf(path, sizeof(path), "%s/launch_env_upstream.jsonl", folder);
	all(path, folder);
	for (int i = 0; i < MODES; i++)
		upstream += count[i];
	upstream -= own;

	ok(own == 240, "all 240 recorded cases are there (%d)", own);
	if (upstream)
		ok(upstream == 21, "and Accelerate's 21 files (%d)", upstream);
	else
		skip("Accelerate's own files are not here");
	report(upstream != 0);
	return tap_done();
}
