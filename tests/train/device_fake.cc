/* SPDX-License-Identifier: Apache-2.0 */
/* device.cu under the fake CUDA, with the plugins that are built over it. */
#include "tests/fake/cuda/launch.hh"

#include <stdio.h>
#include <stdlib.h>
#include <cstring>
#include <unistd.h>

/* A folder of plugins: fakes, and the real one of MPI.  False without that. */
static bool
fake_plugins(const char *dir)
{
	static const char *const file[] = { "tests/fake/cuda/.libs/libaccel-cuda.so",
	    "tests/fake/cuda/.libs/libaccel-nccl.so", ".libs/libaccel-mpi.so" };
	const char *top = getenv("top_builddir");
	bool there = false;

	for (const char *name : file) {
		char from[4096], path[4200], to[4096];

		snprintf(path, sizeof(path), "%s/%s", top != nullptr ? top :
		    ".", name);
		there = realpath(path, from) != nullptr;
		snprintf(to, sizeof(to), "%s/%s", dir,
		    std::strrchr(path, '/') + 1);
		if (there && symlink(from, to) != 0)
			exit(1);
	}
	setenv("ACCEL_PLUGIN_DIR", dir, 1);
	return there;
}

#include "tests/train/device.cu"
