/* SPDX-License-Identifier: Apache-2.0 */
/* accel-setup: makes and changes the file that accel launch reads. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/strv.h"
#include "tui/form.h"
#include "tui/plain.h"
#include "tui/screen.h"
#include "runtime/base/banned.h"

static const char program[] = "accel-setup";

static const char usage[] =
    "Usage: accel-setup [options] [--launch SCRIPT [ARG...]]\n"
    "Sets up a training run: asks, checks and writes the file that\n"
    "\"accel launch\" reads.  Nothing is written before you say so.\n"
    "\n"
    "  --config_file FILE  the file to make or change\n"
    "  --set KEY=VALUE     set a field first (may be repeated)\n"
    "  --write             write without asking\n"
    "  --defaults          a new file with what fits this machine, unasked\n"
    "  --force             --defaults may replace a file\n"
    "  --print             print the file instead of writing it\n"
    "  --machine           print what was found on this machine\n"
    "  --plain             a conversation, without a full screen\n"
    "  --ascii             no line drawing characters\n"
    "  --no-color          no colours (as NO_COLOR in the environment)\n"
    "  --launch SCRIPT...  offer to launch that script at the end\n"
    "  --help, --version\n";

struct options {
	const char	*file;
	struct strv	 set;
	bool		 write, defaults, force, print, machine, plain, ascii;
	bool		 no_color, help, version;
	char		**script;	/* and its arguments, or NULL */
};

static int
read_options(struct options *o, int argc, char **argv, struct err *err)
{
	const struct { const char *name; bool *flag; } flags[] = {
		{ "--write", &o->write }, { "--defaults", &o->defaults },
		{ "--force", &o->force }, { "--print", &o->print },
		{ "--machine", &o->machine }, { "--plain", &o->plain },
		{ "--ascii", &o->ascii }, { "--no-color", &o->no_color },
		{ "--help", &o->help }, { "-h", &o->help },
		{ "--version", &o->version },
	};

	for (int i = 1; i < argc; i++) {
		char *arg = argv[i], *value = strchr(arg, '=');
		size_t n = value ? (size_t)(value - arg) : strlen(arg);
		bool known = false, file, set;

		for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
			if (!strcmp(arg, flags[k].name))
				known = *flags[k].flag = true;
		if (known)
			continue;
		file = (n == 13 && (!strncmp(arg, "--config_file", n) ||
		    !strncmp(arg, "--config-file", n)));
		set = n == 5 && !strncmp(arg, "--set", n);
		if (!strcmp(arg, "--launch") && i + 1 < argc) {
			o->script = argv + i + 1;
			return 0;
		}
		if (!file && !set) {
			err_set(err, "unknown option %s", arg);
			return err_hint(err, "--help lists the options");
		}
		value = value ? value + 1 : argv[++i];
		if (!value)
			return err_set(err, "%s needs a value", arg);
		if (file)
			o->file = value;
		else if (strv_add(&o->set, value))
			return err_nomem(err);
	}
	return 0;
}

static int
apply_sets(struct form *f, const struct options *o, struct err *err)
{
	for (size_t i = 0; i < o->set.count; i++) {
		char *text = o->set.item[i], *value = strchr(text, '=');
		const char *near;
		int id;

		if (!value) {
			err_set(err, "--set %s: no \"=\"", text);
			return err_hint(err, "write --set KEY=VALUE");
		}
		*value++ = '\0';
		id = config_field_of(text);
		if (id < 0) {
			near = config_near(text);
			err_set(err, "--set %s: there is no such key", text);
			return near ? err_hint(err, "did you mean %s?", near) :
			    err_hint(err, "accel launch --help lists them");
		}
		if (form_set(f, id, value, ORIGIN_FLAG, err))
			return err_at(err, "--set");
	}
	return 0;
}

/* The launcher beside this program, else the one in PATH. */
static int
launch(const struct form *f, char **script, struct err *err)
{
	char self[4096], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 8);
	struct strv argv = STRV_INIT;

	self[n > 0 ? n : 0] = '\0';
	if ((slash = strrchr(self, '/')))
		memcpy(slash + 1, "accel", 6);
	strv_add(&argv, "accel");
	strv_add(&argv, "launch");
	strv_add(&argv, "--config_file");
	strv_add(&argv, f->path);
	while (*script)
		strv_add(&argv, *script++);
	if (slash && !access(self, X_OK))
		execv(self, argv.item);
	execvp("accel", argv.item);
	strv_clear(&argv);
	return err_set(err, "cannot start accel: %s", strerror(errno));
}

