/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as Python's pickle, and as what torch.save wrote. */
#include "runtime/base/err.h"
#include "runtime/weights/pickle.h"
#include "runtime/weights/torchfile.h"
#include "tests/fuzz/fuzz.h"

static bool
known(const char *name)
{
	return strcmp(name, "os system") != 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pickle		pickle = PICKLE_INIT;
	struct torchfile	file;
	struct err		err = ERR_INIT;

	if (pickle_read(&pickle, data, n, known, &err))
		MUST(*err.text);
	else
		pickle_get(pickle.root, "state_dict_metadata");
	pickle_clear(&pickle);
	if (torchfile_read(&file, data, n, &err))
		MUST(*err.text);
	else
		MUST(file.begin <= file.end && file.end <= n);
	return 0;
}
