/* SPDX-License-Identifier: Apache-2.0 */
/* The wizard's hosts, without a terminal: asked by the real accel, whose agents
 * run here (ACCEL_TEST_TRANSPORT). */
#include "tui/roster.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "tests/tap.h"

static char folder[] = "/tmp/accel-roster-XXXXXX", config[64], beside[80],
    list[64], accel[4096];
static size_t rows;

static void
row(void *user, const struct roster *r, size_t host)
{
	(void)user;
	rows += r->state[host] == ROSTER_KNOWN;
}

static const char *
text_of(const struct form *f, int item)
{
	static struct buf text = BUF_INIT;

	buf_clear(&text);
	form_text(f, item, &text);
	return buf_text(&text);
}

static void
few(struct roster *r, struct form *f)
{
	struct err err = ERR_INIT;
	char want[200];
	long slots;

	roster_sync(r, f);
	ok(!r->hosts.count && !f->fleet, "a new run has this machine alone");
	ok(!roster_add(r, f, "far1,far2", &err), "two hosts are added: %s",
	    err.text);
	ok(r->hosts.count == 3, "beside this machine, which takes part");
	is(r->hosts.host[0].name, "localhost", "as the first");
	ok(roster_busy(r) && r->state[1] == ROSTER_ASKED,
	    "all are asked at once, and nobody waits");
	roster_wait(r, f, row, NULL);
	ok(rows == 3, "a row comes for each");
	ok(r->fleet.machine[2].cores > 0 && f->fleet == &r->fleet,
	    "with what it has");
	slots = roster_slots(&r->fleet.machine[1]);
	is(text_of(f, FIELD_main_num_machines), "3", "num_machines follows");
	snprintf(want, sizeof want, "%ld", roster_slots(&r->fleet.machine[0]) +
	    2 * slots);
	is(text_of(f, FIELD_main_num_processes), want, "and the processes");
	ok(form_now(f)->origin[FIELD_main_num_processes] == ORIGIN_FOUND,
	    "which were found");
	snprintf(want, sizeof want, "localhost:%ld,far1:%ld,far2:%ld",
	    roster_slots(&r->fleet.machine[0]), slots, slots);
	is(text_of(f, ITEM_hosts), want, "the list has each one's ranks");
	ok(f->site.hosts == 3, "the rules know how many there are");
	ok(roster_add(r, f, "far1", &err) == -1 && strstr(err.text, "twice"),
	    "a host is not added twice: %s", err.text);
	ok(roster_add(r, f, "-x", &err) == -1 && r->hosts.count == 3,
	    "nor a name that is none: %s", err.text);
}

static void
changes(struct roster *r, struct form *f)
{
	struct err err = ERR_INIT;
	size_t cores = r->fleet.machine[2].cores;

	ok(!roster_remove(r, f, 1, &err) && r->hosts.count == 2,
	    "a host is taken from the list");
	is(r->hosts.host[1].name, "far2", "the right one");
	ok(r->state[1] == ROSTER_KNOWN && r->fleet.machine[1].cores == cores,
	    "what is known of the others stays");
	ok(form_undo(f) && roster_sync(r, f) && r->hosts.count == 3,
	    "undo brings it back");
	ok(r->state[1] == ROSTER_WAITS, "to be asked anew");
	file_replace(list, "far3 slots=5\nfar4\n", 18, 0600, NULL);
	ok(!roster_add_file(r, f, list, &err) && r->hosts.count == 5,
	    "a host file adds its own: %s", err.text);
	roster_wait(r, f, row, NULL);
	ok(strstr(text_of(f, ITEM_hosts), "far3:5,"),
	    "with the ranks that it says");
	ok(roster_add_file(r, f, "/nonexistent/hosts", &err) == -1 &&
	    strstr(err.text, "/nonexistent/hosts"), "no file: %s", err.text);
	form_set(f, FIELD_main_num_processes, "7", ORIGIN_USER, &err);
	ok(!roster_remove(r, f, 4, &err), "one less");
	roster_again(r);
	roster_wait(r, f, row, NULL);
	is(text_of(f, FIELD_main_num_processes), "7",
	    "what a user typed stays");
	is(text_of(f, FIELD_main_num_machines), "4",
	    "but the number of machines");
}

