/* SPDX-License-Identifier: Apache-2.0 */
/* net: interfaces with their first address, IPv4 before IPv6. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/err.h"
#include "runtime/base/banned.h"

static long
speed_of(const char *name)
{
	char path[96];
	long speed = 0;
	FILE *f;

	snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
	if (!(f = fopen(path, "re")))
		return 0;
	if (fscanf(f, "%9ld", &speed) != 1 || speed < 0)
		speed = 0;
	fclose(f);
	return speed;
}

static struct iface *
iface_of(struct machine *m, const struct ifaddrs *a)
{
	struct iface *more;

	for (size_t i = 0; i < m->ifaces; i++)
		if (!strcmp(m->iface[i].name, a->ifa_name))
			return &m->iface[i];
	if (!(more = machine_add_iface(m)) ||
	    !(more->name = strdup(a->ifa_name)))
		return NULL;
	more->up = (a->ifa_flags & (IFF_UP | IFF_RUNNING)) ==
	    (IFF_UP | IFF_RUNNING);
	more->loopback = a->ifa_flags & IFF_LOOPBACK;
	more->speed = speed_of(a->ifa_name);
	return more;
}

int
probe_net(struct machine *m, struct err *err)
{
	static const int families[] = { AF_INET, AF_INET6, -1 };
	struct ifaddrs *list;
	int status = 0;

	if (getifaddrs(&list))
		return 0;
	for (size_t f = 0; f < 3 && !status; f++)
		for (struct ifaddrs *a = list; a && !status; a = a->ifa_next) {
			int family = a->ifa_addr ? a->ifa_addr->sa_family : -1;
			char text[NI_MAXHOST];
			struct iface *i;

			if (f < 2 && family != families[f])
				continue;
			if (!(i = iface_of(m, a)))
				status = -1;
			else if (f < 2 && !i->address && !getnameinfo(
			    a->ifa_addr, family == AF_INET ?
			    sizeof(struct sockaddr_in) :
			    sizeof(struct sockaddr_in6), text, sizeof text,
			    NULL, 0, NI_NUMERICHOST) &&
			    !(i->address = strdup(text)))
				status = -1;
		}
	freeifaddrs(list);
	return status ? err_nomem(err) : 0;
}

/* Who binds it later may be told otherwise: nothing is held. */
bool
probe_port_busy(long port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
	    .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any };
	struct sockaddr_in four = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port) };
	int on = 1, off = 0, s, status;
	bool ipv6 = (s = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0;

	if (!ipv6 && (s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return false;
	/* A connection that has ended takes no port; IPv6 stands for both. */
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ipv6)
		setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	status = ipv6 ? bind(s, (struct sockaddr *)&six, sizeof six) :
	    bind(s, (struct sockaddr *)&four, sizeof four);
	status = status < 0 && errno == EADDRINUSE;
	close(s);
	return status;
}
