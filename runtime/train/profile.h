/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile: where the time of a step goes, as a trace that chrome://tracing and
 * ui.perfetto.dev show.
 *
 * One file a rank, PREFIX_RANK.json: an array of complete events ("ph": "X",
 * times in microseconds since 1970).  Line 0 is the training thread, whose
 * spans nest:
 *
 *	backward	an accel_backward
 *	  compute	the program's part of it
 *	  ready		an accel_leave; args.unit
 *	step		an accel_step
 *	  wait		until all gradients are there
 *	  unscale	averaging, unscaling, the norm
 *	  update	the optimizer
 *	clip		accel_clip_grad_*, with wait and unscale inside
 *	save		an accel_save_state
 *	NAME		accel_profile_begin(a, NAME)
 *
 * Line 1 + N are the exchanges of bucket N, "communication", args.bytes: from
 * when it began until this rank knew that it was over.
 *
 * Where nothing is profiled each hook is one comparison.
 */
#ifndef RUNTIME_TRAIN_PROFILE_H
#define RUNTIME_TRAIN_PROFILE_H

#include "runtime/train/train.h"

struct profile;

/* Begins where ACCEL_PROFILE, a prefix, is set; trouble is a line on stderr. */
void profile_init(struct accel *a);
/* Writes and frees; NULL is fine. */
accel_status profile_fini(struct accel *a);

void profile__begin(struct accel *a, const char *name, const char *unit);
void profile__end(struct accel *a);
void profile__exchange(struct accel *a, int bucket, size_t bytes);
void profile__exchanged(struct accel *a, int bucket);

/* A span of line 0; unit may be NULL.  Both texts are copied. */
static inline void
profile_begin(struct accel *a, const char *name, const char *unit)
{
	if (a->profile != NULL)
		profile__begin(a, name, unit);
}

static inline void
profile_end(struct accel *a)
{
	if (a->profile != NULL)
		profile__end(a);
}

/* The exchange of a bucket begins, or is over. */
static inline void
profile_exchange(struct accel *a, int bucket, size_t bytes)
{
	if (a->profile != NULL)
		profile__exchange(a, bucket, bytes);
}

static inline void
profile_exchanged(struct accel *a, int bucket)
{
	if (a->profile != NULL)
		profile__exchanged(a, bucket);
}
#endif
