/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts mean for the form: its list of names, and what follows from what
 * was found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/config/rules.h"
#include "runtime/launch/slurm.h"
#include "tui/roster.h"
#include "runtime/base/banned.h"

long
roster_slots(const struct machine *m)
{
	size_t gpus = machine_usable_gpus(m, NULL);

	return gpus ? (long)gpus : m->numa ? (long)m->numa : 1;
}

static void
print_host(const struct host *h, long slots, struct buf *out)
{
	buf_addf(out, "%s%s", out->len ? "," : "", h->name);
	if (slots && (long)h->gpus != slots)
		buf_addf(out, ":%ld", slots);
	for (size_t k = 0; k < h->gpus; k++)
		buf_addf(out, "%s%ld", k ? "+" : "/gpus=", h->gpu[k]);
}

/* The address of the first machine by which others, Accelerate's own launcher
 * among them, find it. */
static const char *
address_of(const struct roster *r)
{
	const struct machine *m = &r->fleet.machine[0];

	for (size_t i = 0; i < m->ifaces; i++) {
		const struct iface *n = &m->iface[i];

		/* One with hardware: not a bridge of containers. */
		if (n->up && !n->loopback && n->address && n->driver &&
		    strncmp(n->address, "fe80:", 5) &&
		    strncmp(n->address, "169.254.", 8))
			return n->address;
	}
	return host_is_local(&r->hosts.host[0]) ? NULL :
	    host_label(&r->hosts.host[0]);
}

void
roster_site(const struct roster *r, struct form *f)
{
	struct site *site = &f->site;
	bool first = true, enough = true;
	long even;

	hosts_site(&r->hosts, site);
	if (!r->hosts.count)
		machine_site(f->machine, site);
	for (size_t i = 0; i < r->hosts.count; i++) {
		const struct machine	*m = &r->fleet.machine[i];
		struct site		 one = { 0 };

		if (r->state[i] != ROSTER_KNOWN)
			continue;
		machine_site(m, &one);
		enough = enough && r->hosts.host[i].slots <= one.gpus;
		if (first || one.memory < site->memory)
			site->memory = one.memory;
		if (first || one.gpus < site->gpus)
			site->gpus = one.gpus;
		if (first || one.capability < site->capability)
			site->capability = one.capability;
		if (first || one.gpu_memory < site->gpu_memory)
			site->gpu_memory = one.gpu_memory;
		site->looked = (first || site->looked) && one.looked;
		first = false;
	}
	/* The rule asks for an even part of the ranks; unequal hosts have each
	 * its own, and where that is there, so is the even one. */
	even = r->hosts.count ? (site->slots + (long)r->hosts.count - 1) /
	    (long)r->hosts.count : 0;
	if (!first && enough && site->gpus && even > site->gpus)
		site->gpus = even;
}

struct sum {
	size_t	known, gpus;
	long	ranks;
	bool	cpu;		/* some host has no GPU */
};

static struct sum
sum_up(const struct roster *r)
{
	struct sum s = { 0, 0, 0, false };

	for (size_t i = 0; i < r->hosts.count; i++) {
		const struct machine	*m = &r->fleet.machine[i];
		bool	known = r->state[i] == ROSTER_KNOWN;
		long	slots = r->hosts.host[i].slots;

		s.known += known;
		if (known) {
			size_t n = machine_usable_gpus(m, NULL);

			s.gpus += n;
			s.cpu = s.cpu || !n;
		}
		s.ranks += slots ? slots : known ? roster_slots(m) : 1;
	}
	return s;
}

void
roster_say(const struct roster *r, struct buf *out)
{
	struct sum s = sum_up(r);

	buf_addf(out, "%zu machine%s", r->hosts.count, r->hosts.count == 1 ?
	    "" : "s");
	if (s.gpus)
		buf_addf(out, ", %zu GPU%s", s.gpus, s.gpus == 1 ? "" : "s");
	if (s.known < r->hosts.count)
		buf_addf(out, ", %zu known", s.known);
}

/* Sets what was found, but what a user typed; 0, or -1 without memory. */
static int
put(struct form *f, struct moment *m, int item, const char *text,
    struct err *err)
{
	if (form_now(f)->origin[item] >= ORIGIN_FLAG)
		return 0;
	return moment_set(m, item, text, ORIGIN_FOUND, err);
}

/* The kind of run, where the file's cannot be on these machines. */
static int
put_kind(struct form *f, struct moment *m, const struct sum *s,
    struct err *err)
{
	enum dist now = form_now(f)->main.distributed_type;
	bool cpu = !s->gpus || s->cpu;

	if (!s->known)
		return 0;
	if (cpu && (now == dist_NO || now == dist_MULTI_GPU))
		return put(f, m, FIELD_main_distributed_type, "MULTI_CPU",
		    err) || put(f, m, FIELD_main_use_cpu, "true", err);
	if (!cpu && (now == dist_NO || now == dist_MULTI_CPU))
		return put(f, m, FIELD_main_distributed_type, "MULTI_GPU",
		    err) || put(f, m, FIELD_main_use_cpu, "false", err);
	return 0;
}

