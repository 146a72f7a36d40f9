/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/cloud.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

/* What gcloud would take for a flag is no name. */
static int
check_pod(const char *name, const char *zone, struct err *err)
{
	const struct { const char *key, *value, *hint; } two[] = {
		{ "tpu_name", name, "as gcloud knows it" },
		{ "tpu_zone", zone, "such as us-central1-a" },
	};

	for (int i = 0; i < 2; i++)
		if (!two[i].value || !*two[i].value ||
		    *two[i].value == '-') {
			err_set(err, two[i].value && *two[i].value ?
			    "%s \"%s\" is no name" : "no %s was given",
			    two[i].key, two[i].value);
			return err_hint(err, "give --%s, or set it in the "
			    "file: %s", two[i].key, two[i].hint);
		}
	return 0;
}

static int
gcloud_words(struct strv *argv, bool alpha, const char *name,
    const char *zone, const char *command, const char *worker)
{
	const char *const words[] = { "compute", "tpus", "tpu-vm", "ssh", name,
	    "--zone", zone, "--command", command, "--worker", worker };

	if (strv_add(argv, "gcloud") < 0 ||
	    (alpha && strv_add(argv, "alpha") < 0))
		return -1;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strv_add(argv, words[i]) < 0)
			return -1;
	return 0;
}

/* The words of pip.  A version goes to a shell of the pod: it is one, or one
 * of two names. */
static int
install_words(const char *version, struct buf *out, struct err *err)
{
	if (!strcmp(version, "latest"))
		return buf_adds(out, "pip install accelerate -U");
	if (!strcmp(version, "dev"))
		return buf_adds(out, "pip install "
		    "git+https://github.com/huggingface/accelerate.git");
	if (!isdigit((unsigned char)*version) ||
	    version[strspn(version, "0123456789.+!"
	    "abcdefghijklmnopqrstuvwxyz")]) {
		err_set(err, "\"%s\" is no version of accelerate", version);
		return err_hint(err, "latest, dev, or one such as 1.2.0");
	}
	return buf_addf(out, "pip install accelerate==%s", version);
}

int
tpu_setup_words(const struct tpu_setup *setup, struct strv *argv,
    struct err *err)
{
	struct buf	line = BUF_INIT;
	int		ret = -1;

	if (check_pod(setup->name, setup->zone, err) < 0)
		return -1;
	buf_adds(&line, "cd /usr/share; ");
	if (setup->accelerate) {
		if (install_words(setup->accelerate, &line, err) < 0)
			goto out;
		buf_adds(&line, "; ");
	}
	for (size_t i = 0; i < setup->commands.count; i++)
		buf_addf(&line, "%s%s", i ? "; " : "",
		    setup->commands.item[i]);
	ret = buf_failed(&line) || gcloud_words(argv, setup->alpha,
	    setup->name, setup->zone, buf_text(&line), "all") < 0 ?
	    err_nomem(err) : 0;
out:
	buf_clear(&line);
	return ret;
}

/* A word for the shell of the pod, as itself. */
static void
quote(struct buf *out, const char *word)
{
	if (out->len)
		buf_adds(out, " ");
	if (*word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,=@%")]) {
		buf_adds(out, word);
		return;
	}
	buf_adds(out, "'");
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(out, "'\\''");
		else
			buf_add(out, word, 1);
	buf_adds(out, "'");
}

/* Numbers of workers with commas, or all of them. */
static int
worker(const struct config *c, struct buf *out, struct err *err)
{
	const char *s = c->main.tpu_vm;

	if (!s || !*s)
		return buf_adds(out, "all");
	for (; *s; s++)
		if (isdigit((unsigned char)*s) || (*s == '\n' && s[1]))
			buf_addf(out, "%c", *s == '\n' ? ',' : *s);
		else if (*s != '\n') {
			err_set(err, "tpu_vm names machines, and gcloud knows "
			    "the workers of a pod by number");
			return err_hint(err, "write numbers, such as [0, 1], "
			    "or leave it out for all of %s",
			    c->main.tpu_name);
		}
	return 0;
}

/* Variables are set by env(1) behind sudo, which would drop them. */
static int
add_variables(const struct config *c, const struct strv *more,
    struct buf *line, struct err *err)
{
	const struct env_facts	 facts = { .device = ENV_TPU };
	struct strv		 env = STRV_INIT;
	const char		*s = c->main.tpu_env ? c->main.tpu_env : "";
	const char		*end;
	int			 ret = config_env(c, &facts, &env, err);

	quote(line, "env");
	for (size_t i = 0; ret == 0 && i < env.count; i++)
		quote(line, env.item[i]);
	quote(line, "ACCELERATE_IN_TPU_POD=1");
	for (; ret == 0 && (end = strchr(s, '\n')); s = end + 1) {
		struct buf item = BUF_INIT;

		buf_add(&item, s, (size_t)(end - s));
		if (!strchr(buf_text(&item), '=')) {
			err_set(err, "tpu_env: \"%s\" is not NAME=VALUE",
			    buf_text(&item));
			ret = err_hint(err, "such as XLA_FLAGS=--xla_dump");
		} else
			quote(line, buf_text(&item));
		buf_clear(&item);
	}
	for (size_t i = 0; more && i < more->count; i++)
		quote(line, more->item[i]);
	strv_clear(&env);
	return ret;
}

int
tpu_launch_words(const struct config *c, char *const script[],
    const struct strv *more, struct strv *argv, struct err *err)
{
	static const char *const fixed[] = {
		"accelerate-launch", "--tpu", "--no_tpu_cluster",
		"--num_machines", "1", "--mixed_precision", "no",
		"--dynamo_backend", "no"
	};
	struct buf	line = BUF_INIT, workers = BUF_INIT;
	char		number[24];
	int		ret = -1;

	if (check_pod(c->main.tpu_name, c->main.tpu_zone, err) < 0 ||
	    worker(c, &workers, err) < 0)
		goto out;
	if (c->main.tpu_use_sudo)
		quote(&line, "sudo");
	if (add_variables(c, more, &line, err) < 0)
		goto out;
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		quote(&line, fixed[i]);
	if (c->main.num_processes > 0) {
		snprintf(number, sizeof number, "%ld", c->main.num_processes);
		quote(&line, "--num_processes");
		quote(&line, number);
	}
	if (c->main.main_training_function) {
		quote(&line, "--main_training_function");
		quote(&line, c->main.main_training_function);
	}
	for (; *script; script++)
		quote(&line, *script);
	ret = buf_failed(&line) || buf_failed(&workers) ||
	    gcloud_words(argv, false, c->main.tpu_name, c->main.tpu_zone,
	    buf_text(&line), buf_text(&workers)) < 0 ? err_nomem(err) : 0;
out:
	buf_clear(&line);
	buf_clear(&workers);
	return ret;
}
