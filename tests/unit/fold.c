/* SPDX-License-Identifier: Apache-2.0 */
/* Equal lines of many ranks become one, and none is lost; sets of ranks. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/launch/fold.h"
#include "tests/tap.h"

static struct buf	said = BUF_INIT;

static void
say(void *user, const struct ranks *ranks, int stream, const char *line,
    size_t n)
{
	(void)user;
	ranks_text(ranks, 6, &said);
	buf_addf(&said, "%s%.*s|", stream == 2 ? "!" : " ", (int)n, line);
}

/* What came out since the last time. */
static const char *
came(void)
{
	static struct buf was = BUF_INIT;

	buf_clear(&was);
	buf_adds(&was, buf_text(&said));
	buf_clear(&said);
	return buf_text(&was);
}

static void
put(struct fold *f, int64_t now, size_t rank, const char *line)
{
	fold_line(f, now, rank, 1, line, strlen(line));
}

static void
test_fold(void)
{
	struct fold *f = fold_new(4, 100, say, NULL);

	put(f, 0, 0, "a");
	put(f, 10, 2, "a");
	put(f, 20, 1, "b");
	is(came(), "", "lines wait");
	ok(fold_due(f) == 100, "up to a time");
	fold_tick(f, 99);
	is(came(), "", "not shorter");
	fold_tick(f, 100);
	is(came(), "0,2 a|", "the oldest is given out with its ranks");
	fold_tick(f, 200);
	is(came(), "1 b|", "then the next");
	ok(fold_due(f) == -1, "then there is nothing to wait for");

	for (size_t r = 0; r < 4; r++)
		put(f, 300, r, "all");
	is(came(), "0-3 all|", "what all ranks said does not wait");

	put(f, 400, 0, "x");
	put(f, 400, 0, "y");
	put(f, 400, 1, "y");
	put(f, 400, 1, "x");
	fold_flush(f);
	is(came(), "0 x|0,1 y|1 x|", "a rank's lines keep their order");

	put(f, 500, 0, "same");
	put(f, 500, 0, "same");
	put(f, 500, 1, "same");
	put(f, 500, 1, "same");
	put(f, 500, 1, "same");
	fold_flush(f);
	is(came(), "0,1 same|0,1 same|1 same|", "lines said twice stay twice");

	put(f, 600, 0, "s");
	fold_line(f, 600, 1, 2, "s", 1);
	fold_flush(f);
	is(came(), "0 s|1!s|", "stdout and stderr are two");
	put(f, 700, 3, "left behind");
	fold_free(f);
}

/* A flood: every line of every rank once, in order, and never many waiting. */
static void
test_flood(void)
{
	enum { WORLD = 8, LINES = 5000 };
	struct fold	*f = fold_new(WORLD, 100, say, NULL);
	size_t		 next[WORLD] = { 0 }, counted[WORLD] = { 0 }, wrong = 0;
	unsigned	 seed = 3;
	char		*rest, *item, text[40];

	said.max = (size_t)64 << 20;
	for (size_t left = WORLD * LINES; left;) {
		size_t r = (seed = seed * 1103515245 + 12345) >> 16 & 7;

		if (next[r] == LINES)
			continue;
		snprintf(text, sizeof text, "%zu", next[r]++ % 300);
		put(f, 0, r, text);
		left--;
	}
	fold_flush(f);
	rest = said.data;
	while (rest && (item = strsep(&rest, "|")) && *item) {
		char	*line = strchr(item, ' ');
		size_t	 number = strtoul(line, NULL, 10);

		for (char *at = item; at < line; at++) {
			size_t first = strtoul(at, &at, 10), last = first;

			if (*at == '-')
				last = strtoul(at + 1, &at, 10);
			for (; first <= last; first++)
				wrong += counted[first]++ % 300 != number;
		}
	}
	for (size_t r = 0; r < WORLD; r++)
		wrong += counted[r] != LINES;
	ok(!wrong, "a flood loses nothing and keeps each rank's order");
	buf_clear(&said);
	fold_free(f);
}

static void
test_long(void)
{
	struct fold	*f = fold_new(2, 100, say, NULL);
	char		*line = malloc(FOLD_BYTES + 2);

	memset(line, 'x', FOLD_BYTES + 1);
	put(f, 0, 0, "before");
	fold_line(f, 0, 0, 1, line, FOLD_BYTES + 1);
	ok(said.len > FOLD_BYTES && !strncmp(buf_text(&said), "0 before|0 xx", 13),
	    "a line longer than what may wait goes on at once, in order");
	buf_clear(&said);
	free(line);
	fold_free(f);
}

static void
test_ranks(void)
{
	struct ranks	r = RANKS_INIT(200);
	struct buf	text = BUF_INIT;

	ok(ranks_next(&r, 0) == 200 && !ranks_has(&r, 3), "an empty set");
	for (size_t i = 0; i < 200; i += i == 4 ? 2 : i < 60 ? 1 : 35)
		ranks_add(&r, i);
	ok(ranks_add(&r, 200) == -1, "no rank outside the world");
	ranks_add(&r, 199);
	ranks_text(&r, 10, &text);
	is(buf_text(&text), "0-4,6-60,95,130,165,199", "ranges");
	buf_clear(&text);
	ranks_text(&r, 2, &text);
	is(buf_text(&text), "0-4,6-60,...", "not too many of them");
	buf_clear(&text);
	ranks_clear(&r);
	ranks_add(&r, 8);
	ranks_add(&r, 7);
	ranks_add(&r, 7);
	ranks_text(&r, 2, &text);
	ok(r.count == 2, "a rank counts once");
	is(buf_text(&text), "7,8", "two neighbours are no range");
	buf_clear(&text);
	ranks_clear(&r);
}

int
main(void)
{
	test_fold();
	test_flood();
	test_long();
	test_ranks();
	buf_clear(&said);
	return tap_done();
}
