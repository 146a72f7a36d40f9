/* SPDX-License-Identifier: Apache-2.0 */
/* Where samples come from: memory, token files in each layout, records,
 * callbacks; and what is said of damaged files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/train/formats.h"
#include "runtime/train/source.h"
#include "tests/tap.h"

static char dir[] = "/tmp/accel-source-XXXXXX";
static char path[64], other[64], index_path[72];

/* The message without the folder. */
static const char *
said(void)
{
	static char text[512];
	const char *from = accel_errmsg();
	size_t len = strlen(dir) + 1, n = 0;

	while (*from != '\0' && n < sizeof(text) - 1) {
		if (strncmp(from, dir, len - 1) == 0)
			from += len;
		else
			text[n++] = *from++;
	}
	text[n] = '\0';
	return text;
}

static void
write_file(const char *name, const void *data, size_t n)
{
	struct err err = ERR_INIT;

	if (file_replace(name, data, n, 0644, &err) != 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
}

/* The sample's row as numbers, or the error. */
static const char *
row(const accel_source *s, int64_t index)
{
	static char	text[256];
	struct rows	rows = { 0 };
	struct err	err = ERR_INIT;
	size_t		len = 0;
	accel_status	st = source_read(s, 0, index, &rows, &err);

	if (st != ACCEL_OK) {
		snprintf(text, sizeof(text), "%d %.200s", (int)st, err.text);
	} else {
		text[0] = '\0';
		for (size_t i = 0; i + 4 <= rows.len; i += 4)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    "%s%d", i ? " " : "", (int)le_get(rows.data + i,
			    4));
	}
	rows_clear(&rows);
	return text;
}

static void
memory(void)
{
	int32_t		 data[6] = { 1, 2, 3, 4, 5, 6 };
	accel_source	*s;

	ok(accel_source_memory(data, 3, 8, &s) == ACCEL_OK, "memory");
	ok(accel_source_count(s) == 3 && accel_source_row_bytes(s) == 8,
	    "three rows of 8 bytes");
	is(row(s, 1), "3 4", "the second");
	data[2] = 9;
	is(row(s, 1), "9 4", "is the caller's memory");
	accel_source_free(s);
	ok(accel_source_memory(NULL, 3, 8, &s) == ACCEL_EINVAL && s == NULL &&
	    accel_source_memory(data, 0, 8, &s) == ACCEL_EINVAL &&
	    accel_source_memory(data, INT64_MAX, 8, &s) == ACCEL_EINVAL,
	    "no rows, or more than memory has, are refused");
}

/* ---- token files --------------------------------------------------------- */

static accel_status
tokens(int seq, int stride, int64_t vocab, accel_tokens_layout layout,
    int files, accel_source **s)
{
	const char	*paths[] = { path, other };
	accel_tokens	 c = ACCEL_TOKENS_INIT;

	c.seq = seq;
	c.stride = stride;
	c.vocab = vocab;
	c.layout = layout;
	return accel_source_tokens(paths, files, &c, s);
}

static void
token_rows(accel_tokens_layout layout, int32_t fifth, const char *what)
{
	accel_source	*s;
	char		 want[64];

	ok(tokens(4, 0, 0, layout, 1, &s) == ACCEL_OK, "%s opens (%s)", what,
	    s != NULL ? "well" : said());
	if (s == NULL)
		return;
	ok(accel_source_count(s) == 2 && accel_source_row_bytes(s) == 20,
	    "two samples of 4 tokens and what follows");
	snprintf(want, sizeof(want), "0 1 2 3 %d", fifth);
	is(row(s, 0), want, "the first");
	snprintf(want, sizeof(want), "%d 5 6 7 8", fifth);
	is(row(s, 1), want, "the second begins with what the first ends in");
	accel_source_free(s);
}

