/* SPDX-License-Identifier: Apache-2.0 */
/* accel schema: the table of fields, for people and for other programs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

struct schema {
	bool	json;
};

static const struct option options[] = {
	SWITCH(struct schema, json, "json", 0, "everything, as JSON"),
	OPTIONS_END
};

/* The words of the user name it: parts of a key, section or flag; with none,
 * all do. */
static bool
wanted(const struct call *call, int id)
{
	struct buf	path = BUF_INIT;
	const char	*flag = field_flag((enum field_id)id);
	bool		 found = !call->argc;

	field_path((enum field_id)id, &path);
	for (int i = 0; i < call->argc && !found; i++)
		found = strstr(buf_text(&path), call->argv[i]) ||
		    (flag && strstr(flag, call->argv[i] +
		    strspn(call->argv[i], "-")));
	buf_clear(&path);
	return found;
}

static void
type_of(const struct field *f, struct buf *out)
{
	static const char *const types[] = {
		[TYPE_BOOL] = "bool", [TYPE_INT] = "int", [TYPE_REAL] = "real",
		[TYPE_TEXT] = "text", [TYPE_CHOICE] = "word",
		[TYPE_LIST] = "list",
	};

	buf_adds(out, types[f->type]);
	if (f->type == TYPE_INT)
		buf_addf(out, " %.0f..%.0f", f->lo, f->hi);
	if (f->type == TYPE_REAL)
		buf_addf(out, " %g..%g", f->lo, f->hi);
}

static void
print_row(int id, int width, const struct config *fresh)
{
	const struct field	*f = &fields[id];
	const char		*flag = field_flag((enum field_id)id);
	struct buf		 type = BUF_INIT, def = BUF_INIT;

	type_of(f, &type);
	config_say(fresh, (enum field_id)id, &def);
	/* A flag that has another name than its key is worth a word. */
	printf("  %-*s  %-16s  %-14s  %s", width, f->flags & FIELD_FLAGONLY ?
	    flag : f->key, buf_text(&type), buf_text(&def), f->ask);
	if (f->flags & FIELD_FLAGONLY)
		printf(" (flag only)");
	else if (flag && strcmp(flag, f->key))
		printf(" (--%s)", flag);
	putchar('\n');
	buf_clear(&type);
	buf_clear(&def);
}

static void
print_table(const struct call *call)
{
	struct config	 fresh;
	const char	*title = NULL;

	config_init(&fresh);
	for (int i = 0; i < FIELD_COUNT; i++) {
		int width = 0;

		if (!wanted(call, i))
			continue;
		for (int k = 0; k < FIELD_COUNT; k++)
			if (!strcmp(fields[k].title, fields[i].title) &&
			    (int)strlen(fields[k].key) > width)
				width = (int)strlen(fields[k].key);
		if (!title || strcmp(title, fields[i].title))
			printf("%s%s%s%s%s\n", title ? "\n" : "",
			    fields[i].title, *fields[i].group ? " (" : "",
			    fields[i].group, *fields[i].group ? ")" : "");
		title = fields[i].title;
		print_row(i, width, &fresh);
	}
	config_clear(&fresh);
}

static int
print_json(const struct call *call, struct err *err)
{
	struct buf	 all = BUF_INIT;
	json_t		*rows = NULL;
	int		 ret;

	if (config_schema_json(&all) == 0)
		rows = json_loads(buf_text(&all), 0, NULL);
	/* Its rows are those of the table, in the same order. */
	for (int i = FIELD_COUNT; rows && i-- > 0;)
		if (!wanted(call, i))
			json_array_remove(rows, (size_t)i);
	ret = json_print(rows, err);
	buf_clear(&all);
	json_decref(rows);
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct schema	*o = call->options;
	bool			 any = false;

	for (int i = 0; i < FIELD_COUNT; i++)
		any = any || wanted(call, i);
	if (!any) {
		field_named(call->argv[0], err);
		return EXIT_USAGE;
	}
	if (o->json)
		return print_json(call, err);
	print_table(call);
	return 0;
}

const struct command command_schema = {
	"schema", "list all keys of a configuration", .run = run,
	.words = "[PART ...]", .most = -1, .takes = TAKES_KEY,
	.about = "Lists each key with its type, default and question, by "
	    "section; with PART only\nthose that have it in their key, section "
	    "or flag.  accel config explain KEY says\nmore about one.",
	.page = "accel-schema(1)", .options = options,
	.size = sizeof(struct schema),
};
