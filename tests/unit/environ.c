/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a rank where the records of launch_env.c do not reach:
 * what depends on the machine, and what Accelerate gets wrong.  A number in
 * a sentence is that of the difference in accel-launch(1).
 */
#include <stdlib.h>

#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static struct config	c;
static struct err	err;
static struct strv	env = STRV_INIT;

/* The environment of a file with flags, in one text with blanks between. */
static void
make(const char *yaml, const char *flags, const struct env_facts *facts)
{
	char	text[400], *rest = text, *argv[32] = { NULL };
	int	at = 0, n = 0, rc;

	config_clear(&c);
	strv_clear(&env);
	config_init(&c);
	snprintf(text, sizeof(text), "%s", flags);
	while (*flags && n < 31 && (argv[n] = strsep(&rest, " ")))
		n++;
	rc = *yaml ? config_parse(&c, yaml, strlen(yaml), "f", &err) : 0;
	while (!rc && argv[at] && (rc = config_flag(&c, argv, &at, &err)) == 1)
		rc = 0;
	if (!rc)
		rc = config_env(&c, facts, &env, &err);
	if (rc)
		printf("# %s\n", err.text);
}

#define HAS(name, value, ...)	is(strv_getenv(&env, name), value, __VA_ARGS__)
#define LOCAL	"compute_environment: LOCAL_MACHINE\n"
#define GPUS	LOCAL "distributed_type: MULTI_GPU\nnum_processes: 2\n"
#define DEEPSPEED LOCAL "distributed_type: DEEPSPEED\nnum_processes: 2\n"
#define XLA	LOCAL "distributed_type: XLA\nnum_processes: 8\n"

/* The key of the file counts, and a flag still wins over it. */
static void
test_ignored_keys(void)
{
	make(GPUS "enable_cpu_affinity: true\n", "", NULL);
	HAS("ACCELERATE_CPU_AFFINITY", "1", "1: enable_cpu_affinity counts");
	make(GPUS "enable_cpu_affinity: true\n", "--enable_cpu_affinity=no",
	    NULL);
	HAS("ACCELERATE_CPU_AFFINITY", NULL, "1: but a flag wins");
	make(XLA "downcast_bf16: 'yes'\nmixed_precision: bf16\n", "",
	    &(struct env_facts){ .device = ENV_TPU });
	HAS("XLA_DOWNCAST_BF16", "1", "1: downcast_bf16 counts on a TPU");
	HAS("XLA_USE_BF16", NULL, "1: and is not its opposite");
	HAS("ACCELERATE_DOWNCAST_BF16", "1", "1: the script is told as well");
	make(GPUS "rdzv_backend: c10d\nsame_network: false\n"
	    "tpu_use_sudo: true\n", "--debug", NULL);
	is(c.main.rdzv_backend, "c10d", "1: rdzv_backend counts");
	ok(!c.main.same_network, "1: same_network counts");
	ok(c.main.tpu_use_sudo, "1: tpu_use_sudo counts");
	make(GPUS "rdzv_backend: c10d\nsame_network: false\n",
	    "--rdzv_backend static --same_network", NULL);
	ok(!strcmp(c.main.rdzv_backend, "static") && c.main.same_network,
	    "1: but flags win");
}

static void
test_cpu(void)
{
	make("", "--cpu --num_processes 2", NULL);
	HAS("ACCELERATE_USE_CPU", "True", "2, 11: CPU ranks are told so");
	HAS("KMP_AFFINITY", "granularity=fine,compact,1,0", "3: KMP_AFFINITY");
	HAS("KMP_BLOCKTIME", "1", "3: KMP_BLOCKTIME");
	make(LOCAL "distributed_type: MULTI_CPU\nnum_processes: 2\n", "", NULL);
	HAS("ACCELERATE_USE_CPU", "True", "2: MULTI_CPU alone says it too");
}

