/* SPDX-License-Identifier: Apache-2.0 */
/* accel config default: a file for this machine, without questions. */
#include "runtime/cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/devices.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

struct fresh {
	const char	*config_file, *mixed_precision;
	bool		 force, print;
};

static const struct option options[] = {
	VALUE(struct fresh, config_file, "config_file", 0, "FILE", TAKES_YAML,
	    "write this file, not the default one"),
	CHOICE_OF(struct fresh, mixed_precision, "mixed_precision", "WORD",
	    "no fp16 bf16 fp8", "precision (no)"),
	SWITCH(struct fresh, force, "force", 'f', "replace a file"),
	SWITCH(struct fresh, print, "print", 0,
	    "print the file instead of writing it"),
	OPTIONS_END
};

/* The first kind that is there decides, in Accelerate's order. */
static const struct { enum device_kind kind; enum dist dist; } order[] = {
	{ DEVICE_MUSA, dist_MULTI_MUSA }, { DEVICE_HPU, dist_MULTI_HPU },
	{ DEVICE_NVIDIA, dist_MULTI_GPU }, { DEVICE_AMD, dist_MULTI_GPU },
	{ DEVICE_NPU, dist_MULTI_NPU }, { DEVICE_NEURON, dist_MULTI_NEURON },
	{ DEVICE_MLU, dist_MULTI_MLU },
};

static int
found(struct config *c, enum field_id id, const char *text, struct err *err)
{
	return config_set(c, id, text, ORIGIN_FOUND, err);
}

static int
fill(struct config *c, const struct fresh *o, struct err *err)
{
	const char	*root = getenv("ACCEL_DEVICES"), *mixed;
	enum dist	 dist = dist_NO;
	size_t		 devices[DEVICE_KINDS], n = 0;
	char		 number[24];

	devices_count(devices, root ? root : "");
	for (size_t i = 0; !n && i < sizeof order / sizeof *order; i++) {
		n = devices[order[i].kind];
		if (n > 1)
			dist = order[i].dist;
	}
	mixed = o->mixed_precision ? o->mixed_precision : "no";
	snprintf(number, sizeof number, "%zu", n ? n : 1);
	return found(c, FIELD_main_distributed_type,
	    fields[FIELD_main_distributed_type].choice[dist].word, err) ||
	    found(c, FIELD_main_num_processes, number, err) ||
	    found(c, FIELD_main_use_cpu, n ? "false" : "true", err) ||
	    found(c, FIELD_main_mixed_precision, mixed, err) ? -1 : 0;
}

/* A new text, even in the place of an old file: nothing of that stays. */
static int
write_new(const char *text, size_t n, const struct fresh *o, struct err *err)
{
	char	*path = o->config_file ? strdup(o->config_file) :
	    config_default_path();
	int	 ret = -1;

	if (!path)
		return err_nomem(err);
	if (access(path, F_OK) == 0 && !o->force) {
		err_set(err, "%s exists already", path);
		err_hint(err, "--force replaces it; accel config set changes "
		    "it");
	} else if ((ret = file_replace(path, text, n, 0644, err)) == 0)
		printf("written: %s\n", path);
	free(path);
	return ret;
}

/* JSON where the name says so: Accelerate reads no YAML there. */
static int
print(const struct config *c, const char *path, struct buf *out)
{
	size_t n = path ? strlen(path) : 0;

	return n > 5 && !strcmp(path + n - 5, ".json") ?
	    config_print_json(c, out) : config_print(c, out);
}

static int
run(struct call *call, struct err *err)
{
	const struct fresh	*o = call->options;
	struct config		 c;
	struct buf		 text = BUF_INIT;
	int			 ret;

	config_init(&c);
	ret = fill(&c, o, err);
	if (ret == 0 && (ret = print(&c, o->config_file, &text)) < 0)
		err_nomem(err);
	else if (ret == 0 && o->print)
		fputs(buf_text(&text), stdout);
	else if (ret == 0)
		ret = write_new(buf_text(&text), text.len, o, err);
	buf_clear(&text);
	config_clear(&c);
	return ret;
}

const struct command command_config_default = {
	"default", "write a file for this machine, without questions",
	.run = run, .path = "config default",
	.about = "Writes a file for this machine: a process for each "
	    "accelerator, or one on\nthe CPU.  accel-setup --defaults looks "
	    "closer and proposes more.",
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct fresh),
};
