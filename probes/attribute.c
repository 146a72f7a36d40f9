/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/attribute.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/fleet.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

/* The type comes from the member; a mistake does not compile. */
#define TYPE(s, m)	_Generic(((s *)0)->m, char *: ATTRIBUTE_TEXT,	\
	bool: ATTRIBUTE_BOOL, unsigned: ATTRIBUTE_COUNT,		\
	int: ATTRIBUTE_INDEX, long: ATTRIBUTE_SPEED,			\
	uint64_t: ATTRIBUTE_BYTES, double: ATTRIBUTE_REAL)
#define ROW(s, m)	{ #m, TYPE(s, m), false, offsetof(s, m) }
#define KEEP(s, m)	{ #m, TYPE(s, m), true, offsetof(s, m) }
#define END		{ .key = NULL }

const struct attribute machine_attributes[] = {
	ROW(struct machine, host),
	ROW(struct machine, hostname),
	ROW(struct machine, problem),
	ROW(struct machine, hint),
	ROW(struct machine, arch),
	ROW(struct machine, kernel),
	ROW(struct machine, cpu),
	ROW(struct machine, packages),
	ROW(struct machine, cores),
	ROW(struct machine, cpus),
	{ "numa_nodes", ATTRIBUTE_COUNT, false, offsetof(struct machine, numa) },
	ROW(struct machine, cpu_bf16),
	ROW(struct machine, cpus_allowed),
	ROW(struct machine, cpu_limit),
	ROW(struct machine, memory),
	ROW(struct machine, memory_free),
	ROW(struct machine, memory_limit),
	ROW(struct machine, swap),
	ROW(struct machine, shm),
	ROW(struct machine, shm_free),
	ROW(struct machine, disk),
	ROW(struct machine, disk_free),
	ROW(struct machine, container),
	ROW(struct machine, wsl),
	ROW(struct machine, slurm),
	ROW(struct machine, driver),
	ROW(struct machine, cuda),
	ROW(struct machine, rocm),
	ROW(struct machine, nccl),
	ROW(struct machine, python),
	ROW(struct machine, python_version),
	ROW(struct machine, torch),
	ROW(struct machine, torch_cuda),
	ROW(struct machine, torch_hip),
	ROW(struct machine, accelerate),
	END
};

const struct attribute numa_attributes[] = {
	KEEP(struct numa, id),
	ROW(struct numa, cpus),
	ROW(struct numa, memory),
	END
};

const struct attribute gpu_attributes[] = {
	ROW(struct gpu, vendor),
	ROW(struct gpu, model),
	ROW(struct gpu, pci),
	KEEP(struct gpu, usable),
	ROW(struct gpu, driver),
	ROW(struct gpu, memory),
	{ "capability", ATTRIBUTE_CAPABILITY, false,
	    offsetof(struct gpu, major) },
	ROW(struct gpu, arch),
	ROW(struct gpu, numa),
	ROW(struct gpu, pcie),
	ROW(struct gpu, way),
	END
};
_Static_assert(offsetof(struct gpu, minor) == offsetof(struct gpu, major) +
    sizeof(int), "a capability is two numbers side by side");

const struct attribute link_attributes[] = {
	KEEP(struct link, a),
	KEEP(struct link, b),
	{ "kind", ATTRIBUTE_LINK, false, offsetof(struct link, kind) },
	ROW(struct link, count),
	ROW(struct link, gbs),
	ROW(struct link, no_peer),
	END
};

const struct attribute iface_attributes[] = {
	ROW(struct iface, name),
	ROW(struct iface, address),
	KEEP(struct iface, up),
	ROW(struct iface, loopback),
	ROW(struct iface, speed),
	ROW(struct iface, driver),
	ROW(struct iface, rdma),
	ROW(struct iface, numa),
	ROW(struct iface, pci),
	ROW(struct iface, way),
	END
};

const struct attribute between_attributes[] = {
	KEEP(struct between, from),
	KEEP(struct between, to),
	ROW(struct between, latency_us),
	ROW(struct between, gbit_s),
	ROW(struct between, problem),
	END
};

static void *add_gpu(void *m) { return machine_add_gpu(m); }
static void *add_link(void *m) { return machine_add_link(m); }
static void *add_iface(void *m) { return machine_add_iface(m); }
static void *add_numa(void *m) { return machine_add_numa(m); }
static void *add_machine(void *f) { return fleet_add(f); }
static void *add_between(void *f) { return fleet_add_between(f); }

#define LIST(key, of, s, m, n, limit, add)				\
	{ key, of, sizeof *((s *)0)->m, offsetof(s, m), offsetof(s, n),	\
	    limit, add }

const struct attribute_list machine_lists[] = {
	LIST("numa", numa_attributes, struct machine, node, nodes, 4096,
	    add_numa),
	LIST("gpus", gpu_attributes, struct machine, gpu, gpus, 256, add_gpu),
	LIST("links", link_attributes, struct machine, link, links, 32640,
	    add_link),
	LIST("interfaces", iface_attributes, struct machine, iface, ifaces,
	    4096, add_iface),
	END
};

const struct attribute_list fleet_lists[] = {
	LIST("machines", machine_attributes, struct fleet, machine, count,
	    16384, add_machine),
	LIST("network", between_attributes, struct fleet, between, pairs,
	    1 << 20, add_between),
	END
};

