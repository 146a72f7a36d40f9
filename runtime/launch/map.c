/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/map.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/base/strv.h"

#include "runtime/base/banned.h"

enum { CPU_MAX = 65535 };	/* a host may say anything */

struct part {			/* a NUMA node, a socket or a core */
	long		id;
	hwloc_bitmap_t	cpus;		/* the allowed ones */
};

struct device {
	const char	*name;		/* not ended: name_n bytes */
	size_t		 name_n;
	char		 vendor[8];
	long		 node;
	hwloc_bitmap_t	 cpus;		/* near and allowed; NULL: not known */
	const char	*way;
};

struct list {			/* of either */
	struct part	*part;
	struct device	*device;
	size_t		 count;
};

struct machine {
	hwloc_bitmap_t	allowed;
	struct list	node, package, core, gpu, hca, nic;
};

static int
find_word(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (int i = 0; *words; i++) {
		size_t k = strcspn(words, " ");

		if (k == n && !strncmp(word, words, n))
			return i;
		words += k + strspn(words + k, " ");
	}
	return -1;
}

int
map_wish_read(struct map_wish *wish, const char *by, const char *bind,
    struct err *err)
{
	int b = by ? find_word(by, MAP_BY_WORDS) : MAP_SLOT;
	int to = bind ? find_word(bind, BIND_TO_WORDS) : -1;

	if (b < 0) {
		err_set(err, "--map_by %s: not a way to place ranks", by);
		return err_hint(err, "one of: %s", MAP_BY_WORDS);
	}
	if (bind && to < 0) {
		err_set(err, "--bind_to %s: nothing to bind to", bind);
		return err_hint(err, "one of: %s", BIND_TO_WORDS);
	}
	wish->by = (enum map_by)b;
	wish->bind = bind ? (enum bind_to)(to + BIND_NONE) : BIND_UNSAID;
	return 0;
}

static enum bind_to
binding(const struct map_wish *wish)
{
	if (wish->bind != BIND_UNSAID)
		return wish->bind;
	return wish->by == MAP_NUMA || wish->by == MAP_GPU ? BIND_NUMA :
	    BIND_NONE;
}

bool
map_wants_places(const struct map_wish *wish)
{
	return wish->by == MAP_NUMA || wish->by == MAP_GPU ||
	    binding(wish) != BIND_NONE;
}

/* --- reading facts, which another host wrote --- */

static bool
read_cpus(const char *text, size_t n, hwloc_bitmap_t to)
{
	const char *end = text + n;

	while (text < end) {
		char		*at;
		unsigned long	 first, last;

		if (!isdigit((unsigned char)*text))
			return false;
		first = last = strtoul(text, &at, 10);
		if (*at == '-' && isdigit((unsigned char)at[1]))
			last = strtoul(at + 1, &at, 10);
		if (last > CPU_MAX || first > last || at > end ||
		    (at < end && *at != ','))
			return false;
		hwloc_bitmap_set_range(to, (unsigned)first, (int)last);
		text = at + (at < end);
	}
	return true;
}

/* A word of a fact and its size; the rest begins behind it. */
static const char *
word(const char **rest, size_t *n)
{
	const char *at = *rest;

	*n = strcspn(at, " ");
	*rest = at + *n + (at[*n] == ' ');
	return at;
}

static int
read_part(struct machine *m, struct list *to, const char *fact, bool numbered)
{
	struct part	*grown, new = { .id = (long)to->count };
	size_t		 n;

	if (numbered)
		new.id = strtol(word(&fact, &n), NULL, 10);
	new.cpus = hwloc_bitmap_alloc();
	grown = realloc(to->part, (to->count + 1) * sizeof *grown);
	if (grown)
		to->part = grown;
	if (!grown || !new.cpus) {
		hwloc_bitmap_free(new.cpus);
		return -1;
	}
	if (read_cpus(fact, strlen(fact), new.cpus))
		hwloc_bitmap_and(new.cpus, new.cpus, m->allowed);
	else
		hwloc_bitmap_zero(new.cpus);
	if (hwloc_bitmap_iszero(new.cpus))
		hwloc_bitmap_free(new.cpus);	/* nothing of it is ours */
	else
		grown[to->count++] = new;
	return 0;
}

