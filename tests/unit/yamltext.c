/* SPDX-License-Identifier: Apache-2.0 */
/* yamltext: writes each text (NUL-ended, on stdin) as a YAML mapping in a file
 * of its own document; for tests/cli/pyyaml.t. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"

int
main(void)
{
	char		*text = NULL;
	size_t		 room = 0;
	struct err	 err;
	struct config	 c;

	config_init(&c);
	while (getdelim(&text, &room, '\0', stdin) > 0) {
		struct buf	out = BUF_INIT, back = BUF_INIT;
		struct config	d;

		config_init(&d);
		if (config_set(&c, FIELD_main_tpu_name, text, ORIGIN_USER,
		    &err) || config_print(&c, &out) ||
		    config_parse(&d, buf_text(&out), out.len, "t", &err) ||
		    config_get(&d, FIELD_main_tpu_name, &back) ||
		    strcmp(buf_text(&back), text) != 0) {
			fprintf(stderr, "lost: %s: %s\n", text, err.text);
			return 1;
		}
		printf("---\n%s", buf_text(&out));
		config_clear(&d);
		buf_clear(&out);
		buf_clear(&back);
	}
	free(text);
	config_clear(&c);
	return 0;
}
