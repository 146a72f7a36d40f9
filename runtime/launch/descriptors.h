/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors: how many files may be open.
 *
 * A link to a host and a log of a rank need some each, so the launcher raises
 * its soft limit to the hard one.  What it starts gets the limit of before:
 * programs that use select() can do nothing with a descriptor above 1023, and
 * some close all that the limit allows.
 */
#ifndef RUNTIME_LAUNCH_DESCRIPTORS_H
#define RUNTIME_LAUNCH_DESCRIPTORS_H

#include <stddef.h>

/* Gives the limit as it is now; again does nothing. */
size_t descriptors_raise(void);
/* As before descriptors_raise(): for what is started now. */
void   descriptors_restore(void);
#endif
