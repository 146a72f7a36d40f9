/* SPDX-License-Identifier: Apache-2.0 */
/* clock: time since some moment in the past, which only goes forward; and the
 * time of day, for people. */
#ifndef RUNTIME_BASE_CLOCK_H
#define RUNTIME_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
double  clock_s(void);

/* Milliseconds since 1970, UTC. */
int64_t clock_wall_ms(void);

/* That as "2026-11-30T08:40:03.123Z". */
enum { CLOCK_TEXT = 40 };
void    clock_text(int64_t wall_ms, char text[CLOCK_TEXT]);
#endif
