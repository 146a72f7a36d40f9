/* SPDX-License-Identifier: Apache-2.0 */
/* tracker_mlflow: opens libaccel-mlflow.so, so that libaccel itself does not
 * link libcurl. */
#include <stddef.h>

#include "runtime/base/err.h"
#include "runtime/base/plugin.h"
#include "runtime/train/track.h"

#include "runtime/base/banned.h"

/* The plugin's state begins with its table: see mlflow.c. */
struct plugin_state {
	const struct tracker_ops *ops;
};

static int
mlflow_open(void **state, const char *where, int rank, struct err *err)
{
	const struct tracker_ops *ops = plugin_beside("mlflow",
	    "tracker_plugin", 0, err);

	if (ops == NULL) {
		err_hint(err, "the tracker mlflow needs it: build accel with "
		    "libcurl (libcurl4-openssl-dev)");
		return -1;
	}
	return ops->open(state, where, rank, err);
}

static int
mlflow_event(void *state, const struct track_event *e, struct err *err)
{
	return ((struct plugin_state *)state)->ops->event(state, e, err);
}

static int
mlflow_close(void *state, struct err *err)
{
	return ((struct plugin_state *)state)->ops->close(state, err);
}

const struct tracker_ops tracker_mlflow = {
	"mlflow", mlflow_open, mlflow_event, mlflow_close,
};
