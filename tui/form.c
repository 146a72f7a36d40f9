/* SPDX-License-Identifier: Apache-2.0 */
/* The moments: what is set, changed, taken back, saved. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tui/form.h"
#include "runtime/launch/hosts.h"
#include "tui/form_intern.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/config/words.h"
#include "runtime/base/banned.h"

enum { DEPTH = 201 };		/* the present, and 200 before it */

const struct config *
form_now(const struct form *f)
{
	return &f->past[f->at].config;
}

static void
moment_clear(struct moment *m)
{
	config_clear(&m->config);
	for (size_t i = 0; i < SEED_COUNT; i++)
		free(m->seed[i]);
	memset(m->seed, 0, sizeof m->seed);
}

static int
moment_copy(struct moment *to, const struct moment *from)
{
	bool failed = config_copy(&to->config, &from->config);

	memset(to->seed, 0, sizeof to->seed);
	for (size_t i = 0; i < SEED_COUNT; i++)
		if (from->seed[i] && !(to->seed[i] = strdup(from->seed[i])))
			failed = true;
	if (failed)
		moment_clear(to);
	return failed ? -1 : 0;
}

void
form_say(struct form *f, bool bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->message, sizeof f->message, fmt, ap);
	va_end(ap);
	f->bad = bad;
}

static void
complain(struct form *f, const struct err *err)
{
	form_say(f, true, "%s%s%s", err->text, *err->hint ? ": " : "",
	    err->hint);
}

struct moment *
form_begin(struct form *f)
{
	struct moment *m;

	while (f->count > f->at + 1)
		moment_clear(&f->past[--f->count]);
	if (f->count == DEPTH) {
		moment_clear(&f->past[0]);
		memmove(f->past, f->past + 1, (DEPTH - 1) * sizeof *f->past);
		f->count--;
		f->at--;
	}
	m = &f->past[f->count];
	return moment_copy(m, &f->past[f->at]) ? NULL : m;
}

int
form_finish(struct form *f, int status)
{
	if (status) {
		moment_clear(&f->past[f->count]);
		return -1;
	}
	f->at = f->count++;
	f->turn++;
	f->message[0] = '\0';
	form_refresh(f);
	return 0;
}

/* A seed's text is checked as a field's is, by its row. */
static int
seed_set(struct moment *m, int item, const char *text, struct err *err)
{
	const struct field *row = item_row(item);
	char **at = &m->seed[item - (int)FIELD_COUNT], *copy = NULL;
	struct hosts hosts = HOSTS_INIT;
	bool known = !row->choice;
	long n;

	if (item == (int)ITEM_hosts && *text) {
		int status = hosts_add(&hosts, text, err);

		hosts_clear(&hosts);
		if (status)
			return status;
	}

	if (*text && row->type == TYPE_INT && num_parse(text, (long)row->lo,
	    (long)row->hi, &n)) {
		err_set(err, "%s: \"%s\" is not a number from %.0f to %.0f",
		    row->key, text, row->lo, row->hi);
		return err_hint(err, "leave it empty for %s", row->def.s);
	}
	for (const struct choice *c = row->choice; c && c->word; c++)
		known |= !strcmp(c->word, text);
	if (*text && !known) {
		err_set(err, "%s: there is no \"%s\"", row->key, text);
		return err_hint(err, "accel estimate-memory --help lists them");
	}
	if (*text && !(copy = strdup(text)))
		return err_nomem(err);
	free(*at);
	*at = copy;
	return 0;
}

int
moment_set(struct moment *m, int item, const char *text, enum origin origin,
    struct err *err)
{
	return item >= (int)FIELD_COUNT ? seed_set(m, item, text, err) :
	    config_put(&m->config, (enum field_id)item, text, origin, err);
}

/* What was typed and is no value is offered again. */
void
form_refuse(struct form *f, int item, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	free(f->refused[item]);
	f->refused[item] = copy;
}

int
form_set(struct form *f, int item, const char *text, enum origin origin,
    struct err *err)
{
	struct err own = ERR_INIT;
	struct moment *m = form_begin(f);
	int was = f->changed;

	if (!m)
		return err_nomem(err);
	f->changed = item;
	if (form_finish(f, moment_set(m, item, text, origin, &own))) {
		f->changed = was;
		form_refuse(f, item, text);
		complain(f, &own);
		if (err)
			*err = own;
		return -1;
	}
	form_refuse(f, item, NULL);
	return 0;
}

