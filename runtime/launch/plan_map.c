/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/plan_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

void
plan_deal(struct hosts *hosts, long ranks, enum map_by by)
{
	long round = 0;		/* full rounds of a rank a host */

	for (size_t i = 0; by != MAP_NODE && i < hosts->count; i++) {
		struct host *host = &hosts->host[i];

		if (host->slots > ranks)
			host->slots = ranks;
		ranks -= host->slots;
	}
	while (by == MAP_NODE && ranks > 0) {
		long more = 0;

		for (size_t i = 0; i < hosts->count; i++)
			more += hosts->host[i].slots > round;
		if (more > ranks)
			break;
		ranks -= more;
		round++;
	}
	for (size_t i = 0; by == MAP_NODE && i < hosts->count; i++) {
		struct host *host = &hosts->host[i];

		if (host->slots > round) {
			host->slots = round + (ranks > 0);
			ranks -= ranks > 0;
		}
	}
	while (hosts->host[hosts->count - 1].slots == 0)
		hosts_drop(hosts);
}

void
plan_seat(struct plan *plan)
{
	size_t	rank = 0;
	bool	turns = plan->map.by == MAP_NODE;

	for (long l = 0; rank < plan->world; l++)	/* once, without turns */
		for (size_t h = 0; h < plan->hosts.count; h++) {
			long slots = plan->hosts.host[h].slots;

			for (long k = turns ? l : 0; k < slots; k++) {
				plan->rank[rank++] = (struct plan_rank){
					.host = h, .local_rank = k,
					.local_world = slots, .gpu = -1,
				};
				if (turns)
					break;
			}
		}
}

/* The GPUs of a host's ranks, "0,2": its own list, or what its ranks' or our
 * environment says; gives "" where that is all of them. */
static char *
gpu_list(const struct plan *plan, const struct plan_rank *r, const char *mask)
{
	const struct host	*host = &plan->hosts.host[r->host];
	const char		*said = strv_getenv(&r->env, mask);
	struct buf		 text = BUF_INIT;

	for (size_t i = 0; i < host->gpus; i++)
		buf_addf(&text, "%s%ld", i ? "," : "", host->gpu[i]);
	if (!host->gpus && !said && host_is_local(host))
		said = getenv(mask);
	if (!host->gpus)
		buf_adds(&text, said ? said : "");
	return buf_detach(&text);
}

/* Item number "at" of "a,b,c"; gives the item, or how many there are. */
static size_t
item_of(const char *list, long at, char *out, size_t room)
{
	size_t count = 0;

	*out = '\0';
	for (; *list; count++) {
		size_t n = strcspn(list, ",");

		if ((long)count == at)
			snprintf(out, room, "%.*s", (int)n, list);
		list += n + (list[n] == ',');
	}
	return count;
}

int
plan_gpus(const struct plan *plan, struct plan_rank *r, const char *mask,
    struct err *err)
{
	const struct host	*host = &plan->hosts.host[r->host];
	char			*list = gpu_list(plan, r, mask), own[80];
	size_t			 count;
	int			 ret = -1;

	if (!list)
		return err_nomem(err);
	count = item_of(list, r->local_rank, own, sizeof own);
	if (*list && !*own && (host->gpus || plan->map.gpu_per_rank)) {
		err_set(err, "host %s: %ld ranks and a list of %zu GPU%s",
		    host_label(host), r->local_world, count,
		    count == 1 ? "" : "s");
		err_hint(err, "give it as many slots as GPUs");
		goto out;
	}
	if (!*list)		/* all: the local rank is the number */
		snprintf(own, sizeof own, "%ld", r->local_rank);
	if (num_parse(own, 0, 1 << 20, &r->gpu) < 0)
		r->gpu = -1;	/* an id, such as MIG-... */
	if (host->gpus || plan->map.gpu_per_rank) {
		if (strv_setenv(&r->env, mask,
		    plan->map.gpu_per_rank ? own : list) < 0)
			goto nomem;
	} else if (plan->map.by != MAP_GPU) {
		ret = 0;
		goto out;
	}
	/* So that numbers mean what nvidia-smi and our table mean. */
	if (!strcmp(mask, "CUDA_VISIBLE_DEVICES") &&
	    !strv_getenv(&r->env, "CUDA_DEVICE_ORDER") &&
	    strv_setenv(&r->env, "CUDA_DEVICE_ORDER", "PCI_BUS_ID") < 0)
		goto nomem;
	ret = 0;
	goto out;
nomem:
	err_nomem(err);
out:
	free(list);
	return ret;
}

