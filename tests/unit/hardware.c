/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by their names, and machines in a word. */
#include "tests/unit/advice.h"

static void
test_hardware(void)
{
	static const struct { const char *name, *row; } rows[] = {
		{ "NVIDIA A100-SXM4-80GB", "A100" },
		{ "NVIDIA A100-SXM4-40GB", "A100 40GB" },
		{ "NVIDIA A100-PCIE-40GB", "A100 PCIe" },
		{ "NVIDIA A10", "A10" }, { "NVIDIA L40S", "L40S" },
		{ "NVIDIA L4", "L4" }, { "Tesla T4", "T4" },
		{ "NVIDIA H100 PCIe", "H100 PCIe" },
		{ "NVIDIA H100 80GB HBM3", "H100" },
		{ "GH100 [H100 SXM5 80GB]", "H100" },
		{ "NVIDIA GeForce RTX 4090", "RTX 4090" },
		{ "NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti" },
		{ "Tesla V100-SXM2-32GB", "V100" },
		{ "AMD Instinct MI300X", "MI300X" },
	};
	struct hardware	h;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		hardware_find(&h, NULL, rows[i].name, NULL, 0, 0);
		is(h.words, rows[i].row, "%s is known", rows[i].name);
	}
	hardware_find(&h, "AMD", NULL, "gfx90a", 0, 0);
	is(h.words, "MI250X", "gfx90a is known by its name");
	hardware_find(&h, "AMD", "Radeon Pro VII", "gfx906", 0, 32000000000);
	ok(h.guess && h.type == HARDWARE_FP16, "gfx906 trains in float16");
	hardware_find(&h, "NVIDIA", "RTX 9999", NULL, 75, 8000000000);
	ok(h.guess && h.type == HARDWARE_FP16, "an unknown GPU of capability "
	    "7.5 is guessed to train in float16");
	hardware_find(&h, "NVIDIA", "L40", NULL, 0, 0);
	ok(h.guess, "L40 is not L4");
	for (unsigned i = 0; hardware_row(i); i++)
		ok(hardware_row(i)->bytes >= 1e9 && hardware_row(i)->flops16 >
		    hardware_row(i)->flops32 && (!hardware_row(i)->capability
		    || (hardware_row(i)->capability >= 80) ==
		    (hardware_row(i)->type == HARDWARE_BF16)),
		    "the row of %s is sane", hardware_row(i)->words);
}

static void
test_hosts(void)
{
	static const char *const bad[] = { "", "8x", "x", "0xH100", "8xH1000",
	    "129xH100", "8xH100:", "8xH100:fast", "8x80", "8x-80GB",
	    "8xH100:ram=much", "99999999xH100", "8xH100:0gbit",
	    "1x1x1xH100", "5000x1xH100", "8xH100::nvlink" };
	static const char	letters[] = "0123456789xXHA10GBgbit:=ramcpu.-\377";
	struct fleet_of		f;
	struct err		err = ERR_INIT;
	char			text[40];
	int			odd = 0;

	fleet_words(&f, "2x8xh100:100gbit 4xA100:40GB:pcie:no-peer 8x80GB:nvlink "
	    "RTX4090 1xcpu:cores=64:numa=4:ram=512GB");
	ok(f.count == 6, "five words, six hosts");
	ok(f.host[1].gpus == 8 && f.host[1].gpu[7].capability == 90 &&
	    f.host[0].net > 12.4e9 && f.host[0].net < 12.6e9,
	    "hosts x GPUs x name : network");
	ok(f.host[2].gpu[0].bytes == 40000000000 && f.host[2].no_peer &&
	    f.host[2].link == HARDWARE_PCIE, "details win over the table");
	ok(f.host[3].gpu[0].bytes == 80000000000 && f.host[3].link ==
	    HARDWARE_NVLINK && !*f.host[3].gpu[0].model, "memory alone");
	ok(f.host[4].gpus == 1, "one without a number");
	ok(!f.host[5].gpus && f.host[5].cores == 64 && f.host[5].numa == 4 &&
	    f.host[5].memory == 512000000000, "no GPU at all");
	is(f.host[5].name, "host6", "they have names");
	free(f.host);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		f = (struct fleet_of){ NULL, 0 };
		ok(advice_hosts(&f.host, &f.count, bad[i], &err) < 0 &&
		    !f.count && *err.text && *err.hint, "refused: \"%s\"",
		    bad[i]);
		free(f.host);
	}
	for (int i = 0; i < 20000; i++) {
		unsigned	n = draw(sizeof text - 1);

		for (unsigned k = 0; k < n; k++)
			text[k] = letters[draw(sizeof letters - 1)];
		text[n] = '\0';
		f = (struct fleet_of){ NULL, 0 };
		if (advice_hosts(&f.host, &f.count, text, &err) == 0)
			odd += !f.count || f.host[0].gpus > ADVICE_GPUS;
		else
			odd += f.count != 0;
		free(f.host);
	}
	ok(!odd, "20,000 random words are hosts or refused");
}

int
main(void)
{
	test_hardware();
	test_hosts();
	return tap_done();
}
