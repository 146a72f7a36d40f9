/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cloud: what a configuration asks of Amazon SageMaker and of a TPU pod, as
 * data: the estimator's arguments, and the words of gcloud.  Nothing here runs
 * anything or reaches a network.
 */
#ifndef RUNTIME_CONFIG_CLOUD_H
#define RUNTIME_CONFIG_CLOUD_H

#include <jansson.h>
#include <stdbool.h>

#include "runtime/base/strv.h"

struct config;
struct err;

/* ---- SageMaker ----------------------------------------------------------- */

/* Gives {"estimator": {...}, "inputs": {...} or null}: what the estimator and
 * its fit() get.  "script" is the script and its arguments, ended by NULL;
 * "more" are further variables (NAME=VALUE) of the job.  NULL on error. */
json_t *sagemaker_job(const struct config *c, char *const script[],
    const struct strv *more, struct err *err);

/* A script's arguments as hyperparameters: numbers become numbers, True and
 * False bools, "-" in a name "_".  NULL on error. */
json_t *sagemaker_hyperparameters(char *const args[], struct err *err);

/* Adds the names and the values, in turn, of the variables with which the AWS
 * library finds the account. */
int sagemaker_account(const struct config *c, struct strv *env,
    struct err *err);

/* ---- TPU ----------------------------------------------------------------- */

struct tpu_setup {
	const char	*name, *zone;
	bool		 alpha;		/* gcloud alpha */
	const char	*accelerate;	/* version to install, or NULL: none */
	struct strv	 commands;
};

/* Adds the words of gcloud that run the commands on all hosts of the pod. */
int tpu_setup_words(const struct tpu_setup *setup, struct strv *argv,
    struct err *err);

/* Those that run a script on all hosts of the configuration's pod. */
int tpu_launch_words(const struct config *c, char *const script[],
    const struct strv *more, struct strv *argv, struct err *err);
#endif
