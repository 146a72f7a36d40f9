/* SPDX-License-Identifier: Apache-2.0 */
/* accel launch --print: what would start, and nothing starts. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/cli/launch.h"
#include "runtime/launch/plan.h"
#include "probes/topology.h"

#include "runtime/base/banned.h"

int
launch_print(struct plan_order *order, struct err *err)
{
	struct plan	 plan = PLAN_INIT;
	struct seat	*place = NULL;
	struct strv	 facts = STRV_INIT;
	struct buf	 text = BUF_INIT, warning = BUF_INIT;
	const char	*root = getenv("ACCEL_DEVICES");
	bool		 wanted, all = true;
	int		 ret = 0;

	order->job = "token-of-each-run";
	if (plan_make(&plan, order, err) < 0)
		return -1;
	wanted = map_wants_places(&plan.map);
	if (wanted && (!(place = calloc(plan.world, sizeof *place)) ||
	    topology_facts(root ? root : "", &facts) < 0))
		ret = err_nomem(err);
	for (size_t h = 0; wanted && !ret && h < plan.hosts.count; h++) {
		if (host_is_local(&plan.hosts.host[h]))
			ret = plan_places(&plan, h, &facts, place, &warning,
			    err);
		else
			all = false;
	}
	if (!ret) {
		plan_print(&plan, place, &text);
		fputs(buf_text(&text), stdout);
		fputs(buf_text(&warning), stderr);
	}
	if (!ret && !all)
		fprintf(stderr, "accel check, with the same flags, tells the "
		    "cores of other hosts\n");
	for (size_t i = 0; place && i < plan.world; i++)
		seat_clear(&place[i]);
	free(place);
	strv_clear(&facts);
	buf_clear(&text);
	buf_clear(&warning);
	plan_clear(&plan);
	return ret;
}
