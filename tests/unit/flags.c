/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every flag of "accelerate launch" (tests/data/accelerate_flags.tsv) is taken,
 * in both spellings and both forms, with the values that it has there; what
 * else is said about flags in schema.h; and the list for --help.
 */
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static struct err	err;

/* Takes the words as flags into a fresh configuration; NULL, or the first that
 * is refused or left. */
static const char *
take(struct config *c, const char *a, const char *b, const char *more)
{
	char	*argv[] = { (char *)a, (char *)b, (char *)more, NULL };
	int	 at = 0, got;

	config_init(c);
	while (argv[at]) {
		got = config_flag(c, argv, &at, &err);
		if (got != 1)
			return argv[at];
	}
	return NULL;
}

/* The value of a field after a flag; borrowed until the next call. */
static const char *
value(enum field_id id, const char *a, const char *b)
{
	static struct buf	text = BUF_INIT;
	struct config		c;

	buf_clear(&text);
	if (take(&c, a, b, NULL))
		buf_adds(&text, "(refused)");
	else
		config_get(&c, id, &text);
	config_clear(&c);
	return buf_text(&text);
}

/* Flag and value, apart and with "=", the name with "_" and with "-"; each
 * must give what config_set makes of that value. */
static int
forms(const char *name, int id, const char *text)
{
	struct config	c;
	struct buf	want = BUF_INIT;
	int		wrong = 0;

	config_init(&c);
	if (fields[id].type == TYPE_LIST)
		buf_addf(&want, "%s\n", text);
	else if (config_set(&c, (enum field_id)id, text, ORIGIN_USER, &err))
		wrong++;
	else
		config_get(&c, (enum field_id)id, &want);
	config_clear(&c);
	for (int spelling = 0; spelling < 2; spelling++) {
		char	flag[80], whole[160];

		snprintf(flag, sizeof(flag), "%s", name);
		for (char *s = flag + 2; spelling && *s; s++)
			if (*s == '_')
				*s = '-';
		snprintf(whole, sizeof(whole), "%s=%s", flag, text);
		wrong += strcmp(value(id, flag, text), buf_text(&want)) != 0;
		wrong += strcmp(value(id, whole, NULL), buf_text(&want)) != 0;
	}
	if (wrong)
		printf("# %s %s: %s\n", name, text, err.text);
	buf_clear(&want);
	return wrong;
}

/* Bools that Accelerate keeps as text, or makes true of any text at all. */
static int
words(const char *name, int id)
{
	static const char *const truths[] = { "true", "True", "TRUE", "yes",
	    "1", "false", "False", "no", "0" };
	int	wrong = 0;

	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
		wrong += forms(name, id, truths[i]);
		wrong += strcmp(value(id, name, truths[i]),
		    i < 5 ? "true" : "false") != 0;
	}
	wrong += strcmp(value(id, name, "maybe"), "(refused)") != 0;
	wrong += strcmp(value(id, name, NULL), "(refused)") != 0;
	return wrong;
}

static int
switches(const char *name, int id)
{
	char	hyphens[80];

	snprintf(hyphens, sizeof(hyphens), "%s", name);
	for (char *s = hyphens + 2; s[-1] && *s; s++)
		if (*s == '_')
			*s = '-';
	return strcmp(value(id, name, NULL), "true") != 0 ||
	    strcmp(value(id, hyphens, NULL), "true") != 0 ||
	    strcmp(value(id, name, "train.py"), "(refused)") != 0;
}

