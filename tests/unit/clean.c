/* SPDX-License-Identifier: Apache-2.0 */
/* What programs write, made harmless for terminals and for JSON. */
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/launch/clean.h"
#include "tests/tap.h"

#define BAD "\xEF\xBF\xBD"

static const char *
cleaned(const char *text, bool colour)
{
	static struct buf out = BUF_INIT;

	buf_clear(&out);
	clean_line(&out, text, strlen(text), colour);
	return buf_text(&out);
}

static void
test_escapes(void)
{
	static const struct {
		const char *in, *out, *what;
	} rows[] = {
		{ "plain \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "plain "
		    "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "letters stay" },
		{ "a\tb", "a\tb", "so do tabs" },
		{ "\033[31mred\033[m", "\033[31mred\033[m", "colours pass" },
		{ "\033[1;38:5:9mred", "\033[1;38:5:9mred\033[m",
		    "and end with the line" },
		{ "a\033[2J\033[Hb", "ab", "clearing the screen does not" },
		{ "a\033[1A\033[Kb", "ab", "nor moving up" },
		{ "a\033]0;title\ab", "ab", "a title up to BEL goes" },
		{ "a\033]0;title\033\\b", "ab", "up to ESC \\ as well" },
		{ "a\033]52;c;cm0gLXJm\ab", "ab", "no access to the clipboard" },
		{ "a\033P$qm\033\\b", "ab", "no question to the terminal" },
		{ "a\033[6nb", "ab", "nor this one" },
		{ "a\033[?1049hb", "ab", "no other screen" },
		{ "a\033[>4;1mb", "ab", "a private m is no colour" },
		{ "a\033(0b", "ab", "no other alphabet" },
		{ "a\033cb", "ab", "no reset" },
		{ "a\033[3\033[32mb", "a\033[32mb\033[m",
		    "a sequence broken off by another" },
		{ "a\033]never ended", "a", "one that never ends, ends here" },
		{ "a\a\b\x7F\x05" "b", "ab", "control characters go" },
		{ "a\xC2\x9B" "31mb", "a" BAD "31mb", "C1 is no escape" },
		{ "a\x9B" "31mb", "a" BAD "31mb", "in no spelling" },
		{ "a\xE2\x80\xAE" "b", "a" BAD "b", "text is not turned round" },
		{ "a\xFF\xC3(b\xC3", "a" BAD BAD "(b" BAD, "no UTF-8" },
		{ "\xC0\xAF\xED\xA0\x80\xF4\x90\x80\x80",
		    BAD BAD BAD BAD BAD BAD BAD BAD BAD,
		    "overlong, surrogate, too high" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		is(cleaned(rows[i].in, true), rows[i].out, "%s", rows[i].what);
	is(cleaned("\033[31mred\033[m", false), "red",
	    "without colours, none passes");
}

static void
test_live(void)
{
	struct clean	c = { .live = true, .colour = true };
	struct buf	out = BUF_INIT;
	const char	text[] = "\r 50%\033[K\b|\xE2\x82\xAC \033[32m\033]0;x\ay\n";

	for (size_t i = 0; i < sizeof text - 1; i++)	/* cut anywhere */
		clean_bytes(&c, &out, text + i, 1);
	clean_end(&c, &out);
	is(buf_text(&out), "\r 50%\033[K\b|\xE2\x82\xAC \033[32my\n\033[m",
	    "a bar may write its line anew, whatever the pieces");
	buf_clear(&out);
	clean_bytes(&c, &out, "\033]0;swallowed\nnext", 18);
	is(buf_text(&out), "\nnext", "no sequence swallows the next line");
	buf_clear(&out);
}

/* Whatever comes in, no byte that a terminal obeys goes out. */
static void
test_any_bytes(void)
{
	unsigned	 seed = 7;
	size_t		 bad = 0;

	for (int round = 0; round < 2000; round++) {
		struct buf	out = BUF_INIT;
		char		text[64];

		for (size_t i = 0; i < sizeof text; i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = (char)(seed >> 16 & 3 ? seed >> 20 :
			    (unsigned)"\033[]m;0\\\a\xC2\x9B"[seed >> 20 & 7]);
		}
		clean_line(&out, text, sizeof text, false);
		for (size_t i = 0; i < out.len; i++)
			bad += ((unsigned char)out.data[i] < 0x20 &&
			    out.data[i] != '\t' && out.data[i] != '\n') ||
			    out.data[i] == 0x7F;
		buf_clear(&out);
	}
	ok(!bad, "2000 random lines hold no control character in the end");
}

static void
test_json(void)
{
	struct buf	out = BUF_INIT;
	const char	text[] = "a\"\\\n\t\0\033\x7F\xC3\xA9\xFF\xE2\x82\xC2\x9B";

	clean_json(&out, text, sizeof text - 1);
	is(buf_text(&out), "\"a\\\"\\\\\\n\\t\\u0000\\u001b\\u007f\xC3\xA9" BAD
	    BAD "\\u009b\"", "JSON of any bytes is valid");
	buf_clear(&out);
}

int
main(void)
{
	test_escapes();
	test_live();
	test_any_bytes();
	test_json();
	is(cleaned("", true), "", "an empty line");
	return tap_done();
}
