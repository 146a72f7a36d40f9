/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of a mapping, with merge keys followed and equal keys made one. */
#include "runtime/config/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

struct pairs {
	struct pair	*pair;
	size_t		 count, room;
	unsigned	 merging;
	bool		 failed;
};

static void
push(struct pairs *p, const struct node *key, const struct node *value)
{
	if (p->count == p->room) {
		size_t		 room = p->room ? 2 * p->room : 32;
		struct pair	*grown = realloc(p->pair,
		    room * sizeof(*grown));

		if (!grown) {
			p->failed = true;
			return;
		}
		p->pair = grown;
		p->room = room;
	}
	p->pair[p->count++] = (struct pair){ key, value, NULL,
	    p->merging > 0 };
}

/* What stands behind "<<" loses against the keys beside; of a list of mappings
 * the first wins. */
static void
gather(struct pairs *p, const struct node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		const struct node	*from = node_of(map->item[i + 1]);

		if (!node_is(map->item[i], SCALAR_MERGE))
			continue;
		p->merging++;
		if (from->type == NODE_MAP)
			gather(p, from);
		else
			for (size_t j = from->count; j-- > 0;)
				gather(p, node_of(from->item[j]));
		p->merging--;
	}
	for (size_t i = 0; i < map->count; i += 2)
		if (!node_is(map->item[i], SCALAR_MERGE))
			push(p, map->item[i], map->item[i + 1]);
}

static int
by_key(const void *a, const void *b)
{
	const struct pair *const	*x = a, *const *y = b;
	const struct node		*k = node_of((*x)->key);
	const struct node		*l = node_of((*y)->key);
	int				 order = strcmp(k->text, l->text);

	if (order || k->kind != l->kind)
		return order ? order : (int)k->kind - (int)l->kind;
	return *x < *y ? -1 : 1;	/* in the order of the text */
}

/* Of equal keys the last value stays, where the first key stood: so does a
 * dict of Python. */
static void
unite(struct pairs *p)
{
	struct pair	**sorted = calloc(p->count + 1, sizeof(*sorted));
	size_t		  kept = 0;

	if (!sorted) {
		p->failed = true;
		return;
	}
	for (size_t i = 0; i < p->count; i++)
		sorted[i] = &p->pair[i];
	qsort(sorted, p->count, sizeof(*sorted), by_key);
	for (size_t i = 0, j; i < p->count; i = j) {
		const struct node	*key = node_of(sorted[i]->key);

		for (j = i + 1; j < p->count; j++) {
			const struct node	*next = node_of(sorted[j]->key);

			if (strcmp(key->text, next->text) ||
			    key->kind != next->kind)
				break;
			sorted[i]->before = sorted[i]->merged ? NULL :
			    sorted[i]->key;
			sorted[i]->merged = sorted[j]->merged;
			sorted[i]->key = sorted[j]->key;
			sorted[i]->value = sorted[j]->value;
			sorted[j]->key = NULL;
		}
	}
	free(sorted);
	for (size_t i = 0; i < p->count; i++)
		if (p->pair[i].key)
			p->pair[kept++] = p->pair[i];
	p->count = kept;
}

int
node_pairs(const struct node *map, struct pair **out, size_t *count)
{
	struct pairs	p = { 0 };

	*out = NULL;
	*count = 0;
	gather(&p, map);
	if (!p.failed)
		unite(&p);
	if (p.failed) {
		free(p.pair);
		return -1;
	}
	*out = p.pair;
	*count = p.count;
	return 0;
}
