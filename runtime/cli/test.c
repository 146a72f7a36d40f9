/* SPDX-License-Identifier: Apache-2.0 */
/* accel test: does the configuration run here?  Its ranks are started as by
 * accel launch, and what they do is checked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/install.h"
#include "runtime/base/num.h"
#include "runtime/cli/child.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"

#include "runtime/base/banned.h"

struct test {
	const char	*config_file, *hosts, *hostfile, *timeout;
	bool		 no_accelerate;
};

static const struct option options[] = {
	CONFIG_FILE(struct test),
	VALUE(struct test, hosts, "hosts", 0, "H1:4,H2:4", TAKES_HOSTS,
	    "the machines, each with its number of ranks"),
	VALUE(struct test, hostfile, "hostfile", 0, "FILE", TAKES_FILE,
	    "the same, a line a host: H1 slots=4"),
	VALUE(struct test, timeout, "timeout", 0, "SECONDS", TAKES_TEXT,
	    "for each of the two programs (180)"),
	SWITCH(struct test, no_accelerate, "no_accelerate", 0,
	    "leave out Accelerate's own test script"),
	OPTIONS_END
};

enum { SHOWN = 20, WORDS = 16 };	/* last lines; words of a command */
#define SAYS	"accel-selftest: "

struct tally {
	int passed, failed;
};

static void
say(struct tally *t, const char *verdict, const char *what)
{
	printf("%s  %s\n", verdict, what);
	fflush(stdout);
	t->passed += !strcmp(verdict, "PASS");
	t->failed += !strcmp(verdict, "FAIL");
}

/* The last lines of what a program wrote. */
static void
show_end(const struct buf *out)
{
	const char	*text = buf_text(out), *at = text + out->len;
	int		 lines = 0;

	while (at > text && (at[-1] != '\n' || lines++ <= SHOWN))
		at--;
	for (size_t n; *at; at += n + (at[n] == '\n')) {
		n = strcspn(at, "\n");
		printf("      %.*s\n", (int)n, at);
	}
	fflush(stdout);
}

/* Words of "accel launch" up to the program. */
static int
launch_words(const char **argv, const char *self, const struct test *o)
{
	int n = 0;

	argv[n++] = self;
	argv[n++] = "launch";
	if (o->config_file) {
		argv[n++] = "--config_file";
		argv[n++] = o->config_file;
	}
	if (o->hosts) {
		argv[n++] = "--hosts";
		argv[n++] = o->hosts;
	}
	if (o->hostfile) {
		argv[n++] = "--hostfile";
		argv[n++] = o->hostfile;
	}
	return n;
}

static void
test_ranks(struct tally *t, const char *self, const struct test *o,
    double limit, char *program)
{
	const char	*argv[WORDS];
	struct buf	 out = BUF_INIT;
	struct err	 err = ERR_INIT;
	int		 n = launch_words(argv, self, o), code, said;
	char		 what[sizeof err.text + 40];

	argv[n++] = "--no_python";
	argv[n++] = program;
	argv[n] = NULL;
	code = child_run(argv, NULL, limit, &out, &err);
	said = t->failed;
	for (const char *at = buf_text(&out); (at = strstr(at, SAYS));) {
		size_t	len;
		char	verdict[5];

		at += strlen(SAYS);
		len = strcspn(at, "\n");
		if (strncmp(at, "PASS ", 5) && strncmp(at, "FAIL ", 5))
			continue;	/* a rank's own words */
		snprintf(verdict, sizeof verdict, "%.4s", at);
		snprintf(what, sizeof what, "%.*s", (int)len - 5, at + 5);
		say(t, verdict, what);
	}
	if (code < 0)
		snprintf(what, sizeof what, "ranks: %s", err.text);
	else
		snprintf(what, sizeof what, "ranks: accel launch ended with "
		    "exit code %d", code);
	if (code)
		say(t, "FAIL", what);
	if (t->failed > said)
		show_end(&out);
	buf_clear(&out);
}

