/* SPDX-License-Identifier: Apache-2.0 */
/* accel completion: the shells' part; and accel __complete, which they ask. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/complete.h"

#include "runtime/base/banned.h"

/* Made from completion/ when this is built. */
static const char bash[] =
#include "runtime/cli/completion-bash.inc"
    ;
static const char zsh[] =
#include "runtime/cli/completion-zsh.inc"
    ;
static const char fish[] =
#include "runtime/cli/completion-fish.inc"
    ;

static int
print(struct call *call, struct err *err)
{
	static const struct { const char *shell, *text; } all[] = {
		{ "bash", bash }, { "zsh", zsh }, { "fish", fish },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(call->argv[0], all[i].shell)) {
			fputs(all[i].text, stdout);
			return 0;
		}
	err_set(err, "\"%s\" is no shell that is served", call->argv[0]);
	err_hint(err, "one of: %s", call->command->list);
	return EXIT_USAGE;
}

const struct command command_completion = {
	"completion", "print what makes a shell complete accel's words",
	.run = print, .words = "bash|zsh|fish", .least = 1, .most = 1,
	.takes = TAKES_WORDS, .list = "bash zsh fish",
	.about = "Prints what makes a shell complete the words of accel and "
	    "accel-setup:\ncommands, flags, keys, values, files and hosts.  "
	    "\"make install\" puts it where\nthe shells look.  By hand:\n\n"
	    "  bash   source <(accel completion bash)\n"
	    "  zsh    source <(accel completion zsh)\n"
	    "  fish   accel completion fish | source",
	.page = "accel-completion(1)",
};

/* The words as they are, the program first, the one to complete last. */
static int
answer(struct call *call, struct err *err)
{
	const char	*slash = strrchr(call->argv[0], '/');
	const char	*name = slash ? slash + 1 : call->argv[0];
	struct buf	 out = BUF_INIT;
	int		 ret;

	ret = complete(!strcmp(name, "accel-setup") ? &command_setup :
	    &command_accel, call->argv + 1, call->argc - 1, &out);
	if (ret < 0)
		err_nomem(err);
	else
		fputs(buf_text(&out), stdout);
	buf_clear(&out);
	return ret;
}

const struct command command_complete = {
	"__complete", "say what may come next, for a shell", .run = answer,
	.words = "PROGRAM WORD ...", .least = 1, .most = -1,
	.page = "accel-completion(1)", .flags = COMMAND_SCRIPT | COMMAND_HIDDEN,
};
