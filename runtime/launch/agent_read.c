/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/agent.h"

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/banned.h"

bool
agent_read(const char *path, char *text, size_t room)
{
	int	fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t	n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}
