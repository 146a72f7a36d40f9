/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/banned.h"

int
err_set(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	err->hint[0] = '\0';
	return -1;
}

int
err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof err->hint, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_at(struct err *err, const char *fmt, ...)
{
	char	old[sizeof err->text];
	va_list	ap;
	int	n;

	if (!err)
		return -1;
	memcpy(old, err->text, sizeof old);
	va_start(ap, fmt);
	n = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %.*s",
		    (int)(sizeof err->text - (size_t)n), old);
	return -1;
}

int
err_nomem(struct err *err)
{
	err_set(err, "out of memory");
	return err_hint(err, "free some memory, or use fewer ranks");
}

/* A name out of a file may hold what moves a terminal's cursor. */
static void
put_line(const char *text)
{
	for (; *text; text++)
		putc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text,
		    stderr);
	putc('\n', stderr);
}

void
err_print(const char *program, const struct err *err)
{
	fprintf(stderr, "%s: ", program);
	put_line(err->text);
	if (!err->hint[0])
		return;
	fprintf(stderr, "%*s  ", (int)strlen(program), "");
	put_line(err->hint);
}
