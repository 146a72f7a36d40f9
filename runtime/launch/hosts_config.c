/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts that a configuration itself names, as Accelerate hands them to
 * mpirun and to DeepSpeed's launcher. */
#include "runtime/launch/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "runtime/base/banned.h"

/* True where a filter, "NODE@NODE", names the host; -1 for "NODE:0,2", GPUs of
 * a host. */
static int
filtered(const char *filter, const char *name, const char *key,
    struct err *err)
{
	size_t	n;
	int	hit = 0;

	for (; *filter; filter += n + (filter[n] == '@')) {
		n = strcspn(filter, "@");
		if (memchr(filter, ':', n)) {
			err_set(err, "%s: \"%.*s\" names GPUs of a host", key,
			    (int)n, filter);
			return err_hint(err, "name hosts alone, or give --hosts "
			    "with the number of ranks of each");
		}
		hit |= strlen(name) == n && !strncmp(filter, name, n);
	}
	return hit;
}

/* Leaves the hosts that the filters of DeepSpeed leave. */
static int
filter(struct hosts *hosts, const struct config *c, struct err *err)
{
	bool		 out = c->deepspeed.exclusion_filter != NULL;
	const char	*text = out ? c->deepspeed.exclusion_filter :
	    c->deepspeed.inclusion_filter;
	const char	*key = out ? "deepspeed_exclusion_filter" :
	    "deepspeed_inclusion_filter";
	size_t		 left = 0;

	if (!text)
		return 0;
	for (size_t i = 0; i < hosts->count; i++) {
		int	hit = filtered(text, hosts->host[i].name, key, err);

		if (hit < 0)
			return -1;
		if (hit != out) {
			struct host	keep = hosts->host[left];

			hosts->host[left++] = hosts->host[i];
			hosts->host[i] = keep;
		}
	}
	while (hosts->count > left)
		hosts_drop(hosts);
	if (left)
		return 0;
	err_set(err, "%s leaves no host", key);
	return err_hint(err, "it has names of the host file, with @ between");
}

int
hosts_of_config(struct hosts *hosts, const struct config *c, struct err *err)
{
	bool		 deepspeed = !c->main.use_cpu &&
	    c->main.distributed_type == dist_DEEPSPEED;
	bool		 cpu = c->main.use_cpu ||
	    c->main.distributed_type == dist_MULTI_CPU;
	const char	*path = deepspeed ? c->deepspeed.hostfile :
	    cpu ? c->mpirun.hostfile : NULL;
	struct hosts	 found = HOSTS_INIT;
	long		 each = c->main.num_processes / c->main.num_machines;

	if (!path || c->main.num_machines < 2)
		return 0;
	if (hosts_read(&found, path, err) < 0)
		return err_at(err, "%s", deepspeed ? "deepspeed_hostfile" :
		    "mpirun_hostfile");
	if (deepspeed && filter(&found, c, err) < 0) {
		hosts_clear(&found);
		return -1;
	}
	/* Both launchers take an equal part of the ranks for each host, unless
	 * a filter said what to use. */
	if (each > 0 && !(deepspeed && (c->deepspeed.exclusion_filter ||
	    c->deepspeed.inclusion_filter)))
		for (size_t i = 0; i < found.count; i++)
			found.host[i].slots = each;
	while (found.count > (size_t)c->main.num_machines)
		hosts_drop(&found);
	hosts_clear(hosts);
	*hosts = found;
	return 0;
}
