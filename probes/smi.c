/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/smi.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/facts.h"
#include "probes/machine.h"
#include "runtime/base/strv.h"
#include "runtime/base/banned.h"

enum { GPUS = 64 };

struct smi {
	struct strv	 facts;		/* in our own words */
	char		 pci[GPUS][24];	/* of its numbers */
	size_t		 gpus;
	double		 gbs[GPUS];	/* of one NVLink */
	size_t		 columns;	/* GPUs in the table that is read */
	size_t		 now;		/* GPU of nvlink's lines */
	int		 failed;
};

static const char *
value_of(const char *fact, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(fact, name, n) && fact[n] == '=' ? fact + n + 1 : NULL;
}

/* "00000000:1B:00.0, 81559, 9.0, 535.104.05, NVIDIA H100 80GB HBM3" */
static void
take_row(struct smi *s, const char *row)
{
	char			 pci[32], capability[8] = "", driver[32] = "";
	unsigned long long	 mib = 0;
	size_t			 n;
	int			 at = 0;
	const char		*short_pci;

	if (s->gpus >= GPUS || sscanf(row, "%31[0-9a-fA-F:.], %llu, %7[0-9.], "
	    "%31[^,], %n", pci, &mib, capability, driver, &at) < 4 || !at)
		return;
	n = strlen(pci);
	if (n < 12)
		return;
	for (char *c = pci; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	short_pci = pci + n - 12;	/* a domain of four digits, as /sys */
	snprintf(s->pci[s->gpus++], sizeof s->pci[0], "%s", short_pci);
	s->failed = s->failed || strv_addf(&s->facts, "gpu=%s 10de ? - -",
	    short_pci) || strv_addf(&s->facts, "gpu.%s.usable=true",
	    short_pci) || strv_addf(&s->facts, "gpu.%s.memory=%llu", short_pci,
	    mib < 1ULL << 40 ? mib << 20 : 0) || strv_addf(&s->facts,
	    "gpu.%s.capability=%s", short_pci, capability) ||
	    strv_addf(&s->facts, "gpu.%s.model=%s", short_pci, row + at) ||
	    strv_addf(&s->facts, "driver=%s", driver);
}

/* "GPU 0: NVIDIA H100 ... (UUID: ...)", then "	 Link 0: 26.562 GB/s". */
static void
take_nvlink(struct smi *s, const char *line)
{
	unsigned	gpu, number;
	double		gbs;

	if (sscanf(line, "GPU %u:", &gpu) == 1)
		s->now = gpu < s->gpus ? gpu : GPUS;
	else if (s->now < GPUS && sscanf(line, " Link %u: %lf GB/s", &number,
	    &gbs) == 2 && gbs > 0 && gbs < 1e4)
		s->gbs[s->now] = gbs;
}

/* The next word of a table, without what colours it on a terminal. */
static const char *
next_word(const char *at, char word[16])
{
	size_t n = 0;

	while (*at && (isspace((unsigned char)*at) || *at == '\033' ||
	    *at == '?')) {
		if (*at == '\033' || *at == '?')
			at += at[1] == '[' ? strcspn(at, "m") : 0;
		at += *at != '\0';
	}
	while (*at && !isspace((unsigned char)*at) && *at != '\033') {
		if (n < 15)
			word[n++] = *at;
		at++;
	}
	word[n] = '\0';
	return n ? at : NULL;
}

static void
tell_cell(struct smi *s, size_t a, size_t b, const char *cell, int p2p)
{
	unsigned	links;
	const char	*one = s->pci[a], *two = s->pci[b];
	int		failed = 0;

	if (p2p) {
		if (strcmp(cell, "OK") && strcmp(cell, "X") &&
		    strcmp(cell, "U") && strcmp(cell, "Unknown"))
			failed = strv_addf(&s->facts, "link.%s+%s.no_peer=true",
			    one, two);
	} else if (sscanf(cell, "NV%u", &links) == 1 && links && links < 100) {
		double gbs = s->gbs[a] < s->gbs[b] ? s->gbs[a] : s->gbs[b];

		failed = strv_addf(&s->facts, "link.%s+%s.kind=nvlink", one,
		    two) || strv_addf(&s->facts, "link.%s+%s.count=%u", one,
		    two, links);
		if (!failed && gbs > 0)
			failed = strv_addf(&s->facts, "link.%s+%s.gbs=%.6g",
			    one, two, gbs * links);
	}
	s->failed = s->failed || failed;
}

/* The head, "GPU0 GPU1 ... NIC0 ...", then "GPU0  X  NV18 ...". */
static void
take_table(struct smi *s, const char *line, int p2p)
{
	char		word[16];
	const char	*at = next_word(line, word);
	unsigned	row, column;

	if (!at || sscanf(word, "GPU%u", &row) != 1)
		return;
	/* A head has GPUs alone in front; that of one GPU comes first. */
	if ((at = next_word(at, word)) == NULL || !s->columns ||
	    sscanf(word, "GPU%u", &column) == 1) {
		s->columns = 0;
		for (at = line; (at = next_word(at, word)) &&
		    sscanf(word, "GPU%u", &column) == 1;)
			s->columns++;
		return;
	}
	for (size_t k = 0; at && k < s->columns && k < s->gpus; k++) {
		if (row < s->gpus && k > row)
			tell_cell(s, row, k, word, p2p);
		at = next_word(at, word);
	}
}

int
machine_take_smi(struct machine *m, const struct strv *facts)
{
	static const char *const order[] = { "smi", "nvlink", "topo", "p2p" };
	struct smi	*s = calloc(1, sizeof *s);
	int		 status = 0, spoke = 0;

	if (!s)
		return -1;
	s->now = GPUS;
	for (size_t k = 0; k < 4; k++) {
		s->columns = 0;
		for (size_t i = 0; i < facts->count; i++) {
			const char *line = value_of(facts->item[i], order[k]);

			if (!line)
				continue;
			spoke |= k == 0;
			if (k == 0)
				take_row(s, line);
			else if (k == 1)
				take_nvlink(s, line);
			else
				take_table(s, line, k == 3);
		}
	}
	for (size_t i = 0; spoke && i < m->gpus; i++)
		if (!strcmp(m->gpu[i].vendor, "NVIDIA"))
			m->gpu[i].usable = false;
	status = s->failed ? -1 : machine_take(m, &s->facts);
	strv_clear(&s->facts);
	free(s);
	return status;
}
