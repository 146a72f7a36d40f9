/* SPDX-License-Identifier: Apache-2.0 */
/* planted DESCRIPTION FOLDER: plants a machine, and prints what programs there
 * would say: for tests in shell. */
#include <stdio.h>

#include "runtime/base/strv.h"
#include "tests/machines/plant.h"

int
main(int argc, char **argv)
{
	struct strv facts = STRV_INIT;
	int status = argc == 3 ? plant(argv[1], argv[2], &facts) : 2;

	for (size_t i = 0; i < facts.count; i++)
		puts(facts.item[i]);
	strv_clear(&facts);
	return status ? 1 : 0;
}
