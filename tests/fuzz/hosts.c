/* SPDX-License-Identifier: Apache-2.0 */
/* A text as --hosts and as a host file. */
#include <unistd.h>
#include <sys/mman.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/launch/hosts.h"
#include "tests/fuzz/fuzz.h"

static void
look(int rc, const struct hosts *hosts, const struct err *err)
{
	if (rc)
		MUST(!hosts->count && *err->text);
	for (size_t i = 0; i < hosts->count; i++) {
		MUST(*hosts->host[i].name && hosts->host[i].slots >= 0);
		MUST(*host_label(&hosts->host[i]));
		host_is_local(&hosts->host[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct hosts	 hosts = HOSTS_INIT;
	struct err	 err = ERR_INIT;
	char		*text = strndup((const char *)data, n), path[40];
	int		 fd = memfd_create("hosts", 0);

	look(hosts_add(&hosts, text, &err), &hosts, &err);
	hosts_clear(&hosts);
	if (fd >= 0 && write(fd, data, n) == (ssize_t)n) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		look(hosts_read(&hosts, path, &err), &hosts, &err);
		hosts_clear(&hosts);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	return 0;
}
