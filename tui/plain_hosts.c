/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/plain_hosts.h"

#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/launch/slurm.h"
#include "runtime/launch/ssh_names.h"
#include "tui/roster.h"
#include "runtime/base/banned.h"

enum { NAMES = 12 };		/* that are read out */

void
plain_hosts_tell(const struct form *f, FILE *out)
{
	struct strv names = STRV_INIT;

	ssh_names(&names, f->beside.ssh_config);
	if (names.count) {
		fputs("Ssh's configuration knows:", out);
		for (size_t i = 0; i < names.count && i < NAMES; i++)
			fprintf(out, "%s %s", i ? "," : "", names.item[i]);
		if (names.count > NAMES)
			fprintf(out, ", and %zu more", names.count - NAMES);
		fputs(".\n", out);
	}
	strv_clear(&names);
	fprintf(out, "@FILE takes those of a host file%s; \"none\" is this "
	    "machine alone; \"measure\" measures the network between them.\n",
	    slurm_inside() ? ", \"slurm\" this allocation's nodes" : "");
}

static void
say_row(void *user, const struct roster *r, size_t host)
{
	const struct machine *m = &r->fleet.machine[host];
	struct buf text = BUF_INIT;

	machine_row(m, &text);
	fprintf(user, "%s %s: %s.\n", m->problem ? "Problem with" : "Found",
	    r->hosts.host[host].name, buf_text(&text));
	if (m->problem && m->hint && *m->hint)
		fprintf(user, "%s.\n", m->hint);
	fflush(user);
	buf_clear(&text);
}

static int
take(struct roster *r, struct form *f, const char *text, struct err *err)
{
	if (!strcmp(text, "none"))
		text = "";
	if (*text == '@')
		return roster_add_file(r, f, text + 1 + strspn(text + 1, " "),
		    err);
	if (!strcmp(text, "slurm"))
		return roster_add_slurm(r, f, err);
	/* What is typed is the whole list. */
	return roster_name(r, f, text, err);
}

static void
measure(struct roster *r, struct form *f, FILE *out)
{
	struct buf text = BUF_INIT;

	if (r->hosts.count < 2) {
		fputs("A network is between two machines.\n", out);
		return;
	}
	fprintf(out, "Each way is measured for a second, about %zu seconds in "
	    "all.\n", 2 * r->hosts.count);
	fflush(out);
	roster_measure(r);
	roster_wait(r, f, say_row, out);
	fleet_print_network(&r->fleet, &text);
	fputs(buf_text(&text), out);
	buf_clear(&text);
}

bool
plain_hosts_take(struct form *f, const char *text, FILE *out)
{
	struct roster	r;
	struct err	err = ERR_INIT;
	int		status = roster_init(&r, NULL, &err);

	if (!status) {
		r.ssh_config = f->beside.ssh_config;
		roster_sync(&r, f);
		if (!strcmp(text, "measure"))
			measure(&r, f, out);
		else if (!(status = take(&r, f, text, &err))) {
			if (r.hosts.count) {
				fprintf(out, "Asking %zu machine%s.\n",
				    r.hosts.count, r.hosts.count == 1 ? "" :
				    "s");
				fflush(out);
				roster_wait(&r, f, say_row, out);
			}
			if (*f->message)
				fprintf(out, "%s\n", f->message);
		}
		/* What was found outlives this question by the form alone. */
		f->fleet = NULL;
		roster_clear(&r);
	}
	if (status)
		fprintf(out, "%s.%s%s%s\n", err.text, *err.hint ? "  " : "",
		    err.hint, *err.hint ? "." : "");
	return !status;
}
