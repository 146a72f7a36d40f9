/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the words of the table as a dictionary for libFuzzer. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/config/schema.h"

static void
word(const char *text, const char *end)
{
	if (!text || !*text)
		return;
	putchar('"');
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("_-.:/ ", *text))
			putchar(*text);
		else
			printf("\\x%02x", (unsigned char)*text);
	printf("%s\"\n", end);
}

int
main(int argc, char **argv)
{
	/* "flags" wants --key=, a file wants key: */
	bool				 flags = argc > 1 &&
	    !strcmp(argv[1], "flags");
	static const char *const	 signs[] = { "- ", ": ", "&a ", "*a",
	    "<<: *a", "!!int ", "!!str ", "{}", "[]", "null", "~",
	    "|\n", ">-\n",
	    "---\n", "#", "''", "\"\"", "\t", "\r\n", "\xef\xbb\xbf",
	    "\xc2\x85", "yes", "0x10", "1:30", "1e-5", "1.5", "fp16: true\n" };

	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];
		char			 flag[96];

		snprintf(flag, sizeof(flag), "--%s", f->flag ? f->flag :
		    f->key);
		word(flags ? flag : f->key, flags ? "=" : ": ");
		word(f->alias, flags ? "" : ": ");
		if (*f->group && (!i || strcmp(f->group, fields[i - 1].group)))
			word(f->group, ":\\x0a  ");
		for (int w = 0; f->choice && f->choice[w].word; w++)
			word(f->choice[w].word, "");
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		word(signs[i], "");
	return 0;
}
