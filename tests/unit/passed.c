/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that the user passes on. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/passed.h"
#include "tests/tap.h"

static struct strv	env;
static struct err	err;
static char		path[] = "/tmp/passed.XXXXXX";

static int
read_text(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	strv_clear(&env);
	err = (struct err)ERR_INIT;
	return passed_read(&env, path, &err);
}

static const char *
value(const char *name)
{
	const char *text = strv_getenv(&env, name);

	return text ? text : "(none)";
}

static void
is_error(const char *text, const char *want)
{
	char full[200];

	snprintf(full, sizeof full, "%s%s", path, want);
	ok(read_text(text) < 0, "an error");
	is(err.text, full, "that names the line");
}

int
main(void)
{
	char *const	here[] = { "WANDB_KEY=a=b", "WANDB_MODE=", "OTHER=c",
			    "=odd", "NOVALUE", NULL };

	close(mkstemp(path));
	ok(passed_add(&env, "WANDB_*", here, &err) == 0, "a pattern");
	ok(env.count == 2, "takes what fits");
	is(value("WANDB_KEY"), "a=b", "with its value");
	is(value("WANDB_MODE"), "", "an empty one too");
	ok(passed_add(&env, "NONE_*", here, &err) == 0 && env.count == 2,
	    "one that fits nothing adds nothing");
	ok(passed_add(&env, "OTHER", here, &err) == 0, "a name");
	is(value("OTHER"), "c", "as it is here");
	ok(passed_add(&env, "OTHER=*", here, &err) == 0, "a value is no pattern");
	is(value("OTHER"), "*", "and the last one counts");
	ok(passed_add(&env, "MISSING", here, &err) < 0, "a name that is not here");
	is(err.text, "--env MISSING: not set here", "is an error");
	ok(passed_add(&env, "=x", here, &err) < 0, "so is no name");

	ok(read_text("# all\n\nA=1\n export B = \nC='it is \"$HOME\"\\n' # x\n") < 0,
	    "a blank before = is an error");
	ok(read_text("A=1\r\nexport B= two words # no\nC='a \"$B\"\\n' # x\n"
	    "D=\"l1\\nl2\\t\\\"\\$E\\q\"\nE=\nF=a#b\nG=\"over\nlines\"\nH=last") == 0,
	    "a file");
	is(value("A"), "1", "a word, without the CR");
	is(value("B"), " two words", "without quotes: up to the comment");
	is(value("C"), "a \"$B\"\\n", "single quotes keep all");
	is(value("D"), "l1\nl2\t\"$E\\q", "double quotes know a few escapes");
	is(value("E"), "", "nothing is a value");
	is(value("F"), "a#b", "a # within a word is none");
	is(value("G"), "over\nlines", "quotes go over lines");
	is(value("H"), "last", "the last line needs no end");
	is_error("A=1\nnot a line\n", ":2: not NAME=VALUE");
	is_error("A='x\ny\n", ":1: a quote without its end");
	is_error("A='x\ny' z\n", ":2: something behind the quote");
	is_error("1A=x\n", ":1: not NAME=VALUE");
	unlink(path);
	ok(passed_read(&env, path, &err) < 0, "a file that is not there");
	strv_clear(&env);
	return tap_done();
}
