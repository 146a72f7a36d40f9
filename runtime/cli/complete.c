/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/cli.h"
#include "runtime/config/templates.h"
#include "runtime/config/words.h"

#include "runtime/launch/ssh_names.h"

#include "runtime/base/banned.h"

/* What is being completed. */
struct wish {
	struct buf	*out;
	const char	*head;		/* what stays in front of each word */
	const char	*part;		/* what a word must begin with */
	const char	*ssh_config;	/* that was named, or NULL */
};

static bool
fits(const char *word, const char *part)
{
	for (; *part; part++, word++)
		if (*word != *part && !(*word == '_' && *part == '-') &&
		    !(*word == '-' && *part == '_'))
			return false;
	return true;
}

/* A meaning is a line. */
static void
offer(const struct wish *w, const char *word, const char *tail,
    const char *meaning)
{
	if (!fits(word, w->part))
		return;
	buf_addf(w->out, "%s%s%s\t", w->head, word, tail);
	for (; *meaning; meaning++)
		buf_add(w->out, *meaning == '\n' ? " " : meaning, 1);
	buf_adds(w->out, "\n");
}

static void
offer_flag(const struct wish *w, const char *name, const char *meaning)
{
	char		 flag[96];
	const char	*typed = w->part + strspn(w->part, "-");

	snprintf(flag, sizeof flag, "--%s", name);
	if (!fits(flag, w->part))
		return;
	/* With hyphens or underscores where the user began so. */
	for (char *s = flag + 2; *s; s++)
		if (strchr(typed, '-') && !strchr(typed, '_'))
			*s = *s == '_' ? '-' : *s;
		else if (strchr(typed, '_') && !strchr(typed, '-'))
			*s = *s == '-' ? '_' : *s;
	buf_addf(w->out, "%s\t%s\n", flag, meaning);
}

/* Hosts, the last behind a comma. */
static void
offer_hosts(const struct wish *w)
{
	const char	*comma = strrchr(w->part, ',');
	struct buf	 head = BUF_INIT;
	struct strv	 names = STRV_INIT;
	struct wish	 last = *w;

	buf_adds(&head, w->head);
	if (comma)
		buf_add(&head, w->part, (size_t)(comma + 1 - w->part));
	last.head = buf_text(&head);
	last.part = comma ? comma + 1 : w->part;
	buf_adds(w->out, ":nospace\n");
	offer(&last, "localhost", "", "this machine");
	ssh_names(&names, w->ssh_config);
	for (size_t i = 0; i < names.count; i++)
		offer(&last, names.item[i], "", "ssh_config");
	strv_clear(&names);
	buf_clear(&head);
}

static bool
ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static void
offer_values(const struct wish *w, int id)
{
	const struct field *f = &fields[id];

	for (const struct choice *k = f->choice; k && k->word; k++)
		offer(w, k->word, "", k->what);
	if (f->type == TYPE_BOOL) {
		offer(w, "true", "", f->ask);
		offer(w, "false", "", f->ask);
	} else if (f->flags & FIELD_HOST)
		offer_hosts(w);
	else if (ends(f->key, "file"))
		buf_adds(w->out, ":file\n");
	else if (ends(f->key, "_dir") || ends(f->key, "_path"))
		buf_adds(w->out, ":folder\n");
}

static void
offer_keys(const struct wish *w, const char *tail)
{
	size_t		dot = strcspn(w->part, ".");
	struct buf	path = BUF_INIT;

	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field *f = &fields[i];

		if (f->flags & FIELD_FLAGONLY)
			continue;
		/* "fsdp." stays as it was typed. */
		if (w->part[dot] && !strncmp(f->group, w->part, dot) &&
		    (!f->group[dot] || !strcmp(f->group + dot, "_config")))
			buf_addf(&path, "%.*s.%s", (int)dot, w->part, f->key);
		else
			buf_adds(&path, f->key);
		offer(w, buf_text(&path), tail, f->ask);
		buf_clear(&path);
	}
}

static void
offer_setting(const struct wish *w)
{
	const char	*equals = strchr(w->part, '=');
	struct buf	 head = BUF_INIT, key = BUF_INIT;
	struct wish	 value = *w;
	int		 id;

	if (!equals) {
		buf_adds(w->out, ":nospace\n");
		offer_keys(w, "=");
		return;
	}
	buf_add(&key, w->part, (size_t)(equals - w->part));
	buf_add(&head, w->part, (size_t)(equals + 1 - w->part));
	value.head = buf_text(&head);
	value.part = equals + 1;
	id = field_named(buf_text(&key), NULL);
	if (id >= 0)
		offer_values(&value, id);
	buf_clear(&head);
	buf_clear(&key);
}

static void
offer_words(const struct wish *w, const char *list, const char *meaning)
{
	char word[64];

	while (list && *list) {
		size_t n = strcspn(list, " ");

		snprintf(word, sizeof word, "%.*s", (int)n, list);
		offer(w, word, "", meaning);
		list += n + strspn(list + n, " ");
	}
}

static void
offer_below(const struct wish *w, const struct command *c)
{
	for (size_t i = 0; c->below && c->below[i]; i++)
		if (!(c->below[i]->flags & COMMAND_HIDDEN))
			offer(w, c->below[i]->name, "", c->below[i]->what);
}

