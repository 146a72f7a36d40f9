/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON writes a character above U+FFFF as two escapes, \ud83d\ude00, which YAML
 * does not know: it gets \U0001F600.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/config/yaml_tree.h"
#include "runtime/base/banned.h"

/* The half of a pair that stands there, or -1. */
static long
half(const char *text, size_t n, long from)
{
	char	 digits[5], *end;
	long	 value;

	if (n < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	memcpy(digits, text + 2, 4);
	digits[4] = '\0';
	value = strtol(digits, &end, 16);
	return *end || value < from || value > from + 0x3ff ? -1 : value - from;
}

size_t
tree_join(const struct tree *t, size_t from, struct buf *out,
    uint32_t *byte_of)
{
	size_t	characters = 0, step;

	for (size_t i = from; i < t->size; i += step) {
		long	high = half(t->text + i, t->size - i, 0xd800);
		long	low = high < 0 ? -1 : half(t->text + i + 6,
		    t->size - i - 6, 0xdc00);

		if (low >= 0) {
			buf_addf(out, "\\U%08lX", 0x10000 +
			    (high << 10 | low));
			for (int k = 0; k < 10; k++)
				byte_of[characters++] = (uint32_t)i;
			step = 12;
			continue;
		}
		/* what a backslash escapes is no escape's begin */
		step = t->text[i] == '\\' && i + 1 < t->size ? 2 : 1;
		for (size_t k = 0; k < step; k++)
			if ((t->text[i + k] & 0xc0) != 0x80)
				byte_of[characters++] = (uint32_t)(i + k);
		buf_add(out, t->text + i, step);
	}
	byte_of[characters] = (uint32_t)t->size;
	return characters;
}
