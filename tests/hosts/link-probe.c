/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link-probe [-F config] [-t connect] [-s silence] [-x phase]
 *     agent host [agent's args]
 * Opens one SSH link; stdin and stdout are the agent's.  At the end it prints
 * "copied N" and "well", or the error, on stderr; the status is 0 or 1.
 * With -x it closes the link as soon as it is in that phase, and says when.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/launch/ssh.h"
#include "runtime/base/banned.h"

static int
send_all(int fd, const char *data, ssize_t n)
{
	ssize_t w;

	for (; n > 0; n -= w, data += w)
		if ((w = send(fd, data, (size_t)n, MSG_NOSIGNAL)) <= 0)
			return -1;
	return 0;
}

/* stdin is sent by a child, so that both directions are blocking and busy. */
static pid_t
start_sender(int fd)
{
	static char block[65536];
	pid_t pid = fork();
	ssize_t n;

	if (pid != 0)
		return pid;
	while ((n = read(0, block, sizeof(block))) > 0)
		if (send_all(fd, block, n) < 0)
			_exit(1);
	shutdown(fd, SHUT_WR);
	_exit(0);
}

/* Waits for a phase, and closes the link in it. */
static int
close_in(struct ssh_link *link, const char *phase)
{
	struct pollfd p = { .fd = ssh_fd(link), .events = POLLIN };

	while (strcmp(ssh_phase(link), phase) != 0)
		if (poll(&p, 1, 1) > 0 && (p.revents & POLLHUP))
			break;
	fprintf(stderr, "closed in %s\n", ssh_phase(link));
	ssh_close(link);
	return 0;
}

int
main(int argc, char **argv)
{
	static char block[65536];
	struct ssh_options options = { 0 };
	struct ssh_link *link;
	struct err err = ERR_INIT;
	const char *phase = NULL;
	ssize_t n;
	int c, r;

	while ((c = getopt(argc, argv, "+F:t:s:x:")) != -1) {
		if (c == 'F')
			options.config_file = optarg;
		else if (c == 't')
			options.connect_timeout_s = (int)strtol(optarg, NULL, 10);
		else if (c == 's')
			options.silence_s = (int)strtol(optarg, NULL, 10);
		else if (c == 'x')
			phase = optarg;
		else
			return 2;
	}
	if (argc - optind < 2)
		return 2;
	options.agent_path = argv[optind];
	options.agent_args = (const char *const *)argv + optind + 2;
	if (ssh_open(&options, argv[optind + 1], &link, &err) < 0) {
		err_print("link-probe", &err);
		return 1;
	}
	if (phase != NULL)
		return close_in(link, phase);
	start_sender(ssh_fd(link));
	while ((n = read(ssh_fd(link), block, sizeof(block))) > 0)
		if (write(1, block, (size_t)n) != n)
			break;
	r = ssh_result(link, &err);
	fprintf(stderr, "copied %d\n", ssh_copied(link));
	if (r < 0)
		err_print("link-probe", &err);
	else
		fprintf(stderr, "well\n");
	ssh_close(link);
	return r < 0;
}