static int
read_device(struct machine *m, struct list *to, const char *fact, bool vendor)
{
	struct device	*grown, new = { .node = -1 };
	const char	*at;
	size_t		 n;

	grown = realloc(to->device, (to->count + 1) * sizeof *grown);
	if (!grown)
		return -1;
	to->device = grown;
	new.name = word(&fact, &new.name_n);
	if (vendor) {
		at = word(&fact, &n);
		snprintf(new.vendor, sizeof new.vendor, "%.*s",
		    (int)(n < 7 ? n : 7), at);
	}
	new.node = strtol(word(&fact, &n), NULL, 10);
	at = word(&fact, &n);
	if (!(new.cpus = hwloc_bitmap_alloc()))
		return -1;
	if (*at == '-' || !read_cpus(at, n, new.cpus)) {
		hwloc_bitmap_free(new.cpus);
		new.cpus = NULL;
	} else
		hwloc_bitmap_and(new.cpus, new.cpus, m->allowed);
	new.way = fact;
	grown[to->count++] = new;
	return 0;
}

/* A server's own small Intel GPU does not count beside the ones that it is
 * for: a driver numbers those of its vendor alone. */
static void
keep_one_vendor(struct list *gpus)
{
	static const char *const order[] = { "10de", "1002", "8086" };
	size_t			 kept = 0;

	for (size_t v = 0; v < sizeof order / sizeof *order && !kept; v++)
		for (size_t i = 0; i < gpus->count; i++)
			if (!strcmp(gpus->device[i].vendor, order[v])) {
				struct device swap = gpus->device[kept];

				gpus->device[kept++] = gpus->device[i];
				gpus->device[i] = swap;
			}
	while (gpus->count > kept)
		hwloc_bitmap_free(gpus->device[--gpus->count].cpus);
}

static long
node_of(const struct machine *m, unsigned cpu)
{
	for (size_t i = 0; i < m->node.count; i++)
		if (hwloc_bitmap_isset(m->node.part[i].cpus, cpu))
			return (long)i;
	return -1;
}

/* Each core behind those of lower nodes, and there by its first CPU. */
static void
sort_cores(const struct machine *m)
{
	for (size_t i = 1; i < m->core.count; i++) {
		struct part	this = m->core.part[i];
		int		cpu = hwloc_bitmap_first(this.cpus);
		long		node = node_of(m, (unsigned)cpu);
		size_t		k = i;

		for (; k > 0; k--) {
			int	other = hwloc_bitmap_first(
				    m->core.part[k - 1].cpus);
			long	its = node_of(m, (unsigned)other);

			if (its < node || (its == node && other < cpu))
				break;
			m->core.part[k] = m->core.part[k - 1];
		}
		m->core.part[k] = this;
	}
}

static void
machine_clear(struct machine *m)
{
	struct list *parts[] = { &m->node, &m->package, &m->core };
	struct list *devices[] = { &m->gpu, &m->hca, &m->nic };

	for (int l = 0; l < 3; l++) {
		for (size_t i = 0; i < parts[l]->count; i++)
			hwloc_bitmap_free(parts[l]->part[i].cpus);
		free(parts[l]->part);
		for (size_t i = 0; i < devices[l]->count; i++)
			hwloc_bitmap_free(devices[l]->device[i].cpus);
		free(devices[l]->device);
	}
	hwloc_bitmap_free(m->allowed);
}

static int
machine_read(struct machine *m, const struct strv *facts, struct err *err)
{
	static const struct { const char *name; bool device, first; } kinds[] = {
		{ "node=", false, true }, { "package=", false, true },
		{ "core=", false, false }, { "gpu=", true, true },
		{ "hca=", true, false }, { "nic=", true, false },
	};
	struct list	*lists[] = { &m->node, &m->package, &m->core, &m->gpu,
			    &m->hca, &m->nic };
	const char	*allowed = strv_getenv(facts, "cpus_allowed");
	char		 one[16];
	unsigned	 cpu;

	if (!(m->allowed = hwloc_bitmap_alloc()))
		return err_nomem(err);
	if (!allowed || !read_cpus(allowed, strlen(allowed), m->allowed) ||
	    hwloc_bitmap_iszero(m->allowed)) {
		err_set(err, "its CPUs are not known");
		return err_hint(err, "is /sys mounted there? --bind_to none "
		    "does without");
	}
	for (size_t i = 0; i < facts->count; i++)
		for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
			size_t		 n = strlen(kinds[k].name);
			const char	*fact = facts->item[i];

			if (strncmp(fact, kinds[k].name, n))
				continue;
			if ((kinds[k].device ? read_device : read_part)(m,
			    lists[k], fact + n, kinds[k].first) < 0)
				return err_nomem(err);
		}
	/* Where the kernel says nothing, a CPU is a core. */
	hwloc_bitmap_foreach_begin(cpu, m->allowed) {
		bool in_core = false;

		for (size_t i = 0; i < m->core.count; i++)
			in_core = in_core ||
			    hwloc_bitmap_isset(m->core.part[i].cpus, cpu);
		snprintf(one, sizeof one, "%u", cpu);
		if (!in_core && read_part(m, &m->core, one, false) < 0)
			return err_nomem(err);
	} hwloc_bitmap_foreach_end();
	keep_one_vendor(&m->gpu);
	sort_cores(m);
	return 0;
}