static void
token_files(void)
{
	int32_t		 t[11] = { 0, 1, 2, 3, 50000, 5, 6, 7, 8, 9, 10 };
	unsigned char	 raw[1024 + 44] = { 0 };
	accel_source	*s;

	ok(accel_tokens_write(path, t, 11, 2) == ACCEL_OK, "written, 16 bits");
	token_rows(ACCEL_TOKENS_HEADER, 50000, "our own, 16 bits");
	t[4] = 70000;
	ok(accel_tokens_write(path, t, 11, 2) == ACCEL_EINVAL,
	    "70000 is not for 16 bits");
	is(said(), "tokens: token 4 is 70000, which 2 bytes do not hold",
	    "and the message says so");
	token_rows(ACCEL_TOKENS_HEADER, 50000, "the old file, which stays,");
	ok(accel_tokens_write(path, t, 11, 4) == ACCEL_OK, "written, 32 bits");
	token_rows(ACCEL_TOKENS_HEADER, 70000, "our own, 32 bits");

	/* Bytes by hand, as llm.c and nanoGPT write them. */
	le_put(raw, 20240520, 4);
	le_put(raw + 4, 1, 4);
	le_put(raw + 8, 11, 4);
	for (int i = 0; i < 11; i++)
		le_put(raw + 1024 + 2 * i, (uint64_t)(i == 4 ? 50000 : i), 2);
	write_file(path, raw, 1024 + 22);
	token_rows(ACCEL_TOKENS_HEADER, 50000, "llm.c's, 16 bits");
	write_file(path, raw + 1024, 22);
	token_rows(ACCEL_TOKENS_RAW16, 50000, "tokens alone, 16 bits");
	le_put(raw, 20240801, 4);
	le_put(raw + 4, 7, 4);
	for (int i = 0; i < 11; i++)
		le_put(raw + 1024 + 4 * i, (uint64_t)(i == 4 ? 70000 : i), 4);
	write_file(path, raw, 1024 + 44);
	token_rows(ACCEL_TOKENS_HEADER, 70000, "llm.c's, 32 bits");
	write_file(other, raw + 1024, 44);
	write_file(path, raw + 1024, 44);
	token_rows(ACCEL_TOKENS_RAW32, 70000, "tokens alone, 32 bits");

	ok(tokens(3, 1, 0, ACCEL_TOKENS_RAW32, 2, &s) == ACCEL_OK &&
	    accel_source_count(s) == 16, "two files, overlapping samples");
	is(row(s, 7), "7 8 9 10", "the last of the first file");
	is(row(s, 8), "0 1 2 3", "the first of the second");
	is(row(s, 15), "7 8 9 10", "and its last");
	accel_source_free(s);
	ok(tokens(10, 0, 0, ACCEL_TOKENS_RAW32, 1, &s) == ACCEL_OK &&
	    accel_source_count(s) == 1, "one sample takes all");
	accel_source_free(s);
	ok(tokens(4, 0, 50257, ACCEL_TOKENS_RAW32, 1, &s) == ACCEL_OK,
	    "a vocabulary");
	is(row(s, 0) + strlen(dir) + 4, "tokens: token 4 is 70000, and a "
	    "vocabulary has numbers below 50257", "is kept to");
	if (truncate(path, 40) != 0)
		exit(1);
	is(row(s, 1) + strlen(dir) + 4, "tokens: was 44 bytes when it was "
	    "opened, and is 40 now", "a file that shrinks is no crash");
	accel_source_free(s);
}

/* Each damage and what is said. */
/* Memory of this process's own that it has now. */
static rlim_t
data_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long data = 0;

	if (file != NULL && fscanf(file, "%*u %*u %*u %*u %*u %llu",
	    &data) != 1)
		data = 0;
	if (file != NULL)
		fclose(file);
	return (rlim_t)data * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Neither writing nor reading takes memory by the size of the file. */
