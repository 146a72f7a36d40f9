/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a command, reads its words, runs it, and says what went wrong. */
#include "runtime/cli/command.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"
#include "runtime/cli/cli.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

static const char *
path_of(const struct command *c)
{
	return c->path ? c->path : c->name;
}

/* As it is typed: "accel config show", or a program of its own. */
struct title {
	char	text[80];
};

static struct title
title_of(const struct command *c)
{
	struct title	t;
	const char	*path = path_of(c);

	if (!strncmp(path, "accel-", 6))
		snprintf(t.text, sizeof t.text, "%s", path);
	else
		snprintf(t.text, sizeof t.text, "accel%s%s", *path ? " " : "",
		    path);
	return t;
}

static void
complain(const struct command *c, const struct err *err)
{
	err_print(title_of(c).text, err);
}

const struct command *
command_below(const struct command *c, const char *name)
{
	for (size_t i = 0; c->below && c->below[i]; i++)
		if (!strcmp(c->below[i]->name, name))
			return c->below[i];
	return NULL;
}

static char
dashed(char c)
{
	return c == '_' ? '-' : c;
}

const struct option *
command_option(const struct command *c, const char *name, size_t n)
{
	for (const struct option *o = c->options; o && o->name; o++) {
		size_t i = 0;

		if (strlen(o->name) != n)
			continue;
		while (i < n && dashed(name[i]) == dashed(o->name[i]))
			i++;
		if (i == n)
			return o;
	}
	return NULL;
}

