/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet: machines that train together, and what was measured between them; and
 * the file of "accel probe --yaml", which --machine reads.
 *
 *	accel_probe: 1			the version of this form
 *	machines:
 *	- hostname: node1
 *	  cores: 16			keys are the members of machine.h
 *	  gpus:
 *	  - vendor: NVIDIA
 *	network:			with --network
 *	- from: 0			numbers in machines
 *	  to: 1
 *	  latency_us: 41.2
 *	  gbit_s: 9.41
 */
#ifndef PROBES_FLEET_H
#define PROBES_FLEET_H

#include "probes/machine.h"

struct strv;

enum { FLEET_VERSION = 1 };

struct between {		/* two hosts, one way */
	unsigned	 from, to;
	double		 latency_us;	/* half of a small message's round trip */
	double		 gbit_s;	/* one TCP stream */
	char		*problem;	/* why there are no figures, or NULL */
};

struct fleet {
	struct machine	*machine;
	size_t		 count;
	struct between	*between;
	size_t		 pairs;
};

#define FLEET_INIT { NULL, 0, NULL, 0 }

/* Adds an empty one and returns it, or NULL without memory. */
struct machine *fleet_add(struct fleet *f);
struct between *fleet_add_between(struct fleet *f);
/* What was measured that way, or NULL. */
const struct between *fleet_between(const struct fleet *f, unsigned from,
    unsigned to);
void fleet_clear(struct fleet *f);

/*
 * Adds what a text or a file says to *f, which stays as it was on failure.
 * "name" is what errors say before line and column.  What another version of
 * accel wrote is read as far as it is known; "warnings" then gets a line for
 * each thing that is not.  NULL: nobody wants them.  JSON is read as well.
 */
int  fleet_parse(struct fleet *f, const char *text, size_t n,
    const char *name, struct strv *warnings, struct err *err);
/* A line of "accel probe --json --hosts": a machine, or {"network": ...}, whose
 * numbers are not looked at. */
int  fleet_parse_row(struct fleet *f, const char *text, size_t n,
    struct err *err);
int  fleet_read(struct fleet *f, const char *path, struct strv *warnings,
    struct err *err);

/* The same of any file that tells of machines: a topology of hwloc's, in XML, as
 * well.  For --machine. */
int  fleet_load(struct fleet *f, const char *path, struct strv *warnings,
    struct err *err);

/* Each adds to *out; -1 without memory.  JSON has the same names. */
int  fleet_yaml(const struct fleet *f, struct buf *out);
int  fleet_json(const struct fleet *f, struct buf *out);
/* One machine, or one measurement as {"network": ...}, as JSON in one line with
 * its end. */
int  machine_json(const struct machine *m, struct buf *out);
int  between_json(const struct between *b, struct buf *out);
/* What was measured as two tables, latency and bandwidth; nothing where nothing
 * was. */
int  fleet_print_network(const struct fleet *f, struct buf *out);
#endif
