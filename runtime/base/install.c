/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/banned.h"

char *
install_program(const char *name)
{
	static const char *const near[] = { "", "/../libexec", "/../bin" };
	static const char *const far[] = { LIBEXECDIR, BINDIR };
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
	for (int i = slash ? 0 : 3; i < 5; i++) {
		if (asprintf(&path, "%s%s/%s", i < 3 ? self : "",
		    i < 3 ? near[i] : far[i - 3], name) < 0)
			return NULL;
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return strdup(name);
}
