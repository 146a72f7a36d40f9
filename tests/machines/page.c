/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step Machines on real curses without a terminal: hosts of a file, so that
 * nobody is asked.  UPDATE=1 ("make update-machines") writes page-*.screen.
 */
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/fleet.h"
#include "tests/screens/snapshot.h"
#include "tui/form.h"
#include "tui/page.h"
#include "tui/roster.h"
#include "tui/screen.h"

static const struct { int rows, columns; } sizes[] = {
	{ 16, 60 }, { 24, 80 }, { 30, 100 },
};

static const struct { const char *name, *keys; } cases[] = {
	{ "hosts", "2" }, { "failed", "2jj" }, { "network", "2j" },
	{ "removed", "2jx" }, { "brought-back", "2jxu" }, { "add", "2a" },
	{ "add-wrong", "2anode1,,\n" }, { "add-twice", "2adgx-h100\n" },
	{ "import", "2i" }, { "import-file", "2i1\n/no/such/hosts\n" },
	{ "review", "6" }, { "further", "2\1\1\1\1\1\1\1\1\1" },
};

static void
load(struct fleet *f)
{
	static const char rest[] = "{\"accel_probe\": 1, \"machines\": ["
	    "{\"host\": \"me@far.example\", \"problem\": \"far.example port "
	    "22: Connection refused\", \"hint\": \"is sshd running there?\"}]}";
	static const char *const names[] = { "dgx-h100", "workstation" };
	const char *source = getenv("top_srcdir");
	char path[4096];
	struct between *b;

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/tests/machines/%s.yaml",
		    source ? source : ".", names[i]);
		ok(!fleet_load(f, path, NULL, NULL), "%s is read", names[i]);
	}
	ok(!fleet_parse(f, rest, sizeof rest - 1, "rest", NULL, NULL) &&
	    f->count == 3, "and a host that is not to be reached");
	for (unsigned k = 0; k < 2; k++) {
		b = fleet_add_between(f);
		b->from = k;
		b->to = 1 - k;
		b->latency_us = 41.25 + k;
		b->gbit_s = 0.94;
	}
}

static void
show(const struct fleet *fleet, size_t i, size_t size)
{
	FILE *out = fopen("/dev/null", "w"), *in = fopen("/dev/null", "r");
	SCREEN *terminal = newterm("vt100", out, in);
	struct buf got = BUF_INIT;
	struct form f;
	struct screen s = { .form = &f };
	char name[100];

	if (!terminal || form_open(&f, &fleet->machine[0],
	    "./no-such-file.yaml", NULL)) {
		skip("vt100 is not in terminfo");
		fclose(out);
		fclose(in);
		return;
	}
	f.fleet = fleet;
	resizeterm(sizes[size].rows, sizes[size].columns);
	screen_open(&s, NULL);
	screen_setup(&s);
	f.message[0] = '\0';
	screen_draw(&s);
	for (const char *key = cases[i].keys; *key; key++) {
		screen_key(&s, *key == '\1' ? KEY_NPAGE : (unsigned char)*key,
		    *key == '\1');
		screen_draw(&s);
	}
	snapshot_take(&got);
	endwin();
	screen_close(&s);
	delscreen(terminal);
	fclose(out);
	fclose(in);
	snprintf(name, sizeof name, "../machines/page-%s-%dx%d", cases[i].name,
	    sizes[size].columns, sizes[size].rows);
	snapshot_compare(name, &got);
	buf_clear(&got);
	form_clear(&f);
}

int
main(void)
{
	static const char config[] = "Host *\n\tUser me\nHost dgx-h100 "
	    "node7 gpu?\nHost node8\n";
	char folder[] = "/tmp/accel-page-XXXXXX", path[64];
	struct fleet fleet = FLEET_INIT;

	setlocale(LC_CTYPE, "C.UTF-8");
	if (!mkdtemp(folder))
		return 1;
	setenv("HOME", folder, 1);
	unsetenv("SLURM_JOB_ID");
	snprintf(path, sizeof path, "%s/.ssh/config", folder);
	file_replace(path, config, strlen(config), 0600, NULL);
	load(&fleet);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < 3; k++)
			show(&fleet, i, k);
	fleet_clear(&fleet);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(folder);
	return tap_done();
}