static int
one(const char *name, char *kind)
{
	const char	*samples[] = { "true", "cpu", "1", "FULL_SHARD",
	    "TRANSFORMER_BASED_WRAP", "BACKWARD_PRE", "SHARDED_STATE_DICT",
	    "full", "uniform", "pdsh", "allgather", "a.b:c" };
	int		 id = config_field_of(name + 2), wrong = 0, taken = 0;

	if (id < 0 || fields[id].flags & FIELD_NOFLAG) {
		printf("# %s: there is none\n", name);
		return 1;
	}
	if (!strcmp(kind, "switch"))
		return switches(name, id);
	if (fields[id].type == TYPE_BOOL)
		return words(name, id);
	if (!strcmp(kind, "int"))
		return forms(name, id, "2") || (fields[id].type == TYPE_INT &&
		    strcmp(value(id, name, "two"), "(refused)") != 0);
	if (!strcmp(kind, "float"))
		return forms(name, id, "0.5") || forms(name, id, "1");
	if (!strcmp(kind, "append"))
		return forms(name, id, "node1");
	if (strchr(kind, '|') || !strcmp(kind, "torch") ||
	    !strcmp(kind, "deepspeed")) {
		for (char *word; (word = strsep(&kind, "|")); )
			wrong += forms(name, id, word);
		return wrong + (strcmp(value(id, name, "no such word"),
		    "(refused)") != 0);
	}
	/* a text, of which our row may take some only */
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		if (strcmp(value(id, name, samples[i]), "(refused)") != 0) {
			wrong += forms(name, id, samples[i]);
			taken++;
		}
	return wrong || !taken;
}

static void
test_list(void)
{
	/* launch's own, and not in the table; tests/cli/launch.t */
	static const char *const own[] = { "--help", "--config_file", "--env",
	    "--no_tpu_cluster" };
	const char	*top = getenv("top_srcdir");
	char		 path[4096], line[512];
	int		 seen = 0, wrong = 0;
	FILE		*f;

	snprintf(path, sizeof(path), "%s/tests/data/accelerate_flags.tsv",
	    top ? top : ".");
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		char	*kind = strchr(line, '\t'), *names = line, *name;
		int	 mine = 0;

		if (*line == '#' || !kind)
			continue;
		*kind++ = '\0';
		kind[strcspn(kind, "\n")] = '\0';
		seen++;
		for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
			mine |= strstr(line, own[i]) != NULL;
		while (!mine && (name = strsep(&names, " ")))
			if (name[1] == '-' && one(name, kind)) {
				printf("# %s is not taken as it should\n",
				    name);
				wrong++;
			}
	}
	if (f)
		fclose(f);
	ok(seen == 124, "Accelerate's 124 flags are there (%d)", seen);
	ok(!wrong, "16: each is taken, in both spellings and "
	    "forms, and its words are what they say");
}

