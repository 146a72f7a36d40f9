/* SPDX-License-Identifier: Apache-2.0 */
/* cloud: launches that do not run on machines of one's own. */
#ifndef RUNTIME_CLI_CLOUD_H
#define RUNTIME_CLI_CLOUD_H

#include <stdbool.h>

struct config;
struct err;
struct strv;

/* A job of SageMaker, or the hosts of a TPU pod. */
bool cloud_wanted(const struct config *c);

/* Says what will run where, and unless "print" runs it: SageMaker's by the
 * Python package sagemaker, a pod's by gcloud.  "env" has further variables.
 * An exit code, or -1. */
int  cloud_launch(const struct config *c, char *const script[],
    const struct strv *env, bool print, struct err *err);
#endif
