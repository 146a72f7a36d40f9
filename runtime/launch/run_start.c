/* SPDX-License-Identifier: Apache-2.0 */
/* run_start: tells agents which ranks to start, and how. */
#include "runtime/launch/run.h"

#include "runtime/launch/wire.h"

#include "runtime/base/banned.h"

/* What a rank is bound to, and what follows for its environment. */
static void
say_place(struct run *run, size_t rank, struct buf *out, struct strv *env)
{
	const struct seat *place = run->place ? &run->place[rank] : NULL;

	wire_put(out, place ? (uint32_t)place->cpus : 0);
	for (size_t k = 0; place && k < place->cpus; k++)
		wire_put(out, place->cpu[k]);
	if ((place && plan_place_env(run->plan, place, env) < 0) ||
	    run_track_env(run, rank, env) < 0)
		out->failed = true;
}

static void
say_start(struct run *run, size_t rank, const struct strv *met)
{
	const struct plan_rank	*r = &run->plan->rank[rank];
	struct buf		*out = &run->peer[r->host].out;
	struct strv		 late = STRV_INIT;
	size_t			 frame = wire_begin(out, WIRE_START);

	wire_put(out, (uint32_t)(run->options->grace_s * 1000));
	wire_put(out, (uint32_t)run->plan->hosts.host[r->host].slots);
	wire_put(out, (uint32_t)rank);
	say_place(run, rank, out, &late);
	wire_put_text(out, run->plan->folder);
	wire_put(out, (uint32_t)r->argv.count);
	for (size_t k = 0; k < r->argv.count; k++)
		wire_put_text(out, r->argv.item[k]);
	wire_put(out, (uint32_t)(met->count + r->env.count + late.count));
	for (size_t k = 0; k < met->count; k++)
		wire_put_text(out, met->item[k]);
	for (size_t k = 0; k < r->env.count; k++)
		wire_put_text(out, r->env.item[k]);
	for (size_t k = 0; k < late.count; k++)
		wire_put_text(out, late.item[k]);
	wire_end(out, frame);
	strv_clear(&late);
}

void
run_start(struct run *run, bool first)
{
	struct strv	met = STRV_INIT;	/* where the ranks meet */
	size_t		of = hosts(run);	/* for which host that is */

	for (size_t i = 0; i < run->plan->world; i++) {
		size_t host = run->plan->rank[i].host;

		if ((host == 0) != first)
			continue;
		if (host != of) {
			strv_clear(&met);
			of = host;
			if (run_address_env(run, host, &met) < 0)
				run->peer[host].out.failed = true;
		}
		say_start(run, i, &met);
	}
	strv_clear(&met);
}
