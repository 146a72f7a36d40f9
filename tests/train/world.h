/* SPDX-License-Identifier: Apache-2.0 */
/* world: tests that run as several ranks of one program.  A rank says what does
 * not hold and returns ACCEL_EINVAL; accel_spawn brings that to the test. */
#ifndef TESTS_TRAIN_WORLD_H
#define TESTS_TRAIN_WORLD_H

#include <stdlib.h>
#include <unistd.h>

#include "runtime/train/train.h"
#include "tests/tap.h"

/* Ends the rank's function where something does not hold. */
#define HOLDS(cond) do {						\
	if (!(cond))							\
		return accel__fail(ACCEL_EINVAL, "%s:%d: %s (%.100s)",	\
		    __FILE__, __LINE__, #cond, accel_errmsg());		\
} while (0)

#define GOOD(call) do {							\
	accel_status st_ = (call);					\
	if (st_ != ACCEL_OK)						\
		return accel__fail(ACCEL_EINVAL, "%s:%d: %s: %d, %.160s", \
		    __FILE__, __LINE__, #call, (int)st_, accel_errmsg()); \
} while (0)

/* Can more than one rank run here?  Sets where the backend is found. */
static inline int
has_backend(void)
{
	const char	*top = getenv("top_builddir");
	char		 path[512];

	snprintf(path, sizeof(path), "%s/.libs/libaccel-mpi.so",
	    top != NULL ? top : ".");
	if (access(path, R_OK) != 0)
		return 0;
	path[strlen(path) - strlen("/libaccel-mpi.so")] = '\0';
	setenv("ACCEL_PLUGIN_DIR", path, 1);
	return 1;
}

/* A rank ends without exit, so LeakSanitizer is asked here; of one rank alone,
 * for it crashes among MPICH's threads, and at their end names only what
 * libraries left that are unloaded by then. */
#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void);
#else
#define __lsan_do_recoverable_leak_check() 0
#endif
#define NO_LEAKS(a) HOLDS(accel_world(a) > 1 ||				\
    !__lsan_do_recoverable_leak_check())

/* fn on n ranks, under a limit. */
static inline accel_status
spawn(int n, accel_fn fn, void *user)
{
	accel_spawn_config c = ACCEL_SPAWN_INIT;

	c.limit_s = 120;
	c.peer_timeout_s = 20;
	return accel_spawn(n, fn, user, &c);
}

/* fn on 1 to 4 ranks. */
#define on_worlds(fn, user, what) do {					\
	for (int n_ = 1; n_ <= 4; n_++) {				\
		accel_status st_ = spawn(n_, fn, user);			\
		ok(st_ == ACCEL_OK, "%s, %d rank%s", what, n_,		\
		    n_ > 1 ? "s" : "");					\
		if (st_ != ACCEL_OK)					\
			printf("# %s\n", accel_errmsg());		\
	}								\
} while (0)
#endif
