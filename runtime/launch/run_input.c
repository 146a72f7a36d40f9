/* SPDX-License-Identifier: Apache-2.0 */
/* run_input: our stdin goes to rank 0, no faster than that takes it. */
#include "runtime/launch/run.h"

#include <errno.h>
#include <unistd.h>

#include "runtime/launch/supervise.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum {
	BLOCK = 65536,
	WINDOW = 4 * BLOCK	/* bytes that rank 0 has not taken yet */
};

static struct buf *
begin(struct run *run, uint32_t what, size_t *frame)
{
	struct buf *out = &run->peer[run->plan->rank[0].host].out;

	*frame = wire_begin(out, WIRE_INPUT);
	wire_put(out, 0);
	wire_put(out, what);
	return out;
}

void
run_input_begin(struct run *run)
{
	size_t		 frame;
	struct buf	*out;

	if (!run->options->input)
		return;
	out = begin(run, WIRE_INPUT_OPEN, &frame);
	wire_end(out, frame);
	run->reading = true;
}

int
run_input_fd(const struct run *run)
{
	if (!run->reading || run->unread >= WINDOW)
		return -1;
	/* In the background, reading a terminal would stop us. */
	if (isatty(0) && tcgetpgrp(0) != getpgrp())
		return -1;
	return 0;
}

void
run_input_read(struct run *run)
{
	char		 block[BLOCK];
	ssize_t		 n = read(0, block, sizeof block);
	size_t		 frame;
	struct buf	*out;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	out = begin(run, n > 0 ? WIRE_INPUT_BYTES : WIRE_INPUT_END, &frame);
	if (n > 0) {
		wire_put_bytes(out, block, (size_t)n);
		run->unread += (size_t)n;
	} else
		run->reading = false;
	wire_end(out, frame);
}

void
run_input_taken(struct run *run, size_t host, uint32_t n)
{
	if (host != run->plan->rank[0].host)
		return;
	if (n == WIRE_INPUT_CLOSED)
		run->reading = false;
	else
		run->unread -= n < run->unread ? n : run->unread;
}