int
form_toggle(struct form *f, int item)
{
	const struct field *row = item_row(item);
	struct buf now = BUF_INIT;
	size_t n = form_choices(f, item);
	const char *next = NULL;
	int status = -1;

	form_text(f, item, &now);
	if (row->type == TYPE_BOOL)
		next = !strcmp(buf_text(&now), "true") ? "false" : "true";
	for (size_t i = 0; i < n; i++)
		if (!strcmp(row->choice[i].word, buf_text(&now)))
			next = row->choice[(i + 1) % n].word;
	if (!next && n)
		next = row->choice[0].word;
	if (next)
		status = form_set(f, item, next, ORIGIN_USER, NULL);
	buf_clear(&now);
	return status;
}

int
form_default(struct form *f, int item)
{
	struct config fresh;
	struct buf text = BUF_INIT;
	int status;

	config_init(&fresh);
	if (item < (int)FIELD_COUNT)
		config_get(&fresh, (enum field_id)item, &text);
	config_clear(&fresh);
	status = form_set(f, item, buf_text(&text), ORIGIN_USER, NULL);
	buf_clear(&text);
	return status;
}

int
form_propose(struct form *f, struct err *err)
{
	struct moment *m = form_begin(f);

	if (!m)
		return err_nomem(err);
	f->changed = -1;
	return form_finish(f, proposal_make(f, &m->config, err));
}

int
form_take(struct form *f, const char *text, size_t n, const char *name,
    struct err *err)
{
	struct moment *m = form_begin(f);
	struct config c;
	int status;

	if (!m)
		return err_nomem(err);
	config_init(&c);
	c.keep_unknown = true;
	status = config_parse(&c, text, n, name, err);
	if (status) {
		config_clear(&c);
	} else {
		/* It is for the file of this session, wherever it came from. */
		free(c.path);
		c.path = m->config.path;
		m->config.path = NULL;
		config_clear(&m->config);
		m->config = c;
	}
	f->changed = -1;
	return form_finish(f, status);
}

/* Says what another moment has made of the first item that differs. */
static void
say_turn(struct form *f, size_t was, const char *how)
{
	struct buf a = BUF_INIT, b = BUF_INIT, said = BUF_INIT;
	size_t at = f->at;
	int first = -1, count = 0;

	for (int item = 0; item < (int)ITEM_COUNT; item++) {
		buf_clear(&a);
		buf_clear(&b);
		form_text(f, item, &b);
		f->at = was;
		form_text(f, item, &a);
		f->at = at;
		if (!strcmp(buf_text(&a), buf_text(&b)))
			continue;
		if (!count++)
			first = item;
	}
	if (first >= 0) {
		form_value(f, first, &said);
		form_say(f, false, "%s: %s is %s%s.", how,
		    item_row(first)->key, buf_text(&said), count > 1 ?
		    ", and more" : "");
		f->changed = first;
	}
	buf_clear(&a);
	buf_clear(&b);
	buf_clear(&said);
}

/* To another moment; the message says what that changes. */
static void
turn(struct form *f, size_t to, const char *how)
{
	size_t was = f->at;

	f->at = to;
	f->turn++;
	f->message[0] = '\0';
	f->changed = -1;
	say_turn(f, was, how);
	form_refresh(f);
}

bool
form_undo(struct form *f)
{
	if (!f->at)
		return false;
	turn(f, f->at - 1, "Taken back");
	return true;
}

bool
form_redo(struct form *f)
{
	if (f->at + 1 >= f->count)
		return false;
	turn(f, f->at + 1, "Made again");
	return true;
}

/* The file as it would be written. */
static void
write_text(struct form *f)
{
	const char *notice;

	buf_clear(&f->text);
	if (config_text(form_now(f), f->path, 0, &f->text, &notice, NULL)) {
		buf_clear(&f->text);
		config_print(form_now(f), &f->text);
	}
}

/* The hosts, which are in a file of their own; "" where there are none. */
static const char *
hosts_of(const struct form *f)
{
	const char *text = f->past[f->at].seed[ITEM_hosts - (int)FIELD_COUNT];

	return text ? text : "";
}

/* The rules look at the hosts as well. */
static void
count_hosts(struct form *f)
{
	struct hosts hosts = HOSTS_INIT;

	if (*hosts_of(f) && hosts_add(&hosts, hosts_of(f), NULL) < 0)
		hosts_clear(&hosts);
	hosts_site(&hosts, &f->site);
	hosts_clear(&hosts);
}

void
form_refresh(struct form *f)
{
	struct err err = ERR_INIT;

	count_hosts(f);
	write_text(f);
	problems_clear(&f->problems);
	if (site_read_json(&f->site, form_now(f), &err))
		complain(f, &err);
	form_estimate(f);
	if (config_problems(form_now(f), &f->site, &f->problems, &err))
		complain(f, &err);
	form_relist(f);
}

