/* SPDX-License-Identifier: Apache-2.0 */
/* The real program on a real terminal line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/screens/pty.h"

static char program[4096], dir[] = "pty-XXXXXX", file[64], draft[80];

#define UP	"\033OA"
#define DOWN	"\033OB"
#define CTRL_C	"\003"
#define CTRL_Z	"\032"
#define ESC	"\033"
#define CLICK(at)	"\033[<0;" at "M\033[<0;" at "m"

static void
start(struct terminal *t, const char *kind, const char *option)
{
	char *argv[] = { program, "--config_file", file, (char *)(uintptr_t)
	    option, NULL };

	pty_start(t, kind, 24, 80, argv);
}

/* The first screen, then FSDP as a change. */
static bool
change(struct terminal *t)
{
	return pty_wait(t, 0) && pty_type(t, "4\n4\n") &&
	    pty_shows(t, "> Distributed type       FSDP");
}

static bool
exited(int status, int code)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
		printf("# status %#x\n", (unsigned)status);
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void
session(void)
{
	struct terminal t;
	VTermPos at;

	start(&t, "xterm-256color", NULL);
	ok(pty_wait(&t, 0), "the first screen is drawn");
	ok(pty_shows(&t, "1/6 Start"), "it is Start");
	ok(!pty_restored(&t), "and the terminal is taken");
	ok(pty_press(&t, "4") && pty_shows(&t, "> Distributed type"),
	    "4 goes to the fields");
	at = pty_cursor(&t);
	ok(at.row == 3 && at.col == 1, "the cursor is on the field");
	ok(pty_press(&t, "\t") && pty_shows(&t, "5/6 Checks"), "Tab goes on");
	ok(pty_press(&t, "\033[Z") && pty_shows(&t, "4/6 Strategy"),
	    "Shift-Tab goes back");
	ok(pty_press(&t, "3") && pty_press(&t, DOWN) &&
	    pty_shows(&t, "> Num machines"), "Down moves");
	ok(pty_press(&t, "?") && pty_shows(&t, "Key     num_machines"),
	    "? explains");
	ok(pty_press(&t, ESC) && !strstr(buf_text(&t.seen) + t.seen.len - 20,
	    "Help"), "Esc alone closes it");
	ok(pty_press(&t, "q") && pty_shows(&t, "Unsaved changes"), "q asks");
	ok(pty_write(&t, "s"), "s is pressed");
	ok(exited(pty_finish(&t), 0), "it has ended");
	ok(!access(file, R_OK), "the file is there");
	ok(pty_restored(&t) && pty_left(&t), "and the terminal as before");
	pty_stop(&t);
	unlink(file);
}

/* Enter five times gives a good file. */
static void
enters(void)
{
	struct terminal t;

	start(&t, "xterm-256color", NULL);
	ok(pty_wait(&t, 0) && pty_write(&t, "\r\r\r\r\r"),
	    "Enter five times");
	ok(exited(pty_finish(&t), 0) && !access(file, R_OK),
	    "is a file");
	pty_stop(&t);
	unlink(file);
}

/* Every signal that can be caught. */
static void
signals(void)
{
	static const int asks[] = { SIGHUP, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM,
	    SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,
	    SIGPWR, SIGSYS, SIGTRAP, SIGSTKFLT, SIGSEGV, SIGBUS, SIGFPE,
	    SIGILL, SIGABRT };

	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
		struct terminal t;
		int status;

		start(&t, "xterm-256color", NULL);
		ok(change(&t), "a session with a change");
		kill(t.child, asks[i]);
		status = pty_finish(&t);
		/* A sanitizer makes an exit of a fault. */
		ok((WIFSIGNALED(status) && WTERMSIG(status) == asks[i]) ||
		    (WIFEXITED(status) && WEXITSTATUS(status) &&
		    asks[i] != SIGTERM), "dies of %s", strsignal(asks[i]));
		ok(pty_restored(&t), "the terminal's modes are restored");
		ok(pty_left(&t), "and its screen");
		ok(!access(draft, F_OK), "with a draft left");
		pty_stop(&t);
		unlink(draft);
	}
}

