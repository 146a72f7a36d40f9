/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a draft of accel-setup: refused, or the same draft again. */
#include "probes/probe.h"
#include "tests/fuzz/fuzz.h"
#include "tui/draft.h"
#include "tui/form.h"

static struct machine machine;

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct form	 f, g;
	struct err	 err = ERR_INIT;
	struct buf	 once = BUF_INIT, twice = BUF_INIT;
	bool		 stale;

	machine.hostname = (char *)(uintptr_t)"fuzz";
	machine.cores = machine.cpus = 4;
	MUST(!form_open(&f, &machine, "/nonexistent/c.yaml", NULL));
	if (draft_parse(&f, (const char *)data, n, "f", &stale, &err)) {
		MUST(*err.text && !f.at);
		form_clear(&f);
		return 0;
	}
	MUST(f.at == 1 && !draft_print(&f, &once));
	MUST(!form_open(&g, &machine, "/nonexistent/c.yaml", NULL));
	MUST(!draft_parse(&g, buf_text(&once), once.len, "g", &stale, &err));
	MUST(!draft_print(&g, &twice));
	MUST(!strcmp(buf_text(&once), buf_text(&twice)));
	MUST(!strcmp(buf_text(&f.text), buf_text(&g.text)));
	form_clear(&f);
	form_clear(&g);
	buf_clear(&once);
	buf_clear(&twice);
	return 0;
}
