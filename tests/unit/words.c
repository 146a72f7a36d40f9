/* SPDX-License-Identifier: Apache-2.0 */
/* Every field: found by each of its names, its condition without C, its value
 * written and read, and a change of it seen. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/changes.h"
#include "runtime/config/words.h"
#include "tests/tap.h"

/* Fields of which a name does not lead back to them. */
static void
names(void)
{
	int	keys = 0, paths = 0, flags = 0, short_ones = 0;

	for (int i = 0; i < FIELD_COUNT; i++) {
		struct buf	path = BUF_INIT;
		const char	*flag = field_flag((enum field_id)i), *dot;
		char		 part[160], *s;

		if (field_named(fields[i].key, NULL) != i)
			printf("# %s: %d\n", fields[i].key, ++keys);
		field_path((enum field_id)i, &path);
		if (field_named(buf_text(&path), NULL) != i)
			printf("# %s: %d\n", buf_text(&path), ++paths);
		/* fsdp_config.fsdp-version is fsdp.fsdp-version too */
		dot = strstr(buf_text(&path), "_config.");
		if (dot) {
			snprintf(part, sizeof part, "%.*s%s",
			    (int)(dot - buf_text(&path)), buf_text(&path),
			    dot + strlen("_config"));
			for (s = strchr(part, '.'); *s; s++)
				*s = *s == '_' ? '-' : *s;
			if (field_named(part, NULL) != i)
				printf("# %s: %d\n", part, ++short_ones);
		}
		buf_clear(&path);
		if (!flag)
			continue;
		buf_addf(&path, "--%s", flag);
		if (field_named(buf_text(&path), NULL) != i)
			printf("# %s: %d\n", buf_text(&path), ++flags);
		buf_clear(&path);
	}
	ok(!keys, "every key names its field");
	ok(!paths, "behind its section too");
	ok(!short_ones, "with a short section and hyphens as well");
	ok(!flags, "every flag does");
}

static void
wrong_names(void)
{
	static const char *const wrong[] = { "", ".", "fsdp.", ".x", "--",
	    "fsdp_config.num_processes", "nothing_like_it" };
	struct err	err = ERR_INIT;
	int		found = 0;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		found += field_named(wrong[i], &err) >= 0;
	ok(!found, "what is no key is none");
	field_named("fsdp.fsdp_verson", &err);
	is(err.hint, "did you mean fsdp_config.fsdp_version?",
	    "the nearest is looked for in the section");
}

static void
conditions(void)
{
	int	wrong = 0;

	for (int i = 0; i < FIELD_COUNT; i++) {
		struct buf	needs = BUF_INIT;
		const char	*s;

		field_needs((enum field_id)i, &needs);
		s = buf_text(&needs);
		if (strstr(s, "c->") || strpbrk(s, "=&|!<>\n\t") ||
		    strstr(s, "dist_") || strstr(s, "NULL") ||
		    (!*s && strcmp(fields[i].when_text, "true")))
			printf("# %s: %s: %d\n", fields[i].key, s, ++wrong);
		buf_clear(&needs);
	}
	ok(!wrong, "no condition has C in it");
}

/* A text that sets the field to something else than its default. */
static const char *
other(int id, const struct config *c)
{
	const struct field	*f = &fields[id];
	const void		*at = (const char *)c + f->offset;
	static char		 number[32];

	switch (f->type) {
	case TYPE_BOOL:
		return *(const bool *)at ? "false" : "true";
	case TYPE_INT:
		snprintf(number, sizeof number, "%.0f",
		    (double)*(const long *)at == f->hi ? f->lo : f->hi);
		return number;
	case TYPE_REAL:
		snprintf(number, sizeof number, "%.15g",
		    *(const double *)at == f->hi ? f->lo : f->hi);
		return number;
	case TYPE_CHOICE:
		return f->choice[*(const unsigned *)at ? 0 : 1].word;
	default:
		return "some,where";
	}
}

static void
changed(void)
{
	struct config	was;
	int		unseen = 0, back = 0, tried = 0, wrong = 0;

	config_init(&was);
	for (int i = 0; i < FIELD_COUNT; i++) {
		struct changes	changes = CHANGES_INIT;
		struct config	now;
		struct err	err = ERR_INIT;

		if (fields[i].flags & FIELD_SECRET ||
		    (fields[i].choice && !fields[i].choice[1].word))
			continue;	/* not told; only one value */
		config_copy(&now, &was);
		if (config_put(&now, (enum field_id)i, other(i, &was),
		    ORIGIN_USER, &err) < 0) {
			printf("# %s: %s\n", fields[i].key, err.text);
			wrong++;
		}
		changes_find(&changes, &was, &now, NULL);
		if (changes.count != 1 || changes.item[0].field != i)
			printf("# %s: unseen %d\n", fields[i].key, ++unseen);
		now.in_file[i] = true;
		config_unset(&now, (enum field_id)i, NULL);
		if (now.in_file[i] || now.origin[i] != ORIGIN_DEFAULT)
			printf("# %s: in the file %d\n", fields[i].key, ++back);
		changes_find(&changes, &was, &now, NULL);
		if (changes.count)
			printf("# %s: stays %d\n", fields[i].key, ++back);
		changes_clear(&changes);
		config_clear(&now);
		tried++;
	}
	ok(tried > 100 && !wrong, "fields can be set to another value (%d)",
	    tried);
	ok(!unseen, "which is the one difference then");
	ok(!back, "and unset, which leaves none");
	config_clear(&was);
}

static void
lists(void)
{
	static const struct { const char *text, *said; } cases[] = {
		{ "a,b", "[a, b]" }, { "[a, b]", "[a, b]" }, { "a", "[a]" },
		{ "[]", "[]" }, { "a b,c", "[a b, c]" },
		{ "a\nb,c", "[a, b,c]" },
		{ "a,", "[a]" },
	};
	struct config	c;

	config_init(&c);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf	said = BUF_INIT;

		config_put(&c, FIELD_main_commands, cases[i].text, ORIGIN_USER,
		    NULL);
		config_say(&c, FIELD_main_commands, &said);
		is(buf_text(&said), cases[i].said, "the list \"%s\"", i == 5 ?
		    "a, newline, b,c" : cases[i].text);
		buf_clear(&said);
	}
	config_clear(&c);
}

int
main(void)
{
	names();
	wrong_names();
	conditions();
	changed();
	lists();
	return tap_done();
}
