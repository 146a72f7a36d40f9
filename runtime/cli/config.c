/* SPDX-License-Identifier: Apache-2.0 */
/* accel config: the table of the commands below it, and the wizard. */
#include "runtime/cli/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

static const struct command *const commands[] = {
	&command_config_show,
	NULL
};

const struct command command_config = {
	"config", "make, show, check and change a configuration",
	.page = "accel-config(1)", .below = commands,
};

int
cli_config_load(struct config *c, const char *given, bool optional,
    char **path, struct err *err)
{
	char	*name = given ? strdup(given) : config_default_path();
	int	 ret;

	if (!name)
		return err_nomem(err);
	if (access(name, F_OK) == 0 || errno != ENOENT)
		ret = config_read(c, name, err);
	else if (!given && optional)
		ret = 0;
	else {
		err_set(err, "%s: there is no such file", name);
		ret = err_hint(err, given ? "\"accel config --config_file %s\" "
		    "makes it" : "\"accel config\" makes one", name);
	}
	if (path)
		*path = name;
	else
		free(name);
	return ret;
}
