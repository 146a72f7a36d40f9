/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/near.h"

#include <ctype.h>
#include <string.h>

#include "runtime/base/banned.h"

enum { LONGEST = 80 };		/* longer words are compared by their start */

static int
fold(char c)
{
	return c == '-' ? '_' : tolower((unsigned char)c);
}

size_t
near_distance(const char *a, const char *b)
{
	size_t	rows[3][LONGEST + 1], *last = rows[0], *row = rows[1];
	size_t	*before = rows[2], *spare;
	size_t	na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);

	for (size_t j = 0; j <= nb; j++)
		last[j] = j;
	for (size_t i = 1; i <= na; i++) {
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t	same = fold(a[i - 1]) == fold(b[j - 1]);
			size_t	best = last[j - 1] + !same;

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]) &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[nb];
}

int
near_same(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b))
		a++, b++;
	return *a == *b;
}

int
near_enough(const char *text, const char *word)
{
	size_t	n = strlen(text), m = strlen(word), most = 1 + m / 4;

	/* each letter more is a change: most words need no table */
	if (n < LONGEST && m < LONGEST && (n > m ? n - m : m - n) > most)
		return 0;
	return near_distance(text, word) <= most;
}
