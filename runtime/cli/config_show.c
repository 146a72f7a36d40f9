/* SPDX-License-Identifier: Apache-2.0 */
/* accel config show: each value, and where it comes from. */
#include "runtime/cli/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/quick.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/config/environ.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

struct show {
	const char	*config_file;
	bool		 origin, json, all, keep_unknown;
};

static const struct option options[] = {
	CONFIG_FILE(struct show),
	SWITCH(struct show, origin, "origin", 0,
	    "where each value comes from"),
	SWITCH(struct show, all, "all", 0,
	    "values as well that have no effect here"),
	SWITCH(struct show, keep_unknown, "keep_unknown", 0,
	    "let keys be that no version of accel knows yet"),
	SWITCH(struct show, json, "json", 0, "as JSON"),
	OPTIONS_END
};

/* Somebody gave it, or it has a meaning with what is set. */
static bool
shown(const struct config *c, enum field_id id, bool all)
{
	if (all || c->origin[id] != ORIGIN_DEFAULT)
		return true;
	return !(fields[id].flags & FIELD_FLAGONLY) && config_applies(c, id);
}

static json_t *
value_of(const struct config *c, enum field_id id)
{
	const struct field	*f = &fields[id];
	const void		*at = (const char *)c + f->offset;
	struct buf		 text = BUF_INIT;
	json_t			*value;

	if (config_null(c, id))
		return json_null();
	if (f->type == TYPE_BOOL)
		return json_boolean(*(const bool *)at);
	if (f->type == TYPE_INT)
		return json_integer(*(const long *)at);
	if (f->type == TYPE_REAL)
		return json_real(*(const double *)at);
	config_get(c, id, &text);
	if (f->type != TYPE_LIST) {
		value = json_string(buf_text(&text));
	} else {
		const char *s = buf_text(&text), *end;

		value = json_array();
		for (; (end = strchr(s, '\n')); s = end + 1)
			json_array_append_new(value, json_stringn(s,
			    (size_t)(end - s)));
	}
	buf_clear(&text);
	return value;
}

static int
print_json(const struct config *c, const struct show *o, struct err *err)
{
	json_t	*all = json_array();
	int	ret;

	for (int i = 0; i < FIELD_COUNT; i++) {
		enum field_id	id = (enum field_id)i;
		struct buf	from = BUF_INIT;

		if (!shown(c, id, o->all))
			continue;
		config_whence(c, id, &from);
		json_array_append_new(all, json_pack("{ss ss so ss sb}",
		    "section", fields[i].group, "key", fields[i].key,
		    "value", value_of(c, id), "origin", buf_text(&from),
		    "applies", config_applies(c, id)));
		buf_clear(&from);
	}
	ret = json_print(all, err);
	json_decref(all);
	return ret;
}

static int
print_text(const struct config *c, const struct show *o, struct err *err)
{
	struct buf	key = BUF_INIT, value = BUF_INIT, from = BUF_INIT;
	bool		failed = false;

	for (int i = 0; i < FIELD_COUNT; i++) {
		enum field_id	id = (enum field_id)i;

		if (!shown(c, id, o->all))
			continue;
		failed |= field_path(id, &key) < 0 ||
		    config_say(c, id, &value) < 0 ||
		    config_whence(c, id, &from) < 0;
		if (o->origin)
			printf("%-20s ", buf_text(&from));
		printf("%s: %s\n", buf_text(&key), buf_text(&value));
		buf_clear(&key);
		buf_clear(&value);
		buf_clear(&from);
	}
	return failed ? err_nomem(err) : 0;
}

/* What a launch here would add.  Where it would refuse, it is shown still: why
 * is a part of the answer. */
static int
settle(struct config *c, struct err *err)
{
	const char	*root = getenv("ACCEL_DEVICES");
	struct quick	 quick = QUICK_INIT;
	struct err	 why = ERR_INIT;

	if (config_environ(c, err) < 0 ||
	    quick_probe(&quick, root ? root : "", err) < 0)
		return -1;
	if (config_settle(c, &quick.facts, 0, &why) < 0)
		err_print("accel config show: a launch here would fail", &why);
	quick_clear(&quick);
	return 0;
}

static int
run(struct call *call, struct err *err)
{
	const struct show	*o = call->options;
	struct config		*c = call->config;
	const char		*file;

	if (cli_config_file(call, o->config_file, &file, err) < 0)
		return EXIT_USAGE;
	c->keep_unknown = o->keep_unknown;
	if (cli_config_load(c, file, true, err) < 0 || settle(c, err) < 0)
		return -1;
	if (!c->path)
		fprintf(stderr, "accel: no file was read: these are the "
		    "defaults\n");
	return o->json ? print_json(c, o, err) : print_text(c, o, err);
}

const struct command command_config_show = {
	"show", "print each value, and where it comes from", .run = run,
	.path = "config show", .words = "[FILE]", .most = 1,
	.takes = TAKES_YAML, .page = "accel-config(1)", .options = options,
	.size = sizeof(struct show), .flags = COMMAND_FIELDS,
};
