/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event storm: all ranks start, say a line of their own and end at once.  Ten
 * times as many ranks must cost about ten times as much, not a hundred times.
 */
#include "runtime/launch/supervise.c"

#include <sys/socket.h>
#include <time.h>

#include "runtime/launch/hosts.h"
#include "tests/tap.h"

static int pair[2];

static int
fake_fd(const void *link)
{
	(void)link;
	return pair[0];
}

static const struct transport fake = { .name = "fake", .fd = fake_fd };

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
frames(struct buf *to, uint32_t rank, size_t lines)
{
	char	line[80];
	size_t	at = wire_begin(to, WIRE_STARTED);

	wire_put(to, rank);
	wire_put(to, 1000 + rank);
	wire_end(to, at);
	for (size_t i = 0; i < lines; i++) {
		at = wire_begin(to, WIRE_OUT);
		wire_put(to, rank);
		wire_put(to, 1);
		snprintf(line, sizeof line, "rank %u step %zu\n",
		    (unsigned)rank, i);
		wire_put_text(to, line);
		wire_end(to, at);
	}
	at = wire_begin(to, WIRE_EXIT);
	wire_put(to, rank);
	wire_put(to, 0);
	wire_put_text(to, "");
	wire_end(to, at);
}

static void
hear_all(struct run *run, const struct buf *said)
{
	size_t		sent = 0;
	struct pollfd	more = { pair[0], POLLIN, 0 };

	while (sent < said->len || poll(&more, 1, 0) > 0) {
		ssize_t n = send(pair[1], said->data + sent,
		    said->len - sent, MSG_DONTWAIT);

		if (n > 0)
			sent += (size_t)n;
		read_peer(run, 0);
	}
}

/* A host has them all: what is measured is what an event costs. */
static double
storm(struct hosts *list, size_t ranks, size_t lines, size_t *ended)
{
	struct plan			 plan = PLAN_INIT;
	struct supervise_options	 options = {
		.output.mode = OUTPUT_LINES, .output.fold = true };
	struct run			 run = { .plan = &plan,
						 .options = &options };
	struct buf			 said = BUF_INIT;
	char				*argv[] = { (char []){ "true" }, NULL };
	struct strv			 env = STRV_INIT;
	double				 begun, taken;

	if (plan_command(&plan, list, argv, &env, "/", "token", NULL) < 0)
		return -1;
	for (size_t i = 0; i < plan.world; i++)
		plan.rank[i].host = 0;
	for (size_t i = 0; i < ranks; i++)
		frames(&said, (uint32_t)i, lines);
	begun = cpu_s();
	if (run_init(&run) < 0 || buf_failed(&said))
		return -1;
	run.step = RUN;
	run.peer[0].transport = &fake;
	run.peer[0].heard_agent = true;
	run_start(&run, true);
	hear_all(&run, &said);
	output_finish(&run.output);
	taken = cpu_s() - begun;
	*ended = 0;
	for (size_t i = 0; i < plan.world; i++)
		*ended += run.end[i].ended;
	for (size_t h = 0; h < hosts(&run); h++) {
		buf_clear(&run.peer[h].in);
		buf_clear(&run.peer[h].out);
	}
	output_clear(&run.output);
	pmi_free(run.pmi);
	free(run.peer);
	free(run.pid);
	free(run.end);
	plan_clear(&plan);
	buf_clear(&said);
	return taken;
}

static double
storm_of(size_t ranks, size_t *ended)
{
	struct hosts	list = HOSTS_INIT;
	struct buf	names = BUF_INIT;
	double		taken;

	for (size_t i = 0; i < ranks; i++)
		buf_addf(&names, "%sn%zu", i ? "," : "", i);
	if (hosts_add(&list, buf_text(&names), NULL) < 0)
		return -1;
	taken = storm(&list, ranks, 10, ended);
	hosts_clear(&list);
	buf_clear(&names);
	return taken;
}

int
main(void)
{
	size_t	ended;
	double	few, many;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return 1;
	few = storm_of(1000, &ended);
	ok(ended == 1000, "1,000 ranks end");
	many = storm_of(10000, &ended);
	ok(ended == 10000, "10,000 ranks end");
	printf("# %.3f s and %.3f s of CPU\n", few, many);
	ok(few > 0 && many < 40 * few, "ten times the ranks, no square");
	return tap_done();
}
