/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runpty: real runs on the launch screen, on a terminal of its own.  A wait is
 * for what stands on the screen, looked at when the program says that it has
 * drawn (ACCEL_TEST_SYNC); ranks wait for files.  Nothing sleeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>

#include "runtime/base/buf.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "tests/tap.h"

enum { LIMIT_MS = 60000, ROWS = 24, COLUMNS = 80 };

struct terminal {
	int		 master, slave, rows, columns;
	pid_t		 child;
	VTerm		*vt;
	struct buf	 seen;		/* since the last wait */
	struct buf	 all;
	struct termios	 before;
};

static char accel[4096], folder[] = "runpty-XXXXXX", home[4096];

static void
begin(struct terminal *t, char *const argv[])
{
	struct winsize size = { .ws_row = ROWS, .ws_col = COLUMNS };

	memset(t, 0, sizeof *t);
	t->rows = ROWS;
	t->columns = COLUMNS;
	openpty(&t->master, &t->slave, NULL, NULL, &size);
	tcgetattr(t->slave, &t->before);
	t->vt = vterm_new(ROWS, COLUMNS);
	vterm_set_utf8(t->vt, 1);
	vterm_screen_enable_altscreen(vterm_obtain_screen(t->vt), 1);
	vterm_screen_reset(vterm_obtain_screen(t->vt), 1);
	fflush(NULL);
	if ((t->child = fork()))
		return;
	login_tty(dup(t->slave));
	/* Ignored where make runs in the background. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	setenv("TERM", "xterm-256color", 1);
	setenv("ACCEL_TEST_SYNC", "1", 1);
	unsetenv("ACCESSIBLE");
	execvp(argv[0], argv);
	_exit(127);
}

/* What stands there, a line a row. */
static void
picture(struct terminal *t, struct buf *out)
{
	VTermScreen *s = vterm_obtain_screen(t->vt);

	buf_clear(out);
	for (int y = 0; y < t->rows; y++) {
		for (int x = 0; x < t->columns; x++) {
			VTermScreenCell c;

			vterm_screen_get_cell(s, (VTermPos){ y, x }, &c);
			buf_addf(out, "%c", c.chars[0] >= ' ' &&
			    c.chars[0] < 127 ? (char)c.chars[0] :
			    c.chars[0] && c.chars[0] != (uint32_t)-1 ? '#' :
			    ' ');
		}
		buf_adds(out, "\n");
	}
}

/* Reads what comes; false where nothing does for too long, or it ended. */
static bool
listen_to(struct terminal *t, int ms)
{
	struct pollfd	p = { .fd = t->master, .events = POLLIN };
	char		bytes[4096];
	ssize_t		n;

	if (poll(&p, 1, ms) <= 0)
		return false;
	n = read(t->master, bytes, sizeof bytes);
	if (n <= 0)
		return false;
	vterm_input_write(t->vt, bytes, (size_t)n);
	buf_add(&t->seen, bytes, (size_t)n);
	buf_add(&t->all, bytes, (size_t)n);
	return true;
}

/* Until that stands on a screen that is drawn to its end. */
static bool
shows(struct terminal *t, const char *text)
{
	int64_t		limit = clock_ms() + LIMIT_MS;
	struct buf	now = BUF_INIT;
	bool		found = false;

	while (!found && clock_ms() < limit) {
		picture(t, &now);
		found = strstr(buf_text(&now), text) != NULL;
		if (!found && !listen_to(t, 1000) && errno == EIO)
			break;
	}
	for (char *l = now.data, *e; !found && l && (e = strchr(l, '\n'));
	    l = e + 1)
		printf("# %.*s\n", (int)(e - l), l);
	buf_clear(&now);
	return found;
}

static void
type(struct terminal *t, const char *keys)
{
	ok(write(t->master, keys, strlen(keys)) == (ssize_t)strlen(keys),
	    "typed: %s", *keys < ' ' ? "a control character" : keys);
}

/* Reads to its end. */
static int
finish(struct terminal *t)
{
	int64_t	limit = clock_ms() + LIMIT_MS;
	int	status = -1;

	while (waitpid(t->child, &status, WNOHANG) == 0 && clock_ms() < limit)
		listen_to(t, 10);
	if (clock_ms() >= limit)
		kill(t->child, SIGKILL);
	while (listen_to(t, 0))
		;
	return status;
}

static bool
restored(const struct terminal *t)
{
	struct termios now;

	tcgetattr(t->slave, &now);
	return now.c_lflag == t->before.c_lflag &&
	    now.c_iflag == t->before.c_iflag &&
	    now.c_oflag == t->before.c_oflag;
}

static void
end(struct terminal *t)
{
	close(t->master);
	close(t->slave);
	vterm_free(t->vt);
	buf_clear(&t->seen);
	buf_clear(&t->all);
}

static void
touch(const char *name)
{
	char path[4200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	close(open(path, O_CREAT | O_WRONLY, 0644));
}

static void
forget(const char *name)
{
	char path[4200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
}

/* The number that a rank left in a file, when it is there. */
static pid_t
pid_in(const char *name)
{
	int64_t		limit = clock_ms() + LIMIT_MS;
	char		path[4200];
	struct buf	text = BUF_INIT;
	pid_t		pid = 0;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	while (!pid && clock_ms() < limit) {
		buf_clear(&text);
		if (file_read(path, &text, NULL) == 0 && text.len &&
		    text.data[text.len - 1] == '\n')
			pid = (pid_t)strtol(text.data, NULL, 10);
		else
			poll(NULL, 0, 10);
	}
	buf_clear(&text);
	return pid;
}

static char
state_of(pid_t pid)
{
	char		path[64], state = '?';
	struct buf	text = BUF_INIT;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	if (file_read(path, &text, NULL) < 0)
		state = 0;
	else if (text.len && strrchr(text.data, ')'))
		state = strrchr(text.data, ')')[2];
	buf_clear(&text);
	return state;
}

/* Until the process is in that state; 0: gone. */
static bool
becomes(struct terminal *t, pid_t pid, char state)
{
	int64_t limit = clock_ms() + LIMIT_MS;
	char	now;

	while ((now = state_of(pid)) != state && !(state == 0 && now == 'Z') &&
	    clock_ms() < limit)
		listen_to(t, 10);
	return now == state || (state == 0 && now == 'Z');
}

static void
write_script(void)
{
	static const char text[] = "#!/bin/sh\n"
	    "cd \"${0%/*}\"\n"
	    "echo $$ >pid$RANK.tmp; mv pid$RANK.tmp pid$RANK\n"
	    "echo \"rank $RANK is here, loss=0.5\"\n"
	    "while [ ! -e end ]; do\n"
	    "	if [ -e fail ] && [ $RANK = 1 ]; then\n"
	    "		echo \"no luck today\" >&2; exit 3\n"
	    "	fi\n"
	    "	sleep 0.05\n"
	    "done\n";
	char path[4200];

	snprintf(path, sizeof path, "%s/rank.sh", folder);
	ok(!file_replace(path, text, sizeof text - 1, 0755, NULL),
	    "a script");
}

/* Two ranks of it. */
static void
run(struct terminal *t)
{
	static char script[4200];
	char *const argv[] = { accel, (char []){ "launch" },
	    (char []){ "--view" }, (char []){ "screen" }, (char []){ "--cpu" },
	    (char []){ "--grace" }, (char []){ "1" },
	    (char []){ "--num_processes" }, (char []){ "2" },
	    (char []){ "--no_python" }, script, NULL };

	snprintf(script, sizeof script, "%s/rank.sh", folder);
	forget("pid0");
	forget("pid1");
	begin(t, argv);
}

static void
test_life(void)
{
	struct terminal	t;
	struct winsize	small = { .ws_row = 16, .ws_col = 60 };
	pid_t		first;
	int		status;

	run(&t);
	ok(shows(&t, "2 running"), "two ranks run");
	ok(shows(&t, "rank 0 is here") && shows(&t, "rank 1 is here"),
	    "their output is there");
	ok(shows(&t, "loss 0.5000"), "and their loss");
	ok(!restored(&t), "the terminal is ours");
	type(&t, "s");
	ok(shows(&t, "Stop the run?"), "s asks");
	type(&t, "n");
	ok(shows(&t, "s stop"), "no is an answer");
	type(&t, "\003");
	ok(shows(&t, "Stop the run?"), "so does ^C");
	type(&t, "y");
	ok(shows(&t, " stopped  "), "and y stops it");
	forget("pid0");
	forget("pid1");
	type(&t, "r");
	ok(shows(&t, "2 running"), "r starts it again");
	first = pid_in("pid1");
	ok(first > 0, "really");
	forget("pid0");
	forget("pid1");
	type(&t, "r");
	ok(shows(&t, "start it again?"), "while it runs, r asks");
	type(&t, "y");
	ok(pid_in("pid1") > 0 && becomes(&t, first, 0) &&
	    shows(&t, "2 running"), "stops it, and starts it again");

	ioctl(t.slave, TIOCSWINSZ, &small);
	vterm_set_size(t.vt, small.ws_row, small.ws_col);
	t.rows = small.ws_row;
	t.columns = small.ws_col;
	kill(t.child, SIGWINCH);
	type(&t, "?");
	ok(shows(&t, "any other key closes") && shows(&t, "s, Ctrl-C"),
	    "in a smaller terminal there are keys");
	type(&t, "x");

	touch("fail");
	ok(shows(&t, "! rank 1 failed on localhost: exit code 3"),
	    "a failure stands on top");
	ok(shows(&t, "no luck today"), "with its last line");
	ok(shows(&t, "failed: exit code 3"), "the run failed");
	type(&t, "q");
	status = finish(&t);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 3,
	    "the exit code is the run's");
	ok(restored(&t), "the terminal is as before");
	ok(strstr(buf_text(&t.all), "accel: rank 1 failed on localhost") &&
	    strstr(buf_text(&t.all), "    no luck today"),
	    "and has the closing block");
	ok(strstr(buf_text(&t.all), "its record is"), "with the record");
	end(&t);
	forget("fail");

	run(&t);
	ok(shows(&t, "2 running"), "once more");
	touch("end");
	ok(shows(&t, "ended well"), "it ends well");
	type(&t, "q");
	status = finish(&t);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "which is no error");
	end(&t);
	forget("end");
}

static void
test_leave(void)
{
	struct terminal	t;
	int		status;

	run(&t);
	ok(shows(&t, "2 running"), "a run");
	type(&t, "q");
	ok(shows(&t, "y stops it and leaves"), "q asks");
	type(&t, "y");
	status = finish(&t);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 130, "and stops it");
	ok(restored(&t), "the terminal is as before");
	end(&t);
}

