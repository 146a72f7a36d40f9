/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err: one error, in the caller's storage, with what to do about it.
 *
 * Functions return 0 or -1 and take "struct err *" last; NULL is allowed.
 * The first who knows what is wrong says it; those above add place, or nothing.
 */
#ifndef RUNTIME_BASE_ERR_H
#define RUNTIME_BASE_ERR_H

struct err {
	char text[480];		/* what failed, and where: one line, no full stop */
	char hint[480];		/* what to do, or "" */
};

#define ERR_INIT { "", "" }

/* Sets the text and clears the hint.  Returns -1, so that a function can end
 * with it. */
int err_set(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the hint.  Returns -1. */
int err_hint(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts a place in front of the text: "place: text".  Returns -1. */
int err_at(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Out of memory.  Returns -1. */
int err_nomem(struct err *err);

/* Prints "program: text" and, on a line of its own, the hint, on stderr. */
void err_print(const char *program, const struct err *err);
#endif