static void
interrupts(void)
{
	struct terminal t;
	size_t from;

	start(&t, "xterm-256color", NULL);
	ok(change(&t) && pty_write(&t, CTRL_C) &&
	    pty_wait_text(&t, 0, "Unsaved changes"), "Ctrl-C asks");
	ok(pty_press(&t, ESC) && pty_press(&t, "u") &&
	    pty_shows(&t, "> Distributed type  MULTI_CPU"),
	    "Esc stays, and all is there");
	pty_press(&t, "U");
	from = t.seen.len;
	pty_write(&t, CTRL_C);
	ok(pty_wait_text(&t, from, "Unsaved changes"), "again");
	pty_write(&t, CTRL_C);
	ok(exited(pty_finish(&t), 0), "the second one leaves");
	ok(pty_restored(&t) && pty_left(&t), "with the terminal as before");
	ok(!access(draft, F_OK), "and a draft");
	pty_stop(&t);
	unlink(draft);
}

static void
killed(void)
{
	struct terminal t;
	struct stat st;

	start(&t, "xterm-256color", NULL);
	ok(change(&t), "a change");
	kill(t.child, SIGKILL);
	pty_finish(&t);
	ok(!stat(draft, &st) && (st.st_mode & 0777) == 0600,
	    "survives kill -9, for its user alone");
	pty_stop(&t);
	start(&t, "xterm-256color", NULL);
	ok(pty_wait(&t, 0) && pty_shows(&t, "A draft is there") &&
	    pty_shows(&t, "+distributed_type: FSDP"), "the next start has it");
	ok(pty_press(&t, "\r") && pty_press(&t, "4") && pty_shows(&t,
	    "> Distributed type       FSDP"), "Enter takes it");
	ok(pty_type(&t, "s") && pty_shows(&t, "Save this?") &&
	    pty_press(&t, "\r") && pty_shows(&t, "Written:"), "it is saved");
	ok(access(draft, F_OK) && errno == ENOENT, "and then gone");
	ok(pty_write(&t, "q") && exited(pty_finish(&t), 0), "q leaves");
	pty_stop(&t);
	unlink(file);
}

/* A shell's part: a job in front, stopped and taken up again. */
static void
job(int report, int command, char *const argv[])
{
	pid_t child;
	int status;
	char byte;

	signal(SIGTTOU, SIG_IGN);
	if (!(child = fork())) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
		signal(SIGTTOU, SIG_DFL);
		execv(argv[0], argv);
		_exit(127);
	}
	setpgid(child, child);
	tcsetpgrp(0, child);
	while (waitpid(child, &status, WUNTRACED) == child) {
		if (!WIFSTOPPED(status))
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 126);
		if (write(report, "S", 1) != 1 || read(command, &byte, 1) != 1)
			_exit(125);
		tcsetpgrp(0, child);
		kill(-child, SIGCONT);
	}
	_exit(124);
}

