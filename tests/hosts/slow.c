/* SPDX-License-Identifier: Apache-2.0 */
/* slow PORT ADDRESS PORT MS: passes one connection on, each byte MS late in
 * either direction: a host on the other side of the world. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"

struct piece {
	struct piece	*next;
	int64_t		 at;	/* when it is due */
	ssize_t		 n;	/* 0: the end */
	char		 data[65536];
};

struct way {
	int		 from, to;
	struct piece	*first, **last;
};

static struct sockaddr_in
address(const char *host, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };

	inet_pton(AF_INET, host, &a.sin_addr);
	a.sin_port = htons((unsigned short)strtoul(port, NULL, 10));
	return a;
}

static void
take(struct way *w, int64_t late)
{
	struct piece *p = malloc(sizeof *p);

	if (!p)
		exit(1);
	p->next = NULL;
	p->n = read(w->from, p->data, sizeof p->data);
	p->at = clock_ms() + late;
	*w->last = p;
	w->last = &p->next;
	if (p->n <= 0)
		w->from = -1;
}

/* Gives what is due; true while the way is open. */
static int
give(struct way *w)
{
	while (w->first && w->first->at <= clock_ms()) {
		struct piece *p = w->first;

		if (p->n <= 0 || write(w->to, p->data, (size_t)p->n) != p->n)
			return 0;
		if (!(w->first = p->next))
			w->last = &w->first;
		free(p);
	}
	return 1;
}

static void
pass(int near, int far, int64_t late)
{
	struct way w[2] = { { near, far, NULL, NULL }, { far, near, NULL, NULL } };

	for (int i = 0; i < 2; i++)
		w[i].last = &w[i].first;
	while (give(&w[0]) && give(&w[1])) {
		struct pollfd p[2] = { { w[0].from, POLLIN, 0 },
			{ w[1].from, POLLIN, 0 } };

		poll(p, 2, 10);
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				take(&w[i], late);
	}
	close(near);
	close(far);
}

int
main(int argc, char **argv)
{
	struct sockaddr_in here, there;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, near, far;

	if (argc != 5)
		return 2;
	here = address("127.0.0.1", argv[1]);
	there = address(argv[2], argv[3]);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0 ||
	    listen(fd, 8) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	near = accept(fd, NULL, NULL);
	far = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(far, (struct sockaddr *)&there, sizeof there) < 0)
		return 1;
	pass(near, far, strtol(argv[4], NULL, 10));
	return 0;
}
