/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runview_series: numbers of a training as they appear, and their course.
 *
 * They are read from lines that people print: "loss=0.31", "'loss': 0.31",
 * "loss 0.31", "12.5it/s", "1.2k tokens/s", "train_samples_per_second: 71".
 * What counts: names that end in "loss", and rates.
 */
#ifndef TUI_RUNVIEW_SERIES_H
#define TUI_RUNVIEW_SERIES_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { SERIES_NAME = 32, SERIES_POINTS = 256, NUMBERS_MAX = 8 };

struct number {
	char	name[SERIES_NAME];
	double	value;			/* may be a NaN, which people print */
};

/* The numbers of n bytes of a line; how many.  "1.5s/it" becomes "it/s". */
size_t numbers_read(const char *line, size_t n, struct number out[NUMBERS_MAX]);

struct series {
	char	name[SERIES_NAME];
	size_t	rank;			/* who says it: the lowest that does */
	bool	told;			/* by libaccel, not read in output */
	double	last;
	size_t	seen;			/* values in all */
	double	point[SERIES_POINTS];	/* each the mean of "each" values */
	size_t	points, each, in_last;
};

void series_add(struct series *s, double value);
/* The whole course in that many columns: blocks of Unicode, or "_.-=^" and the
 * like; nothing where there are no two points. */
void series_spark(const struct series *s, size_t columns, bool ascii,
    struct buf *out);
/* "0.3121", "12.5", "1.2e-05", "nan": for a column of eight. */
void series_number(double value, char text[16]);
#endif
