/* SPDX-License-Identifier: Apache-2.0 */
/* The file beside a configuration. */
#include "runtime/launch/beside.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "tests/tap.h"

static char folder[] = "/tmp/accel-beside-XXXXXX", config[64], path[80];

static void
write_it(const char *text)
{
	file_replace(path, text, strlen(text), 0600, NULL);
}

static void
names(void)
{
	static const struct { const char *config, *beside; } rows[] = {
		{ "/a/train.yaml", "/a/train.accel.yaml" },
		{ "train.yml", "train.accel.yaml" },
		{ "t.json", "t.accel.yaml" }, { "plain", "plain.accel.yaml" },
		{ ".yaml", ".yaml.accel.yaml" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *got = beside_path(rows[i].config);

		is(got, rows[i].beside, "beside %s", rows[i].config);
		free(got);
	}
}

static void
round_trip(void)
{
	struct beside	b = BESIDE_INIT, got = BESIDE_INIT;
	struct err	err = ERR_INIT;

	ok(!beside_read(&got, config, &err) && !got.hosts, "none is none");
	ok(!beside_write(&b, config, &err) && access(path, F_OK),
	    "nothing to hold makes no file");
	b.hosts = "root@a:2,[::1]:4/gpus=0+2";
	b.ssh_config = "~/no";
	ok(!beside_write(&b, config, &err), "hosts are written: %s", err.text);
	ok(!beside_read(&got, config, &err), "and read: %s", err.text);
	is(got.hosts, b.hosts, "as they were");
	is(got.ssh_config, b.ssh_config, "with the rest");
	beside_clear(&got);
	b = (struct beside)BESIDE_INIT;
	ok(!beside_write(&b, config, &err) && access(path, F_OK),
	    "without hosts it goes away");
}

static void
by_hand(void)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "hosts: {a: 1}\n", ":1:8: \"hosts\" is not a text" },
		{ "host: a\n", ":1:1: \"host\" is not known" },
		{ "hosts: a,a\n", "host a is there twice" },
		{ "- a\n", "no \"key: value\"" },
		{ "hosts: [a, [b]]\n", "is not a text" },
		{ "hosts: 'a\n", ".accel.yaml:" },
	};
	struct beside	b = BESIDE_INIT;
	struct err	err = ERR_INIT;

	write_it("hosts:\n- a:2\n- b   # the slow one\n");
	ok(!beside_read(&b, config, &err), "a list by hand: %s", err.text);
	is(b.hosts, "a:2,b", "is the same as one line");
	beside_clear(&b);
	write_it("# nothing\n");
	ok(!beside_read(&b, config, &err) && !b.hosts, "an empty file is one");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		write_it(bad[i].text);
		ok(beside_read(&b, config, &err) == -1 &&
		    strstr(err.text, bad[i].says) && !b.hosts,
		    "refused: %s", err.text);
	}
	ok(beside_write(&b, config, &err) == -1 && !access(path, F_OK),
	    "what cannot be read is not replaced");
}

int
main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(config, sizeof config, "%s/train.yaml", folder);
	snprintf(path, sizeof path, "%s/train.accel.yaml", folder);
	names();
	round_trip();
	by_hand();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
