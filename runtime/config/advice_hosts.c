/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines in a word, for those that are not at hand:
 *
 *	[HOSTS x] GPUS x WHAT [: DETAIL]...
 *
 * WHAT is a name of hardware.def or the memory of a GPU; a detail is "nvlink",
 * "pcie", "xgmi", "no-peer", a GPU's memory ("40GB"), the host's ("ram=512GB"),
 * "cores=64", "numa=2", "disk=2TB", or the network ("200gbit").
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/config/advice.h"

#include "runtime/base/banned.h"

/* "8x", "8 x": the number in front, and what is behind it; or 0. */
static long
times(const char **text)
{
	char	digits[8];
	size_t	n = strspn(*text, "0123456789");
	long	value;

	if (!n || n >= sizeof digits || tolower((unsigned char)(*text)[n]) !=
	    'x')
		return 0;
	snprintf(digits, sizeof digits, "%.*s", (int)n, *text);
	if (num_parse(digits, 1, ADVICE_HOSTS, &value) < 0)
		return 0;
	*text += n + 1;
	return value;
}

static void
gpu_init(struct advice_gpu *g, const struct hardware *row, uint64_t bytes)
{
	snprintf(g->vendor, sizeof g->vendor, "%s", row ? row->vendor :
	    "NVIDIA");
	snprintf(g->model, sizeof g->model, "%s", row ? row->words : "");
	g->capability = row ? row->capability : 0;
	g->bytes = bytes ? bytes : row ? (uint64_t)row->bytes : 0;
}

/* A row whose words, without blanks and hyphens, are the text. */
static const struct hardware *
row_named(const char *text)
{
	const struct hardware	*row;

	for (unsigned i = 0; (row = hardware_row(i)); i++) {
		const char	*a = row->words, *b = text;

		for (;;) {
			while (*a == ' ')
				a++;
			while (*b == ' ' || *b == '-' || *b == '_')
				b++;
			if (!*a || tolower((unsigned char)*a) !=
			    tolower((unsigned char)*b))
				break;
			a++;
			b++;
		}
		if (!*a && !*b)
			return row;
	}
	return NULL;
}

static int
detail(struct advice_host *h, uint64_t *gpu, const char *word, struct err *err)
{
	static const struct { const char *word; enum hardware_link link; }
	    links[] = {
		{ "nvlink", HARDWARE_NVLINK }, { "xgmi", HARDWARE_XGMI },
		{ "pcie", HARDWARE_PCIE }, { "across", HARDWARE_ACROSS },
	};
	char	digits[16];
	size_t	n = strspn(word, "0123456789.");
	double	value;
	long	whole;

	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (!strcasecmp(word, links[i].word)) {
			h->link = links[i].link;
			return 0;
		}
	if (!strcasecmp(word, "no-peer")) {
		h->no_peer = true;
		return 0;
	}
	if (!strncasecmp(word, "ram=", 4) &&
	    memory_parse(word + 4, &h->memory) == 0)
		return 0;
	if (!strncasecmp(word, "disk=", 5) &&
	    memory_parse(word + 5, &h->disk) == 0)
		return 0;
	if (!strncasecmp(word, "numa=", 5) &&
	    num_parse(word + 5, 1, 1024, &whole) == 0) {
		h->numa = (unsigned)whole;
		return 0;
	}
	if (!strncasecmp(word, "cores=", 6) &&
	    num_parse(word + 6, 1, 65536, &whole) == 0) {
		h->cores = (unsigned)whole;
		return 0;
	}
	if (n && n < sizeof digits && !strcasecmp(word + n, "gbit")) {
		snprintf(digits, sizeof digits, "%.*s", (int)n, word);
		if (num_parse_real(digits, 0.001, 1e6, &value) == 0) {
			h->net = value * 1e9 / 8;
			return 0;
		}
	}
	if (n && isalpha((unsigned char)word[n]) && memory_parse(word,
	    gpu) == 0)
		return 0;
	err_set(err, "\"%s\" is no detail of a machine", word);
	return err_hint(err, "such as nvlink, pcie, no-peer, 40GB, ram=512GB, "
	    "cores=64, numa=2, disk=2TB, 200gbit");
}

static int
describe(struct advice_host *h, long gpus, char *what, struct err *err)
{
	const struct hardware	*row;
	char			*more = strchr(what, ':'), *next;
	uint64_t		 bytes = 0;
	bool			 cpu = false;

	if (more)
		*more++ = '\0';
	row = row_named(what);
	cpu = !strcasecmp(what, "cpu");
	if (!row && !cpu && (!isalpha((unsigned char)what[strspn(what,
	    "0123456789.")]) || memory_parse(what, &bytes) < 0)) {
		err_set(err, "\"%s\" is neither a GPU that is known nor the "
		    "memory of one", what);
		return err_hint(err, "such as 8xH100, 4xRTX4090, 8x80GB:nvlink "
		    "or 1xcpu:cores=64");
	}
	for (; more; more = next) {
		if ((next = strchr(more, ':')))
			*next++ = '\0';
		if (detail(h, &bytes, more, err) < 0)
			return -1;
	}
	h->gpus = cpu ? 0 : (size_t)gpus;
	for (size_t i = 0; i < h->gpus; i++)
		gpu_init(&h->gpu[i], row, bytes);
	return 0;
}

int
advice_hosts(struct advice_host **list, size_t *count, const char *text,
    struct err *err)
{
	struct advice_host	 one = { .cores = 0 }, *more;
	const char		*p = text;
	long			 first = times(&p), second = first ?
	    times(&p) : 0, hosts = second ? first : 1, gpus = second ? second :
	    first ? first : 1;
	char			 what[160];

	if (gpus > ADVICE_GPUS || strlen(p) >= sizeof what) {
		err_set(err, "\"%s\": at most %d GPUs a host", text,
		    ADVICE_GPUS);
		return err_hint(err, "write HOSTSxGPUSxNAME, such as 2x8xH100");
	}
	if (*count + (size_t)hosts > ADVICE_HOSTS) {
		err_set(err, "more than %d hosts", ADVICE_HOSTS);
		return err_hint(err, "advice is for fewer");
	}
	snprintf(what, sizeof what, "%s", p);
	if (describe(&one, gpus, what, err) < 0)
		return err_at(err, "%s", text);
	more = realloc(*list, (*count + (size_t)hosts) * sizeof *more);
	if (!more)
		return err_nomem(err);
	*list = more;
	for (long i = 0; i < hosts; i++) {
		more[*count] = one;
		snprintf(more[*count].name, sizeof more[*count].name,
		    "host%zu", *count + 1);
		++*count;
	}
	return 0;
}
