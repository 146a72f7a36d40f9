/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save [MILLIONS [DIR]]: accel_save_state against plain writes of as many
 * bytes to as many files, both synced to the disk, in turns; the medians of
 * seven.  MILLIONS of F32 parameters (32) with AdamW's two arrays, in DIR (.).
 * Also how long an asynchronous save keeps the training, and how long loading
 * takes against reading.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/train/accel.h"

enum { TURNS = 7, UNITS = 8 };

static float *w, *g;
static size_t n;
static char folder[400];

static void
die(const char *what, const char *why)
{
	fprintf(stderr, "save: %s: %s\n", what, why);
	exit(1);
}

/* Seconds of all threads, in the program and the kernel: on a busy machine they
 * say more than the clock. */
static double
processor(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static accel_status
nothing(void *user)
{
	(void)user;
	return ACCEL_OK;
}

static const char *
in_folder(const char *name)
{
	static char path[2][500];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

static void
write_file(const char *name, const char *data, size_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		die(name, strerror(errno));
	while (bytes > 0) {
		ssize_t k = write(fd, data, bytes < (1u << 20) ? bytes :
		    1u << 20);

		if (k < 0)
			die(name, strerror(errno));
		data += k;
		bytes -= (size_t)k;
	}
	if (fsync(fd) != 0 || close(fd) != 0)
		die(name, strerror(errno));
}

/* The model's bytes, and twice as many of the optimizer. */
static double
plain(const float *states)
{
	double begin = clock_s(), took;

	write_file(in_folder("plain.model"), (char *)w, n * 4);
	write_file(in_folder("plain.optimizer"), (const char *)states, n * 8);
	took = clock_s() - begin;
	unlink(in_folder("plain.model"));
	unlink(in_folder("plain.optimizer"));
	return took;
}

static double
save(accel *a, int async)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	double begin = clock_s();

	o.async = async;
	if (accel_save_state(a, in_folder("state"), &o) != ACCEL_OK)
		die("accel_save_state", accel_errmsg());
	return clock_s() - begin;
}

/* So that each save writes to a place that is free, as the plain one does. */
static void
clear(void)
{
	static const char *const names[] = { "accel_state.json",
	    "model.safetensors", "optimizer.safetensors",
	    "objects.safetensors", "ranks.safetensors" };
	char path[600];

	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/state/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(in_folder("state"));
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double t[TURNS])
{
	qsort(t, TURNS, sizeof(*t), by_value);
	return t[TURNS / 2];
}

static double
read_all(char *room)
{
	double begin = clock_s();
	char path[600];

	for (int i = 0; i < 2; i++) {
		int fd;
		ssize_t k;

		snprintf(path, sizeof(path), "%s/state/%s.safetensors",
		    folder, i ? "optimizer" : "model");
		fd = open(path, O_RDONLY);
		if (fd < 0)
			die(path, strerror(errno));
		while ((k = read(fd, room, 1u << 20)) > 0)
			continue;
		close(fd);
	}
	return clock_s() - begin;
}

int
main(int argc, char **argv)
{
	double ours[TURNS], theirs[TURNS], kept[TURNS], load[TURNS],
	    reads[TURNS], work[2][TURNS], peer, mine;
	size_t part;
	float *states;
	accel *a;

	n = (size_t)(argc > 1 ? strtol(argv[1], NULL, 10) : 32) * 1000000;
	part = n / UNITS;
	n = part * UNITS;
	snprintf(folder, sizeof(folder), "%s/save-XXXXXX",
	    argc > 2 ? argv[2] : ".");
	if (n == 0 || mkdtemp(folder) == NULL)
		die(folder, n == 0 ? "how many?" : strerror(errno));
	w = malloc(n * 4);
	g = calloc(n, 4);
	states = malloc(n * 8);
	if (w == NULL || g == NULL || states == NULL)
		die("memory", strerror(errno));
	for (size_t i = 0; i < n; i++)
		w[i] = states[2 * i] = states[2 * i + 1] = (float)i;
	if (accel_init(NULL, &a) != ACCEL_OK)
		die("accel_init", accel_errmsg());
	for (int u = 0; u < UNITS; u++) {
		char name[20];
		accel_tensor t = { name, w + u * part, g + u * part,
		    ACCEL_F32, 0, 1, { (int64_t)part } };

		snprintf(name, sizeof(name), "layer.%d", u);
		accel_unit(a, name, &t, 1, NULL);
	}
	if (accel_prepare(a, 2) != ACCEL_OK)
		die("accel_prepare", accel_errmsg());
	accel_backward(a, nothing, NULL);
	for (int i = 0; i < TURNS; i++) {
		work[0][i] = processor();
		theirs[i] = plain(states);
		work[0][i] = processor() - work[0][i];
		if (i == 0) {
			accel_adamw_args adam = ACCEL_ADAMW_INIT;

			/* The arrays are touched, as in a training. */
			accel_step(a, accel_adamw, &adam);
		}
		work[1][i] = processor();
		ours[i] = save(a, 0);
		work[1][i] = processor() - work[1][i];
		load[i] = clock_s();
		if (accel_load_state(a, in_folder("state")) != ACCEL_OK)
			die("accel_load_state", accel_errmsg());
		load[i] = clock_s() - load[i];
		reads[i] = read_all((char *)states);
		clear();
		kept[i] = save(a, 1);
		if (accel_save_wait(a) != ACCEL_OK)
			die("accel_save_wait", accel_errmsg());
		clear();
	}
	peer = median(theirs);
	mine = median(ours);
	printf("%.0f MB: plain write %.0f ms, accel_save_state %.0f ms: "
	    "%.0f %% of its speed\n", (double)n * 12e-6, 1e3 * peer,
	    1e3 * mine, 100 * peer / mine);
	printf("processor time: %.0f ms and %.0f ms\n", 1e3 * median(work[0]),
	    1e3 * median(work[1]));
	printf("asynchronous: training waits %.0f ms\n", 1e3 * median(kept));
	printf("accel_load_state %.0f ms, reading the files %.0f ms\n",
	    1e3 * median(load), 1e3 * median(reads));
	rmdir(folder);
	free(w);
	free(g);
	free(states);
	return accel_fini(a) == ACCEL_OK ? 0 : 1;
}
