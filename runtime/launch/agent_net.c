/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_net: where rank 0 can be met.  Rank 0's host holds a port (agent_port.c);
 * the others try its addresses.  That something answers there proves nothing (each host
 * may have a docker0 with the same address), so it must know a token.
 */
#include "runtime/launch/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/clock.h"

#include "runtime/base/banned.h"

enum { PROBE_MS = 8000, ADDRESSES_MAX = 32 };

/* A numeric address alone: a name could be read otherwise on each host, and a
 * static program has no resolver. */
int
agent_resolve(const char *address, uint32_t port, struct sockaddr_storage *to,
    socklen_t *n)
{
	struct sockaddr_in	*v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6	*v6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof *to);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		*n = sizeof *v4;
		return 0;
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		*n = sizeof *v6;
		return 0;
	}
	return -1;
}

/* The bytes of an address without its port. */
static const void *
bytes_of(const struct sockaddr *sa, size_t *n)
{
	if (sa->sa_family == AF_INET) {
		*n = 4;
		return &((const struct sockaddr_in *)sa)->sin_addr;
	}
	*n = 16;
	return &((const struct sockaddr_in6 *)sa)->sin6_addr;
}

/* The interface that has an address of ours, or "". */
static void
interface_of(const struct sockaddr *sa, char name[IF_NAMESIZE])
{
	struct ifaddrs	*all, *i;
	size_t		 n;
	const void	*want = bytes_of(sa, &n);

	name[0] = '\0';
	if (getifaddrs(&all) < 0)
		return;
	for (i = all; i && !name[0]; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == sa->sa_family &&
		    !memcmp(bytes_of(i->ifa_addr, &n), want, n))
			snprintf(name, IF_NAMESIZE, "%.15s", i->ifa_name);
	freeifaddrs(all);
}

void
agent_interfaces(struct answer *to)
{
	struct ifaddrs	*all, *i;

	if (getifaddrs(&all) < 0)
		return;
	for (i = all; i; i = i->ifa_next) {
		char	 text[INET6_ADDRSTRLEN];
		size_t	 n;

		if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) ||
		    (i->ifa_addr->sa_family != AF_INET &&
		    i->ifa_addr->sa_family != AF_INET6) ||
		    !inet_ntop(i->ifa_addr->sa_family,
		    bytes_of(i->ifa_addr, &n), text, sizeof text))
			continue;
		answer_fact(to, "interface=%s %s", i->ifa_name, text);
	}
	freeifaddrs(all);
}

/* By which interface the kernel sends from one address to another: not always
 * the one that has the first, where two are in one network. */
