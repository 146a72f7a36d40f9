/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state: what of a training is saved, and where it goes.
 *
 *	part		file			holds
 *	model		model.safetensors	the parameters, by their names
 *	optimizer	optimizer.safetensors	master.NAME, state.K.NAME
 *	objects		objects.safetensors	registered objects, as bytes
 *	ranks		ranks.safetensors	what rank R has of its own:
 *						R/NAME, objects; R:grad.NAME,
 *						where an accumulation is under
 *						way; R:NAME, with local SGD all
 *						arrays of all ranks but rank 0
 *
 * and in the manifest's "info" the numbers step, micro (batches accumulated),
 * world, and local (1 with local SGD).  All of it goes through rank 0, which
 * alone touches the disk: no host needs to see another's.
 */
#ifndef RUNTIME_TRAIN_STATE_H
#define RUNTIME_TRAIN_STATE_H

#include <stdbool.h>

#include "runtime/train/state_set.h"
#include "runtime/train/train.h"

struct buf;
struct state_reader;

#define STATE_MODEL "model"
#define STATE_OPTIMIZER "optimizer"
#define STATE_OBJECTS "objects"
#define STATE_RANKS "ranks"
#define STATE_SHARD_BYTES 10000000000u	/* Accelerate's 10GB */

/* One array of the training. */
struct state_array {
	const char	*stem;
	char		 name[600];
	accel_dtype	 dtype;
	int		 ndim;
	int64_t		 shape[8];
	void		*data;
	size_t		 bytes;
};

/* Walks over all arrays, always in the same order; begin with { 0, 0, 0 }. */
struct state_cursor {
	int unit, tensor, kind;
};
enum state_what {
	STATE_VALUES,		/* of the model and the optimizer */
	STATE_GRADS		/* what an accumulation has so far */
};
bool state_next(const struct accel *a, enum state_what what,
    struct state_cursor *c, struct state_array *out);
/* "F32" */
const char *state_dtype(accel_dtype t);

/* ---- objects ------------------------------------------------------------- */

struct object {
	char		*name;
	accel_object	 fn;
	void		*user;		/* of fn; or the bytes themselves */
	size_t		 bytes;		/* fn.save == NULL: of user */
	uint32_t	 flags;
};

/* As accel_register_object, for libaccel's own: names begin with "accel.". */
accel_status accel__register(struct accel *a, const char *name,
    const accel_object *fn, void *user, uint32_t flags);
/* As "accel.KIND.N" with the lowest N that is free: the first loader is the
 * first in every run. */
accel_status accel__register_next(struct accel *a, const char *kind,
    const accel_object *fn, void *user, int *number);
void accel__unregister_number(struct accel *a, const char *kind, int number);
accel_status accel__register_bytes(struct accel *a, const char *name,
    void *data, size_t bytes);
void accel__unregister(struct accel *a, const char *name);
/* Registers what state_own.c knows of, once. */
accel_status state_own(struct accel *a);

/* Adds all objects that are (not) per rank: for each 4 bytes, the name's
 * length, 8, the data's, the name, the data. */
accel_status state_pack(struct accel *a, bool per_rank, struct buf *out);
/* The next one of a packed row; false at its end, or where it is cut. */
struct state_packed {
	char		 name[300];
	const char	*data;
	uint64_t	 bytes;
};
bool state_unpack(const char **at, const char *end, struct state_packed *out);
/* Hands its bytes to the object; EMISMATCH where it takes another number. */
accel_status state_object_load(struct accel *a, struct object *o,
    const void *data, uint64_t bytes);

/* ---- between ranks ------------------------------------------------------- */

/* Collective: ACCEL_OK where all ranks bring it, else the status of the first
 * that does not, with its message, on all ranks. */
accel_status state_agree(struct accel *a, accel_status mine);
/* Collective: root's bytes, on all ranks; others' *bytes is replaced. */
accel_status state_share(struct accel *a, struct buf *bytes, int root);

/* ---- the running save ---------------------------------------------------- */

struct state_job;

/* Takes the set.  "sweep" and "limit": see state_folder_limit; 0 for none. */
struct state_job *state_job_new(struct state_set *set, const char *path,
    const char *sweep, int limit, uint64_t shard_max);
/* Writes in the calling thread, and frees. */
int  state_job_run(struct state_job *j, struct err *err);
/* Copies what the set borrows into the room, which it takes, and begins a
 * thread that writes; on failure frees. */
int  state_job_start(struct state_job *j, struct state_room *room,
    const struct state_fetch *fetch, struct err *err);
/* Waits for it, at most limit_s seconds, gives the room back and frees; its
 * error, or that it is not through: then it is left to itself. */
int  state_job_wait(struct state_job *j, double limit_s,
    struct state_room *room, struct err *err);

/* ---- all of it ----------------------------------------------------------- */

struct state {
	struct object		*object;
	int			 nobject;
	bool			 own;		/* state_own was called */
	struct state_job	*job;		/* running; rank 0's */
	struct state_room	 room;		/* for the next one */
};
/* The list, made when it is first needed; NULL without memory. */
struct state *state_of(struct accel *a);

/* How a GPU's arrays are read; NULL where there are none.  "room" is its. */
const struct state_fetch *state_fetch_of(struct accel *a,
    struct state_fetch *room);

/* Not collective: waits for a running save, and frees. */
accel_status state_fini(struct accel *a);
#endif