int
form_open(struct form *f, const struct machine *m, const char *path,
    struct err *err)
{
	struct config *c;
	int status = 0;

	memset(f, 0, sizeof *f);
	f->machine = m;
	f->changed = -1;
	f->path = strdup(path);
	f->past = calloc(DEPTH, sizeof *f->past);
	if (!f->path || !f->past) {
		free(f->path);
		free(f->past);
		return err_nomem(err);
	}
	machine_site(m, &f->site);
	c = &f->past->config;
	config_init(c);
	c->keep_unknown = true;		/* it is written again */
	f->count = 1;
	/* A file that is there and cannot be read must not be written over. */
	if (access(path, F_OK)) {
		if (errno != ENOENT)
			status = err_set(err, "cannot open %s: %s", path,
			    strerror(errno));
		else
			status = proposal_make(f, c, err);
	} else if (!(status = config_read(c, path, err)))
		status = file_read(path, &f->saved, err);
	if (!status && !(status = beside_read(&f->beside, path, err)) &&
	    f->beside.hosts && *f->beside.hosts)
		status = moment_set(f->past, ITEM_hosts, f->beside.hosts,
		    ORIGIN_FILE, err);
	if (!status) {
		form_refresh(f);
		if (buf_add(&f->first, buf_text(&f->text), f->text.len))
			status = err_nomem(err);
	}
	if (status)
		form_clear(f);
	return status;
}

void
form_clear(struct form *f)
{
	for (size_t i = 0; i < f->count; i++)
		moment_clear(&f->past[i]);
	for (size_t i = 0; i < ITEM_COUNT; i++)
		free(f->refused[i]);
	free(f->past);
	free(f->path);
	free(f->model_of);
	buf_clear(&f->saved);
	buf_clear(&f->first);
	buf_clear(&f->text);
	problems_clear(&f->problems);
	model_clear(&f->model);
	beside_clear(&f->beside);
	memset(f, 0, sizeof *f);
}

bool
form_unsaved(const struct form *f)
{
	return strcmp(buf_text(&f->text), buf_text(&f->saved)) != 0 ||
	    strcmp(hosts_of(f), f->beside.hosts ? f->beside.hosts : "") != 0;
}

bool
form_changed(const struct form *f, int item)
{
	return item >= (int)FIELD_COUNT ?
	    f->past[f->at].seed[item - (int)FIELD_COUNT] != NULL :
	    form_now(f)->origin[item] >= ORIGIN_FLAG;
}

/* Only where they changed: a file beside that somebody wrote stays as it is. */
static int
save_hosts(struct form *f, struct err *err)
{
	struct beside now = f->beside;
	char *copy;

	if (!strcmp(hosts_of(f), now.hosts ? now.hosts : ""))
		return 0;
	if (!(copy = strdup(hosts_of(f))))
		return err_nomem(err);
	now.hosts = copy;
	if (beside_write(&now, f->path, err)) {
		free(copy);
		return -1;
	}
	free(f->beside.hosts);
	f->beside.hosts = copy;
	return 0;
}

int
form_save(struct form *f, struct err *err)
{
	struct err own = ERR_INIT;
	const char *notice;

	f->turn++;
	if (save_hosts(f, &own) ||
	    config_save(form_now(f), f->path, 0, &notice, &own)) {
		complain(f, &own);
		if (err)
			*err = own;
		return -1;
	}
	f->written = true;
	buf_clear(&f->saved);
	form_refresh(f);
	if (notice)
		form_say(f, false, "Written anew, without comments: %s",
		    notice);
	else
		form_say(f, false, "Written: %s", f->path);
	return file_read(f->path, &f->saved, err);
}

int
form_reopen(struct form *f, const char *path, struct err *err)
{
	struct form other;
	struct site site = f->site;

	if (form_open(&other, f->machine, path, err))
		return -1;
	form_clear(f);
	*f = other;
	f->site = site;			/* what was learned of the machines */
	f->turn = 1;
	form_refresh(f);
	return 0;
}

bool
form_stale(const struct form *f)
{
	struct buf now = BUF_INIT;
	bool stale;

	stale = file_read(f->path, &now, NULL) ? !access(f->path, F_OK) :
	    now.len != f->saved.len || memcmp(buf_text(&now),
	    buf_text(&f->saved), now.len);
	buf_clear(&now);
	return stale;
}

const struct problem *
form_problem(const struct form *f, int item)
{
	for (size_t i = 0; i < f->problems.count; i++)
		if (f->problems.item[i].field == item)
			return &f->problems.item[i];
	return NULL;
}
