/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction takes 8 bytes and gives its result 3 cycles later, so three
 * checksums of three neighbouring blocks run side by side and are joined:
 * a checksum is a polynomial modulo P, and "followed by n bytes" is a product
 * with x^(8n), which is cheap once a block.
 */
#include "runtime/base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/banned.h"

#define POLY 0x82f63b78u	/* bit-reversed */
#define BLOCK 8192u		/* bytes: 2^13, so x^(8n) is x^(2^16) */

uint32_t
crc32c_plain(uint32_t crc, const void *data, size_t n)
{
	const unsigned char *p = data;
	uint32_t table[16];

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t c = i;

		for (int k = 0; k < 4; k++)
			c = c & 1 ? c >> 1 ^ POLY : c >> 1;
		table[i] = c;
	}
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

#if defined(__x86_64__)
/* a * b modulo P; the highest bit is x^0. */
static uint32_t
multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a != 0; a <<= 1) {
		if (a & 0x80000000u)
			product ^= b;
		b = b & 1 ? b >> 1 ^ POLY : b >> 1;
	}
	return product;
}

__attribute__((target("sse4.2"))) static uint64_t
eight(uint64_t crc, const unsigned char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
	return __builtin_ia32_crc32di(crc, word);
}

__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse(uint32_t crc, const unsigned char *p, size_t n)
{
	uint64_t c = ~crc;
	uint32_t shift = 1u << 30;		/* x */

	if (n >= 8 * BLOCK) {
		for (int i = 0; i < 16; i++)
			shift = multiply(shift, shift);
		for (; n >= 3 * BLOCK; p += 3 * BLOCK, n -= 3 * BLOCK) {
			uint64_t d = 0, e = 0;

			for (size_t i = 0; i < BLOCK; i += 8) {
				c = eight(c, p + i);
				d = eight(d, p + BLOCK + i);
				e = eight(e, p + 2 * BLOCK + i);
			}
			c = multiply(shift, (uint32_t)c) ^ d;
			c = multiply(shift, (uint32_t)c) ^ e;
		}
	}
	for (; n >= 8; p += 8, n -= 8)
		c = eight(c, p);
	for (; n > 0; p++, n--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p);
	return ~(uint32_t)c;
}
#endif

uint32_t
crc32c(uint32_t crc, const void *data, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse(crc, data, n);
#endif
	return crc32c_plain(crc, data, n);
}
