/* SPDX-License-Identifier: Apache-2.0 */
/* Why a rank ended, from its status and its last words; streams for files; and
 * what waits for a slow reader. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/launch/spool.h"
#include "runtime/launch/streams.h"
#include "runtime/launch/tail.h"
#include "tests/tap.h"

/* The words for lines with '\n' between them. */
static const char *
why(const char *lines, int status, const char *reason)
{
	static char	text[600];
	struct tail	t = { 0 };

	for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
		n = strcspn(lines, "\n");
		tail_line(&t, lines, n);
	}
	tail_why(&t, status, reason, text, sizeof text);
	tail_clear(&t);
	return text;
}

static bool
peer(const char *line)
{
	struct tail	t = { 0 };
	bool		of_peer;

	tail_line(&t, line, strlen(line));
	of_peer = tail_of_peer(&t);
	tail_clear(&t);
	return of_peer;
}

static void
test_why(void)
{
	const char python[] =
	    "Traceback (most recent call last):\n"
	    "  File \"a.py\", line 3, in <module>\n"
	    "    main()\n"
	    "KeyError: 'x'\n"
	    "\n"
	    "During handling of the above exception, another exception occurred:\n"
	    "\n"
	    "Traceback (most recent call last):\n"
	    "  File \"a.py\", line 9, in <module>\n"
	    "    f()\n"
	    "torch.cuda.OutOfMemoryError: CUDA out of memory: 3 GiB\n";
	struct buf longer = BUF_INIT;

	is(why("", 3 << 8, ""), "exit code 3", "an exit code");
	is(why("", 9, ""), "ended by SIGKILL (Killed)", "a signal by name");
	is(why("", 9, "out of memory"),
	    "ended by SIGKILL (Killed): out of memory", "what its agent knows");
	is(why("x\n", 127 << 8, "./x: No such file"), "./x: No such file",
	    "a program that could not start");
	is(why(python, 1 << 8, ""),
	    "exit code 1: torch.cuda.OutOfMemoryError: CUDA out of memory: 3 GiB",
	    "the last exception of Python");
	buf_adds(&longer, python);
	for (int i = 0; i < 50; i++)
		buf_adds(&longer, "and much more\n");
	is(why(buf_text(&longer), 1 << 8, ""), why(python, 1 << 8, ""),
	    "also long before the last line");
	buf_clear(&longer);
	is(why("[rank3]: Traceback (most recent call last):\n[rank3]:   File\n"
	    "[rank3]: ValueError: no\n", 1 << 8, ""),
	    "exit code 1: ValueError: no", "with torch's prefix");
	is(why("ValueError: printed by hand\n", 1 << 8, ""), "exit code 1",
	    "a line alone is no traceback");
	is(why("terminate called after throwing an instance of 'X'\n"
	    "  what():  the disk is full\n", 6, ""),
	    "ended by SIGABRT (Aborted): the disk is full", "C++");
	is(why("./p: error while loading shared libraries: libm3.so.1: cannot "
	    "open shared object file: No such file or directory\n",
	    127 << 8, ""),
	    "exit code 127: the shared library libm3.so.1 is missing there",
	    "a missing library");
	is(why("accel: rank 3 (node2) is gone: its connection closed\n",
	    1 << 8, ""),
	    "exit code 1: rank 3 (node2) is gone: its connection closed",
	    "libaccel's word for a peer that is gone");
	ok(peer("accel: rank 3 (node2) is gone: its connection closed"),
	    "that rank is not the cause");
	ok(peer("RuntimeError: [..] Connection closed by peer [10.0.0.3]:4"),
	    "nor one whose connection was cut");
	ok(!peer("ValueError: no"), "another may be");
}

static void
test_ring(void)
{
	struct tail	t = { 0 };
	char		line[TAIL_WIDTH * 2], number[16];

	memset(line, 'x', sizeof line);
	for (int i = 0; i < 100; i++) {
		snprintf(number, sizeof number, "%d", i);
		tail_line(&t, number, strlen(number));
	}
	is(tail_get(&t, 0), "80", "the last lines are kept");
	is(tail_get(&t, TAIL_LINES - 1), "99", "up to the last");
	ok(!tail_get(&t, TAIL_LINES), "and no more");
	tail_line(&t, line, sizeof line);
	ok(strlen(tail_get(&t, TAIL_LINES - 1)) == TAIL_WIDTH, "cut where long");
	tail_clear(&t);
}

static void
test_streams(void)
{
	static const char *const bad[] = { "", "4", "33", "x", "0:4", "0:", ":1",
		"0:1,", "0:1,0:2", "0:1;1:2", "-1:2", "0:11", " 1", "a:1" };
	struct streams	s = STREAMS_INIT;
	struct err	err;

	ok(streams_parse(&s, "tee", "3", &err) == 0 && streams_of(&s, 7) == 3,
	    "one number is for every rank");
	ok(streams_parse(&s, "tee", "0:1,12:3", &err) == 0 &&
	    streams_of(&s, 0) == 1 && streams_of(&s, 12) == 3 &&
	    streams_of(&s, 1) == 0, "rank:n is for some");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(streams_parse(&s, "tee", bad[i], &err) == -1 &&
		    strstr(err.text, "--tee: \"") && *err.hint,
		    "\"%s\" is refused: %s", bad[i], err.text);
	ok(streams_of(&s, 12) == 3, "and what was there stays");
	streams_clear(&s);
	ok(!streams_any(&s), "none at first");
}

static void
test_spool(void)
{
	enum { BLOCK = 1 << 20, COUNT = SPOOL_MEMORY / BLOCK * 2 + 3 };
	struct spool	 s = SPOOL_INIT;
	char		*block = malloc(BLOCK);
	const char	*data;
	size_t		 n, got = 0, wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		memset(block, 'a' + i, BLOCK);
		wrong += spool_add(&s, block, BLOCK) < 0;
	}
	ok(!wrong && spool_size(&s) == (size_t)COUNT * BLOCK,
	    "more than memory may hold is taken");
	ok(s.fd >= 0 && s.head.len <= SPOOL_MEMORY, "the rest is on disk");
	while ((n = spool_peek(&s, &data))) {
		n = n < 77777 ? n : 77777;
		for (size_t i = 0; i < n; i++)
			wrong += data[i] != (char)('a' + (got + i) / BLOCK);
		got += n;
		spool_take(&s, n);
		if (got / BLOCK == 5 && got % BLOCK < 77777) {
			memset(block, 'a' + COUNT, BLOCK);
			spool_add(&s, block, BLOCK);
		}
	}
	ok(!wrong && got == (size_t)(COUNT + 1) * BLOCK,
	    "and comes back in order, with what was added meanwhile");
	ok(spool_size(&s) == 0 && lseek(s.fd, 0, SEEK_END) == 0,
	    "the disk has its space again");
	spool_clear(&s);
	free(block);
}

int
main(void)
{
	test_why();
	test_ring();
	test_streams();
	test_spool();
	return tap_done();
}
