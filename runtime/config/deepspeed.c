/* SPDX-License-Identifier: Apache-2.0 */
/* What rules need to know of a DeepSpeed JSON file. */
#include "runtime/config/rules.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/file.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

enum { JSON_MAX = 4 << 20 };

/* URL-safe base64, as Accelerate takes it.  -1 where it is none. */
static int
unbase64(const char *text, struct buf *out)
{
	static const char	letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned long		bits = 0;
	int			have = 0;

	for (; *text && *text != '='; text++) {
		const char	*at = strchr(letters, *text);
		char		 byte;

		if (!at)
			return -1;
		bits = (bits << 6 | (unsigned long)(at - letters)) & 0xffffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		byte = (char)(bits >> have & 0xff);
		if (buf_add(out, &byte, 1) < 0)
			return -1;
	}
	return text[strspn(text, "=")] ? -1 : 0;
}

/* No batch is that large; and the product of three of them is a long. */
static long
number(json_t *in, const char *key)
{
	json_int_t	n = json_integer_value(json_object_get(in, key));

	return n > 0 && n < 1L << 20 ? (long)n : 0;
}

static void
offload(json_t *zero, const char *key, bool *on, struct deepspeed_json *j)
{
	json_t		*part = json_object_get(zero, key), *path;
	const char	*device = json_string_value(json_object_get(part,
	    "device"));

	*on = device && (!strcmp(device, "cpu") || !strcmp(device, "nvme"));
	if (!device || strcmp(device, "nvme"))
		return;
	path = json_object_get(part, "nvme_path");
	j->nvme_path = (!j->nvme || j->nvme_path) && json_is_string(path) &&
	    *json_string_value(path);
	j->nvme = true;
}

static void
take(struct deepspeed_json *j, json_t *all)
{
	json_t	*zero = json_object_get(all, "zero_optimization");
	long	 stage = number(zero, "stage");

	j->read = true;
	j->zero = json_is_object(zero);
	j->stage = stage <= 3 ? stage : 0;
	j->fp16 = json_is_true(json_object_get(json_object_get(all, "fp16"),
	    "enabled"));
	j->bf16 = json_is_true(json_object_get(json_object_get(all, "bf16"),
	    "enabled"));
	offload(zero, "offload_optimizer", &j->optimizer_offload, j);
	offload(zero, "offload_param", &j->param_offload, j);
	j->train_batch = number(all, "train_batch_size");
	j->micro_batch = number(all, "train_micro_batch_size_per_gpu");
	j->accumulation = number(all, "gradient_accumulation_steps");
}

int
site_read_json(struct site *site, const struct config *c, struct err *err)
{
	const char	*given = c->deepspeed.config_file;
	struct buf	 text = BUF_INIT;
	json_error_t	 where;
	json_t		*all;
	bool		 file;
	int		 ret = 0;

	site->json = (struct deepspeed_json){ 0 };
	site->json_fault = (struct err)ERR_INIT;
	site->json_missing = false;
	if (c->main.distributed_type != dist_DEEPSPEED || !given || !*given ||
	    !strcmp(given, "none"))
		return 0;
	text.max = JSON_MAX;
	file = access(given, F_OK) == 0;
	if (!file && given[strspn(given, " \t\r\n")] == '{') {
		ret = buf_adds(&text, given);
	} else if (!file && !unbase64(given, &text) && text.len &&
	    *text.data == '{') {
		ret = 0;
	} else {
		buf_clear(&text);
		site->json_missing = !file;
		if (!file || file_read(given, &text, &site->json_fault) < 0)
			goto out;
	}
	if (ret < 0) {
		err_nomem(err);
		goto out;
	}
	all = json_loadb(buf_text(&text), text.len, 0, &where);
	if (!json_is_object(all))
		err_set(&site->json_fault, "%s:%d:%d: %s",
		    file ? given : "JSON", where.line > 0 ? where.line : 1,
		    where.column > 0 ? where.column : 1, all ?
		    "this is no object" : where.text);
	else
		take(&site->json, all);
	json_decref(all);
out:
	buf_clear(&text);
	return ret;
}
