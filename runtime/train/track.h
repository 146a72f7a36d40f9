/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track: what a training tells the world: numbers by step, and its settings.
 *
 * accel_log hands each number to every tracker that the program opened with
 * accel_track, and to whoever started the run.  A tracker that fails is left
 * alone from then on, with one line on stderr; training goes on.
 *
 * The event line.  Where the environment has ACCEL_TRACK, the path of a file
 * that lines are added to, or ACCEL_TRACK_FD, the number of an inherited
 * descriptor (file, pipe or socket), rank 0 writes one JSON object a line,
 * each by one write of at most 4095 bytes.  The tracker "jsonl" writes the
 * same lines.  Members, in this order; readers skip events and members that
 * they do not know:
 *
 *	{"v":1,"event":"start","time":1764500000.123,"rank":0,"world":2,
 *	    "pid":4711}				once, first
 *	{"v":1,"event":"config","time":T,"rank":0,"key":"lr","value":"3e-4"}
 *	{"v":1,"event":"log","time":T,"rank":0,"step":12,"key":"loss",
 *	    "value":0.52}			each accel_log
 *	{"v":1,"event":"step","time":T,"rank":0,"step":12,"samples":3840}
 *						by accel_step itself
 *	{"v":1,"event":"end","time":T,"rank":0,"step":600,"samples":192000}
 *						once, by accel_fini
 *
 * "time" is in seconds since 1970, UTC; "step" is as the program counts it in
 * "log", and optimizer steps since the start of training in "step" and "end";
 * "samples" counts rows that all ranks' loaders gave since the process began,
 * and is missing where the program uses no loader.  "value" in "log" is a
 * number, or one of the texts "nan", "inf" and "-inf"; in "config" it is a
 * text.  "step" comes at most 4 times a second: throughput is the difference
 * of two of them.  A line that a full pipe has no room for is dropped, so that
 * a reader who is stuck cannot stop a training.  A run that ends without "end"
 * was killed; a run started anew adds another "start" to the same file.
 */
#ifndef RUNTIME_TRAIN_TRACK_H
#define RUNTIME_TRAIN_TRACK_H

#include <stdbool.h>
#include <stdint.h>

struct accel;
struct buf;
struct err;
struct track;

enum track_kind {
	TRACK_START, TRACK_CONFIG, TRACK_LOG, TRACK_STEP, TRACK_END
};

struct track_event {
	enum track_kind	 kind;
	double		 time;		/* seconds since 1970 */
	int		 rank, world;
	int64_t		 step;
	int64_t		 samples;	/* -1: unknown */
	const char	*key;		/* UTF-8 without control characters */
	double		 value;
	const char	*text;		/* TRACK_CONFIG: the value */
};

/* A kind of tracker. */
struct tracker_ops {
	const char *name;
	/* Gives *state.  "where" is as the user wrote it, "" for nothing. */
	int  (*open)(void **state, const char *where, int rank,
	    struct err *err);
	/* Writes the event, or does nothing with a kind that it has no use
	 * for.  After -1 only "close" follows. */
	int  (*event)(void *state, const struct track_event *e,
	    struct err *err);
	/* Brings out what is left, and frees *state in any case. */
	int  (*close)(void *state, struct err *err);
};
extern const struct tracker_ops tracker_jsonl, tracker_csv, tracker_board,
    tracker_mlflow;

/* Opens what the environment names and says "start"; trouble is one line on
 * stderr. */
void track_init(struct accel *a);
/* Counts rows that all ranks got, for "samples". */
void track_samples(struct accel *a, int64_t n);
/* An optimizer step is over. */
void track_step(struct accel *a);
/* Says "end", closes all trackers and frees. */
void track_fini(struct accel *a);

/* For trackers: the event line with its newline, the value as the shortest
 * text that reads back the same (whatever the locale), and one write that
 * neither waits on a full pipe nor raises SIGPIPE; 1 where the line was
 * dropped. */
enum { TRACK_LINE_MAX = 4095, TRACK_NUMBER = 40 };
int  track_line(struct buf *out, const struct track_event *e,
    struct err *err);
void track_number(double value, char text[TRACK_NUMBER]);
int  track_write(int fd, const void *data, unsigned n, struct err *err);
#endif