static void
test_cpu_wins(void)
{
	make(LOCAL "distributed_type: FSDP\nnum_processes: 2\nuse_cpu: true\n",
	    "", NULL);
	HAS("ACCELERATE_USE_CPU", "True", "26: use_cpu keeps to the CPU");
	HAS("ACCELERATE_USE_FSDP", NULL, "26: and nothing is sharded");
}

static void
test_fsdp1(void)
{
#define FSDP1	LOCAL "distributed_type: FSDP\nnum_processes: 2\n" \
		"fsdp_config:\n  fsdp_version: 1\n"
	make(FSDP1 "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n", "", NULL);
	HAS("FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP",
	    "4: version 1 does what fsdp_reshard_after_forward says");
	make(FSDP1 "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n"
	    "  fsdp_sharding_strategy: NO_SHARD\n", "", NULL);
	HAS("FSDP_SHARDING_STRATEGY", "NO_SHARD", "4: the old name still wins");
	make(FSDP1, "--fsdp_reshard_after_forward HYBRID_SHARD", NULL);
	HAS("FSDP_SHARDING_STRATEGY", "HYBRID_SHARD", "4: as a flag as well");
	make(FSDP1, "--fsdp_version 2 --fsdp_reshard_after_forward no", NULL);
	HAS("FSDP_RESHARD_AFTER_FORWARD", "no", "version 2 reads a truth word");
	HAS("FSDP_SHARDING_STRATEGY", "FULL_SHARD", "and no strategy");
}

static void
test_fp8(void)
{
	make("", "--mixed_precision fp8 --fp8_backend te --fp8_format E4M3 "
	    "--fp8_override_linear_precision true,no,1", NULL);
	HAS("ACCELERATE_FP8_BACKEND", "TE", "5: the reader takes upper case");
	HAS("ACCELERATE_FP8_FORMAT", "E4M3", "a format");
	HAS("ACCELERATE_FP8_OVERRIDE_FPROP", "1", "three words: fprop");
	HAS("ACCELERATE_FP8_OVERRIDE_DGRAD", "0", "three words: dgrad");
	HAS("ACCELERATE_FP8_OVERRIDE_WGRAD", "1", "three words: wgrad");
	make(GPUS "mixed_precision: fp8\nfp8_config:\n"
	    "  amax_history_length: 7\n  amax_compute_algorithm: max\n"
	    "  optimization_level: O1\n"
	    "  override_linear_precision: (false, true, false)\n", "", NULL);
	HAS("ACCELERATE_FP8_AMAX_HISTORY_LEN", "7",
	    "5: the wizard's amax_history_length reaches the reader");
	HAS("ACCELERATE_FP8_AMAX_COMPUTE_ALGO", "max",
	    "5: and amax_compute_algorithm");
	HAS("ACCELERATE_FP8_OPT_LEVEL", "O1", "5: and optimization_level");
	HAS("ACCELERATE_FP8_OVERRIDE_DGRAD", "True",
	    "5: three words in one text are three");
	make(GPUS "fp8_config:\n  backend: TE\n", "", NULL);
	HAS("ACCELERATE_FP8_BACKEND", NULL, "without fp8, nothing of it");
}

static void
test_deepspeed(void)
{
	struct env_facts	facts = { .folder = "/job" };

	make(DEEPSPEED "dynamo_config:\n  dynamo_backend: INDUCTOR\n",
	    "--num_cpu_threads_per_process 3 "
	    "--offload_param_nvme_path /disk", &facts);
	HAS("ACCELERATE_DYNAMO_BACKEND", "INDUCTOR", "8: DeepSpeed compiles");
	HAS("OMP_NUM_THREADS", "3", "8: DeepSpeed has threads");
	HAS("ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH", "/disk",
	    "8: the disk is told");
	HAS("PYTHONPATH", "/job", "the script's folder is on PYTHONPATH");
	setenv("PYTHONPATH", ":/a::/b", 1);
	make(DEEPSPEED, "", &facts);
	HAS("PYTHONPATH", "/a:/b:/job", "behind what was there");
	unsetenv("PYTHONPATH");
	make(GPUS, "", &facts);
	HAS("PYTHONPATH", NULL, "for DeepSpeed alone");
	make(DEEPSPEED "mixed_precision: bf16\ndeepspeed_config:\n"
	    "  zero_stage: 1\n  a_newer_key: 1\n", "--gradient_clipping 1",
	    NULL);
	HAS("ACCELERATE_CONFIG_DS_FIELDS",
	    "a_newer_key,zero_stage,mixed_precision",
	    "what the file gives is listed, and what a flag gives is not");
}

