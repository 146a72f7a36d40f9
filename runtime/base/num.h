/* SPDX-License-Identifier: Apache-2.0 */
/* num: numbers from text, strictly: the whole text, in range, or an error. */
#ifndef RUNTIME_BASE_NUM_H
#define RUNTIME_BASE_NUM_H

/* Decimal, an optional sign, nothing around it, lo <= value <= hi.  0 or -1;
 * *out is set on success alone. */
int num_parse(const char *text, long lo, long hi, long *out);

/* The same for a finite real number (the decimal point is ".", whatever the
 * locale). */
int num_parse_real(const char *text, double lo, double hi, double *out);
#endif
