/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

#define CHOICES(set)		static const struct choice set##_list[] = {
#define CHOICE(set, sym, w, ...)	{ .word = w, .what = __VA_ARGS__ },
#define END_CHOICES(set)	{ .word = NULL } };
#include "runtime/config/choices.def"
#undef CHOICES
#undef CHOICE
#undef END_CHOICES

/* One function per condition, so that the compiler checks the expression. */
#define WHEN(g, m, expr)						\
	static bool							\
	when_##g##_##m(const struct config *c)				\
	{								\
		(void)c;						\
		return expr;						\
	}
#define GROUP(g, key, title)
#define BOOL(g, m, key, def, when, ...)			WHEN(g, m, when)
#define INT(g, m, key, def, lo, hi, when, ...)		WHEN(g, m, when)
#define REAL(g, m, key, def, lo, hi, when, ...)		WHEN(g, m, when)
#define TEXT(g, m, key, def, when, ...)			WHEN(g, m, when)
#define LIST(g, m, key, def, when, ...)			WHEN(g, m, when)
#define CHOOSE(g, m, key, set, def, when, ...)		WHEN(g, m, when)
#define END_GROUP(g)
#include "runtime/config/fields.def"
#include "runtime/config/fields-undef.h"

#define GROUP(g, key, title)	\
	static const char group_##g[] = key, title_##g[] = title;
#define BOOL(...)
#define INT(...)
#define REAL(...)
#define TEXT(...)
#define LIST(...)
#define CHOOSE(...)
#define END_GROUP(g)
#include "runtime/config/fields.def"
#include "runtime/config/fields-undef.h"

#define ROW(g, m, k, t, w, ak, ...) [FIELD_##g##_##m] = {		\
	.key = k, .member = #g "." #m, .type = t, .offset = offsetof(struct config, g.m),	\
	.group = group_##g, .title = title_##g, .when = when_##g##_##m,	\
	.when_text = w, .ask = ak, .help = __VA_ARGS__ },
#define GROUP(g, key, title)
#define BOOL(g, m, k, d, w, ak, ...)	\
	ROW(g, m, k, TYPE_BOOL, #w, ak, __VA_ARGS__, .def.b = d)
#define INT(g, m, k, d, l, h, w, ak, ...)	\
	ROW(g, m, k, TYPE_INT, #w, ak, __VA_ARGS__, .def.i = d, .lo = l, .hi = h)
#define REAL(g, m, k, d, l, h, w, ak, ...)	\
	ROW(g, m, k, TYPE_REAL, #w, ak, __VA_ARGS__, .def.r = d, .lo = l, .hi = h)
#define TEXT(g, m, k, d, w, ak, ...)	\
	ROW(g, m, k, TYPE_TEXT, #w, ak, __VA_ARGS__, .def.s = d)
#define LIST(g, m, k, d, w, ak, ...)	\
	ROW(g, m, k, TYPE_LIST, #w, ak, __VA_ARGS__, .def.s = d)
#define CHOOSE(g, m, k, set, d, w, ak, ...)	\
	ROW(g, m, k, TYPE_CHOICE, #w, ak, __VA_ARGS__, .def.i = set##_##d, \
	    .choice = set##_list)
#define END_GROUP(g)
const struct field fields[FIELD_COUNT] = {
#include "runtime/config/fields.def"
};
