/* SPDX-License-Identifier: Apache-2.0 */
/* accel config diff: what two files mean differently. */
#include "runtime/cli/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/json.h"
#include "runtime/config/changes.h"

#include "runtime/base/banned.h"

/* Exit codes, as diff(1) has them. */
enum { DIFF_EQUAL, DIFF_DIFFER, DIFF_ERROR };

struct diff {
	bool	json, quiet;
};

static const struct option options[] = {
	SWITCH(struct diff, json, "json", 0, "as JSON"),
	SWITCH(struct diff, quiet, "quiet", 'q', "the exit code alone"),
	OPTIONS_END
};

static int
print_json(const struct changes *c, struct err *err)
{
	json_t	*all = json_array();
	int	ret;

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:b}",
		    "key", c->item[i].path, "a", c->item[i].was, "b",
		    c->item[i].is, "effect", c->item[i].effect));
	ret = json_print(all, err);
	json_decref(all);
	return ret;
}

static int
print_text(const struct changes *c, char **names, struct err *err)
{
	struct buf	text = BUF_INIT;
	int		ret = 0;

	if (changes_print(c, &text) < 0)
		ret = err_nomem(err);
	else if (c->count)
		printf("--- %s\n+++ %s\n%s", names[0], names[1],
		    buf_text(&text));
	buf_clear(&text);
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct diff	*o = call->options;
	struct config		 a, b;
	struct changes		 changes = CHANGES_INIT;
	int			 code = DIFF_ERROR;

	config_init(&a);
	config_init(&b);
	a.keep_unknown = b.keep_unknown = true;	/* they may differ as well */
	if (cli_config_load(&a, call->argv[0], false, err) < 0 ||
	    cli_config_load(&b, call->argv[1], false, err) < 0 ||
	    changes_find(&changes, &a, &b, err) < 0)
		goto out;
	if (o->json && print_json(&changes, err) < 0)
		goto out;
	if (!o->json && !o->quiet && print_text(&changes, call->argv, err) < 0)
		goto out;
	code = changes.count ? DIFF_DIFFER : DIFF_EQUAL;
out:
	changes_clear(&changes);
	config_clear(&a);
	config_clear(&b);
	return code;
}

const struct command command_config_diff = {
	"diff", "compare two files by what they mean", .run = run,
	.path = "config diff",
	.about = "Compares two files value by value, each as today's words "
	    "have it.\nExit code: 0 equal, 1 different, 2 error.",
	.words = "A B", .least = 2, .most = 2, .takes = TAKES_YAML,
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct diff),
};
