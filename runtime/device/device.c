/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/device.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/plugin.h"
#include "runtime/device/ctl.h"
#include "runtime/device/guard.h"

#include "runtime/base/banned.h"

#define OPEN_LIMIT_S 120.0
#define CLOSE_LIMIT_S 60.0

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

static const struct device_ops *
open_plugin(const char *name, struct err *err)
{
	const struct device_ops *ops = plugin_beside(name, "device_plugin", 1,
	    err);

	if (ops == NULL) {
		err_hint(err, "more than one process needs it: build accel with "
		    "%s, or name its folder in ACCEL_PLUGIN_DIR",
		    strcmp(name, "mpi") == 0 ? "MPICH (libmpich-dev)" :
		    "NCCL, set ACCEL_BACKEND=mpi");
		return NULL;
	}
	if (ops->abi != DEVICE_ABI) {
		err_set(err, "libaccel-%s.so is of another version", name);
		err_hint(err, "install it anew together with libaccel");
		return NULL;
	}
	return ops;
}

/* The backend's own threads (UCX has one) leave the program's signals alone.
 * All ranks are there by now, so this holds signals up for a moment only.  Where
 * one of them dies in that moment MPI_Init ends the process, or never returns:
 * better that we end it, and say who is gone. */
static int
open_quietly(const struct device_ops *ops, void **state,
    const struct device_host *host, struct err *err)
{
	const struct timespec nap = { 0, 10000000 };
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ctl_bound(host->ctl, "the start of its backend", OPEN_LIMIT_S);
	rc = ctl_dead(host->ctl) >= 0 ? -1 : ops->open(state, host, err);
	ctl_unbound(host->ctl);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	/* It may have noticed a death before the control connection did. */
	for (int i = 0; i < 100 && rc != 0 && host->ctl != NULL &&
	    ctl_dead(host->ctl) < 0; i++)
		nanosleep(&nap, NULL);
	return rc;
}

int
device_open(struct device *dev, const char *name,
    const struct device_host *given, struct err *err)
{
	struct device_host host = *given;
	struct ctl *ctl = host.ctl;
	const struct device_ops *ops;
	void *state;

	host.netdev = ctl != NULL ? ctl_netdev(ctl) : "";
	host.put = ctl_put;
	host.get = host_get;
	*dev = (struct device){ .ctl = ctl };
	if (host.world == 1)
		return 0;
	ops = open_plugin(name, err);
	if (ops == NULL)
		return -1;
	if (open_quietly(ops, &state, &host, err) != 0)
		return ctl_dead(ctl) >= 0 ? ctl_why(ctl, err) : -1;
	dev->state = guard_new(ops, state, ctl, host.rank, host.world);
	if (dev->state == NULL) {
		ops->close(state, 1);
		return err_nomem(err);
	}
	dev->ops = &guard_ops;
	dev->orders = host.on_gpu && ops->order != NULL;
	return 0;
}

void
device_close(struct device *dev)
{
	bool dead = ctl_dead(dev->ctl) >= 0;

	if (dev->ops == NULL)
		return;
	if (!dead)
		ctl_bound(dev->ctl, "leaving the other ranks", CLOSE_LIMIT_S);
	guard_free(dev->state, dead);
	ctl_unbound(dev->ctl);
	dev->ops = NULL;
}

int
device_test(struct device *dev, void *req, struct err *err)
{
	int done = 0;

	return dev->ops->test(dev->state, req, &done, err) != 0 ? -1 : done;
}

int
device_wait(struct device *dev, void *req, struct err *err)
{
	return guard_wait(dev->state, req, err);
}

int
device_order(struct device *dev, void *req, struct err *err)
{
	return dev->ops->order(dev->state, req, err);
}

void
device_limit(struct device *dev, double limit_s)
{
	if (dev->ops != NULL)
		guard_limit(dev->state, limit_s);
}

bool
device_timed_out(const struct device *dev)
{
	return dev->ops != NULL && guard_timed_out(dev->state);
}

void
device_label(struct device *dev, const char *label)
{
	if (dev->ops != NULL)
		guard_label(dev->state, label);
}

void
device_debug(struct device *dev, bool on)
{
	if (dev->ops != NULL)
		guard_debug(dev->state, on);
}

void
device_afloat(struct device *dev, int more)
{
	if (dev->ops != NULL)
		guard_afloat(dev->state, more);
}

void
device_thread(struct device *dev, bool on)
{
	if (dev->ops != NULL)
		guard_thread(dev->state, on);
}

void
device_mark(struct device *dev, const char *what)
{
	if (dev->ops != NULL)
		guard_mark(dev->state, what);
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
	case DEVICE_F16:
	case DEVICE_BF16:
		return 2;
	case DEVICE_U8:
		return 1;
	default:
		return 0;
	}
}
