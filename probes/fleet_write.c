/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet as YAML and as JSON: the same tree, from the tables of attribute.h. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "probes/attribute.h"
#include "probes/fleet.h"
#include "runtime/base/buf.h"
#include "runtime/config/yaml_emit.h"
#include "runtime/base/banned.h"

enum { NUMBER = 48 };

/* --- YAML --- */

static void
emit_members(struct emit *e, const struct attribute *table, const void *object)
{
	char room[NUMBER];

	for (const struct attribute *a = table; a->key; a++) {
		const char *text = attribute_get(a, object, room, sizeof room);

		if (!text)
			continue;
		emit_text(e, a->key);
		if (a->type == ATTRIBUTE_TEXT || a->type == ATTRIBUTE_LINK ||
		    a->type == ATTRIBUTE_CAPABILITY)
			emit_text(e, text);
		else
			emit_plain(e, text);
	}
}

static const void *
item_of(const struct attribute_list *l, const void *owner, size_t i)
{
	return *(char *const *)((const char *)owner + l->items) + i * l->size;
}

static size_t
count_of(const struct attribute_list *l, const void *owner)
{
	return *(const size_t *)(const void *)((const char *)owner + l->count);
}

static void
emit_lists(struct emit *e, const struct attribute_list *lists,
    const void *owner)
{
	for (const struct attribute_list *l = lists; l->key; l++) {
		size_t n = count_of(l, owner);

		if (!n)
			continue;
		emit_text(e, l->key);
		emit_list(e);
		for (size_t i = 0; i < n; i++) {
			emit_map(e);
			emit_members(e, l->of, item_of(l, owner, i));
			if (l->of == machine_attributes)
				emit_lists(e, machine_lists,
				    item_of(l, owner, i));
			emit_map_end(e);
		}
		emit_list_end(e);
	}
}

int
fleet_yaml(const struct fleet *f, struct buf *out)
{
	struct emit	e;
	char		version[NUMBER];

	buf_adds(out, "# Written by accel probe " PACKAGE_VERSION
	    "; --machine reads it.\n");
	snprintf(version, sizeof version, "%d", FLEET_VERSION);
	emit_begin(&e, EMIT_BLOCK, out);
	emit_map(&e);
	emit_text(&e, "accel_probe");
	emit_plain(&e, version);
	emit_lists(&e, fleet_lists, f);
	emit_map_end(&e);
	return emit_end(&e) || buf_failed(out) ? -1 : 0;
}

/* --- JSON --- */

static json_t *
value_json(const struct attribute *a, const char *text)
{
	json_t *value;

	switch (a->type) {
	case ATTRIBUTE_BOOL:
		return json_boolean(*text == 't');
	case ATTRIBUTE_REAL:
		return json_real(strtod(text, NULL));
	case ATTRIBUTE_COUNT:
	case ATTRIBUTE_INDEX:
	case ATTRIBUTE_SPEED:
	case ATTRIBUTE_BYTES:
		return json_integer(strtoll(text, NULL, 10));
	case ATTRIBUTE_TEXT:
	case ATTRIBUTE_CAPABILITY:
	case ATTRIBUTE_LINK:
		break;
	}
	/* Bytes from elsewhere need not be UTF-8. */
	value = json_string(text);
	return value ? value : json_string("?");
}

static int add_lists(json_t *to, const struct attribute_list *lists,
    const void *owner);

static json_t *
object_json(const struct attribute *table, const void *object)
{
	json_t	*to = json_object();
	char	 room[NUMBER];

	for (const struct attribute *a = table; to && a->key; a++) {
		const char *text = attribute_get(a, object, room, sizeof room);

		if (text && json_object_set_new(to, a->key,
		    value_json(a, text)) < 0) {
			json_decref(to);
			return NULL;
		}
	}
	if (to && table == machine_attributes &&
	    add_lists(to, machine_lists, object) < 0) {
		json_decref(to);
		return NULL;
	}
	return to;
}

static int
add_lists(json_t *to, const struct attribute_list *lists, const void *owner)
{
	for (const struct attribute_list *l = lists; l->key; l++) {
		size_t	 n = count_of(l, owner);
		json_t	*list = n ? json_array() : NULL;

		for (size_t i = 0; i < n; i++)
			if (json_array_append_new(list, object_json(l->of,
			    item_of(l, owner, i))) < 0) {
				json_decref(list);
				return -1;
			}
		if (n && json_object_set_new(to, l->key, list) < 0)
			return -1;
	}
	return 0;
}

static int
add_json(json_t *json, size_t flags, struct buf *out)
{
	char *text = json ? json_dumps(json, flags | JSON_REAL_PRECISION(15)) :
	    NULL;

	if (text) {
		buf_adds(out, text);
		buf_adds(out, "\n");
	}
	json_decref(json);
	free(text);
	return text && !buf_failed(out) ? 0 : -1;
}

int
fleet_json(const struct fleet *f, struct buf *out)
{
	json_t *to = json_object();

	if (json_object_set_new(to, "accel_probe",
	    json_integer(FLEET_VERSION)) < 0 ||
	    add_lists(to, fleet_lists, f) < 0) {
		json_decref(to);
		return -1;
	}
	return add_json(to, JSON_INDENT(2), out);
}

int
between_json(const struct between *b, struct buf *out)
{
	json_t *to = json_object();

	if (json_object_set_new(to, "network", object_json(between_attributes,
	    b)) < 0) {
		json_decref(to);
		return -1;
	}
	return add_json(to, JSON_COMPACT, out);
}

int
machine_json(const struct machine *m, struct buf *out)
{
	return add_json(object_json(machine_attributes, m), JSON_COMPACT, out);
}
