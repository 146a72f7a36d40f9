/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as each kind of JSON that we read: the header of weights, a model's
 * shape, what DeepSpeed is told; and as a size. */
#include "runtime/base/err.h"
#include "runtime/base/safetensors.h"
#include "runtime/config/memory.h"
#include "runtime/config/model.h"
#include "runtime/config/rules.h"
#include "runtime/config/schema.h"
#include "tests/fuzz/fuzz.h"

static void
weights(const char *text, size_t n)
{
	struct safetensors	st = SAFETENSORS_INIT;
	struct err		err = ERR_INIT;
	uint64_t		size = 0;

	if (n < 2)
		return;
	size = (uint64_t)(unsigned char)text[n - 1];
	if (safetensors_parse(&st, text, n - 1, size, "f", &err)) {
		MUST(*err.text && !st.count);
		return;
	}
	for (size_t i = 0; i < st.count; i++)
		MUST(st.tensor[i].begin <= st.tensor[i].end &&
		    st.tensor[i].end <= size &&
		    safetensors_find(&st, st.tensor[i].name));
	safetensors_clear(&st);
}

static void
model(const char *text, size_t n)
{
	struct model	m;
	struct err	err = ERR_INIT;

	if (model_parse(&m, text, n, "f", &err))
		MUST(*err.text);
	model_clear(&m);
}

static void
deepspeed(const char *text, size_t n)
{
	struct config	 c;
	struct site	 site;
	struct problems	 problems = PROBLEMS_INIT;
	char		*copy = strndup(text, n);

	memset(&site, 0, sizeof(site));
	config_init(&c);
	c.main.distributed_type = dist_DEEPSPEED;
	if (*copy == '{' && !config_set(&c, FIELD_deepspeed_config_file, copy,
	    ORIGIN_USER, NULL) && !site_read_json(&site, &c, NULL))
		config_problems(&c, &site, &problems, NULL);
	problems_clear(&problems);
	config_clear(&c);
	free(copy);
}

static void
sizes(const char *text, size_t n)
{
	char		*copy = strndup(text, n);
	uint64_t	 size;

	model_count(copy, &size);
	memory_parse(copy, &size);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	sizes((const char *)data, n);
	weights((const char *)data, n);
	model((const char *)data, n);
	deepspeed((const char *)data, n);
	return 0;
}
