/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/train/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/patience.h"
#include "runtime/base/thread.h"

#include "runtime/base/banned.h"

/* What is read of a stream, to be dealt out. */
struct stream {
	struct rows	first;		/* of the epoch: fill up its end */
	struct rows	now, ahead;	/* rounds */
	int64_t		at;		/* the next sample to read */
	int64_t		number;		/* the round that "now" is */
	bool		through;
};

struct feed {
	struct feed_config	 config;
	struct sampler		*sampler;	/* config's */
	/* The maker's: the thread's, or without one feed_next's. */
	struct stream		 stream;
	int64_t			 epoch, number;	/* of the round to make */

	/* A ring: [taken, made) wait, the one before is with the caller. */
	struct round		*ring;
	unsigned		 size, made, taken;

	bool			 threaded;
	pthread_t		 thread;
	pthread_mutex_t		 lock;
	pthread_cond_t		 change;	/* of anything below, or made */
	bool			 go, busy, stop;
	int64_t			 busy_epoch, busy_number;
};

/* ---- making a round ------------------------------------------------------ */

/* Where the round's row for a position comes from. */
static accel_status
take_row(struct feed *f, struct round *r, int64_t position)
{
	const struct sampler	*s = f->sampler;
	const struct rows	*from = &f->stream.now;
	int64_t			 index;

	if (s->n >= 0) {
		index = sampler_at(s, r->number, position);
		r->index[r->count++] = index;
		if (f->config.source == NULL)
			return ACCEL_OK;
		return source_read(f->config.source, r->epoch, index, &r->rows,
		    &r->err);
	}
	if (position < r->left) {
		index = r->number * s->total + position;
	} else {
		from = r->number > 0 ? &f->stream.first : from;
		position = (position - r->left) % from->count;
		index = position;
	}
	r->index[r->count++] = index;
	return rows_copy(&r->rows, from, (int)position, &r->err);
}

/* Reads on until there is a whole round, or the stream is through. */
static accel_status
stream_fill(struct feed *f, struct rows *rows, struct err *err)
{
	struct stream *st = &f->stream;

	while (!st->through && rows->count < f->sampler->total) {
		accel_status rc = source_read(f->config.source, f->epoch,
		    st->at, rows, err);

		if (rc == ACCEL_END)
			st->through = true;
		else if (rc != ACCEL_OK)
			return rc;
		else
			st->at++;
	}
	return ACCEL_OK;
}

static void
stream_rewind(struct feed *f)
{
	rows_reset(&f->stream.first);
	rows_reset(&f->stream.now);
	rows_reset(&f->stream.ahead);
	f->stream.at = 0;
	f->stream.number = 0;
	f->stream.through = false;
}

static void
stream_advance(struct stream *st)
{
	struct rows keep = st->now;

	/* The first round is kept whole: rows at the end come from it. */
	if (st->number == 0) {
		keep = st->first;
		st->first = st->now;
	}
	st->now = st->ahead;
	st->ahead = keep;
	rows_reset(&st->ahead);
	st->number++;
}

/* Has the round's samples in "now", and so much of the next in "ahead" as
 * tells whether there is one. */
static accel_status
stream_round(struct feed *f, struct round *r)
{
	struct stream	*st = &f->stream;
	bool		 full = f->sampler->flags & ACCEL_DROP_LAST;
	accel_status	 rc;

	for (;;) {
		rc = stream_fill(f, &st->now, &r->err);
		if (rc == ACCEL_OK)
			rc = stream_fill(f, &st->ahead, &r->err);
		if (rc != ACCEL_OK)
			return rc;
		if (st->number == r->number || st->now.count == 0)
			break;
		stream_advance(st);
	}
	r->left = st->now.count;
	r->over = r->left == 0 || (full && r->left < f->sampler->total);
	r->last = st->ahead.count == 0 ||
	    (full && st->ahead.count < f->sampler->total);
	return ACCEL_OK;
}

static accel_status
make_rows(struct feed *f, struct round *r)
{
	struct sampler	*s = f->sampler;
	int		 from = f->config.shard, to = from + 1;
	accel_status	 rc = ACCEL_OK;

	if (s->n < 0) {
		rc = stream_round(f, r);
	} else {
		sampler_epoch(s, r->epoch);
		r->over = r->number >= s->rounds;
		r->last = r->number == s->rounds - 1;
		r->left = r->over ? 0 : sampler_left(s, r->number);
	}
	if (rc != ACCEL_OK || r->over)
		return rc;
	if (from < 0) {
		from = 0;
		to = s->shards;
	}
	for (int shard = from; shard < to; shard++) {
		struct part part = sampler_part(s, r->left, shard);

		for (int i = 0; i < part.rows; i++) {
			rc = take_row(f, r, part.first + i);
			if (rc != ACCEL_OK)
				return rc;
		}
	}
	return ACCEL_OK;
}

static void
make(struct feed *f, struct round *r)
{
	r->epoch = f->epoch;
	r->number = f->number;
	r->left = 0;
	r->last = r->over = false;
	r->count = 0;
	rows_reset(&r->rows);
	r->err = (struct err)ERR_INIT;
	r->status = make_rows(f, r);
	if (r->status == ACCEL_OK && !r->over)
		f->number++;
}

