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

static void
errors(void)
{
	ok(parse("distributed_type: FSDP\nnum_process: 4\n") == -1 &&
	    !strcmp(err.text, "f.yaml:2:1: unknown key num_process") &&
	    !strcmp(err.hint, "did you mean num_processes?"),
	    "an unknown key has its line and the nearest key");
	ok(parse("distributed_type: NO\nmain_process_port: 69420\n") == -1 &&
	    strstr(err.text, "f.yaml:2:20: main_process_port") &&
	    strstr(err.text, "65535"), "a port too high has line and range");
	ok(parse("distributed_type: NO\nnum_processes: many\n") == -1 &&
	    strstr(err.text, "f.yaml:2"), "a text for a number is refused");
	ok(parse("distributed_type: NO\nnum_processes: 1e8\n") == -1,
	    "1e8 is a text");
	ok(parse("distributed_type: NO\nnum_processes: 1.5\n") == -1,
	    "a real number for a whole one is refused");
	ok(parse("") == -1 && strstr(err.text, "empty"), "an empty file");
	ok(parse("- a\n") == -1, "a list at the top");
	ok(parse("a: [\n") == -1 && strstr(err.text, "f.yaml:"), "no YAML");
	ok(parse("distributed_type: NO\nmain_process_ip: me@host\n") == -1,
	    "an address with a user is refused");
	ok(parse("distributed_type: fsdp\n") == -1 &&
	    strstr(err.hint, "FSDP"), "lower case is refused with the word");
	ok(parse("num_processes: 1\n") == -1, "distributed_type is needed");
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
	ok(!parse("distributed_type: NO\nfp16: true\n") &&
	    c.main.mixed_precision == precision_fp16, "old fp16");
	ok(!parse("distributed_type: NO\ndynamo_backend: INDUCTOR\n") &&
	    c.dynamo.backend == dynamo_INDUCTOR, "old dynamo_backend");
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
	values();
	trips();
	flags();
	config_clear(&c);
	return tap_done();
}
