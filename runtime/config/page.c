/* SPDX-License-Identifier: Apache-2.0 */
/* accel.yaml(5), and the flags of accel-launch(1), from the table. */
#include "runtime/config/schema.h"

#include <ctype.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/config/rules.h"
#include "runtime/base/banned.h"

/* A line of mdoc: a dot or quote at its start would be a macro. */
static void
prose(struct buf *out, const char *text)
{
	size_t	from = out->len;

	if (*text == '.' || *text == '\'')
		buf_adds(out, "\\&");
	for (; *text; text++)
		if (*text == '\\')
			buf_adds(out, "\\e");
		else if (*text == '.' && text[1] == ' ') {
			buf_adds(out, ".\n");	/* a sentence, a line */
			while (text[1] == ' ')
				text++;
			from = out->len;
		} else if (*text == ' ' && out->len - from +
		    strcspn(text + 1, " ") > 70) {
			buf_adds(out, "\n");
			from = out->len;
		} else
			buf_addf(out, "%c", *text);
	buf_adds(out, "\n");
}

static void
field(struct buf *out, const struct config *c, int id)
{
	static const char *const types[] = { "true or false",
	    "a whole number", "a number", "text", "one of these words",
	    "a list of texts" };
	const struct field	*f = &fields[id];
	struct buf		 def = BUF_INIT;

	buf_addf(out, ".It Ic %s\n", f->key);
	prose(out, f->help);
	buf_addf(out, "The value is %s", types[f->type]);
	if (f->type == TYPE_INT)
		buf_addf(out, " from %.0f to %.0f", f->lo, f->hi);
	config_get(c, (enum field_id)id, &def);
	if (def.len)
		buf_addf(out, "; not given, it is\n.Ql %s", buf_text(&def));
	buf_adds(out, def.len ? " .\n" : ".\n");
	buf_clear(&def);
	if (f->choice) {
		buf_adds(out, ".Bl -tag -width Ds -compact\n");
		for (const struct choice *k = f->choice; k->word; k++) {
			buf_addf(out, ".It Cm %s\n", k->word);
			prose(out, k->what);
		}
		buf_adds(out, ".El\n");
	}
	if (f->flags & FIELD_NOFLAG)
		buf_adds(out, "There is no flag.\n");
	else if (f->flag)
		buf_addf(out, "The flag is\n.Fl -%s .\n", f->flag);
	if (f->flags & FIELD_BOTH && !*f->group)
		buf_adds(out, "A SageMaker file has it too.\n");
	if (f->env)
		buf_addf(out, "Exported as\n.Ev %s .\n", f->env);
}

/* A clause becomes a sentence; a key in front keeps its spelling. */
static void
sentence(struct buf *out, const char *clause)
{
	struct buf	text = BUF_INIT;
	bool		key = memchr(clause, '_', strcspn(clause, " ")) != NULL;

	buf_addf(&text, "%c%s.", key ? *clause :
	    toupper((unsigned char)*clause), clause + 1);
	prose(out, buf_text(&text));
	buf_clear(&text);
}

void
rules_page(struct buf *out)
{
	buf_adds(out, ".Sh RULES\n"
	    ".Ic accel config check\n"
	    "tells all that is wrong with a file; an error in it keeps\n"
	    ".Ic accel launch\n"
	    "from starting.\n"
	    "Each rule has a name, which the message ends with.\n"
	    "What depends on the machines counts where that is known.\n"
	    ".Bl -tag -width Ds\n");
	for (const struct rule *r = rules; r->id; r++) {
		buf_addf(out, ".It Em %s Pq %s\n", r->id,
		    r->fatal ? "error" : "warning");
		sentence(out, r->law);
		buf_adds(out, ".br\nElse: ");
		prose(out, r->remedy);
	}
	buf_adds(out, ".El\n");
}

static const char reading[] =
    ".Sh READING\n"
    "A file is read as PyYAML, and so Accelerate, reads it: an unquoted\n"
    ".Ql no\nis false and\n.Ql 010\nis 8,\n"
    "of equal keys the last counts, merge keys and aliases are followed, and a\n"
    "tab between words is an error.\n"
    "Unlike there, a text such as\n.Ql 2.10\nstays as it is written.\n"
    ".Pp\n"
    "An unknown key at the top is an error that says which key is the nearest;\n"
    "in a section it is a warning, and the key is kept.\n"
    "What writes a file again keeps both, and\n"
    ".Xr accel-launch 1\ncan be told to let them be with\n"
    ".Fl -keep_unknown .\n"
    "Files of all versions of Accelerate from 0.11 on are read; the keys\n"
    ".Ic fp16\nand\n.Ic dynamo_backend\nthat older ones have at the top are "
    "understood.\n"
    ".Sh WRITING\n"
    "A new file is written as PyYAML writes it, with its keys in order; one "
    "whose\nname ends in\n.Pa .json\nis JSON.\n"
    "A file that is there is changed: the lines of those keys that changed, and "
    "no\nother byte.\n"
    "Comments, order, quotes and line ends stay; the comment of a key that goes\n"
    "stays behind.\n"
    "Where that cannot be, as with a value that has an anchor, the file is "
    "written\nanew, and a message says so.\n"
    "Where nothing changes, nothing is written.\n";

