/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form: a session of the wizard, without a terminal.  The full screen and the
 * conversation both work on it; a test drives it as they do.
 *
 * What is asked is an item: a field of the configuration (its id is the
 * field's), or a seed of the memory estimate behind them (seed.def), which goes
 * into no file.  Everything that can be changed is in one struct moment; the
 * form keeps the moments, so that each change can be taken back.
 *
 * The form owns its moments and copies the path; the machine is borrowed and
 * must outlive it.
 */
#ifndef TUI_FORM_H
#define TUI_FORM_H

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/memory.h"
#include "runtime/config/model.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "runtime/launch/beside.h"

enum step {
	STEP_START, STEP_MACHINES, STEP_TRAINING, STEP_STRATEGY, STEP_CHECKS,
	STEP_REVIEW, STEP_COUNT
};

#define SEED(symbol, ...)	ITEM_##symbol,
enum item {
	ITEM_SEED_ = FIELD_COUNT - 1,
#include "tui/seed.def"
	ITEM_COUNT
};
#undef SEED
enum { SEED_COUNT = (int)ITEM_COUNT - (int)FIELD_COUNT };

struct moment {
	struct config	 config;
	char		*seed[SEED_COUNT];	/* as typed; NULL: not given */
};

/* Which items are listed. */
enum filter {
	FILTER_USUAL,		/* what applies and is no matter of experts */
	FILTER_ALL,		/* the rest as well */
	FILTER_CHANGED		/* what was changed, of all steps' items */
};

struct form {
	const struct machine *machine;
	const struct fleet *fleet;	/* the run's hosts, where others were
					 * named: for the proposal; borrowed */
	struct site	 site;		/* what is known of where it will run:
					 * pages that learn more change it, and
					 * call form_refresh() */
	struct moment	*past;		/* past[at] is what is shown */
	size_t		 count, at;
	char		*path;		/* the file to write */
	struct buf	 saved;		/* its text; empty where it is new */
	struct beside	 beside;	/* as the file beside it has it */
	struct buf	 first;		/* what marks of change refer to */
	enum step	 step;
	int		 list[ITEM_COUNT];	/* the items of this step */
	size_t		 shown, cursor;
	enum filter	 filter;
	int		 changed;	/* the item of the last change, or -1 */
	char		*refused[ITEM_COUNT];	/* texts that were no value:
					 * offered again, never lost */
	unsigned long	 turn;		/* another after each change or save */
	bool		 written;	/* in this session */
	char		 message[1024];	/* for the user; "" = none */
	bool		 bad;		/* the message is a complaint */
	char		 reason[640];	/* why the proposal is what it is */

	/* Follow from the present; form_refresh() makes them anew. */
	struct buf	 text;		/* the file as it would be written */
	struct problems	 problems;	/* errors first */
	struct model	 model;		/* of ITEM_model; params 0: unknown */
	char		*model_of;	/* the text that it was read from */
	struct err	 model_fault;	/* why it could not be read */
	struct memory	 memory;	/* of a rank, where the model is known */
	bool		 estimated;	/* memory counts */
	struct err	 memory_fault;	/* why it does not */
};

/* Opens path, or begins with a proposal where there is no such file.  On -1
 * *f needs no clearing. */
int  form_open(struct form *f, const struct machine *m, const char *path,
    struct err *err);
void form_clear(struct form *f);

const struct config *form_now(const struct form *f);
/* A row of the table, for an item; of a seed: key, ask, help, title, type,
 * choice and flags alone count. */
const struct field *item_row(int item);
/* By key, as a user writes it; -1. */
int  item_named(const char *key);
/* The step that asks it. */
enum step item_step(int item);

/* Under the cursor, or -1 where no item is shown. */
int  form_item(const struct form *f);
void form_move(struct form *f, long by);
void form_step(struct form *f, int step);	/* others do nothing */
/* To that item, wherever it is; shows all items where it must. */
void form_go(struct form *f, int item);
void form_filter(struct form *f, enum filter filter);
/* The item after (way 1) or before it (-1) among those of all steps that the
 * filter lets through; of -1 the first or last.  -1 where there is none. */
int  form_beside(const struct form *f, int item, int way);
/* After *site or the past was changed by hand. */
void form_refresh(struct form *f);
void form_say(struct form *f, bool bad, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Has a meaning, with what is set. */
bool form_applies(const struct form *f, int item);
/* Changes one item; the message says what was wrong. */
int  form_set(struct form *f, int item, const char *text,
    enum origin origin, struct err *err);
/* The same, for a moment between form_begin() and form_finish(). */
int  moment_set(struct moment *m, int item, const char *text,
    enum origin origin, struct err *err);
/* The other value of a bool, the next of a choice; -1 for others. */
int  form_toggle(struct form *f, int item);
int  form_default(struct form *f, int item);
/* What fits the machine, as one change (proposal.c). */
int  form_propose(struct form *f, struct err *err);
/* Several changes as one: a copy of the present, borrowed, to be changed, then
 * ended by form_finish(), which drops it where status is not 0.  NULL without
 * memory. */
struct moment *form_begin(struct form *f);
int  form_finish(struct form *f, int status);
bool form_undo(struct form *f);
bool form_redo(struct form *f);
/* Takes a file's text as one change: a template, another file. */
int  form_take(struct form *f, const char *text, size_t n, const char *name,
    struct err *err);

bool form_unsaved(const struct form *f);
bool form_changed(const struct form *f, int item);
int  form_save(struct form *f, struct err *err);
/* Another has changed the file since it was read or written here. */
bool form_stale(const struct form *f);
/* Another file in place of this one.  On -1 nothing has changed. */
int  form_reopen(struct form *f, const char *path, struct err *err);
/* Remembers a text that was no value; NULL forgets it. */
void form_refuse(struct form *f, int item, const char *text);
/* The first problem of an item, or NULL. */
const struct problem *form_problem(const struct form *f, int item);
/* "" where it is null. */
int  form_text(const struct form *f, int item, struct buf *out);
/* As a person reads it: "not set" where null. */
int  form_value(const struct form *f, int item, struct buf *out);
/* What it is in a narrow column: its key in words. */
void item_name(int item, char *name, size_t room);
/* The heading above it. */
const char *item_title(int item);
size_t form_choices(const struct form *f, int item);
/* All about an item: help, key, flag, default, needs, choices, origin. */
int  form_help(const struct form *f, int item, struct buf *out);
const char *form_origin(const struct form *f, int item);
/* When it has a meaning, in words; nothing where always. */
int  item_needs(int item, struct buf *out);
/* What was set and has no effect now, a line each. */
int  form_idle(const struct form *f, struct buf *out);
/* What a rank takes: of its GPU, or of the host where it trains there. */
struct need {
	double	bytes, room;		/* room 0: not known */
	double	host;			/* beside the GPU */
	bool	cpu, over;
};
/* False where the model is not known. */
bool form_memory(const struct form *f, struct need *out);
int  form_gib(double bytes, struct buf *out);
/* "29.8 of 80.0 GiB", or why it is not known. */
int  form_memory_say(const struct form *f, struct buf *out);
/* "parameters 0.9  gradients 0.9  activations 28.0 (guess)" */
int  form_memory_parts(const struct form *f, struct buf *out);
/* The 0-based line of f->text where the field stands, or -1. */
long form_line(const struct form *f, int item);

/* proposal.c: sets in *c what fits, by the advice for the model or, without one,
 * by the machine alone, and says why in f->reason. */
int  proposal_make(struct form *f, struct config *c, struct err *err);
#endif
