/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8-bit floats: each cast against a search through all 256 codes, and against
 * what torch gives (tests/data/fp8.txt).
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "runtime/base/half.h"
#include "runtime/train/accel.h"
#include "tests/tap.h"

#define NF32 1000000
#define MOST_STEPS 64

static const char *const name[] = { "e4m3", "e5m2" };

static uint32_t
bits_of(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return u;
}

static float
float_of(uint32_t u)
{
	float x;

	memcpy(&x, &u, sizeof(x));
	return x;
}

/* The formula of tests/python/fp8.py. */
static float
noise(int i, uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return float_of(i % 16 == 0 ? *s :
	    (*s & 0x80000000u) | (0x36000000u + (*s >> 3 & 0x0fffffffu)));
}

/* By the definition: the nearest of all positive codes, of two the even one. */
static uint8_t
search(accel_fp8_format f, float x, bool saturate)
{
	uint32_t most = f == ACCEL_E4M3 ? 0x7e : 0x7b, low = 0, high = most;
	uint8_t sign = bits_of(x) >> 31 ? 0x80 : 0;
	/* Where the next number would be, were there one. */
	double beyond = f == ACCEL_E4M3 ? 480 : 65536;
	double a = fabs((double)x), left, right;

	if (isnan(x))
		return sign | 0x7f;
	if (a >= beyond)
		return (uint8_t)(sign | (saturate ? most : most + 1));
	while (low < high) {		/* the last that is not above a */
		uint32_t mid = (low + high + 1) / 2;

		if ((double)accel_fp8_value(f, (uint8_t)mid) <= a)
			low = mid;
		else
			high = mid - 1;
	}
	left = a - (double)accel_fp8_value(f, (uint8_t)low);
	right = (low == most ? beyond :
	    (double)accel_fp8_value(f, (uint8_t)(low + 1))) - a;
	if (right < left || (right == left && low % 2 == 1))
		low++;
	if (low > most && saturate)
		low = most;
	return (uint8_t)(sign | low);
}

static uint64_t
fnv(uint64_t h, uint8_t c)
{
	return (h ^ c) * 1099511628211u;
}

static float
input(int kind, int i, uint32_t *s)
{
	return kind == 0 ? bf16_value((uint16_t)i) :
	    kind == 1 ? f16_value((uint16_t)i) : noise(i, s);
}

static const char *const from[] = { "bf16", "f16", "f32" };

/* Returns the hash of what torch gives: its E4M3 saturates, its E5M2 not. */
static uint64_t
cast(accel_fp8_format f, int kind)
{
	uint64_t h = 14695981039346656037u;
	uint32_t s = 1;
	int n = kind == 2 ? NF32 : 65536, wrong = 0;

	for (int i = 0; i < n; i++) {
		float x = input(kind, i, &s);
		uint8_t plain = accel_fp8_code(f, x, 0);
		uint8_t full = accel_fp8_code(f, x, 1);

		h = fnv(h, f == ACCEL_E4M3 ? full : plain);
		if ((plain != search(f, x, false) ||
		    full != search(f, x, true)) && wrong++ < 5)
			printf("# %a: %02x and saturated %02x, by search %02x "
			    "and %02x\n", (double)x, plain, full,
			    search(f, x, false), search(f, x, true));
	}
	ok(wrong == 0, "%s: %d %s are as the search says", name[f], n,
	    from[kind]);
	return h;
}

static FILE *
open_data(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/data/fp8.txt",
	    top != NULL ? top : ".");
	return fopen(path, "r");
}

static char *
next(char **at)
{
	char *word;

	do
		word = strsep(at, " \n");
	while (word != NULL && *word == '\0');
	return word != NULL ? word : "";
}

static void
values(char *at)
{
	accel_fp8_format f = strcmp(next(&at), "e5m2") == 0;
	int wrong = 0;

	for (int k = 0; k < 256; k++) {
		float want = strtof(next(&at), NULL);
		float got = accel_fp8_value(f, (uint8_t)k);

		if (isnan(want) ? !isnan(got) :
		    bits_of(got) != bits_of(want))
			wrong++;
		if (!isnan(want) && accel_fp8_code(f, want, 0) != k)
			wrong++;
	}
	ok(wrong == 0, "%s: the 256 codes are torch's, and return", name[f]);
}

