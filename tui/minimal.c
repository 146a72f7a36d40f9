/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/minimal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/config/words.h"
#include "runtime/base/banned.h"

int
list_new(const struct form *f, struct buf *out)
{
	const struct config *c = form_now(f);

	for (int i = 0; i < FIELD_COUNT; i++) {
		struct buf path = BUF_INIT, value = BUF_INIT;

		if (fields[i].flags & FIELD_FLAGONLY || c->in_file[i] ||
		    !form_applies(f, i) || c->origin[i] >= ORIGIN_FILE)
			continue;
		field_path((enum field_id)i, &path);
		config_say(c, (enum field_id)i, &value);
		buf_addf(out, "%s=%s\t# %s\n", buf_text(&path),
		    buf_text(&value), fields[i].ask);
		buf_clear(&path);
		buf_clear(&value);
	}
	return buf_failed(out) ? -1 : 0;
}

/* The field of a line "key: value" in a section ("" for the top), or -1. */
static int
field_at(const char *group, const char *key, size_t n)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(fields[i].group, group) &&
		    strlen(fields[i].key) == n &&
		    !strncmp(fields[i].key, key, n) &&
		    !(fields[i].flags & FIELD_FLAGONLY))
			return i;
	return -1;
}

static bool
is_section(const char *key, size_t n)
{
	for (int i = 0; n && i < FIELD_COUNT; i++)
		if (strlen(fields[i].group) == n &&
		    !strncmp(fields[i].group, key, n))
			return true;
	return false;
}

static bool
plain(const struct config *c, const struct config *fresh, int id)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	bool same;

	config_get(c, (enum field_id)id, &a);
	config_get(fresh, (enum field_id)id, &b);
	same = !strcmp(buf_text(&a), buf_text(&b)) &&
	    config_null(c, (enum field_id)id) ==
	    config_null(fresh, (enum field_id)id);
	buf_clear(&a);
	buf_clear(&b);
	return same && !(fields[id].flags & FIELD_REQUIRED);
}

/* Works on what config_print() writes: two blanks for a level, a key in front
 * of each line but those of a list or a long text. */
int
list_minimal(const struct form *f, struct buf *out)
{
	const struct config *c = form_now(f);
	struct buf all = BUF_INIT, heading = BUF_INIT;
	struct config fresh;
	char group[80] = "";
	bool keep = false;
	const char *at;

	config_init(&fresh);
	config_print(c, &all);
	for (at = buf_text(&all); *at; ) {
		size_t n = strcspn(at, "\n"), blanks = strspn(at, " ");
		size_t key = strcspn(at + blanks, ":\n");
		int id;

		if (!blanks)
			*group = '\0';
		if (blanks > (*group ? 2u : 0u) || at[blanks] == '-') {
			if (keep)
				buf_add(out, at, n + 1);
		} else if (!blanks && is_section(at, key)) {
			snprintf(group, sizeof group, "%.*s", (int)key, at);
			buf_clear(&heading);
			buf_add(&heading, at, n + 1);
			keep = false;
		} else {
			id = field_at(group, at + blanks, key);
			keep = id < 0 || !plain(c, &fresh, id);
			if (keep && *group) {
				buf_adds(out, buf_text(&heading));
				buf_clear(&heading);
			}
			if (keep)
				buf_add(out, at, n + 1);
		}
		at += n + (at[n] == '\n');
	}
	config_clear(&fresh);
	buf_clear(&all);
	buf_clear(&heading);
	return buf_failed(out) ? -1 : 0;
}
