/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/run.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/banned.h"

/* Our own address as the host at "other" sees it. */
static void
own_address(const char *other, char *out, size_t room)
{
	struct addrinfo		 hints = { .ai_flags = AI_NUMERICHOST,
					   .ai_socktype = SOCK_DGRAM };
	struct addrinfo		*to;
	struct sockaddr_storage	 me;
	socklen_t		 n = sizeof me;
	int			 fd;

	if (getaddrinfo(other, "9", &hints, &to))
		return;
	fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
	    getsockname(fd, (struct sockaddr *)&me, &n) == 0)
		getnameinfo((struct sockaddr *)&me, n, out, (socklen_t)room,
		    NULL, 0, NI_NUMERICHOST);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(to);
}

/* The number of a name.  Agents get numbers alone: a name may mean another
 * address on each host, and a static program has no resolver. */
static void
resolve_address(struct run *run, const char *name)
{
	struct addrinfo		 hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo		*to;
	char			 text[300];
	int			 error = getaddrinfo(name, NULL, &hints, &to);

	if (!error) {
		error = getnameinfo(to->ai_addr, to->ai_addrlen, run->address,
		    sizeof run->address, NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(to);
	}
	if (!error)
		return;
	snprintf(text, sizeof text, "--main_process_ip %.200s: %s", name,
	    gai_strerror(error));
	run_problem(run, 0, text, "give the number of an address of rank 0's host");
}

void
run_choose_address(struct run *run)
{
	const struct plan *plan = run->plan;

	if (plan->address)
		resolve_address(run, plan->address);
	else if (hosts(run) == 1)
		snprintf(run->address, sizeof run->address, "127.0.0.1");
	else if (!host_is_local(&plan->hosts.host[0]))
		snprintf(run->address, sizeof run->address, "%s",
		    run->peer[0].address);
	else
		own_address(run->peer[1].address, run->address,
		    sizeof run->address);
	if (!run->address[0] && !run->problems)
		run_problem(run, 0, "no address of this host is known to the others",
		    "give it: --main_process_ip ADDRESS");
}
