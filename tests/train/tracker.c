/* SPDX-License-Identifier: Apache-2.0 */
/* tracker KIND WHERE: logs ten numbers, what is no number, and settings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/train/accel.h"

int
main(int argc, char **argv)
{
	accel *a;

	if (argc < 2 || accel_init(NULL, &a) != ACCEL_OK)
		return 2;
	if (accel_track(a, argv[1], argc > 2 ? argv[2] : NULL, 0) !=
	    ACCEL_OK) {
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
