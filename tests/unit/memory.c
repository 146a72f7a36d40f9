/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a rank, against the formulas as their sources have them and
 * the cases that they are known for.
 */
#include <math.h>
#include <stdlib.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/memory.h"
#include "runtime/config/model.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static struct model bare;	/* parameters and no shape */

static bool
near_to(double got, double want)
{
	if (fabs(got - want) <= 1e-9 * fabs(want))
		return true;
	printf("#   got: %.17g\n#  want: %.17g\n", got, want);
	return false;
}

static struct memory_order
order(double params, enum sharding kind, enum training training, long ranks)
{
	struct memory_order	o = MEMORY_ORDER_INIT;

	bare = (struct model){ .params = (uint64_t)params,
	    .active = (uint64_t)params };
	o.model = &bare;
	o.sharding = kind;
	o.training = training;
	o.ranks = ranks;
	return o;
}

static struct memory
estimate(struct memory_order o)
{
	struct memory	m;
	struct err	err = ERR_INIT;

	ok(memory_estimate(&m, &o, &err) == 0, "the numbers go together");
	return m;
}

/* Parameters, gradients and optimizer on the device. */
static double
state(const struct memory *m)
{
	return m->part[PART_PARAMS] + m->part[PART_GRADS] +
	    m->part[PART_OPTIMIZER];
}

/* ZeRO, arXiv 1910.02054, figure 1: 7.5 billion parameters on 64 ranks take
 * 120, 31.4, 16.6 and 1.9 GB. */
static void
test_zero_figure(void)
{
	static const struct { enum sharding kind; double gb; } rows[] = {
		{ SHARDING_ZERO1, 31.4 }, { SHARDING_ZERO2, 16.6 },
		{ SHARDING_ZERO3, 1.9 },
	};
	struct memory	m = estimate(order(7.5e9, SHARDING_NONE, TRAINING_FP16,
	    64));

	ok(near_to(state(&m), 120e9), "figure 1: without ZeRO 120 GB");
	for (size_t i = 0; i < 3; i++) {
		m = estimate(order(7.5e9, rows[i].kind, TRAINING_FP16, 64));
		ok(fabs(state(&m) / 1e9 - rows[i].gb) < 0.05,
		    "figure 1: %s %.1f GB", sharding_words[rows[i].kind].word,
		    rows[i].gb);
	}
}

/* The rows of the design's table: bytes for each parameter that stay, and
 * those that N ranks share. */
