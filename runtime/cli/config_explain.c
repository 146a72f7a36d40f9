/* SPDX-License-Identifier: Apache-2.0 */
/* accel config explain: all about a key. */
#include "runtime/cli/config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/config/rules.h"
#include "runtime/config/words.h"

#include "runtime/base/banned.h"

struct explain {
	const char	*config_file;
};

static const struct option options[] = {
	CONFIG_FILE(struct explain),
	OPTIONS_END
};

static void
print_names(const struct field *f, enum field_id id)
{
	const char *flag = field_flag(id);

	printf("Key        %s%s%s%s\n", f->group, *f->group ? "." : "", f->key,
	    f->flags & FIELD_FLAGONLY ? "  (a flag only)" : "");
	if (flag && f->letter)
		printf("Flag       -%c, --%s\n", f->letter, flag);
	else if (flag)
		printf("Flag       --%s\n", flag);
	if (f->no)
		printf("Or not     --%s\n", f->no);
	if (f->alias)
		printf("Also       %s\n", f->alias);
	if (f->env)
		printf("Ranks see  %s\n", f->env);
}

static void
print_type(const struct field *f, enum field_id id)
{
	static const char *const types[] = {
		[TYPE_BOOL] = "true or false", [TYPE_INT] = "a whole number",
		[TYPE_REAL] = "a number", [TYPE_TEXT] = "text",
		[TYPE_CHOICE] = "one of the words below",
		[TYPE_LIST] = "a list of texts",
	};
	struct config	fresh;
	struct buf	def = BUF_INIT;

	printf("Type       %s", types[f->type]);
	if (f->type == TYPE_INT)
		printf(" from %.0f to %.0f", f->lo, f->hi);
	if (f->type == TYPE_REAL)
		printf(" from %g to %g", f->lo, f->hi);
	config_init(&fresh);
	if (config_say(&fresh, id, &def) == 0)
		printf("\nDefault    %s%s\n", buf_text(&def),
		    f->flags & FIELD_REQUIRED ? "  (a file must have it)" : "");
	buf_clear(&def);
	config_clear(&fresh);
}

/* What it is now, and why. */
static void
print_now(const struct config *c, enum field_id id)
{
	struct buf value = BUF_INIT, from = BUF_INIT, needs = BUF_INIT;

	if (config_say(c, id, &value) == 0 && config_whence(c, id, &from) == 0)
		printf("Now        %s  (%s)\n", buf_text(&value),
		    buf_text(&from));
	if (field_needs(id, &needs) == 0)
		printf("Needs      %s%s\n", needs.len ? buf_text(&needs) :
		    "nothing", config_applies(c, id) ? "" : "  (not so now)");
	buf_clear(&value);
	buf_clear(&from);
	buf_clear(&needs);
}

static void
print_rules(int id)
{
	bool	any = false;

	for (const struct rule *r = rules; r->id; r++) {
		if (!rule_mentions(r, id))
			continue;
		if (!any)
			printf("\nRules\n");
		any = true;
		printf("  %-8s %s\n  %8s %s\n", r->fatal ? "error" : "warning",
		    r->law, "else", r->remedy);
	}
}

static int
run(struct call *call, struct err *err)
{
	const struct explain	*o = call->options;
	int			 id = field_named(call->argv[0], err);
	const struct field	*f;
	struct config		 now;

	if (id < 0)
		return EXIT_USAGE;
	config_init(&now);
	now.keep_unknown = true;	/* another key's matter */
	if (cli_config_load(&now, o->config_file, true, err) < 0) {
		config_clear(&now);
		return -1;
	}
	f = &fields[id];
	printf("%s\n%s\n\n", f->ask, f->help);
	print_names(f, (enum field_id)id);
	print_type(f, (enum field_id)id);
	print_now(&now, (enum field_id)id);
	config_clear(&now);
	if (f->choice)
		printf("\nValues\n");
	for (const struct choice *k = f->choice; k && k->word; k++)
		printf("  %-24s %s\n", k->word, k->what);
	print_rules(id);
	return 0;
}

const struct command command_config_explain = {
	"explain", "say all about a key", .run = run,
	.path = "config explain", .words = "KEY", .least = 1, .most = 1,
	.takes = TAKES_KEY,
	.about = "Says what a key means, what it may be, what it is and why.\n"
	    "KEY is a key, a flag or an older name, with \"-\" or \"_\", "
	    "perhaps behind\nits section: fsdp_config.fsdp_version.",
	.page = "accel-config(1)", .options = options,
	.size = sizeof(struct explain), .flags = COMMAND_ANY_WORD,
};
