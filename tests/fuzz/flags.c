/* SPDX-License-Identifier: Apache-2.0 */
/* Words, a line each, as flags of accel launch; and what a rank gets of it. */
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/environ.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct config	 c, copy;
	struct err	 err = ERR_INIT;
	struct strv	 words = STRV_INIT, env = STRV_INIT;
	struct problems	 problems = PROBLEMS_INIT;
	char		*text = strndup((const char *)data, n), *line = text;
	int		 at = 0, rc;

	while (line) {
		char	*word = strsep(&line, "\n");

		MUST(!strv_add(&words, word));
	}
	config_init(&c);
	while ((size_t)at < words.count) {
		int	was = at;

		rc = config_flag(&c, words.item, &at, &err);
		MUST(rc < 0 ? *err.text : rc ? at > was : at == was);
		if (rc <= 0)
			at = was + 1;
		MUST((size_t)at <= words.count);
	}
	MUST(!config_copy(&copy, &c));
	if (config_env(&copy, NULL, &env, &err))
		MUST(*err.text);
	if (config_problems(&copy, NULL, &problems, &err))
		MUST(*err.text);
	problems_clear(&problems);
	strv_clear(&env);
	strv_clear(&words);
	config_clear(&c);
	config_clear(&copy);
	free(text);
	return 0;
}
