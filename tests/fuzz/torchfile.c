/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what torch.save wrote, and as a bare pickle. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/weights/pickle.h"
#include "runtime/weights/torchfile.h"
#include "runtime/weights/torchtype.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct torchfile	t;
	struct pickle		p;
	struct err		err = ERR_INIT;

	if (torchfile_read(&t, data, n, &err) == 0 && (t.end > n ||
	    t.begin > t.end || t.first < t.begin || t.first > t.end))
		abort();
	if (pickle_read(&p, data, n, torch_known, &err) == 0) {
		if (!p.root)
			abort();
		pickle_clear(&p);
	}
	return 0;
}
