/* SPDX-License-Identifier: Apache-2.0 */
/* Items in words: values, names, help. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tui/form.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

int
form_text(const struct form *f, int item, struct buf *out)
{
	const char *seed;

	if (item < (int)FIELD_COUNT)
		return config_get(form_now(f), (enum field_id)item, out);
	seed = f->past[f->at].seed[item - (int)FIELD_COUNT];
	if (!seed && item_row(item)->type != TYPE_TEXT)
		seed = item_row(item)->def.s;
	return buf_adds(out, seed ? seed : "");
}

int
form_value(const struct form *f, int item, struct buf *out)
{
	size_t from = out->len;

	if (item < (int)FIELD_COUNT && config_null(form_now(f),
	    (enum field_id)item))
		return buf_adds(out, "not set");
	form_text(f, item, out);
	if (item >= (int)FIELD_COUNT && out->len == from)
		return buf_adds(out, item_row(item)->def.s);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == '\n')
			out->data[i] = i + 1 < out->len ? ',' : ' ';
	return buf_failed(out) ? -1 : 0;
}

const char *
form_origin(const struct form *f, int item)
{
	static const char *const names[] = {
		[ORIGIN_DEFAULT] = "default",
		[ORIGIN_FOUND] = "found on this machine",
		[ORIGIN_PROPOSED] = "the proposal",
		[ORIGIN_FILE] = "the file", [ORIGIN_ENV] = "the environment",
		[ORIGIN_FLAG] = "a flag", [ORIGIN_USER] = "you",
	};

	if (item >= (int)FIELD_COUNT)
		return names[form_changed(f, item) ? ORIGIN_USER :
		    ORIGIN_DEFAULT];
	return names[form_now(f)->origin[item]];
}

int
item_needs(int item, struct buf *out)
{
	if (item >= (int)FIELD_COUNT)
		return item == (int)ITEM_model ? 0 :
		    buf_adds(out, "model is set");
	return field_needs((enum field_id)item, out);
}

static void
add_default(int item, struct buf *out)
{
	struct config fresh;
	size_t from = out->len;

	if (item >= (int)FIELD_COUNT) {
		buf_adds(out, item_row(item)->def.s);
		return;
	}
	config_init(&fresh);
	if (config_null(&fresh, (enum field_id)item))
		buf_adds(out, "not set");
	else
		config_say(&fresh, (enum field_id)item, out);
	if (out->len == from)
		buf_adds(out, "empty");
	config_clear(&fresh);
}

int
form_help(const struct form *f, int item, struct buf *out)
{
	const struct field *d = item_row(item);
	struct buf needs = BUF_INIT;
	const struct problem *p = form_problem(f, item);

	buf_addf(out, "%s\n%s\n\n", d->ask, d->help);
	for (size_t i = 0; i < form_choices(f, item); i++)
		buf_addf(out, "  %-18s %s\n", d->choice[i].word,
		    d->choice[i].what);
	if (d->type == TYPE_INT || d->type == TYPE_REAL)
		buf_addf(out, "A number from %.9g to %.9g\n", d->lo, d->hi);
	buf_addf(out, "Value   ");
	form_value(f, item, out);
	buf_addf(out, " (%s)\nDefault ", form_origin(f, item));
	add_default(item, out);
	if (item < (int)FIELD_COUNT)
		buf_addf(out, "\nKey     %s%s%s", d->group, *d->group ? ": " :
		    "", d->key);
	if (!(d->flags & FIELD_NOFLAG))
		buf_addf(out, "\nFlag    --%s",
		    field_flag((enum field_id)item));
	if (d->env)
		buf_addf(out, "\nRanks   %s", d->env);
	item_needs(item, &needs);
	if (needs.len)
		buf_addf(out, "\nNeeds   %s%s", buf_text(&needs),
		    form_applies(f, item) ? "" : " (it is not so now)");
	buf_clear(&needs);
	if (d->flags & FIELD_MEMORY)
		buf_adds(out, "\nMemory  changes the estimate");
	if (item < (int)FIELD_COUNT)
		buf_adds(out, "\nPage    accel.yaml(5)");
	if (p)
		buf_addf(out, "\n\n! %s%s%s", p->what, *p->hint ? ": " : "",
		    p->hint);
	buf_adds(out, "\n");
	return buf_failed(out) ? -1 : 0;
}

const char *
item_title(int item)
{
	return item == FIELD_main_distributed_type ? "Strategy" :
	    item == (int)ITEM_hosts ? "Machines" : item_row(item)->title;
}

void
item_name(int item, char *name, size_t room)
{
	static const char *const capitals[] = {
		"GPU", "CPU", "IP", "FSDP", "TPU", "DP", "TP", "CP", "SP", "PP",
		"FP8", "EC2", "IAM", "MOE",
	};
	static const char *const heads[] = {
		"fsdp_", "megatron_lm_", "parallelism_config_", "dynamo_",
		"deepspeed_",
	};
	const char *key = item_row(item)->key;

	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (!strncmp(key, heads[i], strlen(heads[i]))) {
			key += strlen(heads[i]);
			break;
		}
	snprintf(name, room, "%s", key);
	for (char *p = name; *p; p++) {
		bool head = p == name || p[-1] == ' ';

		for (size_t i = 0; head && i < sizeof capitals /
		    sizeof *capitals; i++) {
			size_t n = strlen(capitals[i]);

			if (!strncasecmp(p, capitals[i], n) &&
			    (p[n] == '_' || !p[n]))
				memcpy(p, capitals[i], n);
		}
		if (*p == '_' || *p == '-')
			*p = ' ';
	}
	if (*name >= 'a' && *name <= 'z')
		*name = (char)(*name - 'a' + 'A');
}

int
form_idle(const struct form *f, struct buf *out)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct config *c = form_now(f);
		struct buf needs = BUF_INIT;

		if (fields[i].flags & FIELD_FLAGONLY || form_applies(f, i) ||
		    (!c->in_file[i] && c->origin[i] < ORIGIN_FLAG))
			continue;
		item_needs(i, &needs);
		buf_addf(out, "%s has no effect now%s%s\n", fields[i].key,
		    needs.len ? ": needs " : "", buf_text(&needs));
		buf_clear(&needs);
	}
	return buf_failed(out) ? -1 : 0;
}

/* By key and section; a JSON file quotes the key. */
long
form_line(const struct form *f, int item)
{
	const struct field *row = item_row(item);
	const char *at = buf_text(&f->text);
	bool inside = !*row->group;
	size_t key = strlen(row->key), group = strlen(row->group);

	for (long line = 0; item < (int)FIELD_COUNT && *at; line++) {
		size_t n = strcspn(at, "\n"), blanks = strspn(at, " {\"");
		const char *word = at + blanks;

		if (*row->group && blanks < n && (*at != ' ' || at[2] == '"'))
			inside = !strncmp(word, row->group, group) &&
			    strchr(":\"", word[group]);
		else if (inside && !strncmp(word, row->key, key) &&
		    word[key] && strchr(":\"", word[key]) &&
		    (*row->group || *at != ' ' || at[2] == '"'))
			return line;
		at += n + (at[n] == '\n');
	}
	return -1;
}