static void
test_state(void)
{
	static const struct { enum sharding kind; enum training t;
	    double own, shared; } rows[] = {
		{ SHARDING_NONE,  TRAINING_FP32, 16, 0 },
		{ SHARDING_NONE,  TRAINING_BF16, 16, 0 },
		{ SHARDING_NONE,  TRAINING_PURE, 8, 0 },
		{ SHARDING_ZERO1, TRAINING_BF16, 4, 12 },
		{ SHARDING_ZERO2, TRAINING_BF16, 2, 14 },
		{ SHARDING_ZERO3, TRAINING_BF16, 0, 16 },
		{ SHARDING_ZERO1, TRAINING_FP32, 8, 8 },
		{ SHARDING_ZERO2, TRAINING_FP32, 4, 12 },
		{ SHARDING_ZERO3, TRAINING_FP32, 0, 16 },
		{ SHARDING_FULL,  TRAINING_FP32, 0, 16 },
		{ SHARDING_FULL,  TRAINING_BF16, 0, 16 },
		{ SHARDING_FULL,  TRAINING_PURE, 0, 8 },
		{ SHARDING_GRAD_OP, TRAINING_BF16, 2, 16 },
		{ SHARDING_GRAD_OP, TRAINING_FP32, 4, 16 },
		{ SHARDING_MEGATRON, TRAINING_FP16, 20, 0 },
		{ SHARDING_MEGATRON, TRAINING_BF16, 18, 0 },
		{ SHARDING_MEGATRON, TRAINING_FP32, 16, 0 },
		{ SHARDING_MEGATRON_DIST, TRAINING_FP16, 4, 16 },
		{ SHARDING_MEGATRON_DIST, TRAINING_BF16, 6, 12 },
		{ SHARDING_MEGATRON_DIST, TRAINING_FP32, 8, 8 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct memory m = estimate(order(1e9, rows[i].kind, rows[i].t,
		    8));

		ok(near_to(state(&m), 1e9 * (rows[i].own + rows[i].shared / 8)),
		    "%s, %s: %g P + %g P / N", sharding_words[rows[i].kind].word,
		    training_words[rows[i].t].word, rows[i].own,
		    rows[i].shared);
	}
}

static void
test_optimizers(void)
{
	static const double	want[] = {
		[OPTIMIZER_SGD] = 0, [OPTIMIZER_MOMENTUM] = 4,
		[OPTIMIZER_ADAM] = 8, [OPTIMIZER_ADAM8] = 2 + 8. / 256,
		[OPTIMIZER_LION] = 4, [OPTIMIZER_ADAFACTOR] = 8. / 1024,
	};

	for (int i = 0; i < OPTIMIZER_COUNT; i++) {
		struct memory_order o = order(1e9, SHARDING_NONE,
		    TRAINING_FP32, 1);
		struct memory m;

		o.optimizer = (enum optimizer)i;
		bare.hidden = 1024;
		m = estimate(o);
		ok(near_to(m.part[PART_OPTIMIZER], want[i] * 1e9),
		    "%s keeps %g bytes a parameter", optimizer_words[i].word,
		    want[i]);
	}
}

/* Korthikanti 2022, with GPT-3's numbers: a = 96, s = 2048, h = 12288, for
 * which 5 a s / h is 80. */
static void
test_activations(void)
{
	struct model		gpt3 = { .params = 175000000000, .layers = 1,
	    .hidden = 12288, .heads = 96, .kv_heads = 96, .head_dim = 128,
	    .ffn = 4 * 12288, .block = 1000000, .norms = 2, .dropout = true };
	struct memory_order	o = order(1, SHARDING_NONE, TRAINING_PURE, 8);
	struct memory		m;
	double			sbh = 2048. * 12288;

	o.model = &gpt3;
	o.sequence = 2048;
	o.eager = true;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh * (34 + 80)),
	    "eq. 1: s b h (34 + 5 a s / h)");
	o.tp = 8;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh * (10 + 24 / 8. + 80 / 8.)),
	    "eq. 2: s b h (10 + 24 / t + 5 a s / (h t))");
	o.sequence_parallel = true;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 8 * (34 + 80)),
	    "eq. 4: s b h / t (34 + 5 a s / h)");
	o.eager = false;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh * 34 / 8),
	    "eq. 6: s b h 34 / t");
	o.recompute = true;
	gpt3.layers = 96;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], 96 * 2 * sbh + sbh * 34 / 8),
	    "in full: 2 s b h L, and one layer");
	o = order(1, SHARDING_NONE, TRAINING_FP32, 8);
	o.model = &gpt3;
	o.sequence = 2048;
	o.cp = 2;
	gpt3.dropout = false;
	gpt3.layers = 1;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 2 * 64),
	    "float32 without dropout takes twice 32; cp cuts the sequence");
	o.training = TRAINING_BF16;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 2 * (32 + 8)),
	    "autocast keeps the residual stream wide, and three more casts");
	gpt3.fused = true;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 2 * (32 + 4)),
	    "one of them where queries, keys and values are one product");
	o.sharding = SHARDING_ZERO1;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 2 * 32),
	    "DeepSpeed has no autocast");
	gpt3.rms = true;
	m = estimate(o);
	ok(near_to(m.part[PART_ACTIVATIONS], sbh / 2 * (32 + 8)),
	    "RMSNorm keeps a float32 copy");
	o.sharding = SHARDING_NONE;
	o.training = TRAINING_FP32;
	gpt3.vocab = 50000;
	m = estimate(o);
	ok(near_to(m.part[PART_LOGITS], 1024. * 50000 * 8),
	    "logits: s b V, twice four bytes");
	o.training = TRAINING_BF16;
	m = estimate(o);
	ok(near_to(m.part[PART_LOGITS], 1024. * 50000 * 6),
	    "and 4 + 2 with 16 bits");
}

