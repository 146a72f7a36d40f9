/* SPDX-License-Identifier: Apache-2.0 */
/* mute PORT: takes connections and never says a word: the hung host. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (argc != 2)
		return 2;
	a.sin_port = htons((unsigned short)strtoul(argv[1], NULL, 10));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, 8) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		if (accept(fd, NULL, NULL) < 0)
			return 1;
}
