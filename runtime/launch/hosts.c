/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/config/rules.h"

#include "runtime/base/banned.h"

enum { SLOTS_MAX = 65536 };

static bool
is_name(const char *name, size_t n)
{
	/* a bracket that is left: [::1]x */
	if (!n || *name == '-' || *name == '@' || name[n - 1] == '@' ||
	    (*name == '[' && name[n - 1] != ']'))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f ||
		    strchr("/'\"", name[i]))
			return false;
	return true;
}

/* Copies n bytes of the name. */
static int
add(struct hosts *hosts, const char *name, size_t n, long slots,
    struct err *err)
{
	struct host *grown;

	if (!is_name(name, n)) {
		err_set(err, "\"%.*s\" is not a host's name", (int)n, name);
		return err_hint(err, "write hosts as node1:8,node2:4, or in a "
		    "file a line each: node1 slots=8");
	}
	for (size_t i = 0; i < hosts->count; i++)
		if (strlen(hosts->host[i].name) == n &&
		    !strncmp(hosts->host[i].name, name, n)) {
			err_set(err, "host %.*s is there twice", (int)n, name);
			return err_hint(err, "give it once, with all its slots, "
			    "such as %.*s:8", (int)n, name);
		}
	grown = realloc(hosts->host, (hosts->count + 1) * sizeof *grown);
	if (!grown)
		return err_nomem(err);
	hosts->host = grown;
	grown += hosts->count;
	*grown = (struct host){ strndup(name, n), slots };
	if (!grown->name)
		return err_nomem(err);
	hosts->count++;
	return 0;
}

/* Frees what was added behind the first "count". */
static int
undo(struct hosts *hosts, size_t count)
{
	while (hosts->count > count)
		free(hosts->host[--hosts->count].name);
	return -1;
}

static int
bad_slots(const char *text, struct err *err)
{
	err_set(err, "\"%s\" is not a number of slots", text);
	return err_hint(err, "slots are the ranks that a host may have, "
	    "1 to %d", SLOTS_MAX);
}

int
hosts_add(struct hosts *hosts, const char *list, struct err *err)
{
	size_t before = hosts->count;

	while (*list) {
		size_t		 n = strcspn(list, ",");
		char		*item = strndup(list, n), *colon, *name;
		long		 slots = 0;
		int		 ret;

		if (!item)
			return err_nomem(err), undo(hosts, before);
		name = item;
		colon = strrchr(item, ':');
		if (*item == '[' && strchr(item, ']')) {	/* [::1]:4 */
			char *close = strchr(item, ']');

			if (close[1] == ':' || !close[1]) {
				colon = close[1] ? close + 1 : NULL;
				*close = '\0';
				name = item + 1;
			} else
				colon = NULL;
		}
		if (colon && num_parse(colon + 1, 1, SLOTS_MAX, &slots) < 0)
			ret = bad_slots(colon + 1, err);
		else {
			if (colon)
				*colon = '\0';
			ret = add(hosts, name, strlen(name), slots, err);
		}
		free(item);
		if (ret < 0)
			return undo(hosts, before);
		list += n + (list[n] == ',');
	}
	return 0;
}

int
hosts_copy(struct hosts *hosts, const struct host *host, struct err *err)
{
	return add(hosts, host->name, strlen(host->name), host->slots, err);
}

static int
add_line(struct hosts *hosts, char *line, struct err *err)
{
	size_t	 n;
	long	 slots = 0;
	char	*rest;

	line[strcspn(line, "#\r")] = '\0';
	line += strspn(line, " \t");
	n = strcspn(line, " \t");
	if (n == 0)
		return 0;
	rest = line + n + strspn(line + n, " \t");
	rest[strcspn(rest, " \t")] = '\0';
	if (*rest && strncmp(rest, "slots=", 6)) {
		err_set(err, "\"%s\" was not expected behind the host's name", rest);
		return err_hint(err,
		    "write one machine a line, such as: node1 slots=8");
	}
	if (*rest && num_parse(rest + 6, 1, SLOTS_MAX, &slots) < 0)
		return bad_slots(rest + 6, err);
	return add(hosts, line, n, slots, err);
}

int
hosts_read(struct hosts *hosts, const char *path, struct err *err)
{
	struct buf	 text = BUF_INIT;
	size_t		 before = hosts->count;
	char		*line, *end;
	int		 ret = file_read(path, &text, err);

	line = text.data;
	for (int number = 1; ret == 0 && line && *line; number++) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		ret = add_line(hosts, line, err);
		if (ret < 0)
			err_at(err, "%s:%d", path, number);
		line = end;
	}
	if (ret == 0 && hosts->count == before) {
		ret = err_set(err, "%s: no host in this file", path);
		err_hint(err, "write one machine a line, such as: node1 slots=8");
	}
	buf_clear(&text);
	return ret < 0 ? undo(hosts, before) : 0;
}

const char *
host_label(const struct host *host)
{
	const char *at = strrchr(host->name, '@');

	return at ? at + 1 : host->name;
}

bool
host_is_local(const struct host *host)
{
	return !strcmp(host->name, "localhost");
}

void
hosts_site(const struct hosts *hosts, struct site *site)
{
	size_t	unsaid = 0;

	site->hosts = (long)hosts->count;
	site->slots = site->least = 0;
	for (size_t i = 0; i < hosts->count; i++) {
		site->least = site->slots + 1;
		site->slots += hosts->host[i].slots;
		unsaid += hosts->host[i].slots == 0;
	}
	if (unsaid)
		site->slots = site->least = 0;
}

void
hosts_clear(struct hosts *hosts)
{
	undo(hosts, 0);
	free(hosts->host);
	*hosts = (struct hosts)HOSTS_INIT;
}
