/* SPDX-License-Identifier: Apache-2.0 */
/* layout: that all ranks have the same tensors and settings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/hash.h"
#include "runtime/train/train.h"

#include "runtime/base/banned.h"

/* The layout as text, a line a tensor: what ranks compare. */
static void
describe(const accel *a, struct buf *out)
{
	static const char *const type[] = { "F32", "F16", "BF16", "F64" };
	const accel_config *c = &a->config;

	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			const struct tensor *t = &a->unit[u].tensor[i];

			buf_addf(out, "%s (unit %s, %s, shape", t->name,
			    a->unit[u].name, type[t->dtype]);
			for (int k = 0; k < t->ndim; k++)
				buf_addf(out, "%c%" PRId64, k ? 'x' : ' ',
				    t->shape[k]);
			buf_addf(out, ")\n");
		}
	for (int i = 0; i < a->ngroup; i++)
		buf_addf(out, "group %d (%s, lr_scale %.17g, weight_decay "
		    "%.17g)\n", i, a->group[i].pattern, a->group[i].lr_scale,
		    a->group[i].weight_decay);
	for (int i = 0; i < a->nbuffer; i++)
		buf_addf(out, "buffer %s (%zu bytes)\n", a->buffer[i].name,
		    a->buffer[i].bytes);
	buf_addf(out, "exchange (reduce %d, compress %d, powersgd %d from %d, "
	    "unused %d, uneven %d, local_steps %d, hook %s, first bucket %d)\n"
	    "loss scale (%.9g, by %.9g and %.9g, interval %d)\n", c->reduce,
	    c->compress, c->powersgd_rank, c->powersgd_start, c->unused,
	    c->uneven, a->local_steps, a->hook != NULL ? "yes" : "no",
	    c->first_bucket_bytes, (double)c->loss_scale,
	    c->scale_growth, c->scale_backoff, c->scale_interval);
	buf_addf(out, "settings (grad_accum %d, bucket_bytes %d, state %d%s)\n",
	    a->config.grad_accum, a->config.bucket_bytes, a->nstate,
	    a->factored ? " factored" : "");
}

/* Rank "root"'s text, on all ranks. */
static accel_status
share_text(accel *a, const struct buf *mine, int root, char **out)
{
	uint64_t n = mine->len;
	accel_status st = accel_broadcast(a, &n, sizeof(n), root);
	char *text;

	if (st != ACCEL_OK)
		return st;
	text = calloc(1, (size_t)n + 1);
	if (text == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	if (a->rank == root)
		memcpy(text, mine->data, (size_t)n);
	st = accel_broadcast(a, text, (size_t)n, root);
	if (st != ACCEL_OK) {
		free(text);
		return st;
	}
	*out = text;
	return ACCEL_OK;
}

void
accel__name_ranks(const bool *flag, int world, char *out, size_t room)
{
	int count = 0, seen = 0, n = 0;

	for (int i = 0; i < world; i++)
		count += flag[i];
	n = snprintf(out, room, count == 1 ? "rank" : "ranks");
	for (int i = 0; i < world && n > 0 && (size_t)n < room; i++) {
		if (!flag[i])
			continue;
		if (++seen > 8 && count > 9) {
			snprintf(out + n, room - (size_t)n, " and %d more",
			    count - 8);
			return;
		}
		n += snprintf(out + n, room - (size_t)n, "%s%d",
		    seen == 1 ? " " : seen == count ? " and " : ", ", i);
	}
}

/* Names the first line in which rank "other" differs from rank 0. */
static accel_status
name_difference(accel *a, const struct buf *mine, const bool *differs,
    int other)
{
	char *zero = NULL, *theirs = NULL, who[100];
	accel_status st = share_text(a, mine, 0, &zero);

	if (st == ACCEL_OK)
		st = share_text(a, mine, other, &theirs);
	if (st == ACCEL_OK) {
		const char *p = zero, *q = theirs;
		size_t np, nq;

		for (;;) {
			np = strcspn(p, "\n");
			nq = strcspn(q, "\n");
			if (np != nq || memcmp(p, q, np) != 0 || *p == '\0' ||
			    *q == '\0')
				break;
			p += np + 1;
			q += nq + 1;
		}
		accel__name_ranks(differs, a->world, who, sizeof(who));
		st = accel__fail(ACCEL_EMISMATCH, "rank 0 and %s differ: "
		    "rank 0 has %.*s, rank %d has %.*s", who,
		    (int)(np < 180 ? np : 180), p, other,
		    (int)(nq < 180 ? nq : 180), q);
		err_hint(accel__err(), "every rank must run the same program "
		    "with the same settings");
	}
	free(zero);
	free(theirs);
	return st;
}

accel_status
accel__compare(accel *a)
{
	struct buf mine = BUF_INIT;
	accel_status st;
	uint64_t hash, *all;
	bool *differs;
	int other = 0;

	describe(a, &mine);
	all = calloc((size_t)a->world, sizeof(*all));
	differs = calloc((size_t)a->world, sizeof(*differs));
	if (all == NULL || differs == NULL || buf_failed(&mine)) {
		free(all);
		free(differs);
		buf_clear(&mine);
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	}
	hash = hash_bytes(mine.data, mine.len);
	st = accel_all_gather(a, &hash, all, sizeof(hash));
	if (st == ACCEL_OK) {
		for (int i = a->world - 1; i > 0; i--)
			if ((differs[i] = all[i] != all[0]))
				other = i;
		if (other > 0)
			st = name_difference(a, &mine, differs, other);
	}
	free(differs);
	free(all);
	buf_clear(&mine);
	return st;
}