static void
test_manners(void)
{
	struct config	c;
	char		*argv[] = { "--debug", "true", NULL };
	int		 at = 0;

	is(value(FIELD_launch_module, "-m", NULL), "true", "-m");
	is(value(FIELD_launch_quiet, "-q", NULL), "true", "-q");
	is(value(FIELD_launch_tee, "-t", "3"), "3", "-t 3");
	is(value(FIELD_main_use_cpu, "--cpu", NULL), "true", "--cpu");
	is(value(FIELD_main_debug, "--debug=false", NULL), "false",
	    "a switch may be told no behind =");
	is(value(FIELD_main_debug, "--Debug", NULL), "(refused)",
	    "a flag is not taken in another case");
	is(value(FIELD_main_num_processes, "--num_proc", "2"), "(refused)",
	    "nor when it is cut short");
	is(value(FIELD_main_num_processes, "--num_processes=", NULL),
	    "(refused)", "a number cannot be empty");
	is(value(FIELD_main_tpu_name, "--tpu_name", "x"), "(refused)",
	    "a key that is no flag is none");
	is(value(FIELD_fp8_margin, "--margin", "1"), "(refused)",
	    "nor is a key whose flag has another name");
	is(value(FIELD_fp8_format, "--format", "E4M3"), "(refused)",
	    "nor an older key of a section");
	config_init(&c);
	ok(config_flag(&c, argv, &at, &err) == 1 && at == 1,
	    "a switch leaves the next word alone");
	config_clear(&c);

	ok(!take(&c, "--tpu_cluster", "--no-tpu-cluster", NULL) &&
	    !c.main.tpu_use_cluster &&
	    c.origin[FIELD_main_tpu_use_cluster] == ORIGIN_FLAG,
	    "--no_tpu_cluster takes --tpu_cluster back");
	config_clear(&c);
	ok(take(&c, "--no_tpu_cluster=1", NULL, NULL) != NULL,
	    "and has no value");
	config_clear(&c);
	ok(!take(&c, "--vm=a", "--vm", "b,c") &&
	    !strcmp(c.main.tpu_vm, "a\nb,c\n"), "--vm adds up");
	config_clear(&c);
	ok(!take(&c, "--fp8_override_linear_precision", "(true, no,1)", NULL) &&
	    !strcmp(c.fp8.override_linear_precision, "true\nno\n1\n"),
	    "three words with commas");
	config_clear(&c);
	is(value(FIELD_dynamo_backend, "--dynamo_backend",
	    "torhchxla_trace_once"), "TORCHXLA_TRACE_ONCE",
	    "Accelerate's misspelt backend is the one that it means");
	is(value(FIELD_fp8_backend, "--fp8_backend", "te"), "TE",
	    "a backend of fp8 in lower case");
	is(value(FIELD_sagemaker_secret_key, "--aws_secret_access_key",
	    "wJalr"), "(secret)", "a secret is kept, and not told");
	ok(!take(&c, "--aws_secret_access_key", "wJalr", NULL) &&
	    !strcmp(c.sagemaker.secret_key, "wJalr"), "but is there");
	config_clear(&c);
	ok(config_retired("use-xpu") && strstr(config_retired("use-xpu"),
	    "MULTI_XPU") && !config_retired("num_processes"),
	    "a flag that is gone says what to use");
}

static void
test_paradigms(void)
{
	static const char *const flags[][2] = { { "--multi_gpu", "MULTI_GPU" },
	    { "--use_fsdp", "FSDP" }, { "--use_deepspeed", "DEEPSPEED" },
	    { "--use_megatron_lm", "MEGATRON_LM" }, { "--tpu", "XLA" } };

	for (int i = 0; i < 5; i++)
		is(value(FIELD_main_distributed_type, flags[i][0], NULL),
		    flags[i][1], "%s says distributed_type", flags[i][0]);
	is(value(FIELD_main_distributed_type, "--multi_gpu=no", NULL), "NO",
	    "--multi_gpu=no does not");
}

static void
test_help(void)
{
	struct buf	 help = BUF_INIT;
	char		*text, *rest, *line;
	int		 missing = 0, wide = 0, empty = 0;
	size_t		 titles = 0;

	ok(!config_help(&help), "there is help");
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];
		char			 flag[90];
		const char		*at;
		int			 found = 0;

		snprintf(flag, sizeof(flag), "--%s", f->flag ? f->flag :
		    f->key);
		for (at = buf_text(&help); (at = strstr(at, flag)); at++)
			found += strchr(" ,\n", at[strlen(flag)]) != NULL;
		if (found != !(f->flags & FIELD_NOFLAG)) {
			printf("# %s: %d times\n", flag, found);
			missing++;
		}
	}
	text = rest = buf_detach(&help);
	while ((line = strsep(&rest, "\n"))) {
		size_t	n = strlen(line);

		wide += n > 80;
		titles += n && line[n - 1] == ':' && *line != ' ';
		/* a title with nothing below it */
		empty += n && line[n - 1] == ':' && *line != ' ' &&
		    (!rest || *rest != ' ');
	}
	free(text);
	ok(!missing, "each flag is in it once, and no key that is no flag");
	ok(!wide, "no line is wider than 80 columns");
	ok(titles > 8 && !empty, "each title has flags below it");
}

int
main(void)
{
	test_list();
	test_manners();
	test_paradigms();
	test_help();
	return tap_done();
}
