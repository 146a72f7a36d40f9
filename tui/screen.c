/* SPDX-License-Identifier: Apache-2.0 */
#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "tui/form.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

enum { ESCAPE = 27, ERASE_ALL = 21, RUBOUT = 127 };

enum action {
	NONE, UP, DOWN, PAGEUP, PAGEDOWN, EDIT, TOGGLE, NEXT, PREV, STEP1,
	STEP2, STEP3, FILE_PAGE, PROPOSE, DEFAULT, ALL, UNDO, REDO, SAVE,
	LAUNCH, HELP, KEYS, QUIT
};
#define FILE	FILE_PAGE
static const struct { int key; enum action action; } bindings[] = {
#define KEY(key, name, action, label, sentence)	{ key, action },
#include "tui/keys.def"
#undef KEY
};
#undef FILE

static volatile sig_atomic_t caught;

static void
on_signal(int sig)
{
	caught = sig;
}

static void
begin_edit(struct screen *s, enum field_id id)
{
	struct buf now = BUF_INIT;
	const struct choice *c = fields[id].choice;

	s->form->message[0] = '\0';
	config_get(form_now(s->form), id, &now);
	if (c) {
		s->mode = MODE_CHOICE;
		s->pick = 0;
		for (size_t i = 0; c[i].word; i++)
			if (!strcmp(c[i].word, buf_text(&now)))
				s->pick = i;
	} else if (fields[id].type == TYPE_BOOL) {
		form_toggle(s->form, id);
	} else {
		s->mode = MODE_TEXT;
		snprintf(s->edit, sizeof s->edit, "%s", buf_text(&now));
		for (char *p = s->edit; *p; p++)
			if (*p == '\n')
				*p = p[1] ? ',' : '\0';
		s->length = strlen(s->edit);
	}
	buf_clear(&now);
}

static void
key_choice(struct screen *s, int key, bool code)
{
	enum field_id id = (enum field_id)form_field(s->form);
	const struct choice *c = fields[id].choice;
	size_t n = config_choices(form_now(s->form), id);

	if ((code && key == KEY_UP) || (!code && key == 'k'))
		s->pick = s->pick ? s->pick - 1 : n - 1;
	else if ((code && key == KEY_DOWN) || (!code && key == 'j'))
		s->pick = (s->pick + 1) % n;
	else if (!code && key >= '1' && key <= '9' &&
	    (size_t)(key - '1') < n)
		s->pick = (size_t)(key - '1');
	else if (key == '\n' || key == '\r' || (!code && key == ' ') ||
	    (code && key == KEY_ENTER)) {
		form_set(s->form, id, c[s->pick].word, ORIGIN_USER, NULL);
		s->mode = MODE_FIELDS;
	} else if (!code && (key == ESCAPE || key == 'q'))
		s->mode = MODE_FIELDS;
}

static void
key_text(struct screen *s, int key, bool code)
{
	enum field_id id = (enum field_id)form_field(s->form);
	char bytes[MB_LEN_MAX];
	mbstate_t state = { 0 };
	size_t n;

	if (key == '\n' || key == '\r' || (code && key == KEY_ENTER)) {
		if (!form_set(s->form, id, s->edit, ORIGIN_USER, NULL))
			s->mode = MODE_FIELDS;
	} else if (!code && key == ESCAPE) {
		s->form->message[0] = '\0';
		s->mode = MODE_FIELDS;
	} else if (!code && key == ERASE_ALL) {
		s->length = 0;
	} else if ((code && key == KEY_BACKSPACE) || (!code &&
	    (key == RUBOUT || key == '\b'))) {
		/* a whole character, whatever its bytes */
		while (s->length && (s->edit[--s->length] & 0xc0) == 0x80)
			;
	} else if (!code && key >= ' ') {
		n = wcrtomb(bytes, (wchar_t)key, &state);
		if (n == (size_t)-1 || s->length + n >= sizeof s->edit)
			return;
		memcpy(s->edit + s->length, bytes, n);
		s->length += n;
	}
	s->edit[s->length] = '\0';
}

static void
key_help(struct screen *s, int key, bool code)
{
	if ((code && key == KEY_DOWN) || (!code && key == 'j'))
		s->scroll++;
	else if ((code && key == KEY_UP) || (!code && key == 'k'))
		s->scroll -= s->scroll > 0;
	else {
		s->mode = MODE_FIELDS;
		s->scroll = 0;
	}
}

static bool
save(struct screen *s)
{
	struct err err = ERR_INIT;

	return !form_save(s->form, &err);
}

static void
key_quit(struct screen *s, int key, bool code)
{
	s->mode = MODE_FIELDS;
	if (!code && (key == 'q' || (key == 's' && save(s))))
		s->done = DONE_QUIT;
}

static void
enter(struct screen *s)
{
	int id = form_field(s->form);

	if (s->form->step == STEP_START)
		form_step(s->form, STEP_TRAINING);
	else if (s->form->step == STEP_REVIEW)
		save(s);
	else if (id >= 0)
		begin_edit(s, (enum field_id)id);
}