static const struct option *
lettered(const struct command *c, char letter)
{
	for (const struct option *o = c->options; o && o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

static int
put(const struct option *o, void *options, const char *value, struct err *err)
{
	void *at = (char *)options + o->offset;

	switch (o->kind) {
	case OPTION_SWITCH:
		*(bool *)at = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)at = value;
		return 0;
	case OPTION_LIST:
	case OPTION_MORE:
		return strv_add(at, value) < 0 ? err_nomem(err) : 0;
	}
	return 0;
}

static bool
listed(const char *words, const char *value)
{
	size_t n = strlen(value);

	while (*words) {
		size_t have = strcspn(words, " ");

		if (have == n && !strncmp(words, value, n))
			return true;
		words += have + strspn(words + have, " ");
	}
	return false;
}

static int
unknown_flag(const struct command *c, const char *word, bool fields_too,
    struct err *err)
{
	const char	*name = word + strspn(word, "-"), *near = NULL;
	size_t		 n = strcspn(name, "="), least = (size_t)-1;
	char		 text[80];

	snprintf(text, sizeof text, "%.*s", (int)(n < 79 ? n : 79), name);
	for (const struct option *o = c->options; o && o->name; o++)
		if (near_enough(text, o->name) &&
		    near_distance(text, o->name) < least) {
			least = near_distance(text, o->name);
			near = o->name;
		}
	if (!near && fields_too)
		near = config_near(text);
	err_set(err, "there is no flag %.*s", (int)(n + (size_t)(name - word)),
	    word);
	if (c->takes == TAKES_SETTING && config_field_of(text) >= 0)
		return err_hint(err, "write %s=VALUE", text);
	if (fields_too && config_retired(text))
		return err_hint(err, "%s", config_retired(text));
	if (near)
		return err_hint(err, "did you mean --%s?", near);
	return err_hint(err, "see: %s --help", title_of(c).text);
}

/* One flag of the command itself: 1, 0 where it is none, -1. */
static int
take_flag(const struct command *c, char **argv, int *at, void *options,
    struct err *err)
{
	const char		*word = argv[*at], *value = NULL;
	const struct option	*o;
	size_t			 n;

	if (word[1] != '-') {
		if (!word[1] || word[2] || !(o = lettered(c, word[1])))
			return 0;
	} else {
		n = strcspn(word + 2, "=");
		if (!(o = command_option(c, word + 2, n)))
			return 0;
		value = word[2 + n] ? word + 3 + n : NULL;
	}
	*at += 1;
	if (o->kind == OPTION_SWITCH) {
		if (value)
			return err_set(err, "--%s takes no value", o->name);
		return put(o, options, NULL, err) < 0 ? -1 : 1;
	}
	if (!value && !(value = argv[*at])) {
		err_set(err, "%s needs a value", word);
		return err_hint(err, "write --%s %s: %s", o->name, o->arg,
		    o->what);
	}
	if (value == argv[*at])
		*at += 1;
	if (!*value && (o->takes == TAKES_FILE || o->takes == TAKES_YAML ||
	    o->takes == TAKES_FOLDER)) {
		err_set(err, "--%s: the name is empty", o->name);
		return err_hint(err, "a variable that is not set, perhaps");
	}
	if (o->words && !listed(o->words, value)) {
		err_set(err, "--%s: there is no \"%s\"", o->name, value);
		return err_hint(err, "one of: %s", o->words);
	}
	if (put(o, options, value, err) < 0)
		return -1;
	for (; o->kind == OPTION_MORE && argv[*at] && argv[*at][0] != '-';
	    *at += 1)
		if (put(o, options, argv[*at], err) < 0)
			return -1;
	return 1;
}

static int
check_count(const struct command *c, int n, const char *surplus,
    struct err *err)
{
	static const char config_file[] = "config_file";
	const char *words = c->words ? c->words : "";

	if (n < c->least)
		err_set(err, "needs %s%s", n ? "more words: " : "", words);
	else if (c->most >= 0 && n > c->most)
		err_set(err, "\"%s\" is too much%s", surplus,
		    command_option(c, config_file, strlen(config_file)) ?
		    "; a configuration comes behind --config_file" : "");
	else
		return 0;
	return err_hint(err, "usage: %s [FLAGS]%s%s", title_of(c).text,
	    *words ? " " : "", words);
}

int
command_read(const struct command *c, char **argv, void *options,
    struct config *config, int *count, struct err *err)
{
	int	n = 0, at = 0, got;
	bool	flags = true;

	while (argv[at]) {
		char *word = argv[at];

		if (!flags || word[0] != '-' || !word[1]) {
			if (c->flags & COMMAND_SCRIPT)
				flags = false;
			argv[n++] = word;
			at++;
			continue;
		}
		if (!strcmp(word, "--")) {
			flags = false;
			at++;
			continue;
		}
		if (!strcmp(word, "-h") || !strcmp(word, "--help"))
			return 1;
		got = take_flag(c, argv, &at, options, err);
		if (got == 0 && config)
			got = config_flag(config, argv, &at, err);
		if (got == 0 && c->flags & COMMAND_ANY_WORD) {
			argv[n++] = word;
			at++;
			continue;
		}
		if (got == 0)
			got = unknown_flag(c, word, config != NULL, err);
		if (got < 0)
			return -1;
	}
	argv[n] = NULL;
	*count = n;
	return check_count(c, n, n > c->most && c->most >= 0 ?
	    argv[c->most] : "", err);
}

/* Words in lines of 80 columns, from the 25th on. */
static void
wrap(const char *text, FILE *to)
{
	size_t	at = 24;

	while (*(text += strspn(text, " "))) {
		size_t n = strcspn(text, " ");

		if (at > 24 && at + 1 + n > 80) {
			fprintf(to, "\n%24s", "");
			at = 24;
		}
		at += (size_t)fprintf(to, "%s%.*s", at > 24 ? " " : "", (int)n,
		    text);
		text += n;
	}
	putc('\n', to);
}

static void
help_option(const struct option *o, FILE *to)
{
	char	left[64];
	int	n;

	n = snprintf(left, sizeof left, "  ");
	if (o->letter)
		n += snprintf(left + n, sizeof left - (size_t)n, "-%c, ",
		    o->letter);
	snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", o->name,
	    o->arg ? " " : "", o->arg ? o->arg : "");
	if (strlen(left) > 23)
		fprintf(to, "%s\n%24s", left, "");
	else
		fprintf(to, "%-23s ", left);
	wrap(o->what, to);
}

