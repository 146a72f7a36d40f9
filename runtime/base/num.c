/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/num.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/banned.h"

int
num_parse(const char *text, long lo, long hi, long *out)
{
	char	*end;
	long	 value;
	int	 digits = text[0] == '-' || text[0] == '+';

	if (!isdigit((unsigned char)text[digits]))
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || *end || value < lo || value > hi)
		return -1;
	*out = value;
	return 0;
}

int
num_parse_real(const char *text, double lo, double hi, double *out)
{
	locale_t	 c;
	char		*end;
	double		 value;

	if (!*text || text[strspn(text, "0123456789+-.eE")])
		return -1;
	/* No allocation in glibc: "C" is always there. */
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return -1;
	errno = 0;
	value = strtod_l(text, &end, c);
	if (errno)
		end = NULL;
	freelocale(c);
	if (!end || *end || end == text || !isfinite(value) ||
	    value < lo || value > hi)
		return -1;
	*out = value;
	return 0;
}
