/* SPDX-License-Identifier: Apache-2.0 */
/* runtime/base: errors, buffers, numbers, lists, files, near words, patience. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/base/near.h"
#include "runtime/base/num.h"
#include "runtime/base/patience.h"
#include "runtime/base/strv.h"
#include "tests/tap.h"

static void
test_err(void)
{
	struct err	err = ERR_INIT;
	char		longest[2 * sizeof err.text];

	ok(err_set(&err, "%s is not a port", "x") == -1, "err_set returns -1");
	err_at(&err, "%s:%d", "a.yaml", 3);
	is(err.text, "a.yaml:3: x is not a port", "a place goes in front");
	ok(err_set(NULL, "nobody listens") == -1, "an error may be unwanted");
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	err_set(&err, "%s", longest);
	err_at(&err, "%s", longest);
	ok(strlen(err.text) == sizeof err.text - 1, "a long text is cut");
}

static void
test_buf(void)
{
	struct buf	buf = BUF_INIT, small = { .max = 8 };
	char		*text;

	is(buf_text(&buf), "", "an empty buffer is an empty text");
	buf_addf(&buf, "%d-%s", 12, "ab");
	buf_add(&buf, "\0z", 2);
	ok(buf.len == 7 && !memcmp(buf.data, "12-ab\0z", 8), "bytes are kept, with a NUL behind");
	buf_take(&buf, 3);
	is(buf_text(&buf), "ab", "bytes go from the front");
	text = buf_detach(&buf);
	buf_add_word(&buf, "it's $HOME");
	is(buf_text(&buf), "'it'\\''s $HOME'", "a word for a shell, quoted");
	buf_clear(&buf);
	buf_add_word(&buf, "");
	is(buf_text(&buf), "''", "an empty word is a word");
	buf_clear(&buf);
	ok(text && buf.data == NULL, "detached");
	free(text);
	ok(buf_adds(&small, "12345678") == 0, "up to the ceiling");
	ok(buf_adds(&small, "9") == -1 && buf_failed(&small), "not over it");
	ok(buf_detach(&small) == NULL, "what was cut short is not handed out");
	buf_clear(&small);
	ok(!buf_failed(&small) && small.max == 8, "cleared, the ceiling kept");
}

static void
test_num(void)
{
	static const char *const bad[] = { "", " 1", "1 ", "8x", "0x10", "+", "-",
	    "1.0", "99999999999999999999", "70000" };
	long	n = 7;
	double	x;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(num_parse(bad[i], 0, 65535, &n) == -1 && n == 7,
		    "\"%s\" is no port", bad[i]);
	ok(num_parse("65535", 0, 65535, &n) == 0 && n == 65535, "65535 is one");
	ok(num_parse("-3", -5, 5, &n) == 0 && n == -3, "negative numbers");
	ok(num_parse_real("1e-3", 0, 1, &x) == 0 && x == 1e-3, "1e-3");
	ok(num_parse_real("nan", 0, 1, &x) < 0 && num_parse_real("1e999", 0, 1, &x) < 0,
	    "neither nan nor an overflow");
}

static void
test_strv(void)
{
	struct strv v = STRV_INIT;

	strv_add(&v, "AB=1");
	strv_addf(&v, "A=%d", 2);
	strv_setenv(&v, "AB", "3");
	strv_setenv(&v, "C", "");
	is(strv_getenv(&v, "A"), "2", "a name is compared whole");
	is(strv_getenv(&v, "AB"), "3", "a value is replaced");
	is(strv_getenv(&v, "C"), "", "an empty value is a value");
	is(strv_getenv(&v, "D"), NULL, "an absent one is not");
	ok(v.count == 3 && v.item[3] == NULL, "the list ends with NULL");
	strv_clear(&v);
}

static void
test_near(void)
{
	ok(near_enough("num_process", "num_processes"), "two letters short");
	ok(near_enough("mixed-precison", "mixed_precision"), "a hyphen and a letter");
	ok(near_distance("ab", "ba") == 1, "a swap is one");
	ok(near_same("num-Processes", "num_processes") &&
	    !near_same("num", "num_processes") && !near_same("nums", "num"),
	    "the same word in another spelling, and whole");
	ok(!near_enough("bogus_key", "num_processes"), "another word");
}

static void
test_file(void)
{
	char		dir[] = "/tmp/accel-base.XXXXXX", path[64], deep[64], link[64];
	struct buf	buf = BUF_INIT;
	struct err	err = ERR_INIT;
	struct stat	st;

	if (!mkdtemp(dir)) {
		skip("no folder in /tmp");
		return;
	}
	snprintf(path, sizeof path, "%s/a", dir);
	snprintf(deep, sizeof deep, "%s/b/c/d", dir);
	snprintf(link, sizeof link, "%s/link", dir);
	ok(file_replace(path, "one", 3, 0600, &err) == 0, "a new file");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "with its mode");
	chmod(path, 0640);
	ok(symlink(path, link) == 0 && file_replace(link, "two", 3, 0600, &err) == 0,
	    "replaced through a link");
	ok(lstat(link, &st) == 0 && S_ISLNK(st.st_mode), "the link is still one");
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640, "the old mode stays");
	ok(file_read(path, &buf, &err) == 0, "read");
	is(buf_text(&buf), "two", "what was written");
	ok(file_replace(deep, "x", 1, 0600, &err) == 0, "missing folders are made");
	ok(file_replace(dir, "x", 1, 0600, &err) == -1 && err.text[0],
	    "a folder is no file");
	buf_clear(&buf);
	unlink(path), unlink(deep), unlink(link);
	snprintf(deep, sizeof deep, "%s/b/c", dir);
	rmdir(deep);
	deep[strlen(deep) - 2] = '\0';
	rmdir(deep);
	ok(rmdir(dir) == 0, "nothing else was left behind");
}

/* 0 when a wait of 0.7 s, stopped for longer, goes on and then ends. */
static int
stopped_wait(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct patience p;
	pthread_cond_t cond;
	pthread_condattr_t attr;
	int waits = 0;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &attr);
	pthread_mutex_lock(&lock);
	patience_begin(&p, 0.7);
	raise(SIGSTOP);
	while (waits < 1000 && patience_wait(&p, &cond, &lock) != ETIMEDOUT)
		waits++;
	return waits == 0 || waits == 1000;
}

static void
test_patience(void)
{
	const struct timespec pause = { 1, 300000000 };
	struct patience p;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(stopped_wait());
	waitpid(pid, &status, WUNTRACED);
	nanosleep(&pause, NULL);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "who was stopped has not waited meanwhile");
	patience_begin(&p, 0);
	ok(!patience_over(&p), "0 s is no limit");
	patience_begin(&p, 1e-9);
	nanosleep(&(struct timespec){ 0, 1000 }, NULL);
	ok(patience_over(&p), "a ns is soon over");
}

int
main(void)
{
	test_err();
	test_buf();
	test_num();
	test_strv();
	test_near();
	test_file();
	test_patience();
	return tap_done();
}