static void
suspend(const char *self)
{
	struct terminal t;
	int report[2], command[2];
	char a[16], b[16], byte = 0;
	char *argv[] = { (char *)(uintptr_t)self, "job", a, b, program,
	    "--config_file", file, NULL };
	struct pollfd p;
	size_t from;

	if (pipe(report) || pipe(command))
		return;
	fcntl(report[0], F_SETFD, FD_CLOEXEC);
	fcntl(command[1], F_SETFD, FD_CLOEXEC);
	snprintf(a, sizeof a, "%d", report[1]);
	snprintf(b, sizeof b, "%d", command[0]);
	pty_start(&t, "xterm-256color", 24, 80, argv);
	close(report[1]);
	close(command[0]);
	ok(change(&t) && pty_write(&t, CTRL_Z), "Ctrl-Z");
	p = (struct pollfd){ .fd = report[0], .events = POLLIN };
	ok(poll(&p, 1, LIMIT_MS) == 1 && read(report[0], &byte, 1) == 1 &&
	    byte == 'S', "stops it");
	ok(pty_restored(&t), "with the terminal as before");
	from = t.seen.len;
	ok(write(command[1], "C", 1) == 1 && pty_wait_text(&t, from,
	    "\033[?1049h") && pty_press(&t, DOWN) &&
	    pty_shows(&t, "> Version"), "and in front it goes on");
	ok(pty_shows(&t, "Distributed type       FSDP"), "with its screen");
	ok(!pty_restored(&t), "and the terminal is taken again");
	pty_press(&t, "q");
	pty_write(&t, "q");
	ok(exited(pty_finish(&t), 0) && pty_restored(&t) && pty_left(&t),
	    "it leaves as ever");
	pty_stop(&t);
	close(report[0]);
	close(command[1]);
	unlink(draft);
}

static void
resizes(void)
{
	struct terminal t;

	start(&t, "xterm-256color", NULL);
	ok(change(&t) && pty_shows(&t, "* distributed_type: FSDP"),
	    "fields and file side by side");
	pty_resize(&t, 16, 60);
	ok(pty_press(&t, DOWN) && pty_shows(&t, "> Version") &&
	    !pty_last(buf_text(&t.seen) + t.seen.len - 400, "* distributed"),
	    "at 60x16 the fields alone");
	ok(pty_press(&t, "7") && pty_shows(&t, "* distributed_type: FSDP"),
	    "and the file as a page");
	pty_resize(&t, 100, 300);
	ok(pty_press(&t, DOWN) && pty_shows(&t, "Sync module states"),
	    "300x100 is used");
	pty_resize(&t, 3, 9);
	ok(pty_press(&t, UP) && pty_shows(&t, "This"),
	    "too small is said");
	pty_resize(&t, 24, 80);
	ok(pty_press(&t, UP) && pty_shows(&t, "> Distributed type       FSDP"),
	    "and back, as it was");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
	unlink(draft);
}

static void
mouse(void)
{
	struct terminal t;

	start(&t, "xterm-256color", NULL);
	ok(change(&t), "FSDP's fields");
	ok(strstr(buf_text(&t.seen), "\033[?1006;1000h"),
	    "the mouse is asked for");
	ok(pty_press(&t, CLICK("5;7")) && pty_shows(&t,
	    "> Reshard after forward"), "a click selects");
	ok(pty_press(&t, CLICK("30;8")) && pty_shows(&t,
	    "> Offload params         [x]         *"), "on the mark it changes");
	ok(pty_press(&t, "\033[<65;5;5M") && pty_shows(&t,
	    "> Auto wrap policy"), "the wheel moves");
	ok(pty_press(&t, "\033[<64;5;5M") && pty_shows(&t,
	    "> Offload params"), "both ways");
	ok(pty_press(&t, CLICK("18;24")) && pty_shows(&t, "5/6 Checks"),
	    "a label of the last line is a button");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	ok(pty_left(&t), "and the mouse is given back");
	pty_stop(&t);
	unlink(draft);
	start(&t, "xterm-256color", "--no-mouse");
	ok(pty_wait(&t, 0) && !strstr(buf_text(&t.seen), "1000h"),
	    "--no-mouse does not ask");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
}

/* The line is gone: nothing to restore, but an end. */
static void
hangup(void)
{
	struct terminal t;
	int status = 0;

	start(&t, "xterm-256color", NULL);
	ok(change(&t), "a change");
	vterm_free(t.vt);
	close(t.master);
	close(t.slave);
	for (int i = 0; i < LIMIT_MS / 10 && !waitpid(t.child, &status,
	    WNOHANG); i++)
		poll(NULL, 0, 10);
	ok(WIFSIGNALED(status) || WEXITSTATUS(status), "a hangup ends it");
	ok(!access(draft, F_OK), "with a draft left");
	buf_clear(&t.seen);
	unlink(draft);
}

