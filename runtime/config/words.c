/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/words.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/near.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

static bool
same(const char *a, const char *b)
{
	return b && strlen(a) == strlen(b) && !near_distance(a, b);
}

static bool
names(int id, const char *word)
{
	return same(word, fields[id].key) || same(word, fields[id].flag) ||
	    same(word, fields[id].alias);
}

/* "fsdp" is fine for "fsdp_config". */
static bool
is_section(const char *word, const char *section)
{
	size_t	n = strlen(word);

	return *section && (same(word, section) || (strlen(section) > n &&
	    !strcmp(section + n, "_config") && !strncmp(word, section, n)));
}

/* Row of a section's key; a key alone, without "fsdp_", is fine here. */
static int
in_section(const char *section, const char *key)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < FIELD_COUNT; i++) {
			const char	*tail = strchr(fields[i].key, '_');

			if (!is_section(section, fields[i].group))
				continue;
			if (pass ? tail && same(key, tail + 1) : names(i, key))
				return i;
		}
	return -1;
}

/* The key of the nearest field, those of a section first. */
static int
nearest(const char *section, const char *key)
{
	size_t	least = SIZE_MAX;
	int	best = -1;

	for (int i = 0; i < FIELD_COUNT; i++) {
		size_t	d = near_distance(key, fields[i].key);

		if (d >= least || (*section &&
		    !is_section(section, fields[i].group)))
			continue;
		if (near_enough(key, fields[i].key)) {
			least = d;
			best = i;
		}
	}
	return best;
}

int
field_named(const char *name, struct err *err)
{
	const char	*key = name + strspn(name, "-"), *dot;
	struct buf	 path = BUF_INIT;
	char		 section[64] = "";
	int		 id;

	dot = strchr(key, '.');
	if (dot && (size_t)(dot - key) < sizeof section) {
		memcpy(section, key, (size_t)(dot - key));
		section[dot - key] = '\0';
		key = dot + 1;
	}
	id = *section ? in_section(section, key) : config_field_of(key);
	if (id >= 0)
		return id;
	err_set(err, "there is no key \"%.200s\"", name);
	id = nearest(section, key);
	if (id < 0 && *section)
		id = nearest("", key);
	if (id < 0)
		return err_hint(err, "\"accel schema\" lists all keys");
	if (field_path((enum field_id)id, &path) == 0)
		err_hint(err, "did you mean %s?", buf_text(&path));
	buf_clear(&path);
	return -1;
}

int
field_path(enum field_id id, struct buf *out)
{
	const struct field	*f = &fields[id];

	return buf_addf(out, "%s%s%s", f->group, *f->group ? "." : "", f->key);
}

const char *
field_flag(enum field_id id)
{
	const struct field	*f = &fields[id];

	if (f->flags & FIELD_NOFLAG)
		return NULL;
	return f->flag ? f->flag : f->key;
}

/* A member as conditions name it, "fsdp.version": its field, or -1. */
static int
field_of_member(const char *member, size_t n)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (strlen(fields[i].member) == n &&
		    !strncmp(fields[i].member, member, n))
			return i;
	return -1;
}

