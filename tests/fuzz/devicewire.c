/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from a rank's control socket, and the lines of PMI within. */
#include "runtime/device/pmi.h"
#include "runtime/device/wire.h"
#include "tests/fuzz/fuzz.h"

static void
reply(void *user, size_t rank, const char *line, size_t n)
{
	(void)user;
	MUST(rank < 2 && n > 0 && line[n - 1] == '\n');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wire	 w = WIRE_INIT;
	struct pmi	*pmi = pmi_new(2, "job", reply, NULL);
	const char	*bytes;
	size_t		 size;
	int		 kind, rc;

	MUST(pmi);
	if (n)
		MUST(!buf_add(&w.in, data, n));
	while ((rc = wire_peek(&w, &kind, &bytes, &size)) == 1) {
		size_t	before = w.in.len;

		MUST(size <= before);
		if (kind == WIRE_PMI)
			pmi_line(pmi, before % 2, bytes, size);
		wire_drop(&w);
		MUST(w.in.len < before);
	}
	MUST(rc == 0 || rc == -1);
	wire_close(&w);
	pmi_free(pmi);
	return 0;
}
