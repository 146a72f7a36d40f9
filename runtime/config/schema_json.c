/* SPDX-License-Identifier: Apache-2.0 */
/* The table as JSON, for other programs. */
#include "runtime/config/schema.h"

#include <jansson.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/banned.h"

static json_t *
default_of(const struct config *c, int id)
{
	const struct field	*f = &fields[id];

	if (config_null(c, (enum field_id)id))
		return json_null();
	switch (f->type) {
	case TYPE_BOOL:
		return json_boolean(f->def.b);
	case TYPE_INT:
		return json_integer(f->def.i);
	case TYPE_REAL:
		return json_real(f->def.r);
	case TYPE_CHOICE:
		return json_string(f->choice[f->def.i].word);
	case TYPE_LIST:
		return json_array();
	default:
		return json_string(f->def.s);
	}
}

static json_t *
choices_of(const struct field *f)
{
	json_t	*all = json_array();

	for (const struct choice *k = f->choice; k->word; k++)
		json_array_append_new(all, json_pack("{ss ss ss*}", "word",
		    k->word, "meaning", k->what, "also", k->also));
	return all;
}

static json_t *
flags_of(const struct field *f)
{
	static const struct { unsigned flag; const char *name; } names[] = {
		{ FIELD_REQUIRED, "required" }, { FIELD_MEMORY, "memory" },
		{ FIELD_ADVANCED, "advanced" }, { FIELD_FLAGONLY, "flag only" },
		{ FIELD_NOFLAG, "key only" }, { FIELD_SECRET, "secret" },
		{ FIELD_IFSET, "exported if given" },
		{ FIELD_CLOUD, "SageMaker only" },
		{ FIELD_BOTH, "SageMaker too" },
	};
	json_t	*all = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (f->flags & names[i].flag)
			json_array_append_new(all, json_string(names[i].name));
	return all;
}

static json_t *
row(const struct config *c, int id)
{
	static const char *const types[] = { "bool", "int", "real", "text",
	    "choice", "list" };
	const struct field	*f = &fields[id];
	char			 letter[2] = { f->letter, '\0' };
	json_t			*o = json_pack("{ss ss ss* ss* ss* ss* ss ss so}",
	    "key", f->key, "title", f->title,
	    "group", *f->group ? f->group : NULL,
	    "flag", f->flags & FIELD_NOFLAG ? NULL : f->flag ? f->flag : f->key,
	    "alias", f->alias, "negation", f->no,
	    "type", types[f->type], "ask", f->ask,
	    "default", default_of(c, id));

	if (*letter)
		json_object_set_new(o, "letter", json_string(letter));
	if (f->type == TYPE_INT)
		json_object_set_new(o, "range", json_pack("[II]",
		    (json_int_t)f->lo, (json_int_t)f->hi));
	if (f->type == TYPE_REAL)
		json_object_set_new(o, "range", json_pack("[ff]", f->lo,
		    f->hi));
	if (f->choice)
		json_object_set_new(o, "choices", choices_of(f));
	if (f->env)
		json_object_set_new(o, "env", json_string(f->env));
	json_object_set_new(o, "condition", json_string(f->when_text));
	json_object_set_new(o, "help", json_string(f->help));
	json_object_set_new(o, "is", flags_of(f));
	return o;
}

int
config_schema_json(struct buf *out)
{
	struct config	 c;
	json_t		*all = json_array();
	char		*text;
	int		 rc = -1;

	config_init(&c);
	for (int i = 0; i < FIELD_COUNT; i++)
		json_array_append_new(all, row(&c, i));
	text = json_dumps(all, JSON_INDENT(2));
	if (text && json_array_size(all) == FIELD_COUNT)
		rc = buf_adds(out, text) || buf_adds(out, "\n") ? -1 : 0;
	free(text);
	json_decref(all);
	config_clear(&c);
	return rc;
}
