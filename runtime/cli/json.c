/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/json.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/err.h"

#include "runtime/base/banned.h"

int
json_print(const json_t *json, struct err *err)
{
	char	*text = json_dumps(json, JSON_INDENT(2));

	if (!text)
		return err_nomem(err);
	puts(text);
	free(text);
	return 0;
}
