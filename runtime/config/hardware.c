/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/hardware.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/banned.h"

#define GPU(words, vendor, capability, gb, memory, t16, t32, type, link,	\
    speed, pcie, peer, source)						\
	{ words, vendor, capability, (gb) * 1e9, (memory) * 1e9,	\
	    (t16) * 1e12, (t32) * 1e12, HARDWARE_##type, HARDWARE_##link, \
	    (speed) * 1e9, pcie, peer, source, false },
static const struct hardware table[] = {
#include "runtime/config/hardware.def"
};
#undef GPU

double
hardware_pcie(int generation)
{
	/* 8 GT/s a lane with 128 of 130 bits, 16 lanes; twice each time. */
	static const double	speeds[] = { 15.75e9, 31.5e9, 63e9, 121e9 };

	if (generation < 3)
		return generation == 2 ? 8e9 : 4e9;
	return speeds[generation > 6 ? 3 : generation - 3];
}

/* The word stands in the text, with no letter or digit around it; case does not
 * matter. */
static bool
has_word(const char *text, const char *word, size_t n)
{
	for (const char *p = text; *p; p++) {
		if (strncasecmp(p, word, n) || isalnum((unsigned char)p[n]))
			continue;
		if (p == text || !isalnum((unsigned char)p[-1]))
			return true;
	}
	return false;
}

static bool
has_words(const char *text, const char *words)
{
	while (*words) {
		size_t	n = strcspn(words, " ");

		if (!has_word(text, words, n))
			return false;
		words += n + (words[n] == ' ');
	}
	return true;
}

const struct hardware *
hardware_row(unsigned n)
{
	return n < sizeof table / sizeof *table ? &table[n] : NULL;
}

/* AMD's names of architectures, where the driver does not tell the product. */
static const struct { const char *arch, *words; } archs[] = {
	{ "gfx942", "MI300X" }, { "gfx90a", "MI250X" }, { "gfx908", "MI100" },
};

/* By generation: what its server GPUs have, roughly. */
static void
guess(struct hardware *out, const char *vendor, int capability, uint64_t bytes)
{
	*out = (struct hardware){
		.words = "unknown", .vendor = vendor, .capability = capability,
		.bytes = (double)bytes, .memory = 500e9, .flops16 = 50e12,
		.flops32 = 12e12, .type = HARDWARE_FP32, .link = HARDWARE_PCIE,
		.pcie = 3, .peer = true, .source = "guess", .guess = true,
	};
	if (capability >= 70)
		out->type = HARDWARE_FP16;
	if (capability >= 80) {
		out->type = HARDWARE_BF16;
		out->flops16 = 100e12;
		out->flops32 = 25e12;
		out->pcie = 4;
	}
	/* Without a word on its age, memory of today's size tells it. */
	if (!capability && bytes >= (uint64_t)24e9) {
		out->type = HARDWARE_BF16;
		out->flops16 = 100e12;
		out->pcie = 4;
	}
	if (bytes >= (uint64_t)72e9) {	/* servers' only */
		out->flops16 = 312e12;
		out->memory = 2000e9;
	}
}

void
hardware_find(struct hardware *out, const char *vendor, const char *name,
    const char *arch, int capability, uint64_t bytes)
{
	const struct hardware	*row = NULL;

	for (size_t i = 0; name && !row && i < sizeof table / sizeof *table;
	    i++)
		if (has_words(name, table[i].words))
			row = &table[i];
	for (size_t i = 0; arch && !row && i < sizeof archs / sizeof *archs;
	    i++)
		if (!strcmp(arch, archs[i].arch)) {
			hardware_find(out, NULL, archs[i].words, NULL, 0,
			    bytes);
			return;
		}
	if (row)
		*out = *row;
	else
		guess(out, vendor ? vendor : "NVIDIA", capability, bytes);
	/* AMD's before CDNA and RDNA 3 have no units for bfloat16. */
	if (!row && arch && (!strncmp(arch, "gfx90", 5) ||
	    !strncmp(arch, "gfx8", 4) || !strncmp(arch, "gfx10", 5)))
		out->type = HARDWARE_FP16;
	/* What the driver says of itself wins. */
	if (capability)
		out->capability = capability;
	if (bytes)
		out->bytes = (double)bytes;
	out->pcie = hardware_pcie((int)out->pcie);
	if (out->capability && out->capability < 80 &&
	    out->type == HARDWARE_BF16)
		out->type = HARDWARE_FP16;
}