void
command_help(const struct command *c, FILE *to)
{
	static const struct option	help = { .name = "help", .letter = 'h',
	    .what = "this text" };
	struct title			 name = title_of(c);

	if (c->below)
		fprintf(to, "usage: %s COMMAND ...\n", name.text);
	if (c->run || !c->below)
		fprintf(to, "%s %s [FLAGS]%s%s\n",
		    c->below ? "      " : "usage:", name.text,
		    c->words ? " " : "", c->words ? c->words : "");
	if (c->about)
		fprintf(to, "\n%s\n", c->about);
	else
		fprintf(to, "\n%c%s.\n", toupper((unsigned char)c->what[0]),
		    c->what + 1);
	if (c->below)
		fprintf(to, "\nCommands:\n");
	for (size_t i = 0; c->below && c->below[i]; i++)
		if (!(c->below[i]->flags & COMMAND_HIDDEN))
			fprintf(to, "  %-16s %s\n", c->below[i]->name,
			    c->below[i]->what);
	fprintf(to, "\nFlags:\n");
	for (const struct option *o = c->options; o && o->name; o++)
		help_option(o, to);
	help_option(&help, to);
	if (c->flags & COMMAND_ALL_FIELDS) {
		struct buf fields_help = BUF_INIT;

		fprintf(to, "\nFields of the configuration, as flags:\n\n");
		if (config_help(&fields_help) == 0)
			fputs(buf_text(&fields_help), to);
		buf_clear(&fields_help);
	} else if (c->flags & COMMAND_FIELDS)
		fprintf(to, "  and each field of the configuration, as in "
		    "\"accel launch --help\"\n");
	if (c->page)
		fprintf(to, "\nManual: %s\n", c->page);
}

static int
no_command(const struct command *c, const char *name, struct err *err)
{
	const char	*near = NULL;
	size_t		 least = (size_t)-1;

	for (size_t i = 0; c->below[i]; i++)
		if (near_enough(name, c->below[i]->name) &&
		    near_distance(name, c->below[i]->name) < least) {
			least = near_distance(name, c->below[i]->name);
			near = c->below[i]->name;
		}
	err_set(err, "there is no command \"%s\"", name);
	if (near)
		return err_hint(err, "did you mean \"%s\"?", near);
	return err_hint(err, "see: %s --help", title_of(c).text);
}

/* Frees the lists; the rest of the struct borrows from argv. */
static void
drop(const struct command *c, void *options)
{
	for (const struct option *o = c->options; o && o->name; o++) {
		void *at = (char *)options + o->offset;

		if (o->kind == OPTION_LIST || o->kind == OPTION_MORE)
			strv_clear(at);
	}
	free(options);
}

static int
run_one(const struct command *c, char **argv)
{
	struct config	config;
	struct call	call = { .command = c, .argv = argv };
	struct err	err = ERR_INIT;
	int		code = EXIT_USAGE, got;
	size_t		n = 0;
	char		**words;

	while (argv[n])
		n++;
	words = calloc(n + 1, sizeof *words);
	if (!words || !(call.options = calloc(1, c->size + 1))) {
		free(words);
		err_nomem(&err);
		complain(c, &err);
		return 1;
	}
	memcpy(words, argv, n * sizeof *words);
	call.words = words;
	if (c->flags & COMMAND_FIELDS) {
		config_init(&config);
		call.config = &config;
	}
	got = command_read(c, argv, call.options, call.config, &call.argc,
	    &err);
	if (got > 0) {
		command_help(c, stdout);
		code = 0;
	} else if (got < 0) {
		complain(c, &err);
	} else {
		code = c->run(&call, &err);
		if (code < 0 || *err.text)
			complain(c, &err);
		code = code < 0 ? 1 : code;
	}
	if (call.config)
		config_clear(call.config);
	drop(c, call.options);
	free(words);
	/* What a full disk or a closed pipe kept back is no success. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		err_set(&err, "the output could not be written");
		complain(c, &err);
		code = code ? code : 1;
	}
	return code;
}

int
command_run(const struct command *root, int argc, char **argv)
{
	const struct command	*c = root, *next;
	struct err		 err = ERR_INIT;

	while (argc && c->below && (next = command_below(c, argv[0]))) {
		c = next;
		argc--;
		argv++;
	}
	if (c->below && argc && argv[0][0] != '-') {
		no_command(c, argv[0], &err);
		complain(c, &err);
		return EXIT_USAGE;
	}
	if (!c->run && !argc) {
		command_help(c, stderr);
		return EXIT_USAGE;
	}
	if (!c->run) {
		int count, got = command_read(c, argv, NULL, NULL, &count,
		    &err);

		if (got > 0) {
			command_help(c, stdout);
			return 0;
		}
		if (got == 0)
			err_set(&err, "a command is missing");
		complain(c, &err);
		return EXIT_USAGE;
	}
	return run_one(c, argv);
}
