/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/config/schema.h"

#include <string.h>

#include "runtime/base/err.h"
#include "runtime/base/banned.h"

int
config_check(const struct config *c, struct err *err)
{
#define RULE(broken, sentence, remedy)					\
	if (broken) {							\
		err_set(err, "%s", sentence);				\
		return err_hint(err, "%s", remedy);			\
	}
#include "runtime/config/rules.def"
#undef RULE
	return 0;
}
