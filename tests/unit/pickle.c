/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles become plain data, or are refused; nothing is ever run. */
#include <stdbool.h>

#include "runtime/base/err.h"
#include "runtime/weights/pickle.h"
#include "tests/tap.h"

static bool
known(const char *name)
{
	return !strcmp(name, "torch Size") || !strcmp(name, "m Class") ||
	    !strcmp(name, "collections OrderedDict");
}

#define READ(p, text, err) \
	pickle_read(p, text, sizeof(text) - 1, known, err)

static void
test_good(void)
{
	struct pickle			 p;
	const struct pickle_value	*v;

	/* {"a": -2, "big": 2**40, "t": (1, None, True), "l": [1.5, b"x"]} */
	ok(READ(&p, "\x80\x04\x95\0\0\0\0\0\0\0\0}\x94("
	    "\x8c\1a\x94J\xfe\xff\xff\xff"
	    "X\3\0\0\0big\x8a\6\0\0\0\0\0\1"
	    "\x8c\1tK\1N\x88\x87"
	    "\x8c\1l](G\x3f\xf8\0\0\0\0\0\0C\1xe"
	    "u.", NULL) == 0, "a dict of the usual values");
	v = p.root;
	ok(v->kind == PICKLE_DICT && v->n == 8, "has four pairs");
	ok(pickle_get(v, "a")->number == -2, "a negative number");
	ok(pickle_get(v, "big")->number == (int64_t)1 << 40,
	    "one of more than 32 bits");
	ok(pickle_get(v, "t")->n == 3 &&
	    pickle_get(v, "t")->item[1]->kind == PICKLE_NONE &&
	    pickle_get(v, "t")->item[2]->number == 1, "a tuple");
	ok(pickle_get(v, "l")->item[0]->real == 1.5 &&
	    pickle_get(v, "l")->item[1]->kind == PICKLE_BYTES, "a list");
	ok(!pickle_get(v, "none"), "a key that is not there");
	pickle_clear(&p);

	ok(READ(&p, "\x80\x02" "cm\nClass\nq\0)\x81q\1}q\2X\1\0\0\0sh\1sb.",
	    NULL) == 0, "an object that holds itself is read");
	ok(pickle_is(p.root, "m Class") && pickle_get(p.root, "s") == p.root,
	    "as a cycle");
	pickle_clear(&p);
	ok(READ(&p, "\x8c\5torch\x8c\4Size\x93K\7\x85\x85R.", NULL) == 0 &&
	    pickle_is(p.root, "torch Size") &&
	    p.root->args->item[0]->item[0]->number == 7,
	    "a call is kept as name and arguments");
	pickle_clear(&p);
	ok(READ(&p, "ccollections\nOrderedDict\n)RX\1\0\0\0kK\1s.", NULL) ==
	    0 && pickle_get(p.root, "k")->number == 1,
	    "an OrderedDict is a dict");
	pickle_clear(&p);
	ok(READ(&p, "(X\7\0\0\0storageK\3tQ.", NULL) == 0 &&
	    p.root->kind == PICKLE_PERSISTENT && p.root->args->n == 2,
	    "a persistent id is kept");
	pickle_clear(&p);
}

static void
test_bad(void)
{
	/* Each with what the message says. */
	static const struct { const char *data; size_t n; const char *says; }
	    cases[] = {
#define C(data, says)	{ data, sizeof(data) - 1, says }
		C("", "byte 0: the data end"),
		C("\x80\x02" "cposix\nsystem\nX\2\0\0\0id\x85R.",
		    "byte 2: posix.system is not among"),
		C("\x8c\x8" "builtins\x8c\4eval\x93.",
		    "byte 16: builtins.eval is not among"),
		C("cm\nClass\0\n.", "not among"),
		C("cm\nClass", "the data end inside a name"),
		C("i", "the operation 0x69 is none"),
		C("V1\n.", "the operation 0x56 is none"),
		C("\x80\x06N.", "a protocol above 5"),
		C("X\xff\xff\xff\xff" "a.", "longer than the data"),
		C("\x8d\xff\xff\xff\xff\xff\xff\xff\xff" "a.",
		    "longer than the data"),
		C("\x8c\5abc", "the data end inside"),
		C("\x8a\x09\0\0\0\0\0\0\0\0\0.", "more than 64 bits"),
		C(".", "the end comes too early"),
		C("NN.", "the end comes too early"),
		C("(N.", "the end comes too early"),
		C("t.", "lacks its mark"),
		C("\x85.", "lacks its items"),
		C("N(\x85.", "lacks its items"),
		C("K\1s.", "lacks its operands"),
		C("NK\1a.", "no list"),
		C("](K\1u.", "no dict"),
		C("}(K\1u.", "a key without its value"),
		C("(K\1e.", "items without a list"),
		C("NN\x81.", "a call of what is no class"),
		C("cm\nClass\nN\x81.", "a call of what is no class"),
		C("N}b.", "state for what is no object"),
		C("Nr\xff\xff\xff\x7f.", "a memo's number is out of range"),
		C("q\0.", "nothing there to be remembered"),
		C("h\0.", "nothing was remembered"),
		C("NNq\3h\2.", "nothing was remembered"),
		C("NN\x93.", "a name that is no text"),
#undef C
	};
	struct err	err;
	struct pickle	p;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int ret = pickle_read(&p, cases[i].data, cases[i].n, known,
		    &err);

		ok(ret == -1 && strstr(err.text, cases[i].says),
		    "refused: %s", cases[i].says);
		if (ret < 0 && !strstr(err.text, cases[i].says))
			printf("# %s\n", err.text);
	}
}

int
main(void)
{
	test_good();
	test_bad();
	return tap_done();
}