/* The cases that an advisor must get right. */
static void
test_cases(void)
{
	struct memory_order	o = order(1.3e9, SHARDING_ZERO2, TRAINING_BF16,
	    8);
	struct memory		m = estimate(o);

	ok(near_to(m.part[PART_PARAMS], 2.6e9) &&
	    near_to(m.part[PART_GRADS] + m.part[PART_OPTIMIZER], 2.275e9),
	    "1.3B on 8 ranks: stage 2 leaves 2.6 + 2.3 GB");
	m = estimate(order(1.3e9, SHARDING_NONE, TRAINING_BF16, 8));
	ok(m.total[ON_DEVICE] > 24e9, "DDP does not fit in 24 GB");
	m = estimate(order(6738415616., SHARDING_ZERO3, TRAINING_BF16, 8));
	ok(fabs(state(&m) / 1e9 - 13.5) < 0.05, "7B over 8 ranks: 14 GB");
	m = estimate(order(6738415616., SHARDING_NONE, TRAINING_BF16, 8));
	ok(m.total[ON_DEVICE] > 80e9, "DDP does not fit in 80 GB");
	m = estimate(order(70e9, SHARDING_FULL, TRAINING_BF16, 16));
	ok(near_to(state(&m), 70e9), "70B over 16 ranks: 70 GB");
	m = estimate(order(70e9, SHARDING_FULL, TRAINING_BF16, 32));
	ok(near_to(state(&m), 35e9), "over 32: 35 GB");
	m = estimate(order(7e9, SHARDING_ZERO1, TRAINING_BF16, 8));
	ok(near_to(state(&m), 38.5e9), "7B with ZeRO-1 on 8: 38 GB");
	m = estimate(order(124e6, SHARDING_NONE, TRAINING_BF16, 1));
	ok(near_to(state(&m), 1.984e9), "124M: 2 GB");
}

static void
test_offload(void)
{
	struct memory_order	o = order(1e9, SHARDING_ZERO2, TRAINING_BF16,
	    4);
	struct memory		m;

	o.optimizer_on = ON_HOST;
	m = estimate(o);
	ok(near_to(state(&m), 2e9) && near_to(m.total[ON_HOST], 14e9 / 4),
	    "ZeRO-Offload leaves the parameters on the device");
	o.sharding = SHARDING_ZERO3;
	o.params_on = ON_DISK;
	m = estimate(o);
	ok(state(&m) == 0 && near_to(m.total[ON_DISK], 2e9 / 4) &&
	    near_to(m.total[ON_HOST], 14e9 / 4),
	    "stage 3 can put those on a disk");
	o.sharding = SHARDING_NONE;
	m = estimate(o);
	ok(near_to(state(&m), 16e9) && m.total[ON_HOST] == 0,
	    "DDP can put nothing elsewhere");
	o = order(1e9, SHARDING_FULL, TRAINING_BF16, 4);
	o.params_on = o.optimizer_on = ON_HOST;
	m = estimate(o);
	ok(state(&m) == 0 && near_to(m.total[ON_HOST], 16e9 / 4) &&
	    m.part[PART_STEP] == 0, "FSDP puts all of it on the host");
}

