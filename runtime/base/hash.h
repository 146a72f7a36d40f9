/* SPDX-License-Identifier: Apache-2.0 */
/* hash: FNV-1a, 64 bits.  Tells two contents apart by accident, not by malice. */
#ifndef RUNTIME_BASE_HASH_H
#define RUNTIME_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t
hash_bytes(const void *data, size_t n)
{
	const unsigned char	*p = data;
	uint64_t		 h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}
#endif
