/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts: the machines of one run, in rank order.
 *
 * A list is "[user@]host[:slots][/gpus=0+2],...", with an IPv6 address in
 * brackets.  A host file has one machine a line, "name slots=N gpus=0,2"; "#"
 * begins a comment.  Nothing here opens a connection.
 */
#ifndef RUNTIME_LAUNCH_HOSTS_H
#define RUNTIME_LAUNCH_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

struct config;
struct err;
struct site;

struct host {
	char	*name;		/* as ssh takes it: "user@node1" */
	long	 slots;		/* ranks that it may have; 0 where nobody said */
	long	*gpu;		/* which its ranks use, by number; NULL: all */
	size_t	 gpus;
};

struct hosts {
	struct host	*host;
	size_t		 count;
};

#define HOSTS_INIT { NULL, 0 }

/* Each adds machines; on failure *hosts is as it was. */
int hosts_add(struct hosts *hosts, const char *list, struct err *err);
int hosts_read(struct hosts *hosts, const char *path, struct err *err);

/* Adds one that is like "host". */
int hosts_copy(struct hosts *hosts, const struct host *host, struct err *err);

/* Removes the last host. */
void hosts_drop(struct hosts *hosts);

/* Puts there the hosts of the configuration's own host file, DeepSpeed's or
 * mpirun's, where it speaks of several machines; else *hosts stays as it is. */
int hosts_of_config(struct hosts *hosts, const struct config *c,
    struct err *err);

/* The name without its user, borrowed. */
const char *host_label(const struct host *host);

/* True for "localhost", which needs no SSH. */
bool host_is_local(const struct host *host);

/* What the rules of a configuration want to know of them. */
void hosts_site(const struct hosts *hosts, struct site *site);

/* Frees the contents, and leaves *hosts empty and ready. */
void hosts_clear(struct hosts *hosts);
#endif
