/* SPDX-License-Identifier: Apache-2.0 */
/* device.cu under the fake CUDA, with the plugins that are built over it. */
#include "tests/fake/cuda/launch.hh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <cstring>
#include <unistd.h>

#include "runtime/train/accel.h"
#include "tests/tap.h"

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

/* Tensors of a program that has said nothing of a GPU. */
static void
silent_program(void)
{
	char path[4200];
	const char *top = getenv("top_builddir");
	accel_status st = ACCEL_OK;
	accel *a;
	void *so;

	snprintf(path, sizeof(path), "%s/tests/fake/cuda/.libs/libcuda.so.1",
	    top != nullptr ? top : ".");
	so = dlopen(path, RTLD_NOW);
	if (so == nullptr) {
		ok(0, "%s: %s", path, dlerror());
		return;
	}
	for (const char *name : { "fake_managed", "fake_gpu" }) {
		static float here[4];
		accel_tensor t = accel_tensor();

		t.name = "weight";
		t.data = here;
		t.grad = dlsym(so, name);
		t.ndim = 1;
		t.shape[0] = 4;
		if (st != ACCEL_OK || accel_init(NULL, &a) != ACCEL_OK ||
		    accel_unit(a, "u", &t, 1, NULL) != ACCEL_OK)
			break;
		st = accel_prepare(a, 0);
		accel_fini(a);
	}
	ok(st == ACCEL_EINVAL && strstr(accel_errmsg(), "the gradients of "
	    "weight lie in a GPU's memory") != NULL, "a GPU's memory without a "
	    "word of it is refused, managed memory is not (%s)",
	    accel_errmsg());
}

#include "tests/train/device.cu"
