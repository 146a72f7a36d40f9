/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/streams.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

static int
wrong(struct err *err, const char *flag, const char *item, int n,
    const char *what)
{
	err_set(err, "--%s: \"%.*s\" %s", flag, n, item, what);
	return err_hint(err, "0 none, 1 stdout, 2 stderr, 3 both; or for some "
	    "local ranks: --%s 0:3,1:2", flag);
}

/* One "rank:n", of n bytes. */
static int
read_item(struct streams *s, const char *flag, const char *item, size_t n,
    struct err *err)
{
	const char		*colon = memchr(item, ':', n);
	size_t			 digits = colon ? (size_t)(colon - item) : 0;
	char			 number[16] = "";
	struct stream_of	*grown;
	long			 rank;

	if (!colon)
		return wrong(err, flag, item, (int)n, "is no rank:n");
	if (digits < sizeof number)
		memcpy(number, item, digits);
	if (num_parse(number, 0, 1 << 20, &rank) < 0)
		return wrong(err, flag, item, (int)digits, "is no local rank");
	if (n != digits + 2 || colon[1] < '0' || colon[1] > '3')
		return wrong(err, flag, colon + 1, (int)(n - digits - 1),
		    "is none of 0, 1, 2, 3");
	for (size_t i = 0; i < s->count; i++)
		if (s->of[i].rank == rank)
			return wrong(err, flag, item, (int)digits,
			    "is there twice");
	grown = realloc(s->of, (s->count + 1) * sizeof *s->of);
	if (!grown)
		return err_nomem(err);
	s->of = grown;
	s->of[s->count++] = (struct stream_of){ rank,
	    (unsigned)(colon[1] - '0') };
	return 0;
}

int
streams_parse(struct streams *s, const char *flag, const char *text,
    struct err *err)
{
	struct streams	 new = STREAMS_INIT;
	const char	*at = text;

	if (strlen(text) == 1 && *text >= '0' && *text <= '3')
		new.every = (unsigned)(*text - '0');
	else if (!strchr(text, ':'))
		return wrong(err, flag, text, (int)strlen(text),
		    "is none of 0, 1, 2, 3");
	else
		for (;; at++) {
			size_t n = strcspn(at, ",");

			if (read_item(&new, flag, at, n, err) < 0) {
				streams_clear(&new);
				return -1;
			}
			at += n;
			if (!*at)
				break;
		}
	streams_clear(s);
	*s = new;
	return 0;
}

unsigned
streams_of(const struct streams *s, long local_rank)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->of[i].rank == local_rank)
			return s->of[i].which;
	return s->every;
}

int
streams_any(const struct streams *s)
{
	unsigned any = s->every;

	for (size_t i = 0; i < s->count; i++)
		any |= s->of[i].which;
	return any != 0;
}

void
streams_clear(struct streams *s)
{
	free(s->of);
	*s = (struct streams)STREAMS_INIT;
}
