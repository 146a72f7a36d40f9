/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from the other side of a link: frames of launcher and agent. */
#include "runtime/launch/wire.h"
#include "tests/fuzz/fuzz.h"

/* Takes a frame apart in a way that its bytes choose. */
static void
take(struct wire_frame *frame)
{
	while (frame->left && !frame->bad) {
		const char	*bytes;
		char		*text;
		size_t		 n = 0;

		switch (wire_get(frame) % 3) {
		case 0:
			bytes = wire_get_bytes(frame, &n);
			for (size_t i = 0; bytes && i < n; i++)
				MUST(bytes[i] == bytes[i]);
			break;
		case 1:
			text = wire_get_text(frame);
			MUST(!text == frame->bad);
			free(text);
			break;
		default:
			wire_get(frame);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf		in = BUF_INIT;
	struct wire_frame	frame;
	int			rc;

	if (n)
		MUST(!buf_add(&in, data, n));
	while ((rc = wire_next(&in, &frame)) == 1) {
		MUST(wire_size(&in) <= in.len);
		take(&frame);
		buf_take(&in, wire_size(&in));
	}
	MUST(rc == 0 || rc == -1);
	buf_clear(&in);
	return 0;
}
