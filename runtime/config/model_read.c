/* SPDX-License-Identifier: Apache-2.0 */
/* A model from what lies on disk: config.json, weights, or both. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/safetensors.h"
#include "runtime/base/strv.h"
#include "runtime/config/model.h"

#include "runtime/base/banned.h"

enum { MAX_JSON = 64 << 20 };

struct weights {
	struct safetensors	*file;
	size_t			 files;
	const struct tensor	**tensor;	/* of all, names ascending */
	size_t			 count;
	uint64_t		 total;		/* bytes, by the index */
};

static void
weights_clear(struct weights *w)
{
	for (size_t i = 0; i < w->files; i++)
		safetensors_clear(&w->file[i]);
	free(w->file);
	free(w->tensor);
	*w = (struct weights){ NULL, 0, NULL, 0, 0 };
}

static int
weights_add(struct weights *w, const char *path, struct err *err)
{
	struct safetensors	*more = realloc(w->file,
	    (w->files + 1) * sizeof *more);

	if (!more)
		return err_nomem(err);
	w->file = more;
	if (safetensors_open(&w->file[w->files], path, err) < 0)
		return -1;
	w->count += w->file[w->files++].count;
	return 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp((*(const struct tensor *const *)a)->name,
	    (*(const struct tensor *const *)b)->name);
}

static int
weights_sort(struct weights *w, struct err *err)
{
	size_t	n = 0;

	w->tensor = calloc(w->count + 1, sizeof *w->tensor);
	if (!w->tensor)
		return err_nomem(err);
	for (size_t i = 0; i < w->files; i++)
		for (size_t k = 0; k < w->file[i].count; k++)
			w->tensor[n++] = &w->file[i].tensor[k];
	if (n)
		qsort(w->tensor, n, sizeof *w->tensor, by_name);
	return 0;
}

static bool
is_real(const struct tensor *t)
{
	return *t->dtype->name == 'F' || *t->dtype->name == 'B';
}

/*
 * The part of a model that a tensor belongs to, as a length of its name: up to
 * the first number ("model.layers.0."), which is a layer; else up to the last
 * dot, which is a module.
 */
static size_t
part_of(const char *name, bool *layer)
{
	const char	*dot = name, *last = name;

	*layer = false;
	while ((dot = strchr(dot, '.'))) {
		size_t digits = strspn(++dot, "0123456789");

		if (digits && dot[digits] == '.') {
			*layer = true;
			return (size_t)(dot - name) + digits + 1;
		}
		last = dot;
	}
	return (size_t)(last - name);
}

