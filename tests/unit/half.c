/* SPDX-License-Identifier: Apache-2.0 */
/* All 65536 values of both types, what lies between them, and the vectors
 * against the plain code. */
#include <math.h>
#include <stdlib.h>

#include "runtime/base/half.h"
#include "tests/tap.h"

/* The midpoint of two neighbours goes to the even one, what is nearer to one
 * goes to that one. */
static int
rounds(uint16_t (*of)(float), float (*value)(uint16_t), uint16_t infinity,
    double above)
{
	int bad = 0;

	for (uint16_t h = 0; h + 1 <= infinity; h++) {
		double x = (double)value(h);
		double y = h + 1 == infinity ? above :
		    (double)value((uint16_t)(h + 1));
		float mid = (float)((x + y) / 2);
		uint16_t even = h & 1 ? (uint16_t)(h + 1) : h;

		bad += of(mid) != even || of(-mid) != (even | 0x8000) ||
		    of(nextafterf(mid, 0)) != h ||
		    of(nextafterf(mid, INFINITY)) != h + 1;
	}
	return bad;
}

static int
exact(uint16_t (*of)(float), float (*value)(uint16_t))
{
	int bad = 0;

	for (uint32_t h = 0; h < 65536; h++) {
		float x = value((uint16_t)h);

		bad += isnan(x) ? !isnan(value(of(x))) : of(x) != h;
	}
	return bad;
}

/* Every kind of float: its upper 16 bits run, the lower are a few patterns. */
static float *
floats(size_t *n)
{
	static const uint32_t low[] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff,
	    0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x5000 };
	size_t k = sizeof(low) / sizeof(*low);
	float *x = malloc(65536 * k * sizeof(*x));

	*n = 0;
	for (uint32_t h = 0; x != NULL && h < 65536; h++)
		for (size_t i = 0; i < k; i++)
			x[(*n)++] = half_float(h << 16 | low[i]);
	return x;
}

static void
same(const char *what, const float *x, size_t n,
    void (*fast)(uint16_t *, const float *, size_t),
    void (*plain)(uint16_t *, const float *, size_t))
{
	uint16_t *a = calloc(n, sizeof(*a)), *b = calloc(n, sizeof(*b));

	fast(a, x, n);
	plain(b, x, n);
	ok(memcmp(a, b, n * sizeof(*a)) == 0, "%s: vectors give the plain "
	    "code's bits", what);
	memset(a, 0, n * sizeof(*a));
	for (size_t i = 0, k; i < n; i += k) {	/* every length of a rest */
		k = 1 + i % 37 < n - i ? 1 + i % 37 : n - i;
		fast(a + i, x + i, k);
	}
	ok(memcmp(a, b, n * sizeof(*a)) == 0, "%s: and at any place and "
	    "length", what);
	free(a);
	free(b);
}

static void
widens(void)
{
	uint16_t *h = malloc(65536 * sizeof(*h));
	float *x = malloc(65536 * sizeof(*x));
	int f16 = 0, bf16 = 0;

	for (uint32_t i = 0; i < 65536; i++)
		h[i] = (uint16_t)i;
	f16_to_f32(x, h, 65536);
	for (uint32_t i = 0; i < 65536; i++)
		f16 += half_bits(x[i]) != half_bits(f16_value((uint16_t)i));
	bf16_to_f32(x, h, 65536);
	for (uint32_t i = 0; i < 65536; i++)
		bf16 += half_bits(x[i]) != half_bits(bf16_value((uint16_t)i));
	ok(f16 == 0, "f16: all 65536 widen alike");
	ok(bf16 == 0, "bf16: all 65536 widen alike");
	free(h);
	free(x);
}

static void
adds(void)
{
	uint16_t a[41], b[41], c[41], d[41];
	float e[41], f[41];
	int bad = 0;

	for (int i = 0; i < 41; i++) {
		a[i] = f16_of((float)i * 1.1f);
		c[i] = bf16_of((float)i * 1.1f);
		b[i] = f16_of(1000.0f / (float)(i + 1));
		d[i] = bf16_of(1000.0f / (float)(i + 1));
		e[i] = (float)i * 1.1f;
		f[i] = 1000.0f / (float)(i + 1);
	}
	f16_add(a, b, 41);
	bf16_add(c, d, 41);
	f32_add(e, f, 41);
	for (int i = 0; i < 41; i++)
		bad += a[i] != f16_of(f16_value(f16_of((float)i * 1.1f)) +
		    f16_value(b[i])) ||
		    c[i] != bf16_of(bf16_value(bf16_of((float)i * 1.1f)) +
		    bf16_value(d[i])) || e[i] != (float)i * 1.1f + f[i];
	ok(bad == 0, "sums are rounded sums");
}

int
main(void)
{
	size_t n;
	float *x = floats(&n);

	ok(exact(f16_of, f16_value) == 0, "f16: there and back is the same");
	ok(exact(bf16_of, bf16_value) == 0, "bf16: there and back is the same");
	ok(rounds(f16_of, f16_value, 0x7c00, 65536) == 0,
	    "f16: nearest, ties to even, up to infinity");
	ok(rounds(bf16_of, bf16_value, 0x7f80, 0x1p128) == 0,
	    "bf16: nearest, ties to even, up to infinity");
	ok(f16_value(0x0001) == 0x1p-24f && f16_value(0x7bff) == 65504.0f &&
	    f16_value(0x3555) == 0.333251953125f && bf16_value(0x3eab) ==
	    0.333984375f, "values of the formats' own tables");
	ok(bf16_of(3.4e38f) == 0x7f80 && f16_of(65519.99f) == 0x7bff &&
	    f16_of(65520.0f) == 0x7c00, "too large is infinite");
	same("f16", x, n, f16_from_f32, f16_from_f32_plain);
	same("bf16", x, n, bf16_from_f32, bf16_from_f32_plain);
	widens();
	adds();
	free(x);
	return tap_done();
}
