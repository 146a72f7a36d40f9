/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screens: real curses without a terminal.  Keys go in, and what would be shown
 * is compared with golden/NAME-SIZE.screen, at three sizes, and again after the
 * terminal was other sizes: the text, and below it the looks: "r" reverse, "b"
 * bold, "u" underlined, "d" dim; with colours "y" changed, "!" problem, "c"
 * title, "g" good.  UPDATE=1 ("make update-screens") writes those files into
 * the source.
 */
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/base/file.h"
#include "tests/tap.h"
#include "tui/draft.h"
#include "tui/form.h"
#include "tui/page.h"
#include "tui/screen.h"

static const struct size { int rows, columns; } sizes[] = {
	{ 16, 60 }, { 24, 80 }, { 30, 100 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

enum { ASCII = 1, COLOUR = 2, FILE_THERE = 4, DRAFT_THERE = 8, GPU_80 = 16,
    NO_GPU = 32, DEEP = 64 };

static const char old_file[] =
    "# ours, since spring\n"
    "compute_environment: LOCAL_MACHINE\n"
    "distributed_type: FSDP   # of the big model\n"
    "fsdp_config:\n"
    "  fsdp_version: 2\n"
    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
    "  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"
    "mixed_precision: bf16\n"
    "num_machines: 1\n"
    "num_processes: 2\n";

static const struct {
	const char	*name;
	const char	*keys;		/* \1 Down, \2 F1, \3 Tab, \4 End */
	int		 how;
	const char	*model;
} cases[] = {
	{ "start", "", 0, NULL },
	{ "start-cpu", "", NO_GPU, NULL },
	{ "start-file", "", FILE_THERE, NULL },
	{ "start-draft", "", DRAFT_THERE, NULL },
	{ "start-deep", "", DEEP, NULL },
	{ "review-deep", "6", DEEP, NULL },
	{ "template", "tz", 0, NULL },
	{ "machines", "2", 0, NULL },
	{ "training", "3\1\1", 0, NULL },
	{ "choices", "4\n\1", 0, NULL },
	{ "choices-typed", "4\nparam", 0, NULL },
	{ "choices-number", "4\n12", 0, NULL },
	{ "line", "3\1\n\02533", 0, NULL },
	{ "line-wrong", "3\1\n\025many\n", 0, NULL },
	{ "refused", "3\1\n\025many\n\033", 0, NULL },
	{ "strategy", "4\n4\n\1\1\1", 0, NULL },
	{ "strategy-file", "4\1\1 \4 ", FILE_THERE, NULL },
	{ "rest", "4A\1\1", 0, NULL },
	{ "changed", "3\1\n\0254\n4 C", 0, NULL },
	{ "search", "/offload", 0, NULL },
	{ "search-gone", "/offload nvme\n", 0, NULL },
	{ "search-none", "/zebra", 0, NULL },
	{ "help", "4?", 0, NULL },
	{ "help-seed", "3?", 0, NULL },
	{ "keys", "\2", 0, NULL },
	{ "checks-none", "5", 0, NULL },
	{ "checks", "3\1\n\0253\n5\1", 0, NULL },
	{ "checks-jump", "3\1\n\0253\n5\n", 0, NULL },
	{ "review", "6", 0, NULL },
	{ "review-file", "3\1\1\n\0254\n6", FILE_THERE, NULL },
	{ "review-idle", "4\n1\n6", FILE_THERE, NULL },
	{ "save", "3\1\1\n\0254\ns", FILE_THERE, NULL },
	{ "save-wrong", "3\1\n\0253\ns", 0, NULL },
	{ "difference", "4 D", FILE_THERE, NULL },
	{ "quit", "q", 0, NULL },
	{ "quit-changed", "4 q", 0, NULL },
	{ "undone", "4 u", 0, NULL },
	{ "no-undo", "4u", 0, NULL },
	{ "memory", "4", FILE_THERE | GPU_80, "7B" },
	{ "memory-over", "4", GPU_80, "7B" },
	{ "memory-no-size", "4", 0, "7B" },
	{ "memory-fault", "3", 0, "./no-such-config.json" },
	{ "memory-cpu", "3", NO_GPU, "124M" },
	{ "proposal", "w", GPU_80, "7B" },
	{ "proposal-taken", "w\n4", GPU_80, "1.3B" },
	{ "proposal-other", "w1", GPU_80, "1.3B" },
	{ "proposal-asks", "w", 0, NULL },
	{ "proposal-asked", "w1.3B\n", GPU_80, NULL },
	{ "proposal-wrong", "wmuch\n", 0, NULL },
	{ "proposal-batch", "wb64\n", GPU_80, "1.3B" },
	{ "proposal-small", "w", NO_GPU, "70B" },
	{ "file", "37", 0, NULL },
	{ "ascii", "3\1", ASCII, NULL },
	{ "ascii-box", "4\n", ASCII, NULL },
	{ "colour", "3\1\n\0253\n", COLOUR | FILE_THERE, NULL },
	{ "colour-over", "4", COLOUR | GPU_80, "7B" },
};

static void
press(struct screen *s, const char *keys)
{
	for (; *keys; keys++) {
		screen_draw(s);
		if (*keys == '\1')
			screen_key(s, KEY_DOWN, true);
		else if (*keys == '\2')
			screen_key(s, KEY_F(1), true);
		else if (*keys == '\3')
			screen_key(s, '\t', false);
		else if (*keys == '\4')
			screen_key(s, KEY_END, true);
		else
			screen_key(s, *keys, false);
	}
	screen_draw(s);
}

/* Without the blanks at the ends of lines, which editors eat. */
static void
trim(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_adds(out, "\n");
}

static char
look_of(attr_t attr, short pair)
{
	static const char colours[] = " y!cg";

	if (pair > 0 && pair < 5)
		return colours[pair];
	return attr & A_REVERSE ? 'r' : attr & A_UNDERLINE ? 'u' :
	    attr & A_BOLD ? 'b' : attr & A_DIM ? 'd' : ' ';
}

static void
snapshot(struct buf *out)
{
	int rows, columns, y, x;

	getyx(stdscr, y, x);
	buf_addf(out, "cursor %d,%d\n", y, x);
	getmaxyx(stdscr, rows, columns);
	for (y = 0; y < rows; y++) {
		wchar_t line[256];

		mvinnwstr(y, 0, line, columns);
		buf_addf(out, "%ls", line);
		trim(out);
	}
	for (y = 0; y < rows; y++) {
		for (x = 0; x < columns; x++) {
			cchar_t c;
			wchar_t text[CCHARW_MAX + 1];
			attr_t attr;
			short pair;

			mvin_wch(y, x, &c);
			getcchar(&c, text, &attr, &pair, NULL);
			buf_addf(out, "%c", look_of(attr, pair));
		}
		trim(out);
	}
}

static void
compare(const char *name, const struct size *size, const struct buf *got)
{
	const char *src = getenv("top_srcdir");
	struct buf want = BUF_INIT;
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/screens/golden/%s-%dx%d.screen",
	    src ? src : ".", name, size->columns, size->rows);
	if (getenv("UPDATE"))
		file_replace(path, got->data, got->len, 0644, NULL);
	file_read(path, &want, NULL);
	is(buf_text(got), buf_text(&want), "%s, %dx%d", name, size->columns,
	    size->rows);
	buf_clear(&want);
}

static const char name_of_file[] = "train.yaml";

/* The session of a case, its file beside. */
static void
begin(struct form *f, const struct machine *m, size_t i)
{
	/* Of paths that do not fit, the parts stay whole. */
	static const char deep[] = "./experiments-of-the-language-group/"
	    "large-runs-of-this-year/second-attempt/with-longer-warmup/"
	    "train.yaml";
	static const char draft[] = "accel-setup draft 1\nbase 0\nstep 4\n"
	    "user distributed_type=FSDP\n";

	if (cases[i].how & DEEP)
		file_replace(deep, old_file, strlen(old_file), 0644, NULL);
	if (cases[i].how & FILE_THERE)
		file_replace(name_of_file, old_file, strlen(old_file), 0644,
		    NULL);
	if (cases[i].how & DRAFT_THERE)
		file_replace("train.yaml.draft", draft, strlen(draft), 0600,
		    NULL);
	form_open(f, m, cases[i].how & DEEP ? deep : name_of_file, NULL);
	if (cases[i].how & GPU_80)
		f->site.gpu_memory = 80.0 * (1 << 30);
	if (cases[i].model)
		form_set(f, ITEM_model, cases[i].model, ORIGIN_USER, NULL);
	f->message[0] = '\0';
}

static void
remove_deep(void)
{
	static const char *const parts[] = {
		"train.yaml", "with-longer-warmup", "second-attempt",
		"large-runs-of-this-year", "experiments-of-the-language-group",
	};
	char path[256];

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof path, ".");
		for (size_t k = 5; k-- > i; )
			snprintf(path + strlen(path), sizeof path -
			    strlen(path), "/%s", parts[k]);
		remove(path);
	}
}