static void
test_temporary(void)
{
	struct memory_order	o = order(1e9, SHARDING_FULL, TRAINING_BF16,
	    4);
	struct memory		m;

	bare.block = 10000000;
	bare.embedding = 20000000;
	m = estimate(o);
	ok(near_to(m.part[PART_TEMPORARY], 4 * 2 * 20e6),
	    "two units of the largest size, and their gradients");
	o.whole = true;
	m = estimate(o);
	ok(near_to(m.part[PART_TEMPORARY], 4 * 2 * 1e9),
	    "the whole model where nothing is wrapped");
	o = order(1e9, SHARDING_NONE, TRAINING_FP32, 2);
	m = estimate(o);
	ok(near_to(m.part[PART_TEMPORARY], 4e9), "DDP's buckets");
	ok(near_to(m.part[PART_STEP], 4e9), "and the step's copy");
	ok(near_to(m.total[ON_DEVICE], 20e9 + m.part[PART_FRAMEWORK]),
	    "which do not meet: the larger counts");
	o.ranks = 1;
	o.cpu = true;
	m = estimate(o);
	ok(near_to(m.total[ON_DEVICE], 16e9), "one rank on a CPU: 16 P alone");
	ok(m.no_shape, "without a shape, activations are left out and said so");
}

/* Adapters: a hundredth is trained, the rest stays in 16 bits without gradient
 * and optimizer. */
