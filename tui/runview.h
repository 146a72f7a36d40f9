/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview: what is known of a run, and what of it is looked at; without a
 * terminal and without a clock.
 *
 * It is fed with the lines of "accel launch --output json" and with what that
 * says on stderr; a test feeds it as well.  Time is given, in milliseconds, and
 * only goes forward.  Whatever comes, it stays bounded: a host may send
 * anything.  runview_draw.c draws it, runview_keys.c moves in it,
 * runview_run.c runs the launcher.
 */
#ifndef TUI_RUNVIEW_H
#define TUI_RUNVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buf.h"
#include "runtime/base/strv.h"
#include "tui/runview_log.h"
#include "tui/runview_series.h"

struct fold;

enum {
	VIEW_SERIES = 6,
	VIEW_GPUS = 16,			/* of a host */
	VIEW_TROUBLES = 200,
	VIEW_WORLD = 65536,
	VIEW_SAID = 256 << 10		/* bytes of the launcher's own words */
};

enum run_phase {
	RUN_BEGINS,		/* hosts are looked at */
	RUN_RUNS, RUN_STOPS,	/* ranks are there; are being ended */
	RUN_OVER
};

enum run_state {		/* of a host or a rank */
	STATE_WAITS, STATE_CONNECTING, STATE_CHECKING, STATE_READY,
	STATE_RUNNING, STATE_ENDED, STATE_STOPPED, STATE_FAILED, STATE_UNFIT,
	STATE_LOST
};
extern const char *const run_state_words[];

struct run_use {		/* below 0: unknown */
	double	cpu;		/* how many are busy */
	double	memory, gpu, gpu_memory;	/* bytes; 0 to 1; bytes */
};

struct run_rank {
	size_t		host;
	long		pid, gpu;	/* 0, -1: unknown */
	enum run_state	state;
	char		end[24];	/* "exit 3", "SIGKILL" */
	struct run_use	use;
};

struct run_gpu {
	long	index;
	double	busy, memory, total;
};

struct run_host {
	char		*name;
	size_t		 first, count;	/* of run_view.order */
	enum run_state	 state;
	char		 what[80];	/* what it waits for, or "" */
	struct run_use	 use;
	double		 cpus, memory, gpu_memory;	/* in all */
	struct run_gpu	 gpu[VIEW_GPUS];
	size_t		 gpus;
	bool		 closed;	/* its ranks are not listed */
};

struct run_trouble {
	char	*host, *what, *hint;
	bool	 fatal;
};

struct run_failure {
	bool		 known;
	size_t		 rank;		/* world: the host */
	char		*host, *why;
	struct strv	 lines;
};

enum view_ask {			/* what is asked on the last line */
	ASK_NOTHING, ASK_STOP, ASK_RESTART, ASK_QUIT, ASK_SEARCH, ASK_SECRET
};

struct run_row {
	size_t	host, rank;	/* rank: world where the row is the host's */
};

struct run_view {
	/* the run */
	char		*command;	/* "accel launch train.py" */
	enum run_phase	 phase;
	int64_t		 began, ended;
	unsigned	 attempts;	/* plans that came */
	size_t		 world, hosts;
	struct run_rank	*rank;
	struct run_host	*host;
	size_t		*order;		/* ranks, host by host */
	char		*record, *logs;
	struct run_trouble trouble[VIEW_TROUBLES];
	size_t		 troubles;
	struct run_failure failure;
	struct series	 series[VIEW_SERIES];
	size_t		 serieses;
	double		 samples, samples_at;	/* of the last step; or -1 */
	int		 code;		/* of the launcher, when it is over */
	bool		 stop_asked;	/* by us */
	struct buf	 said;		/* the launcher's own words */
	struct buf	 part;		/* of them, a line that is not whole */
	struct run_log	 log;
	struct fold	*fold;

	/* what is looked at */
	struct run_row	*row;
	size_t		 rows, cursor;
	size_t		 top;		/* the first row that is shown */
	struct ranks	 only;		/* whose lines; count 0: all */
	char		 only_name[80];
	uint64_t	 at;		/* the lowest line; if not "follow" */
	bool		 follow, big;	/* big: the output alone */
	bool		 help;
	long		 help_top;	/* lines of it that are above */
	size_t		 shift;		/* columns of lines to leave out */
	char		 search[128];
	enum view_ask	 ask;
	char		 typed[512];	/* an answer */
	char		 question[400];	/* of ASK_SECRET */
	char		 note[200];	/* for the user, until the next key */
	int		 list_y, list_h, log_h;	/* rows of the screen, as drawn
						   last */
};

/* "command" is copied.  -1 without memory. */
int  runview_init(struct run_view *v, const char *command, int64_t now);
void runview_clear(struct run_view *v);
/* The same command was started anew; the log goes on. */
void runview_again(struct run_view *v, int64_t now);

/* A line of the launcher's stdout, without its end.  Events that are not ours
 * are left out; what is no event stands in the log, as a command that starts no
 * ranks would print it. */
void runview_event(struct run_view *v, int64_t now, const char *line,
    size_t n);
/* Bytes of its stderr. */
void runview_say(struct run_view *v, const char *bytes, size_t n);
/* It is over, with that exit code. */
void runview_over(struct run_view *v, int64_t now, int code);
/* Lines that waited for their like; when that is due again (-1: never). */
int64_t runview_tick(struct run_view *v, int64_t now);

/* How many ranks of a host (v->hosts: of all) are in that state. */
size_t runview_count(const struct run_view *v, size_t host,
    enum run_state state);
/* What its ranks' GPUs, or all of the host's, are busy and hold. */
void runview_rank_gpu(const struct run_view *v, size_t rank, double *busy,
    double *memory);
void runview_host_gpu(const struct run_view *v, size_t host, double *busy,
    double *memory, double *total);
/* In a few words: "running", "ended well", "exit code 3". */
void runview_summary(const struct run_view *v, char *text, size_t room);
/* "1:02:03", "02:03". */
void runview_elapsed(const struct run_view *v, int64_t now, char text[24]);
/* For the normal screen, when all is over: how it went, the last numbers, the
 * record. */
void runview_farewell(const struct run_view *v, struct buf *out);

/* Moving about. */
void runview_move(struct run_view *v, long by);		/* the cursor */
void runview_open(struct run_view *v);			/* or close a host */
void runview_open_all(struct run_view *v);
void runview_filter(struct run_view *v);		/* by the row */
void runview_unfilter(struct run_view *v);
/* NULL where all lines are shown. */
const struct ranks *runview_only(const struct run_view *v);
/* The lowest line that is shown; false where there is none. */
bool runview_bottom(const struct run_view *v, uint64_t *number);
void runview_scroll(struct run_view *v, long by);	/* lines; below 0: up */
void runview_first(struct run_view *v);
void runview_follow(struct run_view *v);
/* The next line with v->search: step -1 up, 1 down. */
void runview_search(struct run_view *v, int step);
#endif
