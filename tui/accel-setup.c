/* SPDX-License-Identifier: Apache-2.0 */
/* accel-setup: makes and changes the file that accel launch reads. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/install.h"
#include "runtime/base/lines.h"
#include "runtime/base/strv.h"
#include "runtime/cli/cli.h"
#include "runtime/cli/setup.h"
#include "runtime/config/words.h"
#include "tui/draft.h"
#include "tui/form.h"
#include "tui/plain.h"
#include "tui/minimal.h"
#include "tui/runview_screen.h"
#include "tui/roster.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

static const char program[] = "accel-setup";

static int
apply_sets(struct form *f, const struct setup *o, struct err *err)
{
	for (size_t i = 0; i < o->set.count; i++) {
		char *text = o->set.item[i], *value = strchr(text, '=');
		int id;

		if (!value) {
			err_set(err, "--set %s: no \"=\"", text);
			return err_hint(err, "write --set KEY=VALUE");
		}
		*value++ = '\0';
		/* A key stands behind its section, too. */
		id = item_named(text);
		if (id < 0 && (id = field_named(text, err)) < 0)
			return err_at(err, "--set %s", text);
		if (form_set(f, id, value, ORIGIN_FLAG, err))
			return err_at(err, "--set");
	}
	return 0;
}

/* The seeds of the memory estimate, which no file has. */
static int
apply_seeds(struct form *f, const struct setup *o, struct err *err)
{
	const struct { int item; const char *text; } all[] = {
		{ ITEM_model, o->model }, { ITEM_sequence, o->sequence },
		{ ITEM_batch, o->batch }, { ITEM_optimizer, o->optimizer },
		{ ITEM_total, o->total },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].text && form_set(f, all[i].item, all[i].text,
		    ORIGIN_FLAG, err))
			return -1;
	if (*f->model_fault.text) {
		*err = f->model_fault;
		return err_at(err, "--model");
	}
	return 0;
}

static bool
wants_plain(const struct setup *o)
{
	return o->plain || !runview_possible();
}

static bool
wants_color(const struct setup *o)
{
	const char *no_color = getenv("NO_COLOR");

	return !o->no_color && !(no_color && *no_color);
}

/* Runs accel with those words: on the launch screen, or in our place where
 * there is none. */
static int
start(const struct setup *o, struct strv *argv, struct err *err)
{
	char *accel = install_program("accel");
	struct runview_order order = {
		.accel = accel, .argv = argv->item, .ascii = o->ascii,
		.no_mouse = o->no_mouse, .color = wants_color(o),
	};
	int code;

	if (!accel)
		return err_nomem(err);
	if (!wants_plain(o)) {
		code = runview_run(&order, err);
	} else {
		execvp(accel, argv->item);
		code = err_set(err, "cannot start %s: %s", accel,
		    strerror(errno));
	}
	free(accel);
	return code;
}

static int
launch(const struct form *f, const struct setup *o, char **script,
    struct err *err)
{
	struct strv argv = STRV_INIT;
	int code;

	strv_add(&argv, "accel");
	strv_add(&argv, "launch");
	strv_add(&argv, "--config_file");
	strv_add(&argv, f->path);
	while (*script)
		strv_add(&argv, *script++);
	code = start(o, &argv, err);
	strv_clear(&argv);
	return code;
}

/* accel launch --view screen: any command of accel that starts ranks. */
static int
follow(const struct setup *o, char **words, struct err *err)
{
	struct strv argv = STRV_INIT;
	int code;

	strv_add(&argv, "accel");
	while (*words)
		strv_add(&argv, *words++);
	code = start(o, &argv, err);
	strv_clear(&argv);
	return code;
}

/* 0 written or left as it was, 1 not wanted, -1 error; or the exit code of the
 * run that was launched. */
static int
ask(struct form *f, const struct setup *o, char **words,
    struct machine *late, struct err *err)
{
	struct buf script = BUF_INIT;
	struct screen s = {
		.form = f, .late = late, .ascii = o->ascii, .no_mouse = o->no_mouse,
		.color = wants_color(o),
	};
	int status;

