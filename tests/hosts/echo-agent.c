/* SPDX-License-Identifier: Apache-2.0 */
/* echo-agent: stands in for the agent: echoes, or "exit N" with a last word. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	char block[65536];
	ssize_t n, w, at;

	if (argc == 3 && strcmp(argv[1], "exit") == 0) {
		fprintf(stderr, "first line\nlast word\n");
		return (int)strtol(argv[2], NULL, 10);
	}
	if (argc == 3 && strcmp(argv[1], "say") == 0) {
		puts(argv[2]);
		return 0;
	}
	while ((n = read(0, block, sizeof(block))) > 0)
		for (at = 0; at < n; at += w)
			if ((w = write(1, block + at, (size_t)(n - at))) <= 0)
				return 1;
	return 0;
}