static void
large_tokens(void)
{
	enum { N = 20 << 20, SEQ = 1023 };
	int32_t			*t = malloc(N * sizeof(*t));
	int32_t			*out = malloc((SEQ + 1) * sizeof(*out));
	void *volatile		 much;
	const char		*paths[] = { path };
	accel_tokens		 config = ACCEL_TOKENS_INIT;
	accel_source		*s = NULL;
	struct rlimit		 old, low;
	accel_status		 st;
	int			 wrong = 0;

#ifdef __SANITIZE_ADDRESS__
	free(t);
	free(out);
	skip("AddressSanitizer wants memory of its own");
	return;
#endif
	if (t == NULL || out == NULL || getrlimit(RLIMIT_DATA, &old) != 0)
		abort();
	for (int i = 0; i < N; i++)
		t[i] = (int32_t)((unsigned)i * 2654435761u >> 16);
	low = old;
	low.rlim_cur = data_bytes() + (4 << 20);
	setrlimit(RLIMIT_DATA, &low);
	much = malloc(N * 2);
	ok(much == NULL, "there is no memory for 40 MiB");
	free(much);
	st = accel_tokens_write(path, t, N, 2);
	ok(st == ACCEL_OK, "40 MiB of tokens are written (%s)",
	    st == ACCEL_OK ? "" : accel_errmsg());
	config.seq = SEQ;
	st = accel_source_tokens(paths, 1, &config, &s);
	ok(st == ACCEL_OK && accel_source_count(s) == N / SEQ, "and opened");
	for (int64_t i = 0; st == ACCEL_OK && i < accel_source_count(s); i++) {
		if (s->ops->read(s, i, out, s->row_bytes, NULL) != 0)
			wrong++;
		wrong += memcmp(out, t + i * SEQ, s->row_bytes) != 0;
	}
	ok(wrong == 0, "and every row is what was written");
	setrlimit(RLIMIT_DATA, &old);
	accel_source_free(s);
	free(t);
	free(out);
}

static void
token_damage(void)
{
	static const char cut[] = " (the file is cut off or damaged: copy or "
	    "write it again)";
	int32_t		 t[5] = { 0, 1, 2, 3, 4 };
	unsigned char	 good[64], bad[1100] = { 0 };
	struct buf	 file = BUF_INIT;
	char		 want[256];
	accel_source	*s;
	struct {
		size_t at, len;
		uint64_t value;
		const char *want;
	} damage[] = {
		{ 0, 42, 'a', "tokens: no header of a token file is at its "
		    "begin (for tokens alone, as nanoGPT writes them, set the "
		    "layout to ACCEL_TOKENS_RAW16 or ACCEL_TOKENS_RAW32)" },
		{ 8, 42, 2, "tokens: a token file of version 2, and 1 is known "
		    "(write it anew, or with this version of accel)" },
		{ 12, 42, 3, "tokens: the header says tokens of 3 bytes, not 2 "
		    "or 4" },
		{ 16, 42, 6, NULL }, { 16, 42, 255, NULL }, { 23, 42, 255,
		    NULL },
		{ 31, 42, 1, "tokens: the header's last 8 bytes are not 0" },
		{ 50, 41, 0, NULL }, { 50, 40, 0, NULL }, { 50, 44, 0, NULL },
		{ 50, 31, 0, "tokens: no header of a token file is at its "
		    "begin (for tokens alone, as nanoGPT writes them, set the "
		    "layout to ACCEL_TOKENS_RAW16 or ACCEL_TOKENS_RAW32)" },
	};

	if (accel_tokens_write(path, t, 5, 2) != ACCEL_OK ||
	    file_read(path, &file, NULL) != 0 || file.len != 42)
		exit(1);
	memcpy(good, file.data, file.len);
	buf_clear(&file);
	for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		memset(bad, 0, sizeof(bad));
		memcpy(bad, good, 42);
		bad[damage[i].at] = (unsigned char)damage[i].value;
		write_file(path, bad, damage[i].len);
		ok(tokens(4, 0, 0, ACCEL_TOKENS_HEADER, 1, &s) == ACCEL_EIO &&
		    s == NULL, "damage %zu is refused", i);
		snprintf(want, sizeof(want), "tokens: the header says %llu "
		    "tokens of 2 bytes, and behind it are %zu bytes%s",
		    (unsigned long long)le_get(bad + 16, 8),
		    damage[i].len - 32, cut);
		is(said(), damage[i].want ? damage[i].want : want,
		    "and named");
	}
	memset(bad, 0, sizeof(bad));
	le_put(bad, 20240520, 4);
	le_put(bad + 4, 2, 4);
	write_file(path, bad, 1100);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_HEADER, 1, &s) == ACCEL_EIO,
	    "llm.c's of another version");
	is(said(), "tokens: a token file of version 2, and 1 is known (write "
	    "it anew, or with this version of accel)", "and named");
	le_put(bad + 4, 1, 4);
	le_put(bad + 8, 0xffffffff, 4);
	write_file(path, bad, 1100);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_HEADER, 1, &s) == ACCEL_EIO,
	    "llm.c's with a count below zero");
	write_file(path, bad, 33);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_RAW16, 1, &s) == ACCEL_EIO,
	    "half a token");
	is(said(), "tokens: 33 bytes are no whole number of 2-byte tokens",
	    "is named");
	write_file(path, bad, 8);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_RAW16, 1, &s) == ACCEL_EIO,
	    "too few tokens");
	is(said(), "tokens: 4 tokens make no sample of 5 (a sample is seq + 1 "
	    "tokens: the last is only predicted)", "are named");
	write_file(path, bad, 0);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_RAW16, 1, &s) == ACCEL_EIO, "nothing");
	is(said(), "tokens: the file is empty", "is named");
	unlink(path);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_RAW16, 1, &s) == ACCEL_EIO,
	    "no file");
	is(said(), "tokens: No such file or directory", "is named");
	if (mkfifo(path, 0600) != 0)
		exit(1);
	ok(tokens(4, 0, 0, ACCEL_TOKENS_HEADER, 1, &s) == ACCEL_EIO,
	    "a pipe does not hang");
	is(said(), "tokens: this is no plain file", "and is named");
	unlink(path);
	ok(tokens(0, 0, 0, ACCEL_TOKENS_HEADER, 1, &s) == ACCEL_EINVAL,
	    "no sequence");
	ok(tokens(4, 0, 0, (accel_tokens_layout)3, 1, &s) == ACCEL_EINVAL,
	    "no layout");
}

