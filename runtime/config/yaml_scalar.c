/* SPDX-License-Identifier: Apache-2.0 */
/* What a plain scalar is in YAML 1.1, by PyYAML's expressions. */
#include "runtime/config/yaml_tree.h"

#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/num.h"
#include "runtime/base/banned.h"

/* PyYAML's implicit resolvers in its order, each with the signs that such a
 * scalar may begin with. */
static struct {
	enum scalar	 kind;
	const char	*first, *form;
	regex_t		 ready;
} forms[] = {
	{ SCALAR_BOOL, "yYnNtTfFoO", "^(yes|Yes|YES|no|No|NO|true|True|TRUE|"
	    "false|False|FALSE|on|On|ON|off|Off|OFF)$", { 0 } },
	{ SCALAR_FLOAT, "-+.0123456789",
	    "^([-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|"
	    "\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
	    "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*|"
	    "[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN))$", { 0 } },
	{ SCALAR_INT, "-+0123456789", "^([-+]?0b[01_]+|[-+]?0[0-7_]+|"
	    "[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|"
	    "[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+)$", { 0 } },
	{ SCALAR_NULL, "~nN", "^(~|null|Null|NULL)$", { 0 } },
	{ SCALAR_DATE, "0123456789", "^([0-9]{4}-[0-9]{2}-[0-9]{2}|"
	    "[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?:"
	    "[0-9]{2}:[0-9]{2}(\\.[0-9]*)?"
	    "([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?)$", { 0 } },
	{ SCALAR_MERGE, "<", "^<<$", { 0 } },
	{ SCALAR_VALUE, "=", "^=$", { 0 } },
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void
compile(void)
{
	for (int i = 0; i < FORMS; i++)
		if (regcomp(&forms[i].ready, forms[i].form,
		    REG_EXTENDED | REG_NOSUB))
			abort();	/* no memory, at the start */
}

enum scalar
scalar_of(const char *text)
{
	static pthread_once_t	once = PTHREAD_ONCE_INIT;

	if (!*text)
		return SCALAR_NULL;
	pthread_once(&once, compile);
	for (int i = 0; i < FORMS; i++)
		if (strchr(forms[i].first, *text) &&
		    !regexec(&forms[i].ready, text, 0, NULL, 0))
			return forms[i].kind;
	return SCALAR_TEXT;
}

const char *
scalar_name(enum scalar kind)
{
	static const char *const names[] = { "a text", "null", "a bool",
	    "a whole number", "a real number", "a date", "a merge key",
	    "a default key" };

	return names[kind];
}

bool
scalar_true(const char *text)
{
	return strchr("yYtT", text[0]) || !strcmp(text, "on") ||
	    !strcmp(text, "On") || !strcmp(text, "ON");
}

int
scalar_int(const char *text, long *out)
{
	long	 sum = 0, part = 0;
	int	 base = 10;
	bool	 minus = *text == '-', any = false;

	if (*text == '-' || *text == '+')
		text++;
	if (text[0] == '0' && text[1]) {
		base = text[1] == 'b' ? 2 : text[1] == 'x' ? 16 : 8;
		any = base == 8;
		text += base == 8 ? 1 : 2;
	}
	for (; *text; text++) {
		int	digit;

		if (*text == '_')
			continue;
		if (*text == ':') {
			if (__builtin_add_overflow(sum, part, &sum) ||
			    __builtin_mul_overflow(sum, 60, &sum))
				return -1;
			part = 0;
			continue;
		}
		digit = *text <= '9' ? *text - '0' : (*text | 32) - 'a' + 10;
		if (__builtin_mul_overflow(part, base, &part) ||
		    __builtin_add_overflow(part, digit, &part))
			return -1;
		any = true;
	}
	/* "0x_" has the form of a number, and Python's int() refuses it */
	if (!any || __builtin_add_overflow(sum, part, &sum))
		return -1;
	*out = minus ? -sum : sum;
	return 0;
}

bool
scalar_digits(const char *text)
{
	text += *text == '-' || *text == '+';
	return text[0] != '0' || !text[1] || !strchr("bx", text[1]) ||
	    text[2 + strspn(text + 2, "_")];
}

bool
scalar_date(const char *text)
{
	static const int	days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30,
	    31, 30, 31 };
	int	part[6] = { 0 }, n = 0;

	for (; *text && n < 6; text += strspn(text, "-:Tt \t"), n++) {
		if (*text == '.' || *text == 'Z' || *text == '+')
			break;
		for (; *text >= '0' && *text <= '9'; text++)
			part[n] = part[n] * 10 + *text - '0';
		if (n == 5)
			break;
	}
	return part[0] > 0 && part[1] > 0 && part[1] <= 12 && part[2] > 0 &&
	    (part[2] <= days[part[1] - 1] || (part[1] == 2 && part[2] == 29 &&
	    part[0] % 4 == 0 && (part[0] % 100 || part[0] % 400 == 0))) &&
	    part[3] < 24 && part[4] < 60 && part[5] < 60;
}

int
scalar_float(const char *text, double *out)
{
	struct buf	digits = BUF_INIT;
	double		sum = 0, part;
	bool		minus = *text == '-';
	int		rc = 0;

	if (*text == '-' || *text == '+')
		text++;
	if (text[0] == '.' && (text[1] | 32) == 'i') {
		*out = minus ? -INFINITY : INFINITY;
		return 0;
	}
	if (text[0] == '.' && (text[1] | 32) == 'n') {
		*out = NAN;
		return 0;
	}
	for (;; text++) {
		if (*text == '_')
			continue;
		if (*text && *text != ':') {
			buf_add(&digits, text, 1);
			continue;
		}
		rc |= num_parse_real(buf_text(&digits), 0, HUGE_VAL, &part);
		if (rc)
			break;
		sum = sum * 60 + part;
		buf_clear(&digits);
		if (!*text)
			break;
	}
	buf_clear(&digits);
	if (rc || isinf(sum))
		return -1;
	*out = minus ? -sum : sum;
	return 0;
}
