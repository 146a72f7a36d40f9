/* SPDX-License-Identifier: Apache-2.0 */
/* accel config new: a file to start from. */
#include "runtime/cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/cli.h"
#include "runtime/config/templates.h"

#include "runtime/base/banned.h"

struct new {
	bool	 force;
};

static const struct option options[] = {
	SWITCH(struct new, force, "force", 'f', "replace a file that is there"),
	OPTIONS_END
};

static int
list(struct err *err)
{
	struct buf	about = BUF_INIT;

	for (const struct template *t = templates; t->name; t++) {
		if (template_about(t, &about) < 0)
			return err_nomem(err);
		printf("%-24s %s\n", t->name, buf_text(&about));
		buf_clear(&about);
	}
	return 0;
}

static int
run(struct call *call, struct err *err)
{
	const struct new	*o = call->options;
	const struct template	*t;
	const char		*near, *text;
	char			*path;
	int			 ret;

	if (!call->argc)
		return list(err);
	if (!(t = template_find(call->argv[0]))) {
		near = template_near(call->argv[0]);
		err_set(err, "there is no template \"%s\"", call->argv[0]);
		if (near)
			err_hint(err, "did you mean %s?", near);
		else
			err_hint(err, "accel config new lists them");
		return EXIT_USAGE;
	}
	text = template_body(t);
	if (call->argv[1] && !strcmp(call->argv[1], "-")) {
		fputs(text, stdout);
		return 0;
	}
	path = call->argv[1] ? strdup(call->argv[1]) : config_default_path();
	if (!path)
		return err_nomem(err);
	if (!o->force && (access(path, F_OK) == 0 || errno != ENOENT)) {
		err_set(err, "%s is there already", path);
		ret = err_hint(err, "--force replaces it; or name another file");
	} else if (!(ret = file_replace(path, text, strlen(text), 0644, err)))
		printf("written: %s\n", path);
	free(path);
	return ret;
}

const struct command command_config_new = {
	"new", "copy a template to start from, or list them", .run = run,
	.path = "config new", .words = "[TEMPLATE [FILE]]", .most = 2,
	.takes = TAKES_TEMPLATE, .page = "accel-config(1)", .options = options,
	.size = sizeof(struct new),
	.about = "Writes a commented configuration to FILE, or as the default "
	"one, or with - to\nthe standard output.  Without words it lists the "
	"templates.",
};
