/* SPDX-License-Identifier: Apache-2.0 */
/* The header of safetensors files: what is read, and what is refused. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/safetensors.h"
#include "tests/tap.h"

#define A	"\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define B	"\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]}"
#define META	"\"__metadata__\":{\"format\":\"pt\"}"

static int
parse(struct safetensors *st, const char *header, uint64_t size,
    struct err *err)
{
	return safetensors_parse(st, header, strlen(header), size, "x", err);
}

static void
test_good(void)
{
	struct safetensors	 st;
	const struct tensor	*t;

	ok(parse(&st, "{" B "," META "," A "}  ", 26, NULL) == 0,
	    "a header with metadata and padding is read");
	ok(st.count == 2 && st.data == 8 + strlen("{" B "," META "," A "}  "),
	    "two tensors, and the data behind the header");
	is(st.tensor[0].name, "a", "in the data's order");
	is(strv_getenv(&st.metadata, "format"), "pt", "metadata is kept");
	t = safetensors_find(&st, "a");
	ok(t && t->rank == 2 && t->shape[0] == 2 && t->shape[1] == 3 &&
	    t->elements == 6, "a shape");
	is(t->dtype->name, "F32", "an element type");
	t = safetensors_find(&st, "b");
	ok(t && t->rank == 0 && t->elements == 1 && t->begin == 24 &&
	    t->end == 26, "a scalar");
	ok(!safetensors_find(&st, "c") && !safetensors_find(&st, ""),
	    "what is not there is not found");
	safetensors_clear(&st);
	ok(parse(&st, "{}", 0, NULL) == 0 && !st.count, "no tensor at all");
	safetensors_clear(&st);
	ok(parse(&st, "{\"q\":{\"dtype\":\"F4\",\"shape\":[4],"
	    "\"data_offsets\":[0,2]}}", 2, NULL) == 0, "four bits an element");
	safetensors_clear(&st);
	ok(parse(&st, "{\"e\":{\"dtype\":\"I64\",\"shape\":[0,7],"
	    "\"data_offsets\":[0,0]}," A "}", 24, NULL) == 0,
	    "a tensor without elements");
	safetensors_clear(&st);
}

static void
test_bad(void)
{
#define T(type, shape, place) \
	"{\"t\":{\"dtype\":" type ",\"shape\":" shape ",\"data_offsets\":" place "}}"
	static const struct { const char *header; uint64_t size;
	    const char *says; } cases[] = {
		{ "", 0, "does not begin with" },
		{ " {}", 0, "does not begin with" },
		{ "[]", 0, "does not begin with" },
		{ "{", 0, "byte 1" },
		{ "{}x", 0, "byte 3" },
		{ "{" A "," A "}", 24, "duplicate" },
		{ "{" A "}", 23, "speaks of 24 bytes of data, the file has 23" },
		{ "{" A "}", 25, "speaks of 24" },
		{ "{" B "}", 26, "begins at byte 24" },
		{ "{" A ",\"o\":{\"dtype\":\"U8\",\"shape\":[4],"
		  "\"data_offsets\":[20,24]}}", 24, "where 24 was expected" },
		{ T("\"F99\"", "[1]", "[0,4]"), 4, "element type F99" },
		{ T("7", "[1]", "[0,4]"), 4, "element type ?" },
		{ T("\"F32\"", "3", "[0,4]"), 4, "no shape" },
		{ T("\"F32\"", "[-1]", "[0,4]"), 4, "whole numbers" },
		{ T("\"F32\"", "[1.0]", "[0,4]"), 4, "whole numbers" },
		{ T("\"F32\"", "[4294967296,4294967296]", "[0,0]"), 0,
		  "too large" },
		{ T("\"F32\"", "[1152921504606846976]", "[0,0]"), 0,
		  "not the size" },
		{ T("\"F32\"", "[1]", "[4,0]"), 4, "data_offsets" },
		{ T("\"F32\"", "[1]", "[0]"), 4, "data_offsets" },
		{ T("\"F32\"", "[1]", "[0,5]"), 5, "not the size" },
		{ T("\"F4\"", "[3]", "[0,1]"), 1, "not the size" },
		{ "{\"__metadata__\":[]}", 0, "not a mapping" },
		{ "{\"__metadata__\":{\"a\":1}}", 0, "not a text" },
		{ "{\"t\":null}", 0, "element type" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct safetensors	st;
		struct err		err = ERR_INIT;
		int			got = parse(&st, cases[i].header,
		    cases[i].size, &err);

		ok(got < 0 && !st.count && strstr(err.text, cases[i].says),
		    "refused: %s", cases[i].says);
		if (!strstr(err.text, cases[i].says))
			printf("# %s\n", err.text);
		if (!got)
			safetensors_clear(&st);
	}
}

/* Every prefix of a good file, and lengths that lie. */
static void
test_file(void)
{
	static const char	 header[] = "{" A "," B "}";
	unsigned char		 bytes[8 + sizeof header - 1 + 26] = { 0 };
	char			 path[] = "/tmp/accel-st.XXXXXX";
	struct safetensors	 st;
	struct err		 err = ERR_INIT;
	size_t			 accepted = 0;
	int			 fd = mkstemp(path);

	bytes[0] = sizeof header - 1;
	memcpy(bytes + 8, header, sizeof header - 1);
	for (size_t n = 0; n <= sizeof bytes; n++) {
		if (ftruncate(fd, 0) || pwrite(fd, bytes, n, 0) != (ssize_t)n)
			break;
		if (safetensors_open(&st, path, &err) < 0)
			continue;
		accepted += 1 + (n != sizeof bytes);
		ok(st.data == 8 + sizeof header - 1 && st.size == 26,
		    "a file's header tells where the data is");
		safetensors_clear(&st);
	}
	ok(accepted == 1, "a file that was cut short is refused");
	bytes[7] = 0x80;
	ok(pwrite(fd, bytes, sizeof bytes, 0) > 0 &&
	    safetensors_open(&st, path, &err) < 0 &&
	    strstr(err.text, "9223372036854775"), "a header of 2^63 bytes");
	ok(safetensors_open(&st, "/", &err) < 0 &&
	    strstr(err.text, "not a file"), "a folder is no file");
	close(fd);
	unlink(path);
}

int
main(void)
{
	test_good();
	test_bad();
	test_file();
	return tap_done();
}
