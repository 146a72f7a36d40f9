/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/lines.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"

#include "runtime/base/banned.h"

enum {
	CONTEXT = 3,			/* lines around a change */
	MOST_CELLS = 1 << 24		/* of the table below: 64 MiB */
};

struct line {
	const char	*text;
	size_t		 n;		/* without the \n */
	bool		 ended;		/* by one */
};

struct edit {				/* a line of the output */
	char		 sign;		/* ' ', '-', '+' */
	const struct line *line;
};

static struct line *
split(const char *text, size_t *count)
{
	size_t		 n = 1;
	struct line	*lines;

	for (const char *s = text; *s; s++)
		n += *s == '\n';
	if (!(lines = calloc(n, sizeof *lines)))
		return NULL;
	for (*count = 0; *text; ++*count) {
		struct line *l = &lines[*count];

		l->text = text;
		l->n = strcspn(text, "\n");
		l->ended = text[l->n] == '\n';
		text += l->n + l->ended;
	}
	return lines;
}

static bool
same(const struct line *a, const struct line *b)
{
	return a->n == b->n && a->ended == b->ended &&
	    !memcmp(a->text, b->text, a->n);
}

/* The middle of both texts, where they differ: the longest common part stays.
 * far[i][j] is its length from a[i] and b[j] on. */
static int
middle(const struct line *a, size_t an, const struct line *b, size_t bn,
    struct edit *edits, size_t *count)
{
	size_t		 i = 0, j = 0, width = bn + 1;
	uint32_t	*far = NULL;

	if (an && bn && (an + 1) <= (size_t)MOST_CELLS / width &&
	    !(far = calloc((an + 1) * width, sizeof *far)))
		return -1;
	for (size_t x = an; far && x-- > 0;)
		for (size_t y = bn; y-- > 0;) {
			uint32_t down = far[(x + 1) * width + y];
			uint32_t right = far[x * width + y + 1];

			far[x * width + y] = same(&a[x], &b[y]) ?
			    far[(x + 1) * width + y + 1] + 1 :
			    down >= right ? down : right;
		}
	while (i < an || j < bn) {
		if (far && i < an && j < bn && same(&a[i], &b[j])) {
			edits[(*count)++] = (struct edit){ ' ', &a[i++] };
			j++;
		} else if (i < an && (j == bn || !far ||
		    far[(i + 1) * width + j] >= far[i * width + j + 1]))
			edits[(*count)++] = (struct edit){ '-', &a[i++] };
		else
			edits[(*count)++] = (struct edit){ '+', &b[j++] };
	}
	free(far);
	return 0;
}

/* Where a hunk's first line stands, as diff counts: the line before, where the
 * hunk has none. */
static void
range(struct buf *out, char sign, size_t before, size_t n)
{
	buf_addf(out, "%c%zu", sign, n ? before + 1 : before);
	if (n != 1)
		buf_addf(out, ",%zu", n);
}

static void
print_hunk(const struct edit *e, size_t from, size_t to, size_t a, size_t b,
    struct buf *out)
{
	size_t an = 0, bn = 0;

	for (size_t i = from; i < to; i++) {
		an += e[i].sign != '+';
		bn += e[i].sign != '-';
	}
	buf_adds(out, "@@ ");
	range(out, '-', a, an);
	buf_adds(out, " ");
	range(out, '+', b, bn);
	buf_adds(out, " @@\n");
	for (size_t i = from; i < to; i++) {
		buf_add(out, &e[i].sign, 1);
		buf_add(out, e[i].line->text, e[i].line->n);
		buf_adds(out, e[i].line->ended ? "\n" :
		    "\n\\ No newline at end of file\n");
	}
}

static void
print(const struct edit *e, size_t n, struct buf *out)
{
	size_t a = 0, b = 0, at = 0;

	while (at < n) {
		size_t first = at, from, to, last;

		while (first < n && e[first].sign == ' ')
			first++;
		if (first == n)
			return;
		from = first - at > CONTEXT ? first - CONTEXT : at;
		/* Changes with few lines between them share a hunk. */
		for (last = to = first; to < n && to - last <= 2 * CONTEXT + 1;
		    to++)
			if (e[to].sign != ' ')
				last = to;
		to = last + 1 + CONTEXT < n ? last + 1 + CONTEXT : n;
		a += from - at;
		b += from - at;
		print_hunk(e, from, to, a, b, out);
		for (at = from; at < to; at++) {
			a += e[at].sign != '+';
			b += e[at].sign != '-';
		}
	}
}

int
lines_diff(const char *was, const char *is, const char *was_name,
    const char *is_name, struct buf *out)
{
	struct line	*a = NULL, *b = NULL;
	struct edit	*edits = NULL;
	size_t		 an, bn, head = 0, tail = 0, count = 0;
	int		 ret = -1;

	if (!strcmp(was, is))
		return 0;
	if (!(a = split(was, &an)) || !(b = split(is, &bn)) ||
	    !(edits = calloc(an + bn + 1, sizeof *edits)))
		goto out;
	while (head < an && head < bn && same(&a[head], &b[head])) {
		edits[count++] = (struct edit){ ' ', &a[head] };
		head++;
	}
	while (tail < an - head && tail < bn - head &&
	    same(&a[an - 1 - tail], &b[bn - 1 - tail]))
		tail++;
	if (middle(a + head, an - head - tail, b + head, bn - head - tail,
	    edits, &count) < 0)
		goto out;
	for (size_t i = an - tail; i < an; i++)
		edits[count++] = (struct edit){ ' ', &a[i] };
	buf_addf(out, "--- %s\n+++ %s\n", was_name, is_name);
	print(edits, count, out);
	ret = buf_failed(out) ? -1 : 0;
out:
	free(a);
	free(b);
	free(edits);
	return ret;
}
