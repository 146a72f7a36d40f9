/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/num.h"
#include "runtime/config/cloud.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

enum { TABLE_MAX = 4 << 20 };

/* ---- hyperparameters ----------------------------------------------------- */

static bool
is_number(const char *text, double *value)
{
	return num_parse_real(text, -1e308, 1e308, value) == 0;
}

static json_t *
value_of(const char *text)
{
	double	value;
	long	whole;

	if (!strcmp(text, "True") || !strcmp(text, "False"))
		return json_boolean(*text == 'T');
	if (num_parse(text, LONG_MIN, LONG_MAX, &whole) == 0)
		return json_integer(whole);
	if (!is_number(text, &value))
		return json_string(text);
	if (value >= -9e15 && value <= 9e15 &&
	    (double)(json_int_t)value == value)
		return json_integer((json_int_t)value);
	return json_real(value);
}

static int
add_parameter(json_t *all, const char *name, size_t n, const char *value,
    struct err *err)
{
	char	*key = strndup(name, n);
	json_t	*v = value_of(value);
	int	 ret = -1;

	if (!key || !v) {
		err_nomem(err);
		json_decref(v);
		goto out;
	}
	for (char *p = key; *p; p++)
		if (*p == '-')
			*p = '_';
	if (json_object_get(all, key)) {
		err_set(err, "the script's argument %.*s is given twice",
		    (int)n, name);
		err_hint(err, "SageMaker has one value for each");
		json_decref(v);
	} else
		ret = json_object_set_new(all, key, v);
out:
	free(key);
	return ret;
}

json_t *
sagemaker_hyperparameters(char *const args[], struct err *err)
{
	json_t	*all = json_object();
	double	 number;

	while (*args) {
		const char	*name = *args + strspn(*args, "-");
		const char	*equals = strchr(name, '='), *value;
		size_t		 n = equals ? (size_t)(equals - name) :
		    strlen(name);

		if (name == *args || !n) {
			err_set(err, "the script's argument \"%s\" has no "
			    "name", *args);
			err_hint(err, "SageMaker passes names and values: "
			    "--name %s", *args);
			goto bad;
		}
		value = equals ? equals + 1 : args[1];
		if (!value || (!equals && *value == '-' &&
		    !is_number(value, &number))) {
			err_set(err, "the script's argument %s has no value",
			    *args);
			err_hint(err, "SageMaker passes names and values: %s "
			    "True", *args);
			goto bad;
		}
		if (add_parameter(all, name, n, value, err) < 0)
			goto bad;
		args += equals ? 1 : 2;
	}
	return all;
bad:
	json_decref(all);
	return NULL;
}

/* ---- tables -------------------------------------------------------------- */

/* A heading, then two columns with a tab between.  "add" takes them. */
static int
read_table(const char *path, json_t *all,
    int (*add)(json_t *all, const char *a, const char *b), struct err *err)
{
	struct buf	 text = { .max = TABLE_MAX };
	char		*line, *end, *tab;
	int		 ret = -1, number = 1;

	if (file_read(path, &text, err) < 0)
		goto out;
	for (line = text.data; line && *line; line = end, number++) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		if (number == 1 || !*line)
			continue;
		tab = strchr(line, '\t');
		if (!tab || strchr(tab + 1, '\t')) {
			err_set(err, "%s:%d: \"%s\" is not two columns with a "
			    "tab between", path, number, line);
			err_hint(err, "the first line is a heading; the "
			    "others are a name, a tab, and its value");
			goto out;
		}
		*tab++ = '\0';
		if (add(all, line, tab + strspn(tab, " ")) < 0) {
			err_set(err, "%s:%d: not UTF-8", path, number);
			goto out;
		}
	}
	ret = 0;
out:
	buf_clear(&text);
	return ret;
}

static int
add_input(json_t *all, const char *name, const char *where)
{
	return json_object_set_new(all, name, json_string(where));
}

static int
add_metric(json_t *all, const char *name, const char *regex)
{
	return json_array_append_new(all, json_pack("{s:s, s:s}", "Name", name,
	    "Regex", regex));
}

/* ---- the job ------------------------------------------------------------- */

static json_t *
environment(const struct config *c, const struct strv *more, struct err *err)
{
	struct strv	 env = STRV_INIT;
	json_t		*all = json_object();
	int		 ret = config_env(c, NULL, &env, err);

	for (int k = 0; ret == 0 && k < 2; k++) {
		const struct strv *v = k ? more : &env;

		for (size_t i = 0; v && ret == 0 && i < v->count; i++) {
			const char *equals = strchr(v->item[i], '=');
			char *name = strndup(v->item[i],
			    (size_t)(equals - v->item[i]));

			ret = name ? json_object_set_new(all, name,
			    json_string(equals + 1)) : -1;
			if (ret < 0)
				err_set(err, "the variable %s is not UTF-8",
				    name ? name : "");
			free(name);
		}
	}
	strv_clear(&env);
	if (ret == 0)
		return all;
	json_decref(all);
	return NULL;
}

