/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/half.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define VECTORS 1
#include <cpuid.h>
#include <immintrin.h>
#else
#define VECTORS 0
#endif

#include "runtime/base/banned.h"

void
bf16_from_f32_plain(uint16_t *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = bf16_of(from[i]);
}

void
f16_from_f32_plain(uint16_t *to, const float *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = f16_of(from[i]);
}

void
f16_to_f32_plain(float *to, const uint16_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = f16_value(from[i]);
}

#if VECTORS
/* Each takes whole vectors and returns how many elements it did. */
#define AVX2 __attribute__((target("avx2,f16c")))

/* Asked once: a virtual machine takes microseconds for each cpuid.  clang 14
 * does not know __builtin_cpu_supports("f16c"). */
static int
vectors(void)
{
	static _Atomic int known;	/* 1: no, 2: yes */
	unsigned a, b, c = 0, d;

	if (known == 0)
		known = __builtin_cpu_supports("avx2") &&
		    __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
	return known == 2;
}

/* Eight bf16, each in the low half of 32 bits. */
AVX2 static inline __m256i
bf16_round(__m256 x)
{
	__m256i u = _mm256_castps_si256(x), high = _mm256_srli_epi32(u, 16);
	__m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
	__m256i r = _mm256_srli_epi32(_mm256_add_epi32(u,
	    _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
	__m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));

	return _mm256_blendv_epi8(r,
	    _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
}

AVX2 static inline __m256
bf16_load(const uint16_t *p)
{
	__m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));

	return _mm256_castsi256_ps(_mm256_slli_epi32(h, 16));
}

AVX2 static inline void
bf16_store(uint16_t *p, __m256 low, __m256 high)
{
	__m256i both = _mm256_packus_epi32(bf16_round(low), bf16_round(high));

	/* packus works within halves of 128 bits. */
	_mm256_storeu_si256((void *)p, _mm256_permute4x64_epi64(both, 0xd8));
}

AVX2 static size_t
bf16_from_avx2(uint16_t *to, const float *from, size_t n)
{
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		bf16_store(to + i, _mm256_loadu_ps(from + i),
		    _mm256_loadu_ps(from + i + 8));
	return i;
}

AVX2 static size_t
bf16_to_avx2(float *to, const uint16_t *from, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(to + i, bf16_load(from + i));
	return i;
}

AVX2 static size_t
bf16_add_avx2(uint16_t *sum, const uint16_t *with, size_t n)
{
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		bf16_store(sum + i,
		    _mm256_add_ps(bf16_load(sum + i), bf16_load(with + i)),
		    _mm256_add_ps(bf16_load(sum + i + 8),
		    bf16_load(with + i + 8)));
	return i;
}

AVX2 static size_t
f16_from_avx2(uint16_t *to, const float *from, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm_storeu_si128((void *)(to + i), _mm256_cvtps_ph(
		    _mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
	return i;
}

AVX2 static size_t
f16_to_avx2(float *to, const uint16_t *from, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(to + i, _mm256_cvtph_ps(
		    _mm_loadu_si128((const void *)(from + i))));
	return i;
}

AVX2 static size_t
f16_add_avx2(uint16_t *sum, const uint16_t *with, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 x = _mm256_cvtph_ps(
		    _mm_loadu_si128((const void *)(sum + i)));
		__m256 y = _mm256_cvtph_ps(
		    _mm_loadu_si128((const void *)(with + i)));

		_mm_storeu_si128((void *)(sum + i), _mm256_cvtps_ph(
		    _mm256_add_ps(x, y), _MM_FROUND_TO_NEAREST_INT));
	}
	return i;
}

AVX2 static size_t
f32_add_avx2(float *sum, const float *with, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(sum + i, _mm256_add_ps(
		    _mm256_loadu_ps(sum + i), _mm256_loadu_ps(with + i)));
	return i;
}
#define BY_VECTORS(call) (vectors() ? (call) : 0)
#else
#define BY_VECTORS(call) 0
#endif

void
bf16_from_f32(uint16_t *to, const float *from, size_t n)
{
	size_t i = BY_VECTORS(bf16_from_avx2(to, from, n));

	bf16_from_f32_plain(to + i, from + i, n - i);
}

void
bf16_to_f32(float *to, const uint16_t *from, size_t n)
{
	for (size_t i = BY_VECTORS(bf16_to_avx2(to, from, n)); i < n; i++)
		to[i] = bf16_value(from[i]);
}

void
bf16_add(uint16_t *sum, const uint16_t *with, size_t n)
{
	for (size_t i = BY_VECTORS(bf16_add_avx2(sum, with, n)); i < n; i++)
		sum[i] = bf16_of(bf16_value(sum[i]) + bf16_value(with[i]));
}

void
f16_from_f32(uint16_t *to, const float *from, size_t n)
{
	size_t i = BY_VECTORS(f16_from_avx2(to, from, n));

	f16_from_f32_plain(to + i, from + i, n - i);
}

void
f16_to_f32(float *to, const uint16_t *from, size_t n)
{
	size_t i = BY_VECTORS(f16_to_avx2(to, from, n));

	f16_to_f32_plain(to + i, from + i, n - i);
}

void
f16_add(uint16_t *sum, const uint16_t *with, size_t n)
{
	for (size_t i = BY_VECTORS(f16_add_avx2(sum, with, n)); i < n; i++)
		sum[i] = f16_of(f16_value(sum[i]) + f16_value(with[i]));
}

void
f32_add(float *sum, const float *with, size_t n)
{
	for (size_t i = BY_VECTORS(f32_add_avx2(sum, with, n)); i < n; i++)
		sum[i] += with[i];
}
