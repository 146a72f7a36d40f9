/* SPDX-License-Identifier: Apache-2.0 */
/* launch: parts of "accel launch" that "accel run" has as well. */
#ifndef RUNTIME_CLI_LAUNCH_H
#define RUNTIME_CLI_LAUNCH_H

struct err;

enum { LAUNCH_JOB = 17 };

/* Gives the path of the agent; NULL without memory. */
char *launch_agent(void);
/* A token unlike any other. */
int  launch_job(char job[LAUNCH_JOB], struct err *err);
#endif
