/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/launch/run.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
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

static void
add(struct run *run, const char *address)
{
	for (size_t i = 0; i < run->candidates; i++)
		if (!strcmp(run->candidate[i], address))
			return;
	if (*address && run->candidates < RUN_ADDRESSES)
		snprintf(run->candidate[run->candidates++],
		    sizeof run->candidate[0], "%s", address);
}

/* The number of a name.  Agents get numbers alone: a name may mean another
 * address on each host, and a static program has no resolver. */
static void
resolve_address(struct run *run, const char *name)
{
	struct addrinfo		 hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo		*to;
	char			 text[300], number[128];
	int			 error = getaddrinfo(name, NULL, &hints, &to);

	if (!error) {
		error = getnameinfo(to->ai_addr, to->ai_addrlen, number,
		    sizeof number, NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(to);
	}
	if (!error) {
		add(run, number);
		return;
	}
	snprintf(text, sizeof text, "--main_process_ip %.200s: %s", name,
	    gai_strerror(error));
	run_problem(run, 0, text, "give the number of an address of rank 0's host");
}

/* Addresses that mean another machine to each machine. */
static bool
is_private_to_a_host(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1") ||
	    !strncmp(address, "169.254.", 8) || !strncmp(address, "fe80:", 5);
}

/* "eth0 10.0.0.1" of a fact "interface=eth0 10.0.0.1", else NULL. */
static const char *
interface_fact(const char *fact)
{
	return strncmp(fact, "interface=", 10) ? NULL : fact + 10;
}

void
run_candidates(struct run *run)
{
	const struct plan	*plan = run->plan;
	const struct strv	*facts = &run->peer[0].facts;
	char			 mine[128];

	if (plan->address) {
		resolve_address(run, plan->address);
		return;
	}
	if (hosts(run) == 1) {
		add(run, "127.0.0.1");
		return;
	}
	/* The one that ssh came to works for one machine at least; for a local
	 * rank 0, the one with which we went to the others. */
	if (!host_is_local(&plan->hosts.host[0]))
		add(run, run->peer[0].address);
	else
		for (size_t h = 1; h < hosts(run); h++) {
			mine[0] = '\0';
			own_address(run->peer[h].address, mine, sizeof mine);
			add(run, mine);
		}
	for (int v6 = 0; v6 < 2; v6++)
		for (size_t i = 0; i < facts->count; i++) {
			const char *at = interface_fact(facts->item[i]);

			at = at ? strchr(at, ' ') : NULL;
			if (at && !is_private_to_a_host(at + 1) &&
			    (strchr(at + 1, ':') != NULL) == v6)
				add(run, at + 1);
		}
	if (!run->candidates)
		run_problem(run, 0, "no address of this host is known to the others",
		    "give it: --main_process_ip ADDRESS");
}

/* The interface of rank 0's own address. */
static void
own_interface(struct run *run)
{
	const struct strv *facts = &run->peer[0].facts;

	for (size_t i = 0; i < facts->count; i++) {
		const char *name = interface_fact(facts->item[i]);
		const char *at = name ? strchr(name, ' ') : NULL;

		if (at && !strcmp(at + 1, run->address))
			snprintf(run->peer[0].interface,
			    sizeof run->peer[0].interface, "%.*s",
			    (int)(at - name), name);
	}
}

/* How many hosts reached a candidate; all that were asked is the proof. */
static size_t
reached(const struct run *run, size_t candidate, size_t *asked)
{
	size_t n = 0;

	*asked = 0;
	for (size_t h = 1; h < hosts(run); h++) {
		const struct peer *peer = &run->peer[h];

		if (peer->closed || peer->answered <= candidate)
			continue;
		++*asked;
		n += peer->reach[candidate].problem[0] == '\0';
	}
	return n;
}

static void
say_unreached(struct run *run, size_t host)
{
	const struct peer	*peer = &run->peer[host];
	struct buf		 text = BUF_INIT;

	buf_addf(&text, "cannot reach rank 0's host, port %u: ",
	    (unsigned)run->port);
	for (size_t i = 0; i < peer->answered; i++)
		buf_addf(&text, "%s%s (%s)", i ? ", " : "", run->candidate[i],
		    peer->reach[i].problem[0] ? peer->reach[i].problem :
		    "reached, but not by all hosts");
	run_problem(run, host, buf_text(&text), "open that port between the "
	    "hosts, or name another address: --main_process_ip");
	buf_clear(&text);
}

void
run_choose_address(struct run *run)
{
	size_t	best = 0, most = 0, asked, n;
	char	text[300];

	if (hosts(run) == 1 && !run->candidates)
		run_candidates(run);
	if (!run->candidates)
		return;
	for (size_t i = 0; i < run->candidates; i++) {
		n = reached(run, i, &asked);
		if (n > most) {
			most = n;
			best = i;
		}
	}
	snprintf(run->address, sizeof run->address, "%s", run->candidate[best]);
	own_interface(run);
	for (size_t h = 1; h < hosts(run); h++) {
		struct peer		*peer = &run->peer[h];
		const struct reach	*r = &peer->reach[best];

		if (peer->closed || peer->answered <= best)
			continue;
		if (r->problem[0]) {
			say_unreached(run, h);
			continue;
		}
		snprintf(peer->interface, sizeof peer->interface, "%s",
		    r->interface);
		if (!*r->leaves || !*r->interface ||
		    !strcmp(r->leaves, r->interface))
			continue;
		snprintf(text, sizeof text, "what goes to %s leaves by %s, with "
		    "the address of %s", run->address, r->leaves, r->interface);
		run_warning(run, h, text, "two interfaces in one network: "
		    "compare ip route get; NCCL and Gloo may meet the wrong one");
	}
}

int
run_address_env(const struct run *run, size_t host, struct strv *env)
{
	static const struct { const char *name, *form; } names[] = {
		{ "NCCL_SOCKET_IFNAME", "=" },	/* the very one, no prefix */
		{ "GLOO_SOCKET_IFNAME", "" },
	};
	const struct peer	*peer = &run->peer[host];

	if (run->plan->world == 1 || run->plan->apart)
		return 0;
	if (strv_setenv(env, "MASTER_ADDR", run->address) < 0 ||
	    strv_addf(env, "MASTER_PORT=%u", (unsigned)run->port) < 0)
		return -1;
	for (size_t i = 0; i < 2 && hosts(run) > 1 && *peer->interface; i++) {
		bool local = host_is_local(&run->plan->hosts.host[host]);

		/* What the user set, here or there, stays; what the plan has
		 * comes behind and wins anyhow. */
		if (strv_getenv(&peer->facts, names[i].name) ||
		    (local && getenv(names[i].name)))
			continue;
		if (strv_addf(env, "%s=%s%s", names[i].name, names[i].form,
		    peer->interface) < 0)
			return -1;
	}
	return 0;
}
