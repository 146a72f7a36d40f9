/* SPDX-License-Identifier: Apache-2.0 */
/* track: what trackers write, and that a failing one ends nothing. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/train/accel.h"
#include "runtime/train/track.h"

#include "tests/tap.h"
#include "tests/train/folder.h"

/* The file, with each line's time replaced by T and the pid by P. */
static const char *
lines_of(const char *name)
{
	static struct buf out;
	struct buf in = BUF_INIT;
	const char *p;

	out.len = 0;
	file_read(in_folder(name), &in, NULL);
	for (p = buf_text(&in); *p != '\0';) {
		static const char *const hide[] = { "\"time\":", "\"pid\":" };
		int found = -1;

		for (int i = 0; i < 2; i++)
			if (strncmp(p, hide[i], strlen(hide[i])) == 0)
				found = i;
		if (found < 0) {
			buf_add(&out, p++, 1);
			continue;
		}
		p += strlen(hide[found]);
		buf_addf(&out, "%s%c", hide[found], found ? 'P' : 'T');
		p += strspn(p, "0123456789.");
	}
	buf_clear(&in);
	return buf_text(&out);
}

static void
numbers(void)
{
	static const struct {
		double		 value;
		const char	*text;
	} row[] = {
		{ 0.5, "0.5" }, { 0.1, "0.1" }, { 1e300, "1e+300" },
		{ 1.0 / 3, "0.3333333333333333" }, { -0.0, "-0" },
		{ 123456789, "123456789" }, { 5e-324, "4.94066e-324" },
	};
	char text[TRACK_NUMBER];

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		track_number(row[i].value, text);
		is(text, row[i].text, "%s is written as short as it can be",
		    row[i].text);
	}
}

static void
checksums(void)
{
	enum { N = 200000 };
	unsigned char *data = malloc(N);
	int same = 1;

	ok(crc32c(0, "123456789", 9) == 0xe3069283u &&
	    crc32c_plain(0, "123456789", 9) == 0xe3069283u,
	    "CRC32C of 123456789 is the RFC's");
	for (int i = 0; i < N; i++)
		data[i] = (unsigned char)(i * 7 + i / 251);
	for (size_t n = N; n > 0; n = n * 2 / 3)
		same &= crc32c(7, data + N - n, n) ==
		    crc32c_plain(7, data + N - n, n);
	ok(same, "three side by side are joined as one after the other");
	ok(crc32c(crc32c(0, data, 1000), data + 1000, N - 1000) ==
	    crc32c(0, data, N), "in parts as in one");
	free(data);
}

static accel_status
refuse(void *user, int64_t step, const char *key, double value)
{
	(void)key;
	*(double *)user += value;
	return step == 2 ? ACCEL_EIO : ACCEL_OK;
}

static int closes;

static accel_status
closed(void *user)
{
	(void)user;
	closes++;
	return ACCEL_OK;
}

static float w[4], g[4];

static accel_status
backward(void *user)
{
	(void)user;
	g[0] = 1;
	return ACCEL_OK;
}