static bool
starts(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool
is_head(const char *name)
{
	return starts(name, "lm_head.") || starts(name, "embed_out.") ||
	    starts(name, "cls.") || starts(name, "score.") ||
	    starts(name, "classifier.");
}

static bool
is_table(const struct tensor *t)
{
	return t->rank == 2 && (strstr(t->name, "embed_tokens.weight") ||
	    strstr(t->name, "wte.weight") ||
	    strstr(t->name, "embed_in.weight") ||
	    strstr(t->name, "word_embeddings.weight") ||
	    !strcmp(t->name, "shared.weight"));
}

/* Counts what the headers tell. */
static void
count(const struct weights *w, struct model *m)
{
	uint64_t	 part = 0, layer = 0;
	const char	*before = NULL;
	size_t		 length = 0;

	m->from = "weights";
	for (size_t i = 0; i < w->count; i++) {
		const struct tensor	*t = w->tensor[i];
		bool			 real = is_real(t), in_layer;
		size_t			 n = part_of(t->name, &in_layer);
		uint64_t		 bytes = real ? 4 * t->elements :
		    t->end - t->begin;

		if (!before || n != length || strncmp(before, t->name, n)) {
			part = layer = 0;
			m->layers += in_layer;
		}
		before = t->name;
		length = n;
		if (real)
			m->params += t->elements;
		if (in_layer && real && (layer += t->elements) > m->block)
			m->block = layer;
		if (!is_head(t->name)) {
			m->plain_bytes += bytes;
			if ((part += bytes) > m->largest_bytes)
				m->largest_bytes = part;
		}
		if (is_table(t) && t->elements > m->embedding) {
			m->embedding = t->elements;
			m->vocab = t->shape[0];
			m->hidden = t->shape[1];
		}
	}
	m->active = m->params;
}

/* dir/name; NULL without memory. */
static char *
beside(const char *dir, const char *name)
{
	char	*path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static json_t *
read_json(const char *path, struct err *err)
{
	struct buf	 text = { .max = MAX_JSON };
	json_error_t	 where;
	json_t		*root = NULL;

	if (file_read(path, &text, err) == 0 && !(root = json_loadb(
	    buf_text(&text), text.len, 0, &where)))
		err_set(err, "%s:%d:%d: %s", path, where.line, where.column,
		    where.text);
	buf_clear(&text);
	return root;
}

/* Opens the files that an index names.  1, and *err, where one of them is not
 * here. */
static int
read_index(struct weights *w, const char *path, const char *dir,
    struct err *err)
{
	json_t		*root = read_json(path, err), *map, *value;
	const char	*name;
	json_t		*seen = json_object();
	int		 ret = 0;

	map = json_object_get(root, "weight_map");
	if (root && !json_is_object(map)) {
		err_set(err, "%s: no weight_map", path);
		err_hint(err, "an index of safetensors files was expected");
	}
	if (!json_is_object(map)) {
		json_decref(root);
		json_decref(seen);
		return -1;
	}
	value = json_object_get(json_object_get(root, "metadata"),
	    "total_size");
	w->total = json_integer_value(value) > 0 ?
	    (uint64_t)json_integer_value(value) : 0;
	json_object_foreach(map, name, value) {
		const char	*file = json_string_value(value);
		char		*part;

		if (!file || !*file || strchr(file, '/')) {
			ret = err_set(err, "%s: weight_map: \"%s\" does not "
			    "name a file", path, name);
			break;
		}
		if (json_object_get(seen, file))
			continue;
		json_object_set_new(seen, file, json_true());
		if (!(part = beside(dir, file))) {
			ret = err_nomem(err);
			break;
		}
		if (access(part, F_OK) < 0) {
			err_set(err, "%s is not here, and %s names it", part,
			    path);
			err_hint(err, "download it; or give the config.json");
			ret = 1;
		} else
			ret = weights_add(w, part, err);
		free(part);
		if (ret)
			break;
	}
	json_decref(root);
	json_decref(seen);
	return ret;
}

/* The parameters of an index whose files are not here: its total, by the type
 * that config.json names. */
static int
from_total(const struct weights *w, struct model *m, const char *config)
{
	json_t		*root = read_json(config, NULL);
	const char	*type = json_string_value(json_object_get(root,
	    "torch_dtype"));
	unsigned	 bytes = 0;

	if (!type)
		type = json_string_value(json_object_get(root, "dtype"));
	if (type && !strcmp(type, "float32"))
		bytes = 4;
	else if (type && (!strcmp(type, "bfloat16") ||
	    !strcmp(type, "float16")))
		bytes = 2;
	json_decref(root);
	if (!bytes || !w->total || w->total >> 60)
		return -1;	/* *err tells of the missing file */
	m->from = "index";
	m->params = w->total / bytes;
	return 0;
}

struct place {			/* what lies in a folder, or was named */
	char	*dir, *config, *weights, *index;
};

static void
place_clear(struct place *p)
{
	free(p->dir);
	free(p->config);
	free(p->weights);
	free(p->index);
}

static char *
if_there(const char *dir, const char *name)
{
	char	*path = beside(dir, name);

	if (path && access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static bool
has_tail(const char *text, const char *tail)
{
	size_t	n = strlen(text), k = strlen(tail);

	return n >= k && !strcmp(text + n - k, tail);
}

static int
place_find(struct place *p, const char *path, struct err *err)
{
	const char	*slash = strrchr(path, '/');
	struct stat	 st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		p->dir = strdup(path);
		if (!p->dir)
			return err_nomem(err);
		p->config = if_there(path, "config.json");
		p->weights = if_there(path, "model.safetensors");
		p->index = if_there(path, "model.safetensors.index.json");
		if (p->config || p->weights || p->index)
			return 0;
		err_set(err, "%s: neither a config.json nor safetensors are "
		    "in it", path);
		return err_hint(err, "other formats (.bin, .gguf) are not "
		    "read; give --params and the shape by hand");
	}
	p->dir = !slash ? strdup(".") : slash == path ? strdup("/") :
	    strndup(path, (size_t)(slash - path));
	if (!p->dir)
		return err_nomem(err);
	if (has_tail(path, ".safetensors"))
		p->weights = strdup(path);
	else if (has_tail(path, ".index.json"))
		p->index = strdup(path);
	else {
		p->config = strdup(path);
		return p->config ? 0 : err_nomem(err);
	}
	p->config = if_there(p->dir, "config.json");
	return p->weights || p->index ? 0 : err_nomem(err);
}

static int
read_config(struct model *m, const char *path, struct err *err)
{
	struct buf	text = { .max = MAX_JSON };
	int		ret = file_read(path, &text, err);

	if (ret == 0)
		ret = model_parse(m, buf_text(&text), text.len, path, err);
	buf_clear(&text);
	return ret;
}

/* Weights tell how many; a config.json that is understood tells the shape, and
 * is enough where the weights, or a part of them, are not here. */
static int
read_place(struct model *m, const struct place *p, struct err *err)
{
	struct model	counted = { .name = NULL };
	struct weights	w = { .file = NULL };
	struct err	why = ERR_INIT, missing = ERR_INIT;
	int		got = 1, ret = -1;
	bool		known = p->config &&
	    read_config(m, p->config, &why) == 0;

	if (p->weights)
		got = weights_add(&w, p->weights, &missing);
	else if (p->index)
		got = read_index(&w, p->index, p->dir, &missing);
	else
		missing = why;
	if (got == 0 && (ret = weights_sort(&w, &missing)) == 0)
		count(&w, &counted);
	else if (got > 0 && known)
		ret = 0;
	else if (got > 0 && p->index && p->config)
		ret = from_total(&w, &counted, p->config);
	if (ret < 0 && err)
		*err = missing;
	if (known && ret == 0)
		m->stored = counted.params;
	else if (known)
		model_clear(m);
	else if (ret == 0)
		*m = counted;
	weights_clear(&w);
	return ret;
}

int
model_read(struct model *m, const char *name, struct err *err)
{
	struct place	 p = { NULL, NULL, NULL, NULL };
	char		*found = NULL, *copy = strdup(name);
	int		 ret = -1;

	*m = (struct model){ .name = NULL };
	if (!copy) {
		err_nomem(err);
		goto out;
	}
	if (access(name, F_OK) < 0 && !(found = hub_find(name, err)))
		goto out;
	if (place_find(&p, found ? found : name, err) < 0 ||
	    read_place(m, &p, err) < 0)
		goto out;
	free(m->name);
	m->name = copy;
	copy = NULL;
	if (model_settle(m, err) < 0)
		model_clear(m);
	else
		ret = 0;
out:
	place_clear(&p);
	free(found);
	free(copy);
	return ret;
}
