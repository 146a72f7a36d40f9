/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yamltool: our reader, writer and editor, for tests in Python.
 *	yamltool trip		texts on stdin, each ended by a zero byte: of
 *				each "O" and what we write of it, or "E" and why
 *				not; ended alike
 *	yamltool keys		the table: group, key, type, range, words
 *	yamltool edit FILE KEY=VALUE...
 *				the file, changed; "KEY=" takes a key away.
 *				Exit 3 and why where it must be written anew, 4
 *				where a value is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/schema.h"

static int
trip(void)
{
	char	*text = NULL;
	size_t	 room = 0;
	ssize_t	 n;

	while ((n = getdelim(&text, &room, '\0', stdin)) > 0) {
		struct buf	out = BUF_INIT;
		struct err	err = ERR_INIT;
		struct config	c;

		config_init(&c);
		c.keep_unknown = true;
		if (config_parse(&c, text, (size_t)n - 1, "t", &err))
			printf("E%s", err.text);
		else if (config_print(&c, &out))
			printf("Eno memory");
		else
			printf("O%s", buf_text(&out));
		putchar('\0');
		buf_clear(&out);
		config_clear(&c);
	}
	free(text);
	return 0;
}

static int
keys(void)
{
	static const char *const	types[] = { "bool", "int", "real",
	    "text", "choice", "list" };

	struct config	plain;

	config_init(&plain);
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];

		if (f->flags & FIELD_FLAGONLY ||
		    !config_belongs(&plain, (enum field_id)i))
			continue;
		printf("%s\t%s\t%s\t%s\t%.0f\t%.0f\t", f->group, f->key,
		    types[f->type], f->flags & FIELD_BARE ? "bare" : "",
		    f->lo, f->hi);
		for (int w = 0; f->choice && f->choice[w].word; w++)
			printf("%s%s", w ? "," : "", f->choice[w].word);
		putchar('\n');
	}
	config_clear(&plain);
	return 0;
}

static int
set(struct config *c, const char *word, struct err *err)
{
	const char	*equals = strchr(word, '=');

	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strncmp(fields[i].key, word, (size_t)(equals - word)) &&
		    !fields[i].key[equals - word] &&
		    !(fields[i].flags & FIELD_FLAGONLY)) {
			struct buf	text = BUF_INIT;
			int		rc;

			/* a list's items stand between semicolons */
			for (const char *s = equals + 1; *s; s++)
				buf_addf(&text, "%c", fields[i].type ==
				    TYPE_LIST && *s == ';' ? '\n' : *s);
			rc = config_set(c, (enum field_id)i, buf_text(&text),
			    equals[1] ? ORIGIN_USER : ORIGIN_DEFAULT, err);
			buf_clear(&text);
			return rc;
		}
	return err_set(err, "no key %s", word);
}

static int
edit(const char *path, char **words)
{
	struct buf	 text = BUF_INIT, out = BUF_INIT;
	struct err	 err = ERR_INIT;
	struct config	 c;
	const char	*why;
	int		 rc = 1;

	config_init(&c);
	c.keep_unknown = true;
	if (config_read(&c, path, &err) || file_read(path, &text, &err))
		goto out;
	rc = 4;
	for (; *words; words++)
		if (set(&c, *words, &err))
			goto out;
	rc = config_update_text(&c, buf_text(&text), text.len, path, 0, &out,
	    &why, &err);
	if (rc > 0) {
		err_set(&err, "%s", why);
		rc = 3;
	}
	fwrite(buf_text(&out), 1, out.len, stdout);
out:
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	buf_clear(&text);
	buf_clear(&out);
	config_clear(&c);
	return rc < 0 ? 1 : rc;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "trip"))
		return trip();
	if (argc == 2 && !strcmp(argv[1], "keys"))
		return keys();
	if (argc > 2 && !strcmp(argv[1], "edit"))
		return edit(argv[2], argv + 3);
	return 2;
}
