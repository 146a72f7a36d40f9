/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes Accelerate's YAML. */
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/strv.h"
#include "runtime/config/environ.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static struct config	c;
static struct err	err;

static int
parse(const char *text)
{
	config_clear(&c);
	config_init(&c);
	memset(&err, 0, sizeof(err));
	return config_parse(&c, text, strlen(text), "f.yaml", &err);
}

/* The text is refused with this place and these words, and says what to do. */
static void
refused(const char *text, const char *place, const char *words,
    const char *hint, const char *what)
{
	int	rc = parse(text);

	ok(rc == -1 && !strncmp(err.text, place, strlen(place)) &&
	    strstr(err.text, words) && strstr(err.hint, hint) && *err.hint,
	    "%s", what);
	if (!rc || strncmp(err.text, place, strlen(place)) ||
	    !strstr(err.text, words) || !strstr(err.hint, hint))
		printf("#  text: %s\n#  hint: %s\n", err.text, err.hint);
}

static void
errors(void)
{
	refused("distributed_type: FSDP\nnum_process: 4\n", "f.yaml:2:1: ",
	    "unknown key num_process", "did you mean num_processes?",
	    "an unknown key has its place and the nearest key");
	refused("distributed_type: FSDP\nzzz: 4\n", "f.yaml:2:1: ",
	    "unknown key zzz", "keep it with --keep-unknown",
	    "one that is like no other can be kept");
	refused("distributed_type: FSDP\nnum_process: 4\nfsdp_confg:\n  a: 1\n"
	    "zzz: 1\n", "f.yaml:2:1: unknown key num_process (did you mean "
	    "num_processes?); f.yaml:3:1: unknown key fsdp_confg (did you mean "
	    "fsdp_config?); f.yaml:5:1: unknown key zzz", "", "--keep-unknown",
	    "several are told at once");
	refused("distributed_type: FSDP\nfsdp_version: 2\n", "f.yaml:2:1: ",
	    "unknown key fsdp_version", "belongs in fsdp_config",
	    "a key at the top that belongs in a section");
	refused("distributed_type: NO\nmax_restarts: 2\n", "f.yaml:2:1: ",
	    "unknown key max_restarts", "accel launch --max_restarts",
	    "a flag is no key");
	refused("distributed_type: NO\nipex_config:\n  ipex: true\n",
	    "f.yaml:2:1: ", "unknown key ipex_config", "remove",
	    "a key that is gone");
	refused("distributed_type: NO\nmain_process_port: 69420\n",
	    "f.yaml:2:20: ", "\"69420\" is no whole number from 0 to 65535",
	    "free", "a port too high has place, text and range");
	refused("distributed_type: NO\nnum_processes: many\n",
	    "f.yaml:2:16: ", "\"many\"", "", "a text for a number");
	refused("distributed_type: NO\nnum_processes: 1e8\n", "f.yaml:2:16: ",
	    "\"1e8\"", "", "1e8 is a text");
	refused("distributed_type: NO\nnum_processes: 1.5\n", "f.yaml:2:16: ",
	    "\"1.5\" is a real number, and not a whole number", "",
	    "a real number for a whole one");
	refused("distributed_type: NO\nuse_cpu: [a]\n", "f.yaml:2:10: ",
	    "use_cpu is a list, and not one value", "", "a list for a bool");
	refused("distributed_type: NO\nuse_cpu: 2\n", "f.yaml:2:10: ", "\"2\"",
	    "true or false", "2 for a bool");
	refused("distributed_type: NO\nfsdp_config: [a]\n", "f.yaml:2:14: ",
	    "fsdp_config is a list", "below it", "a list for a section");
	refused("distributed_type: NO\ncommands:\n- a\n- {b: c}\n",
	    "f.yaml:4:3: ", "commands", "", "a mapping in a list of texts");
	refused("distributed_type: NO\nmain_process_ip: me@host\n",
	    "f.yaml:2:18: ", "\"me@host\" has a user name", "ssh/config",
	    "an address with a user");
	refused("distributed_type: fsdp\n", "f.yaml:1:19: ", "\"fsdp\"",
	    "FSDP", "a word in lower case");
	refused("num_processes: 1\n", "f.yaml: ",
	    "distributed_type is missing", "add", "no distributed_type");
	refused("distributed_type: null\n", "f.yaml: ",
	    "distributed_type is missing", "add", "it is null");
	refused("", "f.yaml:1:1: ", "empty", "accel config", "an empty file");
	refused("# no\n", "f.yaml:1:1: ", "empty", "accel config",
	    "nothing but a comment");
	refused("- a\n", "f.yaml:1:1: ", "a list", "accel.yaml",
	    "a list at the top");
	refused("distributed_type: NO\n\xc3\xa9: x: y\n", "f.yaml:2:5: ",
	    "mapping values are not allowed", "colons",
	    "no YAML; columns count characters");
	refused("distributed_type: NO\nnum_processes:\t4\n", "f.yaml:2:15: ",
	    "a tab", "spaces", "a tab between words");
	refused("distributed_type: NO\ngpu_ids: '\xff'\n", "f.yaml:2:11: ",
	    "0xff", "UTF-8", "bytes that are no UTF-8");
	refused("distributed_type: NO\ngpu_ids: \"\\0\"\n", "f.yaml:2:10: ",
	    "zero byte", "quotes", "a zero byte in a text");
	refused("\xff\xfe" "d", "f.yaml:1:1: ", "UTF-16", "UTF-8", "UTF-16");
	refused("distributed_type: NO\n---\na: b\n", "f.yaml:2:1: ",
	    "another document", "one configuration", "two documents");
	refused("distributed_type: NO\nx: &a\n  y: *a\n", "f.yaml:3:6: ",
	    "*a stands in what it stands for", "write", "a cyclic alias");
	refused("distributed_type: NO\nx: *a\n", "f.yaml:2:4: ",
	    "no anchor &a", "&a", "an alias without its anchor");
	refused("a: &a 1\nb: &a 2\n", "f.yaml:2:4: ", "&a stands on line 1",
	    "another name", "an anchor that is there twice");
	refused("distributed_type: !!python/name:os.system x\n",
	    "f.yaml:1:19: ", "the tag tag:yaml.org,2002:python/name:os.system",
	    "remove", "a tag that Python would call");
	refused("[a]: b\n", "f.yaml:1:1: ", "a key is a list", "key: value",
	    "a list as a key");
	refused("<<: 3\ndistributed_type: NO\n", "f.yaml:1:5: ",
	    "<< needs a mapping", "&name", "a merge key with a number");
	refused("distributed_type: NO\ngpu_ids: =\n", "f.yaml:2:10: ",
	    "= is no value", "quotes", "a word for keys alone");
	refused("distributed_type: NO\ngpu_ids: 2001-02-29\n", "f.yaml:2:10: ",
	    "2001-02-29 is no value", "quotes", "a day that never was");
	refused("distributed_type: NO\nec2_instance_type: ml.p4\n",
	    "f.yaml:2:1: ", "ec2_instance_type is no key with "
	    "compute_environment LOCAL_MACHINE", "compute_environment",
	    "a key of SageMaker's in a file of ours");
}

