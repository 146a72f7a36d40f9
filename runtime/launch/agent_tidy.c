/* SPDX-License-Identifier: Apache-2.0 */
/* agent_tidy: agents of other builds that nobody has used for a month go; a
 * running one does not need its file. */
#include "runtime/launch/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/banned.h"

static const time_t	OLD_S = 30L * 24 * 3600;

void
agent_tidy(void)
{
	char		 self[4096], *slash;
	ssize_t		 n = readlink("/proc/self/exe", self, sizeof self - 1);
	DIR		*dir;
	struct dirent	*entry;
	struct stat	 st;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	/* Only in a cache that is ours by its names: .../accel/agent-HASH. */
	if (!slash || strncmp(slash, "/agent-", 7))
		return;
	utimensat(AT_FDCWD, self, NULL, 0);	/* used today */
	*slash = '\0';
	if (strlen(self) < 6 || strcmp(self + strlen(self) - 6, "/accel") ||
	    !(dir = opendir(self)))
		return;
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, "agent-", 6) &&
		    fstatat(dirfd(dir), entry->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    st.st_mtime < time(NULL) - OLD_S)
			unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}