static void
show(const struct machine *m, size_t i, const struct size *size)
{
	FILE *out = fopen("/dev/null", "w"), *in = fopen("/dev/null", "r");
	bool colour = cases[i].how & COLOUR;
	SCREEN *terminal = newterm(colour ? "xterm-256color" : "vt100", out,
	    in);
	struct buf got = BUF_INIT, again = BUF_INIT;
	struct form f;
	struct screen s = { .form = &f, .ascii = cases[i].how & ASCII,
	    .color = colour };

	if (!terminal) {
		skip("not in terminfo");
		fclose(out);
		fclose(in);
		return;
	}
	begin(&f, m, i);
	resizeterm(size->rows, size->columns);
	screen_open(&s, NULL);
	screen_setup(&s);
	screen_offer_draft(&s);
	press(&s, cases[i].keys);
	snapshot(&got);
	for (size_t k = 0; k < SIZES; k++) {
		resizeterm(sizes[k].rows, sizes[k].columns);
		screen_draw(&s);
	}
	resizeterm(3, 9);
	screen_draw(&s);
	resizeterm(size->rows, size->columns);
	screen_draw(&s);
	snapshot(&again);
	endwin();
	screen_close(&s);
	delscreen(terminal);
	fclose(out);
	fclose(in);
	compare(cases[i].name, size, &got);
	is(buf_text(&again), buf_text(&got), "the same after other sizes");
	buf_clear(&got);
	buf_clear(&again);
	form_clear(&f);
	unlink(name_of_file);
	unlink("train.yaml.draft");
	if (cases[i].how & DEEP)
		remove_deep();
}

