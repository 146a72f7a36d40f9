/* SPDX-License-Identifier: Apache-2.0 */
/* A text as --gpus of accel advise, and as the name of a GPU. */
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/config/advice.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct advice_host	*host = NULL;
	struct hardware		 hardware;
	struct err		 err = ERR_INIT;
	size_t			 count = 0;
	char			*text = strndup((const char *)data, n);

	if (advice_hosts(&host, &count, text, &err))
		MUST(!count && *err.text && *err.hint);
	for (size_t i = 0; i < count; i++)
		MUST(*host[i].name && host[i].gpus <= ADVICE_GPUS);
	hardware_find(&hardware, NULL, text, text, 0, 0);
	MUST(hardware.words && hardware.flops16 > 0 && hardware.memory > 0 &&
	    hardware.pcie > 0);
	free(host);
	free(text);
	return 0;
}