	for (char **word = words; o->launch && *word; word++) {
		buf_adds(&script, word == words ? "" : " ");
		buf_add_word(&script, *word);
	}
	s.script = o->launch ? buf_text(&script) : NULL;
	if (wants_plain(o)) {
		status = plain_run(f, s.script, stdin, stdout, err);
		s.done = status == PLAIN_LAUNCH ? DONE_LAUNCH : DONE_QUIT;
	} else
		status = screen_run(&s, err);
	buf_clear(&script);
	if (status >= 0 && s.done == DONE_LAUNCH)
		return launch(f, o, words, err);
	if (status || wants_plain(o))
		return status;
	if (f->saved.len && !form_unsaved(f))
		printf("%s: %s is ready: accel launch --config_file %s "
		    "SCRIPT\n", program, f->path, f->path);
	else
		printf("%s: left without writing\n", program);
	return 0;
}

/* 0 nothing is wrong, 1 something. */
static int
say_problems(const struct form *f, FILE *to)
{
	const struct problems *all = &f->problems;

	for (size_t i = 0; i < all->count; i++)
		fprintf(to, "%s: %s%s%s%s\n", program,
		    all->item[i].fatal ? "" : "warning: ", all->item[i].what,
		    *all->item[i].hint ? "\n  " : "", all->item[i].hint);
	return problems_fatal(all) > 0;
}

/* What is asked for unasked: 1 and *status, or 0 for a session. */
static int
answer(struct form *f, const struct setup *o, int *status, struct err *err)
{
	struct buf text = BUF_INIT;

	*status = 0;
	if (o->check) {
		*status = say_problems(f, stdout);
		if (!f->problems.count)
			printf("%s: nothing is wrong with %s\n", program,
			    f->path);
	} else if (o->diff) {
		*status = form_unsaved(f);
		lines_diff(buf_text(&f->saved), buf_text(&f->text),
		    f->saved.len ? f->path : "/dev/null", f->path, &text);
	} else if (o->list_new)
		list_new(f, &text);
	else if (o->minimal)
		list_minimal(f, &text);
	else if (o->print)
		buf_add(&text, buf_text(&f->text), f->text.len);
	else
		return 0;
	if (buf_failed(&text))
		*status = err_nomem(err);
	fputs(buf_text(&text), stdout);
	buf_clear(&text);
	return 1;
}

static int
work(struct form *f, const struct setup *o, char **words,
    struct machine *late, struct err *err)
{
	bool look = o->print || o->check || o->diff || o->list_new ||
	    o->minimal;
	int status;

	if (o->defaults && f->saved.len && !o->force && !look) {
		err_set(err, "%s exists already", f->path);
		return err_hint(err, "--force replaces it, --set changes it");
	}
	if (apply_seeds(f, o, err))
		return -1;
	/* A new file was proposed by the machine; now the model is known. */
	if (o->defaults && (f->saved.len || o->model) && form_propose(f, err))
		return -1;
	if (!o->defaults && !f->saved.len && o->model)
		form_propose(f, NULL);
	if (apply_sets(f, o, err))
		return -1;
	if (answer(f, o, &status, err))
		return status;
	if (!o->defaults && !o->write)
		return ask(f, o, words, late, err);
	if (say_problems(f, stderr))
		return err_set(err, "%s is not written", f->path);
	if (form_save(f, err))
		return -1;
	draft_drop(f);
	printf("%s: wrote %s\n", program, f->path);
	return 0;
}

/* Machines of a file: the first is what is proposed for, and several are the
 * hosts of the run. */
static int
load(struct fleet *fleet, struct machine *m, const char *path,
    struct err *err)
{
	struct strv warnings = STRV_INIT;
	struct buf text = BUF_INIT;
	struct fleet copy = FLEET_INIT;
	int status = fleet_load(fleet, path, &warnings, err);

