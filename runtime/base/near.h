/* SPDX-License-Identifier: Apache-2.0 */
/* near: which known word did they mean? */
#ifndef RUNTIME_BASE_NEAR_H
#define RUNTIME_BASE_NEAR_H

#include <stddef.h>

/* How many letters must be added, removed, replaced or swapped with their
 * neighbour to make one of the other; case and "-" for "_" count nothing. */
size_t near_distance(const char *a, const char *b);

/* True where nothing must be. */
int near_same(const char *a, const char *b);

/* True where a user may have meant "word" when writing "text". */
int near_enough(const char *text, const char *word);
#endif
