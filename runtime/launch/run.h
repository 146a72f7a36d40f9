/* SPDX-License-Identifier: Apache-2.0 */
/* run: the state of a run, for the files of supervise alone. */
#ifndef RUNTIME_LAUNCH_RUN_H
#define RUNTIME_LAUNCH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/launch/output.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/supervise.h"
#include "runtime/launch/listing.h"

struct pmi;
struct pollfd;
struct transport;
struct wire_frame;

enum step { LOOK, RUN };

enum { RUN_ADDRESSES = 8 };	/* of rank 0's host that are tried at most */

struct reach {			/* how a host got to one of them */
	char	problem[200];	/* "": it did */
	char	interface[20], leaves[20];
};

struct peer {			/* a host */
	const struct transport	*transport;
	void			*link;
	struct buf		 in, out;
	struct trouble		*trouble;
	size_t			 troubles;
	bool			 bad;		/* one of them is fatal */
	struct strv		 facts;		/* "name=value" */
	double			 ahead_s;	/* its clock, of ours */
	char			 address[128];
	const char		*phase;		/* and since when */
	int64_t			 phase_at;
	const char		*told, *told_what;	/* last, of its state */
	size_t			 asked, answered;	/* addresses to try */
	struct reach		 reach[RUN_ADDRESSES];
	char			 interface[20];	/* of the address that is used */
	uint32_t		*want;		/* files, of run->tree */
	size_t			 wanted, sent;
	int			 file;		/* the one that is sent, or -1 */
	bool			 heard_agent;	/* no shell's noise any more */
	bool			 greeted, checked, done, closed;
	bool			 paused;
	int64_t			 heard, said;
};

struct failure {
	bool	happened;
	size_t	host, rank;	/* rank is plan->world where the host is lost */
	pid_t	pid;
	int	status;
	int64_t	after_ms, wall_ms;
	char	reason[600];		/* why, in words */
};

struct rank_end {		/* how a rank ended */
	bool	 ended, told;	/* after it was told to */
	int	 status;
	int64_t	 after_ms, wall_ms;
	char	*why;		/* NULL where it ended well */
};

struct rejoin;
struct run_usage;

struct run {
	const struct plan		*plan;
	const struct supervise_options	*options;
	struct peer			*peer;
	struct output			 output;
	struct pmi			*pmi;
	pid_t				*pid;	/* of each rank */
	struct rank_end			*end;	/* the same */
	struct seat			*place;	/* the same; NULL: no wish */
	enum step			 step;
	bool				 looked, problems, stopping, pausing;
	enum { HOLD_NO, HOLD_ASKED, HOLD_YES, HOLD_FAILED } hold;
	char				 candidate[RUN_ADDRESSES][128];
	size_t				 candidates;
	char				 address[128];
	uint32_t			 port;
	int				 signals, caught;
	struct rejoin			*rejoin;	/* a hope each */
	struct run_usage		*usage;		/* NULL: not wanted */
	struct buf			 track;		/* a line of it so far */
	bool				 track_cut;	/* which is too long */
	bool				 back;		/* a host is */
	bool				 others_wait;	/* for rank 0's start */
	int64_t				 began, started, stop_at, give_up_at;
	struct failure			 failure;
	struct listing			 tree;	/* with --sync */
	uint64_t			 sync_bytes, sync_sent;
	int64_t				 sync_began, sync_shown;
	bool				 reading;	/* stdin, for rank 0 */
	size_t				 unread;	/* bytes that it has not taken */
};

static inline const char *
label(const struct run *run, size_t host)
{
	return host_label(&run->plan->hosts.host[host]);
}

static inline size_t
hosts(const struct run *run)
{
	return run->plan->hosts.count;
}

/* run_check.c: what is looked at before a rank starts, on all hosts at once.
 * Each host goes on as fast as it can; the table waits for all of them. */
