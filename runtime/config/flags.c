/* SPDX-License-Identifier: Apache-2.0 */
/* The flags that come from the table. */
#include "runtime/config/intern.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

static const struct { enum field_id id; const char *type; } paradigms[] = {
	{ FIELD_launch_multi_gpu, "MULTI_GPU" },
	{ FIELD_launch_use_fsdp, "FSDP" },
	{ FIELD_launch_use_deepspeed, "DEEPSPEED" },
	{ FIELD_launch_use_megatron_lm, "MEGATRON_LM" },
	{ FIELD_launch_tpu, "XLA" },
};

struct given {
	int		 id;		/* row, or -1 */
	const char	*value;		/* behind "=", or NULL */
	bool		 no;		/* --no_tpu_cluster */
};

/* Which flag an argument is. */
static struct given
flag_of(const char *arg)
{
	struct given	 g = { .id = -1 };
	char		 name[80];
	size_t		 n;

	if (arg[0] == '-' && arg[1] && !arg[2]) {
		for (int i = 0; i < FIELD_COUNT; i++)
			if (fields[i].letter && fields[i].letter == arg[1])
				g.id = i;
		return g;
	}
	if (strncmp(arg, "--", 2) || !arg[2])
		return g;
	n = strcspn(arg + 2, "=");
	if (n >= sizeof(name))
		return g;
	memcpy(name, arg + 2, n);
	name[n] = '\0';
	if (arg[2 + n])
		g.value = arg + 3 + n;
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (f->flags & FIELD_NOFLAG)
			continue;
		if (config_named(name, f->flag ? f->flag : f->key) ||
		    (!*f->group && config_named(name, f->alias)))
			g.id = i;
		if (config_named(name, f->no)) {
			g.id = i;
			g.no = true;
		}
	}
	return g;
}

/* Words with commas, perhaps in brackets, to the lines of a list; where each
 * flag is one item, that item behind those before. */
static int
list_set(struct config *c, int id, const char *value, struct err *err)
{
	const struct field	*f = &fields[id];
	struct buf		 list = BUF_INIT;
	int			 rc;

	if (f->flags & FIELD_APPEND) {
		if (strchr(value, '\n'))
			return err_set(err, "--%s: a line break in a name",
			    f->flag ? f->flag : f->key);
		if (c->origin[id] == ORIGIN_FLAG)
			config_get(c, (enum field_id)id, &list);
		buf_addf(&list, "%s\n", value);
	} else {
		for (; *value; value++)
			if (*value == ',')
				buf_adds(&list, "\n");
			else if (!strchr("()[] ", *value))
				buf_addf(&list, "%c", *value);
	}
	rc = buf_failed(&list) ? err_nomem(err) : config_set(c,
	    (enum field_id)id, buf_text(&list), ORIGIN_FLAG, err);
	buf_clear(&list);
	return rc;
}

static int
paradigm(struct config *c, int id, struct err *err)
{
	for (size_t i = 0; i < sizeof(paradigms) / sizeof(paradigms[0]); i++)
		if (paradigms[i].id == (enum field_id)id &&
		    *(bool *)config_at(c, &fields[id]))
			return config_set(c, FIELD_main_distributed_type,
			    paradigms[i].type, ORIGIN_FLAG, err);
	return 0;
}

int
config_flag(struct config *c, char *const argv[], int *at, struct err *err)
{
	const char		*arg = argv[*at];
	struct given		 g = flag_of(arg);
	const struct field	*f;
	int			 took = 1, rc;

	if (g.id < 0)
		return 0;
	f = &fields[g.id];
	if (g.no && g.value) {
		err_set(err, "%s takes no value", arg);
		return err_hint(err, "write --%s", f->no);
	}
	if (!g.value && f->type == TYPE_BOOL && !(f->flags & FIELD_WORD))
		g.value = g.no ? "false" : "true";
	else if (!g.value) {
		g.value = argv[*at + 1];
		took = 2;
	}
	if (!g.value || (!*g.value && f->type != TYPE_TEXT)) {
		err_set(err, "%s needs a value", arg);
		return err_hint(err, "%s", f->ask);
	}
	rc = f->type == TYPE_LIST ? list_set(c, g.id, g.value, err) :
	    config_set(c, (enum field_id)g.id, g.value, ORIGIN_FLAG, err);
	if (rc || paradigm(c, g.id, err))
		return -1;
	c->origin[g.id] = ORIGIN_FLAG;
	*at += took;
	return 1;
}

static void
help_flag(const struct field *f, struct buf *out)
{
	static const char *const	forms[] = { "true|false", "N", "N",
	    "TEXT", "WORD", "A,B" };

	buf_adds(out, "  ");
	if (f->letter)
		buf_addf(out, "-%c, ", f->letter);
	buf_addf(out, "--%s", f->flag ? f->flag : f->key);
	if (f->flags & FIELD_APPEND)
		buf_adds(out, " TEXT");
	else if (f->type != TYPE_BOOL || f->flags & FIELD_WORD)
		buf_addf(out, " %s", forms[f->type]);
	if (f->no)
		buf_addf(out, ", --%s", f->no);
	if (f->alias && !*f->group)
		buf_addf(out, ", --%s", f->alias);
	buf_addf(out, "\n        %s\n", f->ask);
	if (f->choice) {
		size_t	column = 8;

		buf_adds(out, "       ");
		for (const struct choice *k = f->choice; k->word; k++) {
			column += strlen(k->word) + 1;
			if (column > 79) {
				buf_adds(out, "\n       ");
				column = 8 + strlen(k->word) + 1;
			}
			buf_addf(out, " %s", k->word);
		}
		buf_adds(out, "\n");
	}
}

int
config_help(struct buf *out)
{
	const char	*title = NULL;

	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (f->flags & FIELD_NOFLAG)
			continue;
		if (!title || strcmp(f->title, title))
			buf_addf(out, "%s%s:\n", title ? "\n" : "", f->title);
		title = f->title;
		help_flag(f, out);
	}
	return buf_failed(out) ? -1 : 0;
}
