/* SPDX-License-Identifier: Apache-2.0 */
/* The DeepSpeed JSON that Accelerate makes from its own keys. */
#include "runtime/config/export.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/config/schema.h"

#include "runtime/base/banned.h"

/* A number where the text is one, else the text; "auto" for none. */
static json_t *
number_or_text(const char *text, bool whole)
{
	double	real;
	long	n;

	if (!text || !*text)
		return json_string("auto");
	if (whole && !num_parse(text, 0, 1L << 40, &n))
		return json_integer(n);
	if (!whole && !num_parse_real(text, -1e308, 1e308, &real))
		return json_real(real);
	return json_string(text);
}

static json_t *
place(enum offload device, const char *path)
{
	static const char *const	words[] = { [offload_none] = "none",
	    [offload_cpu] = "cpu", [offload_nvme] = "nvme" };
	json_t				*o = json_object();

	json_object_set_new(o, "device", json_string(words[device]));
	if (device == offload_nvme)
		json_object_set_new(o, "nvme_path", json_string(path ? path :
		    ""));
	return o;
}

static void
precision(json_t *all, const struct config *c)
{
	enum precision	p = c->main.mixed_precision;
	bool		bf16 = p == precision_bf16 || p == precision_fp8;
	json_t		*half = json_object(), *brain = json_object();

	json_object_set_new(half, "enabled", json_boolean(p == precision_fp16));
	if (p == precision_fp16)
		json_object_set_new(half, "auto_cast", json_true());
	json_object_set_new(brain, "enabled", json_boolean(bf16));
	json_object_set_new(all, "fp16", half);
	/* fp8 computes on top of bf16. */
	json_object_set_new(all, "bf16", brain);
	if (p == precision_fp8 && c->fp8.backend == fp8lib_MSAMP)
		json_object_set_new(all, "msamp", json_pack("{s:b, s:s}",
		    "enabled", 1, "opt_level",
		    c->fp8.opt_level == optlevel_O1 ? "O1" : "O2"));
}

int
export_deepspeed(const struct export *x, struct buf *out, struct err *err)
{
	const struct config	*c = x->config;
	const char		*clip = c->deepspeed.gradient_clipping;
	json_t			*all, *zero;
	double			 none;
	char			*text;

	if (c->main.distributed_type != dist_DEEPSPEED) {
		err_set(err, "distributed_type is not DEEPSPEED");
		return err_hint(err, "--use_deepspeed exports one all the same");
	}
	if (c->deepspeed.config_file) {
		err_set(err, "DeepSpeed has a file already: %s",
		    c->deepspeed.config_file);
		return err_hint(err, "it says all that an export would");
	}
	all = json_object();
	zero = json_object();
	json_object_set_new(all, "train_batch_size", json_string("auto"));
	json_object_set_new(all, "train_micro_batch_size_per_gpu",
	    json_string("auto"));
	json_object_set_new(all, "gradient_accumulation_steps",
	    number_or_text(c->deepspeed.gradient_accumulation_steps, true));
	if (!clip || num_parse_real(clip, 0, 0, &none) < 0)
		json_object_set_new(all, "gradient_clipping",
		    number_or_text(clip, false));
	json_object_set_new(zero, "stage", json_integer(c->deepspeed.zero_stage));
	json_object_set_new(zero, "offload_optimizer",
	    place(c->deepspeed.offload_optimizer_device,
	    c->deepspeed.offload_optimizer_nvme_path));
	json_object_set_new(zero, "offload_param",
	    place(c->deepspeed.offload_param_device,
	    c->deepspeed.offload_param_nvme_path));
	json_object_set_new(zero, "stage3_gather_16bit_weights_on_model_save",
	    json_boolean(c->deepspeed.zero3_save_16bit_model));
	json_object_set_new(all, "zero_optimization", zero);
	precision(all, c);
	text = json_dumps(all, JSON_INDENT(2));
	json_decref(all);
	if (!text || buf_adds(out, text) < 0 || buf_adds(out, "\n") < 0) {
		free(text);
		return err_nomem(err);
	}
	free(text);
	return 0;
}
