/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form: a session of the wizard, without a terminal.  The full screen and the
 * conversation both work on it; a test drives it as they do.
 *
 * It owns its configurations and copies the path; the machine is borrowed and
 * must outlive it.
 */
#ifndef TUI_FORM_H
#define TUI_FORM_H

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"

enum step { STEP_START, STEP_TRAINING, STEP_REVIEW, STEP_COUNT };
extern const char *const step_title[STEP_COUNT];

struct form {
	const struct machine *machine;
	struct config	*past;		/* past[at] is what is shown */
	size_t		 count, at;
	char		*path;		/* the file to write */
	struct buf	 saved;		/* its text; empty where it is new */
	struct buf	 first;		/* what marks of change refer to */
	enum step	 step;
	enum field_id	 list[FIELD_COUNT];	/* what is shown */
	size_t		 shown, cursor;
	bool		 all;		/* advanced fields as well */
	char		 message[1024];	/* for the user; "" = none */
	bool		 bad;		/* the message is a complaint */
	char		 reason[256];	/* why the proposal is what it is */
};

/* Opens path, or begins with a proposal where there is no such file.  On -1
 * *f needs no clearing. */
int  form_open(struct form *f, const struct machine *m, const char *path,
    struct err *err);
void form_clear(struct form *f);

const struct config *form_now(const struct form *f);
/* Under the cursor, or -1 where no field is shown. */
int  form_field(const struct form *f);
void form_move(struct form *f, long by);
void form_step(struct form *f, int step);	/* others do nothing */
void form_show_all(struct form *f, bool all);

/* Changes one field; the message says what was wrong. */
int  form_set(struct form *f, enum field_id id, const char *text,
    enum origin origin, struct err *err);
/* The other value of a bool, the next of a choice; -1 for others. */
int  form_toggle(struct form *f, enum field_id id);
int  form_default(struct form *f, enum field_id id);
/* What fits the machine, as one change. */
int  form_propose(struct form *f, struct err *err);
bool form_undo(struct form *f);
bool form_redo(struct form *f);

/* All that is wrong, errors first, in view of this machine. */
int  form_problems(const struct form *f, struct problems *out,
    struct err *err);

bool form_unsaved(const struct form *f);
bool form_changed(const struct form *f, enum field_id id);
int  form_save(struct form *f, struct err *err);
/* As a person reads it: "not set" where null. */
int  form_value(const struct form *f, enum field_id id, struct buf *out);
/* All about a field: help, key, flag, needs, choices, origin. */
int  form_help(const struct form *f, enum field_id id, struct buf *out);
const char *form_origin(const struct form *f, enum field_id id);
#endif
