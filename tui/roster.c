/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/roster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/install.h"
#include "runtime/base/banned.h"

int
roster_init(struct roster *r, const char *accel, struct err *err)
{
	*r = (struct roster){ .child = RUN_CHILD_INIT, .settled = true };
	r->accel = accel ? strdup(accel) : install_program("accel");
	return r->accel ? 0 : err_nomem(err);
}

static void
stop(struct roster *r)
{
	child_clear(&r->child);
	strv_clear(&r->asked);
	r->running = r->measuring = false;
	for (size_t i = 0; i < r->hosts.count; i++)
		if (r->state[i] == ROSTER_ASKED)
			r->state[i] = ROSTER_WAITS;
}

void
roster_clear(struct roster *r)
{
	stop(r);
	hosts_clear(&r->hosts);
	fleet_clear(&r->fleet);
	free(r->state);
	free(r->accel);
	*r = (struct roster){ .child = RUN_CHILD_INIT };
}

/* --- the list --- */

static size_t
find(const struct hosts *hosts, const char *name)
{
	size_t i = 0;

	while (i < hosts->count && strcmp(hosts->host[i].name, name))
		i++;
	return i;
}

static bool
same(const struct hosts *a, const struct hosts *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->host[i].name, b->host[i].name))
			return false;
	return true;
}

/* What is known goes over to those that stay; what was measured between them as
 * well. */
static int
move(struct roster *r, struct hosts *to)
{
	struct fleet		 fleet = FLEET_INIT;
	enum roster_state	*state = calloc(to->count + 1, sizeof *state);

	if (!state)
		return -1;
	for (size_t i = 0; i < to->count; i++) {
		size_t		 at = find(&r->hosts, to->host[i].name);
		struct machine	*m = fleet_add(&fleet);

		if (!m)
			goto bad;
		if (at < r->hosts.count) {
			*m = r->fleet.machine[at];
			r->fleet.machine[at] = (struct machine){ .host = NULL };
			state[i] = r->state[at];
		} else if (!(m->host = strdup(to->host[i].name)))
			goto bad;
	}
	for (size_t k = 0; k < r->fleet.pairs; k++) {
		struct between	*old = &r->fleet.between[k], *b;
		size_t		 from = find(to, r->hosts.host[old->from].name);
		size_t		 end = find(to, r->hosts.host[old->to].name);

		if (from == to->count || end == to->count)
			continue;
		if (!(b = fleet_add_between(&fleet)))
			goto bad;
		*b = *old;
		old->problem = NULL;
		b->from = (unsigned)from;
		b->to = (unsigned)end;
	}
	fleet_clear(&r->fleet);
	free(r->state);
	hosts_clear(&r->hosts);
	r->fleet = fleet;
	r->state = state;
	r->hosts = *to;
	*to = (struct hosts)HOSTS_INIT;
	return 0;
bad:
	fleet_clear(&fleet);
	free(state);
	return -1;
}

/* A proposal is for machines of which all is known that will be. */
static void
show_fleet(struct roster *r, struct form *f)
{
	f->fleet = r->hosts.count ? &r->fleet : NULL;
	for (size_t i = 0; i < r->hosts.count; i++)
		if (r->state[i] < ROSTER_KNOWN)
			f->fleet = NULL;
}

bool
roster_sync(struct roster *r, struct form *f)
{
	struct hosts	now = HOSTS_INIT;
	struct buf	text = BUF_INIT;
	bool		changed = false;

	form_text(f, ITEM_hosts, &text);
	if (text.len && hosts_add(&now, buf_text(&text), NULL) < 0)
		hosts_clear(&now);
	buf_clear(&text);
	if (!same(&now, &r->hosts)) {
		changed = move(r, &now) == 0;
		r->settled = !r->hosts.count;
		show_fleet(r, f);
		roster_site(r, f);
		form_refresh(f);
		r->stale = true;
	} else if (now.count) {		/* slots may differ */
		struct hosts old = r->hosts;

		r->hosts = now;
		now = old;
	}
	hosts_clear(&now);
	return changed;
}

int
roster_take(struct roster *r, struct form *f, const struct fleet *fleet,
    struct err *err)
{
	struct buf	list = BUF_INIT, text = BUF_INIT;
	struct fleet	copy = FLEET_INIT;
	int		status = fleet_yaml(fleet, &text) ? err_nomem(err) :
			    fleet_parse(&copy, buf_text(&text), text.len,
			    "machines", NULL, err);