static void
test_frozen(void)
{
	static const struct {
		enum sharding	 kind;
		double		 params, grads, optimizer;	/* bytes each */
	} rows[] = {
		{ SHARDING_NONE, 4 * 0.01 + 2 * 0.99, 4 * 0.01, 8 * 0.01 },
		{ SHARDING_ZERO2, 2, 2 * 0.01 / 4, 12 * 0.01 / 4 },
		{ SHARDING_FULL, (4 * 0.01 + 2 * 0.99) / 4, 4 * 0.01 / 4,
		    8 * 0.01 / 4 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct memory_order	o = order(1e9, rows[i].kind,
		    TRAINING_BF16, 4);
		struct memory		m, all = estimate(o);

		o.trained = 10000000;
		m = estimate(o);
		ok(near_to(m.part[PART_PARAMS], 1e9 * rows[i].params) &&
		    near_to(m.part[PART_GRADS], 1e9 * rows[i].grads) &&
		    near_to(m.part[PART_OPTIMIZER], 1e9 * rows[i].optimizer),
		    "%s with a hundredth trained",
		    sharding_words[rows[i].kind].word);
		ok(m.total[ON_DEVICE] < all.total[ON_DEVICE], "it takes less");
		o.trained = 1000000000;
		m = estimate(o);
		ok(near_to(m.total[ON_DEVICE], all.total[ON_DEVICE]),
		    "all trained is the same as none said");
	}
}

static void
test_mesh(void)
{
	struct memory_order	o = order(1e9, SHARDING_HYBRID, TRAINING_BF16,
	    16);
	struct memory		m;
	struct err		err = ERR_INIT;

	o.group = 8;
	m = estimate(o);
	ok(near_to(state(&m), 2e9), "hybrid shares within a group");
	o.group = 5;
	ok(memory_estimate(&m, &o, &err) < 0 && strstr(err.text, "groups of 5"),
	    "which must divide the ranks");
	o = order(1e9, SHARDING_FULL, TRAINING_BF16, 16);
	o.tp = 4;
	o.pp = 2;
	m = estimate(o);
	ok(near_to(state(&m), 1e9), "tp and pp share as well");
	o.cp = 3;
	ok(memory_estimate(&m, &o, &err) < 0 &&
	    strstr(err.text, "16 ranks are no multiple of tp 4 x cp 3 x pp 2"),
	    "the mesh must divide the world");
}

static void
test_config(void)
{
	static const struct { const char *yaml; enum sharding kind;
	    enum training training; long ranks; } cases[] = {
		{ "distributed_type: 'NO'\n", SHARDING_NONE, TRAINING_FP32, 1 },
		{ "distributed_type: MULTI_GPU\nnum_processes: 4\n"
		  "mixed_precision: bf16\n", SHARDING_NONE, TRAINING_BF16, 4 },
		{ "distributed_type: DEEPSPEED\nnum_processes: 8\n"
		  "mixed_precision: fp16\ndeepspeed_config:\n  zero_stage: 1\n",
		  SHARDING_ZERO1, TRAINING_FP16, 8 },
		{ "distributed_type: DEEPSPEED\nnum_processes: 8\n"
		  "deepspeed_config:\n  zero_stage: 3\n", SHARDING_ZERO3,
		  TRAINING_FP32, 8 },
		{ "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
		  "  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n",
		  SHARDING_GRAD_OP, TRAINING_FP32, 8 },
		{ "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
		  "  fsdp_sharding_strategy: 4\n", SHARDING_HYBRID,
		  TRAINING_FP32, 8 },
		{ "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
		  "  fsdp_sharding_strategy: 2\n", SHARDING_GRAD_OP,
		  TRAINING_FP32, 8 },
		{ "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
		  "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n",
		  SHARDING_GRAD_OP, TRAINING_FP32, 8 },
		{ "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n"
		  "  fsdp_version: 2\nparallelism_config:\n"
		  "  parallelism_config_dp_replicate_size: 2\n"
		  "  parallelism_config_dp_shard_size: 4\n", SHARDING_HYBRID,
		  TRAINING_FP32, 8 },
		{ "distributed_type: MEGATRON_LM\nnum_processes: 8\n"
		  "mixed_precision: bf16\nmegatron_lm_config:\n"
		  "  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 2\n"
		  "  megatron_lm_use_distributed_optimizer: true\n",
		  SHARDING_MEGATRON_DIST, TRAINING_BF16, 8 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct memory_order	o = MEMORY_ORDER_INIT;
		struct config		c;
		struct err		err = ERR_INIT;
		int			got;

		config_init(&c);
		got = config_parse(&c, cases[i].yaml, strlen(cases[i].yaml),
		    "y", &err);
		memory_order_take(&o, &c, NULL);
		ok(got == 0 && o.sharding == cases[i].kind &&
		    o.training == cases[i].training &&
		    o.ranks == cases[i].ranks, "configuration %zu is %s, %s",
		    i, sharding_words[cases[i].kind].word,
		    training_words[cases[i].training].word);
		if (got < 0)
			printf("# %s\n", err.text);
		if (o.sharding == SHARDING_MEGATRON_DIST)
			ok(o.tp == 2 && o.pp == 2 && o.cp == 1 && !o.recompute,
			    "with its mesh");
		if (o.sharding == SHARDING_HYBRID)
			ok(o.group == (c.fsdp.version == 2 ? 4 : 8),
			    "with its group");
		config_clear(&c);
	}
}

static void
test_words(void)
{
	static const struct { double bytes; bool whole; const char *want; }
	says[] = {		/* what Accelerate's convert_bytes() gives */
		{ 0, true, "0 bytes" }, { 512, true, "512 bytes" },
		{ 256, false, "256.0 bytes" }, { 1024, true, "1.0 KB" },
		{ 433249280, true, "413.18 MB" }, { 90669056, true, "86.47 MB" },
		{ 1732997120, true, "1.61 GB" }, { 1.5 * 1048576, false, "1.5 MB" },
		{ 0x1p50 * 3000, true, "3000.0 PB" },
	};
	static const struct { const char *text; double want; } sizes[] = {
		{ "80", 0x1p30 * 80 }, { "80GB", 80e9 },
		{ "79.5 GiB", 79.5 * 0x1p30 }, { "512MiB", 0x1p29 }, { "", 0 },
		{ "GB", 0 }, { "80 gallons", 0 }, { "-1GB", 0 }, { "1e3", 0 },
	};

	for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
		struct buf out = BUF_INIT;

		memory_say(says[i].bytes, says[i].whole, &out);
		is(buf_text(&out), says[i].want, "%.0f bytes", says[i].bytes);
		buf_clear(&out);
	}
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t got = 0;

		ok(memory_parse(sizes[i].text, &got) == (sizes[i].want > 0 ?
		    0 : -1) && (double)got == sizes[i].want, "\"%s\"",
		    sizes[i].text);
	}
}

int
main(void)
{
	test_zero_figure();
	test_state();
	test_optimizers();
	test_activations();
	test_cases();
	test_offload();
	test_temporary();
	test_frozen();
	test_mesh();
	test_config();
	test_words();
	return tap_done();
}