	for (size_t i = 0; i < warnings.count; i++)
		fprintf(stderr, "%s: warning: %s\n", program,
		    warnings.item[i]);
	strv_clear(&warnings);
	if (!status && !fleet->count) {
		err_set(err, "%s tells of no machine", path);
		status = err_hint(err, "accel probe --yaml writes such a file");
	}
	/* The form's own is apart from the list. */
	if (!status && (fleet_yaml(fleet, &text) || fleet_parse(&copy,
	    buf_text(&text), text.len, path, NULL, err)))
		status = -1;
	buf_clear(&text);
	if (!status) {
		*m = copy.machine[0];
		copy.machine[0] = (struct machine){ .host = NULL };
	}
	fleet_clear(&copy);
	return status;
}

/* The hosts of the form are those of the file. */
static int
take_hosts(struct form *f, const struct fleet *fleet, struct err *err)
{
	struct roster r;
	int status;

	if (fleet->count < 2)
		return 0;
	if (roster_init(&r, NULL, err))
		return -1;
	status = roster_take(&r, f, fleet, err);
	roster_clear(&r);
	f->fleet = fleet;
	return status;
}

static int
run(const struct setup *o, char **words, struct err *err)
{
	struct fleet fleet = FLEET_INIT;
	struct machine m;
	struct form f;
	struct buf text = BUF_INIT;
	char *path = o->config_file ? strdup(o->config_file) :
	    config_default_path();
	int status;

	if (!path)
		return err_nomem(err);
	/* Python takes longer than all the rest: the screens ask it while they
	 * are used, and what answers unasked does not need it. */
	if (o->machine ? load(&fleet, &m, o->machine, err) :
	    (o->facts || wants_plain(o) ? machine_probe :
	    machine_probe_quickly)(&m, err)) {
		fleet_clear(&fleet);
		free(path);
		return -1;
	}
	if (o->facts) {
		status = machine_print(&m, &text);
		fputs(buf_text(&text), stdout);
		buf_clear(&text);
	} else if (!(status = form_open(&f, &m, path, err))) {
		status = take_hosts(&f, &fleet, err);
		if (!status)
			status = work(&f, o, words, &m, err);
		form_clear(&f);
	}
	machine_clear(&m);
	fleet_clear(&fleet);
	free(path);
	return status;
}

int
main(int argc, char **argv)
{
	struct setup o = { .config_file = NULL };
	struct err err = ERR_INIT;
	char **words = NULL;
	int count, status;
	bool launches = false, follows = false;

	setlocale(LC_CTYPE, "");
	/* What stands behind --launch is for accel launch, and behind --follow
	 * for accel. */
	for (int i = 1; i < argc && !words; i++) {
		launches = !strcmp(argv[i], "--launch");
		follows = !strcmp(argv[i], "--follow");
		if (launches || follows) {
			words = argv + i + 1;
			argv[i] = NULL;
		}
	}
	o.launch = words && launches;
	status = command_read(&command_setup, argv + 1, &o, NULL, &count, &err);
	if (!status && words && !*words) {
		err_set(&err, "--%s needs a %s", launches ? "launch" :
		    "follow", launches ? "script" : "command");
		status = err_hint(&err, "accel-setup --%s train.py", launches ?
		    "launch" : "follow launch");
	}
	if (status < 0) {
		err_print(program, &err);
		strv_clear(&o.set);
		return EXIT_USAGE;
	}
	if (status) {
		command_help(&command_setup, stdout);
		status = 0;
	} else if (o.version)
		printf("accel-setup %s\n", PACKAGE_VERSION);
	else if ((status = follows ? follow(&o, words, &err) :
	    run(&o, words, &err)) < 0)
		err_print(program, &err);
	else if (fflush(stdout) || ferror(stdout)) {
		err_set(&err, "the output could not be written");
		err_print(program, &err);
		status = 1;
	}
	strv_clear(&o.set);
	return status < 0 ? 1 : status;
}