/* A mapping over another: inner mappings are joined, all else is replaced. */
static void
merge(json_t *to, json_t *from)
{
	const char	*key;
	json_t		*value, *old;

	json_object_foreach(from, key, value) {
		old = json_object_get(to, key);
		if (json_is_object(value) && json_is_object(old))
			merge(old, value);
		else
			json_object_set(to, key, value);
	}
}

/* What the user adds, which is a text of YAML in the configuration. */
static int
merge_additional(const struct config *c, json_t *to, struct err *err)
{
	struct buf	 text = BUF_INIT;
	json_t		*all, *more;
	int		 ret = 0;

	if (!c->sagemaker.additional_args)
		return 0;
	if (config_print_json(c, &text) < 0)
		return err_nomem(err);
	all = json_loadb(buf_text(&text), text.len, 0, NULL);
	buf_clear(&text);
	more = json_object_get(all, "additional_args");
	if (json_is_object(more))
		merge(to, more);
	else {
		err_set(err, "additional_args is no mapping");
		ret = err_hint(err, "such as {max_run: 3600}: arguments of the "
		    "estimator");
	}
	json_decref(all);
	return ret;
}

static json_t *
estimator(const struct config *c, char *const script[],
    const struct strv *more, struct err *err)
{
	const char	*slash = strrchr(script[0], '/');
	const char	*entry = slash ? slash + 1 : script[0], *dot;
	char		*folder = !slash ? strdup(".") : strndup(script[0],
	    slash == script[0] ? 1 : (size_t)(slash - script[0]));
	json_t		*parameters = NULL, *env = NULL, *metrics = NULL, *all;
	int		 data = c->main.distributed_type == dist_DATA_PARALLEL;

	all = NULL;
	dot = strrchr(entry, '.');
	if (c->launch.module || c->launch.no_python || !dot ||
	    strcmp(dot, ".py")) {
		err_set(err, "%s: SageMaker takes a Python script, neither a "
		    "module nor a program", script[0]);
		err_hint(err, "give a file whose name ends in .py");
		goto out;
	}
	if (!(parameters = sagemaker_hyperparameters(script + 1, err)) ||
	    !(env = environment(c, more, err)))
		goto out;
	if (c->sagemaker.metrics_file) {
		metrics = json_array();
		if (read_table(c->sagemaker.metrics_file, metrics, add_metric,
		    err) < 0)
			goto out;
	}
	all = json_pack("{s:s?, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:I,"
	    " s:s, s:b, s:o?, s:O, s:O, s:O?}",
	    "image_uri", c->sagemaker.image_uri, "entry_point", entry,
	    "source_dir", folder, "role", c->sagemaker.iam_role_name,
	    "transformers_version", c->sagemaker.transformers_version,
	    "pytorch_version", c->sagemaker.pytorch_version,
	    "py_version", c->sagemaker.py_version,
	    "base_job_name", c->sagemaker.base_job_name,
	    "instance_count", (json_int_t)c->main.num_machines,
	    "instance_type", c->sagemaker.ec2_instance_type,
	    "debugger_hook_config", 0, "distribution", data ?
	    json_pack("{s:{s:{s:b}}}", "smdistributed", "dataparallel",
	    "enabled", 1) : NULL, "hyperparameters", parameters,
	    "environment", env, "metric_definitions", metrics);
	if (!all)
		err_set(err, "a text of the configuration is not UTF-8");
	else if (merge_additional(c, all, err) < 0) {
		json_decref(all);
		all = NULL;
	}
out:
	free(folder);
	json_decref(parameters);
	json_decref(env);
	json_decref(metrics);
	return all;
}

json_t *
sagemaker_job(const struct config *c, char *const script[],
    const struct strv *more, struct err *err)
{
	json_t *all, *inputs = NULL;

	if (c->sagemaker.inputs_file) {
		inputs = json_object();
		if (read_table(c->sagemaker.inputs_file, inputs, add_input,
		    err) < 0) {
			json_decref(inputs);
			return NULL;
		}
	}
	all = estimator(c, script, more, err);
	if (!all) {
		json_decref(inputs);
		return NULL;
	}
	return json_pack("{s:o, s:o?}", "estimator", all, "inputs", inputs);
}

int
sagemaker_account(const struct config *c, struct strv *env, struct err *err)
{
	const char	*key = c->sagemaker.access_key;
	const char	*secret = c->sagemaker.secret_key;
	int		 ret = 0;

	if (c->sagemaker.region)
		ret = strv_add(env, "AWS_DEFAULT_REGION") |
		    strv_add(env, c->sagemaker.region);
	if (c->sagemaker.profile)
		ret |= strv_add(env, "AWS_PROFILE") |
		    strv_add(env, c->sagemaker.profile);
	else if (key && secret)
		ret |= strv_add(env, "AWS_ACCESS_KEY_ID") |
		    strv_add(env, key) |
		    strv_add(env, "AWS_SECRET_ACCESS_KEY") |
		    strv_add(env, secret);
	else if (!getenv("AWS_ACCESS_KEY_ID") ||
	    !getenv("AWS_SECRET_ACCESS_KEY")) {
		err_set(err, "no AWS account: the file has no profile, and "
		    "there are no keys");
		return err_hint(err, "set profile, or the variables "
		    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
	}
	return ret ? err_nomem(err) : 0;
}