/* A small file must not become a large tree. */
static void
bombs(void)
{
	struct buf	text = BUF_INIT;

	buf_adds(&text, "distributed_type: NO\na0: &a0 [x, x]\n");
	for (int i = 1; i < 30; i++)
		buf_addf(&text, "a%d: &a%d [*a%d, *a%d]\n", i, i, i - 1, i - 1);
	ok(parse(buf_text(&text)) == -1 && strstr(err.text, "100000 values"),
	    "aliases that double thirty times");
	buf_clear(&text);
	buf_adds(&text, "distributed_type: NO\na0: &a0 {x: 1}\n");
	for (int i = 1; i < 30; i++)
		buf_addf(&text, "a%d: &a%d\n  <<: [*a%d, *a%d]\n", i, i, i - 1,
		    i - 1);
	ok(parse(buf_text(&text)) == -1 && strstr(err.text, "100000 values"),
	    "and merge keys that do");
	buf_clear(&text);
	for (int i = 0; i < 70000; i++)
		buf_adds(&text, "[");
	ok(parse(buf_text(&text)) == -1 && strstr(err.text, "levels"),
	    "brackets without end");
	buf_clear(&text);
	buf_adds(&text, "a0: &a0 [x]\n");
	for (int i = 1; i < 200; i++)
		buf_addf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
	ok(parse(buf_text(&text)) == -1 && strstr(err.text, "levels"),
	    "levels by aliases");
	buf_clear(&text);
}

