/* SPDX-License-Identifier: Apache-2.0 */
/* agent_input: the launcher's stdin on its way to the one rank that has it. */
#include "runtime/launch/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/banned.h"

static void
say_taken(struct agent *a, uint32_t n)
{
	size_t frame = wire_begin(&a->out, WIRE_INPUT);

	wire_put(&a->out, n);
	wire_end(&a->out, frame);
}

/* Nobody reads it, or there is no more. */
static void
shut(struct agent *a)
{
	if (a->input.fd >= 0)
		close(a->input.fd);
	a->input.fd = -1;
	buf_clear(&a->input.pending);
	say_taken(a, WIRE_INPUT_CLOSED);
}

void
agent_input(struct agent *a, struct wire_frame *frame)
{
	uint32_t	 rank = wire_get(frame);
	uint32_t	 what = wire_get(frame);
	const char	*bytes;
	size_t		 n;

	if (frame->bad || (what != WIRE_INPUT_OPEN && a->input.fd < 0))
		return;		/* it ended meanwhile, and that was said */
	switch (what) {
	case WIRE_INPUT_OPEN:
		a->input.wanted = true;
		a->input.rank = rank;
		break;
	case WIRE_INPUT_BYTES:
		bytes = wire_get_bytes(frame, &n);
		if (!frame->bad && !a->input.end)
			buf_add(&a->input.pending, bytes, n);
		break;
	default:
		a->input.end = true;
	}
	agent_input_flush(a);
}

int
agent_input_pipe(struct agent *a, uint32_t rank)
{
	int ends[2];

	if (!a->input.wanted || a->input.rank != rank)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	a->input.fd = ends[1];
	return ends[0];
}

void
agent_input_flush(struct agent *a)
{
	struct buf	*from = &a->input.pending;
	uint32_t	 taken = 0;

	while (a->input.fd >= 0 && from->len) {
		ssize_t n = write(a->input.fd, from->data, from->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			shut(a);
			return;
		}
		buf_take(from, (size_t)n);
		taken += (uint32_t)n;
	}
	if (taken)
		say_taken(a, taken);
	if (a->input.fd >= 0 && a->input.end && !from->len)
		shut(a);
}

struct pollfd
agent_input_poll(const struct agent *a)
{
	return (struct pollfd){ a->input.fd,
	    a->input.pending.len ? POLLOUT : 0, 0 };
}

void
agent_input_event(struct agent *a, short revents)
{
	if (revents & (POLLERR | POLLNVAL))
		shut(a);	/* the rank closed it, or ended */
	else if (revents)
		agent_input_flush(a);
}
