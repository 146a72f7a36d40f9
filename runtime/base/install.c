/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/install.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/banned.h"

char *
install_program(const char *name)
{
	static const struct { bool near; const char *folder; } place[] = {
		{ true, "" }, { true, "/../libexec" }, { true, "/../bin" },
		{ false, LIBEXECDIR }, { false, BINDIR },
	};
	char	 self[4096], *path, *slash;
	ssize_t	 n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash) {
		*slash = '\0';
		/* libtool runs programs of a build folder from .libs */
		if (slash - self > 6 && !strcmp(slash - 6, "/.libs"))
			slash[-6] = '\0';
	}
	for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
		if (place[i].near && !slash)
			continue;
		if (asprintf(&path, "%s%s/%s", place[i].near ? self : "",
		    place[i].folder, name) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return strdup(name);
}
