/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysfile: the small files of /sys and /proc.  libc alone, for the agent.
 *
 * "root" stands before each path: "", or a folder that looks like a machine.
 */
#ifndef PROBES_SYSFILE_H
#define PROBES_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>

/* The start of a file, as text, "" where there is none; true where there is
 * some.  What moves a terminal's cursor becomes a blank. */
bool sysfile_text(char *text, size_t room, const char *root,
    const char *path, ...) __attribute__((format(printf, 4, 5)));
/* The same, its first line alone. */
bool sysfile_line(char *text, size_t room, const char *root,
    const char *path, ...) __attribute__((format(printf, 4, 5)));
/* A number, "0x" allowed; or "otherwise". */
unsigned long long sysfile_number(unsigned long long otherwise,
    const char *root, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* The last part of where a link leads. */
bool sysfile_link(char *name, size_t room, const char *root,
    const char *path, ...) __attribute__((format(printf, 4, 5)));
bool sysfile_exists(const char *root, const char *path, ...)
    __attribute__((format(printf, 2, 3)));
/* The value behind "name" and a colon, in a text of such lines. */
bool sysfile_value(char *value, size_t room, const char *text,
    const char *name);

struct strv;
/* Adds the names in a folder, in the order of their numbers; -1 without
 * memory. */
int  sysfile_names(struct strv *names, const char *root, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
#endif