static void
lines(void)
{
	static const accel_tracker mine = { NULL, refuse, closed };
	accel_tensor t = { "w", w, g, ACCEL_F32, 0, 1, { 4 } };
	accel_sgd_args sgd = { 0.1, 0, 0, 0, 0 };
	double sum = 0;
	int64_t index[2];
	int rows;
	accel_loader *l;
	accel *a;

	setenv("ACCEL_TRACK", in_folder("view/events"), 1);
	ok(accel_init(NULL, &a) == ACCEL_OK, "ACCEL_TRACK is opened");
	unsetenv("ACCEL_TRACK");
	ok(accel_track(a, "csv", in_folder("a/b.csv"), 0) == ACCEL_OK,
	    "a tracker makes the folder of its file");
	accel_track_with(a, &mine, &sum, 0);
	accel_log_config(a, "lr", "a \"b\"\n\xff,c");
	accel_log(a, 1, "loss", 0.25);
	accel_log(a, 2, "loss", NAN);
	accel_log(a, 2, "\xc3\xa9", 1e-7);
	accel_log(a, 3, "x,y", 4);
	ok(accel_log(a, 1, "a\nb", 0) == ACCEL_EINVAL &&
	    accel_log(a, 1, "", 0) == ACCEL_EINVAL, "bad keys are refused");
	ok(accel_track(a, "wandb", "x", 0) == ACCEL_EINVAL &&
	    strstr(accel_errmsg(), "jsonl, csv, tensorboard or mlflow"),
	    "an unknown kind is refused with those that are known");
	ok(accel_track(a, "csv", folder, 0) == ACCEL_EIO &&
	    strstr(accel_errmsg(), folder), "a file that does not open is an "
	    "error that names it");
	accel_unit(a, "u", &t, 1, NULL);
	accel_prepare(a, 0);
	accel_loader_new(a, 4, 2, 0, 0, &l);
	accel_next(l, index, &rows);
	accel_backward(a, backward, NULL);
	ok(accel_step(a, accel_sgd, &sgd) == ACCEL_OK, "a step");
	accel_loader_free(l);
	ok(accel_fini(a) == ACCEL_OK, "the end");
	is(lines_of("view/events"),
	    "{\"v\":1,\"event\":\"start\",\"time\":T,\"rank\":0,\"world\":1,"
	    "\"pid\":P}\n"
	    "{\"v\":1,\"event\":\"config\",\"time\":T,\"rank\":0,\"key\":"
	    "\"lr\",\"value\":\"a \\\"b\\\"\\u000a\\ufffd,c\"}\n"
	    "{\"v\":1,\"event\":\"log\",\"time\":T,\"rank\":0,\"step\":1,"
	    "\"key\":\"loss\",\"value\":0.25}\n"
	    "{\"v\":1,\"event\":\"log\",\"time\":T,\"rank\":0,\"step\":2,"
	    "\"key\":\"loss\",\"value\":\"nan\"}\n"
	    "{\"v\":1,\"event\":\"log\",\"time\":T,\"rank\":0,\"step\":2,"
	    "\"key\":\"\xc3\xa9\",\"value\":1e-07}\n"
	    "{\"v\":1,\"event\":\"log\",\"time\":T,\"rank\":0,\"step\":3,"
	    "\"key\":\"x,y\",\"value\":4}\n"
	    "{\"v\":1,\"event\":\"step\",\"time\":T,\"rank\":0,\"step\":1,"
	    "\"samples\":2}\n"
	    "{\"v\":1,\"event\":\"end\",\"time\":T,\"rank\":0,\"step\":1,"
	    "\"samples\":2}\n", "the event lines are those of track.h");
	ok(strstr(lines_of("a/b.csv"), ",0,3,\"x,y\",4\r\n") != NULL &&
	    strstr(lines_of("a/b.csv"), ",0,,lr,\"a \"\"b\"\"\n\xff,c\"\r\n"),
	    "CSV quotes as RFC 4180");
	fflush(stderr);
	ok(isnan(sum) && closes == 1 &&
	    strstr(lines_of("err"), "accel: tracker function of "
	    "the program: the function returned -3; training goes on") &&
	    !strstr(strstr(lines_of("err"), "training goes on") + 1,
	    "training goes on"), "a failing tracker is said once");
}

static void
full_disk(void)
{
	const char *said;
	accel *a;

	accel_init(NULL, &a);
	ok(accel_track(a, "csv", "/dev/full", 0) == ACCEL_EIO &&
	    strstr(accel_errmsg(), "/dev/full: No space left on device"),
	    "a disk that is full is seen when a tracker is opened: %s",
	    accel_errmsg());
	ok(accel_track(a, "jsonl", "/dev/full", 0) == ACCEL_OK &&
	    accel_log(a, 1, "x", 1) == ACCEL_OK &&
	    accel_log(a, 2, "x", 1) == ACCEL_OK && accel_fini(a) == ACCEL_OK,
	    "or ends no training");
	fflush(stderr);
	said = strstr(lines_of("err"), "tracker jsonl /dev/full: No space "
	    "left on device; training goes on without it\n");
	ok(said != NULL && strstr(said + 1, "full") != NULL &&
	    strstr(strstr(said + 1, "full") + 1, "full") == NULL,
	    "and is said once");
	if (said == NULL)
		printf("# %s\n", lines_of("err"));
}

/* A reader who is gone or stuck must cost nothing but his lines. */
static void
pipes(void)
{
	struct err err = ERR_INIT;
	char line[4000];
	int p[2], code = 0, n = 0;
	sigset_t waiting;

	memset(line, 'x', sizeof(line));
	if (pipe(p) != 0)
		return;
	while (code == 0 && n++ < 1000)
		code = track_write(p[1], line, sizeof(line), &err);
	ok(code == 1, "a line for a full pipe is dropped (after %d)", n - 1);
	close(p[0]);
	ok(track_write(p[1], line, 10, &err) == -1,
	    "a closed pipe is an error: %s", err.text);
	sigpending(&waiting);
	ok(!sigismember(&waiting, SIGPIPE), "and no SIGPIPE is left behind");
	close(p[1]);
}

static void
long_text(void)
{
	static char text[9000];
	struct track_event e = { .kind = TRACK_CONFIG, .key = "k",
	    .text = text };
	struct buf out = BUF_INIT;

	memset(text, '\x01', sizeof(text) - 1);
	track_line(&out, &e, NULL);
	ok(out.len <= TRACK_LINE_MAX && out.len > TRACK_LINE_MAX - 40 &&
	    strcmp(out.data + out.len - 3, "\"}\n") == 0,
	    "a long text is cut, and the line is whole (%zu bytes)", out.len);
	buf_clear(&out);
}

int
main(void)
{
	int saved = dup(2);

	if (folder_make() != 0)
		return 1;
	if (freopen(in_folder("err"), "w", stderr) == NULL)
		return 1;
	numbers();
	checksums();
	lines();
	full_disk();
	pipes();
	long_text();
	fflush(stderr);
	dup2(saved, 2);
	close(saved);
	
	folder_remove();
	return tap_done();
}
