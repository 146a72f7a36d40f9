/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/pmi.h"

#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/num.h"

#include "runtime/base/banned.h"

enum { KEY_MAX = 64, VALUE_MAX = 1024, LINE_MAX_ = 2048 };
enum { PUTS_MAX = 4096 };	/* of a rank: MPICH has a few, PMIx some more */

struct pair {
	char	*value;
	char	 key[KEY_MAX];
};

struct pmi {
	size_t		 world;
	bool		*waiting;	/* which ranks are in a barrier */
	size_t		*passed;	/* how many barriers each has left */
	bool		 news;		/* something was put since the last */
	int64_t		 since;		/* when the first one came, or 0 */
	char		**wanted;	/* keys that ranks wait for, or NULL */
	char		*job;
	pmi_reply	 reply;
	void		*user;
	void		*pairs;		/* a tree, as of tsearch(3) */
	unsigned	*puts;		/* of each rank */
};

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->key,
	    ((const struct pair *)b)->key);
}

static void
free_pair(void *pair)
{
	free(((struct pair *)pair)->value);
	free(pair);
}

struct pmi *
pmi_new(size_t world, const char *job, pmi_reply reply, void *user)
{
	struct pmi *pmi = calloc(1, sizeof *pmi);

	if (!pmi || !(pmi->job = strdup(job)) ||
	    !(pmi->waiting = calloc(world, sizeof *pmi->waiting)) ||
	    !(pmi->passed = calloc(world, sizeof *pmi->passed)) ||
	    !(pmi->wanted = calloc(world, sizeof *pmi->wanted)) ||
	    !(pmi->puts = calloc(world, sizeof *pmi->puts))) {
		pmi_free(pmi);
		return NULL;
	}
	pmi->world = world;
	pmi->reply = reply;
	pmi->user = user;
	return pmi;
}

void
pmi_free(struct pmi *pmi)
{
	if (!pmi)
		return;
	for (size_t i = 0; pmi->wanted && i < pmi->world; i++)
		free(pmi->wanted[i]);
	free(pmi->wanted);
	tdestroy(pmi->pairs, free_pair);
	free(pmi->puts);
	free(pmi->waiting);
	free(pmi->passed);
	free(pmi->job);
	free(pmi);
}

/* The value of "name=" in a line.  "value" and what follows it is the rest of
 * the line; another ends at a space. */
static bool
get(const char *line, const char *name, char *out, size_t room)
{
	size_t		 n = strlen(name), length;
	const char	*p = line;

	while ((p = strstr(p, name)) &&
	    !((p == line || p[-1] == ' ') && p[n] == '='))
		p += n;
	if (!p)
		return false;
	p += n + 1;
	length = strcspn(p, strcmp(name, "value") ? " \n" : "\n");
	if (length >= room)
		return false;
	memcpy(out, p, length);
	out[length] = '\0';
	return true;
}

static void
answer(struct pmi *pmi, size_t rank, const char *text)
{
	pmi->reply(pmi->user, rank, text, strlen(text));
}

static void
answer_get(struct pmi *pmi, size_t rank, const char *value)
{
	char	reply[LINE_MAX_];

	if (value)
		snprintf(reply, sizeof reply, "cmd=get_result rc=0 msg=success "
		    "value=%s\n", value);
	else
		snprintf(reply, sizeof reply, "cmd=get_result rc=-1 "
		    "msg=key_not_found value=unknown\n");
	answer(pmi, rank, reply);
}

static int
put(struct pmi *pmi, size_t rank, const char *key, const char *value)
{
	struct pair	*new, **place;

	/* Or a host could fill the launcher's memory. */
	if (pmi->puts[rank] == PUTS_MAX)
		return -1;
	pmi->puts[rank]++;
	new = malloc(sizeof *new);
	if (!new || !(new->value = strdup(value))) {
		free(new);
		return -1;
	}
	snprintf(new->key, sizeof new->key, "%s", key);
	place = tsearch(new, &pmi->pairs, by_key);
	if (!place) {
		free_pair(new);
		return -1;
	}
	if (*place != new) {		/* the newest value counts */
		free_pair(*place);
		*place = new;
	}
	pmi->news = true;
	for (size_t i = 0; i < pmi->world; i++)
		if (pmi->wanted[i] && !strcmp(pmi->wanted[i], key)) {
			free(pmi->wanted[i]);
			pmi->wanted[i] = NULL;
			answer_get(pmi, i, value);
		}
	return 0;
}

