/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/device.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/device/ctl.h"

#include "runtime/base/banned.h"

/* Its address tells which file this code was loaded from. */
static const char here;

static int
host_get(struct ctl *ctl, const char *key, void *data, size_t n,
    struct err *err)
{
	struct buf value = BUF_INIT;
	int rc = ctl_get(ctl, key, &value, err);

	if (rc == 0 && value.len != n)
		rc = err_set(err, "%s: %zu bytes, not %zu", key, value.len, n);
	if (rc == 0)
		memcpy(data, value.data, n);
	buf_clear(&value);
	return rc;
}

/* $ACCEL_PLUGIN_DIR; else the folder of this library (.libs of a build, or
 * accel/ beside an installed one that was moved); else where it was installed. */
static void *
open_plugin(const char *name, struct err *err)
{
	const char *dir = getenv("ACCEL_PLUGIN_DIR");
	char tried[4][1200], why[240] = "";
	Dl_info me;
	void *so = NULL;
	int n = 0;

	if (dir != NULL && *dir != '\0') {
		snprintf(tried[n++], sizeof(tried[0]), "%s/libaccel-%s.so",
		    dir, name);
	} else {
		if (dladdr(&here, &me) != 0 &&
		    me.dli_fname != NULL) {
			const char *slash = strrchr(me.dli_fname, '/');
			int len = slash ? (int)(slash - me.dli_fname) : 0;

			if (len > 0 && len < 900) {
				snprintf(tried[n++], sizeof(tried[0]),
				    "%.*s/libaccel-%s.so", len, me.dli_fname,
				    name);
				snprintf(tried[n++], sizeof(tried[0]),
				    "%.*s/accel/libaccel-%s.so", len,
				    me.dli_fname, name);
			}
		}
		snprintf(tried[n++], sizeof(tried[0]), "%s/libaccel-%s.so",
		    PLUGIN_DIR, name);
	}
	for (int i = 0; i < n && so == NULL; i++) {
		if (access(tried[i], R_OK) != 0)
			continue;
		so = dlopen(tried[i], RTLD_NOW | RTLD_GLOBAL);
		if (so == NULL) {
			const char *text = dlerror();

			snprintf(why, sizeof(why), "%s", text ? text : "?");
		}
	}
	if (so != NULL)
		return so;
	if (why[0] != '\0')
		err_set(err, "the %s backend does not load: %s", name, why);
	else
		err_set(err, "no libaccel-%s.so in %s", name,
		    dir != NULL && *dir != '\0' ? dir : PLUGIN_DIR);
	err_hint(err, "more than one process needs it: build accel with %s, "
	    "or name its folder in ACCEL_PLUGIN_DIR",
	    strcmp(name, "mpi") == 0 ? "MPICH (libmpich-dev)" : "NCCL");
	return NULL;
}

int
device_open(struct device *dev, const char *name, struct ctl *ctl, int rank,
    int world, int local_rank, struct err *err)
{
	struct device_host host = {
		.ctl = ctl, .netdev = ctl != NULL ? ctl_netdev(ctl) : "",
		.rank = rank, .world = world, .local_rank = local_rank,
		.put = ctl_put, .get = host_get,
	};
	const struct device_ops *ops;
	void *so;

	*dev = (struct device){ NULL, NULL, ctl };
	if (world == 1)
		return 0;
	/* Never closed again: MPI and CUDA leave threads and handlers. */
	so = open_plugin(name, err);
	if (so == NULL)
		return -1;
	ops = dlsym(so, "device_plugin");
	if (ops == NULL || ops->abi != DEVICE_ABI) {
		err_set(err, "libaccel-%s.so is of another version", name);
		return err_hint(err, "install it anew together with libaccel");
	}
	if (ops->open(&dev->state, &host, err) != 0)
		return ctl_dead(ctl) >= 0 ? ctl_why(ctl, err) : -1;
	dev->ops = ops;
	return 0;
}

void
device_close(struct device *dev)
{
	if (dev->ops != NULL)
		dev->ops->close(dev->state, ctl_dead(dev->ctl) >= 0);
	dev->ops = NULL;
}

int
device_test(struct device *dev, void *req, struct err *err)
{
	int done = 0;

	if (ctl_dead(dev->ctl) >= 0)
		return ctl_why(dev->ctl, err);
	if (dev->ops->test(dev->state, req, &done, err) != 0)
		return -1;
	return done;
}

int
device_wait(struct device *dev, void *req, struct err *err)
{
	const struct timespec nap = { 0, 50000 };
	int rc;

	for (long polls = 0;
	    (rc = device_test(dev, req, err)) == 0; polls++) {
		if (polls < 2000)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
	return rc < 0 ? -1 : 0;
}

size_t
device_size(int type)
{
	switch (type) {
	case DEVICE_F32:
	case DEVICE_I32:
		return 4;
	case DEVICE_F64:
	case DEVICE_I64:
		return 8;
	case DEVICE_U8:
		return 1;
	default:
		return 0;
	}
}
