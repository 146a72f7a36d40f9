/* SPDX-License-Identifier: Apache-2.0 */
/* port: a run of TCP ports that nobody listens on, for tests. */
#ifndef TESTS_TRAIN_PORT_H
#define TESTS_TRAIN_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static inline int
port_is_free(int port)
{
	struct sockaddr_in in;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, rc;

	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	rc = bind(fd, (struct sockaddr *)&in, sizeof(in));
	close(fd);
	return rc == 0;
}

/* The first of n, below those that the system hands out by itself. */
static inline int
free_ports(int n)
{
	int port = 10000 + (int)getpid() * 37 % 20000, k = 0;

	while (k < n) {
		if (port_is_free(port + k)) {
			k++;
		} else {
			port += k + 1;
			k = 0;
		}
	}
	return port;
}
#endif