/* The sequences that choose a colour: ESC [ 3x, 4x, 9x or 10x m. */
static bool
coloured(const struct terminal *t)
{
	for (const char *p = buf_text(&t->seen); (p = strstr(p, "\033[")); ) {
		const char *end = p + 2 + strspn(p + 2, "0123456789;");

		for (p += 2; *end == 'm' && p < end; p += strcspn(p, ";m") + 1) {
			long n = strtol(p, NULL, 10);

			if ((n >= 30 && n < 49 && n != 39) || n >= 90)
				return true;
		}
	}
	return false;
}

/* Draws two steps, and leaves; true where there were colours. */
static bool
uses_colour(const char *kind, const char *option)
{
	struct terminal t;
	bool colour;

	start(&t, kind, option);
	ok(change(&t), "two screens on %s", kind);
	colour = coloured(&t);
	kill(t.child, SIGTERM);
	pty_finish(&t);
	ok(pty_restored(&t) && pty_left(&t), "and it is given back");
	pty_stop(&t);
	unlink(draft);
	return colour;
}

static void
kinds(void)
{
	unsetenv("NO_COLOR");
	ok(uses_colour("xterm-256color", NULL), "there are colours");
	ok(uses_colour("screen-256color", NULL), "in tmux too");
	ok(!uses_colour("xterm-256color", "--no-color"), "not with --no-color");
	ok(!uses_colour("vt100", NULL), "nor where there are none");
	setenv("NO_COLOR", "1", 1);
	ok(!uses_colour("xterm-256color", NULL), "nor with NO_COLOR");
	setenv("NO_COLOR", "", 1);
	ok(uses_colour("xterm-256color", NULL), "an empty one says nothing");
}

/* What a slow line has to carry, in bytes. */
static void
budget(void)
{
	static const struct { const char *key, *what; size_t most; } keys[] = {
		{ DOWN, "Down", 400 }, { UP, "Up", 400 },
		{ " ", "a change", 500 }, { "u", "undo", 500 },
		{ "?", "help", 2000 }, { ESC, "and away", 1500 },
		{ "\t", "another step", 900 }, { "u", "nothing", 300 },
	};
	struct terminal t;
	size_t before;

	start(&t, "xterm-256color", NULL);
	ok(change(&t) && pty_press(&t, DOWN) && pty_press(&t, DOWN) &&
	    pty_press(&t, DOWN), "in the middle of a step");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		before = t.seen.len;
		ok(pty_press(&t, keys[i].key) && t.seen.len - before <=
		    keys[i].most, "%s: %zu of %zu bytes", keys[i].what,
		    t.seen.len - before, keys[i].most);
	}
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
	unlink(draft);
}

/* More than ASCII, typed and shown. */
static void
letters(void)
{
	struct terminal t;

	setenv("LC_ALL", "C.UTF-8", 1);
	start(&t, "xterm-256color", NULL);
	ok(pty_wait(&t, 0) && pty_type(&t, "3\r") && pty_press(&t, "é") &&
	    pty_type(&t, "1") && pty_press(&t, "\177") &&
	    pty_press(&t, "\177") && pty_type(&t, "7B\r") &&
	    pty_shows(&t, "> Model            7B"),
	    "a character is taken back whole");
	ok(pty_shows(&t, "GiB"), "and the memory of 7B is told");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
	unlink(draft);
	start(&t, "xterm-256color", "--ascii");
	ok(pty_wait(&t, 0) && pty_shows(&t, "----+----"), "--ascii");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
}

