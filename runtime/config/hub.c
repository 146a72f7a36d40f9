/* SPDX-License-Identifier: Apache-2.0 */
/* The Hugging Face hub's cache on this machine. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/model.h"

#include "runtime/base/banned.h"

/* The cache's folder, by the variables that huggingface_hub reads, in its
 * order.  Gives it; NULL without memory. */
static char *
cache(void)
{
	static const struct { const char *variable, *behind; } places[] = {
		{ "HF_HUB_CACHE", "" }, { "HUGGINGFACE_HUB_CACHE", "" },
		{ "HF_HOME", "/hub" }, { "XDG_CACHE_HOME", "/huggingface/hub" },
	};
	char	*path;

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *value = getenv(places[i].variable);

		if (value && *value)
			return asprintf(&path, "%s%s", value,
			    places[i].behind) < 0 ? NULL : path;
	}
	return asprintf(&path, "%s/.cache/huggingface/hub", file_home()) < 0 ?
	    NULL : path;
}

/* One part of a path, and not a way out of it. */
static bool
is_plain(const char *text, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return n && n < 128 && strspn(text, letters) >= n && *text != '.';
}

static bool
is_hub_name(const char *name)
{
	const char	*slash = strchr(name, '/');

	if (!slash)
		return is_plain(name, strlen(name));
	return is_plain(name, (size_t)(slash - name)) &&
	    is_plain(slash + 1, strlen(slash + 1));
}

static bool
is_folder(const char *path)
{
	struct stat	st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The snapshot that "main" names; else the only one there is. */
static char *
snapshot(const char *model)
{
	char		*path = NULL, *found = NULL;
	struct buf	 ref = { .max = 4096 };
	struct dirent	*entry;
	size_t		 n;
	DIR		*dir;

	if (asprintf(&path, "%s/refs/main", model) < 0)
		return NULL;
	if (file_read(path, &ref, NULL) == 0) {
		n = strcspn(buf_text(&ref), "\n");
		if (is_plain(buf_text(&ref), n) && asprintf(&found,
		    "%s/snapshots/%.*s", model, (int)n, buf_text(&ref)) < 0)
			found = NULL;
	}
	buf_clear(&ref);
	free(path);
	if (found && is_folder(found))
		return found;
	free(found);
	found = NULL;
	if (asprintf(&path, "%s/snapshots", model) < 0)
		return NULL;
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (found || asprintf(&found, "%s/%s", path,
		    entry->d_name) < 0) {
			free(found);	/* two, and nobody says which */
			found = NULL;
			break;
		}
	}
	if (dir)
		closedir(dir);
	free(path);
	return found;
}

char *
hub_find(const char *name, struct err *err)
{
	char	*folder = NULL, *model = NULL, *found = NULL;
	const char *slash = strchr(name, '/');

	if (!is_hub_name(name)) {
		err_set(err, "%s: there is no such file or folder", name);
		err_hint(err, "give a config.json, a .safetensors file or "
		    "index, a folder with these, or a hub name");
		return NULL;
	}
	if (!(folder = cache()) || asprintf(&model, "%s/models--%.*s%s%s",
	    folder, (int)(slash ? slash - name : (ptrdiff_t)strlen(name)),
	    name, slash ? "--" : "", slash ? slash + 1 : "") < 0) {
		model = NULL;
		err_nomem(err);
		goto out;
	}
	found = snapshot(model);
	if (!found) {
		err_set(err, "%s is no file here, and not in the hub's cache "
		    "(%s)", name, folder);
		err_hint(err, "nothing is downloaded by accel; this does: hf "
		    "download %s config.json", name);
	}
out:
	free(folder);
	free(model);
	return found;
}
