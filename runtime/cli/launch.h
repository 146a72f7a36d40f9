/* SPDX-License-Identifier: Apache-2.0 */
/* launch: parts of "accel launch", some of which "accel run" has as well. */
#ifndef RUNTIME_CLI_LAUNCH_H
#define RUNTIME_CLI_LAUNCH_H

struct err;
struct hosts;
struct plan_order;
struct strv;

enum { LAUNCH_JOB = 17 };

/* Gives the path of the agent; NULL without memory. */
char *launch_agent(void);
/* A token unlike any other. */
int  launch_job(char job[LAUNCH_JOB], struct err *err);
/* --print: the plan, and of this machine the cores that its ranks would have;
 * on stdout.  Fills in the order's job. */
int  launch_print(struct plan_order *order, struct err *err);

struct launch_said {		/* as flags have it; a text may be NULL */
	const struct strv	*hosts, *hostfile, *env_file, *env;
	const char		*grace, *connect_timeout;
};

/* What these flags mean, over what *hosts and *env hold already. */
int  launch_read(const struct launch_said *said, struct hosts *hosts,
    struct strv *env, double *grace_s, long *connect_timeout_s,
    struct err *err);
#endif
