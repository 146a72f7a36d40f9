/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a configuration: defaults, from text, to text. */
#include "runtime/config/intern.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/near.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

static int
put_default(struct config *c, enum field_id id)
{
	const struct field	*f = &fields[id];
	void			*at = config_at(c, f);
	char			*copy = NULL;

	c->origin[id] = ORIGIN_DEFAULT;
	switch (f->type) {
	case TYPE_BOOL:
		*(bool *)at = f->def.b;
		return 0;
	case TYPE_INT:
		*(long *)at = f->def.i;
		return 0;
	case TYPE_REAL:
		*(double *)at = f->def.r;
		return 0;
	case TYPE_CHOICE:
		*(unsigned *)at = (unsigned)f->def.i;
		return 0;
	case TYPE_TEXT:
	case TYPE_LIST:
		if (f->def.s && !(copy = strdup(f->def.s)))
			return -1;
		free(*(char **)at);
		*(char **)at = copy;
	}
	return 0;
}

void
config_init(struct config *c)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < FIELD_COUNT; i++)
		(void)put_default(c, (enum field_id)i);
}

void
config_clear(struct config *c)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (fields[i].type == TYPE_TEXT || fields[i].type == TYPE_LIST)
			free(*(char **)config_at(c, &fields[i]));
	for (size_t i = 0; i < c->extra_count; i++) {
		free(c->extra[i].group);
		free(c->extra[i].key);
		free(c->extra[i].text);
	}
	free(c->extra);
	free(c->path);
	strv_clear(&c->warnings);
	memset(c, 0, sizeof(*c));
}

int
config_copy(struct config *to, const struct config *from)
{
	bool	failed = false;

	*to = *from;
	to->warnings = (struct strv)STRV_INIT;
	to->faults = NULL;
	for (int i = 0; i < FIELD_COUNT; i++) {
		char	**at;

		if (fields[i].type != TYPE_TEXT && fields[i].type != TYPE_LIST)
			continue;
		at = config_at(to, &fields[i]);
		if (*at && !(*at = strdup(*at)))
			failed = true;
	}
	if (to->path && !(to->path = strdup(to->path)))
		failed = true;
	to->extra = calloc(from->extra_count + 1, sizeof(*to->extra));
	if (!to->extra) {
		to->extra_count = 0;
		failed = true;
	}
	for (size_t i = 0; i < to->extra_count; i++) {
		to->extra[i].group = strdup(from->extra[i].group);
		to->extra[i].key = strdup(from->extra[i].key);
		to->extra[i].text = strdup(from->extra[i].text);
		failed |= !to->extra[i].group || !to->extra[i].key ||
		    !to->extra[i].text;
	}
	if (!failed)
		return 0;
	config_clear(to);
	config_init(to);
	return -1;
}

static bool
truth(const char *text, bool *out)
{
	static const char *const	words[2][6] = {
		{ "n", "no", "f", "false", "off", "0" },
		{ "y", "yes", "t", "true", "on", "1" } };

	for (int v = 0; v < 2; v++)
		for (int i = 0; i < 6; i++)
			if (!strcasecmp(text, words[v][i])) {
				*out = v;
				return true;
			}
	return false;
}

