/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tui/form.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

enum { DEPTH = 200 };		/* changes that can be taken back */

const char *const step_title[STEP_COUNT] = { "Start", "Training", "Review" };

const struct config *
form_now(const struct form *f)
{
	return &f->past[f->at];
}

static bool
shows(const struct form *f, enum field_id id)
{
	const struct config *c = form_now(f);

	if (fields[id].flags & FIELD_FLAGONLY || !config_applies(c, id))
		return false;
	return f->all || !(fields[id].flags & FIELD_ADVANCED) ||
	    c->origin[id] == ORIGIN_FLAG || c->origin[id] == ORIGIN_USER;
}

/* After each change: what is shown, the cursor on the field where it was. */
static void
relist(struct form *f)
{
	int id = form_field(f);

	f->shown = 0;
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (!shows(f, (enum field_id)i))
			continue;
		if (i <= id)
			f->cursor = f->shown;
		f->list[f->shown++] = (enum field_id)i;
	}
	if (f->cursor >= f->shown)
		f->cursor = f->shown ? f->shown - 1 : 0;
}

int
form_field(const struct form *f)
{
	return f->cursor < f->shown ? (int)f->list[f->cursor] : -1;
}

void
form_move(struct form *f, long by)
{
	long to = (long)f->cursor + by, last = (long)f->shown - 1;

	f->cursor = to < 0 || last < 0 ? 0 : (size_t)(to > last ? last : to);
}

void
form_step(struct form *f, int step)
{
	if (step >= 0 && step < STEP_COUNT)
		f->step = (enum step)step;
}

void
form_show_all(struct form *f, bool all)
{
	f->all = all;
	relist(f);
}

static void
say(struct form *f, bool bad, const char *text, const char *hint)
{
	f->bad = bad;
	snprintf(f->message, sizeof f->message, "%s%s%s", text,
	    *hint ? ": " : "", hint);
}

/* A copy of the present to change, in front of nothing. */
static struct config *
begin(struct form *f)
{
	while (f->count > f->at + 1)
		config_clear(&f->past[--f->count]);
	if (f->count == DEPTH) {
		config_clear(&f->past[0]);
		memmove(f->past, f->past + 1,
		    (DEPTH - 1) * sizeof *f->past);
		f->count--;
		f->at--;
	}
	if (config_copy(&f->past[f->count], form_now(f)))
		return NULL;
	return &f->past[f->count];
}

static int
finish(struct form *f, struct config *c, int status)
{
	if (status) {
		config_clear(c);
		return -1;
	}
	f->at = f->count++;
	f->message[0] = '\0';
	relist(f);
	return 0;
}

int
form_set(struct form *f, enum field_id id, const char *text,
    enum origin origin, struct err *err)
{
	struct err own = ERR_INIT;
	struct config *c = begin(f);

	if (!c)
		return err_nomem(err);
	if (finish(f, c, config_set(c, id, text, origin, &own))) {
		say(f, true, own.text, own.hint);
		if (err)
			*err = own;
		return -1;
	}
	return 0;
}

int
form_toggle(struct form *f, enum field_id id)
{
	struct buf now = BUF_INIT;
	const struct choice *c = fields[id].choice;
	const char *next = NULL;
	size_t n;
	int status = -1;

	config_get(form_now(f), id, &now);
	if (fields[id].type == TYPE_BOOL)
		next = !strcmp(buf_text(&now), "true") ? "false" : "true";
	n = config_choices(form_now(f), id);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(c[i].word, buf_text(&now)))
			next = c[(i + 1) % n].word;
	if (next)
		status = form_set(f, id, next, ORIGIN_USER, NULL);
	buf_clear(&now);
	return status;
}

int
form_default(struct form *f, enum field_id id)
{
	struct config fresh;
	struct buf text = BUF_INIT;
	int status;

	config_init(&fresh);
	config_get(&fresh, id, &text);
	config_clear(&fresh);
	status = form_set(f, id, buf_text(&text), ORIGIN_USER, NULL);
	buf_clear(&text);
	return status;
}

static int
found(struct config *c, enum field_id id, const char *text, struct err *err)
{
	return config_set(c, id, text, ORIGIN_FOUND, err);
}

static int
propose(struct form *f, struct config *c, struct err *err)
{
	const struct machine *m = f->machine;
	int capability;
	size_t n = machine_usable_gpus(m, &capability);
	const char *kind = n > 1 ? "MULTI_GPU" : "NO", *mixed = "no";
	char count[24];

	if (n) {
		mixed = capability >= 80 ? "bf16" : "fp16";
		snprintf(f->reason, sizeof f->reason,
		    "%zu GPU%s found: one process for each; %s because the "
		    "capability is %s.", n, n == 1 ? "" : "s", mixed,
		    capability >= 80 ? "8.0 or more" : !capability ?
		    "not known" : "below 8.0");
	} else if (m->cores >= 2) {
		kind = "MULTI_CPU";
		n = m->numa >= 2 ? m->numa : 2;
		snprintf(f->reason, sizeof f->reason, m->numa >= 2 ?
		    "No GPU that a driver answers for: one process for each "
		    "of %zu NUMA nodes, in full precision." :
		    "No GPU that a driver answers for: %zu processes share "
		    "the cores, in full precision.", n);
	} else {
		n = 1;
		snprintf(f->reason, sizeof f->reason,
		    "One core and no GPU: one process, in full precision.");
	}
	snprintf(count, sizeof count, "%zu", n);
	return found(c, FIELD_main_distributed_type, kind, err) ||
	    found(c, FIELD_main_num_processes, count, err) ||
	    found(c, FIELD_main_mixed_precision, mixed, err) ||
	    found(c, FIELD_main_use_cpu, !machine_usable_gpus(m, NULL) ?
	    "true" : "false", err) ? -1 : 0;
}

