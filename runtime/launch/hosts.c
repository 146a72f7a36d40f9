/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/config/rules.h"

#include "runtime/base/banned.h"

enum { SLOTS_MAX = 65536, GPU_MAX = 1023 };

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

/* Copies n bytes of the name.  Takes the GPUs of *more, also on failure. */
static int
add(struct hosts *hosts, const char *name, size_t n, struct host *more,
    struct err *err)
{
	int		 ret = -1;
	struct host *grown;

	if (!is_name(name, n)) {
		err_set(err, "\"%.*s\" is not a host's name", (int)n, name);
		err_hint(err, "write hosts as node1:8,node2:4, or in a file a "
		    "line each: node1 slots=8");
		goto out;
	}
	for (size_t i = 0; i < hosts->count; i++)
		if (strlen(hosts->host[i].name) == n &&
		    !strncmp(hosts->host[i].name, name, n)) {
			err_set(err, "host %.*s is there twice", (int)n, name);
			err_hint(err, "give it once, with all its slots, such "
			    "as %.*s:8", (int)n, name);
			goto out;
		}
	grown = realloc(hosts->host, (hosts->count + 1) * sizeof *grown);
	if (!grown) {
		err_nomem(err);
		goto out;
	}
	hosts->host = grown;
	grown += hosts->count;
	*grown = *more;
	grown->name = strndup(name, n);
	if (!grown->name) {
		err_nomem(err);
		goto out;
	}
	if (!grown->slots)	/* a rank for each GPU */
		grown->slots = (long)grown->gpus;
	hosts->count++;
	more->gpu = NULL;
	ret = 0;
out:
	free(more->gpu);
	more->gpu = NULL;
	return ret;
}

void
hosts_drop(struct hosts *hosts)
{
	struct host *last = &hosts->host[--hosts->count];

	free(last->name);
	free(last->gpu);
}

/* Frees what was added behind the first "count". */
static int
undo(struct hosts *hosts, size_t count)
{
	while (hosts->count > count)
		hosts_drop(hosts);
	return -1;
}

static int
add_gpu(struct host *host, long number)
{
	long *grown;

	for (size_t i = 0; i < host->gpus; i++)
		if (host->gpu[i] == number)
			return -1;
	grown = realloc(host->gpu, (host->gpus + 1) * sizeof *grown);
	if (!grown)
		return -1;
	host->gpu = grown;
	grown[host->gpus++] = number;
	return 0;
}

/* "0-3,6", in the order in which local ranks take them. */
static int
read_gpus(struct host *host, const char *text, char separator, struct err *err)
{
	const char	 end[] = { separator, '\0' };
	const char	*at = text;

	for (;;) {
		char	 item[24], *dash;
		size_t	 n = strcspn(at, end);
		long	 first, last;

		snprintf(item, sizeof item, "%.*s", (int)n, at);
		dash = strchr(item, '-');
		if (dash)
			*dash = '\0';
		if (n >= sizeof item || num_parse(item, 0, GPU_MAX, &first) < 0)
			break;
		last = first;
		if (dash && num_parse(dash + 1, first, GPU_MAX, &last) < 0)
			break;
		while (first <= last && add_gpu(host, first) == 0)
			first++;
		if (first <= last)
			break;
		if (!at[n])
			return 0;
		at += n + 1;
	}
	err_set(err, "\"%s\" is not a list of GPUs", text);
	return err_hint(err, "write the number of each once, such as 0%c2 or "
	    "0-3, in the order of nvidia-smi", separator);
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
		char		*item = strndup(list, n), *colon, *name, *slash;
		struct host	 more = { .slots = 0 };
		int		 ret = 0;

		if (!item)
			return err_nomem(err), undo(hosts, before);
		slash = strstr(item, "/gpus=");
		if (slash) {
			*slash = '\0';
			ret = read_gpus(&more, slash + 6, '+', err);
		}
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
		if (!ret && colon &&
		    num_parse(colon + 1, 1, SLOTS_MAX, &more.slots) < 0)
			ret = bad_slots(colon + 1, err);
		if (!ret && colon)
			*colon = '\0';
		if (!ret)
			ret = add(hosts, name, strlen(name), &more, err);
		free(more.gpu);
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
	struct host more = *host;

	if (host->gpu) {
		more.gpu = malloc(host->gpus * sizeof *more.gpu);
		if (!more.gpu)
			return err_nomem(err);
		memcpy(more.gpu, host->gpu, host->gpus * sizeof *more.gpu);
	}
	return add(hosts, host->name, strlen(host->name), &more, err);
}

static int
add_line(struct hosts *hosts, char *line, struct err *err)
{
	struct host	 more = { .slots = 0 };
	size_t		 n;
	char		*word, *end;
	int		 ret = 0;

	line[strcspn(line, "#\r")] = '\0';
	line += strspn(line, " \t");
	n = strcspn(line, " \t");
	if (n == 0)
		return 0;
	for (word = line + n; !ret && *(word += strspn(word, " \t")); word = end) {
		end = word + strcspn(word, " \t");
		if (*end)
			*end++ = '\0';
		if (!strncmp(word, "slots=", 6)) {
			if (num_parse(word + 6, 1, SLOTS_MAX, &more.slots) < 0)
				ret = bad_slots(word + 6, err);
		} else if (!strncmp(word, "gpus=", 5) && !more.gpu) {
			ret = read_gpus(&more, word + 5, ',', err);
		} else if (strncmp(word, "max_slots=", 10) &&
		    strncmp(word, "max-slots=", 10)) {	/* Open MPI's */
			ret = err_set(err, "\"%s\" was not expected behind "
			    "the host's name", word);
			err_hint(err, "write one machine a line, such as: "
			    "node1 slots=8");
		}
	}
	if (!ret)
		ret = add(hosts, line, n, &more, err);
	free(more.gpu);
	return ret;
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