/* --- places --- */

/* The CPUs among which a rank has its part, into *domain. */
static int
find_domain(const struct machine *m, const struct map_wish *wish, size_t rank,
    long gpu, hwloc_bitmap_t domain, struct buf *warning, struct err *err)
{
	const struct device *d;

	hwloc_bitmap_copy(domain, m->allowed);
	if (wish->by == MAP_NUMA && m->node.count)
		hwloc_bitmap_copy(domain,
		    m->node.part[rank % m->node.count].cpus);
	if (wish->by != MAP_GPU || gpu < 0)
		return 0;
	if ((size_t)gpu >= m->gpu.count) {
		err_set(err, "GPU %ld of its local rank %zu is not there: it has "
		    "%zu", gpu, rank, m->gpu.count);
		return err_hint(err, m->gpu.count ? "give it fewer slots, or "
		    "other gpus=" : "--map_by numa needs no GPU");
	}
	d = &m->gpu.device[gpu];
	if (d->cpus && !hwloc_bitmap_iszero(d->cpus))
		hwloc_bitmap_copy(domain, d->cpus);
	else if (d->cpus)
		buf_addf(warning, "no core near GPU %ld is allowed to it: local "
		    "rank %zu has those far away\n", gpu, rank);
	return 0;
}

/* The part that number "own" of "sharers" has of a domain: gives how many
 * cores. */
static size_t
take_part(const struct machine *m, hwloc_const_bitmap_t domain, size_t own,
    size_t sharers, hwloc_bitmap_t part)
{
	size_t all = 0, at = 0, first, end;

	for (size_t i = 0; i < m->core.count; i++)
		all += hwloc_bitmap_intersects(m->core.part[i].cpus, domain) != 0;
	first = all >= sharers ? own * all / sharers : own % all;
	end = all >= sharers ? (own + 1) * all / sharers : first + 1;
	for (size_t i = 0; i < m->core.count; i++)
		if (hwloc_bitmap_intersects(m->core.part[i].cpus, domain)) {
			if (at >= first && at < end)
				hwloc_bitmap_or(part, part,
				    m->core.part[i].cpus);
			at++;
		}
	hwloc_bitmap_and(part, part, domain);
	return all;
}

/* All of the nodes or sockets that a part is in. */
static void
widen(hwloc_bitmap_t part, const struct list *to, hwloc_const_bitmap_t allowed)
{
	hwloc_bitmap_t wide = hwloc_bitmap_alloc();

	for (size_t i = 0; wide && i < to->count; i++)
		if (hwloc_bitmap_intersects(to->part[i].cpus, part))
			hwloc_bitmap_or(wide, wide, to->part[i].cpus);
	if (wide && hwloc_bitmap_iszero(wide))	/* there are none: the host */
		hwloc_bitmap_copy(part, allowed);
	else if (wide)
		hwloc_bitmap_copy(part, wide);
	hwloc_bitmap_free(wide);
}

/* How far the ways from the root are the same. */
static size_t
together(const char *a, const char *b)
{
	size_t steps = 0;

	for (; *a && *a == *b; a++, b++)
		steps += *a == '/';
	return steps + ((!*a || *a == '/') && (!*b || *b == '/'));
}

/* The card with the longest common way, then of the same node, then the first. */
static const struct device *
nearest(const struct list *cards, const struct device *gpu)
{
	const struct device	*best = NULL;
	size_t			 most = 0;

	for (size_t i = 0; i < cards->count; i++) {
		const struct device	*c = &cards->device[i];
		size_t			 score = 2 * together(c->way, gpu->way) +
		    (c->node == gpu->node);

		if (!best || score > most) {
			best = c;
			most = score;
		}
	}
	return best;
}

