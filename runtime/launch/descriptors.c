/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/descriptors.h"

#include <stdint.h>
#include <sys/resource.h>

#include "runtime/base/banned.h"

/* The limit is the process's, and so is what it was. */
static rlim_t before = RLIM_INFINITY;

size_t
descriptors_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return SIZE_MAX;
	if (files.rlim_cur < files.rlim_max) {
		rlim_t now = files.rlim_cur;

		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files) < 0)
			return (size_t)now;
		before = now;
	}
	return files.rlim_max > SIZE_MAX ? SIZE_MAX : (size_t)files.rlim_max;
}

void
descriptors_restore(void)
{
	struct rlimit files;

	if (before == RLIM_INFINITY || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = before < files.rlim_max ? before : files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}