static const char *
find(const struct pmi *pmi, const char *key)
{
	struct pair	wanted, **place;

	snprintf(wanted.key, sizeof wanted.key, "%s", key);
	place = tfind(&wanted, &pmi->pairs, by_key);
	return place ? (*place)->value : NULL;
}

/* Those who wait in barrier "number" leave it. */
static void
open_barrier(struct pmi *pmi, size_t number)
{
	pmi->news = false;
	pmi->since = 0;
	for (size_t i = 0; i < pmi->world; i++) {
		if (!pmi->waiting[i] || pmi->passed[i] != number)
			continue;
		pmi->waiting[i] = false;
		pmi->passed[i]++;
		answer(pmi, i, "cmd=barrier_out rc=0\n");
	}
}

static void
enter_barrier(struct pmi *pmi, size_t rank)
{
	size_t number = pmi->passed[rank], came = 0;

	pmi->waiting[rank] = true;
	for (size_t i = 0; i < pmi->world; i++)
		came += pmi->passed[i] > number ||
		    (pmi->passed[i] == number && pmi->waiting[i]);
	if (came == pmi->world)
		open_barrier(pmi, number);
	else if (!pmi->since)
		pmi->since = clock_ms();
}

void
pmi_tick(struct pmi *pmi)
{
	size_t least = SIZE_MAX;

	if (!pmi->since || pmi->news ||
	    clock_ms() - pmi->since < PMI_PATIENCE_MS)
		return;
	for (size_t i = 0; i < pmi->world; i++)
		if (pmi->waiting[i] && pmi->passed[i] < least)
			least = pmi->passed[i];
	if (least > 0 && least < SIZE_MAX)
		open_barrier(pmi, least);
}

int
pmi_line(struct pmi *pmi, size_t rank, const char *bytes, size_t n)
{
	char	line[LINE_MAX_], reply[LINE_MAX_], command[32];
	char	key[KEY_MAX + 1] = "", value[VALUE_MAX + 1];
	long	code = 1;

	if (n >= sizeof line)
		return -1;
	memcpy(line, bytes, n);
	line[n] = '\0';
	if (!get(line, "cmd", command, sizeof command))
		return -1;
	if (!strcmp(command, "init"))
		answer(pmi, rank, "cmd=response_to_init pmi_version=1 "
		    "pmi_subversion=1 rc=0\n");
	else if (!strcmp(command, "get_maxes"))
		answer(pmi, rank,
		    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	else if (!strcmp(command, "get_appnum"))
		answer(pmi, rank, "cmd=appnum appnum=0\n");
	else if (!strcmp(command, "get_universe_size")) {
		snprintf(reply, sizeof reply, "cmd=universe_size size=%zu\n",
		    pmi->world);
		answer(pmi, rank, reply);
	} else if (!strcmp(command, "get_my_kvsname")) {
		snprintf(reply, sizeof reply, "cmd=my_kvsname kvsname=%s\n",
		    pmi->job);
		answer(pmi, rank, reply);
	} else if (!strcmp(command, "put")) {
		answer(pmi, rank, get(line, "key", key, sizeof key) &&
		    get(line, "value", value, sizeof value) &&
		    put(pmi, rank, key, value) == 0 ?
		    "cmd=put_result rc=0 msg=success\n" :
		    "cmd=put_result rc=-1 msg=failed\n");
	} else if (!strcmp(command, "get")) {
		answer_get(pmi, rank, get(line, "key", key, sizeof key) ?
		    find(pmi, key) : NULL);
	} else if (!strcmp(command, "get_wait")) {
		const char *found = get(line, "key", key, sizeof key) ?
		    find(pmi, key) : NULL;

		free(pmi->wanted[rank]);
		pmi->wanted[rank] = found ? NULL : strdup(key);
		if (found)
			answer_get(pmi, rank, found);
	} else if (!strcmp(command, "barrier_in"))
		enter_barrier(pmi, rank);
	else if (!strcmp(command, "finalize"))
		answer(pmi, rank, "cmd=finalize_ack\n");
	else if (!strcmp(command, "abort")) {
		if (get(line, "exitcode", value, sizeof value))
			num_parse(value, 1, 255, &code);
		return (int)code;
	}
	return -1;
}
