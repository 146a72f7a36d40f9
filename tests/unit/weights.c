/* SPDX-License-Identifier: Apache-2.0 */
/* Slices in safetensors files become whole tensors; what does not fit together
 * is refused by name. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/safetensors_write.h"
#include "runtime/weights/weights.h"
#include "tests/tap.h"

static char	 root[] = "/tmp/accel-weights-XXXXXX";
static char	 from[64], to[64];

static void
empty(const char *folder)
{
	DIR		*dir = opendir(folder);
	struct dirent	*e;
	char		 path[400];

	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(folder);
}

/* A file with one U8 tensor "w" of 2 dimensions. */
static void
put(const char *file, const char *rank, const char *world, const char *slice,
    int64_t rows, int64_t columns, const char *data)
{
	const char		*metadata[] = { "accel.rank", rank,
	    "accel.world", world, slice ? "accel.slice.w" : NULL, slice, NULL };
	int64_t			 shape[] = { rows, columns };
	uint64_t		 n = (uint64_t)(rows * columns);
	struct safetensors_row	 row = { "w", dtype_of("U8"), shape, 2, 0, n };
	struct buf		 b = BUF_INIT;
	char			 path[200];

	safetensors_header(&b, &row, 1, rank ? metadata : metadata + 6, NULL);
	buf_add(&b, data, n);
	snprintf(path, sizeof path, "%s/%s.safetensors", from, file);
	file_replace(path, b.data, b.len, 0600, NULL);
	buf_clear(&b);
}

static void
put_index(const char *text)
{
	char path[200];

	snprintf(path, sizeof path, "%s/model.safetensors.index.json", from);
	file_replace(path, text, strlen(text), 0600, NULL);
}

static int
merge(struct err *err, char *text)
{
	struct weights		w = WEIGHTS_INIT;
	struct weights_out	out = { .folder = to };
	struct safetensors	st = SAFETENSORS_INIT;
	char			path[200];
	int			ret = weights_read(&w, from, err);
	FILE			*f;

	text[0] = '\0';
	if (ret == 0)
		ret = weights_write(&w, &out, err);
	weights_clear(&w);
	if (ret < 0)
		return -1;
	snprintf(path, sizeof path, "%s/model.safetensors", to);
	if (safetensors_open(&st, path, err) < 0 || !(f = fopen(path, "r")))
		return -1;
	fseek(f, (long)st.data, SEEK_SET);
	text[fread(text, 1, 60, f)] = '\0';
	fclose(f);
	safetensors_clear(&st);
	return 0;
}

static void
refused(const char *says, const char *what)
{
	struct err	err = ERR_INIT;
	char		text[64];
	int		ret = merge(&err, text);

	ok(ret == -1 && strstr(err.text, says), "%s", what);
	if (ret == 0 || !strstr(err.text, says))
		printf("# %s\n", err.text);
	ok(access(to, F_OK) < 0, "and nothing is written");
	empty(from);
	empty(to);
}

static void
whole(const char *want, const char *what)
{
	struct err	err = ERR_INIT;
	char		text[64];

	ok(merge(&err, text) == 0, "%s: %s", what, err.text);
	is(text, want, "with every element in its place");
	empty(from);
	empty(to);
}

/* 256 MB, the file's data being a hole: what is mapped is let go. */
static void
test_memory(void)
{
	static const char	*const none[] = { NULL };
	const char		*sanitized = getenv("ACCEL_SANITIZED");
	int64_t			 shape[] = { 64 << 20 };
	struct safetensors_row	 row[4];
	struct weights_out	 out = { .folder = to };
	struct weights		 w = WEIGHTS_INIT;
	struct err		 err = ERR_INIT;
	struct buf		 b = BUF_INIT;
	struct rusage		 used;
	char			 names[4][2] = { "a", "b", "c", "d" };
	char			 path[200];

	for (size_t i = 0; i < 4; i++)
		row[i] = (struct safetensors_row){ names[i], dtype_of("U8"),
		    shape, 1, i << 26, (i + 1) << 26 };
	safetensors_header(&b, row, 4, none, NULL);
	snprintf(path, sizeof path, "%s/x.safetensors", from);
	file_replace(path, b.data, b.len, 0600, NULL);
	ok(truncate(path, (off_t)(b.len + (256 << 20))) == 0, "a large file");
	ok(weights_read(&w, from, &err) == 0 &&
	    weights_write(&w, &out, &err) == 0, "is merged: %s", err.text);
	getrusage(RUSAGE_SELF, &used);
	if (sanitized && *sanitized)
		skip("built with sanitizers, which take memory themselves");
	else
		ok(used.ru_maxrss < 128 << 10, "in little memory (%ld MB)",
		    used.ru_maxrss >> 10);
	weights_clear(&w);
	buf_clear(&b);
	empty(from);
	empty(to);
}

