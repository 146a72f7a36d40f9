/* SPDX-License-Identifier: Apache-2.0 */
/* accel config set: changes keys of a file, all of them or none. */
#include "runtime/cli/config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

struct set {
	const char	*config_file;
	struct strv	 unset;
	bool		 dry_run;
};

static const struct option options[] = {
	CONFIG_FILE(struct set),
	VALUES(struct set, unset, "unset", 0, "KEY", TAKES_KEY,
	    "back to the default; may be given again"),
	SWITCH(struct set, dry_run, "dry_run", 'n',
	    "print the difference, write nothing"),
	OPTIONS_END
};

/* A key that a file can hold, or -1. */
static int
key_of(const char *name, struct err *err)
{
	int id = field_named(name, err);

	if (id >= 0 && fields[id].flags & FIELD_FLAGONLY) {
		err_set(err, "%s is a flag of a launch, no key of a file",
		    fields[id].key);
		return err_hint(err, "give it to accel launch");
	}
	return id;
}

static int
set_one(struct config *c, const char *setting, bool seen[], struct err *err)
{
	const char	*equals = strchr(setting, '=');
	struct buf	 key = BUF_INIT;
	int		 id, ret;

	if (!equals || equals == setting) {
		err_set(err, "\"%s\" is no KEY=VALUE", setting);
		return err_hint(err, "such as num_processes=8; --unset KEY "
		    "takes a key out");
	}
	buf_add(&key, setting, (size_t)(equals - setting));
	if (buf_failed(&key))
		return err_nomem(err);
	id = key_of(buf_text(&key), err);
	buf_clear(&key);
	if (id < 0)
		return -1;
	if (seen[id]) {
		err_set(err, "%s is given twice", fields[id].key);
		return err_hint(err, "say once what it shall be");
	}
	seen[id] = true;
	if (!strcmp(equals + 1, "null") || !equals[1])
		return config_unset(c, (enum field_id)id, err);
	ret = config_put(c, (enum field_id)id, equals + 1, ORIGIN_USER, err);
	if (ret == 0)
		c->in_file[id] = true;
	return ret;
}

static int
unset_one(struct config *c, const char *key, bool seen[], struct err *err)
{
	int id = key_of(key, err);

	if (id < 0)
		return -1;
	if (fields[id].flags & FIELD_REQUIRED) {
		err_set(err, "%s must be in a file", fields[id].key);
		return err_hint(err, "set it to something else");
	}
	if (seen[id]) {
		err_set(err, "%s is both set and unset", fields[id].key);
		return err_hint(err, "say once what it shall be");
	}
	seen[id] = true;
	return config_unset(c, (enum field_id)id, err);
}

static int
run(struct call *call, struct err *err)
{
	const struct set	*o = call->options;
	struct config		 was, is;
	bool			 seen[FIELD_COUNT] = { false };
	int			 code = -1;

	if (!call->argc && !o->unset.count) {
		err_set(err, "nothing to set");
		err_hint(err, "usage: accel config set KEY=VALUE ...");
		return EXIT_USAGE;
	}
	config_init(&was);
	config_init(&is);
	was.keep_unknown = true;		/* it is written again */
	if (cli_config_load(&was, o->config_file, false, err) < 0)
		goto out;
	config_clear(&is);
	if (config_copy(&is, &was) < 0) {
		err_nomem(err);
		goto out;
	}
	code = EXIT_USAGE;
	for (int i = 0; i < call->argc; i++)
		if (set_one(&is, call->argv[i], seen, err) < 0)
			goto out;
	for (size_t i = 0; i < o->unset.count; i++)
		if (unset_one(&is, o->unset.item[i], seen, err) < 0)
			goto out;
	code = cli_config_save(&was, &is, 0, o->dry_run, err);
out:
	config_clear(&was);
	config_clear(&is);
	return code;
}

const struct command command_config_set = {
	"set", "change keys of the file", .run = run, .path = "config set",
	.about = "Changes keys of the file, all of them or, where one is "
	    "wrong, none.\nComments and order stay.  KEY=null takes a key out, as "
	    "--unset does.",
	.words = "KEY=VALUE ...", .most = -1, .takes = TAKES_SETTING,
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct set),
};