int
form_propose(struct form *f, struct err *err)
{
	struct config *c = begin(f);

	if (!c)
		return err_nomem(err);
	return finish(f, c, propose(f, c, err));
}

bool
form_undo(struct form *f)
{
	if (!f->at)
		return false;
	f->at--;
	f->message[0] = '\0';
	relist(f);
	return true;
}

bool
form_redo(struct form *f)
{
	if (f->at + 1 >= f->count)
		return false;
	f->at++;
	f->message[0] = '\0';
	relist(f);
	return true;
}

int
form_open(struct form *f, const struct machine *m, const char *path,
    struct err *err)
{
	struct config *c;
	int status = 0;

	memset(f, 0, sizeof *f);
	f->machine = m;
	f->path = strdup(path);
	f->past = calloc(DEPTH, sizeof *f->past);
	if (!f->path || !f->past) {
		free(f->path);
		free(f->past);
		return err_nomem(err);
	}
	c = f->past;
	config_init(c);
	c->keep_unknown = true;		/* it is written again */
	f->count = 1;
	/* A file that is there and cannot be read must not be written over. */
	if (access(path, F_OK)) {
		if (errno != ENOENT)
			status = err_set(err, "cannot open %s: %s", path,
			    strerror(errno));
		else
			status = propose(f, c, err);
	} else if (!(status = config_read(c, path, err)))
		status = config_print(c, &f->saved);
	if (!status && config_print(c, &f->first))
		status = err_nomem(err);
	if (status)
		form_clear(f);
	else
		relist(f);
	return status;
}

void
form_clear(struct form *f)
{
	for (size_t i = 0; i < f->count; i++)
		config_clear(&f->past[i]);
	free(f->past);
	free(f->path);
	buf_clear(&f->saved);
	buf_clear(&f->first);
	memset(f, 0, sizeof *f);
}

int
form_problems(const struct form *f, struct problems *out, struct err *err)
{
	struct site site = { 0 };

	machine_site(f->machine, &site);
	if (site_read_json(&site, form_now(f), err))
		return -1;
	return config_problems(form_now(f), &site, out, err);
}

bool
form_unsaved(const struct form *f)
{
	struct buf now = BUF_INIT;
	bool differs;

	config_print(form_now(f), &now);
	differs = strcmp(buf_text(&now), buf_text(&f->saved)) != 0;
	buf_clear(&now);
	return differs;
}

bool
form_changed(const struct form *f, enum field_id id)
{
	return form_now(f)->origin[id] >= ORIGIN_FLAG;
}

int
form_save(struct form *f, struct err *err)
{
	const char *notice;

	if (config_save(form_now(f), f->path, 0, &notice, err)) {
		if (err)
			say(f, true, err->text, err->hint);
		return -1;
	}
	buf_clear(&f->saved);
	if (notice)
		say(f, false, "Written anew, without comments", notice);
	else
		say(f, false, "Written", f->path);
	return config_print(form_now(f), &f->saved);
}

int
form_value(const struct form *f, enum field_id id, struct buf *out)
{
	size_t from = out->len;

	if (config_null(form_now(f), id))
		return buf_adds(out, "not set");
	config_get(form_now(f), id, out);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == '\n')
			out->data[i] = i + 1 < out->len ? ',' : ' ';
	return buf_failed(out) ? -1 : 0;
}

const char *
form_origin(const struct form *f, enum field_id id)
{
	static const char *const names[] = {
		[ORIGIN_DEFAULT] = "default",
		[ORIGIN_FOUND] = "found on this machine",
		[ORIGIN_FILE] = "the file", [ORIGIN_ENV] = "the environment",
		[ORIGIN_FLAG] = "a flag", [ORIGIN_USER] = "you",
	};

	return names[form_now(f)->origin[id]];
}

int
form_help(const struct form *f, enum field_id id, struct buf *out)
{
	const struct field *d = &fields[id];
	struct buf needs = BUF_INIT;

	buf_addf(out, "%s\n%s\n\n", d->ask, d->help);
	for (size_t i = 0; i < config_choices(form_now(f), id); i++)
		buf_addf(out, "  %-18s %s\n", d->choice[i].word,
		    d->choice[i].what);
	if (d->type == TYPE_INT || d->type == TYPE_REAL)
		buf_addf(out, "A number from %.9g to %.9g\n", d->lo, d->hi);
	buf_addf(out, "Value   ");
	form_value(f, id, out);
	buf_addf(out, " (%s)\nKey     %s%s%s\n", form_origin(f, id),
	    d->group, *d->group ? ": " : "", d->key);
	if (!(d->flags & FIELD_NOFLAG))
		buf_addf(out, "Flag    --%s\n", field_flag(id));
	if (d->env)
		buf_addf(out, "Ranks   %s\n", d->env);
	field_needs(id, &needs);
	if (needs.len)
		buf_addf(out, "Needs   %s\n", buf_text(&needs));
	buf_clear(&needs);
	return buf_failed(out) ? -1 : 0;
}
