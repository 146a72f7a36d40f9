/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/setup.h"

#include "runtime/cli/cli.h"
#include "runtime/config/memory.h"

#include "runtime/base/banned.h"

#define WORD_OF(symbol, word, what)	word " "

static const struct option options[] = {
	CONFIG_FILE(struct setup),
	VALUES(struct setup, set, "set", 0, "KEY=VALUE", TAKES_SETTING,
	    "set a field first; may be repeated"),
	SWITCH(struct setup, write, "write", 0, "write without asking"),
	SWITCH(struct setup, defaults, "defaults", 0,
	    "a new file with what fits this machine, unasked"),
	SWITCH(struct setup, force, "force", 0, "--defaults may replace a file"),
	SWITCH(struct setup, print, "print", 0,
	    "print the file instead of writing it"),
	SWITCH(struct setup, list_new, "list-new", 0,
	    "print the questions that the file does not answer yet"),
	SWITCH(struct setup, minimal, "minimal", 0,
	    "print only what differs from the defaults"),
	SWITCH(struct setup, check, "check", 0,
	    "say all that is wrong; 0 nothing, 1 something"),
	SWITCH(struct setup, diff, "diff", 0,
	    "print what writing would change; 0 nothing, 1 something"),
	VALUE(struct setup, model, "model", 0, "MODEL", TAKES_FILE,
	    "for the memory estimate: a config.json, or a count such as 7B"),
	VALUE(struct setup, sequence, "sequence_length", 0, "N", TAKES_TEXT,
	    "tokens of a sequence (1024)"),
	VALUE(struct setup, batch, "micro_batch", 0, "N", TAKES_TEXT,
	    "sequences of a rank at once (1)"),
	VALUE(struct setup, total, "global_batch", 0, "N", TAKES_TEXT,
	    "sequences of a step, of all ranks (8 for each)"),
	CHOICE_OF(struct setup, optimizer, "optimizer", "KIND",
	    OPTIMIZERS(WORD_OF), OPTIMIZERS(WORD_OF) "(adam)"),
	VALUE(struct setup, machine, "machine", 0, "FILE", TAKES_FILE,
	    "propose for the machine that this file describes"),
	SWITCH(struct setup, facts, "facts", 0,
	    "print what was found on the machine"),
	SWITCH(struct setup, plain, "plain", 0,
	    "a conversation, without a full screen"),
	SWITCH(struct setup, ascii, "ascii", 0, "no line drawing characters"),
	SWITCH(struct setup, no_color, "no-color", 0,
	    "no colours (as NO_COLOR in the environment)"),
	SWITCH(struct setup, no_mouse, "no-mouse", 0,
	    "the mouse stays with the terminal"),
	SWITCH(struct setup, launch, "launch", 0,
	    "offer to launch a script, with its words, at the end"),
	SWITCH(struct setup, follow, "follow", 0,
	    "run a command of accel, with its words, on the launch screen"),
	SWITCH(struct setup, version, "version", 0, "the version"),
	OPTIONS_END
};

const struct command command_setup = {
	"accel-setup", "set up a training run", .page = "accel-setup(1)",
	.words = "[--launch SCRIPT [WORD...]]", .about = "Sets up a training run: asks, checks "
	    "and writes the file that \"accel launch\"\nreads.  Nothing is "
	    "written before you say so.",
	.options = options, .size = sizeof(struct setup),
};