/* A symbol of a choice, "dist_FSDP": its word, among those of any field. */
static const char *
word_of_symbol(const char *symbol, size_t n)
{
#define CHOICES(set)
#define CHOICE(set, sym, word, ...)					\
	if (n == sizeof #set "_" #sym - 1 &&				\
	    !strncmp(symbol, #set "_" #sym, n))				\
		return word;
#define END_CHOICES(set)
#include "runtime/config/choices.def"
#undef CHOICES
#undef CHOICE
#undef END_CHOICES
	return NULL;
}

static size_t
name_length(const char *s)
{
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789_.");
}

/* A member in a condition, "n" bytes behind "c->": its key; and what it must
 * be, where nothing compares it. */
static void
say_member(const char *member, size_t n, bool negated, struct buf *out)
{
	const char	*next = member + n + strspn(member + n, " \t\n");
	int		 id = field_of_member(member, n);

	if (id < 0) {
		buf_add(out, member, n);
		return;
	}
	buf_adds(out, fields[id].key);
	if (strchr("=<>!", *next) && *next && strncmp(next, "!= NULL", 7))
		return;
	if (fields[id].type == TYPE_BOOL)
		buf_adds(out, negated ? " is false" : " is true");
	else
		buf_adds(out, negated ? " is not set" : " is set");
}

/* The condition is C, as it stands in the table; this reads it aloud. */
int
field_needs(enum field_id id, struct buf *out)
{
	static const struct { const char *code, *word; } words[] = {
		{ "==", "is" }, { "!=", "is not" }, { "&&", "and" },
		{ "||", "or" }, { ">=", "is at least" },
		{ "<=", "is at most" }, { ">", "is above" },
		{ "<", "is below" }, { "!", "not " }, { "\n", " " },
		{ "\t", " " },
	};
	enum { WORDS = sizeof words / sizeof *words };
	const char	*at = fields[id].when_text, *word;
	const struct field *place = &fields[FIELD_main_compute_environment];
	bool		 always = !strcmp(at, "true");

	if (fields[id].flags & FIELD_CLOUD)
		buf_addf(out, "%s is %s%s", place->key,
		    place->choice[place_AMAZON_SAGEMAKER].word,
		    always ? "" : " and ");
	while (*at && !always) {
		bool	not = !strncmp(at, "!c->", 4);
		size_t	n, i = 0;

		if (not || !strncmp(at, "c->", 3)) {
			at += 3 + not;
			n = name_length(at);
			say_member(at, n, not, out);
			at += n + (strncmp(at + n, " != NULL", 8) ? 0 : 8);
			continue;
		}
		if ((n = name_length(at)))
			word = word_of_symbol(at, n);
		else {
			while (i < WORDS && strncmp(at, words[i].code,
			    strlen(words[i].code)))
				i++;
			word = i < WORDS ? words[i].word : NULL;
			n = word ? strlen(words[i].code) : 1;
		}
		if (word)
			buf_adds(out, word);
		else
			buf_add(out, at, n);
		at += n;
	}
	return buf_failed(out) ? -1 : 0;
}

/* Items behind commas, perhaps in brackets, to the lines of a list. */
static void
list_of(const char *text, struct buf *out)
{
	size_t	n = strlen(text);

	if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	while (n) {
		const char	*comma = memchr(text, ',', n);
		size_t		 item = comma ? (size_t)(comma - text) : n;
		size_t		 skip = item < n ? item + 1 : n;

		for (; item && *text == ' '; text++, item--, skip--, n--)
			;
		buf_add(out, text, item);
		buf_adds(out, "\n");
		text += skip;
		n -= skip;
	}
}

int
config_put(struct config *c, enum field_id id, const char *text,
    enum origin origin, struct err *err)
{
	struct buf	list = BUF_INIT;
	int		ret;

	if (fields[id].type != TYPE_LIST || strchr(text, '\n'))
		return config_set(c, id, text, origin, err);
	list_of(text, &list);
	ret = buf_failed(&list) ? err_nomem(err) :
	    config_set(c, id, buf_text(&list), origin, err);
	buf_clear(&list);
	return ret;
}

int
config_unset(struct config *c, enum field_id id, struct err *err)
{
	struct config	fresh;
	struct buf	text = BUF_INIT;
	int		ret;

	config_init(&fresh);
	ret = config_get(&fresh, id, &text) < 0 ? err_nomem(err) :
	    config_set(c, id, buf_text(&text), ORIGIN_DEFAULT, err);
	/* A list is null where it is not there, and empty where it is "". */
	if (ret == 0 && fields[id].type == TYPE_LIST &&
	    config_null(&fresh, id)) {
		char	**at = (char **)((char *)c + fields[id].offset);

		free(*at);
		*at = NULL;
	}
	c->in_file[id] = false;
	c->line[id] = 0;
	config_clear(&fresh);
	buf_clear(&text);
	return ret;
}

/* A line stays a line, and a terminal is told nothing. */
static void
say_text(const char *s, size_t n, struct buf *out)
{
	for (; n; s++, n--)
		if (*s == '\n')
			buf_adds(out, "\\n");
		else if ((unsigned char)*s < ' ' || *s == 0x7f)
			buf_addf(out, "\\x%02x", (unsigned)*s);
		else
			buf_add(out, s, 1);
}

int
config_environ(struct config *c, struct err *err)
{
	const char	*threads = getenv("OMP_NUM_THREADS");
	enum field_id	 id = FIELD_launch_num_cpu_threads_per_process;

	/* What OpenMP allows besides, "4,2" or nonsense, is left to it. */
	if (!threads || c->origin[id] > ORIGIN_ENV ||
	    num_parse(threads, (long)fields[id].lo, (long)fields[id].hi,
	    &(long){ 0 }) < 0)
		return 0;
	return config_set(c, id, threads, ORIGIN_ENV, err);
}

int
config_say(const struct config *c, enum field_id id, struct buf *out)
{
	struct buf	 text = BUF_INIT;
	const char	*s, *end;

	if (config_null(c, id))
		return buf_adds(out, "null");
	config_get(c, id, &text);
	s = buf_text(&text);
	if (fields[id].type != TYPE_LIST) {
		say_text(s, strlen(s), out);
	} else {
		buf_adds(out, "[");
		for (; (end = strchr(s, '\n')); s = end + 1) {
			say_text(s, (size_t)(end - s), out);
			buf_adds(out, end[1] ? ", " : "");
		}
		buf_adds(out, "]");
	}
	if (buf_failed(&text))
		out->failed = true;
	buf_clear(&text);
	return buf_failed(out) ? -1 : 0;
}

int
config_whence(const struct config *c, enum field_id id, struct buf *out)
{
	switch (c->origin[id]) {
	case ORIGIN_FLAG:
		return buf_addf(out, "flag --%s", field_flag(id) ?
		    field_flag(id) : fields[id].key);
	case ORIGIN_ENV:
		return buf_addf(out, "environment OMP_NUM_THREADS");
	case ORIGIN_FILE:
		buf_adds(out, c->path ? c->path : "file");
		return c->line[id] ? buf_addf(out, ":%d", c->line[id]) :
		    buf_adds(out, "");
	case ORIGIN_FOUND:
		return buf_adds(out, "this machine");
	case ORIGIN_PROPOSED:
		return buf_adds(out, "the proposal");
	case ORIGIN_USER:
		return buf_adds(out, "you");
	case ORIGIN_DEFAULT:
		break;
	}
	return buf_adds(out, "default");
}
