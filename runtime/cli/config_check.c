/* SPDX-License-Identifier: Apache-2.0 */
/* accel config check: all that is wrong with a configuration, at once. */
#include "runtime/cli/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/probe.h"
#include "probes/software.h"
#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/json.h"
#include "runtime/config/rules.h"
#include "runtime/launch/hosts.h"

#include "runtime/base/banned.h"

struct check {
	const char	*config_file, *hostfile, *machine, *parameters;
	struct strv	 hosts;
	bool		 no_probe, python, json;
};

static const struct option options[] = {
	CONFIG_FILE(struct check),
	VALUES(struct check, hosts, "hosts", 0, "H1:4,H2:4", TAKES_HOSTS,
	    "the machines that it is to run on"),
	VALUE(struct check, hostfile, "hostfile", 0, "FILE", TAKES_FILE,
	    "the same, a line a host: H1 slots=4"),
	VALUE(struct check, machine, "machine", 0, "FILE", TAKES_FILE,
	    "what each machine is: XML of lstopo(1)"),
	VALUE(struct check, parameters, "parameters", 0, "N", TAKES_TEXT,
	    "of the model, such as 7B: does what is offloaded fit?"),
	SWITCH(struct check, no_probe, "no_probe", 0,
	    "check the file alone, not against this machine"),
	SWITCH(struct check, python, "python", 0,
	    "ask Python for its packages as well: takes longer"),
	SWITCH(struct check, json, "json", 0, "as JSON"),
	OPTIONS_END
};

static int
parameters(const char *text, double *out, struct err *err)
{
	static const char	units[] = "kmbt";
	char			number[32];
	size_t			n = strlen(text);
	const char		*unit = n ? strchr(units, text[n - 1] | 32) :
	    NULL;
	double			scale = 1;

	if (unit)
		n--;
	for (const char *u = units; unit && u <= unit; u++)
		scale *= 1000;
	if (n < sizeof number) {
		memcpy(number, text, n);
		number[n] = '\0';
		if (!num_parse_real(number, 0, 1e15, out)) {
			*out *= scale;
			return 0;
		}
	}
	err_set(err, "--parameters %s: not a number of parameters", text);
	return err_hint(err, "such as 124M, 7B or 1.5e9");
}

/* This machine speaks for a run that is on this machine. */
static int
look(const struct config *c, const struct check *o, const struct hosts *hosts,
    struct site *site, struct err *err)
{
	struct machine	m;
	bool		elsewhere = c->main.num_machines > 1;

	for (size_t i = 0; i < hosts->count; i++)
		elsewhere = elsewhere || !host_is_local(&hosts->host[i]);
	if (o->machine) {
		if (access(o->machine, R_OK) < 0) {
			err_set(err, "--machine %s: cannot be read", o->machine);
			return err_hint(err, "lstopo FILE.xml makes such a "
			    "file, on that machine");
		}
		setenv("HWLOC_XMLFILE", o->machine, 1);
	} else if (elsewhere || o->no_probe)
		return 0;
	else
		site->port_busy = c->main.main_process_port > 0 &&
		    probe_port_busy(c->main.main_process_port);
	if (machine_probe_quickly(&m, err) < 0)
		return -1;
	machine_site(&m, site);
	machine_clear(&m);
	return 0;
}

/* What the flags say. */
static int
take(const struct check *o, struct hosts *hosts, struct site *site,
    struct err *err)
{
	for (size_t i = 0; i < o->hosts.count; i++)
		if (hosts_add(hosts, o->hosts.item[i], err) < 0)
			return -1;
	if (o->hostfile && hosts_read(hosts, o->hostfile, err) < 0)
		return -1;
	hosts_site(hosts, site);
	return o->parameters ?
	    parameters(o->parameters, &site->parameters, err) : 0;
}

static void
print_one(const struct config *c, const char *file, const struct problem *p)
{
	int		 line = p->field >= 0 ? c->line[p->field] : 0;
	size_t		 n = strlen(file);
	const char	*what = p->what;

	/* What reading says begins with its place. */
	if (!strncmp(what, file, n) && what[n] == ':') {
		n += strspn(what + n, ":0123456789");
		printf("%.*s", (int)n, what);
		what += n + strspn(what + n, " ");
	} else
		printf("%s:%.0d%s", file, line, line ? ":" : "");
	printf(" %s: %s [%s]\n", p->fatal ? "error" : "warning", what, p->id);
	if (*p->hint)
		printf("    %s\n", p->hint);
}

