/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent: the program that holds the ranks of one host.
 *
 * It reads frames from the launcher on descriptor 0 and answers on 1, starts
 * ranks, carries their output and their PMI lines, and ends them: when it is
 * told to, and when the launcher is gone, for whatever reason.  Static, and
 * nothing but libc, so that it runs on any Linux that it is copied to.
 */
#ifndef RUNTIME_LAUNCH_AGENT_H
#define RUNTIME_LAUNCH_AGENT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "runtime/base/buf.h"
#include "runtime/launch/agent_gpus.h"
#include "runtime/launch/agent_warden.h"
#include "runtime/launch/wire.h"

enum { STREAMS = 3 };		/* stdout, stderr, and the tracker's, if any */

struct agent_rank {
	uint32_t	 rank;
	pid_t		 pid;		/* also its process group; 0 once waited for */
	int		 stream[STREAMS];	/* what we read, or -1 */
	int		 pmi;		/* our end of its PMI socket, or -1 */
	int64_t		 stopped;	/* since when by a signal, or 0 */
	int		 report;	/* ends when its program has begun, or -1 */
	struct buf	 pmi_in;
};

struct agent_oom {
	int64_t	began_ms;
	int	kind;			/* of cgroups, or -1 */
	char	folder[500];
	long	kills;			/* that our cgroup had counted before */
};

struct agent_input {		/* stdin of one rank */
	bool		 wanted, end;
	uint32_t	 rank;
	int		 fd;		/* our end of the pipe, or -1 */
	struct buf	 pending;
};

struct agent {
	struct buf		 in, out;
	struct agent_rank	*rank;
	size_t			 rank_count;
	uint32_t		 orders, ordered;	/* ranks to come, come */
	int			 held;		/* the port of rank 0, or -1 */
	int			 claim;		/* to the port, or -1 */
	const char		*staged;	/* instead of the folder, or NULL */
	char			*token;		/* for who comes to it */
	int			*caller;	/* who came, until they leave */
	size_t			 callers;
	int			 signals;	/* signalfd */
	struct warden		 warden;
	struct agent_input	 input;
	struct agent_oom	 oom;
	struct agent_gpus	 gpus;
	int64_t			 usage_due;	/* not to be sampled before */
	bool			 started;	/* all ranks were */
	bool			 stopping, linked;
	bool			 paused;	/* with the launcher, by ^Z */
	int64_t			 grace_ms;
	int64_t			 kill_at;	/* while stopping */
	int64_t			 heard, said;
};

/* agent_start.c: forks the rank of a START frame. */
void agent_start(struct agent *a, struct wire_frame *frame);
/* Waits until the forked ranks run their programs, or cannot, and says so. */
void agent_started(struct agent *a);

/* What is said of this host before a rank starts. */
struct answer {
	struct buf	 problem, fact;		/* as WIRE_CHECKED has them */
	uint32_t	 problems, facts;
};
void answer_problem(struct answer *to, bool fatal, const char *hint,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void answer_fact(struct answer *to, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Sends it as CHECKED, and empties it. */
void answer_send(struct agent *a, struct answer *all);

/* agent_check.c: CHECK.  Each function with a frame answers it. */
void agent_check(struct agent *a, struct wire_frame *frame);
/* agent_machine.c: MACHINE. */
void agent_machine(struct agent *a, struct wire_frame *frame);
/* agent_measure.c: LISTEN and MEASURE. */
void agent_listen(struct agent *a, struct wire_frame *frame);
void agent_measure(struct agent *a, struct wire_frame *frame);
/* agent_facts.c: the machine, and what an interpreter has installed. */
void agent_facts(struct answer *to, const char *folder);
void agent_python(struct answer *to, const char *python);

/* agent_activate.c: makes the environment that a file leaves ours; false, with a
 * problem, where it does not. */
bool agent_activate(struct agent *a, struct answer *to, const char *path);
/* What its shell becomes: writes the environment to descriptor 3. */
int  agent_environ(void);

/* agent_sync.c: TREE and FILE; sets a->staged. */
void agent_tree(struct agent *a, struct wire_frame *frame);
void agent_file(struct agent *a, struct wire_frame *frame);

/* agent_tidy.c: removes old agents beside this one. */
void agent_tidy(void);

/* agent_port.c: HOLD. */
void agent_hold(struct agent *a, struct wire_frame *frame);
/* Gives the token to those who have come to the held port. */
void agent_callers(struct agent *a);
/* Rank 0 binds the port in a moment. */
void agent_release(struct agent *a);

/* agent_net.c: PROBE. */
void agent_probe(struct agent *a, struct wire_frame *frame);
/* An address as a number; 0 or -1. */
int  agent_resolve(const char *address, uint32_t port,
    struct sockaddr_storage *to, socklen_t *n);
/* Facts of the interfaces: "interface=eth0 10.0.0.1". */
void agent_interfaces(struct answer *to);

/* While something else takes long: says that we are here.  False where the
 * launcher is gone. */
bool agent_beat(struct agent *a);

/* agent_input.c: an INPUT frame. */
void agent_input(struct agent *a, struct wire_frame *frame);
/* The end that a rank reads, or -1 where it has no stdin. */
int  agent_input_pipe(struct agent *a, uint32_t rank);
void agent_input_flush(struct agent *a);
struct pollfd agent_input_poll(const struct agent *a);
void agent_input_event(struct agent *a, short revents);

/* agent_read.c: the start of a small file of /proc or /sys as text, "" and false
 * where there is none. */
bool agent_read(const char *path, char *text, size_t room);

/* agent_oom.c: looks at how things are before any rank starts. */
void agent_oom_begin(struct agent_oom *o);
/* For a rank that SIGKILL ended, not by us: "out of memory..." or "". */
void agent_oom_why(struct agent_oom *o, pid_t pid, char *why, size_t size);

/* agent_usage.c: answers a USAGE frame. */
void agent_usage(struct agent *a);

/* Says that a rank ended. */
void agent_say_exit(struct agent *a, uint32_t rank, int status,
    const char *reason);
#endif
