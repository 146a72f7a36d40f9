/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete: what may come next on a command line, for the shells.
 *
 * Their part is a few lines each (completion/); which words fit is decided
 * here, from the table of commands and the table of fields.
 */
#ifndef RUNTIME_CLI_COMPLETE_H
#define RUNTIME_CLI_COMPLETE_H

struct buf;
struct command;

/* Adds what fits words[n - 1], which may be "", behind the others, below
 * "root" (whose name is not among the words).  A line each: "WORD<tab>meaning",
 * or ":file", ":folder" (the shell knows those) or ":nospace" (no blank behind
 * a word). */
int complete(const struct command *root, char **words, int n, struct buf *out);
#endif
