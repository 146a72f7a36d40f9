/* SPDX-License-Identifier: Apache-2.0 */
/* clock: time since some moment in the past; it only goes forward. */
#ifndef RUNTIME_BASE_CLOCK_H
#define RUNTIME_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
double  clock_s(void);
#endif
