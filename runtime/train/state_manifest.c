/* SPDX-License-Identifier: Apache-2.0 */
/* state_manifest: accel_state.json, see state_set.h. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/train/state_read.h"
#include "runtime/train/state_set.h"

#include "runtime/base/banned.h"

void
state_manifest_clear(struct state_manifest *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->file[i].name);
	free(m->file);
	strv_clear(&m->info);
	*m = (struct state_manifest){ .count = 0 };
}

/* Eight hexadecimal digits. */
static bool
read_crc(const json_t *j, uint32_t *out)
{
	const char *text = json_string_value(j);

	if (text == NULL || strlen(text) != 8 ||
	    strspn(text, "0123456789abcdef") != 8)
		return false;
	*out = (uint32_t)strtoul(text, NULL, 16);
	return true;
}

static int
read_files(struct state_manifest *m, json_t *files, struct err *err)
{
	const char *name;
	json_t *entry;

	m->file = calloc(json_object_size(files) + 1, sizeof(*m->file));
	if (m->file == NULL)
		return err_nomem(err);
	json_object_foreach(files, name, entry) {
		struct state_file *f = &m->file[m->count];
		json_t *bytes = json_object_get(entry, "bytes");

		/* A name is a file of this folder, whatever was written. */
		if (*name == '\0' || *name == '.' || strchr(name, '/') ||
		    strlen(name) > 200 || !json_is_integer(bytes) ||
		    json_integer_value(bytes) < 0 ||
		    !read_crc(json_object_get(entry, "crc32c"), &f->crc))
			return err_set(err, "what it says of the file "
			    "\"%.60s\" is not to be understood", name);
		f->bytes = (uint64_t)json_integer_value(bytes);
		f->name = strdup(name);
		if (f->name == NULL)
			return err_nomem(err);
		m->count++;
	}
	return 0;
}

static int
check_sum(json_t *root, const json_t *content, struct err *err)
{
	char *text = json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS);
	uint32_t crc, want;
	bool same;

	if (text == NULL)
		return err_nomem(err);
	crc = crc32c(0, text, strlen(text));
	free(text);
	same = read_crc(json_object_get(root, "crc32c"), &want) && crc == want;
	return same ? 0 : err_set(err, "it is damaged: its checksum is "
	    "another");
}

static int
read_content(struct state_manifest *m, json_t *content, struct err *err)
{
	const char *format = json_string_value(json_object_get(content,
	    "format")), *name;
	json_t *version = json_object_get(content, "version"), *value;

	if (format == NULL || strcmp(format, STATE_FORMAT) != 0)
		return err_set(err, "it is no manifest of a checkpoint of "
		    "libaccel");
	if (!json_is_integer(version) ||
	    json_integer_value(version) != STATE_FORMAT_VERSION)
		return err_set(err, "its version is another than %d, which "
		    "this libaccel reads", STATE_FORMAT_VERSION);
	json_object_foreach(json_object_get(content, "info"), name, value)
		if (json_string_value(value) != NULL && strchr(name, '=') ==
		    NULL && strv_setenv(&m->info, name,
		    json_string_value(value)) < 0)
			return err_nomem(err);
	return read_files(m, json_object_get(content, "files"), err);
}

int
state_manifest_parse(struct state_manifest *m, const char *text, size_t n,
    const char *name, struct err *err)
{
	json_error_t why;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	json_t *content = json_object_get(root, "content");
	int ret;

	*m = (struct state_manifest){ .count = 0 };
	if (root == NULL)
		return err_set(err, "%s:%d: %s", name, why.line, why.text);
	if (!json_is_object(content))
		ret = err_set(err, "it is no manifest of a checkpoint of "
		    "libaccel");
	else if ((ret = check_sum(root, content, err)) == 0)
		ret = read_content(m, content, err);
	json_decref(root);
	if (ret != 0) {
		state_manifest_clear(m);
		err_at(err, "%s", name);
	}
	return ret;
}
