/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz: one parser a program, given any bytes.
 *
 * "make fuzz" builds each with libFuzzer and the sanitizers and runs it for a
 * while; "make check" runs each over its kept corpus (main.c), without clang.
 * An input that broke something stays in corpus/<program>/, named for what it
 * broke.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends where something must hold and does not. */
#define MUST(cond) do {							\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		abort();						\
	}								\
} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
#endif
