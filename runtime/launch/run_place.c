/* SPDX-License-Identifier: Apache-2.0 */
/* run_place: where each rank will be on its host, from what the host said. */
#include "runtime/launch/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/num.h"

#include "runtime/base/banned.h"

/* A list of GPUs that the user wrote, of a host that has fewer. */
static void
look_at_list(struct run *run, size_t host)
{
	const struct host	*h = &run->plan->hosts.host[host];
	const char		*fact = strv_getenv(&run->peer[host].facts,
				    "devices");
	char			 text[200];
	long			 have;

	if (!fact || num_parse(fact, 0, 1 << 20, &have) < 0)
		return;
	for (size_t i = 0; i < h->gpus; i++) {
		if (h->gpu[i] < have)
			continue;
		snprintf(text, sizeof text, "GPU %ld of its list is not there: "
		    "it has %ld", h->gpu[i], have);
		run_problem(run, host, text, "the first is number 0");
		return;
	}
}

static void
place_host(struct run *run, size_t host)
{
	struct buf	 warning = BUF_INIT;
	struct err	 err = ERR_INIT;
	const char	*line;

	if (plan_places(run->plan, host, &run->peer[host].facts, run->place,
	    &warning, &err) < 0)
		run_problem(run, host, err.text, err.hint);
	for (line = buf_text(&warning); *line; line += strcspn(line, "\n") + 1) {
		char text[300];

		snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"),
		    line);
		run_warning(run, host, text, NULL);
	}
	buf_clear(&warning);
}

void
run_place(struct run *run)
{
	bool wanted = map_wants_places(&run->plan->map);

	if (wanted && !run->place)
		run->place = calloc(run->plan->world, sizeof *run->place);
	for (size_t h = 0; h < hosts(run); h++) {
		if (run->peer[h].closed)
			continue;
		look_at_list(run, h);
		if (run->place)
			place_host(run, h);
		else if (wanted)
			run_problem(run, h, "out of memory", NULL);
	}
}

void
run_place_report(const struct run *run)
{
	struct buf table = BUF_INIT;

	if (!run->place)
		return;
	plan_print_table(run->plan, run->place, &table);
	fputs(buf_text(&table), stderr);
	buf_clear(&table);
}

void
run_seat_clear(struct run *run)
{
	for (size_t i = 0; run->place && i < run->plan->world; i++)
		seat_clear(&run->place[i]);
	free(run->place);
	run->place = NULL;
}