static void
count(size_t n, const char *what, const char *behind)
{
	printf("%zu %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

static void
print_text(const struct config *c, const char *file, const struct problems *p)
{
	size_t	fatal = problems_fatal(p);

	for (size_t i = 0; i < p->count; i++)
		print_one(c, file, &p->item[i]);
	if (!p->count) {
		printf("%s: no problems\n", file);
		return;
	}
	count(fatal, "error", ", ");
	count(p->count - fatal, "warning", "\n");
}

static json_t *
json_of(const struct config *c, const struct problem *p)
{
	bool	known = p->field >= 0;

	return json_pack("{s:s, s:s, s:s*, s:i, s:s, s:s}", "rule", p->id,
	    "severity", p->fatal ? "error" : "warning",
	    "key", known ? fields[p->field].key : NULL,
	    "line", known ? c->line[p->field] : 0,
	    "problem", p->what, "remedy", p->hint);
}

static int
print_json(const struct config *c, const char *file, const struct problems *p,
    struct err *err)
{
	json_t	*list = json_array(), *all;
	int	ret;

	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(list, json_of(c, &p->item[i]));
	all = json_pack("{s:s, s:i, s:i, s:o}", "file", file,
	    "errors", (int)problems_fatal(p),
	    "warnings", (int)(p->count - problems_fatal(p)),
	    "problems", list);
	ret = json_print(all, err);
	json_decref(all);
	return ret;
}

/* All that reading finds; 1 where what could be read is worth a look. */
static int
read_file(struct config *c, const char *file, struct problems *all,
    struct err *err)
{
	struct err	why = ERR_INIT;
	int		ret, worth = 1;

	c->faults = all;
	ret = config_read(c, file, &why);
	c->faults = NULL;
	if (ret < 0 && problems_add(all, "reading", true, -1, why.text,
	    why.hint))
		return err_nomem(err);
	for (size_t i = 0; i < c->warnings.count; i++)
		if (problems_add(all, "reading", false, -1,
		    c->warnings.item[i], ""))
			return err_nomem(err);
	for (size_t i = 0; i < all->count; i++)
		if (all->item[i].field == FIELD_main_distributed_type ||
		    all->item[i].field == FIELD_main_compute_environment)
			worth = 0;
	return ret < 0 ? 0 : worth;
}

/* Where a value cannot be read, what a rule says of its default is no news. */
static void
drop_doubtful(struct problems *all)
{
	bool	doubtful[FIELD_COUNT] = { false };
	size_t	n = 0;

	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->item[i].id, "reading") &&
		    all->item[i].field >= 0)
			doubtful[all->item[i].field] = true;
	for (size_t i = 0; i < all->count; i++) {
		struct problem	*p = &all->item[i];

		if (strcmp(p->id, "reading") && p->field >= 0 &&
		    doubtful[p->field]) {
			free(p->what);
			free(p->hint);
		} else
			all->item[n++] = *p;
	}
	all->count = n;
}

static int
ask_python(struct site *site, struct err *err)
{
	const char	*python = getenv("ACCEL_PYTHON");
	struct strv	 facts = STRV_INIT;
	int		 ret;

	ret = probe_packages(&facts, python && *python ? python : "python3",
	    10000, NULL, err);
	if (!ret)
		software_site(&facts, site);
	strv_clear(&facts);
	return ret;
}

static int
check(struct config *c, const char *file, const struct check *o,
    const struct hosts *hosts, struct site *site, struct problems *all,
    struct err *err)
{
	int	worth = read_file(c, file, all, err);

	if (worth <= 0)
		return worth;
	if (look(c, o, hosts, site, err) < 0 ||
	    (o->python && ask_python(site, err) < 0) ||
	    site_read_json(site, c, err) < 0 ||
	    config_problems(c, site, all, err) < 0)
		return -1;
	drop_doubtful(all);
	return 0;
}

static int
run(struct call *call, struct err *err)
{
	const struct check	*o = call->options;
	struct config		*c = call->config;
	struct problems		 all = PROBLEMS_INIT;
	struct site		 site = { 0 };
	struct hosts		 hosts = HOSTS_INIT;
	const char		*given = call->argc ? call->argv[0] :
	    o->config_file;
	char			*file;
	int			 ret;

	if (call->argc && o->config_file) {
		err_set(err, "two files: %s and %s", o->config_file,
		    call->argv[0]);
		err_hint(err, "they are checked one by one");
		return EXIT_USAGE;
	}
	if (take(o, &hosts, &site, err) < 0) {
		hosts_clear(&hosts);
		return EXIT_USAGE;
	}
	file = given ? strdup(given) : config_default_path();
	if (!file)
		ret = err_nomem(err);
	else if (access(file, F_OK) < 0)	/* which says how to make it */
		ret = cli_config_load(c, given, false, err);
	else
		ret = check(c, file, o, &hosts, &site, &all, err);
	if (!ret && o->json)
		ret = print_json(c, file, &all, err);
	else if (!ret)
		print_text(c, file, &all);
	if (!ret)
		ret = problems_fatal(&all) > 0;
	problems_clear(&all);
	hosts_clear(&hosts);
	free(file);
	return ret;
}

const struct command command_config_check = {
	"check", "tell all that is wrong with a file", .run = run,
	.path = "config check", .words = "[FILE]", .most = 1,
	.takes = TAKES_YAML, .page = "accel-config(1)", .options = options,
	.size = sizeof(struct check), .flags = COMMAND_FIELDS,
	.about = "Holds a configuration against all rules: its values against "
	"each other, and\nagainst this machine where the run is on it.  Each "
	"problem names the line, the\nrule, and what to do.  Exit code 1 where "
	"there is an error, 0 where there are\nonly warnings.  accel.yaml(5) "
	"lists the rules.",
};
