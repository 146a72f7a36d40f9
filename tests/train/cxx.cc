/* SPDX-License-Identifier: Apache-2.0 */
/* accel.h is a C++ header too. */
#include "runtime/train/accel.h"

#include <cstdio>

int
main()
{
	accel_config config = ACCEL_CONFIG_INIT;
	accel *a = nullptr;
	bool fine = accel_init(&config, &a) == ACCEL_OK &&
	    accel_world(a) == 1 && accel_fini(a) == ACCEL_OK;

	std::printf("%sok 1 - a C++ program starts and ends\n1..1\n",
	    fine ? "" : "not ");
	return !fine;
}
