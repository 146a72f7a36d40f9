/* SPDX-License-Identifier: Apache-2.0 */
/* state_job: one save, in the calling thread or in one of its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/patience.h"
#include "runtime/base/thread.h"
#include "runtime/train/state.h"
#include "runtime/train/state_folder.h"

#include "runtime/base/banned.h"

struct state_job {
	struct state_set	 set;
	struct state_room	 room;		/* of its copies */
	char			*path, *sweep;
	int			 limit;
	uint64_t		 shard_max;

	pthread_mutex_t		 lock;		/* of what follows */
	pthread_cond_t		 over;
	bool			 done, left;	/* left: nobody waits */
	int			 ret;
	struct err		 err;
};

static void
job_free(struct state_job *j)
{
	state_set_clear(&j->set);
	free(j->room.data);
	free(j->path);
	free(j->sweep);
	free(j);
}

struct state_job *
state_job_new(struct state_set *set, const char *path, const char *sweep,
    int limit, uint64_t shard_max)
{
	struct state_job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return NULL;
	j->path = strdup(path);
	j->sweep = sweep != NULL ? strdup(sweep) : NULL;
	if (j->path == NULL || (sweep != NULL && j->sweep == NULL)) {
		job_free(j);
		return NULL;
	}
	j->set = *set;
	*set = (struct state_set)STATE_SET_INIT;
	j->limit = limit;
	j->shard_max = shard_max;
	return j;
}

static int
write_all(struct state_job *j, struct err *err)
{
	struct state_folder f;

	if (state_folder_begin(&f, j->path, err) != 0)
		return -1;
	if (state_set_write(&j->set, f.fd, f.temp, j->shard_max, true,
	    err) != 0) {
		state_folder_abort(&f);
		return -1;
	}
	if (state_folder_commit(&f, err) != 0)
		return -1;
	if (j->sweep == NULL || j->limit == 0 ||
	    state_folder_limit(j->sweep, j->limit, err) == 0)
		return 0;
	return err_at(err, "%s is saved, but an old one is not removed",
	    j->path);
}

int
state_job_run(struct state_job *j, struct err *err)
{
	int ret = write_all(j, err);

	job_free(j);
	return ret;
}

static void *
work(void *user)
{
	struct state_job *j = user;
	struct err err = ERR_INIT;
	int ret = write_all(j, &err);
	bool left;

	pthread_mutex_lock(&j->lock);
	j->ret = ret;
	j->err = err;
	j->done = true;
	left = j->left;
	pthread_cond_signal(&j->over);
	pthread_mutex_unlock(&j->lock);
	if (left)
		job_free(j);
	return NULL;
}

int
state_job_start(struct state_job *j, struct state_room *room,
    const struct state_fetch *fetch, struct err *err)
{
	pthread_condattr_t attr;
	pthread_t thread;
	int code;

	j->room = *room;
	*room = (struct state_room){ NULL, 0 };
	if (state_set_move(&j->set, &j->room, fetch, err) != 0) {
		job_free(j);
		return -1;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&j->over, &attr);
	pthread_condattr_destroy(&attr);
	code = thread_start(&thread, work, j);
	if (code == 0) {
		pthread_detach(thread);
		return 0;
	}
	job_free(j);
	return err_set(err, "no thread for the save: %s", strerror(code));
}

int
state_job_wait(struct state_job *j, double limit_s, struct state_room *room,
    struct err *err)
{
	struct patience patience;
	bool done;
	int ret;

	patience_begin(&patience, limit_s);
	pthread_mutex_lock(&j->lock);
	while (!j->done)
		if (patience_wait(&patience, &j->over, &j->lock) != 0)
			break;
	done = j->done;
	j->left = !done;
	ret = j->ret;
	if (!done) {
		ret = err_set(err, "the save to %s is not through after %.0f "
		    "s, and goes on by itself", j->path, limit_s);
		err_hint(err, "is the disk, or its server, stuck? "
		    "ACCEL_SAVE_TIMEOUT is how long to wait");
	} else if (ret != 0) {
		*err = j->err;
		err_at(err, "the save to %s", j->path);
	}
	pthread_mutex_unlock(&j->lock);
	if (done) {
		*room = j->room;
		j->room = (struct state_room){ NULL, 0 };
		job_free(j);
	}
	return ret;
}
