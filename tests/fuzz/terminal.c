/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks write, as a terminal, JSON and the closing block get it; and the
 * words of --tee. */
#include <jansson.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/launch/clean.h"
#include "runtime/launch/streams.h"
#include "runtime/launch/tail.h"
#include "tests/fuzz/fuzz.h"

/* Nothing that a terminal obeys, but for colours, CR, BS and erase in line where
 * they may pass. */
static void
check_harmless(const struct buf *out, const struct clean *how)
{
	for (size_t i = 0; i < out->len; i++) {
		const char	*at = out->data + i;
		unsigned char	 b = (unsigned char)*at;

		if (b == 033) {
			size_t n = 2 + strspn(at + 2, "0123456789;:");

			MUST(at[1] == '[');
			MUST((at[n] == 'm' && how->colour) ||
			    (at[n] == 'K' && how->live));
		} else if (b == '\r' || b == '\b')
			MUST(how->live);
		else
			MUST((b >= 0x20 && b != 0x7F) || b == '\n' ||
			    b == '\t');
		MUST(!(b == 0xC2 && (unsigned char)at[1] < 0xA0));
	}
}

/* Whole, or in two pieces cut anywhere: the same. */
static void
check_clean(const char *text, size_t n, unsigned how)
{
	struct clean	whole = { .colour = how & 1, .live = how & 2 };
	struct clean	cut = whole;
	struct buf	one = BUF_INIT, two = BUF_INIT;
	size_t		at = n ? (unsigned char)text[0] % (n + 1) : 0;

	clean_bytes(&whole, &one, text, n);
	clean_end(&whole, &one);
	check_harmless(&one, &whole);
	clean_bytes(&cut, &two, text, at);
	clean_bytes(&cut, &two, text + at, n - at);
	clean_end(&cut, &two);
	MUST(one.len == two.len && (!one.len ||
	    !memcmp(one.data, two.data, one.len)));
	buf_clear(&one);
	buf_clear(&two);
}

static void
check_json(const char *text, size_t n)
{
	struct buf	out = BUF_INIT;
	json_t		*json;

	clean_json(&out, text, n);
	json = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
	    NULL);
	MUST(json_is_string(json));
	json_decref(json);
	buf_clear(&out);
}

static void
check_tail(const char *text, size_t n)
{
	struct tail	t = { 0 };
	char		why[200];

	for (size_t from = 0, to; from < n; from = to + 1) {
		for (to = from; to < n && text[to] != '\n';)
			to++;
		tail_line(&t, text + from, to - from);
	}
	for (size_t i = 0; tail_get(&t, i); i++)
		MUST(i < TAIL_LINES && strlen(tail_get(&t, i)) <= TAIL_WIDTH);
	for (int status = 0; status < 300; status += 7)
		tail_why(&t, status << 8 | status % 65, "", why, sizeof why);
	tail_of_peer(&t);
	tail_clear(&t);
}

static void
check_streams(const char *text, size_t n)
{
	struct streams	 s = STREAMS_INIT;
	struct err	 err = ERR_INIT;
	char		*word = strndup(text, n);

	if (streams_parse(&s, "tee", word, &err) < 0)
		MUST(!s.count && *err.text && *err.hint);
	else
		for (size_t i = 0; i < s.count; i++)
			MUST(streams_of(&s, s.of[i].rank) <= STREAM_BOTH);
	streams_clear(&s);
	free(word);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;

	for (unsigned how = 0; how < 4; how++)
		check_clean(text, n, how);
	check_json(text, n);
	check_tail(text, n);
	check_streams(text, n);
	return 0;
}
