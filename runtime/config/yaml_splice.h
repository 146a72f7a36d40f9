/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml_splice: changes to a text, collected first and then made at once.
 *
 * Places are bytes of the old text.  Two changes that overlap are refused: the
 * caller then writes the file anew.
 */
#ifndef RUNTIME_CONFIG_YAML_SPLICE_H
#define RUNTIME_CONFIG_YAML_SPLICE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct tree;

struct splice {
	size_t	 start, end, order;
	char	*text;			/* owned */
};

struct splices {
	const struct tree	*tree;	/* borrowed */
	const char		*newline;	/* the file's: "\n" or "\r\n" */
	struct splice		*item;
	size_t			 count;
	bool			 failed;	/* no memory */
};

void splices_init(struct splices *s, const struct tree *tree);
void splices_clear(struct splices *s);

/* Puts the text (or a buf's, which is cleared) in place of [start, end). */
void splice_text(struct splices *s, size_t start, size_t end, const char *text);
void splice_buf(struct splices *s, size_t start, size_t end, struct buf *text);
/* Takes whole lines out, and leaves their comments, a line each. */
void splice_cut(struct splices *s, size_t start, size_t end);

/* 0, or -1: changes that overlap, or no memory. */
int  splices_apply(struct splices *s, struct buf *out);

/* Where the line of a byte begins, and where the next one does. */
size_t tree_line(const struct tree *tree, size_t at);
size_t tree_next_line(const struct tree *tree, size_t at);
/* Adds the comments of [start, end), each as a line of its own. */
void splices_comments(const struct splices *s, size_t start, size_t end,
    struct buf *out);
#endif