int
plan_places(const struct plan *plan, size_t host, const struct strv *facts,
    struct seat *place, struct buf *warning, struct err *err)
{
	size_t		 n = (size_t)plan->hosts.host[host].slots;
	struct seat	*local = calloc(n, sizeof *local);
	long		*gpu = calloc(n, sizeof *gpu);
	int		 ret = -1;

	if (!local || !gpu) {
		err_nomem(err);
		goto out;
	}
	for (size_t i = 0; i < plan->world; i++)
		if (plan->rank[i].host == host)
			gpu[plan->rank[i].local_rank] = plan->rank[i].gpu;
	ret = map_host(facts, &plan->map, gpu, n, local, warning, err);
	for (size_t i = 0; ret == 0 && i < plan->world; i++)
		if (plan->rank[i].host == host) {
			seat_clear(&place[i]);
			place[i] = local[plan->rank[i].local_rank];
		}
out:
	free(local);
	free(gpu);
	return ret;
}

int
plan_place_env(const struct plan *plan, const struct seat *place,
    struct strv *env)
{
	char number[32];

	if (plan->threads || plan->map.bind != BIND_CORE || !place->cores)
		return 0;
	snprintf(number, sizeof number, "%zu", place->cores);
	return strv_setenv(env, "OMP_NUM_THREADS", number);
}

/* --- the table --- */

enum { COLUMNS = 7 };

static const char *
cell(const struct plan *plan, const struct seat *place, size_t rank,
    int column, char *out, size_t room)
{
	static const char *const	 head[COLUMNS] = { "rank", "local",
		"host", "GPU", "NUMA", "CPUs", "near" };
	const struct plan_rank		*r = &plan->rank[rank];
	const struct seat		*p = place ? &place[rank] : NULL;

	if (rank == plan->world)
		return head[column];
	*out = '\0';
	switch (column) {
	case 0:
		snprintf(out, room, "%zu", rank);
		break;
	case 1:
		snprintf(out, room, "%ld", r->local_rank);
		break;
	case 2:
		return plan->hosts.host[r->host].name;
	case 3:
		if (p && p->pci)
			snprintf(out, room, "%ld %s", r->gpu, p->pci);
		else if (strv_getenv(&r->env, "CUDA_DEVICE_ORDER") &&
		    r->gpu >= 0)
			snprintf(out, room, "%ld", r->gpu);
		break;
	case 4:
		return p && p->nodes ? p->nodes : "";
	case 5:
		return p && p->list ? p->list : "";
	default:
		return p && p->nic ? p->nic : "";
	}
	return out;
}

void
plan_print_table(const struct plan *plan, const struct seat *place,
    struct buf *out)
{
	size_t	width[COLUMNS] = { 0 };
	char	text[160];

	for (int c = 0; c < COLUMNS; c++) {
		for (size_t i = 0; i < plan->world; i++) {
			size_t n = strlen(cell(plan, place, i, c, text,
			    sizeof text));

			if (n > width[c])
				width[c] = n;
		}
		if (width[c] && width[c] < strlen(cell(plan, place,
		    plan->world, c, text, sizeof text)))
			width[c] = strlen(cell(plan, place, plan->world, c,
			    text, sizeof text));
	}
	for (size_t i = 0; i <= plan->world; i++) {
		size_t rank = i ? i - 1 : plan->world;	/* the head first */

		for (int c = 0, first = 1; c < COLUMNS; c++) {
			const char *word = cell(plan, place, rank, c, text,
			    sizeof text);

			if (!width[c])
				continue;
			/* Numbers to the right; nothing behind the last. */
			buf_addf(out, c < 2 ? "%s%*s" : "%s%-*s",
			    first ? "" : "  ", (int)width[c],
			    *word ? word : "-");
			first = 0;
		}
		while (out->len && out->data[out->len - 1] == ' ')
			out->data[--out->len] = '\0';
		buf_adds(out, "\n");
	}
}