static bool
warned(size_t i, const char *part)
{
	return i < c.warnings.count && strstr(c.warnings.item[i], part);
}

static void
warnings(void)
{
	static const char	newer[] = "distributed_type: FSDP\n"
	    "num_procesess: 3\nnewer:\n  a: [1, x]\nfsdp_config:\n"
	    "  <<: {fsdp_version: 1}\n  fsdp_version: 2\n";

	ok(!parse("distributed_type: FSDP\nfsdp_config:\n"
	    "  fsdp_ofload_params: true\nnum_processes: 2\nnum_processes: 4\n"),
	    "what is odd is read");
	ok(c.warnings.count == 2 && warned(0, "f.yaml:3:3: unknown key "
	    "fsdp_ofload_params in fsdp_config") &&
	    warned(0, "did you mean fsdp_offload_params?"),
	    "an unknown key in a section is a warning");
	ok(c.main.num_processes == 4 && warned(1, "f.yaml:5:1: num_processes "
	    "stands on line 4 already"), "of two keys the last counts, told");
	ok(!parse("distributed_type: FSDP\nmain_process_ip: 010\n") &&
	    !strcmp(c.main.main_process_ip, "010") &&
	    warned(0, "write '010'"), "a text that Accelerate takes otherwise");
	ok(!parse("distributed_type: FSDP\nmain_process_ip: 10.1\n"
	    "gpu_ids: 0\n") && !c.warnings.count, "none where it does not");
	config_clear(&c);
	config_init(&c);
	c.keep_unknown = true;
	ok(!config_parse(&c, newer, strlen(newer), "f.yaml", &err) &&
	    c.fsdp.version == 2 && c.warnings.count == 2 &&
	    warned(0, "f.yaml:2:1: unknown key num_procesess is kept; did you "
	    "mean num_processes?"), "keep_unknown keeps them, and says so");
}

