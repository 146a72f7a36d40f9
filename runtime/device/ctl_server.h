/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_server: the middle of the star, a thread in rank 0: who is here, who is
 * silent, the store, barriers, and the answers to MPICH's PMI-1 questions.
 */
#ifndef RUNTIME_DEVICE_CTL_SERVER_H
#define RUNTIME_DEVICE_CTL_SERVER_H

struct ctl_config;
struct ctl_server;
struct err;

#define CTL_MAGIC "ACCELCT1"

/* Binds and starts the thread.  *config must stay until _stop. */
int ctl_server_start(struct ctl_server **out, const struct ctl_config *config,
    struct err *err);

/* Waits until every rank has left or is gone ("now": does not wait), ends the
 * thread and frees. */
void ctl_server_stop(struct ctl_server *s, int now);
#endif