static int
describe(const struct machine *m, long gpu, hwloc_const_bitmap_t part,
    hwloc_const_bitmap_t bound, struct seat *p)
{
	struct buf		 nodes = BUF_INIT;
	const struct device	*d, *card;
	unsigned		 cpu;
	size_t			 n = 0;

	for (size_t i = 0; i < m->node.count; i++)
		if (hwloc_bitmap_intersects(m->node.part[i].cpus, part))
			buf_addf(&nodes, "%s%ld", nodes.len ? "," : "",
			    m->node.part[i].id);
	p->nodes = nodes.len ? buf_detach(&nodes) : NULL;
	p->gpu = gpu;
	if (gpu >= 0 && (size_t)gpu < m->gpu.count) {
		d = &m->gpu.device[gpu];
		p->pci = strndup(d->name, d->name_n);
		card = nearest(m->hca.count ? &m->hca : &m->nic, d);
		if (card)
			p->nic = strndup(card->name, card->name_n);
		if (!p->pci || (card && !p->nic))
			return -1;
	}
	if (!bound)
		return 0;
	p->cpus = (size_t)hwloc_bitmap_weight(bound);
	p->cpu = calloc(p->cpus, sizeof *p->cpu);
	if (!p->cpu || hwloc_bitmap_list_asprintf(&p->list, bound) < 0)
		return -1;
	hwloc_bitmap_foreach_begin(cpu, bound)
		p->cpu[n++] = cpu;
	hwloc_bitmap_foreach_end();
	for (size_t i = 0; i < m->core.count; i++)
		p->cores += hwloc_bitmap_intersects(m->core.part[i].cpus,
		    bound) != 0;
	return 0;
}

static int
place_one(const struct machine *m, enum bind_to bind, long gpu, size_t rank,
    hwloc_bitmap_t *domain, size_t ranks, struct seat *place,
    struct buf *warning)
{
	hwloc_bitmap_t	part = hwloc_bitmap_alloc();
	hwloc_bitmap_t	bound = hwloc_bitmap_alloc();
	size_t		own = 0, sharers = 0, cores;
	int		ret;

	if (!part || !bound) {
		hwloc_bitmap_free(part);
		hwloc_bitmap_free(bound);
		return -1;
	}
	for (size_t i = 0; i < ranks; i++)
		if (hwloc_bitmap_isequal(domain[i], domain[rank])) {
			own += i < rank;
			sharers++;
		}
	cores = take_part(m, domain[rank], own, sharers, part);
	if (bind == BIND_CORE && cores < sharers && own == 0)
		buf_addf(warning, "%zu ranks share %zu core%s: each is bound to "
		    "one, which is not its own\n", sharers, cores,
		    cores == 1 ? "" : "s");
	hwloc_bitmap_copy(bound, part);
	if (bind == BIND_NUMA)
		widen(bound, &m->node, m->allowed);
	if (bind == BIND_SOCKET)
		widen(bound, &m->package, m->allowed);
	ret = describe(m, gpu, part, bind == BIND_NONE ? NULL : bound, place);
	hwloc_bitmap_free(part);
	hwloc_bitmap_free(bound);
	return ret;
}

int
map_host(const struct strv *facts, const struct map_wish *wish,
    const long *gpu, size_t ranks, struct seat *place, struct buf *warning,
    struct err *err)
{
	struct machine	 m = { 0 };
	hwloc_bitmap_t	*domain = calloc(ranks, sizeof *domain);
	int		 ret = -1;

	memset(place, 0, ranks * sizeof *place);
	if (!domain) {
		err_nomem(err);
		goto out;
	}
	if (machine_read(&m, facts, err) < 0)
		goto out;
	for (size_t i = 0; i < ranks; i++) {
		if (!(domain[i] = hwloc_bitmap_alloc())) {
			err_nomem(err);
			goto out;
		}
		if (find_domain(&m, wish, i, gpu[i], domain[i], warning,
		    err) < 0)
			goto out;
	}
	for (size_t i = 0; i < ranks; i++)
		if (place_one(&m, binding(wish), gpu[i], i, domain, ranks,
		    &place[i], warning) < 0) {
			err_nomem(err);
			goto out;
		}
	ret = 0;
out:
	for (size_t i = 0; i < ranks; i++) {
		if (domain)
			hwloc_bitmap_free(domain[i]);
		if (ret < 0)
			seat_clear(&place[i]);
	}
	free(domain);
	machine_clear(&m);
	return ret;
}

void
seat_clear(struct seat *place)
{
	free(place->cpu);
	free(place->list);
	free(place->nodes);
	free(place->pci);
	free(place->nic);
	*place = (struct seat){ .gpu = -1 };
}