static void
offer_templates(const struct wish *w)
{
	struct buf about = BUF_INIT;

	for (const struct template *t = templates; t->name; t++) {
		if (template_about(t, &about) == 0)
			offer(w, t->name, "", buf_text(&about));
		buf_clear(&about);
	}
}

static void
offer_kind(const struct wish *w, enum takes takes, const char *list,
    const char *meaning)
{
	switch (takes) {
	case TAKES_NOTHING:
	case TAKES_TEXT:
	case TAKES_COMMAND:	/* by its caller, who knows the words before */
	case TAKES_TEMPLATE:
		break;
	case TAKES_FILE:
	case TAKES_YAML:
		buf_adds(w->out, ":file\n");
		break;
	case TAKES_FOLDER:
		buf_adds(w->out, ":folder\n");
		break;
	case TAKES_HOSTS:
		offer_hosts(w);
		break;
	case TAKES_KEY:
		offer_keys(w, "");
		break;
	case TAKES_SETTING:
		offer_setting(w);
		break;
	case TAKES_WORDS:
		offer_words(w, list, meaning);
		break;
	}
}

/* A flag as typed, without its value: that of the command, or a field's. */
struct flag {
	const struct option	*option;	/* or NULL */
	int			 field;		/* or -1 */
};

static struct flag
find_flag(const struct command *c, const char *word)
{
	struct flag	found = { NULL, -1 };
	struct buf	name = BUF_INIT;

	if (word[0] != '-' || !word[1])
		return found;
	if (word[1] != '-') {
		for (const struct option *o = c->options; o && o->name; o++)
			if (o->letter == word[1] && !word[2])
				found.option = o;
		return found;
	}
	found.option = command_option(c, word + 2, strcspn(word + 2, "="));
	if (!found.option && c->flags & COMMAND_FIELDS) {
		buf_add(&name, word + 2, strcspn(word + 2, "="));
		found.field = config_field_of(buf_text(&name));
		buf_clear(&name);
	}
	return found;
}

/* The next word is the flag's value. */
static bool
waits(struct flag f, const char *word)
{
	if (strchr(word, '='))
		return false;
	if (f.option)
		return f.option->kind != OPTION_SWITCH;
	return f.field >= 0 && fields[f.field].type != TYPE_BOOL;
}

static void
offer_value(const struct wish *w, struct flag f)
{
	if (f.option)
		offer_kind(w, f.option->takes, f.option->words,
		    f.option->what);
	else if (f.field >= 0)
		offer_values(w, f.field);
}

static void
offer_flags(const struct wish *w, const struct command *c)
{
	for (const struct option *o = c->options; o && o->name; o++)
		offer_flag(w, o->name, o->what);
	for (int i = 0; c->flags & COMMAND_FIELDS && i < FIELD_COUNT; i++)
		if (field_flag((enum field_id)i))
			offer_flag(w, field_flag((enum field_id)i),
			    fields[i].ask);
	offer_flag(w, "help", "this text");
}

/* --flag=VALUE: the flag stays in front. */
static void
offer_joined(const struct wish *w, const struct command *c, size_t head)
{
	struct buf	before = BUF_INIT;
	struct wish	value = *w;

	buf_add(&before, w->part, head);
	value.head = buf_text(&before);
	value.part = w->part + head;
	offer_value(&value, find_flag(c, w->part));
	buf_clear(&before);
}

int
complete(const struct command *root, char **words, int n, struct buf *out)
{
	const struct command	*c = root, *next, *named = root;
	struct flag		 pending = { NULL, -1 };
	struct wish		 w = { .out = out, .head = "" };
	bool			 flags = true, waiting = false;
	int			 at = 0, count = 0;

	w.part = n ? words[n - 1] : "";
	while (at < n - 1 && (next = command_below(c, words[at]))) {
		c = next;
		at++;
	}
	for (; at < n - 1; at++) {
		const char *word = words[at];

		if (waiting) {
			if (pending.option &&
			    !strcmp(pending.option->name, "ssh_config"))
				w.ssh_config = word;
			waiting = false;
		} else if (flags && !strcmp(word, "--"))
			flags = false;
		else if (flags && word[0] == '-' && word[1]) {
			pending = find_flag(c, word);
			waiting = waits(pending, word);
		} else {
			count++;
			if (c->flags & COMMAND_SCRIPT)
				flags = false;
			if (named && (next = command_below(named, word)))
				named = next;
			else
				named = NULL;
		}
	}
	if (waiting)
		offer_value(&w, pending);
	else if (flags && w.part[0] == '-' && strchr(w.part, '='))
		offer_joined(&w, c, strcspn(w.part, "=") + 1);
	else if (flags && w.part[0] == '-')
		offer_flags(&w, c);
	else if (c->takes == TAKES_COMMAND) {
		if (named)
			offer_below(&w, named);
	} else if (c->takes == TAKES_TEMPLATE && !count)
		offer_templates(&w);
	else if (c->takes == TAKES_TEMPLATE && count == 1)
		offer_kind(&w, TAKES_YAML, NULL, "");
	else {
		if (!count)
			offer_below(&w, c);
		if (c->most < 0 || count < c->most)
			offer_kind(&w, c->takes, c->list, c->what);
	}
	return buf_failed(out) ? -1 : 0;
}