static int
print_form(const struct form *f, struct err *err)
{
	struct buf yaml = BUF_INIT;

	if (config_print(form_now(f), &yaml))
		return err_nomem(err);
	fputs(buf_text(&yaml), stdout);
	buf_clear(&yaml);
	return fflush(stdout) ? err_set(err, "cannot write: %s",
	    strerror(errno)) : 0;
}

static bool
wants_plain(const struct options *o)
{
	const char *term = getenv("TERM");

	return o->plain || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    !term || !*term || !strcmp(term, "dumb") || getenv("ACCESSIBLE");
}

/* 0 written or left as it was, 1 not wanted, -1 error. */
static int
ask(struct form *f, const struct options *o, struct err *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct buf script = BUF_INIT;
	struct screen s = {
		.form = f, .ascii = o->ascii,
		.color = !o->no_color && !(no_color && *no_color),
	};
	int status;

	for (char **word = o->script; word && *word; word++) {
		buf_adds(&script, word == o->script ? "" : " ");
		buf_add_word(&script, *word);
	}
	s.script = o->script ? buf_text(&script) : NULL;
	if (wants_plain(o)) {
		status = plain_run(f, s.script, stdin, stdout, err);
		s.done = status == PLAIN_LAUNCH ? DONE_LAUNCH : DONE_QUIT;
	} else
		status = screen_run(&s, err);
	buf_clear(&script);
	if (status >= 0 && s.done == DONE_LAUNCH)
		return launch(f, o->script, err);
	if (status || wants_plain(o))
		return status;
	if (f->saved.len && !form_unsaved(f))
		printf("%s: %s is ready: accel launch --config_file %s "
		    "SCRIPT\n", program, f->path, f->path);
	else
		printf("%s: left without writing\n", program);
	return 0;
}

static int
work(struct form *f, const struct options *o, struct err *err)
{
	const struct problems *problems = &f->problems;

	if (o->defaults && f->saved.len && !o->force && !o->print) {
		err_set(err, "%s exists already", f->path);
		return err_hint(err, "--force replaces it, --set changes it");
	}
	if (o->defaults && f->saved.len && form_propose(f, err))
		return -1;
	if (apply_sets(f, o, err))
		return -1;
	if (o->print)
		return print_form(f, err);
	if (!o->defaults && !o->write)
		return ask(f, o, err);
	for (size_t i = 0; i < problems->count; i++)
		fprintf(stderr, "%s: %s%s%s%s\n", program,
		    problems->item[i].fatal ? "" : "warning: ",
		    problems->item[i].what,
		    *problems->item[i].hint ? "\n  " : "",
		    problems->item[i].hint);
	if (problems_fatal(problems))
		return err_set(err, "%s is not written", f->path);
	if (form_save(f, err))
		return -1;
	printf("%s: wrote %s\n", program, f->path);
	return 0;
}

static int
run(const struct options *o, struct err *err)
{
	struct machine m;
	struct form f;
	struct buf text = BUF_INIT;
	char *path = o->file ? strdup(o->file) : config_default_path();
	int status;

	if (!path)
		return err_nomem(err);
	if (machine_probe(&m, err)) {
		free(path);
		return -1;
	}
	if (o->machine) {
		status = machine_print(&m, &text);
		fputs(buf_text(&text), stdout);
		buf_clear(&text);
	} else if (!(status = form_open(&f, &m, path, err))) {
		status = work(&f, o, err);
		form_clear(&f);
	}
	machine_clear(&m);
	free(path);
	return status;
}

int
main(int argc, char **argv)
{
	struct options o = { .file = NULL };
	struct err err = ERR_INIT;
	int status;

	setlocale(LC_CTYPE, "");
	status = read_options(&o, argc, argv, &err);
	if (!status && o.help)
		fputs(usage, stdout);
	else if (!status && o.version)
		printf("accel-setup %s\n", PACKAGE_VERSION);
	else if (!status)
		status = run(&o, &err);
	if (status < 0)
		err_print(program, &err);
	strv_clear(&o.set);
	return status ? 1 : 0;
}
