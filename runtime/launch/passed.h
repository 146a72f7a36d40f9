/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passed: variables that ranks get because the user said so: --env and
 * --env_file.  Pure but for reading the file.
 */
#ifndef RUNTIME_LAUNCH_PASSED_H
#define RUNTIME_LAUNCH_PASSED_H

struct err;
struct strv;

/* Adds "NAME=VALUE", or "NAME" as it is in "from", or all of "from" that fit a
 * pattern with "*", "?" or "[": "WANDB_*".  A pattern that fits nothing is no
 * error: it stands for what may be there. */
int passed_add(struct strv *env, const char *item, char *const *from,
    struct err *err);

/* Adds a file's lines: [export] NAME=VALUE, "#" comments.  'single' quotes keep
 * all, "double" quotes know \n \t \" \\ \$; without quotes a value ends with its
 * line, blanks around it and a comment behind a blank left out.  In quotes it
 * may go over lines.  Nothing is expanded. */
int passed_read(struct strv *env, const char *path, struct err *err);
#endif