/* ---- records ------------------------------------------------------------- */

static int
write_records(void)
{
	accel_records *w;

	return accel_records_new(path, &w) == ACCEL_OK &&
	    accel_records_add(w, "\1\0\0\0", 4) == ACCEL_OK &&
	    accel_records_add(w, NULL, 0) == ACCEL_OK &&
	    accel_records_add(w, "\2\0\0\0\3\0\0\0", 8) == ACCEL_OK &&
	    accel_records_close(w, 1) == ACCEL_OK;
}

static void
flip(const char *name, size_t at)
{
	int fd = open(name, O_RDWR);
	unsigned char c;

	if (fd < 0 || pread(fd, &c, 1, (off_t)at) != 1)
		exit(1);
	c ^= 0x40;
	if (pwrite(fd, &c, 1, (off_t)at) != 1)
		exit(1);
	close(fd);
}

static void
records(void)
{
	accel_source	*s;
	accel_records	*w;
	struct stat	 st;
	int		 refused = 0;

	ok(write_records(), "three records");
	ok(accel_source_records(path, &s) == ACCEL_OK &&
	    accel_source_count(s) == 3 && accel_source_row_bytes(s) == 0,
	    "are there");
	is(row(s, 0), "1", "the first");
	is(row(s, 1), "", "an empty one");
	is(row(s, 2), "2 3", "the last");
	flip(path, 8);
	is(row(s, 2) + strlen(dir) + 4, "tokens: record 2 (8 bytes at 4) is "
	    "not what its hash says", "a flipped bit is seen");
	is(row(s, 0), "1", "and other records are not lost");
	if (truncate(path, 3) != 0)
		exit(1);
	is(row(s, 0) + strlen(dir) + 4, "tokens: was 12 bytes when it was "
	    "opened, and is 3 now", "a file that shrinks is no crash");
	accel_source_free(s);
	ok(accel_source_records(path, &s) == ACCEL_EIO, "nor a short one");
	is(said(), "tokens.idx: the records are 12 bytes, and the file beside "
	    "has 3 (the file is cut off or damaged: copy or write both again)",
	    "which is named");
	/* Every byte of the index counts. */
	for (size_t at = 0; at < 32 + 3 * 16; at++) {
		if (!write_records())
			exit(1);
		flip(index_path, at);
		if (accel_source_records(path, &s) == ACCEL_EIO && s == NULL)
			refused++;
	}
	ok(refused == 32 + 3 * 16, "a bit in each byte of the index: %d of "
	    "%d refused", refused, 32 + 3 * 16);
	write_records();
	if (truncate(index_path, 64) != 0)
		exit(1);
	ok(accel_source_records(path, &s) == ACCEL_EIO, "an index cut off");
	is(said(), "tokens.idx: the header says 3 records, and behind it are "
	    "32 bytes, 16 each (the file is cut off or damaged: copy or write "
	    "both again)", "is named");
	unlink(index_path);
	ok(accel_source_records(path, &s) == ACCEL_EIO, "no index");
	is(said(), "tokens.idx: No such file or directory", "is named");
	unlink(path);
	ok(accel_records_new(path, &w) == ACCEL_OK &&
	    accel_records_add(w, "x", 1) == ACCEL_OK &&
	    accel_records_close(w, 0) == ACCEL_OK && stat(path, &st) != 0 &&
	    stat(index_path, &st) != 0, "given up, nothing is left");
	ok(accel_records_new("/no/where", &w) == ACCEL_EIO && w == NULL,
	    "no folder");
	is(said(), "/no/where.part: No such file or directory", "is named");
}

