/* SPDX-License-Identifier: Apache-2.0 */
/* run_rejoin: from time to time, a call to each host that was lost.  One that
 * answers is left again at once: the next run begins with all of them. */
#include "runtime/launch/run.h"

#include <poll.h>
#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/launch/transport.h"
#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

enum { CALL_MS = 10000 };	/* from one call to the next */

struct rejoin {			/* an absent host */
	const struct transport	*transport;
	void			*link;		/* NULL between two calls */
	int64_t			 next;
};

static size_t
absent(const struct run *run)
{
	return run->options->absent ? run->options->absent->count : 0;
}

static void
hang_up(struct rejoin *r, bool greeted)
{
	if (r->link)
		r->transport->close(r->link, greeted);
	r->link = NULL;
	r->next = clock_ms() + CALL_MS;
}

static void
call(struct run *run, size_t i)
{
	struct rejoin		*r = &run->rejoin[i];
	const struct host	*host = &run->options->absent->host[i];

	r->next = clock_ms() + CALL_MS;
	r->transport = host_is_local(host) ? &transport_exec :
	    transport_remote(run->options->transport, NULL);
	if (r->transport && r->transport->open(run->options->transport,
	    host->name, &r->link, NULL) < 0)
		r->link = NULL;
}

int
run_rejoin_init(struct run *run)
{
	if (!absent(run))
		return 0;
	run->rejoin = calloc(absent(run), sizeof *run->rejoin);
	for (size_t i = 0; run->rejoin && i < absent(run); i++)
		run->rejoin[i].next = clock_ms() + CALL_MS;
	return run->rejoin ? 0 : -1;
}

void
run_rejoin_fds(const struct run *run, struct pollfd *fds)
{
	for (size_t i = 0; i < absent(run); i++) {
		const struct rejoin *r = &run->rejoin[i];

		fds[i] = (struct pollfd){
			r->link ? r->transport->fd(r->link) : -1, POLLIN, 0 };
	}
}

bool
run_rejoin_turn(struct run *run, const struct pollfd *fds)
{
	bool back = false;

	for (size_t i = 0; i < absent(run); i++) {
		struct rejoin	*r = &run->rejoin[i];
		struct buf	 said = BUF_INIT;

		if (r->link && fds[i].revents) {
			/* Its agent greets; an end of file is no greeting. */
			(void)wire_fill(fds[i].fd, &said);
			hang_up(r, said.len > 0);
			back = back || said.len > 0;
			buf_clear(&said);
		} else if (!r->link && run->step == RUN && !run->stopping &&
		    clock_ms() >= r->next)
			call(run, i);
	}
	return back;
}

void
run_rejoin_clear(struct run *run)
{
	for (size_t i = 0; run->rejoin && i < absent(run); i++)
		hang_up(&run->rejoin[i], false);
	free(run->rejoin);
	run->rejoin = NULL;
}