static void
route(const struct sockaddr *from, const struct sockaddr *to,
    char name[IF_NAMESIZE])
{
	size_t		 n;
	struct {
		struct nlmsghdr	head;
		struct rtmsg	msg;
		char		attr[64];
	}		 ask = { .head = { .nlmsg_type = RTM_GETROUTE,
				 .nlmsg_flags = NLM_F_REQUEST } };
	union {
		struct nlmsghdr	head;
		char		bytes[4096];
	}		 answer;
	const void	*ends[2] = { bytes_of(to, &n), bytes_of(from, &n) };
	const int	 kinds[2] = { RTA_DST, RTA_SRC };
	struct rtattr	*a;
	int		 fd, left, index;
	ssize_t		 got;

	name[0] = '\0';
	ask.msg.rtm_family = (unsigned char)to->sa_family;
	ask.msg.rtm_dst_len = ask.msg.rtm_src_len = (unsigned char)(8 * n);
	ask.head.nlmsg_len = NLMSG_LENGTH(sizeof ask.msg);
	for (int i = 0; i < 2; i++) {
		a = (struct rtattr *)((char *)&ask + ask.head.nlmsg_len);
		a->rta_type = (unsigned short)kinds[i];
		a->rta_len = (unsigned short)RTA_LENGTH(n);
		memcpy(RTA_DATA(a), ends[i], n);
		ask.head.nlmsg_len += a->rta_len;
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return;
	got = send(fd, &ask, ask.head.nlmsg_len, 0);
	if (got > 0)
		got = recv(fd, &answer, sizeof answer, 0);
	close(fd);
	if (got < 0 || !NLMSG_OK(&answer.head, (size_t)got) ||
	    answer.head.nlmsg_type != RTM_NEWROUTE)
		return;
	left = (int)RTM_PAYLOAD(&answer.head);
	for (a = RTM_RTA((struct rtmsg *)NLMSG_DATA(&answer.head));
	    RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == RTA_OIF) {
			memcpy(&index, RTA_DATA(a), sizeof index);
			if (!if_indextoname((unsigned)index, name))
				name[0] = '\0';
		}
}

struct probe {			/* of one address */
	int	fd;		/* -1: over */
	size_t	heard;		/* of the token */
	char	problem[160];
	char	own[IF_NAMESIZE], leaves[IF_NAMESIZE];
	char	word[64];
};

static void
probe_end(struct probe *p, const char *problem)
{
	snprintf(p->problem, sizeof p->problem, "%s", problem);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void
probe_begin(struct probe *p, const char *address, uint32_t port)
{
	struct sockaddr_storage	to;
	socklen_t		n;

	*p = (struct probe){ .fd = -1 };
	if (agent_resolve(address, port, &to, &n) < 0) {
		probe_end(p, "no address");
		return;
	}
	interface_of((struct sockaddr *)&to, p->own);
	if (p->own[0]) {
		snprintf(p->problem, sizeof p->problem,
		    "this host has that address too, on %s", p->own);
		return;
	}
	p->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (p->fd < 0 || (connect(p->fd, (struct sockaddr *)&to, n) < 0 &&
	    errno != EINPROGRESS))
		probe_end(p, strerror(errno));
}

/* Bytes, or the end of the attempt. */
static void
probe_go_on(struct probe *p, const char *token)
{
	struct sockaddr_storage	me, peer;
	socklen_t		n = sizeof me, n2 = sizeof peer;
	size_t			want = strlen(token);
	ssize_t			got = recv(p->fd, p->word + p->heard,
				    sizeof p->word - p->heard, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0) {
		probe_end(p, strerror(errno));
		return;
	}
	p->heard += (size_t)got;
	if (got == 0 || p->heard > want || memcmp(p->word, token, p->heard)) {
		probe_end(p, "another program answers there");
		return;
	}
	if (p->heard < want)
		return;
	if (getsockname(p->fd, (struct sockaddr *)&me, &n) == 0)
		interface_of((struct sockaddr *)&me, p->own);
	if (getpeername(p->fd, (struct sockaddr *)&peer, &n2) == 0)
		route((struct sockaddr *)&me, (struct sockaddr *)&peer,
		    p->leaves);
	probe_end(p, "");
}

void
agent_probe(struct agent *a, struct wire_frame *frame)
{
	uint32_t	 port = wire_get(frame);
	char		*token = wire_get_text(frame);
	uint32_t	 count = wire_get(frame);
	struct probe	 probe[ADDRESSES_MAX];
	struct pollfd	 fds[ADDRESSES_MAX];
	int64_t		 until = clock_ms() + PROBE_MS;
	size_t		 answer, open;

	if (count > ADDRESSES_MAX)
		count = ADDRESSES_MAX;
	for (uint32_t i = 0; i < count; i++) {
		char *address = wire_get_text(frame);

		probe_begin(&probe[i], address ? address : "", port);
		free(address);
	}
	do {
		open = 0;
		for (uint32_t i = 0; i < count; i++) {
			fds[i] = (struct pollfd){ probe[i].fd, POLLIN, 0 };
			open += probe[i].fd >= 0;
		}
		if (open && poll(fds, count, 500) > 0)
			for (uint32_t i = 0; i < count; i++)
				if (fds[i].fd >= 0 && fds[i].revents)
					probe_go_on(&probe[i],
					    token ? token : "");
	} while (open && clock_ms() < until && agent_beat(a));
	answer = wire_begin(&a->out, WIRE_PROBED);
	wire_put(&a->out, count);
	for (uint32_t i = 0; i < count; i++) {
		if (probe[i].fd >= 0)
			probe_end(&probe[i], strerror(ETIMEDOUT));
		wire_put_text(&a->out, probe[i].problem);
		wire_put_text(&a->out, probe[i].own);
		wire_put_text(&a->out, probe[i].leaves);
	}
	wire_end(&a->out, answer);
	free(token);
}