static void
network(struct roster *r, struct form *f)
{
	struct err err = ERR_INIT;

	while (r->hosts.count > 2)
		roster_remove(r, f, 2, &err);
	roster_wait(r, f, row, NULL);
	roster_measure(r);
	ok(roster_busy(r) && r->measuring, "the network is measured");
	roster_wait(r, f, row, NULL);
	ok(r->fleet.pairs == 2 && fleet_between(&r->fleet, 0, 1) &&
	    fleet_between(&r->fleet, 1, 0) &&
	    fleet_between(&r->fleet, 0, 1)->gbit_s > 0,
	    "both ways between two");
}

static void
saved(struct form *f)
{
	struct err	 err = ERR_INIT;
	struct form	 again;
	char		*hosts = strdup(text_of(f, ITEM_hosts));

	ok(form_unsaved(f) && access(beside, F_OK),
	    "nothing is written before");
	ok(!form_save(f, &err) && !access(beside, F_OK),
	    "hosts are written beside the file: %s", err.text);
	ok(!form_unsaved(f), "and all is saved");
	ok(!form_open(&again, f->machine, config, &err), "opened again");
	is(text_of(&again, ITEM_hosts), hosts, "the hosts are there");
	ok(!form_unsaved(&again), "unchanged");
	form_set(&again, ITEM_hosts, "", ORIGIN_USER, &err);
	ok(form_unsaved(&again), "without them there is something to save");
	ok(!form_save(&again, &err) && access(beside, F_OK),
	    "and the file beside goes");
	form_clear(&again);
	free(hosts);
}

static void
broken(const struct machine *m)
{
	struct err	err = ERR_INIT;
	struct roster	r;
	struct form	f;

	if (form_open(&f, m, config, &err) || roster_init(&r,
	    "/nonexistent/accel", &err)) {
		ok(0, "a form");
		return;
	}
	roster_add(&r, &f, "far1", &err);
	ok(r.state[1] == ROSTER_FAILED && strstr(r.fleet.machine[1].problem,
	    "/nonexistent/accel"), "no program to ask with is each host's "
	    "problem: %s", r.fleet.machine[1].problem);
	roster_clear(&r);
	roster_init(&r, "/bin/false", &err);
	roster_sync(&r, &f);
	roster_wait(&r, &f, row, NULL);
	ok(r.state[0] == ROSTER_FAILED && strstr(r.fleet.machine[0].problem,
	    "without an answer"), "nor is one that says nothing waited for");
	roster_clear(&r);
	form_clear(&f);
}

int
main(void)
{
	const char	*build = getenv("top_builddir");
	struct err	 err = ERR_INIT;
	struct machine	 m;
	struct roster	 r;
	struct form	 f;

	if (!mkdtemp(folder) || machine_probe_quickly(&m, &err))
		return 1;
	snprintf(config, sizeof config, "%s/run.yaml", folder);
	snprintf(beside, sizeof beside, "%s/run.accel.yaml", folder);
	snprintf(list, sizeof list, "%s/hosts", folder);
	snprintf(accel, sizeof accel, "%s/accel", build ? build : ".");
	setenv("ACCEL_TEST_TRANSPORT", "exec", 1);
	if (access(accel, X_OK)) {
		skip("accel is not built");
		return tap_done();
	}
	ok(!form_open(&f, &m, config, &err) && !roster_init(&r, accel, &err),
	    "a session: %s", err.text);
	few(&r, &f);
	changes(&r, &f);
	network(&r, &f);
	saved(&f);
	roster_clear(&r);
	form_clear(&f);
	broken(&m);
	unlink(config);
	unlink(list);
	rmdir(folder);
	machine_clear(&m);
	return tap_done();
}
