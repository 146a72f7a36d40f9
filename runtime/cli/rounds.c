/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/rounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/launch.h"
#include "runtime/cli/view.h"
#include "runtime/config/schema.h"
#include "runtime/launch/elastic.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/supervise.h"

#include "runtime/base/banned.h"

static int
run_once(const struct plan_order *order, struct view *view,
    struct supervise_options *how, struct err *err)
{
	struct plan	plan = PLAN_INIT;
	int		code;

	if (plan_make(&plan, order, err) < 0)
		return -1;
	code = view_attempt(view, &plan, how, err);
	if (!code)
		code = supervise(&plan, how);
	plan_clear(&plan);
	return code;
}

static void
say_again(const struct elastic *e, enum ending ending, long restarts)
{
	fprintf(stderr, "accel: ");
	if (e->restarts > restarts)
		fprintf(stderr, "restart %ld of %ld", e->restarts,
		    e->max_restarts);
	else
		fprintf(stderr, "%s", ending == ENDED_BY_RETURN ?
		    "a host is back: all begin again" : "beginning");
	for (size_t i = 0, n = 0; i < e->hosts->count; i++)
		if (e->absent[i])
			fprintf(stderr, "%s%s", n++ ? ", " : ", without ",
			    host_label(&e->hosts->host[i]));
	fprintf(stderr, "\n");
}

static int
run_all(struct plan_order *order, struct elastic *e, bool elastic,
    struct view *view, struct supervise_options *how, struct err *err)
{
	enum ending	ending = ENDED;
	long		restarts;
	int		code;
	bool		again;

	do {
		struct hosts	 present, absent;
		char		 job[LAUNCH_JOB];
		bool		*lost = calloc(e->hosts->count + 1, sizeof *lost);

		code = -1;
		again = false;
		if (!lost)
			err_nomem(err);
		else if (elastic_hosts(e, &present, &absent, err) == 0) {
			order->hosts = &present;
			order->restarts = restarts = e->restarts;
			order->elastic = elastic;
			order->job = job;
			how->absent = &absent;
			how->ending = &ending;
			how->lost = lost;
			if (launch_job(job, err) == 0)
				code = run_once(order, view, how, err);
			again = code >= 0 && elastic_again(e, ending, lost);
			if (again)
				say_again(e, ending, restarts);
			hosts_clear(&present);
			hosts_clear(&absent);
		}
		free(lost);
	} while (again);
	return code;
}

int
rounds(struct plan_order *order, const struct hosts *hosts, const char *nnodes,
    struct view_order *show, struct supervise_options *how, struct err *err)
{
	struct elastic	e;
	struct view	view;
	char		job[LAUNCH_JOB];
	int		code;

	if (elastic_init(&e, hosts, nnodes,
	    order->config->launch.max_restarts, err) < 0)
		return EXIT_USAGE;
	if (launch_job(job, err) < 0) {
		elastic_clear(&e);
		return -1;
	}
	show->job = job;	/* that names the logs of all its runs */
	code = view_begin(&view, show, how, err);
	if (!code)
		code = run_all(order, &e, nnodes != NULL, &view, how, err);
	view_end(&view, code);
	elastic_clear(&e);
	return code;
}
