/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet: a rank that meets the others at MASTER_ADDR:MASTER_PORT, as a store of
 * torch does: rank 0 binds the port, the others come, and each says its job.
 * It exits with 0 where all of one job have met, and nobody else came.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIES = 200, TRY_US = 50000, JOB = 64 };

static struct addrinfo *
where(const char *host, int flags)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_family = AF_INET, .ai_flags = flags };
	struct addrinfo *to;

	if (getaddrinfo(host, getenv("MASTER_PORT"), &hints, &to))
		exit(10);
	return to;
}

static int
exchange(int fd, const char job[JOB])
{
	char	theirs[JOB];
	ssize_t	n;
	size_t	got = 0;

	if (send(fd, job, JOB, MSG_NOSIGNAL) != JOB)
		return -1;
	while (got < JOB && (n = recv(fd, theirs + got, JOB - got, 0)) > 0)
		got += (size_t)n;
	return got == JOB && !memcmp(job, theirs, JOB) ? 0 : -1;
}

int
main(void)
{
	long		 rank = strtol(getenv("RANK"), NULL, 10);
	long		 world = strtol(getenv("WORLD_SIZE"), NULL, 10);
	char		 job[JOB] = "";
	struct addrinfo	*to;
	int		 fd, one = 1;

	snprintf(job, sizeof job, "%s", getenv("ACCEL_JOB"));
	if (rank == 0) {
		to = where(NULL, AI_PASSIVE);
		fd = socket(to->ai_family, SOCK_STREAM, 0);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (bind(fd, to->ai_addr, to->ai_addrlen) < 0 ||
		    listen(fd, 64) < 0) {
			perror("rank 0 cannot bind MASTER_PORT");
			return 11;
		}
		for (long i = 1; i < world; i++) {
			int peer = accept(fd, NULL, NULL);

			if (peer < 0 || exchange(peer, job) < 0)
				return 12;
			close(peer);
		}
	} else {
		to = where(getenv("MASTER_ADDR"), AI_NUMERICHOST);
		for (int i = 0;; i++) {
			fd = socket(to->ai_family, SOCK_STREAM, 0);
			if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
				break;
			close(fd);
			if (i == TRIES)
				return 13;
			usleep(TRY_US);
		}
		if (exchange(fd, job) < 0)
			return 14;
	}
	close(fd);
	freeaddrinfo(to);
	printf("met at %s\n", getenv("MASTER_PORT"));
	return 0;
}
