/* SPDX-License-Identifier: Apache-2.0 */
/* accel to-fsdp2: a file for FSDP 1 becomes one for FSDP 2. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/cli/cli.h"
#include "runtime/config/fsdp2.h"

#include "runtime/base/banned.h"

struct convert {
	const char	*config_file, *output_file;
	bool		 overwrite;
};

static const struct option options[] = {
	VALUE(struct convert, config_file, "config_file", 0, "FILE",
	    TAKES_YAML, "what to convert"),
	VALUE(struct convert, output_file, "output_file", 0, "FILE",
	    TAKES_YAML, "where to write it"),
	SWITCH(struct convert, overwrite, "overwrite", 0,
	    "replace the output, or without one the file itself"),
	OPTIONS_END
};

static int
check(const struct convert *o, struct err *err)
{
	if (!o->config_file) {
		err_set(err, "--config_file FILE is missing");
		return err_hint(err, "it says what to convert");
	}
	if (!o->output_file && !o->overwrite) {
		err_set(err, "nowhere to write to");
		return err_hint(err, "give --output_file FILE, or --overwrite "
		    "to change %s itself", o->config_file);
	}
	return 0;
}

/* A new file has the old one's text, but for the lines that change. */
static int
write_new(const struct config *c, const struct buf *old, const char *path,
    struct err *err)
{
	struct buf	 text = BUF_INIT;
	const char	*why = NULL;
	int		 ret;

	ret = config_update_text(c, buf_text(old), old->len, c->path, 0, &text,
	    &why, err);
	if (ret > 0) {
		fprintf(stderr, "accel to-fsdp2: %s is written anew: %s\n",
		    path, why);
		ret = (fnmatch("*.json", path, 0) ? config_print(c, &text) :
		    config_print_json(c, &text)) < 0 ? err_nomem(err) : 0;
	}
	if (ret == 0)
		ret = file_replace(path, buf_text(&text), text.len, 0644, err);
	buf_clear(&text);
	return ret;
}

static int
run(struct call *call, struct err *err)
{
	const struct convert	*o = call->options;
	const char		*to = o->output_file ? o->output_file :
	    o->config_file;
	struct strv		 notes = STRV_INIT;
	struct buf		 old = BUF_INIT;
	struct err		 problem = ERR_INIT;
	struct config		 c;
	int			 changed, ret = -1;

	if (check(o, err) < 0)
		return EXIT_USAGE;
	if (!o->overwrite && access(to, F_OK) == 0) {
		err_set(err, "%s is there already", to);
		return err_hint(err, "--overwrite replaces it");
	}
	config_init(&c);
	c.keep_unknown = true;
	if (file_read(o->config_file, &old, err) < 0 ||
	    config_read(&c, o->config_file, err) < 0 ||
	    (changed = config_to_fsdp2(&c, &notes, err)) < 0)
		goto out;
	for (size_t i = 0; i < c.warnings.count; i++)
		fprintf(stderr, "accel to-fsdp2: %s\n", c.warnings.item[i]);
	for (size_t i = 0; i < notes.count; i++)
		fprintf(stderr, "accel to-fsdp2: %s: %s\n", o->config_file,
		    notes.item[i]);
	ret = changed ? write_new(&c, &old, to, err) : !strcmp(to,
	    o->config_file) ? 0 : file_replace(to, buf_text(&old), old.len,
	    0644, err);
	if (ret < 0)
		goto out;
	printf("%s: %s\n", to, changed ? "for FSDP version 2" : "unchanged");
	if (changed && config_check(&c, &problem) < 0)
		fprintf(stderr, "accel to-fsdp2: but now %s\n"
		    "                %s\n", problem.text, problem.hint);
out:
	config_clear(&c);
	strv_clear(&notes);
	buf_clear(&old);
	return ret;
}

const struct command command_to_fsdp2 = {
	"to-fsdp2", "make a file for FSDP 1 one for FSDP 2", .run = run,
	.about = "Maps the values that changed, takes out the keys that are no "
	    "more, and leaves\nall else, comments too, as it is.",
	.page = "accel-to-fsdp2(1)", .options = options,
	.size = sizeof(struct convert),
};