static void
values(void)
{
	ok(!parse("distributed_type: NO\nmixed_precision: no\n") &&
	    c.main.distributed_type == dist_NO, "NO without quotes");
	ok(!parse("distributed_type: FSDP\nnum_processes: 0x10\n") &&
	    c.main.num_processes == 16, "hexadecimal");
	ok(!parse("distributed_type: FSDP\nnum_processes: 010\n") &&
	    c.main.num_processes == 8, "octal");
	ok(!parse("distributed_type: FSDP\nnum_processes: 1:30\n") &&
	    c.main.num_processes == 90, "sexagesimal");
	ok(!parse("distributed_type: FSDP\nnum_processes: 1_000\n") &&
	    c.main.num_processes == 1000, "1_000");
	ok(!parse("distributed_type: FSDP\ngpu_ids: 0\ndebug: On\n") &&
	    c.main.debug && !strcmp(c.main.gpu_ids, "0"),
	    "an id without quotes; On is true");
	ok(!parse("\xef\xbb\xbf" "distributed_type: FSDP\r\n"
	    "fsdp_config:\r\n  version: 2\r\nmain_process_ip: null\r\n"
	    "deepspeed_config:\r\n") && c.fsdp.version == 2 &&
	    !c.main.main_process_ip, "BOM, CRLF, null, prefix left out");
	ok(!parse("{\"distributed_type\": \"NO\", \"use_cpu\": true}") &&
	    c.main.use_cpu, "JSON");
	ok(!parse("distributed_type: NO\n\nfsdp_config:\n  version: 2\n") &&
	    c.line[FIELD_fsdp_version] == 4 && c.in_file[FIELD_fsdp_version] &&
	    !c.line[FIELD_main_num_processes] && !c.path,
	    "each field knows its line; a text has no path");
	ok(parse("base: &b {fsdp_version: 2, fsdp_offload_params: true}\n"
	    "distributed_type: FSDP\nfsdp_config: *b\n") == -1,
	    "a key of one's own is unknown, if only to hold an anchor");
	ok(!parse("distributed_type: FSDP\nfsdp_config:\n  <<:\n"
	    "  - {fsdp_version: 2, fsdp_min_num_params: 5}\n"
	    "  - {fsdp_version: 1, fsdp_offload_params: true}\n"
	    "  fsdp_min_num_params: 7\n") && c.fsdp.version == 2 &&
	    c.fsdp.min_num_params == 7 && c.fsdp.offload_params,
	    "merge keys: the first mapping, and what stands beside, win");
	ok(!parse("distributed_type: &d FSDP\nnum_processes: !!int '0b101'\n"
	    "main_process_ip: !!str 5\nrdzv_backend: *d\n") &&
	    c.main.num_processes == 5 &&
	    !strcmp(c.main.rdzv_backend, "FSDP"), "tags and aliases");
	ok(!parse("distributed_type: NO\ndynamo_backend: NO\n") &&
	    c.dynamo.backend == dynamo_NO, "an unquoted NO for dynamo_backend");
	ok(!parse("distributed_type: NO\nuse_cpu: 1\ndowncast_bf16: 'no'\n"
	    "fsdp_config: null\nmegatron_lm_config: ~\ndynamo_config:\n") &&
	    c.main.use_cpu, "1, 'no', null sections");
	ok(!parse("distributed_type: NO\nfp16: true\n") &&
	    c.main.mixed_precision == precision_fp16, "old fp16");
	ok(!parse("distributed_type: NO\ndynamo_backend: INDUCTOR\n") &&
	    c.dynamo.backend == dynamo_INDUCTOR, "old dynamo_backend");
}

/* What the wizards of old versions wrote. */
static void
versions(void)
{
	ok(!parse("compute_environment: LOCAL_MACHINE\ndeepspeed_config: {}\n"
	    "distributed_type: MULTI_GPU\nfp16: true\nmachine_rank: 0\n"
	    "main_process_ip: null\nmain_process_port: null\n"
	    "main_training_function: main\nnum_machines: 1\n"
	    "num_processes: 2\n") && !c.warnings.count &&
	    c.main.mixed_precision == precision_fp16, "0.5: fp16");
	ok(!parse("distributed_type: MULTI_GPU\nfp16: false\n"
	    "mixed_precision: bf16\n") &&
	    c.main.mixed_precision == precision_bf16,
	    "0.6: fp16 beside its successor loses");
	ok(!parse("distributed_type: MULTI_GPU\nfp16: null\n") &&
	    c.main.mixed_precision == precision_no, "0.6: a null fp16");
	ok(!parse("command_file: null\ncommands: null\n"
	    "compute_environment: LOCAL_MACHINE\ndeepspeed_config: {}\n"
	    "distributed_type: FSDP\ndowncast_bf16: 'no'\n"
	    "dynamo_backend: 'NO'\nfsdp_config:\n"
	    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
	    "  fsdp_backward_prefetch_policy: BACKWARD_PRE\n"
	    "  fsdp_offload_params: false\n  fsdp_sharding_strategy: 1\n"
	    "  fsdp_state_dict_type: FULL_STATE_DICT\n"
	    "gpu_ids: null\nmegatron_lm_config: {}\nmixed_precision: bf16\n"
	    "num_machines: 1\nnum_processes: 4\nrdzv_backend: static\n"
	    "same_network: true\ntpu_name: null\ntpu_zone: null\n"
	    "use_cpu: false\n") && c.main.num_processes == 4 &&
	    c.dynamo.backend == dynamo_NO, "0.15: dynamo_backend, null keys");
	ok(!parse("compute_environment: LOCAL_MACHINE\n"
	    "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
	    "  gradient_accumulation_steps: 1\n  gradient_clipping: 1.0\n"
	    "  offload_optimizer_device: none\n"
	    "  offload_param_device: none\n  zero3_init_flag: true\n"
	    "  zero3_save_16bit_model: true\n  zero_stage: 3\n"
	    "dynamo_config: {}\ntpu_env: []\ntpu_use_cluster: false\n"
	    "tpu_use_sudo: false\nmixed_precision: bf16\n") &&
	    c.deepspeed.zero_stage == 3 && !c.warnings.count,
	    "0.17: sections in full");
	ok(!parse("compute_environment: LOCAL_MACHINE\ndebug: false\n"
	    "distributed_type: FSDP\nenable_cpu_affinity: false\n"
	    "fsdp_config:\n  fsdp_reshard_after_forward: FULL_SHARD\n"
	    "  fsdp_version: 1\nparallelism_config: null\n"
	    "fp8_config:\n  amax_history_length: 16\n"
	    "  optimization_level: O1\n") && c.fp8.amax_history_len == 16 &&
	    c.fp8.opt_level == optlevel_O1, "1.3: fp8 in the wizard's words");
}

