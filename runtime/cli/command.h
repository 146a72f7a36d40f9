/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: what a command is called, takes and does, as data.
 *
 * Reading its words, --help, the messages about wrong usage and completion in
 * the shells all come from here, so that every command behaves alike.  A
 * command has a function to run, or commands below it, or both.
 */
#ifndef RUNTIME_CLI_COMMAND_H
#define RUNTIME_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/base/strv.h"

struct config;
struct err;

enum takes {			/* what a word is, for completion */
	TAKES_NOTHING,
	TAKES_TEXT,		/* nothing to offer */
	TAKES_FILE, TAKES_YAML, TAKES_FOLDER,
	TAKES_HOSTS,		/* with commas, from ssh_config(5) */
	TAKES_KEY,		/* of a field */
	TAKES_SETTING,		/* KEY=VALUE */
	TAKES_TEMPLATE,		/* a template, then a file */
	TAKES_WORDS,		/* of a list */
	TAKES_COMMAND		/* of accel */
};

struct option {
	const char	*name;	/* behind "--"; NULL ends a list */
	char		 letter;	/* or 0 */
	const char	*arg;	/* "FILE"; NULL for a switch */
	const char	*what;	/* a line of --help */
	enum takes	 takes;
	const char	*words;	/* TAKES_WORDS: with blanks between */
	enum { OPTION_SWITCH, OPTION_TEXT, OPTION_LIST, OPTION_MORE } kind;
	size_t		 offset;	/* in the command's own struct */
};

/* Rows.  "s" is that struct and "m" the member, whose type is checked: bool,
 * const char *, struct strv (for what may be given again). */
#define OPTION_AT(s, m, t)	\
	(offsetof(s, m) + 0 * sizeof(_Generic(((s *)0)->m, t: 1)))
#define SWITCH(s, m, name, letter, what)	\
	{ name, letter, NULL, what, TAKES_NOTHING, NULL, OPTION_SWITCH,	\
	    OPTION_AT(s, m, bool) }
#define VALUE(s, m, name, letter, arg, takes, what)	\
	{ name, letter, arg, what, takes, NULL, OPTION_TEXT,	\
	    OPTION_AT(s, m, const char *) }
#define CHOICE_OF(s, m, name, arg, words, what)	\
	{ name, 0, arg, what, TAKES_WORDS, words, OPTION_TEXT,	\
	    OPTION_AT(s, m, const char *) }
#define VALUES(s, m, name, letter, arg, takes, what)	\
	{ name, letter, arg, what, takes, NULL, OPTION_LIST,	\
	    OPTION_AT(s, m, struct strv) }
/* The same, and the words behind it up to the next flag are for it too. */
#define MORE_VALUES(s, m, name, letter, arg, takes, what)	\
	{ name, letter, arg, what, takes, NULL, OPTION_MORE,	\
	    OPTION_AT(s, m, struct strv) }
#define CHOICES_OF(s, m, name, arg, words, what)	\
	{ name, 0, arg, what, TAKES_WORDS, words, OPTION_LIST,	\
	    OPTION_AT(s, m, struct strv) }
#define OPTIONS_END	{ .name = NULL }
/* The option that most commands have; the member is config_file. */
#define CONFIG_FILE(s)	\
	VALUE(s, config_file, "config_file", 0, "FILE", TAKES_YAML,	\
	    "this file, not the default one")

struct call {			/* a command whose words were read */
	const struct command	*command;
	void			*options;	/* the command's own struct */
	struct config		*config;	/* COMMAND_FIELDS; else NULL */
	int			 argc;		/* words that are no flags */
	char			**argv;
	char *const		*words;		/* all behind the command's name,
						   as they came */
};

enum {
	COMMAND_FIELDS = 1 << 0,	/* each field is a flag as well */
	COMMAND_SCRIPT = 1 << 1,	/* the first word ends the flags */
	COMMAND_HIDDEN = 1 << 2,	/* in no list */
	COMMAND_ALL_FIELDS = 1 << 3,	/* --help lists those flags */
	COMMAND_ANY_WORD = 1 << 4	/* what is no flag of it is a word */
};

struct command {
	const char	*name, *what;	/* "show", "print each value" */
	/* Gives the exit code; -1 is 1.  What is in *err gets printed. */
	int		(*run)(struct call *call, struct err *err);
	const char	*path;		/* "config show", where that differs */
	const char	*words;		/* in usage: "KEY=VALUE ..."; or NULL */
	int		 least, most;	/* how many; most -1: any number */
	enum takes	 takes;		/* what they are */
	const char	*list;		/* TAKES_WORDS */
	const char	*about;		/* paragraphs of --help, or NULL */
	const char	*page;		/* "accel-config(1)" */
	const struct option	*options;	/* or NULL */
	size_t		 size;		/* of its struct */
	const struct command *const	*below;	/* ended by NULL, or NULL */
	unsigned	 flags;		/* COMMAND_... */
};

/* Runs what argv says, below "root" (whose own name is not in argv); gives the
 * exit code, having printed what there was to say. */
int  command_run(const struct command *root, int argc, char **argv);

/* Reads words: flags into *options, those of fields into *config (NULL where
 * there are none); the others are moved to the front of argv, which has
 * NULL at its end, and counted.  1 where help was asked for, else 0 or -1. */
int  command_read(const struct command *c, char **argv, void *options,
    struct config *config, int *count, struct err *err);

/* The text of --help. */
void command_help(const struct command *c, FILE *to);

/* The one below c of that name, or NULL. */
const struct command *command_below(const struct command *c, const char *name);

/* An option as it is typed, n bytes of its name; "-" and "_" are one. */
const struct option *command_option(const struct command *c, const char *name,
    size_t n);
#endif
