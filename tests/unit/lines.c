/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of lines: fixed cases, and that they lead from text to text. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/lines.h"
#include "tests/tap.h"

static void
gives(const char *was, const char *want, const char *to, const char *what)
{
	struct buf out = BUF_INIT;

	ok(lines_diff(was, to, "a", "b", &out) == 0, "%s: succeeds", what);
	is(buf_text(&out), want, "%s", what);
	buf_clear(&out);
}

/* Applies a difference to "was"; what it does not show stays. */
static char *
apply(const char *was, const char *diff)
{
	struct buf	out = BUF_INIT;
	const char	*s = diff;
	size_t		 line = 1, from;

	for (s = strstr(s, "@@ -"); s; s = strstr(s, "\n@@ -") ?
	    strstr(s, "\n@@ -") + 1 : NULL) {
		from = strtoul(s + 4, NULL, 10);
		/* A hunk without old lines stands behind the line it names. */
		from += s[4 + strspn(s + 4, "0123456789")] == ',' &&
		    s[5 + strspn(s + 4, "0123456789")] == '0';
		for (; line < from; line++) {
			size_t n = strcspn(was, "\n") + 1;

			buf_add(&out, was, n);
			was += n;
		}
		s = strchr(s, '\n') + 1;
		for (; *s && *s != '@'; s = strchr(s, '\n') + 1) {
			size_t n = strcspn(s, "\n");

			if (*s != '-')
				buf_add(&out, s + 1, n);
			if (*s != '+') {
				was += n;
				line++;
			}
		}
		s--;
	}
	buf_adds(&out, was);
	return buf_detach(&out);
}

static unsigned
next(unsigned *seed)
{
	return *seed = *seed * 1103515245u + 12345u, *seed >> 16;
}

static void
random_texts(void)
{
	unsigned	seed = 7;
	int		wrong = 0;

	for (int round = 0; round < 2000; round++) {
		struct buf	a = BUF_INIT, b = BUF_INIT, diff = BUF_INIT;
		char		*got;

		buf_adds(&a, "");
		buf_adds(&b, "");
		for (unsigned i = next(&seed) % 30; i; i--) {
			unsigned w = next(&seed) % 9;

			if (next(&seed) % 4)
				buf_addf(&a, "%u\n", w);
			if (next(&seed) % 4)
				buf_addf(&b, "%u\n", w);
		}
		lines_diff(buf_text(&a), buf_text(&b), "a", "b", &diff);
		got = apply(buf_text(&a), buf_text(&diff));
		if (strcmp(got ? got : "", buf_text(&b)))
			wrong++;
		free(got);
		buf_clear(&a);
		buf_clear(&b);
		buf_clear(&diff);
	}
	ok(!wrong, "applied to one text, a difference gives the other "
	    "(%d wrong of 2000)", wrong);
}

int
main(void)
{
	gives("a\nb\n", "", "a\nb\n", "equal texts have none");
	gives("a\nb\nc\n", "--- a\n+++ b\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n",
	    "a\nx\nc\n", "a line replaced");
	gives("", "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n", "a\n",
	    "a first line");
	gives("a\n", "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n", "", "a last line");
	gives("x\nx\nx\n", "--- a\n+++ b\n@@ -1,3 +1,2 @@\n x\n x\n-x\n",
	    "x\nx\n", "one of several equal lines");
	gives("a\nb", "--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n"
	    "\\ No newline at end of file\n+b\n", "a\nb\n",
	    "an end without newline");
	gives("1\n2\n3\n4\n5\n6\n7\n8\n9\n",
	    "--- a\n+++ b\n@@ -1,9 +1,9 @@\n 1\n-2\n+x\n 3\n 4\n 5\n 6\n 7\n"
	    " 8\n-9\n+y\n", "1\nx\n3\n4\n5\n6\n7\n8\ny\n",
	    "changes six lines apart share a hunk");
	gives("1\n2\n3\n4\n5\n6\n7\n8\n9\n",
	    "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"
	    "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n",
	    "x\n2\n3\n4\n5\n6\n7\n8\ny\n", "seven lines apart, they do not");
	random_texts();
	return tap_done();
}
