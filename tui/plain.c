/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tui/draft.h"
#include "tui/form.h"
#include "tui/plain.h"
#include "tui/plain_hosts.h"
#include "tui/proposal.h"
#include "runtime/base/lines.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

static const char legend[] =
    "Enter keeps the answer.  ? explains, b goes back, / and a word searches, "
    "u takes the last change back, U makes it again, d takes the default, "
    "p proposes, with reasons, = repeats where you are, f shows the file, A asks the rest as well, "
    "w writes now, q leaves.  A backslash in front makes any of them an "
    "answer.\n";

struct talk {
	struct form	*f;
	const char	*script;	/* to launch, or NULL */
	FILE		*in, *out;
	char		*line;		/* the last answer */
	size_t		 room;
	unsigned long	 drafted;	/* the form's turn in the draft */
	int		 asked;		/* the item whose choices were told */
};

/* Where the conversation goes on. */
enum { LEAVE = -1, ENDED = -2, WRITE = ITEM_COUNT, BACK = PLAIN_LAUNCH + 1 };

static void
say(struct talk *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void
say(struct talk *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(t->out, fmt, ap);
	va_end(ap);
}

/* The answer without its blanks, or NULL at the end of the input. */
static char *
answer(struct talk *t)
{
	ssize_t n;

	if (t->drafted != t->f->turn) {
		t->drafted = t->f->turn;
		draft_keep(t->f, NULL);
	}
	fputs("> ", t->out);
	fflush(t->out);
	if ((n = getline(&t->line, &t->room, t->in)) < 0)
		return NULL;
	while (n && strchr(" \t\r\n", t->line[n - 1]))
		t->line[--n] = '\0';
	return t->line + strspn(t->line, " \t");
}

static int
ended(struct err *err)
{
	err_set(err, "the input ended before the last question; nothing was "
	    "written");
	return err_hint(err, "--defaults writes what fits this machine, "
	    "without questions");
}

/* 1 yes, 0 no, 2 back, -1 at the end of the input; Enter is yes. */
static int
agreed(struct talk *t, const char *question)
{
	char *text;

	for (;;) {
		say(t, "%s Yes, no, or b to go back; Enter is yes.\n",
		    question);
		if (!(text = answer(t)))
			return -1;
		if (!*text || !strcasecmp(text, "y") ||
		    !strcasecmp(text, "yes"))
			return 1;
		if (!strcasecmp(text, "n") || !strcasecmp(text, "no") ||
		    !strcmp(text, "q"))
			return 0;
		if (!strcmp(text, "b"))
			return 2;
	}
}

static void
say_value(struct talk *t, int item, const char *before)
{
	struct buf value = BUF_INIT;

	form_value(t->f, item, &value);
	if (item_row(item)->type == TYPE_BOOL) {
		bool on = !strcmp(buf_text(&value), "true");

		buf_clear(&value);
		buf_adds(&value, on ? "yes" : "no");
	}
	say(t, "%s %s, %s%s.\n", before, buf_text(&value),
	    strcmp(form_origin(t->f, item), "you") ? "from: " : "by ",
	    form_origin(t->f, item));
	buf_clear(&value);
}

static void
ask(struct talk *t, int item)
{
	const struct field *row = item_row(item);

	if (t->asked == item) {		/* ? tells the choices again */
		say(t, "\n%s\n", row->ask);
		return;
	}
	t->asked = item;
	say(t, "\n%s\n", row->ask);
	say_value(t, item, "The answer is");
	for (size_t i = 0; i < form_choices(t->f, item); i++)
		say(t, "  %zu. %s: %s.\n", i + 1, row->choice[i].word,
		    row->choice[i].what);
	if (row->type == TYPE_BOOL)
		say(t, "Yes or no.\n");
	if (item == ITEM_hosts)
		plain_hosts_tell(t->f, t->out);
	if (t->f->refused[item])
		say(t, "\"%s\" was not taken.\n", t->f->refused[item]);
}

/* The word behind the number of a choice, yes and no of a bool. */
static const char *
meant(const struct talk *t, int item, const char *text)
{
	const struct field *row = item_row(item);
	long n, count = (long)form_choices(t->f, item);

	if (*text == '\\')
		return text + 1;
	if (row->choice && !num_parse(text, 1, count, &n))
		return row->choice[n - 1].word;
	if (row->type == TYPE_BOOL && (!strcasecmp(text, "y") ||
	    !strcasecmp(text, "yes")))
		return "true";
	if (row->type == TYPE_BOOL && (!strcasecmp(text, "n") ||
	    !strcasecmp(text, "no")))
		return "false";
	return text;
}

static void
say_problems(struct talk *t, int item)
{
	for (size_t i = 0; i < t->f->problems.count; i++) {
		const struct problem *p = &t->f->problems.item[i];

		if (item < 0 || p->field == item)
			say(t, "%s: %s%s%s.\n", p->fatal ? "Problem" :
			    "Warning", p->what, *p->hint ? ": " : "", p->hint);
	}
}

static void
say_memory(struct talk *t)
{
	struct buf text = BUF_INIT;

	form_memory_say(t->f, &text);
	say(t, "Memory of a rank: %s.\n", buf_text(&text));
	buf_clear(&text);
	form_memory_parts(t->f, &text);
	if (text.len)
		say(t, "That is: %s.\n", buf_text(&text));
	buf_clear(&text);
}

/* "Repeat": where this is, and what stands. */
static void
say_state(struct talk *t, int item)
{
	int count = 0, at = 0;

	for (int i = form_beside(t->f, -1, 1); i >= 0;
	    i = form_beside(t->f, i, 1)) {
		count++;
		at += i <= item;
	}
	say(t, "This is question %d of %d, in %s.  The file is %s%s.  %zu "
	    "problems.\n", at, count, item_title(item), t->f->path,
	    form_unsaved(t->f) ? ", not yet written" : "",
	    problems_fatal(&t->f->problems));
	say_memory(t);
}

static bool
has(int item, const char *word, const struct form *f)
{
	const struct field *row = item_row(item);
	struct buf value = BUF_INIT;
	bool found;

	form_value(f, item, &value);
	found = strcasestr(row->key, word) || strcasestr(row->ask, word) ||
	    strcasestr(row->help, word) || strcasestr(buf_text(&value), word);
	buf_clear(&value);
	return found && !(row->flags & FIELD_FLAGONLY);
}

/* The item that is chosen, or "item" again; ENDED. */
static int
search(struct talk *t, const char *word, int item)
{
	int hit[ITEM_COUNT];
	long n, count = 0;
	char *text;

	for (int i = 0; *word && i < ITEM_COUNT; i++)
		if (has(i, word, t->f))
			hit[count++] = i;
	if (!count) {
		say(t, "No question has \"%s\".\n", word);
		return item;
	}
	for (long i = 0; i < count; i++)
		say(t, "  %ld. %s: %s\n", i + 1, item_row(hit[i])->key,
		    item_row(hit[i])->ask);
	say(t, "Which one?  Its number, or Enter to stay.\n");
	if (!(text = answer(t)))
		return ENDED;
	return num_parse(text, 1, count, &n) ? item : hit[n - 1];
}

/* One change, and what follows from it. */
static void
change(struct talk *t, int item, const char *text)
{
	struct form *f = t->f;

	if (form_set(f, item, text, ORIGIN_USER, NULL)) {
		say(t, "%s%s\n", f->message, f->message[strlen(f->message) -
		    1] == '.' ? "" : ".");
		return;
	}
	say_problems(t, item);
	if (item_row(item)->flags & FIELD_MEMORY && f->model.params)
		say_memory(t);
	else if (item == ITEM_model && *f->model_fault.text)
		say(t, "%s. %s.\n", f->model_fault.text, f->model_fault.hint);
}

/* Undo, redo: true and what stands now. */
static void
turn(struct talk *t, bool done, int item)
{
	if (done && *t->f->message)
		say(t, "%s  ", t->f->message);
	else
		say(t, done ? "Done.  " : "There is nothing more.  ");
	say_value(t, item, "The answer is");
}

/* The proposal for the model, and which way is taken: "item" again; ENDED. */
static int
propose(struct talk *t, int item)
{
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	long way;
	int ways = proposal_ways(t->f, &err);
	const char *said;

	if (ways < 0 || proposal_text(t->f, 78, &text, &err)) {
		say(t, "There is no proposal: %s.  %s.\n", err.text, err.hint);
		buf_clear(&text);
		return item;
	}
	say(t, "%s", buf_text(&text));
	buf_clear(&text);
	if (!ways)
		return item;
	say(t, ways > 1 ? "Take it?  0 takes the proposal, 1%s an "
	    "alternative, Enter none.\n" : "Take it?  0 takes the proposal, "
	    "Enter does not.\n", ways > 2 ? " or 2" : "");
	if (!(said = answer(t)))
		return ENDED;
	if (num_parse(said, 0, ways - 1, &way))
		say(t, "Nothing was changed.\n");
	else if (proposal_take(t->f, (int)way, &err))
		say(t, "%s: %s.\n", err.text, err.hint);
	else {
		say(t, "%s\n", t->f->message);
		say_problems(t, -1);
	}
	return form_applies(t->f, item) ? item : form_beside(t->f, -1, 1);
}

/* A command at a question: where to go on, or -3 where it was none. */
enum { NO_COMMAND = -3 };
static int
command(struct talk *t, int item, const char *text)
{
	struct form *f = t->f;
	struct buf help = BUF_INIT;
	int to;

	if (*text == '/')
		return search(t, text + 1 + strspn(text + 1, " "), item);
	if (!*text || text[1] || !strchr("?buUdp=fAwq", *text))
		return NO_COMMAND;
	switch (*text) {
	case '?':
		form_help(f, item, &help);
		say(t, "%s\n%s", buf_text(&help), legend);
		buf_clear(&help);
		break;
	case 'b':
		if ((to = form_beside(f, item, -1)) >= 0)
			return to;
		say(t, "This is the first question.\n");
		break;
	case 'u': turn(t, form_undo(f), item); break;
	case 'U': turn(t, form_redo(f), item); break;
	case 'd':
		form_default(f, item);
		say_value(t, item, "The answer is");
		break;
	case 'p': return propose(t, item);
	case '=': say_state(t, item); break;
	case 'f': say(t, "%s", buf_text(&f->text)); break;
	case 'A':
		form_filter(f, f->filter == FILTER_ALL ? FILTER_USUAL :
		    FILTER_ALL);
		say(t, f->filter == FILTER_ALL ? "All questions are asked.\n" :
		    "The usual questions are asked.\n");
		break;
	case 'w': return WRITE;
	default: return LEAVE;
	}
	return item;
}

/* One question: the next one, WRITE at the end, LEAVE or ENDED. */
static int
question(struct talk *t, int item)
{
	char *text;
	int to;

	ask(t, item);
	if (!(text = answer(t)))
		return ENDED;
	if ((to = command(t, item, text)) != NO_COMMAND)
		return to;
	if (*text && item == ITEM_hosts) {
		if (!plain_hosts_take(t->f, text, t->out) ||
		    !strcmp(text, "measure"))
			return item;
	} else if (*text) {
		change(t, item, meant(t, item, text));
		if (t->f->refused[item])
			return item;	/* once more */
	}
	to = form_beside(t->f, item, 1);
	return to < 0 ? WRITE : to;
}

static int
confirm(struct talk *t, struct err *err)
{
	struct form *f = t->f;
	struct buf text = BUF_INIT;
	int yes;

	if (f->saved.len && form_unsaved(f)) {
		say(t, "\nThis is what changes in the file:\n\n");
		lines_diff(buf_text(&f->saved), buf_text(&f->text), f->path,
		    f->path, &text);
		say(t, "%s\n", buf_text(&text));
	} else
		say(t, "\nThis is the file:\n\n%s\n", buf_text(&f->text));
	buf_clear(&text);
	say_problems(t, -1);
	form_idle(f, &text);
	say(t, "%s", buf_text(&text));
	buf_clear(&text);
	if (form_stale(f))
		say(t, "Another has changed %s since it was read.\n", f->path);
	buf_addf(&text, "Write it to %s?", f->path);
	yes = agreed(t, buf_text(&text));
	buf_clear(&text);
	if (yes < 0)
		return ended(err);
	if (yes != 1) {
		if (!yes)
			draft_drop(f);
		return yes ? BACK : PLAIN_LEFT;
	}
	if (form_save(f, err))
		return -1;
	draft_drop(f);
	t->drafted = f->turn;
	say(t, "Written: %s\n", f->path);
	if (t->script) {
		buf_addf(&text, "Launch %s now?", t->script);
		yes = agreed(t, buf_text(&text));
		buf_clear(&text);
		if (yes == 1)
			return PLAIN_LAUNCH;
	}
	say(t, "Run it: accel launch --config_file %s %s\n", f->path,
	    t->script ? t->script : "SCRIPT");
	return PLAIN_WRITTEN;
}

/* 0, or -1 at the end of the input. */
static int
offer_draft(struct talk *t)
{
	struct err err = ERR_INIT;
	bool stale;
	int yes;

	if (!draft_there(t->f))
		return 0;
	yes = agreed(t, "Answers of an earlier start were not saved.  Take "
	    "them up?");
	if (yes < 0)
		return -1;
	if (yes == 0)
		draft_drop(t->f);
	if (yes == 1 && draft_take(t->f, &stale, &err))
		say(t, "They cannot be read: %s.\n", err.text);
	else if (yes == 1 && stale)
		say(t, "The file has changed since.\n");
	t->drafted = t->f->turn;
	return 0;
}

static int
converse(struct talk *t, struct err *err)
{
	struct buf facts = BUF_INIT;
	int item, status;

	machine_print(t->f->machine, &facts);
	say(t, "%s\n", buf_text(&facts));
	buf_clear(&facts);
	if (*t->f->reason)
		say(t, "Proposal: %s\n", t->f->reason);
	say(t, "%s", legend);
	if (offer_draft(t))
		return ended(err);
	item = form_beside(t->f, -1, 1);
	for (;;) {
		while (item >= 0 && item < WRITE)
			item = question(t, item);
		if (item == ENDED)
			return ended(err);
		if (item == LEAVE) {
			say(t, "Nothing was written.%s\n", form_unsaved(t->f) &&
			    t->f->at ? "  A draft is kept for the next start." :
			    "");
			return PLAIN_LEFT;
		}
		if ((status = confirm(t, err)) != BACK) {
			if (status == PLAIN_LEFT)
				say(t, "Nothing was written.\n");
			return status;
		}
		item = form_beside(t->f, -1, -1);
	}
}

int
plain_run(struct form *f, const char *script, FILE *in, FILE *out,
    struct err *err)
{
	struct talk t = { .f = f, .script = script, .in = in, .out = out,
	    .drafted = f->turn, .asked = -1 };
	int status = converse(&t, err);

	free(t.line);
	fflush(out);
	return status;
}