/* Smaller than can be used: one line that says so. */
static void
small(const struct machine *m)
{
	static const struct size least = { 10, 50 };

	show(m, 0, &least);
}

int
main(void)
{
	struct machine gpus, none;
	char path[4096], here[4096], dir[] = "screens-XXXXXX";
	const char *src = getenv("top_srcdir");

	setlocale(LC_CTYPE, "C.UTF-8");
	/* A folder of its own for the files of the cases. */
	if (!realpath(src ? src : ".", path) || !getcwd(here, sizeof here) ||
	    !mkdtemp(dir) || chdir(dir))
		return 1;
	setenv("top_srcdir", path, 1);
	/* As the pictures have it, whoever runs this. */
	setenv("HF_HUB_CACHE", "/root/.cache/huggingface/hub", 1);
	snprintf(here, sizeof here, "%.4000s/tests/machines/two-gpus.xml", path);
	setenv("HWLOC_XMLFILE", here, 1);
	ok(!machine_probe(&gpus, NULL), "a machine");
	unsetenv("HWLOC_XMLFILE");
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	ok(!machine_probe(&none, NULL), "and one without GPUs");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < SIZES; k++)
			show(cases[i].how & NO_GPU ? &none : &gpus, i,
			    &sizes[k]);
	small(&gpus);
	machine_clear(&gpus);
	machine_clear(&none);
	if (chdir("..") || rmdir(dir))
		return 1;
	return tap_done();
}
