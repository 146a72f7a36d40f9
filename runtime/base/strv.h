/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strv: a list of texts that it owns, always ended by NULL: an argv or an
 * environment ("NAME=VALUE").
 */
#ifndef RUNTIME_BASE_STRV_H
#define RUNTIME_BASE_STRV_H

#include <stddef.h>

struct strv {
	char	**item;		/* NULL while empty; else item[count] is NULL */
	size_t	  count;
};

#define STRV_INIT { NULL, 0 }

/* Copies the text.  0, or -1 without memory. */
int strv_add(struct strv *v, const char *text);
int strv_addf(struct strv *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces NAME=... where the name is there already, else adds it. */
int strv_setenv(struct strv *v, const char *name, const char *value);

/* Each of them, NAME=VALUE. */
int strv_setenvs(struct strv *v, const struct strv *from);

/* The value behind "NAME=", borrowed, or NULL. */
const char *strv_getenv(const struct strv *v, const char *name);

/* Frees the texts and leaves *v empty and ready. */
void strv_clear(struct strv *v);
#endif
