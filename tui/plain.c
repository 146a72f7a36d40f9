/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tui/form.h"
#include "tui/plain.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

struct talk {
	struct form	*f;
	const char	*script;	/* to launch, or NULL */
	FILE		*in, *out;
	char		*line;		/* the last answer */
	size_t		 room;
};

/* The answer without its blanks, or NULL at the end of the input. */
static char *
answer(struct talk *t)
{
	ssize_t n;
	char *text;

	fflush(t->out);
	if ((n = getline(&t->line, &t->room, t->in)) < 0)
		return NULL;
	while (n && strchr(" \t\r\n", t->line[n - 1]))
		t->line[--n] = '\0';
	text = t->line + strspn(t->line, " \t");
	return text;
}

static int
ended(struct err *err)
{
	err_set(err, "the input ended before the last question; nothing was "
	    "written");
	return err_hint(err, "--defaults writes what fits this machine, "
	    "without questions");
}

static void
ask(struct talk *t, int id)
{
	struct buf value = BUF_INIT;
	size_t n = form_choices(t->f, id);

	form_value(t->f, id, &value);
	fprintf(t->out, "\n%s [%s]\n", item_row(id)->ask, buf_text(&value));
	for (size_t i = 0; i < n; i++)
		fprintf(t->out, "  %zu  %s: %s\n", i + 1,
		    item_row(id)->choice[i].word, item_row(id)->choice[i].what);
	if (item_row(id)->type == TYPE_BOOL)
		fputs("  yes or no\n", t->out);
	fputs("> ", t->out);
	buf_clear(&value);
}

/* The word behind the number of a choice, yes and no of a bool. */
static const char *
meant(const struct talk *t, int id, const char *text)
{
	const struct choice *c = item_row(id)->choice;
	long n, count = (long)form_choices(t->f, id);

	if (c && !num_parse(text, 1, count, &n))
		return c[n - 1].word;
	if (item_row(id)->type == TYPE_BOOL && (!strcmp(text, "y") ||
	    !strcmp(text, "yes")))
		return "true";
	if (item_row(id)->type == TYPE_BOOL && (!strcmp(text, "n") ||
	    !strcmp(text, "no")))
		return "false";
	return text;
}

/* 1 yes, 0 no, 2 back, -1 at the end of the input; Enter is yes. */
static int
agreed(struct talk *t)
{
	char *text;

	for (;;) {
		fputs(" [yes]\n> ", t->out);
		if (!(text = answer(t)))
			return -1;
		if (!*text || !strcmp(text, "y") || !strcmp(text, "yes"))
			return 1;
		if (!strcmp(text, "n") || !strcmp(text, "no") ||
		    !strcmp(text, "q"))
			return 0;
		if (!strcmp(text, "b"))
			return 2;
		fputs("yes, no, or b to go back?", t->out);
	}
}

enum { BACK = PLAIN_LAUNCH + 1 };

static int
confirm(struct talk *t, struct err *err)
{
	const struct problems *problems = &t->f->problems;
	struct buf yaml = BUF_INIT;

	config_print(form_now(t->f), &yaml);
	fprintf(t->out, "\nThis is the file:\n\n%s\n", buf_text(&yaml));
	buf_clear(&yaml);
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *p = &problems->item[i];

		fprintf(t->out, "%s: %s%s%s.\n", p->fatal ? "Problem" :
		    "Warning", p->what, *p->hint ? ": " : "", p->hint);
	}
	fprintf(t->out, "Write it to %s?", t->f->path);
	switch (agreed(t)) {
	case -1:
		return ended(err);
	case 0:
		return PLAIN_LEFT;
	case 2:
		return BACK;
	}
	if (form_save(t->f, err))
		return -1;
	fprintf(t->out, "Written: %s\n", t->f->path);
	if (t->script) {
		fprintf(t->out, "Launch %s now?", t->script);
		if (agreed(t) == 1)
			return PLAIN_LAUNCH;
	}
	fprintf(t->out, "Run it: accel launch --config_file %s %s\n",
	    t->f->path, t->script ? t->script : "SCRIPT");
	return PLAIN_WRITTEN;
}

/* One question until it is answered: the next field, ITEM_COUNT at the end,
 * -1 to leave, -2 at the end of the input. */
static int
question(struct talk *t, int id)
{
	struct buf help = BUF_INIT;
	char *text;
	int to;

	for (;;) {
		ask(t, id);
		if (!(text = answer(t)))
			return -2;
		if (!strcmp(text, "q"))
			return -1;
		if (!strcmp(text, "?")) {
			form_help(t->f, id, &help);
			fprintf(t->out, "%s", buf_text(&help));
			buf_clear(&help);
			continue;
		}
		if (!strcmp(text, "b")) {
			to = form_beside(t->f, id, -1);
			if (to >= 0)
				return to;
			fputs("This is the first question.\n", t->out);
			continue;
		}
		if (*text && form_set(t->f, id,
		    meant(t, id, text), ORIGIN_USER, NULL)) {
			fprintf(t->out, "%s\n", t->f->message);
			continue;
		}
		to = form_beside(t->f, id, 1);
		return to < 0 ? (int)ITEM_COUNT : to;
	}
}

static int
converse(struct talk *t, struct err *err)
{
	struct buf facts = BUF_INIT;
	int id = form_beside(t->f, -1, 1), status;

	machine_print(t->f->machine, &facts);
	fprintf(t->out, "%s\n", buf_text(&facts));
	buf_clear(&facts);
	if (*t->f->reason)
		fprintf(t->out, "Proposal: %s\n", t->f->reason);
	fputs("Enter keeps the value in brackets; ? explains, b goes back, "
	    "q leaves.\n", t->out);
	for (;;) {
		while (id >= 0 && id < (int)ITEM_COUNT)
			id = question(t, id);
		if (id == -2)
			return ended(err);
		if (id == -1) {
			fputs("Nothing was written.\n", t->out);
			return PLAIN_LEFT;
		}
		if ((status = confirm(t, err)) != BACK) {
			if (status == PLAIN_LEFT)
				fputs("Nothing was written.\n", t->out);
			return status;
		}
		id = form_beside(t->f, -1, -1);
	}
}

int
plain_run(struct form *f, const char *script, FILE *in, FILE *out,
    struct err *err)
{
	struct talk t = { .f = f, .script = script, .in = in, .out = out };
	int status = converse(&t, err);

	free(t.line);
	fflush(out);
	return status;
}