/* ---- the thread ---------------------------------------------------------- */

static void *
run(void *user)
{
	struct feed *f = user;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		struct round *r;

		/* One place is the caller's. */
		while (!f->stop && (!f->go || f->made - f->taken >=
		    f->size - 1))
			pthread_cond_wait(&f->change, &f->lock);
		if (f->stop)
			break;
		f->busy = true;
		f->busy_epoch = f->epoch;
		f->busy_number = f->number;
		r = &f->ring[f->made % f->size];
		pthread_mutex_unlock(&f->lock);
		make(f, r);
		pthread_mutex_lock(&f->lock);
		f->busy = false;
		f->made++;
		if (r->status != ACCEL_OK || r->over)
			f->go = false;
		pthread_cond_broadcast(&f->change);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* The program's signals are for its own threads. */
static int
start(struct feed *f, struct err *err)
{
	pthread_condattr_t	attr;
	int			rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->change, &attr);
	pthread_condattr_destroy(&attr);
	rc = thread_start(&f->thread, run, f);
	f->threaded = rc == 0;
	if (rc == 0)
		return 0;
	pthread_cond_destroy(&f->change);
	pthread_mutex_destroy(&f->lock);
	return err_set(err, "no thread to read ahead: %s", strerror(rc));
}

/* "number": the round that the caller waits for. */
/* Under the lock. */
static int
late(const struct feed *f, struct err *err)
{
	err_set(err, "reading batch %lld of epoch %lld did not end in %g s",
	    (long long)f->busy_number, (long long)f->busy_epoch,
	    f->config.limit_s);
	return err_hint(err, "look at where the data come from, or raise "
	    "limit_s");
}

const struct round *
feed_next(struct feed *f, struct err *err)
{
	struct patience patience;
	struct round	*r;
	int		 rc = 0;

	if (!f->threaded) {
		make(f, &f->ring[0]);
		return &f->ring[0];
	}
	patience_begin(&patience, f->config.limit_s);
	pthread_mutex_lock(&f->lock);
	f->go = f->go || f->made == f->taken;
	pthread_cond_broadcast(&f->change);
	while (f->made == f->taken && rc == 0)
		rc = patience_wait(&patience, &f->change, &f->lock);
	r = f->made != f->taken ? &f->ring[f->taken++ % f->size] : NULL;
	/* The place that the caller held is free now. */
	pthread_cond_broadcast(&f->change);
	if (r == NULL)
		late(f, err);
	pthread_mutex_unlock(&f->lock);
	return r;
}

int
feed_seek(struct feed *f, int64_t epoch, int64_t number, struct err *err)
{
	struct patience patience;
	int		rc = 0;

	if (f->threaded) {
		patience_begin(&patience, f->config.limit_s);
		pthread_mutex_lock(&f->lock);
		f->go = false;
		while (f->busy && rc == 0)
			rc = patience_wait(&patience, &f->change, &f->lock);
		rc = f->busy ? late(f, err) : 0;
		if (rc == 0)
			f->taken = f->made;
		pthread_mutex_unlock(&f->lock);
		if (rc != 0)
			return -1;
	}
	/* The thread is idle, and sees these behind the lock. */
	if (f->sampler->n < 0 && (epoch != f->epoch || number < f->number))
		stream_rewind(f);
	f->epoch = epoch;
	f->number = number;
	return 0;
}

int
feed_new(struct feed **out, const struct feed_config *config, struct err *err)
{
	struct feed	*f = calloc(1, sizeof(*f));
	int64_t		 rows;
	int		 rc = 0;

	*out = NULL;
	if (f == NULL) {
		struct sampler s = config->sampler;

		sampler_clear(&s);
		return err_nomem(err);
	}
	f->config = *config;
	f->sampler = &f->config.sampler;
	rows = config->shard < 0 ? f->sampler->total : f->sampler->rows;
	f->size = config->ahead > 0 ? (unsigned)config->ahead + 1 : 1;
	f->ring = calloc(f->size, sizeof(*f->ring));
	for (unsigned i = 0; f->ring != NULL && i < f->size && rc == 0; i++) {
		f->ring[i].index = reallocarray(NULL, (size_t)rows,
		    sizeof(int64_t));
		rc = f->ring[i].index == NULL ? -1 : 0;
	}
	if (f->ring == NULL || rc != 0)
		rc = err_nomem(err);
	else if (config->ahead > 0)
		rc = start(f, err);
	if (rc != 0) {
		feed_free(f);
		return -1;
	}
	*out = f;
	return 0;
}

void
feed_free(struct feed *f)
{
	if (f == NULL)
		return;
	if (f->threaded) {
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_broadcast(&f->change);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->thread, NULL);
		pthread_cond_destroy(&f->change);
		pthread_mutex_destroy(&f->lock);
	}
	for (unsigned i = 0; f->ring != NULL && i < f->size; i++) {
		free(f->ring[i].index);
		rows_clear(&f->ring[i].rows);
	}
	free(f->ring);
	rows_clear(&f->stream.first);
	rows_clear(&f->stream.now);
	rows_clear(&f->stream.ahead);
	sampler_clear(f->sampler);
	free(f);
}
