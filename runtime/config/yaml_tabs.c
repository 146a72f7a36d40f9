/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyYAML has no tabs outside of quotes, block scalars and comments; libyaml
 * takes some, and Accelerate would then not read what we read.
 */
#include <string.h>

#include "runtime/config/yaml_tree.h"
#include "runtime/base/banned.h"

/* Within quotes, or in a block scalar behind its first line? */
static bool
within(const struct tree *t, const struct node *word, size_t at)
{
	if (!word || !word->quoted)
		return false;
	for (size_t i = word->start; word->block; i++)
		if (i == at)
			return false;
		else if (strchr("\r\n", t->text[i]))
			break;
	return true;
}

unsigned
tree_flags(const char *name)
{
	size_t	n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".json") ? TREE_JSON : 0;
}

size_t
tree_tab(const struct tree *t, size_t from)
{
	size_t	next = 0;

	for (size_t i = from; i < t->size; i++) {
		const struct node	*word = NULL;

		while (next < t->count && (t->all[next]->stop <= i ||
		    t->all[next]->type != NODE_SCALAR))
			next++;
		if (next < t->count && t->all[next]->start <= i)
			word = t->all[next];
		if (within(t, word, i)) {
			i = word->stop - 1;
		} else if (t->text[i] == '#' && (!word || (word->block &&
		    t->text[i - 1] == ' '))) {
			while (i + 1 < t->size &&
			    !strchr("\r\n", t->text[i + 1]))
				i++;
		} else if (t->text[i] == '\t' || (t->text[i] == '#' &&
		    word && word->block))
			return i;
	}
	return t->size;
}
