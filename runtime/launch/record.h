/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: what is known of a run when it is over: what, where, when, how it
 * ended, where its logs are.
 *
 * Each is a JSON file of the user's alone, ID.json in record_folder(), written
 * as the run begins and again as it ends.  No value of the environment is in
 * it, and of the program's words not those behind a flag that sounds like a
 * secret.  The newest RECORDS_KEPT stay, and up to RECORDS_SPARE older ones
 * until they all go at once; with a record go the logs that were written beside
 * it.
 */
#ifndef RUNTIME_LAUNCH_RECORD_H
#define RUNTIME_LAUNCH_RECORD_H

#include <stdint.h>

struct err;
struct json_t;		/* of jansson */
struct plan;

enum { RECORDS_KEPT = 200, RECORDS_SPARE = 50, RECORD_ID = 32 };

struct record_facts {		/* all borrowed */
	const char	*command;	/* "launch" */
	char *const	*argv;		/* the program and its words */
	const struct plan *plan;
	const char	*config_file;	/* or NULL */
	const char	*logs;		/* folder, or NULL */
};

struct record {
	char		*path;
	struct json_t	*json;
	int64_t		 began;
};

#define RECORD_INIT	{ NULL, NULL, 0 }

/* "20261130-083557-1a2b": of the time of day, and of the job. */
void record_id(char id[RECORD_ID], const char *job);
/* Gives the path; NULL without memory. */
char *record_folder(void);
/* Where the record of that id is; the same. */
char *record_path(const char *id);
/* On failure there is no record, and the others do nothing. */
int  record_begin(struct record *r, const char *id,
    const struct record_facts *facts, struct err *err);
/* Its ranks started anew, perhaps on other hosts. */
int  record_again(struct record *r, const struct plan *plan, struct err *err);
/* "why" is "" where it ended well. */
int  record_end(struct record *r, int code, const char *why, struct err *err);
void record_clear(struct record *r);

/* All records as an array, the newest first, whose reference is the caller's;
 * "state" is "running", "ended", or "lost" where the launcher went without a
 * word.  Files that are no records are left out.  NULL with the reason. */
struct json_t *records_read(struct err *err);
#endif
