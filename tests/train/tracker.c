/* SPDX-License-Identifier: Apache-2.0 */
/* tracker KIND WHERE [all]: logs ten numbers, what is no number, and settings;
 * "all": on every rank. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/train/accel.h"

int
main(int argc, char **argv)
{
	uint32_t flags = argc > 3 ? ACCEL_EVERY_RANK : 0;
	accel *a;

	if (argc < 2 || accel_init(NULL, &a) != ACCEL_OK)
		return 2;
	if (accel_track(a, argv[1], argc > 2 ? argv[2] : NULL,
	    flags) != ACCEL_OK) {
		fprintf(stderr, "tracker: %s\n", accel_errmsg());
		accel_fini(a);
		return 1;
	}
	accel_log_config(a, "lr", "3e-4");
	accel_log_config(a, "name", "gr\xc3\xbc\xc3\x9f" "e");
	for (int i = 0; i < 10; i++)
		accel_log(a, i, "train/loss", 1.0 / (i + 1));
	accel_log(a, 5000000000, "big", 1e30);
	accel_log(a, 1, "odd", NAN);
	return accel_fini(a) == ACCEL_OK ? 0 : 1;
}