static void
test_mesh(void)
{
	make("", "--use_deepspeed --parallelism-config-sp-size 8 "
	    "--num_processes 8", NULL);
	HAS("ACCELERATE_USE_PARALLELISM_CONFIG", "true",
	    "15: a size as a flag makes a mesh");
	HAS("PARALLELISM_CONFIG_SP_SIZE", "8", "15: of that size");
	HAS("PARALLELISM_CONFIG_SP_SEQ_LENGTH", "None",
	    "a length that is not given is None");
	HAS("PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", "True", "and varies");
	HAS("PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION", "sdpa", "attention");
	HAS("PARALLELISM_CONFIG_CP_COMM_STRATEGY", NULL,
	    "without context parallelism, nothing of it");
	make("", "--use_deepspeed --use_parallelism_config "
	    "--parallelism_config_sp_size 2 "
	    "--parallelism_config_sp_seq_length_is_variable no "
	    "--parallelism_config_sp_seq_length 4096", NULL);
	HAS("PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", "False",
	    "16: no is no");
	HAS("PARALLELISM_CONFIG_SP_SEQ_LENGTH", "4096", "a length");
	make("", "--cpu --num_processes 2 --parallelism_config_tp_size 2",
	    NULL);
	HAS("ACCELERATE_USE_PARALLELISM_CONFIG", NULL, "no mesh of CPUs");
}

static void
test_megatron(void)
{
	make("", "--use_megatron_lm --num_processes 4 "
	    "--megatron_lm_tp_degree 2 --megatron_lm_gradient_clipping 1 "
	    "--megatron_lm_no_load_optim False "
	    "--megatron_lm_eod_mask_loss yes --megatron_lm_hidden_dropout 0.1 "
	    "--megatron_lm_recompute_granularity selective", NULL);
	HAS("ACCELERATE_USE_MEGATRON_LM", "true", "Megatron-LM");
	HAS("MEGATRON_LM_TP_DEGREE", "2", "a degree");
	HAS("MEGATRON_LM_PP_DEGREE", "1", "one that was not given");
	HAS("MEGATRON_LM_GRADIENT_CLIPPING", "1.0", "a float, as Python has it");
	HAS("MEGATRON_LM_HIDDEN_DROPOUT", "0.1", "another");
	HAS("MEGATRON_LM_NO_LOAD_OPTIM", "False", "16: False is false");
	HAS("MEGATRON_LM_EOD_MASK_LOSS", "True", "and yes is true");
	HAS("MEGATRON_LM_RECOMPUTE_GRANULARITY", "selective", "a word");
	HAS("MEGATRON_LM_RECOMPUTE_METHOD", NULL, "none where none was given");
	HAS("MEGATRON_LM_CONTEXT_PARALLEL_SIZE", NULL, "nor a size");
}

static void
test_cloud(void)
{
	make("compute_environment: AMAZON_SAGEMAKER\n"
	    "distributed_type: 'NO'\nec2_instance_type: t\niam_role_name: r\n"
	    "mixed_precision: fp16\ndebug: true\n", "--dynamo_backend eager "
	    "--aws_access_key_id AKIA --aws_secret_access_key wJalr", NULL);
	HAS("ACCELERATE_USE_SAGEMAKER", "true",
	    "6: a SageMaker file with a quoted 'NO' is read");
	HAS("ACCELERATE_SAGEMAKER_DISTRIBUTED_TYPE", "NO", "its type");
	HAS("ACCELERATE_MIXED_PRECISION", "fp16", "its precision");
	HAS("ACCELERATE_DYNAMO_BACKEND", "EAGER", "its compilation");
	ok(env.count == 8, "and nothing else, a secret least of all");
	for (size_t i = 0; i < env.count; i++)
		if (strstr(env.item[i], "AKIA") || strstr(env.item[i], "wJal"))
			ok(0, "no secret");
}