	for (size_t i = 0; i < copy.count; i++)
		buf_addf(&list, "%s%s", i ? "," : "", copy.machine[i].host ?
		    copy.machine[i].host : copy.machine[i].hostname);
	if (!status)
		status = form_set(f, ITEM_hosts, buf_text(&list), ORIGIN_FILE,
		    err);
	if (!status) {
		r->turn = f->turn;
		roster_sync(r, f);
		for (size_t i = 0; i < copy.count; i++)
			r->state[i] = copy.machine[i].problem ? ROSTER_FAILED :
			    ROSTER_KNOWN;
		fleet_clear(&r->fleet);
		r->fleet = copy;
		copy = (struct fleet)FLEET_INIT;
		for (size_t i = 0; i < r->fleet.count; i++) {
			struct machine *m = &r->fleet.machine[i];

			if (!m->host && !(m->host = strdup(m->hostname)))
				status = err_nomem(err);
		}
		show_fleet(r, f);
	}
	if (!status)
		status = roster_settle(r, f, err);
	fleet_clear(&copy);
	buf_clear(&text);
	buf_clear(&list);
	return status;
}

/* --- the child --- */

static void
start(struct roster *r, bool network)
{
	struct err	 err = ERR_INIT;
	struct strv	 argv = STRV_INIT;
	struct buf	 list = BUF_INIT;
	int		 status;

	for (size_t i = 0; i < r->hosts.count; i++)
		if (network || r->state[i] == ROSTER_WAITS) {
			buf_addf(&list, "%s%s", list.len ? "," : "",
			    r->hosts.host[i].name);
			strv_add(&r->asked, r->hosts.host[i].name);
		}
	status = strv_add(&argv, r->accel) || strv_add(&argv, "probe") ||
	    strv_add(&argv, "--json") || strv_add(&argv, "--hosts") ||
	    strv_add(&argv, buf_text(&list)) ||
	    (network && strv_add(&argv, "--network")) ||
	    (r->ssh_config && (strv_add(&argv, "--ssh_config") ||
	    strv_add(&argv, r->ssh_config)));
	buf_clear(&list);
	if (status)
		err_nomem(&err);
	else
		status = child_start(&r->child, r->accel, argv.item, &err);
	strv_clear(&argv);
	r->running = !status;
	r->measuring = !status && network;
	r->measured = 0;
	snprintf(r->problem, sizeof r->problem, "%s", err.text);
	for (size_t i = 0; i < r->asked.count; i++) {
		size_t at = find(&r->hosts, r->asked.item[i]);

		if (!status) {
			r->state[at] = ROSTER_ASKED;
			continue;
		}
		r->state[at] = ROSTER_FAILED;
		free(r->fleet.machine[at].problem);
		r->fleet.machine[at].problem = strdup(err.text);
	}
	if (status)
		strv_clear(&r->asked);
}

void
roster_go(struct roster *r)
{
	if (r->running)
		return;
	for (size_t i = 0; i < r->hosts.count; i++)
		if (r->state[i] == ROSTER_WAITS) {
			start(r, false);
			return;
		}
}

void
roster_ask(struct roster *r, size_t host)
{
	if (host < r->hosts.count && r->state[host] != ROSTER_ASKED) {
		r->state[host] = ROSTER_WAITS;
		r->settled = false;
	}
	roster_go(r);
}

void
roster_again(struct roster *r)
{
	for (size_t i = 0; i < r->hosts.count; i++)
		if (r->state[i] != ROSTER_ASKED)
			r->state[i] = ROSTER_WAITS;
	r->settled = !r->hosts.count;
	roster_go(r);
}

void
roster_measure(struct roster *r)
{
	if (r->running || r->hosts.count < 2)
		return;
	for (size_t k = 0; k < r->fleet.pairs; k++)
		free(r->fleet.between[k].problem);
	r->fleet.pairs = 0;
	start(r, true);
}

int
roster_watch(const struct roster *r, struct pollfd *p, int room)
{
	int n = 0;

	if (!r->running)
		return 0;
	if (n < room)
		p[n++] = (struct pollfd){ r->child.out, POLLIN, 0 };
	if (n < room)
		p[n++] = (struct pollfd){ r->child.err, POLLIN, 0 };
	return n;
}

