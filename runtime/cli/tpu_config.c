/* SPDX-License-Identifier: Apache-2.0 */
/* accel tpu-config: runs commands on all hosts of a TPU pod, through gcloud. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/child.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/config.h"
#include "runtime/config/cloud.h"

#include "runtime/base/banned.h"

struct tpu {
	const char	*config_file, *tpu_name, *tpu_zone, *command_file,
	    *accelerate_version;
	struct strv	 command;
	bool		 use_alpha, install_accelerate, debug;
};

static const struct option options[] = {
	CONFIG_FILE(struct tpu),
	VALUE(struct tpu, tpu_name, "tpu_name", 0, "NAME", TAKES_TEXT,
	    "the pod, as gcloud knows it"),
	VALUE(struct tpu, tpu_zone, "tpu_zone", 0, "ZONE", TAKES_TEXT,
	    "its zone, such as us-central1-a"),
	MORE_VALUES(struct tpu, command, "command", 0, "COMMAND ...",
	    TAKES_TEXT, "what to run; may be given again"),
	VALUE(struct tpu, command_file, "command_file", 0, "FILE", TAKES_FILE,
	    "a command a line, instead"),
	SWITCH(struct tpu, install_accelerate, "install_accelerate", 0,
	    "install Accelerate there first"),
	VALUE(struct tpu, accelerate_version, "accelerate_version", 0,
	    "VERSION", TAKES_TEXT, "which one: latest, dev, or a number"),
	SWITCH(struct tpu, use_alpha, "use_alpha", 0,
	    "gcloud alpha instead of gcloud"),
	SWITCH(struct tpu, debug, "debug", 0,
	    "say what would be run, and run nothing"),
	OPTIONS_END
};

/* A text of lines, each a command. */
static int
add_lines(struct strv *v, char *text, struct err *err)
{
	for (char *end; text && *text; text = end) {
		size_t n = strcspn(text, "\r\n");

		end = text + n + (text[n] == '\r') +
		    (text[n] && text[n + (text[n] == '\r')] == '\n');
		text[n] = '\0';
		if (strv_add(v, text) < 0)
			return err_nomem(err);
	}
	return 0;
}

/* The flags before the file; a file of commands before commands. */
static int
gather(const struct tpu *o, struct config *c, struct tpu_setup *setup,
    struct err *err)
{
	const char	*file = o->command_file;
	struct buf	 text = BUF_INIT;
	int		 ret = 0;

	if (cli_config_load(c, o->config_file, true, err) < 0)
		return -1;
	setup->name = o->tpu_name ? o->tpu_name : c->main.tpu_name;
	setup->zone = o->tpu_zone ? o->tpu_zone : c->main.tpu_zone;
	setup->alpha = o->use_alpha;
	if (o->install_accelerate)
		setup->accelerate = o->accelerate_version ?
		    o->accelerate_version : "latest";
	if (!file && !o->command.count)
		file = c->main.command_file;
	if (file && file_read(file, &text, err) < 0)
		ret = -1;
	else if (!file && !o->command.count && c->main.commands)
		buf_adds(&text, c->main.commands);
	if (ret == 0)
		ret = add_lines(&setup->commands, text.data, err);
	for (size_t i = 0; ret == 0 && !file && i < o->command.count; i++)
		if (strv_add(&setup->commands, o->command.item[i]) < 0)
			ret = err_nomem(err);
	buf_clear(&text);
	if (ret == 0 && !setup->commands.count) {
		err_set(err, "no command to run on the pod");
		ret = err_hint(err, "give --command or --command_file, or set "
		    "commands in the file");
	}
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct tpu	*o = call->options;
	struct tpu_setup	setup = { .commands = STRV_INIT };
	struct strv		argv = STRV_INIT;
	struct config		c;
	int			code = -1;

	config_init(&c);
	if (gather(o, &c, &setup, err) < 0 ||
	    tpu_setup_words(&setup, &argv, err) < 0)
		goto out;
	if (o->debug) {
		printf("Running");
		for (size_t i = 0; i < argv.count; i++)
			printf(" %s", argv.item[i]);
		printf("\n");
		code = 0;
		goto out;
	}
	code = child_run((const char *const *)(uintptr_t)argv.item, NULL, 0,
	    NULL, err);
	if (code == 0)
		printf("%s is set up\n", setup.name);
	else if (code > 0)
		fprintf(stderr, "accel tpu-config: gcloud ended with exit code "
		    "%d\n", code);
	else
		err_hint(err, "gcloud is Google Cloud's command: install it, "
		    "or use --debug");
out:
	config_clear(&c);
	strv_clear(&setup.commands);
	strv_clear(&argv);
	return code;
}

const struct command command_tpu_config = {
	"tpu-config", "run commands on all hosts of a TPU pod",
	.run = run,
	.about = "Runs commands on all hosts of a TPU pod, through gcloud: the "
	    "flags are put\nbefore what the file says.",
	.page = "accel-tpu-config(1)", .options = options,
	.size = sizeof(struct tpu),
};
