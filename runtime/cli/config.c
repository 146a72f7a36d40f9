/* SPDX-License-Identifier: Apache-2.0 */
/* accel config: the table of the commands below it, and the wizard. */
#include "runtime/cli/config.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/install.h"
#include "runtime/base/lines.h"
#include "runtime/cli/cli.h"
#include "runtime/config/changes.h"
#include "runtime/config/rules.h"

#include "runtime/base/banned.h"

static const struct command *const commands[] = {
	&command_config_check,
	&command_config_show,
	&command_config_explain,
	&command_config_set,
	&command_config_diff,
	&command_config_default,
	&command_config_new,
	&command_config_export,
	&command_config_update,
	NULL
};

struct wizard {
	const char	*config_file;
	bool		 plain, screens;
};

static const struct option options[] = {
	CONFIG_FILE(struct wizard),
	SWITCH(struct wizard, plain, "plain", 0,
	    "questions by lines, without asking which"),
	SWITCH(struct wizard, screens, "screens", 0,
	    "screens, without asking which"),
	OPTIONS_END
};

/* A terminal can have screens: which?  True for screens. */
static bool
wants_screens(void)
{
	char line[64];

	printf("Screens, or questions one by one? [screens] ");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return false;
	return *line == '\n' || *line == 's' || *line == 'S' || *line == 'y' ||
	    *line == 'Y';
}

static bool
terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	    strcmp(term, "dumb") && !getenv("ACCESSIBLE");
}

/* Becomes accel-setup, which has the questions and the screens. */
static int
run(struct call *call, struct err *err)
{
	const struct wizard	*o = call->options;
	const char		*argv[5] = { "accel-setup" };
	char			*program;
	int			 n = 1;

	if (o->plain && o->screens) {
		err_set(err, "--plain and --screens exclude each other");
		return EXIT_USAGE;
	}
	if (o->plain || (!o->screens && !(terminal() && wants_screens())))
		argv[n++] = "--plain";
	if (o->config_file) {
		argv[n++] = "--config_file";
		argv[n++] = o->config_file;
	}
	if (!(program = install_program("accel-setup")))
		return err_nomem(err);
	fflush(stdout);
	execv(program, (char *const *)(uintptr_t)argv);
	err_set(err, "%s: %s", program, strerror(errno));
	free(program);
	return err_hint(err, "accel config default writes a file without "
	    "questions");
}

const struct command command_config = {
	"config", "make, show, check and change a configuration", .run = run,
	.about = "Asks, checks and writes the file that accel launch reads.  "
	    "At a terminal it\noffers screens (accel-setup).  The commands "
	    "below it work without questions.",
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct wizard), .below = commands,
};

int
cli_config_file(const struct call *call, const char *option,
    const char **file, struct err *err)
{
	if (call->argc && option) {
		err_set(err, "two files: %s and %s", option, call->argv[0]);
		return err_hint(err, "one at a time");
	}
	*file = call->argc ? call->argv[0] : option;
	return 0;
}

int
cli_config_load(struct config *c, const char *given, bool optional,
    struct err *err)
{
	char	*path;
	int	 ret;

	if (!given && optional &&
	    c->origin[FIELD_main_use_cpu] == ORIGIN_FLAG)
		return 0;
	path = given ? strdup(given) : config_default_path();
	if (!path)
		return err_nomem(err);
	if (!*path) {
		free(path);
		return err_set(err, "the name of the file is empty");
	}
	if (access(path, F_OK) == 0 || errno != ENOENT)
		ret = config_read(c, path, err);
	else if (!given && optional)
		ret = 0;
	else {
		err_set(err, "%s: there is no such file", path);
		ret = err_hint(err, given ? "\"accel config --config_file %s\" "
		    "makes it" : "\"accel config\" makes one", path);
	}
	for (size_t i = 0; ret == 0 && i < c->warnings.count; i++)
		fprintf(stderr, "accel: %s\n", c->warnings.item[i]);
	free(path);
	return ret;
}

static bool
has_problem(const struct problems *all, const struct problem *p)
{
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->item[i].id, p->id) &&
		    !strcmp(all->item[i].what, p->what))
			return true;
	return false;
}

/* Says which rules are broken now and were not before.  What cannot be told
 * for want of memory is no reason to fail: the file is written. */
static void
warn(const struct config *was, const struct config *is)
{
	struct problems	before = PROBLEMS_INIT, now = PROBLEMS_INIT;

	fflush(stdout);
	if (config_problems(was, NULL, &before, NULL) == 0 &&
	    config_problems(is, NULL, &now, NULL) == 0)
		for (size_t i = 0; i < now.count; i++)
			if (!has_problem(&before, &now.item[i]))
				fprintf(stderr, "accel: %s: %s\n       %s\n",
				    now.item[i].fatal ? "but now" : "warning",
				    now.item[i].what, now.item[i].hint);
	problems_clear(&before);
	problems_clear(&now);
}

int
cli_config_save(const struct config *was, const struct config *is,
    unsigned how, bool dry, struct err *err)
{
	const char	*notice;
	struct changes	changes = CHANGES_INIT;
	struct buf	old = BUF_INIT, new = BUF_INIT, text = BUF_INIT;
	int		code = -1;

	if (file_read(was->path, &old, err) < 0 ||
	    changes_find(&changes, was, is, err) < 0)
		goto out;
	if (config_text(is, was->path, how, &new, &notice, err) < 0)
		goto out;
	if (changes_print(&changes, &text) < 0 || (dry &&
	    lines_diff(buf_text(&old), buf_text(&new), was->path, was->path,
	    &text) < 0)) {
		err_nomem(err);
		goto out;
	}
	code = 0;
	if (old.len == new.len && !memcmp(buf_text(&old), buf_text(&new),
	    old.len))
		printf("%s: nothing to change\n", was->path);
	else if (dry)
		fputs(buf_text(&text), stdout);
	else if ((code = config_save(is, was->path, how, &notice, err)) == 0)
		printf("%swritten: %s\n", buf_text(&text), was->path);
	if (code == 0 && notice) {
		fflush(stdout);
		fprintf(stderr, "accel: %s: written anew, without its "
		    "comments: %s\n", was->path, notice);
	}
	if (code == 0)
		warn(was, is);
out:
	changes_clear(&changes);
	buf_clear(&old);
	buf_clear(&new);
	buf_clear(&text);
	return code;
}