static bool
utf8(const char *text)
{
	const unsigned char	*s = (const unsigned char *)text;

	while (*s) {
		int		 more = *s < 0x80 ? 0 : *s >= 0xf0 ? 3 :
		    *s >= 0xe0 ? 2 : 1;
		uint32_t	 u = *s;

		if ((*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
			return false;
		u &= more ? 0x3fU >> more : 0x7fU;
		s++;
		for (int i = 0; i < more; i++, s++) {
			if ((*s & 0xc0) != 0x80)
				return false;
			u = u << 6 | (*s & 0x3f);
		}
		if ((more == 2 && u < 0x800) || (more == 3 && u < 0x10000) ||
		    (u >= 0xd800 && u < 0xe000) || u > 0x10ffff)
			return false;
	}
	return true;
}

/* A value of any kind, as it will stand in a file. */
static int
tree_set(const struct field *f, char **at, const char *text, struct err *err)
{
	struct buf	flow = BUF_INIT;
	char		*copy;

	if (yaml_flow(text, &flow, err)) {
		buf_clear(&flow);
		return err_at(err, "%s", f->key);
	}
	copy = buf_detach(&flow);
	if (!copy)
		return err_nomem(err);
	free(*at);
	*at = copy;
	return 0;
}

static int
text_set(const struct field *f, char **at, const char *text, struct err *err)
{
	char	*copy;
	size_t	 n = strlen(text);
	bool	 ended = f->type != TYPE_LIST || !n || text[n - 1] == '\n';

	if (!utf8(text)) {
		err_set(err, "%s: the text is not UTF-8", f->key);
		return err_hint(err, "save it as UTF-8");
	}
	if (f->flags & FIELD_TREE)
		return tree_set(f, at, text, err);
	if (f->flags & FIELD_HOST && strchr(text, '@')) {
		err_set(err, "%s: \"%s\" has a user name", f->key, text);
		return err_hint(err, "give the host alone; the user belongs in "
		    "~/.ssh/config");
	}
	copy = malloc(n + 2);
	if (!copy)
		return err_nomem(err);
	memcpy(copy, text, n);
	if (!ended)
		copy[n++] = '\n';
	copy[n] = '\0';
	free(*at);
	*at = copy;
	return 0;
}

static int
choice_set(const struct field *f, unsigned *at, const char *text,
    struct err *err)
{
	struct buf	words = BUF_INIT;

	for (unsigned i = 0; f->choice[i].word; i++) {
		const char	*also = f->choice[i].also;
		int		(*differ)(const char *, const char *) =
		    f->flags & FIELD_NOCASE ? strcasecmp : strcmp;

		if (!differ(f->choice[i].word, text) ||
		    (also && !differ(also, text))) {
			*at = i;
			return 0;
		}
	}
	err_set(err, "%s: \"%s\" is none of its values", f->key, text);
	for (unsigned i = 0; f->choice[i].word; i++) {
		if (near_enough(text, f->choice[i].word)) {
			err_hint(err, "did you mean %s?", f->choice[i].word);
			buf_clear(&words);
			return -1;
		}
		buf_addf(&words, "%s%s", i ? ", " : "", f->choice[i].word);
	}
	err_hint(err, "one of: %s", buf_text(&words));
	buf_clear(&words);
	return -1;
}

int
config_set(struct config *c, enum field_id id, const char *text,
    enum origin origin, struct err *err)
{
	const struct field	*f = &fields[id];
	void			*at = config_at(c, f);
	int			 rc = 0;

	if (f->type != TYPE_LIST && (!*text || !strcmp(text, "null") ||
	    (id == FIELD_main_num_processes && !strcmp(text, "-1")))) {
		if (f->type == TYPE_TEXT) {	/* null, whatever the default */
			free(*(char **)at);
			*(char **)at = NULL;
			c->origin[id] = origin;
			return 0;
		}
		return put_default(c, id) ? err_nomem(err) : 0;
	}
	switch (f->type) {
	case TYPE_BOOL:
		if (!truth(text, at)) {
			err_set(err, "%s: \"%s\" is neither true nor false",
			    f->key, text);
			rc = err_hint(err, "write true or false");
		}
		break;
	case TYPE_INT:
		rc = num_parse(text, (long)f->lo, (long)f->hi, at);
		if (rc) {
			err_set(err, "%s: \"%s\" is no whole number from %.0f "
			    "to %.0f", f->key, text, f->lo, f->hi);
			err_hint(err, "%s", f->help);
		}
		break;
	case TYPE_REAL:
		rc = num_parse_real(text, f->lo, f->hi, at);
		if (rc) {
			err_set(err, "%s: \"%s\" is no number from %g to %g",
			    f->key, text, f->lo, f->hi);
			err_hint(err, "%s", f->help);
		}
		break;
	case TYPE_CHOICE:
		rc = choice_set(f, at, text, err);
		break;
	case TYPE_TEXT:
	case TYPE_LIST:
		rc = text_set(f, at, text, err);
	}
	if (!rc)
		c->origin[id] = origin;
	return rc;
}

bool
config_null(const struct config *c, enum field_id id)
{
	const struct field	*f = &fields[id];

	switch (f->type) {
	case TYPE_TEXT:
	case TYPE_LIST:
		return !*(char *const *)config_at(c, f);
	case TYPE_INT:
		return *(const long *)config_at(c, f) < (long)f->lo;
	case TYPE_REAL:
		return *(const double *)config_at(c, f) < f->lo;
	default:
		return false;
	}
}

/* As Python prints a float that is neither huge nor tiny: the fewest decimals,
 * one at least, that give the same number. */
static int
real_get(double value, struct buf *out)
{
	char	text[400];
	double	again;

	for (int decimals = 1; decimals <= 24; decimals++) {
		snprintf(text, sizeof(text), "%.*f", decimals, value);
		if (!num_parse_real(text, -HUGE_VAL, HUGE_VAL, &again) &&
		    !(again < value) && !(again > value))
			break;
	}
	return buf_adds(out, text);
}

int
config_get(const struct config *c, enum field_id id, struct buf *out)
{
	const struct field	*f = &fields[id];
	const void		*at = config_at(c, f);

	if (config_null(c, id))
		return buf_adds(out, "");
	if (f->flags & FIELD_SECRET)
		return buf_adds(out, "(secret)");
	switch (f->type) {
	case TYPE_BOOL:
		return buf_adds(out, *(const bool *)at ? "true" : "false");
	case TYPE_INT:
		return buf_addf(out, "%ld", *(const long *)at);
	case TYPE_REAL:
		return real_get(*(const double *)at, out);
	case TYPE_CHOICE:
		return buf_adds(out, f->choice[*(const unsigned *)at].word);
	default:
		return buf_adds(out, *(char *const *)at);
	}
}

bool
config_belongs(const struct config *c, enum field_id id)
{
	unsigned	flags = fields[id].flags;

	if (flags & FIELD_BOTH)
		return true;
	return (c->main.compute_environment == place_AMAZON_SAGEMAKER) ==
	    ((flags & FIELD_CLOUD) != 0);
}

bool
config_applies(const struct config *c, enum field_id id)
{
	return config_belongs(c, id) && fields[id].when(c);
}

size_t
config_choices(const struct config *c, enum field_id id)
{
	const struct choice	*list = fields[id].choice;
	bool			 cloud = c->main.compute_environment ==
	    place_AMAZON_SAGEMAKER;
	size_t			 n = 0;

	while (list && list[n].word && (cloud || !list[n].cloud))
		n++;
	return n;
}

bool
config_named(const char *text, const char *name)
{
	if (!name)
		return false;
	for (; *text && *name; text++, name++)
		if (*text != *name && !(*text == '-' && *name == '_'))
			return false;
	return !*text && !*name;
}

int
config_field_of(const char *key)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (config_named(key, fields[i].flag) ||
		    config_named(key, fields[i].key))
			return i;
	for (int i = 0; i < FIELD_COUNT; i++)
		if (config_named(key, fields[i].alias))
			return i;
	return -1;
}

const char *
config_retired(const char *key)
{
	static const struct { const char *key, *hint; } gone[] = {
#define RETIRED(key, hint)	{ key, hint },
#include "runtime/config/retired.def"
#undef RETIRED
	};

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (config_named(key, gone[i].key))
			return gone[i].hint;
	return NULL;
}

const char *
config_near(const char *key)
{
	const char	*best = NULL;
	size_t		 least = SIZE_MAX;

	for (int i = 0; i < FIELD_COUNT; i++) {
		const char	*name = fields[i].flag ? fields[i].flag :
		    fields[i].key;
		size_t		 d = near_distance(key, name);

		if (d < least && near_enough(key, name)) {
			least = d;
			best = name;
		}
	}
	return best;
}

char *
config_default_path(void)
{
	const char	*hf = getenv("HF_HOME"), *xdg;
	struct buf	 path = BUF_INIT;

	xdg = getenv("XDG_CACHE_HOME");
	if (hf && hf[0] == '~' && (hf[1] == '/' || !hf[1]))
		buf_addf(&path, "%s%s", file_home(), hf + 1);
	else if (hf && *hf)
		buf_adds(&path, hf);
	else if (xdg && xdg[0] == '~' && (xdg[1] == '/' || !xdg[1]))
		buf_addf(&path, "%s%s/huggingface", file_home(), xdg + 1);
	else if (xdg && *xdg)
		buf_addf(&path, "%s/huggingface", xdg);
	else
		buf_addf(&path, "%s/.cache/huggingface", file_home());
	buf_adds(&path, "/accelerate/default_config.yaml");
	return buf_detach(&path);
}
