/* SPDX-License-Identifier: Apache-2.0 */
/* Changes files in place; random changes are in tests/cli/yaml-edit.py. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/schema.h"
#include "tests/tap.h"

static struct config	c;
static struct err	err;
static struct buf	out;
static const char	*why;

static void
start(const char *text)
{
	config_clear(&c);
	config_init(&c);
	buf_clear(&out);
	c.keep_unknown = true;
	if (config_parse(&c, text, strlen(text), "f.yaml", &err))
		printf("# %s\n", err.text);
}

static void
set(enum field_id id, const char *text)
{
	if (config_set(&c, id, text, *text ? ORIGIN_USER : ORIGIN_DEFAULT,
	    &err))
		printf("# %s\n", err.text);
	if (!*text)
		c.origin[id] = ORIGIN_DEFAULT;
}

static int
update(const char *text, unsigned how)
{
	return config_update_text(&c, text, strlen(text), "f.yaml", how, &out,
	    &why, &err);
}

static void
lines(void)
{
	static const char	text[] =
	    "# Ours; ask Grüße first\n"
	    "distributed_type: \"MULTI_GPU\"   # not FSDP\n"
	    "\n"
	    "num_processes: 2 # two\n"
	    "# the best\n"
	    "mixed_precision: 'bf16'\n"
	    "commands:\n"
	    "- a   # first\n"
	    "# between\n"
	    "- b\n"
	    "dynamo_config:\n"
	    "    backend: INDUCTOR # by hand\n";

	start(text);
	ok(!update(text, 0) && !strcmp(buf_text(&out), text),
	    "without a change not a byte changes");

	start(text);
	set(FIELD_main_num_processes, "8");
	set(FIELD_main_distributed_type, "FSDP");
	set(FIELD_main_mixed_precision, "no");
	set(FIELD_main_main_process_ip, "a # b");
	set(FIELD_fsdp_version, "2");
	set(FIELD_dynamo_mode, "max-autotune");
	ok(!update(text, 0), "values, a new key, a new section");
	is(buf_text(&out),
	    "# Ours; ask Grüße first\n"
	    "distributed_type: \"FSDP\"   # not FSDP\n"
	    "\n"
	    "num_processes: 8 # two\n"
	    "# the best\n"
	    "mixed_precision: 'no'\n"
	    "commands:\n"
	    "- a   # first\n"
	    "# between\n"
	    "- b\n"
	    "dynamo_config:\n"
	    "    backend: INDUCTOR # by hand\n"
	    "    dynamo_mode: max-autotune\n"
	    "fsdp_config:\n"
	    "  fsdp_version: 2\n"
	    "main_process_ip: 'a # b'\n",
	    "each in its line, in its quotes, at its indent");

	start(text);
	set(FIELD_main_num_processes, "");
	set(FIELD_dynamo_backend, "");
	set(FIELD_main_commands, "b\nc\n");
	ok(!update(text, 0), "keys that go, and items of a list");
	is(buf_text(&out),
	    "# Ours; ask Grüße first\n"
	    "distributed_type: \"MULTI_GPU\"   # not FSDP\n"
	    "\n"
	    "# two\n"
	    "# the best\n"
	    "mixed_precision: 'bf16'\n"
	    "commands:\n"
	    "# first\n"
	    "# between\n"
	    "- b\n"
	    "- c\n"
	    "    # by hand\n",
	    "leave their comments; an empty section goes with its last key");
}

static void
forms(void)
{
	start("distributed_type: 'NO'\r\nfsdp_config: {}  # none\r\n"
	    "use_cpu: false");
	set(FIELD_fsdp_version, "2");
	set(FIELD_main_num_processes, "3");
	ok(!update("distributed_type: 'NO'\r\nfsdp_config: {}  # none\r\n"
	    "use_cpu: false", 0), "CRLF, and no end at the last line");
	is(buf_text(&out), "distributed_type: 'NO'\r\nfsdp_config:  # none\r\n"
	    "  fsdp_version: 2\r\nnum_processes: 3\r\nuse_cpu: false",
	    "stay as they are");

	start("\xef\xbb\xbf{\"distributed_type\": \"NO\",\n "
	    "\"main_process_ip\": \"\xf0\x9f\x98\x80\", \"debug\": true}\n");
	set(FIELD_main_debug, "false");
	set(FIELD_main_tpu_name, "t");
	ok(!update("\xef\xbb\xbf{\"distributed_type\": \"NO\",\n "
	    "\"main_process_ip\": \"\xf0\x9f\x98\x80\", \"debug\": true}\n", 0),
	    "JSON behind a byte-order mark, with four bytes to a character");
	is(buf_text(&out), "\xef\xbb\xbf{\"distributed_type\": \"NO\",\n "
	    "\"main_process_ip\": \"\xf0\x9f\x98\x80\", \"debug\": false, "
	    "\"tpu_name\": \"t\"}\n", "is changed at the right bytes");

	start("distributed_type: 'NO'\nmain_process_ip: >\n  a\n  b\n\n"
	    "num_machines:\n");
	set(FIELD_main_main_process_ip, "c");
	set(FIELD_main_num_machines, "2");
	ok(!update("distributed_type: 'NO'\nmain_process_ip: >\n  a\n  b\n\n"
	    "num_machines:\n", 0), "a block scalar, and a key without a value");
	is(buf_text(&out), "distributed_type: 'NO'\nmain_process_ip: c\n\n"
	    "num_machines: 2\n", "get one in their line");

	start("distributed_type: NO\nnum_machines: &n 2\n"
	    "num_processes: *n\n");
	set(FIELD_main_num_processes, "4");
	ok(!update("distributed_type: NO\nnum_machines: &n 2\n"
	    "num_processes: *n\n", 0), "an alias");
	is(buf_text(&out), "distributed_type: NO\nnum_machines: &n 2\n"
	    "num_processes: 4\n", "gives way to a value");
	set(FIELD_main_num_machines, "4");
	buf_clear(&out);
	ok(update("distributed_type: NO\nnum_machines: &n 2\n"
	    "num_processes: *n\n", 0) == 1 && strstr(why, "anchors") &&
	    !out.len, "an anchor cannot be changed in place, and we say so");
}

static void
old_words(void)
{
	static const char	text[] = "distributed_type: 'NO' # kept\n"
	    "dynamo_backend: INDUCTOR\nfp16: true # half\n"
	    "fp8_config:\n  backend: TE\n  amax_history_length: 8 # steps\n";

	start(text);
	ok(!update(text, 0) && !strcmp(buf_text(&out), text),
	    "old words stay where nothing changes");
	buf_clear(&out);
	ok(!update(text, CONFIG_RENAME), "and become today's on request");
	is(buf_text(&out), "distributed_type: 'NO' # kept\ndynamo_config:\n"
	    "  dynamo_backend: INDUCTOR\n# half\n"
	    "fp8_config:\n  backend: TE\n  amax_history_len: 8 # steps\n"
	    "mixed_precision: fp16\n", "with their comments");
}

static void
deep(void)
{
	static const char	text[] = "compute_environment: AMAZON_SAGEMAKER\n"
	    "distributed_type: NO\nec2_instance_type: i\niam_role_name: r\n"
	    "additional_args:\n    # mine\n    a: {b: [1, 2]}  # odd\n";

	start(text);
	set(FIELD_sagemaker_additional_args, "{x: 1:30, y: [a, {b: c}]}");
	ok(!update(text, 0), "a value of any depth");
	is(buf_text(&out), "compute_environment: AMAZON_SAGEMAKER\n"
	    "distributed_type: NO\nec2_instance_type: i\niam_role_name: r\n"
	    "additional_args:\n    # mine\n    # odd\n    x: 1:30\n    y:\n"
	    "    - a\n    - b: c\n", "is written in lines");
}

static ino_t
inode(const char *path)
{
	struct stat	st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static void
files(void)
{
	char		 folder[] = "/tmp/yamledit.XXXXXX", path[64], json[64];
	const char	*text = "distributed_type: NO # one\nnewer: [1]\n";
	const char	*notice = "";
	struct buf	 now = BUF_INIT;
	ino_t		 before;

	if (!mkdtemp(folder)) {
		ok(false, "a folder for files");
		return;
	}
	snprintf(path, sizeof(path), "%s/f.yaml", folder);
	snprintf(json, sizeof(json), "%s/f.json", folder);
	file_replace(path, text, strlen(text), 0600, NULL);
	start("distributed_type: NO\n");
	ok(!config_read(&c, path, &err) && !strcmp(c.path, path) &&
	    c.line[FIELD_main_distributed_type] == 1, "a file is read");
	before = inode(path);
	ok(!config_write(&c, path, &err) && inode(path) == before,
	    "and not written where nothing changed");
	set(FIELD_main_num_processes, "2");
	ok(!config_save(&c, path, 0, &notice, &err) && !notice &&
	    inode(path) != before && !file_read(path, &now, &err),
	    "it is replaced where something did");
	is(buf_text(&now), "distributed_type: NO # one\nnewer: [1]\n"
	    "num_processes: 2\n", "with all that it had");
	buf_clear(&now);
	text = "distributed_type: &d NO\nnewer: *d # gone\n";
	file_replace(path, text, strlen(text), 0600, NULL);
	start("distributed_type: NO\n");
	config_read(&c, path, &err);
	set(FIELD_main_distributed_type, "FSDP");
	ok(!config_save(&c, path, 0, &notice, &err) && notice &&
	    strstr(notice, "anchors") && !file_read(path, &now, &err) &&
	    strstr(buf_text(&now), "distributed_type: FSDP\n") &&
	    strstr(buf_text(&now), "newer: NO\n"),
	    "what cannot be changed in place is written anew, with a notice");
	buf_clear(&now);
	ok(!config_save(&c, json, 0, &notice, &err) && !notice &&
	    !file_read(json, &now, &err) && !strncmp(buf_text(&now),
	    "{\n  \"compute_environment\": \"LOCAL_MACHINE\",\n", 43) &&
	    strstr(buf_text(&now), "  \"debug\": false,\n"),
	    "a .json file is JSON");
	start("distributed_type: NO\n");
	ok(!config_read(&c, json, &err) &&
	    c.main.distributed_type == dist_FSDP, "and is read as such");
	text = "{\"distributed_type\":\t\"FSDP\", \"tpu_name\": "
	    "\"\\u00e9\\ud83d\\ude00\\\\ud83d\", \"num_processes\": 2}";
	file_replace(json, text, strlen(text), 0600, NULL);
	start("distributed_type: NO\n");
	ok(!config_read(&c, json, &err) && c.main.num_processes == 2 &&
	    !strcmp(c.main.tpu_name, "\xc3\xa9\xf0\x9f\x98\x80\\ud83d"),
	    "its pairs of escapes are characters, its tabs are fine");
	buf_clear(&now);
	unlink(path);
	unlink(json);
	rmdir(folder);
}

int
main(void)
{
	config_init(&c);
	lines();
	forms();
	old_words();
	deep();
	files();
	config_clear(&c);
	buf_clear(&out);
	return tap_done();
}
