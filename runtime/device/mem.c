/* SPDX-License-Identifier: Apache-2.0 */
/* mem: opens a kind of memory; and whose memory is it? */
#include "runtime/device/mem.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/plugin.h"

#include "runtime/base/banned.h"

int
mem_open(struct mem **m, const char *name, void *stream, int gpu,
    struct err *err)
{
	const struct mem_ops *ops = plugin_beside(name, "mem_plugin", 0, err);

	if (ops == NULL)
		return err_hint(err, "build accel where the CUDA toolkit (nvcc) "
		    "is, or name the plugin's folder in ACCEL_PLUGIN_DIR");
	if (ops->abi != MEM_ABI) {
		err_set(err, "libaccel-%s.so is of another version", name);
		return err_hint(err, "install it anew together with libaccel");
	}
	return ops->open(m, stream, gpu, err);
}

void
mem_close(struct mem *m)
{
	if (m != NULL)
		m->ops->close(m);
}

/* Of CUDA's driver: cuda.h, whose numbers are its ABI. */
enum { ATTRIBUTE_MEMORY_TYPE = 2, ATTRIBUTE_IS_MANAGED = 8, TYPE_DEVICE = 2 };
typedef int (*pointer_attribute)(void *data, int attribute,
    unsigned long long p);

int
mem_is_gpus(const void *p)
{
	unsigned long long at = (unsigned long long)(uintptr_t)p;
	unsigned type = 0, managed = 0;
	pointer_attribute ask;
	int yes = 0;
	/* Only if it is there already: whoever has GPU memory has loaded it. */
	void *so = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *found;

	if (so == NULL)
		return 0;
	found = dlsym(so, "cuPointerGetAttribute");
	memcpy(&ask, &found, sizeof(ask));
	if (found != NULL && ask(&type, ATTRIBUTE_MEMORY_TYPE, at) == 0)
		yes = type == TYPE_DEVICE &&
		    (ask(&managed, ATTRIBUTE_IS_MANAGED, at) != 0 || !managed);
	dlclose(so);
	return yes;
}
