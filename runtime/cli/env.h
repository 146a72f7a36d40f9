/* SPDX-License-Identifier: Apache-2.0 */
/* env: what "accel env" found, and how it says it. */
#ifndef RUNTIME_CLI_ENV_H
#define RUNTIME_CLI_ENV_H

#include <stdbool.h>

#include "probes/probe.h"
#include "runtime/base/strv.h"
#include "runtime/config/schema.h"

struct buf;

struct report {
	const struct config	*config;	/* borrowed */
	const char		*asked;		/* --config_file, or NULL */
	const char		*wrong;		/* why it is not read, or NULL */
	struct machine		 machine;
	struct strv		 software;	/* of probe_software() */
	struct strv		 packages;	/* of probe_packages() */
	struct strv		 variables;	/* of the environment */
	bool			 python;	/* it was asked */
};

int  env_text(const struct report *r, struct buf *out);
int  env_json(const struct report *r, struct buf *out);
#endif