static void
test_signals(void)
{
	static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct terminal	 t;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		pid_t	pid;
		int	status;

		run(&t);
		ok(shows(&t, "2 running"), "a run");
		pid = pid_in("pid0");
		kill(t.child, signals[i]);
		status = finish(&t);
		ok(WIFEXITED(status) &&
		    WEXITSTATUS(status) == 128 + signals[i],
		    "signal %d ends it, as its launcher", signals[i]);
		ok(restored(&t), "the terminal is as before");
		ok(becomes(&t, pid, 0), "and no rank is left");
		end(&t);
	}
	run(&t);
	ok(shows(&t, "2 running"), "a run");
	kill(t.child, SIGKILL);
	ok(becomes(&t, pid_in("pid0"), 0) && becomes(&t, pid_in("pid1"), 0),
	    "without its screen it ends");
	finish(&t);
	end(&t);
}

/* ^Z, as the shell of a terminal sees it. */
static void
test_suspend(void)
{
	struct terminal	t;
	char		line[9000];
	char *const	argv[] = { (char []){ "sh" }, (char []){ "-mc" }, line,
	    NULL };
	pid_t		pid;
	int		status;

	snprintf(line, sizeof line, "%s launch --view screen --cpu "
	    "--num_processes 2 --no_python %s/rank.sh; echo \"stopped: $?\"; "
	    "while [ ! -e %s/back ]; do sleep 0.05; done; fg", accel, folder,
	    folder);
	forget("pid0");
	begin(&t, argv);
	ok(shows(&t, "2 running"), "a run below a shell");
	pid = pid_in("pid0");
	type(&t, "\032");
	ok(shows(&t, "stopped: 1"), "^Z gives the terminal to the shell");
	ok(restored(&t), "as it was");
	ok(becomes(&t, pid, 'T'), "and ranks stand still");
	touch("back");
	ok(shows(&t, "2 running"), "fg brings the screen back");
	ok(becomes(&t, pid, 'S'), "and ranks go on");
	touch("end");
	ok(shows(&t, "ended well"), "to their end");
	type(&t, "q");
	status = finish(&t);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "which is well");
	end(&t);
	forget("end");
	forget("back");
}

