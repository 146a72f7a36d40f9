/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/runview_series.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"

#include "runtime/base/banned.h"

enum { DIGITS = 40 };

struct cursor {
	const char *at, *end;
};

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.' ||
	    c == '-';
}

/* A number: "-1.5e-3", "12,345", "nan", "inf".  Steps over it. */
static bool
take_number(struct cursor *c, double *value)
{
	char	 text[DIGITS + 1], *end;
	size_t	 n = 0;
	const char *p = c->at;

	for (; p < c->end && n < DIGITS; p++) {
		if (*p == ',' && n && c->end - p > 3 &&
		    isdigit((unsigned char)p[1]) &&
		    isdigit((unsigned char)p[2]) &&
		    isdigit((unsigned char)p[3]))
			continue;	/* between thousands */
		if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' &&
		    *p != '+')
			break;
		text[n++] = *p;
	}
	text[n] = '\0';
	if (!n || (text[0] != '-' && text[0] != '.' &&
	    !isdigit((unsigned char)text[0]) && strncasecmp(text, "nan", 3) &&
	    strncasecmp(text, "inf", 3)) || (n > 1 && text[0] == '0' &&
	    tolower((unsigned char)text[1]) == 'x'))
		return false;
	*value = strtod(text, &end);
	if (end == text)
		return false;
	/* As many bytes of the line, with the commas that were left out. */
	for (n = (size_t)(end - text), p = c->at; n; p++)
		n -= *p != ',';
	c->at = p;
	return true;
}

static void
take_blanks(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
		c->at++;
}

static bool
ends_in(const char *name, size_t n, const char *with)
{
	size_t k = strlen(with);

	return n >= k && !strncasecmp(name + n - k, with, k) &&
	    (n == k || !isalnum((unsigned char)name[n - k - 1]) ||
	    !isalnum((unsigned char)*with));
}

