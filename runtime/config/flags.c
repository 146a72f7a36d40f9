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

/* Three or so words with commas, perhaps in brackets, to the lines of a list. */
static void
list_text(const char *value, struct buf *out)
{
	for (; *value; value++)
		if (*value == ',')
			buf_adds(out, "\n");
		else if (!strchr("()[] ", *value))
			buf_addf(out, "%c", *value);
}

static bool
is_truth(const char *s)
{
	return s && (!strcmp(s, "true") || !strcmp(s, "false") ||
	    !strcmp(s, "True") || !strcmp(s, "False"));
}

int
config_flag(struct config *c, char *const argv[], int *at, struct err *err)
{
	const char	*arg = argv[*at], *value;
	char		 name[80];
	size_t		 n;
	int		 id = -1, took = 1;
	struct buf	 list = BUF_INIT;

	if (arg[0] == '-' && arg[1] && !arg[2]) {
		for (int i = 0; i < FIELD_COUNT; i++)
			if (fields[i].letter && fields[i].letter == arg[1])
				id = i;
		value = NULL;
	} else {
		if (strncmp(arg, "--", 2) || !arg[2])
			return 0;
		n = strcspn(arg + 2, "=");
		if (n >= sizeof(name))
			return 0;
		memcpy(name, arg + 2, n);
		name[n] = '\0';
		value = arg[2 + n] ? arg + 3 + n : NULL;
		id = config_field_of(name);
	}
	if (id < 0 || fields[id].flags & FIELD_NOFLAG)
		return 0;
	if (!value && fields[id].type == TYPE_BOOL) {
		/* Accelerate's fsdp flags take a word; its others do not */
		value = "true";
		if (*fields[id].group && is_truth(argv[*at + 1])) {
			value = argv[*at + 1];
			took = 2;
		}
	} else if (!value) {
		value = argv[*at + 1];
		took = 2;
		if (!value) {
			err_set(err, "%s needs a value", arg);
			return err_hint(err, "%s", fields[id].ask);
		}
	}
	if (fields[id].type == TYPE_LIST) {
		list_text(value, &list);
		value = buf_text(&list);
	}
	if (config_set(c, (enum field_id)id, value, ORIGIN_FLAG, err)) {
		buf_clear(&list);
		return -1;
	}
	buf_clear(&list);
	c->origin[id] = ORIGIN_FLAG;
	for (size_t i = 0; i < sizeof(paradigms) / sizeof(paradigms[0]); i++)
		if (paradigms[i].id == (enum field_id)id &&
		    *(bool *)config_at(c, &fields[id]) &&
		    config_set(c, FIELD_main_distributed_type,
		    paradigms[i].type, ORIGIN_FLAG, err))
			return -1;
	*at += took;
	return 1;
}

int
config_help(struct buf *out)
{
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (!i || strcmp(f->title, fields[i - 1].title))
			buf_addf(out, "%s%s:\n", i ? "\n" : "", f->title);
		if (f->flags & FIELD_NOFLAG)
			continue;
		buf_adds(out, "  ");
		if (f->letter)
			buf_addf(out, "-%c, ", f->letter);
		buf_addf(out, "--%s", f->flag ? f->flag : f->key);
		if (f->type == TYPE_INT || f->type == TYPE_REAL)
			buf_adds(out, " N");
		else if (f->type == TYPE_CHOICE)
			buf_adds(out, " WORD");
		else if (f->type != TYPE_BOOL)
			buf_adds(out, " TEXT");
		buf_addf(out, "\n        %s\n", f->ask);
		if (f->choice) {
			buf_adds(out, "        ");
			for (const struct choice *k = f->choice; k->word; k++)
				buf_addf(out, "%s%s", k == f->choice ? "" : "|",
				    k->word);
			buf_adds(out, "\n");
		}
	}
	return buf_failed(out) ? -1 : 0;
}