/* Waits until something is on the screen, which comes without a key. */
static bool
comes(struct terminal *t, const char *text)
{
	struct buf all = BUF_INIT;
	bool there = false;

	do {
		buf_clear(&all);
		pty_text(t, &all);
		there = strstr(buf_text(&all), text) != NULL;
	} while (!there && pty_read(t));
	buf_clear(&all);
	return there;
}

/* The test run of Checks, while the screen goes on. */
static void
trial(void)
{
	struct terminal t;

	start(&t, "xterm-256color", NULL);
	ok(pty_wait(&t, 0) && pty_press(&t, "5") && pty_press(&t, "t") &&
	    pty_shows(&t, "Test run: 0 s"), "t tests what is set");
	ok(pty_press(&t, "6") && pty_shows(&t, "6/6 Review") &&
	    pty_press(&t, "5"), "and the screen goes on");
	ok(comes(&t, "Test run: passed"), "until it has passed");
	ok(pty_press(&t, "t") && pty_press(&t, "T") &&
	    !strstr(buf_text(&t.seen) + t.seen.len - 10, "Test run"),
	    "T stops another");
	pty_press(&t, "t");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	ok(pty_restored(&t), "and an end in the middle is an end");
	pty_stop(&t);
}

/* A Python that takes its time does not keep the first screen. */
static void
late(void)
{
	static const char said[] = "/x/python\n3.99.1\n2.99\n\n";
	char *argv[] = { program, "--config_file", file, NULL };
	char script[80], answers[80], text[400], *path = getenv("PATH");
	struct terminal t;
	FILE *out;
	int fd;

	snprintf(script, sizeof script, "%s/python3", dir);
	snprintf(answers, sizeof answers, "%s/answers", dir);
	out = fopen(script, "w");
	if (!out || mkfifo(answers, 0600))
		return;
	fprintf(out, "#!/bin/sh\nexec cat '%s'\n", answers);
	fclose(out);
	chmod(script, 0755);
	snprintf(text, sizeof text, "%s:%.300s", dir, path ? path : "");
	setenv("PATH", text, 1);
	unsetenv("HWLOC_SYNTHETIC");
	pty_start(&t, "xterm-256color", 100, 120, argv);
	ok(pty_wait(&t, 0) && pty_shows(&t, "python   being asked"),
	    "the first screen is there before Python has answered");
	ok(pty_press(&t, "4") && pty_shows(&t, "> Distributed type") &&
	    pty_press(&t, "1"), "and is used");
	/* Until its reader has opened it; never for ever. */
	for (int i = 0; (fd = open(answers, O_WRONLY | O_NONBLOCK)) < 0 &&
	    i < LIMIT_MS / 10; i++)
		poll(NULL, 0, 10);
	ok(fd >= 0 && write(fd, said, strlen(said)) == (ssize_t)strlen(said),
	    "then it answers");
	close(fd);
	ok(comes(&t, "python   3.99.1, /x/python") &&
	    comes(&t, "torch    2.99"), "and is told without a key");
	kill(t.child, SIGTERM);
	pty_finish(&t);
	pty_stop(&t);
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	unlink(script);
	unlink(answers);
}

int
main(int argc, char **argv)
{
	const char *build = getenv("top_builddir");

	if (argc > 4 && !strcmp(argv[1], "job"))
		job((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL,
		    10), argv + 4);
	snprintf(program, sizeof program, "%s/accel-setup",
	    build ? build : ".");
	setenv("HWLOC_SYNTHETIC", "package:2 numa:1 core:4 pu:1", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	ok(mkdtemp(dir) != NULL, "a folder");
	snprintf(file, sizeof file, "%s/c.yaml", dir);
	snprintf(draft, sizeof draft, "%s.draft", file);
	session();
	enters();
	signals();
	interrupts();
	killed();
	suspend(argv[0]);
	resizes();
	mouse();
	hangup();
	kinds();
	budget();
	letters();
	trial();
	late();
	rmdir(dir);
	return tap_done();
}
