/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between launcher and agent. */
#include <stdlib.h>

#include "runtime/launch/wire.h"
#include "tests/tap.h"

int
main(void)
{
	struct buf		out = BUF_INIT, in = BUF_INIT;
	struct wire_frame	frame;
	size_t			begun = wire_begin(&out, WIRE_OUT), n;
	const char		*bytes;
	char			*text;
	int			 early = 0;

	wire_put(&out, 0xfedcba98);
	wire_put_bytes(&out, "a\0b\n", 4);
	wire_put_text(&out, "");
	wire_end(&out, begun);
	wire_end(&out, wire_begin(&out, WIRE_BEAT));

	for (size_t i = 0; i + 6 < out.len; i++) {	/* 6: the second frame, and one */
		buf_add(&in, out.data + i, 1);
		early += wire_next(&in, &frame) != 0;
	}
	ok(early == 0, "a frame is not there before its last byte");
	buf_add(&in, out.data + in.len, out.len - in.len);
	ok(wire_next(&in, &frame) == 1 && frame.type == WIRE_OUT, "then it is");
	ok(wire_get(&frame) == 0xfedcba98, "a number");
	bytes = wire_get_bytes(&frame, &n);
	ok(n == 4 && !memcmp(bytes, "a\0b\n", 4), "bytes as they were");
	text = wire_get_text(&frame);
	is(text, "", "an empty text");
	free(text);
	ok(!frame.bad, "all of it was there");
	ok(wire_get(&frame) == 0 && frame.bad, "more was not");
	ok(wire_get_text(&frame) == NULL, "a bad frame gives no text");
	buf_take(&in, wire_size(&in));
	ok(wire_next(&in, &frame) == 1 && frame.type == WIRE_BEAT, "the next frame");
	buf_take(&in, wire_size(&in));
	ok(wire_next(&in, &frame) == 0 && in.len == 0, "and no other");

	buf_add(&in, "\x63\0\0\0\0", 5);
	ok(wire_next(&in, &frame) == -1, "an unknown type cannot be a frame");
	buf_clear(&in);
	buf_add(&in, "\x01\xff\xff\xff\xff", 5);
	ok(wire_next(&in, &frame) == -1, "nor can 4 GiB");
	buf_clear(&in);
	buf_add(&in, "\x0c\x05\0\0\0\xff\0\0\0x", 10);
	ok(wire_next(&in, &frame) == 1 && wire_get_text(&frame) == NULL &&
	    frame.bad, "a text longer than its frame is not read");
	buf_clear(&in), buf_clear(&out);
	return tap_done();
}