static void
act_on_field(struct screen *s, enum action action)
{
	struct form *f = s->form;
	int id = form_field(f);

	if (f->step != STEP_TRAINING || id < 0)
		return;
	switch (action) {
	case UP:	form_move(f, -1); break;
	case DOWN:	form_move(f, 1); break;
	case PAGEUP:	form_move(f, -10); break;
	case PAGEDOWN:	form_move(f, 10); break;
	case DEFAULT:	form_default(f, (enum field_id)id); break;
	case HELP:	s->mode = MODE_HELP; break;
	case TOGGLE:
		if (form_toggle(f, (enum field_id)id) && !fields[id].choice)
			begin_edit(s, (enum field_id)id);
		break;
	default:
		break;
	}
}

static void
act(struct screen *s, enum action action)
{
	struct form *f = s->form;

	f->message[0] = '\0';
	switch (action) {
	case EDIT:	enter(s); break;
	case NEXT:	form_step(f, (f->step + 1) % STEP_COUNT); break;
	case PREV:	form_step(f, (f->step + STEP_COUNT - 1) % STEP_COUNT);
			break;
	case STEP1:	form_step(f, STEP_START); break;
	case STEP2:	form_step(f, STEP_TRAINING); break;
	case STEP3:	form_step(f, STEP_REVIEW); break;
	case FILE_PAGE:	s->file = COLS < 72 && !s->file; break;	/* else beside */
	case PROPOSE:	form_propose(f, NULL); break;
	case ALL:	form_show_all(f, !f->all); break;
	case UNDO:	form_undo(f); break;
	case REDO:	form_redo(f); break;
	case SAVE:	save(s); break;
	case KEYS:	s->mode = MODE_KEYS; break;
	case LAUNCH:
		if (s->script && save(s))
			s->done = DONE_LAUNCH;
		break;
	case QUIT:
		if (form_unsaved(f))
			s->mode = MODE_QUIT;
		else
			s->done = DONE_QUIT;
		break;
	default:
		act_on_field(s, action);
	}
}

void
screen_key(struct screen *s, int key, bool code)
{
	if (code && key == KEY_RESIZE)
		return;
	if (s->mode == MODE_CHOICE)
		key_choice(s, key, code);
	else if (s->mode == MODE_TEXT)
		key_text(s, key, code);
	else if (s->mode == MODE_HELP || s->mode == MODE_KEYS)
		key_help(s, key, code);
	else if (s->mode == MODE_QUIT)
		key_quit(s, key, code);
	else
		for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
			if (bindings[i].key == key &&
			    (key >= KEY_MIN) == code) {
				act(s, bindings[i].action);
				break;
			}
}

/* Waits for a key.  Signals arrive here alone, so that none is missed between
 * the question and the wait. */
static int
next_key(wint_t *key, const sigset_t *open)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int kind;

	for (;;) {
		if ((kind = get_wch(key)) != ERR)
			return kind;
		if (ppoll(&p, 1, NULL, open) > 0 && !(p.revents & POLLIN))
			return ERR;	/* the terminal is gone */
		if (caught)
			return ERR;
	}
}

static void
loop(struct screen *s, const sigset_t *open)
{
	const char *sync = getenv("ACCEL_TEST_SYNC");
	unsigned long keys = 0;
	wint_t key;
	int kind;

	while (s->done == DONE_NOT) {
		screen_draw(s);
		if (sync) {	/* tells a test what has been drawn */
			printf("\033]0;%lu\007", keys);
			fflush(stdout);
		}
		kind = next_key(&key, open);
		if (kind == ERR && caught == SIGINT) {
			caught = 0;
			if (s->mode == MODE_FIELDS)
				act(s, QUIT);
			else
				s->mode = MODE_FIELDS;
		} else if (kind == ERR)
			return;
		else if (!(kind == KEY_CODE_YES && key == KEY_RESIZE)) {
			screen_key(s, (int)key, kind == KEY_CODE_YES);
			keys++;
		}
	}
}

int
screen_run(struct screen *s, struct err *err)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT };
	struct sigaction on = { .sa_handler = on_signal };
	sigset_t block, old;
	SCREEN *terminal;

	terminal = newterm(NULL, stdout, stdin);
	if (!terminal) {
		err_set(err, "the terminal cannot be used: TERM is %s",
		    getenv("TERM") ? getenv("TERM") : "not set");
		return err_hint(err, "--plain asks without one");
	}
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		s->ascii = true;
	sigemptyset(&block);
	for (size_t i = 0; i < 3; i++) {
		sigaddset(&block, signals[i]);
		sigaction(signals[i], &on, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, &old);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	screen_setup(s);
	loop(s, &old);
	endwin();
	delscreen(terminal);
	for (size_t i = 0; i < 3; i++)
		signal(signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (caught)		/* die as the sender expects */
		raise(caught);
	return s->done == DONE_NOT ? err_set(err, "the terminal is gone; "
	    "nothing was written") : 0;
}