/* Sections of another distributed_type, and keys that nobody knows. */
static void
test_sections(void)
{
	int	strange = 0;

	make(GPUS "fsdp_config:\n  fsdp_version: 2\nmegatron_lm_config:\n"
	    "  megatron_lm_tp_degree: 2\ndeepspeed_config:\n  zero_stage: 3\n"
	    "fp8_config:\n  a_newer_key: 1\n", "--zero_stage 2", NULL);
	for (size_t i = 0; i < env.count; i++)
		strange += !strncmp(env.item[i], "FSDP_", 5) ||
		    !strncmp(env.item[i], "MEGATRON_", 9) ||
		    strstr(env.item[i], "DEEPSPEED") != NULL;
	ok(env.count && !strange, "14: other sections stay out of it");
	ok(c.warnings.count == 1 && strstr(c.warnings.item[0], "a_newer_key"),
	    "14: a key of a section that nobody knows is named");
	make(LOCAL "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
	    "  fsdp_offload_params: 'YES'\n", "--use_parallelism_config=1",
	    NULL);
	HAS("ACCELERATE_USE_FSDP", "true", "12: a word is true");
	HAS("ACCELERATE_USE_PARALLELISM_CONFIG", "true", "12: for a flag of 1");
	HAS("FSDP_OFFLOAD_PARAMS", "true", "12: and a YES of the file");
}

static void
test_tpu(void)
{
	struct env_facts	facts = { .device = ENV_TPU };

	make(XLA "mixed_precision: bf16\n", "--debug", &facts);
	HAS("XLA_USE_BF16", "1", "bf16 on a TPU");
	HAS("ACCELERATE_DEBUG_MODE", "true", "and the debug mode");
	ok(env.count == 2, "and nothing else");
	make(XLA "mixed_precision: bf16\n", "", NULL);
	ok(env.count == 0, "without a TPU, not even that");
}

static void
test_mask(void)
{
	static const struct { enum env_device found; const char *type, *name; }
	    masks[] = {
		{ ENV_NONE, "MULTI_GPU", "CUDA_VISIBLE_DEVICES" },
		{ ENV_CUDA, "FSDP", "CUDA_VISIBLE_DEVICES" },
		{ ENV_XPU, "FSDP", "ZE_AFFINITY_MASK" },
		{ ENV_MLU, "FSDP", "MLU_VISIBLE_DEVICES" },
		{ ENV_SDAA, "DEEPSPEED", "SDAA_VISIBLE_DEVICES" },
		{ ENV_MUSA, "FSDP", "MUSA_VISIBLE_DEVICES" },
		{ ENV_NPU, "MEGATRON_LM", "ASCEND_RT_VISIBLE_DEVICES" },
		{ ENV_HPU, "FSDP", "HABANA_VISIBLE_MODULES" },
		{ ENV_NEURON, "FSDP", "NEURON_RT_VISIBLE_CORES" },
		{ ENV_NONE, "MULTI_NPU", "ASCEND_RT_VISIBLE_DEVICES" },
		{ ENV_NONE, "MULTI_SDAA", "SDAA_VISIBLE_DEVICES" },
	};

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		struct env_facts	facts = { .device = masks[i].found };
		char			yaml[200];

		snprintf(yaml, sizeof(yaml), LOCAL "distributed_type: %s\n"
		    "num_processes: 2\n", masks[i].type);
		make(yaml, "--gpu_ids 0,1", &facts);
		HAS(masks[i].name, "0,1", "%s masks the devices of %s",
		    masks[i].name, masks[i].type);
	}
	make(GPUS, "--gpu_ids all", NULL);
	HAS("CUDA_VISIBLE_DEVICES", NULL, "all is no mask");
}

