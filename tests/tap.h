/* SPDX-License-Identifier: Apache-2.0 */
/* tap: a test in C.  One assertion, one sentence: ok(cond, "what holds"). */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

#define ok(cond, ...) do {						\
	int tap_ok_ = !!(cond);						\
	tap_failed += !tap_ok_;						\
	printf("%sok %d - ", tap_ok_ ? "" : "not ", ++tap_count);	\
	printf(__VA_ARGS__);						\
	putchar('\n');							\
	if (!tap_ok_)							\
		printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);	\
	fflush(stdout);							\
} while (0)

/* Both texts, or NULL: the same. */
#define is(got, want, ...) do {						\
	const char *tap_got_ = (got), *tap_want_ = (want);		\
	int tap_same_ = tap_got_ && tap_want_ ?				\
	    !strcmp(tap_got_, tap_want_) : tap_got_ == tap_want_;	\
	ok(tap_same_, __VA_ARGS__);					\
	if (!tap_same_)							\
		printf("#   got: %s\n#  want: %s\n",			\
		    tap_got_ ? tap_got_ : "(null)",			\
		    tap_want_ ? tap_want_ : "(null)");			\
} while (0)

static inline void
skip(const char *why)
{
	printf("ok %d # SKIP %s\n", ++tap_count, why);
}

static inline int
tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
#endif
