/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds in which hosts measure each other. */
#include "runtime/launch/survey.h"

#include <stdlib.h>

#include "tests/tap.h"

enum { MOST = 40 };

int
main(void)
{
	for (size_t n = 2; n <= MOST; n++) {
		static int	met[MOST][MOST];
		size_t		partner[MOST], rounds = n + n % 2 - 1;
		int		wrong = 0, each = 0;

		memset(met, 0, sizeof met);
		for (size_t r = 0; r < rounds; r++) {
			survey_round(n, r, partner);
			for (size_t i = 0; i < n; i++) {
				size_t p = partner[i];

				if (p == n) {
					wrong += n % 2 == 0;	/* rests */
					continue;
				}
				wrong += p > n || p == i || partner[p] != i;
				if (p < n)
					met[i][p]++;
			}
		}
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n; k++)
				each += met[i][k] == (i != k);
		ok(!wrong && each == (int)(n * n), "%zu hosts: in %zu rounds "
		    "each meets each once, and one at a time", n, rounds);
	}
	return tap_done();
}