static void
trips(void)
{
	static const char	text[] =
	    "compute_environment: LOCAL_MACHINE\ndebug: false\n"
	    "distributed_type: FSDP\nenable_cpu_affinity: false\n"
	    "fsdp_config:\n  fsdp_reshard_after_forward: true\n"
	    "  fsdp_version: 2\n  future_key:\n  - 1\n  - a: 'no'\n"
	    "gpu_ids: '0'\nmain_training_function: main\n"
	    "megatron_lm_config:\n  megatron_lm_tp_degree: 2\n"
	    "mixed_precision: 'no'\nnum_machines: 1\nnum_processes: 4\n"
	    "tpu_env: []\ntpu_vm:\n- a b\n- 'yes'\n";
	struct buf	out = BUF_INIT;
	struct config	copy;

	ok(!parse(text), "reads a whole file");
	config_print(&c, &out);
	is(buf_text(&out), text, "and writes the same");
	buf_clear(&out);
	ok(!config_copy(&copy, &c), "copies");
	config_print(&copy, &out);
	is(buf_text(&out), text, "and the copy writes the same");
	ok(config_write(&copy, "/proc/none/x.yaml", &err) == -1 && *err.text,
	    "a folder that cannot be is an error");
	buf_clear(&out);
	config_clear(&copy);
}

static void
flags(void)
{
	char		*argv[] = { "--use-fsdp", "--num_processes=8",
	    "--fsdp_offload_params", "true", "-m", "script", "--debug", NULL };
	char		*bad[] = { "--num_processes", "x", NULL };
	int		at = 0;
	struct strv	env = STRV_INIT;

	parse("distributed_type: NO\nnum_processes: 2\n");
	while (argv[at] && config_flag(&c, argv, &at, &err) == 1)
		;
	ok(at == 5 && c.main.distributed_type == dist_FSDP &&
	    c.main.num_processes == 8 && c.fsdp.offload_params &&
	    c.launch.module, "flags win over the file and stop at the script");
	ok(!config_env(&c, NULL, &env, &err) &&
	    !strcmp(strv_getenv(&env, "FSDP_OFFLOAD_PARAMS"), "true") &&
	    !strcmp(strv_getenv(&env, "ACCELERATE_USE_FSDP"), "true") &&
	    !strcmp(strv_getenv(&env, "ACCELERATE_DYNAMO_USE_DYNAMIC"),
	    "False"), "and reach the environment");
	strv_clear(&env);
	at = 0;
	ok(config_flag(&c, bad, &at, &err) == -1 &&
	    strstr(err.text, "num_processes"), "a wrong value is refused");
	parse("distributed_type: MULTI_CPU\nnum_processes: 3\n"
	    "num_machines: 2\n");
	ok(config_check(&c, &err) == -1 && *err.hint, "3 over 2 machines");
	ok(!config_env(&c, NULL, &env, &err) &&
	    !strcmp(strv_getenv(&env, "ACCELERATE_USE_CPU"), "True"),
	    "a CPU world says so");
	strv_clear(&env);
}

int
main(void)
{
	config_init(&c);
	errors();
	bombs();
	warnings();
	values();
	versions();
	trips();
	flags();
	config_clear(&c);
	return tap_done();
}