static void
codes(char *at)
{
	accel_fp8_format f = strcmp(next(&at), "e5m2") == 0;
	char *kind = next(&at);
	int k = strcmp(kind, "bf16") == 0 ? 0 : strcmp(kind, "f16") == 0 ? 1 :
	    2;
	uint64_t want = strtoull(next(&at), NULL, 16);

	ok(cast(f, k) == want, "%s: and as torch's casts of all of them",
	    name[f]);
}

static void
delayed(accel *a, char *at)
{
	accel_fp8_format f = strcmp(next(&at), "e5m2") == 0;
	float history[1024], was;
	accel_fp8 s, *list = &s;
	int margin = (int)strtol(next(&at), NULL, 10);
	int recent = (int)strtol(next(&at), NULL, 10);
	int length = (int)strtol(next(&at), NULL, 10), n = 0;
	bool good = accel_fp8_init(&s, f, history, length) == ACCEL_OK;
	char *word;

	s.margin = margin;
	s.most_recent = recent;
	while (good && *(word = next(&at)) != '\0') {
		float x[3] = { 0, -strtof(word, NULL), (float)NAN }, back[3];
		float want = strtof(next(&at), NULL);
		uint8_t c[3];

		was = s.scale;
		accel_fp8_cast(&s, x, 3, c);
		good = c[1] == accel_fp8_code(f, x[1] * was, 1) &&
		    s.history[0] == -x[1];
		accel_fp8_expand(&s, c, 3, back);
		good = good && isnan(back[2]) &&
		    back[1] == accel_fp8_value(f, c[1]) * s.scale_inv;
		good = good && accel_fp8_update(a, &list, 1) == ACCEL_OK &&
		    s.scale == want && s.scale_inv == 1 / want;
		if (!good)
			printf("# step %d saw %g: scale %.9g, not %.9g\n", n,
			    (double)-x[1], (double)s.scale, (double)want);
		n++;
	}
	ok(good && n == 22, "%s: scales for margin %d, %s, history %d",
	    name[f], margin, recent ? "most recent" : "max", length);
}

/* Arrays of any length, where loops of vectors have ends. */
static void
lengths(void)
{
	static float x[100];
	float history[1];
	uint8_t c[101];
	accel_fp8 s;
	uint32_t seed = 9;
	int wrong = 0;

	for (int i = 0; i < 100; i++)
		x[i] = noise(i, &seed);
	for (int f = 0; f < 2; f++)
		for (size_t n = 0; n <= 100; n++) {
			float most = 0;

			accel_fp8_init(&s, (accel_fp8_format)f, history, 1);
			s.scale = 3;
			c[n] = 0xa5;
			accel_fp8_cast(&s, x, n, c);
			for (size_t i = 0; i < n; i++) {
				most = fmaxf(most, fabsf(x[i]));
				wrong += c[i] != accel_fp8_code(s.format,
				    x[i] * 3, 1);
			}
			wrong += c[n] != 0xa5 || s.history[0] != most;
		}
	ok(wrong == 0, "arrays of 0 to 100 numbers are cast as single ones");
}

int
main(void)
{
	FILE *file = open_data();
	static char line[16384];
	char *word, *at;
	accel *a = NULL;
	accel_fp8 s;
	float history[1];
	int n = 0;

	ok(accel_init(NULL, &a) == ACCEL_OK, "one rank");
	for (; file != NULL && fgets(line, sizeof(line), file) != NULL; n++) {
		at = line;
		word = next(&at);
		if (strcmp(word, "values") == 0)
			values(at);
		else if (strcmp(word, "codes") == 0)
			codes(at);
		else
			delayed(a, at);
	}
	ok(n == 13, "all lines of tests/data/fp8.txt");
	if (file != NULL)
		fclose(file);
	lengths();
	ok(accel_fp8_init(&s, ACCEL_E4M3, history, 0) == ACCEL_EINVAL,
	    "a history of nothing is refused");
	ok(accel_fp8_init(&s, (accel_fp8_format)2, history, 1) ==
	    ACCEL_EINVAL, "a third format is refused");
	accel_fini(a);
	return tap_done();
}
