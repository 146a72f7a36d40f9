/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/elastic.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

static size_t
count_present(const struct elastic *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->hosts->count; i++)
		n += !e->absent[i];
	return n;
}

/* "MIN:MAX" or "N". */
static int
read_nnodes(struct elastic *e, const char *text, struct err *err)
{
	const char	*colon = strchr(text, ':');
	char		*first = strndup(text, strcspn(text, ":"));
	long		 least, most;
	int		 ret = 0;

	if (!first)
		return err_nomem(err);
	if (num_parse(first, 1, 65536, &least) < 0 ||
	    num_parse(colon ? colon + 1 : text, least, 65536, &most) < 0) {
		err_set(err, "--nnodes %s: not a number of hosts", text);
		ret = err_hint(err, "write --nnodes 4, or --nnodes 2:4 for at "
		    "least 2 and at most 4");
	} else if ((size_t)least > e->hosts->count) {
		err_set(err, "--nnodes %s: %zu hosts were given", text,
		    e->hosts->count);
		ret = err_hint(err, "name more, or ask for fewer");
	} else {
		e->least = (size_t)least;
		e->most = (size_t)most;
	}
	free(first);
	return ret;
}

int
elastic_init(struct elastic *e, const struct hosts *hosts, const char *nnodes,
    long max_restarts, struct err *err)
{
	*e = (struct elastic){
		.hosts = hosts, .max_restarts = max_restarts,
		.absent = calloc(hosts->count + 1, sizeof *e->absent),
		.least = hosts->count, .most = hosts->count,
	};
	if (!e->absent)
		return err_nomem(err);
	if (nnodes && read_nnodes(e, nnodes, err) < 0) {
		elastic_clear(e);
		return -1;
	}
	return 0;
}

void
elastic_clear(struct elastic *e)
{
	free(e->absent);
	e->absent = NULL;
}

int
elastic_hosts(const struct elastic *e, struct hosts *present,
    struct hosts *absent, struct err *err)
{
	size_t taken = 0;

	*present = *absent = (struct hosts)HOSTS_INIT;
	for (size_t i = 0; i < e->hosts->count; i++) {
		bool		 out = e->absent[i] || taken == e->most;
		struct hosts	*to = out ? absent : present;

		/* Beyond the most is not missed: nobody waits for its return. */
		if (out && !e->absent[i])
			continue;
		if (hosts_copy(to, &e->hosts->host[i], err) < 0) {
			hosts_clear(present);
			hosts_clear(absent);
			return -1;
		}
		taken += !out;
	}
	return 0;
}

bool
elastic_again(struct elastic *e, enum ending how, const bool *lost)
{
	bool	may_shrink = e->least < e->hosts->count;
	size_t	at = 0, taken = 0, out = 0;

	if (how == ENDED)
		return false;
	if (how == ENDED_BY_RETURN) {
		memset(e->absent, 0, e->hosts->count * sizeof *e->absent);
		return true;
	}
	if (how != ENDED_AT_START && e->restarts >= e->max_restarts)
		return false;
	for (size_t i = 0; i < e->hosts->count && taken < e->most; i++) {
		if (e->absent[i])
			continue;
		taken++;
		if (lost[at++]) {
			e->absent[i] = may_shrink;
			out++;
		}
	}
	if (how == ENDED_AT_START)
		return may_shrink && out > 0 && count_present(e) >= e->least;
	e->restarts++;
	return count_present(e) >= e->least;
}