int
config_page(struct buf *out)
{
	struct config	c;
	const char	*title = NULL;

	config_init(&c);
	buf_adds(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from runtime/config/fields.def by \"make update-man\".\n"
	    ".Dd November 30, 2026\n.Dt ACCEL.YAML 5\n.Os\n.Sh NAME\n"
	    ".Nm accel.yaml\n.Nd configuration of a run\n.Sh DESCRIPTION\n"
	    "The file says how a training run is distributed.\n"
	    "It is YAML 1.1 as Accelerate writes it; JSON is read too.\n"
	    "A flag wins over the file, the file over the default.\n"
	    "Each key is also a flag of\n.Xr accel-launch 1 ,\n"
	    "unless it says otherwise.\n");
	for (int i = 0; i < FIELD_COUNT; i++) {
		if (fields[i].flags & FIELD_FLAGONLY)
			continue;
		if (!title || strcmp(title, fields[i].title)) {
			const char	*group = fields[i].group;

			if (title)
				buf_adds(out, ".El\n");
			title = fields[i].title;
			buf_addf(out, ".Ss %s\n", title);
			if (fields[i].flags & FIELD_CLOUD)
				buf_adds(out, "These keys are for "
				    "compute_environment AMAZON_SAGEMAKER; "
				    "with it, only the keys\n"
				    "named below and those that say so above "
				    "may be there.\n");
			if (*group)
				buf_addf(out, "These keys are in the mapping\n"
				    ".Ic %s .\n", group);
			buf_adds(out, ".Bl -tag -width Ds\n");
		}
		field(out, &c, i);
	}
	buf_adds(out, ".El\n");
	rules_page(out);
	buf_adds(out, reading);
	buf_adds(out, ".Sh SEE ALSO\n.Xr accel-launch 1\n");
	config_clear(&c);
	return buf_failed(out) ? -1 : 0;
}

static void
page_flag(const struct field *f, struct buf *out)
{
	static const char *const args[] = { "true | false", "n", "x", "text",
	    "word", "a , b ..." };

	buf_adds(out, ".It ");
	if (f->letter)
		buf_addf(out, "Fl %c , ", f->letter);
	buf_addf(out, "Fl -%s", f->flag ? f->flag : f->key);
	if (f->type == TYPE_BOOL && f->flags & FIELD_WORD)
		buf_adds(out, " Cm true | false");
	else if (f->flags & FIELD_APPEND)
		buf_adds(out, " Ar text");
	else if (f->type != TYPE_BOOL)
		buf_addf(out, " Ar %s", args[f->type]);
	if (f->no)
		buf_addf(out, " | Fl -%s", f->no);
	buf_adds(out, "\n");
	prose(out, f->ask);
	prose(out, f->help);
	if (f->choice) {
		buf_adds(out, "One of");
		for (const struct choice *k = f->choice; k->word; k++)
			buf_addf(out, "\n.Cm %s%s", k->word,
			    k[1].word ? " ," : " .");
		buf_adds(out, "\n");
	}
	if (f->flags & FIELD_APPEND)
		buf_adds(out, "It may be given again.\n");
	if (f->alias && !*f->group)
		buf_addf(out, "Also\n.Fl -%s .\n", f->alias);
	if (*f->group && f->flag)
		buf_addf(out, "In a file, it is\n.Ic %s\nin\n.Ic %s .\n",
		    f->key, f->group);
	else if (*f->group)
		buf_addf(out, "In a file, it is in\n.Ic %s .\n", f->group);
	if (f->flags & FIELD_FLAGONLY)
		buf_adds(out, "A file cannot say it.\n");
}

int
config_page_flags(struct buf *out)
{
	const char	*title = NULL;

	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (f->flags & FIELD_NOFLAG)
			continue;
		if (!title || strcmp(f->title, title)) {
			if (title)
				buf_adds(out, ".El\n");
			title = f->title;
			buf_addf(out, ".Ss %s\n.Bl -tag -width Ds\n", title);
		}
		page_flag(f, out);
	}
	buf_adds(out, ".El\n");
	return buf_failed(out) ? -1 : 0;
}
