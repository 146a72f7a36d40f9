/* SPDX-License-Identifier: Apache-2.0 */
/* The table as JSON has every row, with what the row says. */
#include <jansson.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static json_t	*all;

static const json_t *
row(const char *key, const char *name)
{
	size_t	 i;
	json_t	*o;

	json_array_foreach(all, i, o)
		if (!strcmp(json_string_value(json_object_get(o, "key")), key))
			return json_object_get(o, name);
	return NULL;
}

static const char *
text(const char *key, const char *name)
{
	return json_string_value(row(key, name));
}

int
main(void)
{
	static const char *const must[] = { "key", "title", "type", "ask",
	    "default", "condition", "help", "is" };
	struct buf	 out = BUF_INIT;
	size_t		 i;
	json_t		*o;
	int		 lacking = 0, wordless = 0;

	ok(!config_schema_json(&out) && (all = json_loads(buf_text(&out), 0,
	    NULL)), "it is JSON");
	ok(json_array_size(all) == FIELD_COUNT, "with a row for each field");
	json_array_foreach(all, i, o) {
		for (size_t k = 0; k < sizeof(must) / sizeof(must[0]); k++)
			lacking += !json_object_get(o, must[k]);
		lacking += strcmp(json_string_value(json_object_get(o, "key")),
		    fields[i].key) != 0;
		if (fields[i].choice)
			wordless += !json_array_size(json_object_get(o,
			    "choices"));
	}
	ok(!lacking, "each says what it must, in the table's order");
	ok(!wordless, "and its choices");

	is(text("fsdp_version", "group"), "fsdp_config", "a section");
	is(text("fsdp_version", "type"), "int", "a type");
	ok(json_integer_value(json_array_get(row("fsdp_version", "range"), 1))
	    == 2, "a range");
	is(text("fsdp_version", "env"), "FSDP_VERSION", "a variable");
	is(text("fsdp_version", "condition"),
	    "c->main.distributed_type == dist_FSDP", "a condition");
	ok(json_is_null(row("num_processes", "default")), "null is null");
	ok(json_is_true(row("same_network", "default")), "a bool");
	is(text("rdzv_backend", "default"), "static", "a text");
	is(text("distributed_type", "default"), "NO", "a choice");
	ok(json_real_value(row("megatron_lm_gradient_clipping", "default"))
	    > 0.99, "a number");
	is(text("backend", "flag"), "fp8_backend", "a flag that is not the key");
	is(text("tpu_name", "flag"), NULL, "no flag");
	is(text("tpu_use_cluster", "negation"), "no_tpu_cluster", "a negation");
	is(text("use_cpu", "alias"), "cpu", "an alias");
	is(text("module", "letter"), "m", "a letter");
	is(json_string_value(json_array_get(row("aws_secret_access_key", "is"),
	    1)), "secret", "a secret is one");
	json_decref(all);
	buf_clear(&out);
	return tap_done();
}
