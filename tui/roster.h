/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roster: the hosts of a run as the wizard knows them, without a terminal.
 *
 * The names are the form's (ITEM_hosts: a list as --hosts has it), so that they
 * are undone, drafted and saved with the rest; here is what is known of each.
 * They are asked by a child, "accel probe --json", in the background: nothing
 * here waits.
 */
#ifndef TUI_ROSTER_H
#define TUI_ROSTER_H

#include <poll.h>
#include <stdbool.h>

#include "probes/fleet.h"
#include "runtime/base/strv.h"
#include "runtime/launch/hosts.h"
#include "tui/form.h"
#include "tui/runview_child.h"

enum roster_state {
	ROSTER_WAITS,		/* to be asked */
	ROSTER_ASKED,		/* now */
	ROSTER_KNOWN,
	ROSTER_FAILED		/* machine.problem says why */
};

struct roster {
	char			*accel;		/* the program; its own */
	const char		*ssh_config;	/* or NULL; borrowed */
	struct hosts		 hosts;		/* as the form has them */
	struct fleet		 fleet;		/* a machine each */
	enum roster_state	*state;		/* the same */
	struct run_child	 child;
	struct strv		 asked;		/* what the child was asked */
	bool			 running;
	bool			 measuring;	/* with the network */
	size_t			 measured;	/* directions so far */
	bool			 settled;	/* the form has what was found */
	unsigned long		 turn;		/* the form's, at our last change */
	bool			 stale;		/* the screen does not show it yet */
	long			 scroll;	/* of what is told of one */
	char			 problem[480];	/* why nobody could be asked */
};

/* "accel" is the program to ask with, or NULL: the one beside us, or PATH's. */
int  roster_init(struct roster *r, const char *accel, struct err *err);
void roster_clear(struct roster *r);

/* Takes the names from the form; those that are new will be asked, and of those
 * that were there what is known stays.  True where something changed. */
bool roster_sync(struct roster *r, struct form *f);

/* Takes machines that need not be asked, as a file told of them, with their names
 * as the form's list. */
int  roster_take(struct roster *r, struct form *f, const struct fleet *fleet,
    struct err *err);

/* Asks those that wait, where nobody is asked now. */
void roster_go(struct roster *r);
/* All once more; one; all, and the network between them. */
void roster_again(struct roster *r);
void roster_ask(struct roster *r, size_t host);
void roster_measure(struct roster *r);

/* What to poll: at most two entries.  0 where nobody is asked. */
int  roster_watch(const struct roster *r, struct pollfd *p, int room);
/* Reads what there is; true where something new is known.  When all hosts are,
 * the form gets it: see roster_settle(). */
bool roster_wake(struct roster *r, struct form *f);
/* Until all were asked, for a conversation: calls "row" as each is known. */
void roster_wait(struct roster *r, struct form *f, void (*row)(void *user,
    const struct roster *r, size_t host), void *user);
bool roster_busy(const struct roster *r);

/* Changes the form by what was found, as a part of the change that named the
 * hosts, where nothing came after it, else as one of its own: the number of
 * machines and of processes, slots of each host, the address of the first.  What
 * a user typed stays, but the number of machines. */
int  roster_settle(struct roster *r, struct form *f, struct err *err);

/* What the rules look at: the weakest of the machines that are known. */
void roster_site(const struct roster *r, struct form *f);

/* Changes of the form's list, each one change that can be undone. */
int  roster_add(struct roster *r, struct form *f, const char *list,
    struct err *err);
/* The whole list; "" is this machine alone. */
int  roster_name(struct roster *r, struct form *f, const char *list,
    struct err *err);
int  roster_add_file(struct roster *r, struct form *f, const char *path,
    struct err *err);
int  roster_add_slurm(struct roster *r, struct form *f, struct err *err);
int  roster_remove(struct roster *r, struct form *f, size_t host,
    struct err *err);

/* The ranks that a machine is good for: a GPU each, or a NUMA node. */
long roster_slots(const struct machine *m);
/* "4 machines, 16 GPUs, 3 reached". */
void roster_say(const struct roster *r, struct buf *out);
#endif