static void
test_nccl(void)
{
	const char *const	two[] = { "NVIDIA GeForce RTX 4090",
	    "NVIDIA GeForce RTX 4090" };
	const char *const	old[] = { "NVIDIA GeForce RTX 3090",
	    "NVIDIA A100-SXM4-80GB" };
	struct env_facts	facts = { .gpu = two, .gpus = 2,
	    .driver = "535.54.03" };

	ok(env_nccl_off(two, 2, "535.54.03"), "two RTX 40, an old driver");
	ok(env_nccl_off(two, 2, "550.40.06"), "one number too old");
	ok(!env_nccl_off(two, 2, "550.40.07"), "the first good driver");
	ok(!env_nccl_off(two, 2, "550.54"), "a later one, of two numbers");
	ok(!env_nccl_off(two, 1, "535.54.03"), "one GPU talks to nobody");
	ok(!env_nccl_off(old, 2, "470.1.1"), "other GPUs can");
	ok(!env_nccl_off(two, 2, NULL) && !env_nccl_off(two, 2, "N/A"),
	    "nothing without a driver's number");
	make(GPUS, "", &facts);
	HAS("NCCL_P2P_DISABLE", "1", "NCCL is told: no peer-to-peer");
	HAS("NCCL_IB_DISABLE", "1", "and no InfiniBand");
	setenv("NCCL_P2P_DISABLE", "0", 1);
	make(DEEPSPEED, "", &facts);
	HAS("NCCL_P2P_DISABLE", NULL, "unless the user has decided");
	HAS("NCCL_IB_DISABLE", "1", "of each by itself");
	unsetenv("NCCL_P2P_DISABLE");
	make("", "--num_processes 1", &facts);
	HAS("NCCL_P2P_DISABLE", NULL, "one process has no NCCL");
}

static void
test_threads(void)
{
	struct env_facts	facts = { .cores = 16 };

	make("", "--cpu --num_processes 4", &facts);
	HAS("OMP_NUM_THREADS", "4", "16 cores for 4 ranks");
	make("", "--cpu --num_processes 32", &facts);
	HAS("OMP_NUM_THREADS", "1", "one at least");
	make("", "--cpu --num_processes 8 --num_machines 2", &facts);
	HAS("OMP_NUM_THREADS", "4", "8 ranks on two machines");
	facts.local = 2;
	make("", "--cpu --num_processes 8 --num_machines 2", &facts);
	HAS("OMP_NUM_THREADS", "8", "the ranks that really are on a host");
	setenv("MV2_COMM_WORLD_LOCAL_SIZE", "16", 1);
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
	make("", "--cpu --num_processes 8", &facts);
	HAS("OMP_NUM_THREADS", "2", "an MPI around us knows better");
	unsetenv("MV2_COMM_WORLD_LOCAL_SIZE");
	unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	setenv("OMP_NUM_THREADS", "5", 1);
	make("", "--cpu --num_processes 4", &facts);
	HAS("OMP_NUM_THREADS", "5", "the user's variable is kept");
	make("", "--cpu --num_cpu_threads_per_process 6", &facts);
	HAS("OMP_NUM_THREADS", "6", "and the flag wins");
	setenv("OMP_NUM_THREADS", "many", 1);
	make(GPUS, "", &facts);
	HAS("OMP_NUM_THREADS", "1", "a GPU's process has one");
	unsetenv("OMP_NUM_THREADS");
}

/* The configuration of flags, when this many devices are here. */
static int
settle(const char *yaml, const char *flags, enum env_device device, long n,
    long ranks)
{
	struct env_facts	facts = { .device = device, .devices = n };

	make(yaml, flags, NULL);
	return config_settle(&c, &facts, ranks, &err);
}

