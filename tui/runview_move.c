/* SPDX-License-Identifier: Apache-2.0 */
/* runview_move: what of the run is looked at. */
#include <stdio.h>
#include <string.h>

#include "tui/runview_intern.h"

#include "runtime/base/banned.h"

void
runview_set_rows(struct run_view *v)
{
	struct run_row was = v->rows ? v->row[v->cursor] :
	    (struct run_row){ 0, v->world };

	v->rows = 0;
	for (size_t h = 0; h < v->hosts; h++) {
		const struct run_host *host = &v->host[h];

		v->row[v->rows++] = (struct run_row){ h, v->world };
		for (size_t i = 0; i < host->count && !host->closed; i++)
			v->row[v->rows++] = (struct run_row){ h,
			    v->order[host->first + i] };
	}
	v->cursor = 0;
	for (size_t i = 0; i < v->rows; i++)
		if (v->row[i].host == was.host &&
		    (v->row[i].rank == was.rank ||
		    v->row[i].rank == v->world))
			v->cursor = i;
}

void
runview_move(struct run_view *v, long by)
{
	long to = (long)v->cursor + by;

	if (!v->rows)
		return;
	if (to < 0)
		to = 0;
	v->cursor = (size_t)to < v->rows ? (size_t)to : v->rows - 1;
}

void
runview_open(struct run_view *v)
{
	struct run_host *host;

	if (!v->rows)
		return;
	host = &v->host[v->row[v->cursor].host];
	host->closed = !host->closed;
	runview_set_rows(v);
}

void
runview_open_all(struct run_view *v)
{
	bool any = false;

	for (size_t h = 0; h < v->hosts; h++)
		any = any || v->host[h].closed;
	for (size_t h = 0; h < v->hosts; h++)
		v->host[h].closed = !any;
	if (v->hosts)
		runview_set_rows(v);
}

const struct ranks *
runview_only(const struct run_view *v)
{
	return v->only.count ? &v->only : NULL;
}

void
runview_unfilter(struct run_view *v)
{
	ranks_clear(&v->only);
	v->only_name[0] = '\0';
}

void
runview_filter(struct run_view *v)
{
	struct run_row	row;
	char		name[sizeof v->only_name];

	if (!v->rows)
		return;
	row = v->row[v->cursor];
	if (row.rank < v->world)
		snprintf(name, sizeof name, "rank %zu", row.rank);
	else
		snprintf(name, sizeof name, "%s", v->host[row.host].name);
	if (!strcmp(name, v->only_name)) {	/* again: all */
		runview_unfilter(v);
		return;
	}
	runview_unfilter(v);
	v->only = (struct ranks)RANKS_INIT(v->world);
	for (size_t i = 0; i < v->world; i++)
		if (i == row.rank || (row.rank == v->world &&
		    v->rank[i].host == row.host))
			ranks_add(&v->only, i);
	memcpy(v->only_name, name, sizeof name);
}

bool
runview_bottom(const struct run_view *v, uint64_t *number)
{
	uint64_t at = v->follow ? log_end(&v->log) : v->at + 1;

	/* What was there may have gone: then the oldest that is left. */
	if (!log_seek(&v->log, &at, -1, runview_only(v), "")) {
		at = v->log.first - 1;
		if (!log_seek(&v->log, &at, 1, runview_only(v), ""))
			return false;
	}
	*number = at;
	return true;
}

void
runview_follow(struct run_view *v)
{
	v->follow = true;
}

void
runview_scroll(struct run_view *v, long by)
{
	uint64_t at, next;

	if (!runview_bottom(v, &at))
		return;
	for (next = at; by < 0 && log_seek(&v->log, &next, -1,
	    runview_only(v), ""); by++)
		at = next;
	for (next = at; by > 0 && log_seek(&v->log, &next, 1,
	    runview_only(v), ""); by--)
		at = next;
	v->at = at;
	/* Behind the newest is what comes next. */
	v->follow = by > 0;
}

void
runview_first(struct run_view *v)
{
	/* So far that the oldest lines fill the screen. */
	runview_scroll(v, -(long)LOG_LINES);
	if (v->log_h > 1) {
		runview_scroll(v, v->log_h - 1);
	}
}

void
runview_search(struct run_view *v, int step)
{
	uint64_t at;

	if (!*v->search || !runview_bottom(v, &at)) {
		snprintf(v->note, sizeof v->note, "Nothing to search for.");
		return;
	}
	/* The newest line may be a hit itself, the first time. */
	if (v->follow && step < 0)
		at++;
	if (!log_seek(&v->log, &at, step, runview_only(v), v->search)) {
		snprintf(v->note, sizeof v->note, "No %s line has \"%.100s\".",
		    step < 0 ? "earlier" : "later", v->search);
		return;
	}
	v->at = at;
	v->follow = false;
}
