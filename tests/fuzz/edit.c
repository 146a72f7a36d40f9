/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of KEY=VALUE, an empty line, and a file that is changed so: the result
 * says so, and a second time there is nothing to change. */
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "runtime/config/words.h"
#include "tests/fuzz/fuzz.h"

static void
change(struct config *c, const char *line, size_t n)
{
	const char	*equals = memchr(line, '=', n);
	char		*key, *value;
	int		 id;

	if (!equals)
		return;
	key = strndup(line, (size_t)(equals - line));
	value = strndup(equals + 1, n - (size_t)(equals + 1 - line));
	id = field_named(key, NULL);
	if (id >= 0 && *value)
		config_put(c, (enum field_id)id, value, ORIGIN_USER, NULL);
	else if (id >= 0)
		config_unset(c, (enum field_id)id, NULL);
	free(key);
	free(value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char	*text = (const char *)data, *end = text + n, *why;
	const char	*line = text, *stop = text;
	struct config	 c;
	struct buf	 one = BUF_INIT, two = BUF_INIT;
	unsigned	 how = n & 1 ? CONFIG_RENAME : 0;

	for (; line < end && *line != '\n'; line = stop + 1)
		if (!(stop = memchr(line, '\n', (size_t)(end - line))))
			return 0;
	if (line == end)
		return 0;
	stop = line++;			/* here the file begins */
	config_init(&c);
	c.keep_unknown = true;
	if (config_parse(&c, line, (size_t)(end - line), "f", NULL))
		goto out;
	for (const char *at = text, *next; at < stop; at = next + 1) {
		next = memchr(at, '\n', (size_t)(stop - at) + 1);
		change(&c, at, (size_t)(next - at));
	}
	if (config_update_text(&c, line, (size_t)(end - line), "f", how, &one,
	    &why, NULL))
		goto out;
	MUST(!config_update_text(&c, buf_text(&one), one.len, "f", how, &two,
	    &why, NULL));
	if (one.len != two.len || memcmp(one.data, two.data, one.len)) {
		fprintf(stderr, "%s\n=====\n%s\n", buf_text(&one),
		    buf_text(&two));
		abort();
	}
out:
	config_clear(&c);
	buf_clear(&one);
	buf_clear(&two);
	return 0;
}
