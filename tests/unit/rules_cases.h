/* SPDX-License-Identifier: Apache-2.0 */
/* rules_cases: a configuration that breaks each rule, and one that does not;
 * for the rules themselves, and for the screens that show them. */
#ifndef TESTS_UNIT_RULES_CASES_H
#define TESTS_UNIT_RULES_CASES_H

#include "runtime/config/rules.h"

/* A case says what it is about, and nothing else. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define GPU(n)	"distributed_type: MULTI_GPU\nnum_processes: " #n "\n"
#define CPU(n)	"distributed_type: MULTI_CPU\nuse_cpu: true\n" \
		"num_processes: " #n "\n"
#define FSDP(n)	"distributed_type: FSDP\nnum_processes: " #n "\n" \
		"fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
#define FSDP1	FSDP(4) "  fsdp_version: 1\n"
#define FSDP2	FSDP(4) "  fsdp_version: 2\n"
#define MESH(n)	FSDP(n) "  fsdp_version: 2\nparallelism_config:\n"
#define DS(n)	"distributed_type: DEEPSPEED\nnum_processes: " #n "\n" \
		"deepspeed_config:\n"
#define MEGATRON(n)	"distributed_type: MEGATRON_LM\n" \
		"num_processes: " #n "\nmegatron_lm_config:\n" \
		"  megatron_lm_context_parallel_size: 1\n"
#define CLOUD	"compute_environment: AMAZON_SAGEMAKER\n" \
		"ec2_instance_type: t\niam_role_name: r\n"
#define TWO	"num_machines: 2\n"
#define SP(n)	"parallelism_config:\n  parallelism_config_sp_size: " #n "\n"
#define JSON(n, text)	DS(n) "  deepspeed_config_file: '{" text "}'\n"
#define ZERO	"\"zero_optimization\": {\"stage\": 2}"

struct half {
	const char	*yaml;
	struct site	 site;
	char		*flags[4];
};

static const struct {
	const char	*id;
	struct half	 bad, good;
} cases[] = {
	{ "cpu_or_type",
	    { GPU(4), { 0 }, { "--use_fsdp", "--multi_gpu" } },
	    { GPU(4), { 0 }, { "--use_fsdp" } } },
	{ "multi_gpu_flag",
	    { GPU(1), { 0 }, { "--multi_gpu" } },
	    { GPU(2), { 0 }, { "--multi_gpu" } } },
	{ "multi_gpu_alone", { GPU(1) }, { GPU(2) } },
	{ "processes_below_machines", { CPU(1) TWO }, { CPU(2) TWO } },
	{ "processes_per_machine", { CPU(3) TWO },
	    { CPU(3) TWO, { .hosts = 2, .slots = 3 } } },
	{ "machine_rank_range", { CPU(2) TWO "machine_rank: 2\n" },
	    { CPU(2) TWO "machine_rank: 1\n" } },
	{ "hosts_machines", { CPU(6) TWO, { .hosts = 3 } },
	    { CPU(6) TWO, { .hosts = 2 } } },
	{ "hosts_slots", { CPU(4), { .hosts = 2, .slots = 3 } },
	    { CPU(4), { .hosts = 2, .slots = 4 } } },
	{ "type_cloud", { "distributed_type: DATA_PARALLEL\n" }, { GPU(2) } },
	{ "sagemaker_type", { CLOUD "distributed_type: FSDP\n" },
	    { CLOUD "distributed_type: DATA_PARALLEL\n" } },
	{ "sagemaker_needs",
	    { "compute_environment: AMAZON_SAGEMAKER\n"
	      "distributed_type: 'NO'\niam_role_name: r\n" },
	    { CLOUD "distributed_type: 'NO'\n" } },
	{ "hosts_idle",
	    { CPU(2) TWO, { .hosts = 2, .slots = 4, .least = 3 } },
	    { CPU(3) TWO, { .hosts = 2, .slots = 4, .least = 3 } } },
	{ "type_no_alone", { "distributed_type: 'NO'\nnum_processes: 2\n" },
	    { "distributed_type: 'NO'\nnum_processes: 1\n" } },
	{ "processes_unset", { "distributed_type: MULTI_GPU\n" }, { GPU(2) } },
	{ "cpu_type", { GPU(2) "use_cpu: true\n" }, { CPU(2) } },
	{ "gpu_ids_form", { GPU(2) "gpu_ids: 0,0\n" },
	    { GPU(2) "gpu_ids: 0,GPU-1a2b,10\n" } },
	{ "gpu_ids_one", { GPU(2) "gpu_ids: '3'\n" },
	    { GPU(2) "gpu_ids: 0,1\n" } },
	{ "gpu_ids_few", { GPU(4) "gpu_ids: 0,1\n" },
	    { GPU(4) TWO "gpu_ids: 0,1\n" } },
	{ "gpu_ids_range",
	    { GPU(2) "gpu_ids: 0,4\n", { .looked = true, .gpus = 4 } },
	    { GPU(2) "gpu_ids: 0,3\n", { .looked = true, .gpus = 4 } } },
	{ "gpus_few", { GPU(5), { .looked = true, .gpus = 4 } },
	    { GPU(4), { .looked = true, .gpus = 4 } } },
	{ "gpus_none", { GPU(2), { .looked = true } }, { GPU(2) } },
	{ "bf16_capability",
	    { GPU(2) "mixed_precision: bf16\n", { .capability = 75 } },
	    { GPU(2) "mixed_precision: bf16\n", { .capability = 80 } } },
	{ "fp8_capability",
	    { GPU(2) "mixed_precision: fp8\n", { .capability = 86 } },
	    { GPU(2) "mixed_precision: fp8\n", { .capability = 89 } } },
	{ "mxfp8_capability",
	    { GPU(2) "mixed_precision: fp8\nfp8_config:\n  backend: TE\n"
	      "  use_mxfp8_block_scaling: true\n", { .capability = 90 } },
	    { GPU(2) "mixed_precision: fp8\nfp8_config:\n  backend: TE\n"
	      "  use_mxfp8_block_scaling: true\n", { .capability = 100 } } },
	{ "precision_device",
	    { "distributed_type: 'NO'\nmixed_precision: fp16\n",
	      { .looked = true } },
	    { "distributed_type: 'NO'\nmixed_precision: bf16\n",
	      { .looked = true } } },
	{ "fp16_cpu", { CPU(2) "mixed_precision: fp16\n" },
	    { CPU(2) "mixed_precision: bf16\n" } },
	{ "fp8_cpu", { CPU(2) "mixed_precision: fp8\n" },
	    { CPU(2) "mixed_precision: bf16\n" } },
	{ "tpu_precision",
	    { "distributed_type: XLA\nnum_processes: 8\n"
	      "mixed_precision: fp16\n" },
	    { "distributed_type: XLA\nnum_processes: 8\n"
	      "mixed_precision: bf16\n" } },
	{ "fp8_package",
	    { GPU(2) "mixed_precision: fp8\nfp8_config:\n  backend: AO\n",
	      { .torchao = ABSENT, .transformer_engine = RELEASE(2, 0, 0) } },
	    { GPU(2) "mixed_precision: fp8\nfp8_config:\n  backend: AO\n",
	      { .torchao = RELEASE(0, 9, 0), .transformer_engine = ABSENT } } },
	{ "msamp_fsdp",
	    { FSDP1 "mixed_precision: fp8\nfp8_config:\n  backend: MSAMP\n" },
	    { FSDP1 "mixed_precision: fp8\nfp8_config:\n  backend: AO\n" } },
	{ "msamp_stage",
	    { DS(2) "  zero_stage: 3\nmixed_precision: fp8\nfp8_config:\n"
	      "  backend: MSAMP\n" },
	    { DS(2) "  zero_stage: 2\nmixed_precision: fp8\nfp8_config:\n"
	      "  backend: MSAMP\n" } },
	{ "address_form",
	    { CPU(2) TWO "main_process_ip: node1:29500\n" },
	    { CPU(2) TWO "main_process_ip: 'fd00::17'\n" } },
	{ "address_loopback",
	    { CPU(2) TWO "main_process_ip: 127.0.1.1\n" },
	    { CPU(2) TWO "main_process_ip: 10.0.1.1\n" } },
	{ "address_unset", { CPU(2) TWO }, { CPU(2) TWO, { .hosts = 2 } } },
	{ "port_unset", { CPU(2) TWO "main_process_ip: node1\n" },
	    { CPU(2) TWO "main_process_ip: node1\n"
	      "main_process_port: 29500\n" } },
	{ "port_zero", { CPU(2) TWO "main_process_port: 0\n" },
	    { CPU(2) "main_process_port: 0\n" } },
	{ "port_busy", { GPU(2) "main_process_port: 29500\n",
	      { .port_busy = true } }, { GPU(2) "main_process_port: 29500\n" } },
	{ "port_privileged", { GPU(2) "main_process_port: 1023\n" },
	    { GPU(2) "main_process_port: 1024\n" } },
	{ "fsdp_alone", { FSDP(1) }, { FSDP(2) } },
	{ "fsdp_sync",
	    { FSDP1 "  fsdp_cpu_ram_efficient_loading: true\n"
	      "  fsdp_sync_module_states: false\n" },
	    { FSDP1 "  fsdp_cpu_ram_efficient_loading: false\n"
	      "  fsdp_sync_module_states: false\n" } },
	{ "fsdp_local_state",
	    { FSDP2 "  fsdp_state_dict_type: LOCAL_STATE_DICT\n" },
	    { FSDP1 "  fsdp_state_dict_type: LOCAL_STATE_DICT\n" } },
	{ "fsdp_reshard",
	    { FSDP2 "  fsdp_reshard_after_forward: FULL_SHARD\n" },
	    { FSDP2 "  fsdp_reshard_after_forward: true\n" } },
	{ "fsdp1_reshard",
	    { FSDP1 "  fsdp_reshard_after_forward: SHARD_ALL\n" },
	    { FSDP1 "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n" } },
	{ "fsdp1_reshard_bool",
	    { FSDP1 "  fsdp_reshard_after_forward: false\n" },
	    { FSDP2 "  fsdp_reshard_after_forward: false\n" } },
	{ "fsdp_strategy", { FSDP1 "  fsdp_sharding_strategy: 6\n" },
	    { FSDP1 "  fsdp_sharding_strategy: 5\n" } },
	{ "fsdp_one_unit",
	    { "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
	      "  fsdp_auto_wrap_policy: NO_WRAP\n" }, { FSDP(2) } },
	{ "fsdp_hybrid",
	    { FSDP1 "  fsdp_sharding_strategy: HYBRID_SHARD\n" },
	    { FSDP1 "  fsdp_sharding_strategy: HYBRID_SHARD\n" TWO } },
	{ "mesh_type",
	    { "distributed_type: 'NO'\nparallelism_config:\n"
	      "  parallelism_config_tp_size: 2\n" },
	    { GPU(2) "parallelism_config:\n"
	      "  parallelism_config_tp_size: 2\n" } },
	{ "mesh_flag",
	    { "distributed_type: MULTI_GPU\nnum_processes: 2\n", { 0 },
	      { "--use_parallelism_config" } },
	    { FSDP2, { 0 }, { "--use_parallelism_config" } } },
	{ "mesh_version",
	    { FSDP1 "parallelism_config:\n"
	      "  parallelism_config_dp_shard_size: 4\n" },
	    { FSDP2 "parallelism_config:\n"
	      "  parallelism_config_dp_shard_size: 4\n" } },
	{ "mesh_world",
	    { MESH(6) "  parallelism_config_tp_size: 2\n"
	      "  parallelism_config_dp_shard_size: 4\n" },
	    { MESH(8) "  parallelism_config_tp_size: 2\n"
	      "  parallelism_config_dp_shard_size: 4\n" } },
	{ "mesh_shard", { MESH(2) "  parallelism_config_tp_size: 2\n" },
	    { MESH(2) "  parallelism_config_cp_size: 2\n" } },
	{ "mesh_replicate",
	    { MESH(4) "  parallelism_config_cp_size: 2\n"
	      "  parallelism_config_dp_replicate_size: 2\n" },
	    { MESH(8) "  parallelism_config_cp_size: 2\n"
	      "  parallelism_config_dp_shard_size: 2\n"
	      "  parallelism_config_dp_replicate_size: 2\n" } },
	{ "mesh_cp_sp",
	    { DS(4) "  zero_stage: 2\n" SP(2)
	      "  parallelism_config_cp_size: 2\n" },
	    { DS(4) "  zero_stage: 2\n" SP(2) } },
	{ "mesh_tp_machine",
	    { MESH(16) "  parallelism_config_tp_size: 8\n"
	      "  parallelism_config_dp_shard_size: 2\nnum_machines: 4\n" },
	    { MESH(16) "  parallelism_config_tp_size: 8\n"
	      "  parallelism_config_dp_shard_size: 2\n" TWO } },
	{ "sp_deepspeed", { GPU(2) SP(2) }, { DS(2) "  zero_stage: 2\n" SP(2) } },
	{ "sp_world", { DS(3) "  zero_stage: 2\n" SP(2) },
	    { DS(4) "  zero_stage: 2\n" SP(2) } },
	{ "sp_attention",
	    { DS(2) "  zero_stage: 2\n" SP(2)
	      "  parallelism_config_sp_attn_implementation: eager\n" },
	    { DS(2) "  zero_stage: 2\n" SP(2)
	      "  parallelism_config_sp_attn_implementation: a/flash-attn2\n" } },
	{ "json_there", { DS(2) "  deepspeed_config_file: /nowhere/ds.json\n" },
	    { DS(2) "  deepspeed_config_file: eyJ6ZXJvX29wdGltaXphdGlvbiI6e319"
	      "\n" } },
	{ "json_read", { JSON(2, ZERO "]") }, { JSON(2, ZERO) } },
	{ "json_alone", { JSON(2, ZERO) "  zero_stage: 2\n" },
	    { JSON(2, ZERO) "  zero3_init_flag: false\n" } },
	{ "json_zero", { JSON(2, "\"fp16\": {}") }, { JSON(2, ZERO) } },
	{ "json_batch",
	    { JSON(4, ZERO ", \"train_batch_size\": 64,"
	      " \"train_micro_batch_size_per_gpu\": 4,"
	      " \"gradient_accumulation_steps\": 2") },
	    { JSON(8, ZERO ", \"train_batch_size\": 64,"
	      " \"train_micro_batch_size_per_gpu\": 4,"
	      " \"gradient_accumulation_steps\": 2") } },
	{ "json_batch_divides",
	    { JSON(4, ZERO ", \"train_batch_size\": 20,"
	      " \"train_micro_batch_size_per_gpu\": 2") },
	    { JSON(4, ZERO ", \"train_batch_size\": 24,"
	      " \"train_micro_batch_size_per_gpu\": 2,"
	      " \"gradient_accumulation_steps\": \"auto\"") } },
	{ "json_two_precisions",
	    { JSON(2, ZERO ", \"fp16\": {\"enabled\": true},"
	      " \"bf16\": {\"enabled\": true}") },
	    { JSON(2, ZERO ", \"fp16\": {\"enabled\": \"auto\"},"
	      " \"bf16\": {\"enabled\": true}") } },
	{ "json_precision",
	    { JSON(2, ZERO ", \"fp16\": {\"enabled\": true}"), { 0 },
	      { "--mixed_precision=bf16" } },
	    { JSON(2, ZERO ", \"fp16\": {\"enabled\": true}"), { 0 },
	      { "--mixed_precision=fp16" } } },
	{ "json_nvme_path",
	    { JSON(2, "\"zero_optimization\": {\"stage\": 3,"
	      " \"offload_param\": {\"device\": \"nvme\"}}") },
	    { JSON(2, "\"zero_optimization\": {\"stage\": 3,"
	      " \"offload_param\": {\"device\": \"nvme\","
	      " \"nvme_path\": \"/nvme\"}}") } },
	{ "offload_optimizer_stage",
	    { DS(2) "  zero_stage: 0\n  offload_optimizer_device: cpu\n" },
	    { DS(2) "  zero_stage: 1\n  offload_optimizer_device: cpu\n" } },
	{ "offload_param_stage",
	    { DS(2) "  zero_stage: 2\n  offload_param_device: cpu\n" },
	    { DS(2) "  zero_stage: 3\n  offload_param_device: cpu\n" } },
	{ "offload_nvme_stage",
	    { DS(2) "  zero_stage: 2\n  offload_optimizer_device: nvme\n"
	      "  offload_optimizer_nvme_path: /nvme\n" },
	    { DS(2) "  zero_stage: 3\n  offload_optimizer_device: nvme\n"
	      "  offload_optimizer_nvme_path: /nvme\n" } },
	{ "offload_nvme_path",
	    { DS(2) "  zero_stage: 3\n  offload_param_device: nvme\n" },
	    { DS(2) "  zero_stage: 3\n  offload_param_device: nvme\n"
	      "  offload_param_nvme_path: /nvme\n" } },
	{ "offload_room",
	    { FSDP2 "  fsdp_offload_params: true\n",
	      { .memory = 64e9, .parameters = 7e9 } },
	    { FSDP2 "  fsdp_offload_params: true\n" TWO,
	      { .memory = 64e9, .parameters = 7e9 } } },
	{ "offload_small_host",
	    { DS(2) "  zero_stage: 2\n  offload_optimizer_device: cpu\n",
	      { .looked = true, .gpus = 2, .gpu_memory = 80e9,
	        .memory = 128e9 } },
	    { DS(2) "  zero_stage: 2\n  offload_optimizer_device: none\n",
	      { .looked = true, .gpus = 2, .gpu_memory = 80e9,
	        .memory = 128e9 } } },
	{ "zero3_init", { DS(2) "  zero_stage: 2\n  zero3_init_flag: true\n" },
	    { DS(2) "  zero_stage: 3\n  zero3_init_flag: true\n" } },
	{ "accumulation_number",
	    { DS(2) "  gradient_accumulation_steps: 1.5\n" },
	    { DS(2) "  gradient_accumulation_steps: auto\n" } },
	{ "clipping_number", { DS(2) "  gradient_clipping: some\n" },
	    { DS(2) "  gradient_clipping: 0.5\n" } },
	{ "megatron_world", { MEGATRON(6) "  megatron_lm_tp_degree: 4\n" },
	    { MEGATRON(8) "  megatron_lm_tp_degree: 4\n" } },
	{ "megatron_experts",
	    { MEGATRON(4) "  megatron_lm_expert_model_parallel_size: 3\n" },
	    { MEGATRON(6) "  megatron_lm_expert_model_parallel_size: 3\n" } },
	{ "megatron_context",
	    { "distributed_type: MEGATRON_LM\nnum_processes: 2\n" },
	    { MEGATRON(2) } },
	{ "megatron_idle",
	    { MEGATRON(4) "  megatron_lm_pp_degree: 4\n"
	      "  megatron_lm_num_micro_batches: 3\n" },
	    { MEGATRON(4) "  megatron_lm_pp_degree: 4\n"
	      "  megatron_lm_num_micro_batches: 4\n" } },
	{ "megatron_tp_machine",
	    { MEGATRON(4) "  megatron_lm_tp_degree: 4\n" TWO },
	    { MEGATRON(4) "  megatron_lm_tp_degree: 2\n" TWO } },
	{ "package_missing",
	    { DS(2) "  zero_stage: 2\n", { .deepspeed = ABSENT } },
	    { DS(2) "  zero_stage: 2\n", { .transformers = ABSENT } } },
	{ "torch_old", { FSDP2, { .torch = RELEASE(2, 5, 1) } },
	    { FSDP2, { .torch = RELEASE(2, 6, 0) } } },
	{ "transformers_old",
	    { GPU(2) "parallelism_config:\n  parallelism_config_tp_size: 2\n",
	      { .transformers = RELEASE(4, 51, 9) } },
	    { GPU(2) "parallelism_config:\n  parallelism_config_tp_size: 2\n",
	      { .transformers = RELEASE(5, 0, 0) } } },
	{ "deepspeed_old",
	    { DS(2) "  zero_stage: 2\n" SP(2),
	      { .deepspeed = RELEASE(0, 18, 1) } },
	    { DS(2) "  zero_stage: 2\n" SP(2),
	      { .deepspeed = RELEASE(0, 18, 2) } } },
	{ "nossh_old",
	    { DS(2) "  deepspeed_multinode_launcher: nossh\n" TWO,
	      { .deepspeed = RELEASE(0, 14, 4) } },
	    { DS(2) "  deepspeed_multinode_launcher: nossh\n" TWO,
	      { .deepspeed = RELEASE(0, 14, 5) } } },
	{ "deepspeed_hosts", { DS(2) "  zero_stage: 2\n" TWO },
	    { DS(2) "  deepspeed_multinode_launcher: standard\n" TWO } },
	{ "deepspeed_filters",
	    { DS(2) "  deepspeed_exclusion_filter: a:0\n"
	      "  deepspeed_inclusion_filter: b:1\n" TWO },
	    { DS(2) "  deepspeed_exclusion_filter: a:0\n" TWO } },
	{ "tpu_cluster_type",
	    { GPU(2) "tpu_use_cluster: true\n" },
	    { "distributed_type: XLA\nnum_processes: 8\ntpu_name: a\n"
	      "tpu_zone: b\ntpu_use_cluster: true\n" } },
	{ "tpu_cluster_name",
	    { "distributed_type: XLA\nnum_processes: 8\n"
	      "tpu_use_cluster: true\ntpu_name: a\n" },
	    { "distributed_type: XLA\nnum_processes: 8\ntpu_name: a\n"
	      "tpu_use_cluster: true\ntpu_zone: b\n" } },
	{ "no_effect",
	    { FSDP2 "  fsdp_backward_prefetch: BACKWARD_PRE\n" },
	    { FSDP1 "  fsdp_backward_prefetch: BACKWARD_PRE\n" } },
};
enum { CASES = sizeof cases / sizeof *cases };
#endif
