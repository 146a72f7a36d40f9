/* SPDX-License-Identifier: Apache-2.0 */
/* How a token file begins, and the index of records.  The first byte says
 * which, and of how many bytes more the file is. */
#include "runtime/base/err.h"
#include "runtime/train/formats.h"
#include "tests/fuzz/fuzz.h"

static void
tokens(const uint8_t *data, size_t n, uint64_t more, accel_tokens_layout layout)
{
	struct tokens_head	head = { 0, 0, 0 };
	struct err		err = ERR_INIT;

	if (tokens_parse(&head, data, n, n + more, layout, "f", &err) != 0) {
		MUST(err.text[0] != '\0' && head.width == 0);
		return;
	}
	MUST(head.width == 2 || head.width == 4);
	MUST(head.begin + head.count * (uint64_t)head.width == n + more);
}

/* The data beside it is as long as the index says, or not. */
static void
records(const uint8_t *data, size_t n, uint64_t size)
{
	struct err	err = ERR_INIT;
	uint64_t	count = 0, before = 0;

	if (records_parse(data, n, size, "f.idx", &count, &err) != 0) {
		MUST(err.text[0] != '\0' && count == 0);
		return;
	}
	MUST(count > 0 && count == (n - RECORDS_HEAD) / RECORDS_ENTRY);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t end = records_end(data, i);

		MUST(end >= before && end <= size);
		before = end;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint64_t more;

	if (n < 1)
		return 0;
	more = data[0] >> 2;
	switch (data[0] & 3) {
	case 0:
		tokens(data + 1, n - 1, more, ACCEL_TOKENS_HEADER);
		break;
	case 1:
		tokens(data + 1, n - 1, more, ACCEL_TOKENS_RAW16);
		break;
	case 2:
		tokens(data + 1, n - 1, more, ACCEL_TOKENS_RAW32);
		break;
	default:
		records(data + 1, n - 1, more);
	}
	return 0;
}
