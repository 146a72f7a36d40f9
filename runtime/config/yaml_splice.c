/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/yaml_splice.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/config/yaml_tree.h"
#include "runtime/base/banned.h"

size_t
tree_line(const struct tree *tree, size_t at)
{
	size_t	mark = tree->size >= 3 &&
	    !memcmp(tree->text, "\xef\xbb\xbf", 3) ? 3 : 0;

	/* A byte-order mark stays in front of the first line. */
	while (at > mark && tree->text[at - 1] != '\n' &&
	    (tree->text[at - 1] != '\r' || tree->text[at] == '\n'))
		at--;
	return at;
}

size_t
tree_next_line(const struct tree *tree, size_t at)
{
	while (at < tree->size && tree->text[at] != '\n' &&
	    tree->text[at] != '\r')
		at++;
	if (at + 1 < tree->size && tree->text[at] == '\r' &&
	    tree->text[at + 1] == '\n')
		at++;
	return at < tree->size ? at + 1 : at;
}

void
splices_init(struct splices *s, const struct tree *tree)
{
	const char	*first = memchr(tree->text, '\n', tree->size);

	*s = (struct splices){ .tree = tree, .newline = "\n" };
	if (first && first > tree->text && first[-1] == '\r')
		s->newline = "\r\n";
}

void
splices_clear(struct splices *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->item[i].text);
	free(s->item);
	*s = (struct splices){ 0 };
}

void
splice_text(struct splices *s, size_t start, size_t end, const char *text)
{
	struct splice	*grown = realloc(s->item,
	    (s->count + 1) * sizeof(*grown));
	char		*copy = strdup(text);

	if (grown)
		s->item = grown;
	if (!grown || !copy) {
		free(copy);
		s->failed = true;
		return;
	}
	grown[s->count] = (struct splice){ start, end, s->count, copy };
	s->count++;
}

void
splice_buf(struct splices *s, size_t start, size_t end, struct buf *text)
{
	if (buf_failed(text))
		s->failed = true;
	else
		splice_text(s, start, end, buf_text(text));
	buf_clear(text);
}

void
splices_comments(const struct splices *s, size_t start, size_t end,
    struct buf *out)
{
	const struct tree	*t = s->tree;
	size_t			 next = 0;

	for (size_t i = start; i < end; i++) {
		size_t	line, stop;

		/* what looks like a comment within a word is none */
		while (next < t->count && (t->all[next]->end <= i ||
		    t->all[next]->type != NODE_SCALAR))
			next++;
		if (next < t->count && t->all[next]->start <= i) {
			i = t->all[next]->end - 1;
			continue;
		}
		if (t->text[i] != '#')
			continue;
		line = tree_line(t, i);
		for (stop = line; t->text[stop] == ' '; stop++)
			;
		buf_add(out, t->text + line, stop - line);
		for (stop = i; stop < t->size &&
		    !strchr("\r\n", t->text[stop]); stop++)
			;
		buf_add(out, t->text + i, stop - i);
		buf_adds(out, s->newline);
		i = stop;
	}
}

void
splice_cut(struct splices *s, size_t start, size_t end)
{
	struct buf	left = BUF_INIT;

	splices_comments(s, start, end, &left);
	splice_buf(s, start, end, &left);
}

static int
by_place(const void *a, const void *b)
{
	const struct splice	*x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* what is put in front of a place comes before what replaces it */
	if ((x->end > x->start) != (y->end > y->start))
		return x->end > x->start ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

int
splices_apply(struct splices *s, struct buf *out)
{
	const struct tree	*t = s->tree;
	size_t			 at = 0;

	if (s->failed)
		return -1;
	if (s->count)
		qsort(s->item, s->count, sizeof(*s->item), by_place);
	for (size_t i = 0; i < s->count; i++) {
		const struct splice	*item = &s->item[i];

		if (item->start < at)
			return -1;
		buf_add(out, t->text + at, item->start - at);
		/* a line that is added behind a last one without an end */
		if (item->start == t->size && item->end == t->size &&
		    strchr(item->text, '\n') && out->len &&
		    !strchr("\r\n", out->data[out->len - 1]))
			buf_adds(out, s->newline);
		buf_adds(out, item->text);
		at = item->end;
	}
	buf_add(out, t->text + at, t->size - at);
	return buf_failed(out) ? -1 : 0;
}
