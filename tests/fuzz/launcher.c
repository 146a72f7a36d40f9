/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from a host, to a launcher of a rank on each of two hosts.  The first byte
 * says how far the run is, and whose bytes they are. */
#include "runtime/launch/supervise.c"

#include <sys/socket.h>

#include "runtime/launch/hosts.h"
#include "tests/fuzz/fuzz.h"

static int pair[2];

static int
fake_fd(const void *link)
{
	(void)link;
	return pair[0];
}

static int
fake_result(void *link, struct err *err)
{
	(void)link, (void)err;
	return 0;
}

static const struct transport fake = {
	.name = "fake", .fd = fake_fd, .result = fake_result
};

static void
clear(struct run *run)
{
	for (size_t h = 0; h < hosts(run); h++) {
		run_check_clear(&run->peer[h]);
		buf_clear(&run->peer[h].in);
		buf_clear(&run->peer[h].out);
	}
	run_usage_clear(run);
	output_clear(&run->output);
	pmi_free(run->pmi);
	for (size_t i = 0; i < run->plan->world; i++)
		free(run->end[i].why);
	free(run->peer);
	free(run->pid);
	free(run->end);
}

static void
make_plan(struct plan *plan)
{
	struct hosts	 two = HOSTS_INIT;
	struct strv	 env = STRV_INIT;
	char		*argv[] = { (char []){ "true" }, NULL };

	MUST(!hosts_add(&two, "node1,node2", NULL));
	MUST(!plan_command(plan, &two, argv, &env, "/", "token", NULL));
	hosts_clear(&two);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct plan			 plan = PLAN_INIT;
	struct supervise_options	 options = {
		.output.mode = n && data[0] & 1 ? OUTPUT_JSON : OUTPUT_LINES,
		.output.fold = n && data[0] & 2,
		.usage_ms = n && data[0] & 32 ? 1000 : 0,
	};
	struct run	 run = { .plan = &plan, .options = &options,
			     .signals = -1 };
	size_t		 host = n && data[0] & 4 ? 1 : 0;
	struct peer	*peer;

	if (!n || n > 60000)
		return 0;
	make_plan(&plan);
	plan.apart = data[0] & 8;	/* else an address is looked for */
	MUST(!run_init(&run));
	for (size_t h = 0; h < hosts(&run); h++)
		run.peer[h].transport = &fake;
	run.step = data[0] & 16 ? RUN : LOOK;
	peer = &run.peer[host];
	MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	MUST(send(pair[1], data + 1, n - 1, 0) == (ssize_t)n - 1);
	shutdown(pair[1], SHUT_WR);
	while (!peer->closed)
		read_peer(&run, host);
	run_blame(&run);
	MUST(!run.end[!host].ended);	/* a rank of the other host */
	close(pair[0]);
	close(pair[1]);
	clear(&run);
	plan_clear(&plan);
	return 0;
}
