/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/shuffle.h"

#include "runtime/base/banned.h"

enum { WORDS = 624, SHIFT = 397 };

struct twister {
	uint32_t word[WORDS];
	int	 next;
};

static void
twister_seed(struct twister *t, uint32_t seed)
{
	t->word[0] = seed;
	for (uint32_t i = 1; i < WORDS; i++)
		t->word[i] = 1812433253u *
		    (t->word[i - 1] ^ t->word[i - 1] >> 30) + i;
	t->next = WORDS;
}

static void
twister_turn(struct twister *t)
{
	uint32_t *w = t->word;

	for (int i = 0; i < WORDS; i++) {
		uint32_t y = (w[i] & 0x80000000u) |
		    (w[(i + 1) % WORDS] & 0x7fffffffu);

		w[i] = w[(i + SHIFT) % WORDS] ^ y >> 1 ^
		    (y & 1 ? 0x9908b0dfu : 0);
	}
	t->next = 0;
}

static uint32_t
twister_draw(struct twister *t)
{
	uint32_t y;

	if (t->next == WORDS)
		twister_turn(t);
	y = t->word[t->next++];
	y ^= y >> 11;
	y ^= y << 7 & 0x9d2c5680u;
	y ^= y << 15 & 0xefc60000u;
	return y ^ y >> 18;
}

void
shuffle_order(int64_t *order, int64_t n, uint64_t seed)
{
	struct twister t;

	twister_seed(&t, (uint32_t)seed);
	if (n < (int64_t)SHUFFLE_LARGE) {
		for (int64_t i = 0; i < n; i++)
			order[i] = i;
		for (int64_t i = 0; i < n - 1; i++) {
			int64_t j = i + twister_draw(&t) % (n - i);
			int64_t keep = order[i];

			order[i] = order[j];
			order[j] = keep;
		}
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		uint64_t high = twister_draw(&t);
		uint64_t draw = high << 32 | twister_draw(&t);
		int64_t j = (int64_t)(draw % (uint64_t)(i + 1));

		order[i] = i;
		order[i] = order[j];
		order[j] = i;
	}
}
