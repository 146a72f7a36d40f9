/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts from a list and from a file. */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/config/schema.h"
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
		{ "a/cpus=1", "\"a/cpus=1\" is not a host's name" },
		{ "a/gpus=", "\"\" is not a list of GPUs" },
		{ "a/gpus=1+", "\"1+\" is not a list of GPUs" },
		{ "a/gpus=1+1", "\"1+1\" is not a list of GPUs" },
		{ "a/gpus=2-1", "\"2-1\" is not a list of GPUs" },
		{ "a/gpus=0-9999", "\"0-9999\" is not a list of GPUs" },
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

/* "2: 1 3 4": slots and GPUs. */
static const char *
gpus(const struct host *host)
{
	static char	text[80];
	size_t		n = (size_t)snprintf(text, sizeof text, "%ld:",
			    host->slots);

	for (size_t i = 0; i < host->gpus; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " %ld",
		    host->gpu[i]);
	return text;
}

static void
test_gpus(void)
{
	struct hosts	hosts = HOSTS_INIT, more = HOSTS_INIT;
	struct err	err = ERR_INIT;

	ok(hosts_add(&hosts, "a:2/gpus=3+1,b/gpus=0-2+7,[::1]:1/gpus=5,c:4",
	    &err) == 0 && hosts.count == 4, "GPUs behind hosts");
	is(gpus(&hosts.host[0]), "2: 3 1", "in their order");
	is(gpus(&hosts.host[1]), "4: 0 1 2 7", "a range; as many slots as GPUs");
	is(gpus(&hosts.host[2]), "1: 5", "behind an address");
	is(gpus(&hosts.host[3]), "4:", "and none");
	ok(hosts_copy(&more, &hosts.host[1], &err) == 0 &&
	    more.host[0].gpu != hosts.host[1].gpu, "a copy");
	is(gpus(&more.host[0]), "4: 0 1 2 7", "has them too");
	hosts_clear(&hosts);
	ok(read_text(&hosts, "a slots=2 gpus=1,3\nb gpus=0 slots=1 # x\n"
	    "c slots=2 max_slots=4\n", &err) == 0, "a file with GPUs");
	is(gpus(&hosts.host[0]), "2: 1 3", "in it with commas");
	is(gpus(&hosts.host[1]), "1: 0", "in any order");
	ok(read_text(&hosts, "d slots=2 gpu=1\n", &err) == -1 &&
	    strstr(err.text, ":1: \"gpu=1\" was not expected"),
	    "a word that is not known is named, wherever it is");
	hosts_clear(&hosts);
	hosts_clear(&more);
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

/* "name:slots ..." of what a configuration with this host file names. */
static const char *
named(const char *yaml)
{
	static char	text[600];
	static char	path[] = "/tmp/accel-hosts-XXXXXX";
	struct hosts	hosts = HOSTS_INIT;
	struct config	c;
	struct err	err = ERR_INIT;
	char		all[500];
	size_t		n = 0;
	FILE		*f;
	int		fd, rc;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	f = fdopen(fd, "w");
	fputs("a slots=8\nb slots=8\nc slots=2\n", f);
	fclose(f);
	config_init(&c);
	snprintf(all, sizeof(all), yaml, path);
	rc = config_parse(&c, all, strlen(all), "f", &err) ||
	    hosts_of_config(&hosts, &c, &err);
	snprintf(text, sizeof(text), "%s", rc ? err.text : "");
	for (size_t i = 0; i < hosts.count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s:%ld",
		    i ? " " : "", hosts.host[i].name, hosts.host[i].slots);
	hosts_clear(&hosts);
	config_clear(&c);
	unlink(path);
	return text;
}

static void
test_config(void)
{
#define MPI(n)	"distributed_type: MULTI_CPU\nuse_cpu: true\n" \
		"num_processes: 4\nnum_machines: " #n "\n" \
		"mpirun_config:\n  mpirun_hostfile: %s\n"
#define DS	"distributed_type: DEEPSPEED\nnum_processes: 12\n" \
		"num_machines: 3\ndeepspeed_config:\n" \
		"  deepspeed_hostfile: %s\n"
	is(named(MPI(2)), "a:2 b:2", "mpirun's host file, in equal parts");
	is(named(MPI(1)), "", "one machine needs none");
	is(named(DS), "a:4 b:4 c:4", "DeepSpeed's host file");
	is(named(DS "  deepspeed_inclusion_filter: a@c\n"), "a:8 c:2",
	    "a filter takes the slots of the file");
	is(named(DS "  deepspeed_exclusion_filter: b\n"
	    "  deepspeed_inclusion_filter: b\n"), "a:8 c:2",
	    "the exclusion wins");
	is(named(DS "  deepspeed_inclusion_filter: x\n"),
	    "deepspeed_inclusion_filter leaves no host",
	    "a filter that leaves nothing is refused");
	ok(strstr(named(DS "  deepspeed_exclusion_filter: a:0,1@b\n"),
	    "names GPUs of a host"), "so are GPUs of a host");
	ok(strstr(named("distributed_type: DEEPSPEED\nnum_processes: 2\n"
	    "num_machines: 2\ndeepspeed_config:\n"
	    "  deepspeed_hostfile: %s.none\n"), "deepspeed_hostfile: "),
	    "a file that is not there is named with its key");
	is(named("distributed_type: MULTI_GPU\nnum_processes: 4\n"
	    "num_machines: 2\ndeepspeed_config:\n"
	    "  deepspeed_hostfile: %s\n"), "",
	    "another distributed_type does not look");
}

int
main(void)
{
	test_list();
	test_gpus();
	test_file();
	test_config();
	return tap_done();
}
