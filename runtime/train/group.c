/* SPDX-License-Identifier: Apache-2.0 */
/* group: parameter groups by the names of tensors. */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/train/train.h"

#include "runtime/base/banned.h"

static void
list_free(accel_group *g, int n)
{
	for (int i = 0; i < n; i++)
		free((char *)g[i].pattern);
	free(g);
}

void
accel__groups_free(accel *a)
{
	list_free(a->group, a->ngroup);
	a->group = NULL;
	a->ngroup = 0;
}

accel_status
accel_groups(accel *a, const accel_group *g, int ngroup)
{
	accel_group *copy;

	if (a->prepared)
		return accel__fail(ACCEL_ESTATE, "accel_groups: after "
		    "accel_prepare");
	if (ngroup < 0)
		return accel__fail(ACCEL_EINVAL, "accel_groups: %d groups",
		    ngroup);
	for (int i = 0; i < ngroup; i++) {
		if (g[i].pattern == NULL || *g[i].pattern == '\0')
			return accel__fail(ACCEL_EINVAL, "accel_groups: group "
			    "%d has no pattern", i);
		if (!(g[i].lr_scale >= 0) || isinf(g[i].lr_scale) ||
		    !isfinite(g[i].weight_decay))
			return accel__fail(ACCEL_EINVAL, "accel_groups: \"%s\":"
			    " lr_scale %g and weight_decay %g: numbers, the "
			    "first not negative", g[i].pattern, g[i].lr_scale,
			    g[i].weight_decay);
	}
	copy = calloc((size_t)ngroup + 1, sizeof(*copy));
	if (copy == NULL)
		return accel__fail(ACCEL_ENOMEM, "out of memory");
	for (int i = 0; i < ngroup; i++) {
		copy[i] = g[i];
		copy[i].pattern = strdup(g[i].pattern);
		if (copy[i].pattern == NULL) {
			list_free(copy, i);
			return accel__fail(ACCEL_ENOMEM, "out of memory");
		}
	}
	accel__groups_free(a);
	a->group = copy;
	a->ngroup = ngroup;
	return ACCEL_OK;
}

/* How many tensors it matches, first for them or not. */
static int
match(accel *a, const accel_group *g)
{
	int n = 0;

	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++) {
			struct tensor *t = &a->unit[u].tensor[i];

			if (fnmatch(g->pattern, t->name, 0) != 0)
				continue;
			n++;
			if (t->group == NULL)
				t->group = g;
		}
	return n;
}

accel_status
accel__groups_match(accel *a)
{
	for (int u = 0; u < a->nunit; u++)
		for (int i = 0; i < a->unit[u].ntensor; i++)
			a->unit[u].tensor[i].group = NULL;
	for (int i = 0; i < a->ngroup; i++) {
		if (match(a, &a->group[i]) > 0)
			continue;
		accel__fail(ACCEL_EINVAL, "accel_groups: no tensor's name "
		    "matches \"%s\"", a->group[i].pattern);
		if (a->nunit > 0)
			err_hint(accel__err(), "names are such as %s; * stands "
			    "for any letters", a->unit[0].tensor[0].name);
		return ACCEL_EINVAL;
	}
	return ACCEL_OK;
}
