/* SPDX-License-Identifier: Apache-2.0 */
/* accel: finds the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/near.h"
#include "runtime/cli/cli.h"

#include "runtime/base/banned.h"

static const struct {
	const char	*name, *what;
	int		(*run)(int argc, char **argv);
} commands[] = {
	{ "launch", "start a program's ranks, here and on other hosts", cli_launch },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void
usage(FILE *to)
{
	fprintf(to, "usage: accel COMMAND ...\n\n");
	for (int i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].what);
	fprintf(to, "\n\"accel COMMAND --help\" says more; accel-setup is the "
	    "wizard.\n");
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--version")) {
		printf("accel %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") ||
	    !strcmp(name, "help")) {
		usage(stdout);
		return 0;
	}
	for (int i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 2, argv + 2);
	if (!*name) {
		usage(stderr);
		return EXIT_USAGE;
	}
	fprintf(stderr, "accel: there is no command \"%s\"\n", name);
	for (int i = 0; i < COMMANDS; i++)
		if (near_enough(name, commands[i].name))
			fprintf(stderr, "       did you mean \"%s\"?\n",
			    commands[i].name);
	return EXIT_USAGE;
}