void run_check_begin(struct run *run, size_t host);
void run_check_hear(struct run *run, size_t host, struct wire_frame *frame);
/* True once nothing more will come from any host. */
bool run_check_tick(struct run *run);
/* A host cannot take part. */
void run_problem(struct run *run, size_t host, const char *text,
    const char *hint);
/* It can, and the user should know. */
void run_warning(struct run *run, size_t host, const char *text,
    const char *hint);
/* The table of problems, on stderr. */
void run_check_report(const struct run *run);
/* Hands what was found to who asked for no more.  Gives the exit code. */
int  run_check_result(const struct run *run);
void run_check_clear(struct peer *peer);

/* run_sync.c: sends the list of files; false with a problem. */
bool run_sync_begin(struct run *run, size_t host);
/* WANT and SYNCED; true when the copy is there. */
bool run_sync_hear(struct run *run, size_t host, struct wire_frame *frame);
/* Sends what hosts have room for. */
void run_sync_tick(struct run *run);

/* run_compare.c: what is wrong with hosts only in view of the others. */
void run_compare(struct run *run);

/* run_address.c: where the other ranks find rank 0.  Fills run->candidate, the
 * likeliest first. */
void run_candidates(struct run *run);
/* From what the hosts reached: run->address and the interfaces, or problems. */
void run_choose_address(struct run *run);
/* The environment that follows, for a host's ranks: NAME=VALUE. */
int  run_address_env(const struct run *run, size_t host, struct strv *env);

/* run_place.c: where the ranks will be, or problems. */
void run_place(struct run *run);
/* The table, on stderr, where the user had a wish. */
void run_place_report(const struct run *run);
void run_seat_clear(struct run *run);

/* run_start.c: the ranks of rank 0's host, or all others. */
void run_start(struct run *run, bool first);

/* run_ends.c: what became of each rank; views and reports come from it. */
void run_rank_started(struct run *run, size_t rank, pid_t pid);
void run_rank_ended(struct run *run, size_t rank, int status,
    const char *reason);
/* Did it fail by itself, and not as it was told to stop? */
bool run_rank_failed(const struct run *run, size_t rank);
/* Puts the cause into run->failure, where a victim was heard of first. */
void run_blame(struct run *run);

/* run_input.c: our stdin for rank 0: before the start, and then. */
void run_input_begin(struct run *run);
/* What to poll for reading, or -1. */
int  run_input_fd(const struct run *run);
void run_input_read(struct run *run);
void run_input_taken(struct run *run, size_t host, uint32_t n);

/* run_rejoin.c: hosts that were lost are called from time to time. */
int  run_rejoin_init(struct run *run);
/* Fills in a descriptor for each absent host. */
void run_rejoin_fds(const struct run *run, struct pollfd *fds);
/* True where one has answered. */
bool run_rejoin_turn(struct run *run, const struct pollfd *fds);
void run_rejoin_clear(struct run *run);

/* run_tell.c: for who follows the run as JSON: where the ranks are, what changed
 * of each host, what is wrong with one, the failure, that all are told to end. */
void run_tell_plan(struct run *run);
void run_tell_hosts(struct run *run);
void run_tell_trouble(struct run *run, size_t host, bool fatal,
    const char *what, const char *hint);
void run_tell_failure(struct run *run);
void run_tell_stopping(struct run *run);

/* run_usage.c: asks hosts what their ranks use, and tells the answers. */
int  run_usage_init(struct run *run);
void run_usage_tick(struct run *run, int64_t *wait_ms);
void run_usage_hear(struct run *run, size_t host, struct wire_frame *frame);
void run_usage_clear(struct run *run);

/* run_track.c: with it, what libaccel of rank 0 tells of the training
 * (runtime/train/track.h).  Adds to the environment that follows. */
int  run_track_env(const struct run *run, size_t rank, struct strv *env);
void run_track_hear(struct run *run, size_t rank, const char *bytes, size_t n);

/* run_report.c: what went wrong, on stderr.  Gives the run's exit code. */
int run_report(struct run *run);
#endif
