/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/draft.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/num.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

enum { LARGEST = 1 << 20 };

static const char head[] = "accel-setup draft 1";

static const struct { const char *word; enum origin origin; } whos[] = {
	{ "file", ORIGIN_FILE }, { "found", ORIGIN_FOUND },
	{ "flag", ORIGIN_FLAG }, { "user", ORIGIN_USER },
};
enum { WHOS = sizeof whos / sizeof *whos };

static int
path_of(const struct form *f, struct buf *path)
{
	return buf_addf(path, "%s.draft", f->path);
}

static void
hash_of(const struct buf *text, char out[24])
{
	snprintf(out, 24, "%016llx", (unsigned long long)hash_bytes(
	    buf_text(text), text->len));
}

static void
add_value(const char *text, struct buf *out)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\\')
			buf_adds(out, *text == '\n' ? "\\n" : "\\\\");
		else
			buf_add(out, text, 1);
	buf_adds(out, "\n");
}

static const char *
who_of(enum origin origin)
{
	for (size_t i = 0; i < WHOS; i++)
		if (whos[i].origin == origin)
			return whos[i].word;
	return NULL;
}

int
draft_print(const struct form *f, struct buf *out)
{
	char base[24];

	hash_of(&f->saved, base);
	buf_addf(out, "%s\nbase %s\nstep %d\n", head, base, f->step + 1);
	for (int i = 0; i < ITEM_COUNT; i++) {
		const char *who = i >= (int)FIELD_COUNT ? form_changed(f, i) ?
		    "seed" : NULL : who_of(form_now(f)->origin[i]);
		struct buf value = BUF_INIT;

		if (!who || item_row(i)->flags & FIELD_SECRET)
			continue;
		form_text(f, i, &value);
		buf_addf(out, "%s ", who);
		if (i < (int)FIELD_COUNT)
			field_path((enum field_id)i, out);
		else
			buf_adds(out, item_row(i)->key);
		buf_adds(out, "=");
		add_value(buf_text(&value), out);
		buf_clear(&value);
	}
	for (int i = 0; i < ITEM_COUNT; i++)
		if (f->refused[i] && !(item_row(i)->flags & FIELD_SECRET)) {
			buf_addf(out, "typed %s=", item_row(i)->key);
			add_value(f->refused[i], out);
		}
	return buf_failed(out) ? -1 : 0;
}

int
draft_keep(const struct form *f, struct err *err)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	int status;

	if (!form_unsaved(f) || (!f->at && !f->written)) {
		draft_drop(f);
		return 0;
	}
	path_of(f, &path);
	draft_print(f, &text);
	status = buf_failed(&path) || buf_failed(&text) ? err_nomem(err) :
	    file_note(buf_text(&path), buf_text(&text), text.len, 0600, err);
	buf_clear(&path);
	buf_clear(&text);
	return status;
}

void
draft_drop(const struct form *f)
{
	struct buf path = BUF_INIT;

	if (!path_of(f, &path))
		unlink(buf_text(&path));
	buf_clear(&path);
}

bool
draft_there(const struct form *f)
{
	struct buf path = BUF_INIT;
	bool there = !path_of(f, &path) && !access(buf_text(&path), F_OK);

	buf_clear(&path);
	return there;
}

/* A line with its value as it was. */
static int
take_line(struct form *f, struct moment *m, bool *named, char *line, struct err *err)
{
	char *key = strchr(line, ' '), *value = strchr(line, '='), *to;
	bool seed;
	size_t who = 0;
	int id = -1;

	if (!key || !value || value < key)
		return err_set(err, "\"%.40s\" is no answer", line);
	*key++ = '\0';
	*value++ = '\0';
	to = value;
	for (const char *from = value; *from; from++)
		if (*from == '\\' && from[1])
			*to++ = *++from == 'n' ? '\n' : *from;
		else
			*to++ = *from;
	*to = '\0';
	seed = !strcmp(line, "seed");
	while (!seed && who < WHOS && strcmp(line, whos[who].word))
		who++;
	for (int i = 0; seed && i < SEED_COUNT; i++)
		if (!strcmp(item_row(FIELD_COUNT + i)->key, key))
			id = FIELD_COUNT + i;
	if (!seed && who < WHOS)
		id = field_named(key, NULL);
	if (!strcmp(line, "typed") && (id = item_named(key)) >= 0) {
		form_refuse(f, id, value);
		return 0;
	}
	/* Of another version, perhaps: the rest counts. */
	if (id < 0 || item_row(id)->flags & FIELD_SECRET)
		return 0;
	named[id] = true;
	return moment_set(m, id, value, seed ? ORIGIN_USER : whos[who].origin,
	    err);
}

int
draft_parse(struct form *f, const char *text, size_t n, const char *name,
    bool *stale, struct err *err)
{
	char *copy = strndup(text, n), *line = copy, base[24];
	bool named[ITEM_COUNT] = { false }, same = false;
	long step = 0, number = 0;
	struct moment *m = form_begin(f);
	int status = 0;

	if (!copy || !m) {
		free(copy);
		return m ? form_finish(f, err_nomem(err)) : err_nomem(err);
	}
	hash_of(&f->saved, base);
	for (char *end; !status && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!number++)
			status = strcmp(line, head) ? err_set(err, "this is no "
			    "draft of accel-setup") : 0;
		else if (!strncmp(line, "base ", 5))
			same = !strcmp(line + 5, base);
		else if (!strncmp(line, "step ", 5))
			num_parse(line + 5, 1, STEP_COUNT, &step);
		else
			status = take_line(f, m, named, line, err);
	}
	if (!status && (*line || !number))
		status = err_set(err, "it ends too early");
	if (status)
		err_at(err, "%s:%ld", name, number);
	for (int i = 0; !status && i < ITEM_COUNT; i++)
		if (i >= (int)FIELD_COUNT && !named[i])
			status = moment_set(m, i, "", ORIGIN_USER, err);
		else if (!named[i] && m->config.origin[i] != ORIGIN_DEFAULT &&
		    !(item_row(i)->flags & FIELD_SECRET))
			status = config_unset(&m->config, (enum field_id)i,
			    err);
	free(copy);
	f->changed = -1;
	if (form_finish(f, status))
		return -1;
	*stale = !same;
	form_step(f, (int)step - 1);
	return 0;
}

int
draft_take(struct form *f, bool *stale, struct err *err)
{
	struct buf path = BUF_INIT, text = { .max = LARGEST };
	int status;

	if (path_of(f, &path))
		return err_nomem(err);
	status = file_read(buf_text(&path), &text, err);
	if (!status)
		status = draft_parse(f, buf_text(&text), text.len,
		    buf_text(&path), stale, err);
	buf_clear(&path);
	buf_clear(&text);
	return status;
}