static void
test_settle(void)
{
	unsetenv("CUDA_VISIBLE_DEVICES");
	unsetenv("ASCEND_RT_VISIBLE_DEVICES");
	ok(!settle("", "", ENV_CUDA, 8, 0) && c.main.num_processes == 8 &&
	    c.main.distributed_type == dist_MULTI_GPU,
	    "without a word, a rank for each GPU");
	ok(!settle("", "--gpu_ids 1,3", ENV_CUDA, 8, 0) &&
	    c.main.num_processes == 2, "or for each of gpu_ids");
	setenv("CUDA_VISIBLE_DEVICES", "4,5,6", 1);
	ok(!settle("", "", ENV_CUDA, 8, 0) && c.main.num_processes == 3,
	    "or for each that may be seen");
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	ok(!settle("", "--num_processes 2", ENV_CUDA, 8, 0) &&
	    c.main.use_cpu && c.main.distributed_type == dist_MULTI_CPU,
	    "where none may be seen, on CPUs");
	unsetenv("CUDA_VISIBLE_DEVICES");
	ok(!settle("", "", ENV_NPU, 4, 0) &&
	    c.main.distributed_type == dist_MULTI_NPU, "NPUs are MULTI_NPU");
	ok(!settle("", "", ENV_CUDA, 1, 0) && c.main.num_processes < 1 &&
	    c.main.distributed_type == dist_NO, "one GPU needs nothing");
	ok(!settle("", "--cpu", ENV_CUDA, 8, 0) && c.main.num_processes < 1,
	    "nor does --cpu");
	ok(!settle("", "--num_processes 3", ENV_NONE, 0, 0) && c.main.use_cpu &&
	    c.main.distributed_type == dist_MULTI_CPU,
	    "2: several ranks without devices are CPU ranks");
	ok(!settle("", "", ENV_NONE, 0, 4) &&
	    c.main.distributed_type == dist_MULTI_CPU, "the hosts' as well");
	ok(!settle(LOCAL "distributed_type: 'NO'\n", "", ENV_CUDA, 8, 0) &&
	    c.main.num_processes < 1 && c.main.distributed_type == dist_NO,
	    "a file that says NO is one process");
	ok(!settle(LOCAL "distributed_type: FSDP\n", "", ENV_CUDA, 8, 0) &&
	    c.main.num_processes == 8 &&
	    c.origin[FIELD_main_num_processes] == ORIGIN_FOUND,
	    "23: a file without num_processes has one for each device");
	ok(settle(LOCAL "distributed_type: FSDP\n", "", ENV_NONE, 0, 0) == -1 &&
	    strstr(err.text, "num_processes"), "23: and without any is refused");
	ok(!settle(LOCAL "distributed_type: FSDP\n", "", ENV_NONE, 0, 2) &&
	    c.main.num_processes < 1, "23: unless hosts were named");
	ok(!settle(XLA, "", ENV_NONE, 0, 0) &&
	    c.main.distributed_type == dist_XLA, "a TPU's file stays as it is");
}

/* What PyYAML makes of a file that Accelerate then stumbles over. */
static void
test_yaml(void)
{
	make(LOCAL "distributed_type: NO\n", "", NULL);
	ok(c.main.distributed_type == dist_NO,
	    "7: NO without quotes is no distribution, and not false");
	make(LOCAL "distributed_type: 'NO'\ndynamo_config:\n"
	    "  dynamo_backend: NO\ngpu_ids: 0\n", "", NULL);
	HAS("ACCELERATE_DYNAMO_BACKEND", "NO", "7: as a backend too");
	HAS("CUDA_VISIBLE_DEVICES", "0", "24: gpu_ids may be a number");
}

int
main(void)
{
	static const char *const	ours[] = { "OMP_NUM_THREADS",
	    "PYTHONPATH", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE",
	    "MPI_LOCALNRANKS" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
	config_init(&c);
	test_ignored_keys();
	test_cpu();
	test_cpu_wins();
	test_fsdp1();
	test_fp8();
	test_deepspeed();
	test_mesh();
	test_megatron();
	test_cloud();
	test_sections();
	test_tpu();
	test_mask();
	test_nccl();
	test_threads();
	test_settle();
	test_yaml();
	config_clear(&c);
	strv_clear(&env);
	return tap_done();
}
