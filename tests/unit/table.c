/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the table: what every row must have. */
#include <ctype.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

/* The value of a field after config_set, or the text "refused". */
static const char *
set(enum field_id id, const char *text)
{
	static struct buf	out = BUF_INIT;
	struct config		c;
	struct err		err = ERR_INIT;

	buf_clear(&out);
	config_init(&c);
	if (config_set(&c, id, text, ORIGIN_USER, &err))
		buf_adds(&out, "refused");
	else
		config_get(&c, id, &out);
	config_clear(&c);
	return buf_text(&out);
}

static void
test_values(void)
{
	const enum field_id	tree = FIELD_sagemaker_additional_args;
	const enum field_id	real = FIELD_megatron_gradient_clipping;

	is(set(tree, "{a: [1, 'x,y'], b: 'yes'}"), "{a: [1, 'x,y'], b: 'yes'}",
	    "any value of YAML is kept");
	is(set(tree, "a: 1"), "{a: 1}", "and becomes one line");
	is(set(tree, "{a"), "refused", "what is no YAML is refused");
	is(set(real, "1"), "1.0", "a whole number is a float, as in Python");
	is(set(real, "0.1"), "0.1", "with the fewest digits");
	is(set(real, "0.30000000000000004"), "0.30000000000000004",
	    "that give the same number");
	is(set(real, "1e8"), "100000000.0", "and without an exponent");
	is(set(real, "-1"), "refused", "in its range");
	is(set(FIELD_megatron_hidden_dropout, ""), "", "a number may be null");
	is(set(FIELD_main_distributed_type, "TPU"), "XLA", "an older word");
	is(set(FIELD_sagemaker_access_key, "AKIA"), "(secret)",
	    "a secret is not told");
}

/* Where a key belongs, by compute_environment. */
static void
test_places(void)
{
	struct config	c;
	size_t		local, cloud;

	config_init(&c);
	local = config_choices(&c, FIELD_main_distributed_type);
	ok(config_belongs(&c, FIELD_main_machine_rank) &&
	    config_belongs(&c, FIELD_main_debug) &&
	    !config_belongs(&c, FIELD_sagemaker_region) &&
	    !config_applies(&c, FIELD_sagemaker_region),
	    "machines of one's own have no region");
	c.main.compute_environment = place_AMAZON_SAGEMAKER;
	cloud = config_choices(&c, FIELD_main_distributed_type);
	ok(!config_belongs(&c, FIELD_main_machine_rank) &&
	    !config_belongs(&c, FIELD_fsdp_version) &&
	    config_belongs(&c, FIELD_main_debug) &&
	    config_belongs(&c, FIELD_dynamo_backend) &&
	    config_applies(&c, FIELD_sagemaker_region),
	    "a job at Amazon has, and no machine_rank");
	ok(cloud == dist_COUNT && local == cloud - 2 &&
	    local == dist_DATA_PARALLEL, "and two types more to choose from");
	ok(config_choices(&c, FIELD_main_debug) == 0, "a bool has no choices");
	config_clear(&c);
}

static void
test_retired(void)
{
	static const char *const keys[][2] = {
		{ "ipex_config: {ipex: true}", "MULTI_CPU or MULTI_XPU" },
		{ "use_xpu: true", "distributed_type: MULTI_XPU" },
		{ "tp_config: {tp_size: 2}", "parallelism_config_tp_size" },
		{ "max_restarts: 3", "accel launch --max_restarts" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct config	c;
		struct err	err = ERR_INIT;
		char		yaml[200];
		int		n = snprintf(yaml, sizeof(yaml),
		    "distributed_type: 'NO'\n%s\n", keys[i][0]);

		config_init(&c);
		ok(config_parse(&c, yaml, (size_t)n, "f", &err) == -1 &&
		    strstr(err.text, "f:2:1") && strstr(err.hint, keys[i][1]),
		    "%s: is refused, and says %s", keys[i][0], keys[i][1]);
		config_clear(&c);
	}
}

int
main(void)
{
	struct config	c, d;
	struct err	err = ERR_INIT;
	int		bad_ask = 0, twice = 0, bad_default = 0, lost = 0;
	int		bad_choice = 0, unfound = 0;

	config_init(&c);
	config_init(&d);
	for (int i = 0; i < FIELD_COUNT; i++) {
		const struct field	*f = &fields[i];
		struct buf		 one = BUF_INIT, two = BUF_INIT;
		size_t			 n = strlen(f->ask);

		if (!n || n > 60 || f->ask[n - 1] != '?' || !*f->help) {
			printf("# question of %s\n", f->key);
			bad_ask++;
		}
		for (int k = 0; k < i; k++)
			if (!strcmp(fields[k].key, f->key) &&
			    !strcmp(fields[k].group, f->group)) {
				printf("# twice: %s\n", f->key);
				twice++;
			}
		if (config_field_of(f->flag ? f->flag : f->key) != i) {
			printf("# not found: %s\n", f->key);
			unfound++;
		}
		config_get(&c, i, &one);
		if (config_set(&d, i, buf_text(&one), ORIGIN_USER, &err)) {
			printf("# %s: %s\n", f->key, err.text);
			bad_default++;
		}
		config_get(&d, i, &two);
		lost += strcmp(buf_text(&one), buf_text(&two)) != 0;
		for (const struct choice *k = f->choice; k && k->word; k++)
			bad_choice += config_set(&d, i, k->word, ORIGIN_USER,
			    &err) != 0;
		(void)config_applies(&c, i);
		buf_clear(&one);
		buf_clear(&two);
	}
	ok(!bad_ask, "each question ends in ? within 60 columns, with help");
	ok(!twice, "each key is there once in its section");
	ok(!unfound, "each flag finds its row");
	ok(!bad_default, "each default passes its own parser");
	ok(!lost, "printed and parsed again it is the same");
	ok(!bad_choice, "each word of each choice list parses");
	config_clear(&c);
	config_clear(&d);
	test_values();
	test_places();
	test_retired();
	return tap_done();
}