/* Where Accelerate's test script is, for a Python that has it. */
static int
find_script(const char *python, struct buf *path)
{
	static const char	 ask[] = "import importlib.util as u, os\n"
	    "s = u.find_spec('accelerate')\n"
	    "print(os.path.join(os.path.dirname(s.origin), 'test_utils', "
	    "'scripts', 'test_script.py') if s else '', end='')";
	const char *const	 argv[] = { python, "-c", ask, NULL };
	struct err		 err;

	if (child_run(argv, NULL, 30, path, &err) != 0 || !path->len ||
	    access(buf_text(path), R_OK) < 0)
		return -1;
	return 0;
}

static void
test_accelerate(struct tally *t, const char *self, const struct test *o,
    double limit)
{
	const char	*argv[WORDS], *python = getenv("ACCEL_PYTHON");
	struct buf	 out = BUF_INIT, script = BUF_INIT;
	struct err	 err = ERR_INIT;
	int		 n = launch_words(argv, self, o), code;
	char		 what[sizeof err.text + 80];

	if (!python || !*python)
		python = "python3";
	if (find_script(python, &script) < 0) {
		snprintf(what, sizeof what, "Accelerate's test script: %s has "
		    "no accelerate", python);
		say(t, "SKIP", what);
		goto out;
	}
	argv[n++] = buf_text(&script);
	argv[n] = NULL;
	code = child_run(argv, NULL, limit, &out, &err);
	if (code == 0)
		snprintf(what, sizeof what, "Accelerate's test script");
	else if (code < 0)
		snprintf(what, sizeof what, "Accelerate's test script: %s",
		    err.text);
	else
		snprintf(what, sizeof what, "Accelerate's test script: exit "
		    "code %d", code);
	say(t, code ? "FAIL" : "PASS", what);
	if (code)
		show_end(&out);
out:
	buf_clear(&out);
	buf_clear(&script);
}

/* The file's rules; what runs elsewhere cannot be tested from here. */
static int
test_config(struct tally *t, const struct test *o, bool *here,
    struct err *err)
{
	struct config	c;
	struct buf	what = BUF_INIT;
	int		ret = -1;

	config_init(&c);
	if (cli_config_load(&c, o->config_file, true, err) < 0)
		goto out;
	*here = c.main.compute_environment == place_LOCAL_MACHINE &&
	    !c.main.tpu_use_cluster;
	buf_addf(&what, "configuration: %s", c.path ? c.path :
	    "no file, so defaults");
	ret = 0;
	if (config_check(&c, err) < 0) {
		buf_addf(&what, ": %s", err->text);
		say(t, "FAIL", buf_text(&what));
		if (err->hint[0])
			printf("      %s\n", err->hint);
		*here = false;
	} else {
		say(t, "PASS", buf_text(&what));
		if (!*here)
			say(t, "FAIL", "ranks: they run in a cloud, where "
			    "accel test starts none");
	}
out:
	buf_clear(&what);
	config_clear(&c);
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct test	*o = call->options;
	struct tally		 tally = { 0, 0 };
	double			 limit = 180;
	char			*self = NULL, *program = NULL;
	bool			 here = false;
	int			 ret = -1;

	if (o->timeout && num_parse_real(o->timeout, 1, 86400, &limit) < 0) {
		err_set(err, "--timeout %s: not a number of seconds from 1 on",
		    o->timeout);
		return EXIT_USAGE;
	}
	if (test_config(&tally, o, &here, err) < 0)
		return -1;
	if (here) {
		self = realpath("/proc/self/exe", NULL);
		program = install_program("accel-selftest");
		if (!self || !program) {
			err_nomem(err);
			goto out;
		}
		test_ranks(&tally, self, o, limit, program);
		if (!o->no_accelerate)
			test_accelerate(&tally, self, o, limit);
	}
	printf("%d passed, %d failed\n", tally.passed, tally.failed);
	ret = tally.failed ? 1 : 0;
out:
	free(self);
	free(program);
	return ret;
}

const struct command command_test = {
	"test", "check that a configuration runs here", .run = run,
	.about = "Starts the configuration's ranks as accel launch does, and "
	    "checks what they do:\nthe values of collectives, a model that "
	    "learns, the same parameters on all\nranks; then Accelerate's own "
	    "test script, where Python has it.",
	.page = "accel-test(1)", .options = options,
	.size = sizeof(struct test),
};
