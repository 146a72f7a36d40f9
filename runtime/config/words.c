/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/words.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"

#include "runtime/base/banned.h"

static bool
same(const char *a, const char *b)
{
	return b && strlen(a) == strlen(b) && !near_distance(a, b);
}

static bool
names(int id, const char *word)
{
	return same(word, fields[id].key) || same(word, fields[id].flag) ||
	    same(word, fields[id].alias);
}

/* Row of a section's key; a key alone, without "fsdp_", is fine here. */
static int
in_section(const char *section, const char *key)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < FIELD_COUNT; i++) {
			const char	*tail = strchr(fields[i].key, '_');

			if (!same(section, fields[i].group))
				continue;
			if (pass ? tail && same(key, tail + 1) : names(i, key))
				return i;
		}
	return -1;
}

/* The key of the nearest field, those of a section first. */
static int
nearest(const char *section, const char *key)
{
	size_t	least = SIZE_MAX;
	int	best = -1;

	for (int i = 0; i < FIELD_COUNT; i++) {
		size_t	d = near_distance(key, fields[i].key);

		if (d >= least || (*section && !same(section, fields[i].group)))
			continue;
		if (near_enough(key, fields[i].key)) {
			least = d;
			best = i;
		}
	}
	return best;
}

int
field_named(const char *name, struct err *err)
{
	const char	*key = name + strspn(name, "-"), *dot;
	struct buf	 path = BUF_INIT;
	char		 section[64] = "";
	int		 id;

	dot = strchr(key, '.');
	if (dot && (size_t)(dot - key) < sizeof section) {
		memcpy(section, key, (size_t)(dot - key));
		section[dot - key] = '\0';
		key = dot + 1;
	}
	id = *section ? in_section(section, key) : config_field_of(key);
	if (id >= 0)
		return id;
	err_set(err, "there is no key \"%.200s\"", name);
	id = nearest(section, key);
	if (id < 0 && *section)
		id = nearest("", key);
	if (id < 0)
		return err_hint(err, "\"accel schema\" lists all keys");
	if (field_path((enum field_id)id, &path) == 0)
		err_hint(err, "did you mean %s?", buf_text(&path));
	buf_clear(&path);
	return -1;
}

int
field_path(enum field_id id, struct buf *out)
{
	const struct field	*f = &fields[id];

	return buf_addf(out, "%s%s%s", f->group, *f->group ? "." : "", f->key);
}

const char *
field_flag(enum field_id id)
{
	const struct field	*f = &fields[id];

	if (f->flags & FIELD_NOFLAG)
		return NULL;
	return f->flag ? f->flag : f->key;
}

int
config_say(const struct config *c, enum field_id id, struct buf *out)
{
	struct buf	 text = BUF_INIT;
	const char	*s, *end;

	if (config_null(c, id))
		return buf_adds(out, "null");
	config_get(c, id, &text);
	s = buf_text(&text);
	if (fields[id].type != TYPE_LIST) {
		/* A line stays a line. */
		for (; *s; s++)
			if (*s == '\n')
				buf_adds(out, "\\n");
			else
				buf_add(out, s, 1);
	} else {
		buf_adds(out, "[");
		for (; (end = strchr(s, '\n')); s = end + 1) {
			buf_add(out, s, (size_t)(end - s));
			buf_adds(out, end[1] ? ", " : "");
		}
		buf_adds(out, "]");
	}
	if (buf_failed(&text))
		out->failed = true;
	buf_clear(&text);
	return buf_failed(out) ? -1 : 0;
}

int
config_whence(const struct config *c, enum field_id id, struct buf *out)
{
	switch (c->origin[id]) {
	case ORIGIN_FLAG:
		return buf_addf(out, "flag --%s", field_flag(id) ?
		    field_flag(id) : fields[id].key);
	case ORIGIN_ENV:
		return buf_addf(out, "environment%s%s", fields[id].env ?
		    " " : "", fields[id].env ? fields[id].env : "");
	case ORIGIN_FILE:
		return buf_adds(out, "file");
	case ORIGIN_FOUND:
		return buf_adds(out, "this machine");
	case ORIGIN_USER:
		return buf_adds(out, "you");
	case ORIGIN_DEFAULT:
		break;
	}
	return buf_adds(out, "default");
}