#define SLICE(rows, columns, row, column) \
	"{\"shape\":[" #rows "," #columns "],\"offset\":[" #row "," #column "]}"

int
main(void)
{
	if (!mkdtemp(root))
		return 1;
	snprintf(from, sizeof from, "%s/from", root);
	snprintf(to, sizeof to, "%s/to", root);

	put("a", "0", "2", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	put("b", "1", "2", SLICE(4, 3, 3, 0), 1, 3, "jkl");
	whole("abcdefghijkl", "rows, unevenly cut");
	put("a", "0", "2", SLICE(2, 5, 0, 0), 2, 2, "abfg");
	put("b", "1", "2", SLICE(2, 5, 0, 2), 2, 3, "cdehij");
	whole("abcdefghij", "columns");
	put("a", "0", "4", SLICE(3, 3, 0, 0), 2, 2, "abde");
	put("b", "1", "4", SLICE(3, 3, 0, 2), 2, 1, "cf");
	put("c", "2", "4", SLICE(3, 3, 2, 0), 1, 2, "gh");
	put("d", "3", "4", SLICE(3, 3, 2, 2), 1, 1, "i");
	whole("abcdefghi", "both at once");
	put("a", "0", "2", NULL, 2, 2, "abcd");
	put("b", "1", "2", NULL, 2, 2, "abcd");
	whole("abcd", "a tensor that all ranks have");

	put("a", "0", "2", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	put("b", "1", "2", SLICE(4, 3, 3, 0), 1, 3, "jkl");
	put("old", NULL, NULL, NULL, 1, 1, "z");
	put_index("{\"weight_map\": {\"w\": \"a.safetensors\"}}");
	whole("abcdefghijkl", "an index, the other ranks, and no stranger");
	put("a", NULL, NULL, NULL, 1, 2, "ab");
	put_index("{\"weight_map\": {\"w\": \"a.safetensors\", "
	    "\"v\": \"b.safetensors\"}}");
	refused("the index names b.safetensors", "a file of the index");
	put("a", NULL, NULL, NULL, 1, 2, "ab");
	put_index("{\"weight_map\": [1]}");
	refused("weight_map is not a mapping", "an index of another form");
	put("a", NULL, NULL, NULL, 1, 2, "ab");
	put_index("{\"weight_map\": ");
	refused("index.json:1:", "an index that is cut short");

	put("a", "0", "2", NULL, 2, 2, "abcd");
	put("b", "1", "2", NULL, 2, 2, "abcX");
	refused("tensor \"w\" differs between", "replicas that differ");
	put("a", "0", "2", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	refused("rank 1 of 2 has no file", "a rank that is missing");
	put("a", "0", "1", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	refused("not complete: 9 of its 12 bytes", "a part that is missing");
	put("a", "0", "2", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	put("b", "1", "2", SLICE(4, 3, 2, 0), 1, 3, "jkl");
	refused("overlap", "parts that overlap");
	put("a", "0", "2", SLICE(4, 3, 0, 0), 3, 3, "abcdefghi");
	put("b", "1", "2", SLICE(5, 3, 3, 0), 1, 3, "jkl");
	refused("another type or shape", "two shapes of one tensor");
	put("a", "0", "1", SLICE(4, 3, 2, 0), 3, 3, "abcdefghi");
	refused("lies outside it", "a part outside the tensor");
	put("a", "0", "1", "{\"shape\":[4],\"offset\":[0]}", 3, 3,
	    "abcdefghi");
	refused("its slice is not", "a slice of other dimensions");
	put("a", "0", "1", "nonsense", 3, 3, "abcdefghi");
	refused("its slice is not", "a slice that is no JSON");
	put("a", "2", "2", NULL, 1, 1, "a");
	refused("accel.rank is 2, and there are 2", "a rank too many");
	put("a", "0", "2", NULL, 1, 1, "a");
	put("b", "1", "3", NULL, 1, 1, "a");
	refused("accel.world is 3", "files of two runs");
	refused("No such file", "no folder");
	test_memory();
	empty(root);
	return tap_done();
}
