/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/clock.h"

#include <stdio.h>
#include <time.h>

#include "runtime/base/banned.h"

int64_t
clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double
clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t
clock_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
clock_text(int64_t wall_ms, char text[CLOCK_TEXT])
{
	time_t		seconds = (time_t)(wall_ms / 1000);
	struct tm	tm = { 0 };

	gmtime_r(&seconds, &tm);
	snprintf(text, CLOCK_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
	    (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
	    tm.tm_min, tm.tm_sec, (int)(wall_ms % 1000));
}