static void
take_machine(struct roster *r, struct machine *m)
{
	size_t at = m->host ? find(&r->hosts, m->host) : r->hosts.count;

	if (at == r->hosts.count)	/* taken from the list meanwhile */
		return;
	machine_clear(&r->fleet.machine[at]);
	r->fleet.machine[at] = *m;
	*m = (struct machine){ .host = NULL };
	m = &r->fleet.machine[at];
	r->state[at] = m->problem ? ROSTER_FAILED : ROSTER_KNOWN;
	r->settled = r->settled && r->measuring;
}

static void
take_between(struct roster *r, struct between *b)
{
	struct between	*to;
	size_t		 from, end;

	if (b->from >= r->asked.count || b->to >= r->asked.count)
		return;
	r->measured++;
	from = find(&r->hosts, r->asked.item[b->from]);
	end = find(&r->hosts, r->asked.item[b->to]);
	if (from == r->hosts.count || end == r->hosts.count ||
	    !(to = fleet_add_between(&r->fleet)))
		return;
	*to = *b;
	b->problem = NULL;
	to->from = (unsigned)from;
	to->to = (unsigned)end;
}

static void
take_line(struct roster *r, const char *line, size_t n)
{
	struct fleet got = FLEET_INIT;

	if (!n || fleet_parse_row(&got, line, n, NULL) < 0)
		return;
	for (size_t i = 0; i < got.count; i++)
		take_machine(r, &got.machine[i]);
	for (size_t i = 0; i < got.pairs; i++)
		take_between(r, &got.between[i]);
	fleet_clear(&got);
}

/* What it wrote; a pipe at its end is closed. */
static void
hear(int *fd, struct buf *line)
{
	char	block[8192];
	ssize_t	n = 0;

	while (*fd >= 0 && (n = read(*fd, block, sizeof block)) > 0)
		buf_add(line, block, (size_t)n);
	if (*fd >= 0 && n == 0) {
		close(*fd);
		*fd = -1;
	}
}

/* Those of whom it said nothing: it failed as a whole. */
static void
end(struct roster *r)
{
	char	*said = r->problem;
	size_t	 n = strcspn(said, "\n");

	said[n] = '\0';
	for (size_t i = 0; i < r->hosts.count; i++) {
		struct machine *m = &r->fleet.machine[i];

		if (r->state[i] != ROSTER_ASKED)
			continue;
		r->state[i] = ROSTER_FAILED;
		free(m->problem);
		m->problem = strdup(*said ? said :
		    "accel probe ended without an answer");
	}
	child_clear(&r->child);
	strv_clear(&r->asked);
	r->running = r->measuring = false;
}

bool
roster_wake(struct roster *r, struct form *f)
{
	struct buf	 words = { .max = 4096 };
	const char	*at, *newline;
	bool		 news = false;

	if (!r->running)
		return false;
	hear(&r->child.out, &r->child.line);
	hear(&r->child.err, &words);
	if (words.len && !*r->problem)
		snprintf(r->problem, sizeof r->problem, "%.470s",
		    buf_text(&words));
	buf_clear(&words);
	for (at = buf_text(&r->child.line); (newline = strchr(at, '\n'));
	    at = newline + 1) {
		take_line(r, at, (size_t)(newline - at));
		news = true;
	}
	buf_take(&r->child.line, (size_t)(at - buf_text(&r->child.line)));
	if (child_over(&r->child)) {
		end(r);
		roster_go(r);
		news = true;
	}
	if (news)
		show_fleet(r, f);
	if (!r->running && !r->settled)
		roster_settle(r, f, NULL);
	return news;
}

bool
roster_busy(const struct roster *r)
{
	return r->running;
}

void
roster_wait(struct roster *r, struct form *f, void (*row)(void *user,
    const struct roster *r, size_t host), void *user)
{
	bool *told = calloc(r->hosts.count + 1, sizeof *told);

	roster_go(r);
	do {
		struct pollfd p[2];
		int n = roster_watch(r, p, 2);

		/* The child has limits of its own; its pipes may end before
		 * it. */
		poll(p, (nfds_t)n, p[0].fd < 0 && p[1].fd < 0 ? 20 : 1000);
		roster_wake(r, f);
		for (size_t i = 0; told && i < r->hosts.count; i++)
			if (!told[i] && r->state[i] >= ROSTER_KNOWN) {
				told[i] = true;
				row(user, r, i);
			}
	} while (roster_busy(r));
	free(told);
}