/* An index that is right in its hash and wrong in its ends. */
static void
crafted_index(void)
{
	unsigned char	 index[32 + 2 * 16] = "ACCELREC";
	accel_source	*s;

	le_put(index + 8, 1, 4);
	le_put(index + 16, 2, 8);
	le_put(index + 32, 100, 8);
	le_put(index + 48, 8, 8);
	le_put(index + 24, hash_bytes(index + 32, 32), 8);
	write_file(path, "12345678", 8);
	write_file(index_path, index, sizeof(index));
	ok(accel_source_records(path, &s) == ACCEL_EIO, "ends that go back");
	is(said(), "tokens.idx: record 1 ends ahead of the one before",
	    "are named");
	unlink(path);
	unlink(index_path);
}

/* ---- callbacks ----------------------------------------------------------- */

/* Rows of index + 1 times 3000 bytes. */
static accel_status
grows(void *user, int64_t epoch, int64_t index, void *data, size_t room,
    size_t *bytes)
{
	int *calls = user;

	(void)epoch;
	++*calls;
	*bytes = (size_t)(index + 1) * 3000;
	if (*bytes <= room)
		memset(data, (int)index + 1, *bytes);
	else if (index == 9)
		*bytes = room + (size_t)*calls;	/* never satisfied */
	return ACCEL_OK;
}

static void
callbacks(void)
{
	struct rows	 rows = { 0 };
	struct err	 err = ERR_INIT;
	accel_source	*s;
	int		 calls = 0;

	ok(accel_source_callback(grows, &calls, 10, 0, &s) == ACCEL_OK,
	    "a callback");
	ok(source_read(s, 0, 0, &rows, &err) == ACCEL_OK && calls == 1 &&
	    rows.len == 3000, "what fits is one call");
	ok(source_read(s, 0, 4, &rows, &err) == ACCEL_OK && calls == 3 &&
	    rows.len == 18000 && rows.data[17999] == 5 && rows.data[0] == 1,
	    "what does not is asked for again");
	ok(source_read(s, 0, 9, &rows, &err) == ACCEL_EINVAL &&
	    rows.count == 2 && rows.len == 18000, "not for ever");
	accel_source_free(s);
	rows_clear(&rows);
	calls = 0;
	ok(accel_source_callback(grows, &calls, 10, 3000, &s) == ACCEL_OK &&
	    source_read(s, 0, 0, &rows, &err) == ACCEL_OK &&
	    source_read(s, 0, 1, &rows, &err) == ACCEL_EINVAL,
	    "rows of one size are");
	is(err.text, "the callback for sample 1 says 6000 bytes where there is "
	    "room for 3000", "or it is said which is not");
	accel_source_free(s);
	rows_clear(&rows);
	ok(accel_source_callback(NULL, NULL, 1, 1, &s) == ACCEL_EINVAL &&
	    accel_source_callback(grows, NULL, 0, 1, &s) == ACCEL_EINVAL,
	    "nothing to call, nothing to ask for");
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/tokens", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(index_path, sizeof(index_path), "%s.idx", path);
	memory();
	token_files();
	large_tokens();
	token_damage();
	records();
	crafted_index();
	callbacks();
	unlink(other);
	unlink(path);
	unlink(index_path);
	ok(rmdir(dir) == 0, "nothing is left behind");
	return tap_done();
}
