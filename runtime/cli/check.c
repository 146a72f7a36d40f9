/* SPDX-License-Identifier: Apache-2.0 */
/* check: a line a host with its facts, then what is wrong. */
#include "runtime/cli/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "runtime/base/buf.h"
#include "runtime/base/strv.h"
#include "runtime/launch/plan.h"
#include "runtime/launch/supervise.h"

#include "runtime/base/banned.h"

enum form { PLAIN, BYTES, CLOCK };

/* The columns; a host's own members come by the names in cell(). */
static const struct { const char *head, *fact; enum form form; } columns[] = {
	{ "host", "name", PLAIN },
	{ "ranks", "ranks", PLAIN },
	{ "interface", "interface", PLAIN },
	{ "cpus", "cpus", PLAIN },
	{ "memory", "memory_free", BYTES },
	{ "disk", "disk_free", BYTES },
	{ "shm", "shm_free", BYTES },
	{ "GPUs", "devices", PLAIN },
	{ "driver", "driver", PLAIN },
	{ "Python", "python_version", PLAIN },
	{ "torch", "torch", PLAIN },
	{ "accelerate", "accelerate", PLAIN },
	{ "clock", "time", CLOCK },
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void
cell(const struct checked_host *host, size_t column, char *out, size_t room)
{
	const char	*name = columns[column].fact;
	const char	*fact = strv_getenv(host->facts, name);

	if (!strcmp(name, "name"))
		snprintf(out, room, "%s", host->name);
	else if (!strcmp(name, "ranks"))
		snprintf(out, room, "%ld", host->ranks);
	else if (!strcmp(name, "interface"))
		snprintf(out, room, "%s", host->interface);
	else if (!fact)
		snprintf(out, room, "%s", "");
	else if (columns[column].form == BYTES)
		snprintf(out, room, "%.1f GB", strtod(fact, NULL) / 1e9);
	else if (columns[column].form == CLOCK)
		snprintf(out, room, "%+.2f s", fabs(host->ahead_s) < 0.005 ?
		    0 : host->ahead_s);
	else
		snprintf(out, room, "%s", *fact ? fact : "none");
	for (char *c = out; *c; c++)	/* another host's bytes, a terminal of ours */
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

static void
print_facts(const struct checked *all)
{
	char	text[160];
	size_t	width[COLUMNS] = { 0 };

	for (size_t c = 0; c < COLUMNS; c++) {
		bool any = false;

		for (size_t h = 0; h < all->count; h++) {
			cell(&all->host[h], c, text, sizeof text);
			any = any || *text;
			if (strlen(text) > width[c])
				width[c] = strlen(text);
		}
		if (any && width[c] < strlen(columns[c].head))
			width[c] = strlen(columns[c].head);
	}
	for (size_t h = 0; h <= all->count; h++) {	/* 0 is the head */
		struct buf line = BUF_INIT;

		for (size_t c = 0; c < COLUMNS; c++) {
			if (!width[c])
				continue;
			if (h)
				cell(&all->host[h - 1], c, text, sizeof text);
			else
				snprintf(text, sizeof text, "%s",
				    columns[c].head);
			buf_addf(&line, "%s%-*s", line.len ? "  " : "",
			    (int)width[c], *text ? text : "-");
		}
		while (line.len && line.data[line.len - 1] == ' ')
			line.data[--line.len] = '\0';
		puts(buf_text(&line));
		buf_clear(&line);
	}
}

void
check_print_text(void *unused, const struct checked *all)
{
	size_t bad = 0;

	(void)unused;
	print_facts(all);
	if (all->place) {
		struct buf table = BUF_INIT;

		plan_print_table(all->plan, all->place, &table);
		printf("\n%s", buf_text(&table));
		buf_clear(&table);
	}
	if (*all->address)
		printf("\nrank 0 is met at %s\n", all->address);
	for (size_t h = 0; h < all->count; h++) {
		const struct checked_host *host = &all->host[h];

		bad += !host->ready;
		for (size_t i = 0; i < host->troubles; i++) {
			const struct trouble *t = &host->trouble[i];

			printf("%s%s: %s%s\n", h + i ? "" : "\n", host->name,
			    t->fatal ? "" : "warning: ", t->what ? t->what : "");
			if (t->hint && *t->hint)
				printf("  %s\n", t->hint);
		}
	}
	if (bad)
		printf("\n%zu of %zu host%s cannot take part\n", bad, all->count,
		    all->count == 1 ? "" : "s");
	else
		printf("\nready: %zu host%s\n", all->count,
		    all->count == 1 ? "" : "s");
}

/* Bytes from elsewhere need not be UTF-8. */
static json_t *
text_json(const char *text)
{
	json_t *string = json_string(text ? text : "");

	return string ? string : json_null();
}

/* Facts of which a host has several. */
static bool
is_repeated(const char *name)
{
	static const char *const names[] = { "interface", "node", "package",
		"core", "gpu", "hca", "nic" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static json_t *
places_json(const struct checked *all, size_t host)
{
	json_t *places = json_array();

	for (size_t i = 0; all->place && i < all->plan->world; i++) {
		const struct plan_rank	*r = &all->plan->rank[i];
		const struct seat	*p = &all->place[i];
		json_t			*one;

		if (r->host != host)
			continue;
		one = json_object();
		json_object_set_new(one, "rank", json_integer((json_int_t)i));
		json_object_set_new(one, "gpu", r->gpu < 0 || !p->pci ?
		    json_null() : json_integer(r->gpu));
		json_object_set_new(one, "pci", p->pci ? text_json(p->pci) :
		    json_null());
		json_object_set_new(one, "cpus", p->list ? text_json(p->list) :
		    json_null());
		json_object_set_new(one, "numa", p->nodes ?
		    text_json(p->nodes) : json_null());
		json_object_set_new(one, "near", p->nic ? text_json(p->nic) :
		    json_null());
		json_array_append_new(places, one);
	}
	return places;
}

static json_t *
facts_json(const struct strv *facts)
{
	json_t *all = json_object();

	for (size_t i = 0; i < facts->count; i++) {
		const char	*item = facts->item[i];
		char		*name = strndup(item, strcspn(item, "="));
		json_t		*had = name ? json_object_get(all, name) : NULL;
		json_t		*value = text_json(item + strcspn(item, "=") + 1);

		if (name && is_repeated(name)) {
			if (!had)
				json_object_set_new(all, name,
				    had = json_array());
			json_array_append_new(had, value);
		} else if (name)
			json_object_set_new(all, name, value);
		else
			json_decref(value);
		free(name);
	}
	return all;
}

void
check_print_json(void *unused, const struct checked *all)
{
	json_t	*root = json_object(), *hosts = json_array();
	char	*text;

	(void)unused;
	json_object_set_new(root, "ready", json_boolean(all->ready));
	json_object_set_new(root, "address", text_json(all->address));
	for (size_t h = 0; h < all->count; h++) {
		const struct checked_host	*from = &all->host[h];
		json_t	*host = json_object(), *troubles = json_array();

		json_object_set_new(host, "host", text_json(from->name));
		json_object_set_new(host, "ready", json_boolean(from->ready));
		json_object_set_new(host, "ranks", json_integer(from->ranks));
		json_object_set_new(host, "interface",
		    text_json(from->interface));
		json_object_set_new(host, "clock_ahead",
		    json_real(from->ahead_s));
		json_object_set_new(host, "facts", facts_json(from->facts));
		for (size_t i = 0; i < from->troubles; i++) {
			const struct trouble	*t = &from->trouble[i];
			json_t			*one = json_object();

			json_object_set_new(one, "fatal", json_boolean(t->fatal));
			json_object_set_new(one, "what", text_json(t->what));
			json_object_set_new(one, "hint", text_json(t->hint));
			json_array_append_new(troubles, one);
		}
		json_object_set_new(host, "problems", troubles);
		if (all->place)
			json_object_set_new(host, "places",
			    places_json(all, h));
		json_array_append_new(hosts, host);
	}
	json_object_set_new(root, "hosts", hosts);
	text = json_dumps(root, JSON_INDENT(2));
	if (text)
		puts(text);
	free(text);
	json_decref(root);
}