/* From the wizard: it writes the file, and the run takes its place. */
static void
test_wizard(void)
{
	static char	 setup[4200], file[4200], script[4200];
	char *const	 argv[] = { setup, (char []){ "--config_file" }, file,
	    (char []){ "--set" }, (char []){ "num_processes=2" },
	    (char []){ "--set" }, (char []){ "use_cpu=true" },
	    (char []){ "--launch" }, (char []){ "--no_python" }, script, NULL };
	struct terminal	 t;
	int		 status;

	snprintf(setup, sizeof setup, "%s-setup", accel);
	snprintf(file, sizeof file, "%s/c.yaml", folder);
	snprintf(script, sizeof script, "%s/rank.sh", folder);
	begin(&t, argv);
	ok(shows(&t, "1/6 Start"), "the wizard");
	type(&t, "L");
	ok(shows(&t, "Save this?"), "L shows what it would write");
	type(&t, "s");
	ok(shows(&t, "2 running"), "and launches");
	touch("end");
	ok(shows(&t, "ended well"), "to its end");
	type(&t, "q");
	status = finish(&t);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "with the run's exit code");
	ok(restored(&t), "and the terminal as before");
	end(&t);
	forget("end");
}

/* Each host's agent runs here. */
static void
test_hosts(void)
{
	static const int counts[] = { 2, 64, 512 };

	setenv("ACCEL_TEST_TRANSPORT", "exec", 1);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct buf	names = BUF_INIT;
		char		want[80];
		char *const	argv[] = { accel, (char []){ "run" },
		    (char []){ "--view=screen" }, (char []){ "--hosts" },
		    NULL, (char []){ "sh" }, (char []){ "-c" },
		    (char []){ "echo here; echo me $ACCEL_HOST_RANK" }, NULL };
		char		*all[sizeof argv / sizeof *argv];
		struct terminal	 t;
		int		 status;

		for (int h = 0; h < counts[i]; h++)
			buf_addf(&names, "%sfake%d", h ? "," : "", h);
		memcpy(all, argv, sizeof all);
		all[4] = names.data;
		begin(&t, all);
		ok(shows(&t, "ended well"), "%d hosts", counts[i]);
		snprintf(want, sizeof want, "%d hosts, %d ranks", counts[i],
		    counts[i]);
		ok(shows(&t, want), "are there");
		type(&t, "g");
		ok(shows(&t, "here"), "with what they said");
		type(&t, "q");
		status = finish(&t);
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		    "and end");
		if (status)
			printf("# status %x: %s\n", (unsigned)status,
			    t.all.len > 600 ? t.all.data + t.all.len - 600 :
			    "");
		buf_clear(&names);
		end(&t);
	}
	unsetenv("ACCEL_TEST_TRANSPORT");
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

int
main(void)
{
	const char	*build = getenv("top_builddir");
	char		 cwd[2048];

	ok(getcwd(cwd, sizeof cwd) && mkdtemp(folder), "a folder");
	snprintf(accel, sizeof accel, "%s%s%s/accel", build && *build == '/' ?
	    "" : cwd, build && *build == '/' ? "" : "/", build ? build : ".");
	snprintf(home, sizeof home, "%s/%s/state", cwd, folder);
	setenv("XDG_STATE_HOME", home, 1);
	snprintf(home, sizeof home, "%s/%s/hf", cwd, folder);
	setenv("HF_HOME", home, 1);
	setenv("HWLOC_SYNTHETIC", "package:1 core:2 pu:1", 1);
	unsetenv("NO_COLOR");
	write_script();
	test_life();
	test_leave();
	test_signals();
	test_suspend();
	test_wizard();
	test_hosts();
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