void
attributes_clear(const struct attribute *table, void *object)
{
	for (const struct attribute *a = table; a->key; a++)
		if (a->type == ATTRIBUTE_TEXT)
			free(*(char **)((char *)object + a->offset));
}

/* Digits enough to read it back as it was, where fewer are. */
static const char *
real(double value, char *room, size_t n)
{
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(room, n, "%.*g", digits, value);
		if (strtod(room, NULL) == value)
			break;
	}
	return room;
}

const char *
attribute_get(const struct attribute *a, const void *object, char *room,
    size_t n)
{
	const void	*at = (const char *)object + a->offset;
	const int	*two = at;

	switch (a->type) {
	case ATTRIBUTE_TEXT:
		return *(char *const *)at;
	case ATTRIBUTE_BOOL:
		return *(const bool *)at ? "true" : a->always ? "false" : NULL;
	case ATTRIBUTE_COUNT:
		snprintf(room, n, "%u", *(const unsigned *)at);
		return *(const unsigned *)at || a->always ? room : NULL;
	case ATTRIBUTE_INDEX:
		snprintf(room, n, "%d", *(const int *)at);
		return *(const int *)at >= 0 ? room : NULL;
	case ATTRIBUTE_SPEED:
		snprintf(room, n, "%ld", *(const long *)at);
		return *(const long *)at ? room : NULL;
	case ATTRIBUTE_BYTES:
		snprintf(room, n, "%llu",
		    (unsigned long long)*(const uint64_t *)at);
		return *(const uint64_t *)at ? room : NULL;
	case ATTRIBUTE_REAL:
		return *(const double *)at > 0 ?
		    real(*(const double *)at, room, n) : NULL;
	case ATTRIBUTE_CAPABILITY:
		snprintf(room, n, "%d.%d", two[0], two[1]);
		return two[0] ? room : NULL;
	case ATTRIBUTE_LINK:
		return *(const enum link_kind *)at ?
		    link_words[*(const enum link_kind *)at] : NULL;
	}
	return NULL;
}

/* The bytes of the letter at text, or 0 where it may not pass. */
static size_t
letter(const unsigned char *t)
{
	unsigned	code = *t < 0x80 ? *t : *t < 0xe0 ? *t & 0x1f :
			    *t < 0xf0 ? *t & 0xf : *t & 7;
	size_t		n = *t < 0x80 ? 1 : *t < 0xe0 ? 2 : *t < 0xf0 ? 3 : 4;

	if ((*t >= 0x80 && *t < 0xc2) || *t > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((t[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (t[i] & 0x3f);
	}
	if (code < ' ' || (code >= 0x7f && code < 0xa0) ||
	    (n == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
	    (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
	    (code >= 0x200b && code <= 0x200f) ||
	    (code >= 0x2028 && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069) || code == 0xfeff ||
	    (code & 0xfffe) == 0xfffe)
		return 0;
	return n;
}

char *
attribute_text(const char *text, size_t n)
{
	char *copy = strndup(text, n);

	for (char *c = copy; c && *c;) {
		size_t ok = letter((const unsigned char *)c);

		if (!ok)
			*c = '?';
		c += ok ? ok : 1;
	}
	return copy;
}

static int
set_text(char **to, const char *text)
{
	char	*copy = attribute_text(text, 4096);

	if (!copy)
		return -2;
	free(*to);
	*to = copy;
	return 0;
}

static int
set_capability(int *to, const char *text)
{
	long	 major, minor;
	char	 first[8] = "";
	size_t	 n = strcspn(text, ".");

	if (text[n] != '.' || n >= sizeof first)
		return -1;
	memcpy(first, text, n);
	if (num_parse(first, 1, 99, &major) ||
	    num_parse(text + n + 1, 0, 9, &minor))
		return -1;
	to[0] = (int)major;
	to[1] = (int)minor;
	return 0;
}

int
attribute_set(const struct attribute *a, void *object, const char *text)
{
	void	*at = (char *)object + a->offset;
	long	 n;

	switch (a->type) {
	case ATTRIBUTE_TEXT:
		return set_text(at, text);
	case ATTRIBUTE_BOOL:
		if (strcmp(text, "true") && strcmp(text, "false"))
			return -1;
		*(bool *)at = *text == 't';
		return 0;
	case ATTRIBUTE_COUNT:
		if (num_parse(text, 0, 1 << 24, &n))
			return -1;
		*(unsigned *)at = (unsigned)n;
		return 0;
	case ATTRIBUTE_INDEX:
		if (num_parse(text, -1, 1 << 24, &n))
			return -1;
		*(int *)at = (int)n;
		return 0;
	case ATTRIBUTE_SPEED:
		return num_parse(text, 0, 1L << 40, at);
	case ATTRIBUTE_BYTES:
		if (num_parse(text, 0, 1L << 60, &n))
			return -1;
		*(uint64_t *)at = (uint64_t)n;
		return 0;
	case ATTRIBUTE_REAL:
		return num_parse_real(text, 0, 1e15, at);
	case ATTRIBUTE_CAPABILITY:
		return set_capability(at, text);
	case ATTRIBUTE_LINK:
		for (int k = 0; k < LINK_KINDS; k++)
			if (!strcmp(text, link_words[k])) {
				*(enum link_kind *)at = (enum link_kind)k;
				return 0;
			}
		return -1;
	}
	return -1;
}
