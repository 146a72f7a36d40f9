/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/fsdp2.h"

#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

/* What was sharded, in words and as torch's enumeration counts it, and whether
 * the parameters are freed after forward. */
static const struct {
	const char	*word, *number, *reshard;
} strategies[] = {
	{ "FULL_SHARD", "1", "true" },
	{ "SHARD_GRAD_OP", "2", "false" },
	{ "NO_SHARD", "3", "false" },
	{ "HYBRID_SHARD", "4", "true" },
	{ "HYBRID_SHARD_ZERO2", "5", "false" },
};

static const struct {
	enum field_id	 id;
	const char	*why;
} gone[] = {
	{ FIELD_fsdp_sharding_strategy, NULL },	/* fsdp_reshard_after_forward */
	{ FIELD_fsdp_backward_prefetch, "was removed in version 2" },
	{ FIELD_fsdp_forward_prefetch, "is not yet in version 2" },
	{ FIELD_fsdp_sync_module_states, "was removed in version 2" },
	{ FIELD_fsdp_use_orig_params, "was removed in version 2" },
};

static const char *
reshard_of(const char *value)
{
	for (size_t i = 0; value && i < sizeof strategies / sizeof *strategies;
	    i++)
		if (!strcmp(value, strategies[i].word) ||
		    !strcmp(value, strategies[i].number))
			return strategies[i].reshard;
	return value;
}

/* Both keys may be there; as for Accelerate, the later one in the file wins. */
static int
set_reshard(struct config *c, struct strv *notes, struct err *err)
{
	enum field_id	 old = FIELD_fsdp_sharding_strategy;
	enum field_id	 new = FIELD_fsdp_reshard_after_forward;
	const char	*a = c->in_file[old] ?
	    reshard_of(c->fsdp.sharding_strategy) : NULL;
	const char	*b = c->in_file[new] ?
	    reshard_of(c->fsdp.reshard_after_forward) : NULL;
	const char	*value = !b || (a && c->line[old] > c->line[new]) ?
	    a : b;

	if (!value)
		return 0;
	if (a && b && strcmp(a, b) && strv_addf(notes, "%s and %s disagree; "
	    "the later one is kept: %s", fields[old].key, fields[new].key,
	    value) < 0)
		return err_nomem(err);
	if (config_put(c, new, value, ORIGIN_USER, err) < 0)
		return -1;
	c->in_file[new] = true;
	return 0;
}

static bool
in_file(const struct config *c, const char *group)
{
	for (int i = 0; i < FIELD_COUNT; i++)
		if (c->in_file[i] && !strcmp(fields[i].group, group))
			return true;
	return false;
}

int
config_to_fsdp2(struct config *c, struct strv *notes, struct err *err)
{
	const char *done = NULL;

	if (c->fsdp.version == 2)
		done = "it is for version 2 already; if its keys are those of "
		    "version 1, set fsdp_version: 1 and try again";
	else if (!in_file(c, fields[FIELD_fsdp_version].group))
		done = "it has no fsdp_config";
	if (done)
		return strv_add(notes, done) < 0 ? err_nomem(err) : 0;
	if (set_reshard(c, notes, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		if (!c->in_file[gone[i].id])
			continue;
		if (gone[i].why && strv_addf(notes, "%s %s, and goes",
		    fields[gone[i].id].key, gone[i].why) < 0)
			return err_nomem(err);
		if (config_unset(c, gone[i].id, err) < 0)
			return -1;
	}
	if (config_put(c, FIELD_fsdp_version, "2", ORIGIN_USER, err) < 0)
		return -1;
	c->in_file[FIELD_fsdp_version] = true;
	return 1;
}
