/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/records.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/launch/record.h"

#include "runtime/base/banned.h"

enum { RECORD_BYTES = 4 << 20 };	/* of one file at most */

unsigned long long
process_born(pid_t pid)
{
	struct buf		 text = BUF_INIT;
	char			 path[40];
	const char		*at;
	unsigned long long	 born = 0;
	char			 state = 0;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	/* Behind the name, which may hold anything: field 22 of proc(5). */
	if (file_read(path, &text, NULL) == 0 &&
	    (at = strrchr(buf_text(&text), ')')))
		sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		    "%*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
		    &born);
	buf_clear(&text);
	return state == 'Z' || state == 'X' ? 0 : born;
}

/* A record, or NULL where the file is none. */
static json_t *
read_one(const char *folder, const char *name)
{
	struct buf	 path = BUF_INIT, text = { .max = RECORD_BYTES };
	json_t		*json = NULL;
	const char	*id;

	buf_addf(&path, "%s/%s", folder, name);
	if (file_read(buf_text(&path), &text, NULL) == 0)
		json = json_loadb(buf_text(&text), text.len, 0, NULL);
	buf_clear(&path);
	buf_clear(&text);
	id = json_string_value(json_object_get(json, "id"));
	/* Its name is its id, so that no other one is touched for its sake. */
	if (!id || strncmp(id, name, strlen(id)) ||
	    strcmp(name + strlen(id), ".json")) {
		json_decref(json);
		return NULL;
	}
	return json;
}

static bool
is_running(const json_t *json)
{
	const char	*state = json_string_value(json_object_get(json,
			    "state"));
	const char	*launcher = json_string_value(json_object_get(json,
			    "launcher"));
	json_int_t	 pid = json_integer_value(json_object_get(json, "pid"));
	char		 here[256] = "";

	if (!state || strcmp(state, "running"))
		return false;
	gethostname(here, sizeof here - 1);
	if (launcher && strcmp(launcher, here))
		return true;	/* of another machine: who knows */
	return pid > 0 && process_born((pid_t)pid) ==
	    (unsigned long long)json_integer_value(json_object_get(json,
	    "pid_born"));
}

static int
is_record(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && entry->d_name[0] != '.' &&
	    !strcmp(entry->d_name + n - 5, ".json");
}

/* Names sort by time.  Their number, or -1 with errno. */
static int
list(const char *folder, struct dirent ***names)
{
	return scandir(folder, names, is_record, alphasort);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

void
records_prune(const char *folder)
{
	struct dirent	**name;
	int		 n = list(folder, &name);
	int		 old = n > RECORDS_KEPT + RECORDS_SPARE ?
			    n - RECORDS_KEPT : 0;

	for (int i = 0; i < n; i++) {
		struct buf	 path = BUF_INIT;
		json_t		*json;

		if (i < old &&
		    (json = read_one(folder, name[i]->d_name))) {
			if (!is_running(json)) {
				buf_addf(&path, "%s/%s", folder,
				    name[i]->d_name);
				unlink(buf_text(&path));
				/* its own logs, without ".json" */
				path.data[path.len - 5] = '\0';
				nftw(path.data, remove_one, 16,
				    FTW_DEPTH | FTW_PHYS);
			}
			json_decref(json);
		}
		buf_clear(&path);
		free(name[i]);
	}
	if (n >= 0)
		free(name);
}

/* Names tell seconds apart, this tells more. */
static int
newest_first(const void *a, const void *b)
{
	const char *one = json_string_value(json_object_get(
	    *(json_t *const *)a, "started"));
	const char *two = json_string_value(json_object_get(
	    *(json_t *const *)b, "started"));

	return strcmp(two ? two : "", one ? one : "");
}

json_t *
records_read(struct err *err)
{
	char		*folder = record_folder();
	struct dirent	**name = NULL;
	json_t		*all = json_array(), **found = NULL;
	size_t		 count = 0;
	int		 n;

	if (!folder || !all) {
		err_nomem(err);
		json_decref(all);
		free(folder);
		return NULL;
	}
	n = list(folder, &name);
	if (n < 0 && errno != ENOENT) {
		err_set(err, "%s: %s", folder, strerror(errno));
		json_decref(all);
		all = NULL;
	}
	if (n > 0 && !(found = calloc((size_t)n, sizeof *found)))
		err_nomem(err);
	for (int i = n; i-- > 0; free(name[i])) {
		json_t		*json = found ? read_one(folder,
				    name[i]->d_name) : NULL;
		const char	*state = json_string_value(json_object_get(json,
				    "state"));

		if (state && !strcmp(state, "running") && !is_running(json))
			json_object_set_new(json, "state", json_string("lost"));
		if (json)
			found[count++] = json;
	}
	if (count)
		qsort(found, count, sizeof *found, newest_first);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, found[i]);
	free(found);
	free(name);
	free(folder);
	return all;
}
