/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/templates.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/near.h"

#include "runtime/base/banned.h"

const struct template templates[] = {
#define TEMPLATE(name, text)	{ name, text },
#include "runtime/config/templates.inc"
#undef TEMPLATE
	{ NULL, NULL }
};

const struct template *
template_find(const char *name)
{
	size_t	n = strlen(name);

	if (n > 5 && !strcmp(name + n - 5, ".yaml"))
		n -= 5;
	for (const struct template *t = templates; t->name; t++)
		if (strlen(t->name) == n && !memcmp(t->name, name, n))
			return t;
	return NULL;
}

const char *
template_near(const char *name)
{
	const char	*best = NULL;
	size_t		 least = SIZE_MAX;

	for (const struct template *t = templates; t->name; t++) {
		size_t	d = near_distance(name, t->name);

		if (d < least && near_enough(name, t->name)) {
			least = d;
			best = t->name;
		}
	}
	return best;
}

const char *
template_body(const struct template *t)
{
	const char	*end = strchr(t->text, '\n');

	return end && strstr(t->text, "SPDX") < end ? end + 1 : t->text;
}

int
template_about(const struct template *t, struct buf *out)
{
	const char	*line = template_body(t);
	size_t		 n;

	line += strspn(line, "# ");
	n = strcspn(line, "\n");
	return buf_add(out, line, n && line[n - 1] == '.' ? n - 1 : n);
}
