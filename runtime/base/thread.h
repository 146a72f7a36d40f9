/* SPDX-License-Identifier: Apache-2.0 */
/* thread: a thread that no signal of the program's is delivered to. */
#ifndef RUNTIME_BASE_THREAD_H
#define RUNTIME_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create, with all signals blocked in the new thread. */
static inline int
thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}
#endif