int
roster_settle(struct roster *r, struct form *f, struct err *err)
{
	struct sum	 s = sum_up(r);
	struct buf	 list = BUF_INIT, said = BUF_INIT;
	struct moment	*m;
	char		 count[24];
	const char	*address;
	bool		 same = r->turn && r->turn == f->turn;
	int		 status;

	r->settled = true;
	if (!r->hosts.count)
		return 0;
	if (!(m = same ? &f->past[f->at] : form_begin(f)))
		return err_nomem(err);
	for (size_t i = 0; i < r->hosts.count; i++) {
		struct host *h = &r->hosts.host[i];

		if (!h->slots)
			h->slots = r->state[i] == ROSTER_KNOWN ?
			    roster_slots(&r->fleet.machine[i]) : 1;
		print_host(h, h->slots, &list);
	}
	roster_site(r, f);
	snprintf(count, sizeof count, "%zu", r->hosts.count);
	status = moment_set(m, ITEM_hosts, buf_text(&list), ORIGIN_FOUND, err)
	    || moment_set(m, FIELD_main_num_machines, count, ORIGIN_FOUND, err);
	snprintf(count, sizeof count, "%ld", s.ranks);
	if (!status)
		status = put(f, m, FIELD_main_num_processes, count, err) ||
		    put_kind(f, m, &s, err);
	address = r->hosts.count > 1 ? address_of(r) : NULL;
	if (!status && address)
		status = put(f, m, FIELD_main_main_process_ip, address, err);
	f->changed = -1;
	buf_clear(&list);
	if (same) {
		f->turn++;
		form_refresh(f);
	} else if (form_finish(f, status))
		return -1;
	r->turn = f->turn;
	roster_say(r, &said);
	form_say(f, false, "%s: %ld processes.  u takes it back.",
	    buf_text(&said), s.ranks);
	buf_clear(&said);
	return 0;
}

/* --- changes of the list --- */

static int
set_list(struct roster *r, struct form *f, const struct hosts *hosts,
    struct err *err)
{
	struct buf	 list = BUF_INIT;
	struct moment	*m = form_begin(f);
	char		 count[24];
	long		 ranks = 0;
	int		 status;

	if (!m)
		return err_nomem(err);
	for (size_t i = 0; i < hosts->count; i++)
		print_host(&hosts->host[i], hosts->host[i].slots, &list);
	status = buf_failed(&list) ? err_nomem(err) : moment_set(m, ITEM_hosts,
	    buf_text(&list), ORIGIN_USER, err);
	buf_clear(&list);
	/* At once, so that who does not wait for the answers saves what fits;
	 * without hosts it is this machine alone, again. */
	snprintf(count, sizeof count, "%zu", hosts->count ? hosts->count : 1);
	if (!status)
		status = moment_set(m, FIELD_main_num_machines, count,
		    ORIGIN_FOUND, err);
	for (size_t i = 0; i < hosts->count; i++)
		ranks += hosts->host[i].slots ? hosts->host[i].slots : 1;
	snprintf(count, sizeof count, "%ld", ranks);
	if (!hosts->count)
		snprintf(count, sizeof count, "%ld", roster_slots(f->machine));
	if (!status && hosts->count != 1)
		status = put(f, m, FIELD_main_num_processes, count, err);
	f->changed = -1;
	if (form_finish(f, status))
		return -1;
	r->turn = f->turn;
	roster_sync(r, f);
	roster_go(r);
	return 0;
}

/* A copy of the list, with this machine as the first where it was alone. */
static int
copy_list(const struct roster *r, struct hosts *to, bool with_own,
    struct err *err)
{
	*to = (struct hosts)HOSTS_INIT;
	if (!r->hosts.count && with_own)
		return hosts_add(to, "localhost", err);
	for (size_t i = 0; i < r->hosts.count; i++)
		if (hosts_copy(to, &r->hosts.host[i], err) < 0)
			return -1;
	return 0;
}

int
roster_add(struct roster *r, struct form *f, const char *list, struct err *err)
{
	struct hosts	all;
	bool		own = strncmp(list, "localhost", 9) != 0;
	int		status = copy_list(r, &all, own, err);

	if (!status)
		status = hosts_add(&all, list, err);
	if (!status)
		status = set_list(r, f, &all, err);
	if (!status && own && r->hosts.count == 2)
		form_say(f, false, "This machine takes part as well; x on its "
		    "row leaves it out.");
	hosts_clear(&all);
	return status;
}

int
roster_name(struct roster *r, struct form *f, const char *list,
    struct err *err)
{
	struct hosts	all = HOSTS_INIT;
	int		status = *list ? hosts_add(&all, list, err) : 0;

	if (!status)
		status = set_list(r, f, &all, err);
	hosts_clear(&all);
	return status;
}

int
roster_add_file(struct roster *r, struct form *f, const char *path,
    struct err *err)
{
	struct hosts	all;
	int		status = copy_list(r, &all, false, err);

	if (!status)
		status = hosts_read(&all, path, err);
	if (!status)
		status = set_list(r, f, &all, err);
	hosts_clear(&all);
	return status;
}

int
roster_add_slurm(struct roster *r, struct form *f, struct err *err)
{
	struct hosts	all;
	int		status = copy_list(r, &all, false, err);

	if (!status)
		status = slurm_hosts(&all, true, err);
	if (!status)
		status = set_list(r, f, &all, err);
	hosts_clear(&all);
	return status;
}

int
roster_remove(struct roster *r, struct form *f, size_t host, struct err *err)
{
	struct hosts	left = HOSTS_INIT;
	int		status = 0;

	for (size_t i = 0; i < r->hosts.count && !status; i++)
		if (i != host)
			status = hosts_copy(&left, &r->hosts.host[i], err);
	if (!status)
		status = set_list(r, f, &left, err);
	hosts_clear(&left);
	return status;
}
