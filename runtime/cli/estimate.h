/* SPDX-License-Identifier: Apache-2.0 */
/* estimate: what "accel estimate-memory" was asked, and how it says it. */
#ifndef RUNTIME_CLI_ESTIMATE_H
#define RUNTIME_CLI_ESTIMATE_H

#include "runtime/config/memory.h"
#include "runtime/config/model.h"

struct buf;

enum { ESTIMATE_DTYPES = 4 };

/* Accelerate's words; the size of the model divides by these. */
struct estimate_dtype {
	const char	*name;
	unsigned	 divide;	/* float32 / this */
	unsigned	 train;		/* Adam: so many times that; 0: N/A */
};
extern const struct estimate_dtype estimate_dtypes[ESTIMATE_DTYPES];

struct estimate {
	struct model		 model;
	bool			 dtype[ESTIMATE_DTYPES];
	struct memory_order	 order;		/* but for these two: */
	bool			 sharding[SHARDING_COUNT];
	bool			 training[TRAINING_COUNT];
	uint64_t		 room;		/* of a device; 0: not known */
	const char		*room_from;	/* "--gpu-memory" */
	bool			 ascii, explain;
};

/* Accelerate's own table. */
int  estimate_table(const struct estimate *e, struct buf *out);
/* A line for each sharding and precision. */
int  estimate_ranks(const struct estimate *e, struct buf *out,
    struct err *err);
/* All of it. */
int  estimate_json(const struct estimate *e, struct buf *out, struct err *err);
#endif
