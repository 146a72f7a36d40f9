/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/patience.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

#define STEP_S 0.5

void
patience_begin(struct patience *p, double seconds)
{
	p->left = seconds > 0 ? seconds : INFINITY;
	p->turn = clock_s();
}

bool
patience_over(struct patience *p)
{
	double now = clock_s(), gap = now - p->turn;

	p->turn = now;
	if (gap <= AWAY_S)
		p->left -= gap;
	return p->left <= 0;
}

int
patience_wait(struct patience *p, pthread_cond_t *cond, pthread_mutex_t *lock)
{
	double step = p->left < STEP_S ? p->left : STEP_S;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(step * 1e9);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(cond, lock, &until);
	return patience_over(p) ? ETIMEDOUT : 0;
}
