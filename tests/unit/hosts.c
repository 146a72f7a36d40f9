/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts from a list and from a file. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/launch/hosts.h"
#include "tests/tap.h"

static void
test_list(void)
{
	static const struct {
		const char *list, *says;
	} bad[] = {
		{ "a,a:2", "host a is there twice" },
		{ "a:0", "\"0\" is not a number of slots" },
		{ "a:x", "\"x\" is not a number of slots" },
		{ "a:", "\"\" is not a number of slots" },
		{ "a:4,,b", "\"\" is not a host's name" },
		{ "a b", "\"a b\" is not a host's name" },
	};
	struct hosts	hosts = HOSTS_INIT;
	struct err	err = ERR_INIT;

	ok(hosts_add(&hosts, "node1:4,me@node2,[fe80::1]:2,localhost", &err) == 0,
	    "a list is read");
	ok(hosts.count == 4, "it has four hosts");
	ok(hosts.host[0].slots == 4 && hosts.host[1].slots == 0 &&
	    hosts.host[2].slots == 2, "slots, and none where nobody said");
	is(hosts.host[1].name, "me@node2", "the user stays for ssh");
	is(host_label(&hosts.host[1]), "node2", "but is not shown");
	is(hosts.host[2].name, "fe80::1", "brackets are taken off an address");
	ok(host_is_local(&hosts.host[3]) && !host_is_local(&hosts.host[0]),
	    "localhost alone is here");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ok(hosts_add(&hosts, bad[i].list, &err) == -1 &&
		    hosts.count == 4, "\"%s\" is refused and adds nothing",
		    bad[i].list);
		is(err.text, bad[i].says, "and it is said why");
	}
	hosts_clear(&hosts);
	ok(hosts.count == 0 && hosts.host == NULL, "cleared");
}

static int
read_text(struct hosts *hosts, const char *text, struct err *err)
{
	char	path[] = "/tmp/accel-hosts.XXXXXX";
	int	fd = mkstemp(path), ret;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -2;
	close(fd);
	ret = hosts_read(hosts, path, err);
	unlink(path);
	return ret;
}

static void
test_file(void)
{
	struct hosts	hosts = HOSTS_INIT;
	struct err	err = ERR_INIT;

	ok(read_text(&hosts, "# ours\n\nnode1 slots=8 # fast\n  node2\t slots=4\r\nnode3",
	    &err) == 0 && hosts.count == 3, "comments, blank lines, tabs, no last newline");
	ok(hosts.host[0].slots == 8 && hosts.host[1].slots == 4 &&
	    hosts.host[2].slots == 0, "with their slots");
	ok(read_text(&hosts, "n\nm slots=-1\n", &err) == -1 && hosts.count == 3 &&
	    strstr(err.text, ":2: \"-1\" is not a number of slots"),
	    "a bad line is named and nothing is added");
	ok(read_text(&hosts, "n cpus=4\n", &err) == -1 &&
	    strstr(err.text, ":1: \"cpus=4\" was not expected"),
	    "an unknown word is named");
	ok(read_text(&hosts, "# nothing\n", &err) == -1 &&
	    strstr(err.text, "no host"), "a file without hosts is an error");
	ok(hosts_read(&hosts, "/nonexistent/hosts", &err) == -1 && err.text[0],
	    "so is a missing one");
	hosts_clear(&hosts);
}

int
main(void)
{
	test_list();
	test_file();
	return tap_done();
}