/* Is it the name of something that is worth a curve? */
static bool
is_wanted(const char *name, size_t n)
{
	static const char *const words[] = { "loss", "_per_second", "_per_sec",
	    "throughput", "it/s", "tok/s", "tokens/s", "samples/s", "steps/s" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (ends_in(name, n, words[i]))
			return true;
	return false;
}

static void
keep(struct number *to, const char *name, size_t n, double value)
{
	if (n >= sizeof to->name) {	/* its end tells more */
		name += n - sizeof to->name + 1;
		n = sizeof to->name - 1;
	}
	memcpy(to->name, name, n);
	to->name[n] = '\0';
	to->value = value;
}

/* Behind a name: "=", ":" or a blank, perhaps quotes, a number. */
static bool
take_value(struct cursor *c, double *value)
{
	struct cursor	try = *c;
	bool		any = false;

	while (try.at < c->end && strchr(" \t'\"`", *try.at) && *try.at) {
		any = true;
		try.at++;
	}
	if (try.at < c->end && (*try.at == '=' || *try.at == ':')) {
		any = true;
		try.at++;
	}
	while (try.at < c->end && strchr(" \t'\"", *try.at) && *try.at)
		try.at++;
	if (!any || !take_number(&try, value))
		return false;
	*c = try;
	return true;
}

/* Behind a number: "it/s", " tokens/sec", "k tok/s", "s/it". */
static bool
take_rate(struct cursor *c, double value, struct number *to)
{
	struct cursor	try = *c;
	const char	*unit;
	size_t		 n;

	take_blanks(&try);
	if (try.end - try.at > 1 && strchr("kKM", *try.at) &&
	    (try.at[1] == ' ' || islower((unsigned char)try.at[1])) &&
	    strncmp(try.at, "KB", 2)) {
		value *= *try.at == 'M' ? 1e6 : 1e3;
		try.at++;
		take_blanks(&try);
	}
	unit = try.at;
	while (try.at < try.end && isalpha((unsigned char)*try.at))
		try.at++;
	n = (size_t)(try.at - unit);
	if (!n || n > 16 || try.at == try.end || *try.at != '/')
		return false;
	if (n == 1 && *unit == 's' && try.end - try.at > 2 &&
	    !strncmp(try.at, "/it", 3) && value > 0) {
		keep(to, "it/s", 4, 1 / value);
		c->at = try.at + 3;
		return true;
	}
	try.at++;
	if (try.at == try.end || *try.at != 's' || (try.end - try.at > 1 &&
	    isalnum((unsigned char)try.at[1]) &&
	    strncmp(try.at, "sec", try.end - try.at < 3 ? 1 : 3)))
		return false;
	/* Bytes and bits are how fast files come. */
	if (unit[n - 1] == 'B' || unit[n - 1] == 'b' ||
	    ends_in(unit, n, "bytes") || ends_in(unit, n, "bit"))
		return false;
	keep(to, unit, n, value);
	if (n + 3 < sizeof to->name)
		memcpy(to->name + n, "/s", 3);
	c->at = try.at;
	return true;
}

size_t
numbers_read(const char *line, size_t n, struct number out[NUMBERS_MAX])
{
	struct cursor	c = { line, line + n };
	size_t		found = 0;

	while (c.at < c.end && found < NUMBERS_MAX) {
		const char	*begin = c.at;
		double		 value;

		if (isdigit((unsigned char)*c.at)) {
			if (!take_number(&c, &value)) {
				c.at++;
				continue;
			}
			found += take_rate(&c, value, &out[found]);
			/* the rest of a word that only began with digits */
			while (c.at < c.end && is_name(*c.at) &&
			    !isdigit((unsigned char)*c.at))
				c.at++;
		} else if (isalpha((unsigned char)*c.at) || *c.at == '_') {
			size_t length;

			while (c.at < c.end && is_name(*c.at))
				c.at++;
			length = (size_t)(c.at - begin);
			if (is_wanted(begin, length) && take_value(&c, &value))
				keep(&out[found++], begin, length, value);
		} else
			c.at++;
	}
	return found;
}

/* Two neighbours become one: half the points, each of twice as many values. */
static void
halve(struct series *s)
{
	for (size_t i = 0; i < SERIES_POINTS / 2; i++) {
		double a = s->point[2 * i], b = s->point[2 * i + 1];

		s->point[i] = isfinite(a) && isfinite(b) ? (a + b) / 2 :
		    isfinite(a) ? a : b;
	}
	s->points = SERIES_POINTS / 2;
	s->each *= 2;
	s->in_last = s->each;
}

void
series_add(struct series *s, double value)
{
	double *last;

	if (!s->each)
		s->each = 1;
	s->seen++;
	s->last = value;
	if (s->points && s->in_last < s->each) {
		last = &s->point[s->points - 1];
		*last = isfinite(*last) && isfinite(value) ? *last +
		    (value - *last) / (double)(s->in_last + 1) :
		    isfinite(*last) ? *last : value;
		s->in_last++;
		return;
	}
	if (s->points == SERIES_POINTS)
		halve(s);
	s->point[s->points++] = value;
	s->in_last = 1;
}

void
series_spark(const struct series *s, size_t columns, bool ascii,
    struct buf *out)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇",
	    "█" };
	static const char *const signs[] = { "_", ".", ",", "-", "~", "=", "+",
	    "#" };
	double	low = HUGE_VAL, high = -HUGE_VAL;
	size_t	n = s->points < columns ? s->points : columns;

	for (size_t i = 0; i < s->points; i++)
		if (isfinite(s->point[i])) {
			low = s->point[i] < low ? s->point[i] : low;
			high = s->point[i] > high ? s->point[i] : high;
		}
	if (s->points < 2 || low > high)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t	from = i * s->points / n, to = (i + 1) * s->points / n;
		double	sum = 0;
		size_t	count = 0, level;

		for (size_t k = from; k < to; k++)
			if (isfinite(s->point[k])) {
				sum += s->point[k];
				count++;
			}
		if (!count) {
			buf_adds(out, ascii ? "!" : "×");
			continue;
		}
		level = high > low ? (size_t)((sum / (double)count - low) /
		    (high - low) * 7.999) : 3;
		buf_adds(out, (ascii ? signs : blocks)[level > 7 ? 7 : level]);
	}
}

void
series_number(double value, char text[16])
{
	double size = fabs(value);

	if (!isfinite(value))
		snprintf(text, 16, "%s", isnan(value) ? "nan" : value < 0 ?
		    "-inf" : "inf");
	else if (size >= 1e6 || (size > 0 && size < 1e-3))
		snprintf(text, 16, "%.2e", value);
	else
		snprintf(text, 16, "%.*f", size >= 1000 ? 0 : size >= 100 ? 1 :
		    size >= 10 ? 2 : 4, value);
}
