/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ignore: patterns of files to leave out, as gitignore(5) has them: "#" begins a
 * comment, "!" takes back, a "/" at the end means folders alone, one elsewhere
 * ties the pattern to the top, "**" goes over folders.  The last that fits
 * decides.  What is below an ignored folder cannot be taken back.
 */
#ifndef RUNTIME_LAUNCH_IGNORE_H
#define RUNTIME_LAUNCH_IGNORE_H

#include <stdbool.h>

struct buf;
struct strv;

/* Adds the patterns of a file's text. */
int  ignore_parse(struct strv *patterns, const struct buf *text);

/* A path below the top, without a "/" in front. */
bool ignore_path(const struct strv *patterns, const char *path, bool folder);
#endif
