/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint: what is saved comes back, and damage and kills are seen. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/base/buf.h"
#include "runtime/base/err.h"
#include "runtime/base/file.h"
#include "runtime/train/accel.h"
#include "runtime/train/state_folder.h"

#include "tests/tap.h"
#include "tests/train/folder.h"

enum { N = 300, M = 7 };

static float w[N], g[N];
static double v[M], h[M];
static uint32_t dice;
static accel *a;

static void
start(void)
{
	accel_tensor t[] = {
		{ "layer.0.weight", w, g, ACCEL_F32, 0, 2, { 10, N / 10 } },
		{ "layer.0.\"bias\"", v, h, ACCEL_F64, 0, 1, { M } },
	};

	if (accel_init(NULL, &a) != ACCEL_OK ||
	    accel_unit(a, "layer", t, 2, NULL) != ACCEL_OK ||
	    accel_prepare(a, 2) != ACCEL_OK ||
	    accel_register(a, "dice", &dice, sizeof(dice), ACCEL_PER_RANK) !=
	    ACCEL_OK)
		exit(1);
}

static accel_status
update(void *user, const accel_range *r, int n, int64_t step)
{
	(void)user;
	for (int k = 0; k < n; k++)
		for (size_t i = 0; i < r[k].n; i++) {
			if (r[k].dtype == ACCEL_F32) {
				((float *)r[k].state[1])[i] += (float)step;
				((float *)r[k].param)[i] +=
				    ((float *)r[k].grad)[i];
			} else {
				((double *)r[k].param)[i] = 1.0 / (double)step;
			}
		}
	return ACCEL_OK;
}

static accel_status
backward(void *user)
{
	(void)user;
	for (int i = 0; i < N; i++)
		g[i] += (float)(dice = dice * 1664525u + 1013904223u);
	return ACCEL_OK;
}

static void
steps(int n)
{
	for (int i = 0; i < n; i++) {
		accel_backward(a, backward, NULL);
		accel_step(a, update, NULL);
	}
}

static void
finish(void)
{
	accel_fini(a);
	a = NULL;
	memset(w, 0, sizeof(w));
	memset(v, 0, sizeof(v));
	dice = 0;
}

/* ---- there and back ------------------------------------------------------ */

static void
round_trip(void)
{
	static float want[N];
	uint32_t want_dice;

	start();
	steps(3);
	ok(accel_save_state(a, in_folder("one"), NULL) == ACCEL_OK,
	    "a state is saved");
	steps(4);
	memcpy(want, w, sizeof(w));
	want_dice = dice;
	finish();
	start();
	ok(accel_load_state(a, in_folder("one/")) == ACCEL_OK && v[0] ==
	    1.0 / 3, "and loaded in another run");
	steps(4);
	ok(memcmp(want, w, sizeof(w)) == 0 && dice == want_dice &&
	    v[M - 1] == 1.0 / 7, "from where it goes on with the same bits");
	ok(accel_save_state(a, in_folder("one"), NULL) == ACCEL_OK &&
	    access(in_folder(".one.saving"), F_OK) != 0,
	    "a checkpoint is replaced, and nothing is left beside it");
	finish();
	start();
	accel_load_state(a, in_folder("one"));
	ok(memcmp(want, w, sizeof(w)) == 0, "by the new one");
	finish();
}

static void
refusals(void)
{
	static float x[4], gx[4];
	accel_tensor t = { "other", x, gx, ACCEL_F32, 0, 1, { 4 } };
	uint32_t more = 0;
	accel *b;

	start();
	ok(accel_load_state(a, in_folder("nowhere")) == ACCEL_EIO &&
	    strstr(accel_errmsg(), "nowhere has neither accel_state.json nor "
	    "checkpoints/checkpoint_N"), "a folder without one is named");
	file_replace(in_folder("mine/notes.txt"), "x", 1, 0644, NULL);
	ok(accel_save_state(a, in_folder("mine"), NULL) == ACCEL_EIO &&
	    strstr(accel_errmsg(), "mine is there already, and is no "
	    "checkpoint") && access(in_folder("mine/notes.txt"), F_OK) == 0,
	    "a folder of other files is not replaced");
	accel_save_state(a, in_folder("mixed"), NULL);
	file_replace(in_folder("mixed/notes.txt"), "x", 1, 0644, NULL);
	ok(accel_save_state(a, in_folder("mixed"), NULL) == ACCEL_EIO &&
	    strstr(accel_errmsg(), "mixed has the file notes.txt"),
	    "nor a checkpoint with a file of another's");
	ok(accel_save_state(a, in_folder("mine/notes.txt/x"), NULL) ==
	    ACCEL_EIO && strstr(accel_errmsg(), "notes.txt"),
	    "a folder that cannot be is named: %s", accel_errmsg());
	ok(accel_save_state(a, "", NULL) == ACCEL_EINVAL, "no name, no save");
	accel_register(a, "more", &more, sizeof(more), 0);
	ok(accel_load_state(a, in_folder("one")) == ACCEL_EMISMATCH &&
	    strstr(accel_errmsg(), "no object more"),
	    "an object that was not saved is named");
	accel_unregister(a, "more");
	accel_unregister(a, "dice");
	ok(accel_load_state(a, in_folder("one")) == ACCEL_EMISMATCH &&
	    strstr(accel_errmsg(), "an object dice, which is not registered"),
	    "and one that nobody registered");
	accel_register(a, "dice", &dice, 3, ACCEL_PER_RANK);
	ok(accel_load_state(a, in_folder("one")) == ACCEL_EMISMATCH &&
	    strstr(accel_errmsg(), "object dice has 4 bytes in the checkpoint, "
	    "and 3 here"), "and one of another size");
	ok(accel_register(a, "accel.x", &more, 4, 0) == ACCEL_EINVAL &&
	    accel_register(a, "dice", &more, 4, 0) == ACCEL_EINVAL,
	    "names of libaccel, and names twice, are refused");
	finish();

	accel_init(NULL, &b);
	ok(accel_save_state(b, in_folder("early"), NULL) == ACCEL_ESTATE,
	    "not before accel_prepare");
	accel_unit(b, "u", &t, 1, NULL);
	accel_prepare(b, 0);
	ok(accel_load_state(b, in_folder("one")) == ACCEL_EMISMATCH &&
	    strstr(accel_errmsg(), "no other in its model"),
	    "another model is named");
	accel_fini(b);
}

static accel_status
say_size(void *user, const void *data, size_t bytes)
{
	(void)data;
	*(size_t *)user = bytes;
	return ACCEL_OK;
}

static size_t
two(void *user)
{
	(void)user;
	return 2;
}

static accel_status
write_two(void *user, void *out, size_t bytes)
{
	(void)user;
	memset(out, 'x', bytes);
	return ACCEL_OK;
}

static accel_status
write_none(void *user, void *out, size_t bytes)
{
	(void)user;
	(void)out;
	(void)bytes;
	return ACCEL_EIO;
}

static void
objects(void)
{
	static const accel_object good = { two, write_two, say_size };
	static const accel_object bad = { two, write_none, say_size };
	size_t got = 0;

	start();
	accel_register_object(a, "f", &good, &got, 0);
	accel_save_state(a, in_folder("objects"), NULL);
	ok(accel_load_state(a, in_folder("objects")) == ACCEL_OK && got == 2,
	    "functions write and read an object");
	accel_register_object(a, "g", &bad, &got, 0);
	ok(accel_save_state(a, in_folder("objects2"), NULL) == ACCEL_EIO &&
	    strstr(accel_errmsg(), "object g is not saved") &&
	    access(in_folder("objects2"), F_OK) != 0,
	    "one that fails leaves no checkpoint");
	finish();
}

/* ---- damage -------------------------------------------------------------- */

static void
damage(void)
{
	static const char *const names[] = {
		"accel_state.json", "model.safetensors",
		"optimizer.safetensors", "ranks.safetensors",
	};
	float before[N];
	int seen, flips, untouched = 1;

	start();
	steps(2);
	accel_save_state(a, in_folder("hurt"), NULL);
	steps(1);
	memcpy(before, w, sizeof(w));
	for (int f = 0; f < 4; f++) {
		struct buf data = BUF_INIT;
		char path[300];

		snprintf(path, sizeof(path), "hurt/%s", names[f]);
		file_read(in_folder(path), &data, NULL);
		seen = flips = 0;
		for (size_t i = 0; i < data.len; i += 1 + data.len / 40) {
			data.data[i] ^= 1;
			file_note(in_folder(path), data.data, data.len, 0644,
			    NULL);
			flips++;
			if (accel_load_state(a, in_folder("hurt")) ==
			    ACCEL_EIO && strstr(accel_errmsg(), names[f]))
				seen++;
			else
				printf("# bit 0 of byte %zu of %s: %s\n", i,
				    names[f], accel_errmsg());
			data.data[i] ^= 1;
		}
		file_note(in_folder(path), data.data, data.len - 1, 0644,
		    NULL);
		flips++;
		seen += accel_load_state(a, in_folder("hurt")) == ACCEL_EIO &&
		    strstr(accel_errmsg(), names[f]);
		unlink(in_folder(path));
		flips++;
		seen += accel_load_state(a, in_folder("hurt")) == ACCEL_EIO;
		untouched &= memcmp(before, w, sizeof(w)) == 0;
		ok(seen == flips, "%s: %d of %d damages are seen, and it is "
		    "named", names[f], seen, flips);
		file_note(in_folder(path), data.data, data.len, 0644, NULL);
		buf_clear(&data);
	}
	ok(untouched, "a damaged checkpoint changes nothing");
	ok(accel_load_state(a, in_folder("hurt")) == ACCEL_OK &&
	    memcmp(before, w, sizeof(w)) != 0, "mended, it loads");
	finish();
}

/* ---- names, shards, threads ---------------------------------------------- */

static int
there(const char *name)
{
	return access(in_folder(name), F_OK) == 0;
}

static void
numbers(void)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	float third = 0;
	int bad = 0;

	start();
	o.numbered = 1;
	o.total_limit = 2;
	for (int i = 0; i < 12; i++) {
		steps(1);
		if (i == 9)
			third = w[0];
		bad += accel_save_state(a, in_folder("p"), &o) != ACCEL_OK;
	}
	ok(bad == 0 && there("p/checkpoints/checkpoint_10") &&
	    there("p/checkpoints/checkpoint_11") &&
	    !there("p/checkpoints/checkpoint_9") &&
	    !there("p/checkpoints/checkpoint_0"),
	    "the two highest numbers are kept");
	finish();
	start();
	ok(accel_load_state(a, in_folder("p")) == ACCEL_OK && v[0] == 1.0 / 12,
	    "the highest is loaded, 11 after 9");
	steps(1);
	o.total_limit = 0;
	ok(accel_save_state(a, in_folder("p"), &o) == ACCEL_OK &&
	    there("p/checkpoints/checkpoint_12"),
	    "numbers go on in another run");
	ok(accel_load_state(a, in_folder("p/checkpoints/checkpoint_10")) ==
	    ACCEL_OK && v[0] == 1.0 / 11 && w[0] != third,
	    "one of them by its name");
	finish();
}

static void
shards(void)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	struct buf index = BUF_INIT;

	start();
	steps(5);
	o.shard_bytes = 1300;
	ok(accel_save_state(a, in_folder("s"), &o) == ACCEL_OK &&
	    there("s/model.safetensors") && !there("s/model-00001-of-00002."
	    "safetensors") &&
	    there("s/optimizer-00003-of-00003.safetensors"),
	    "files are cut at the limit, and an array never");
	file_read(in_folder("s/optimizer.safetensors.index.json"), &index,
	    NULL);
	ok(strstr(buf_text(&index), "\"total_size\": 2512") &&
	    strstr(buf_text(&index), "\"state.1.layer.0.\\\"bias\\\"\": "
	    "\"optimizer-00003-of-00003.safetensors\""),
	    "and the index names them");
	buf_clear(&index);
	finish();
	start();
	ok(accel_load_state(a, in_folder("s")) == ACCEL_OK && v[3] == 0.2,
	    "they are loaded");
	ok(accel_save_model(a, in_folder("m"), 0) == ACCEL_OK &&
	    there("m/model.safetensors"), "the model alone, in one file");
	file_replace(in_folder("m/config.json"), "{}", 2, 0644, NULL);
	ok(accel_save_model(a, in_folder("m"), 100) == ACCEL_OK &&
	    there("m/model-00002-of-00002.safetensors") &&
	    there("m/model.safetensors.index.json") &&
	    !there("m/model.safetensors") && there("m/config.json"),
	    "or in several, which replace it, beside other files");
	ok(accel_save_model(a, in_folder("m"), 0) == ACCEL_OK &&
	    there("m/model.safetensors") &&
	    !there("m/model-00001-of-00002.safetensors") &&
	    !there("m/model.safetensors.index.json") && there("m/config.json"),
	    "and back");
	finish();
}

static void
threads(void)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	float want = 0;
	accel_status st;

	start();
	steps(6);
	want = w[N - 1];
	o.async = 1;
	ok(accel_save_state(a, in_folder("t"), &o) == ACCEL_OK,
	    "a save begins");
	steps(6);
	ok(accel_save_wait(a) == ACCEL_OK && accel_load_state(a,
	    in_folder("t")) == ACCEL_OK && w[N - 1] == want &&
	    v[0] == 1.0 / 6,
	    "it saves what was when it began, not what came after");
	accel_save_state(a, in_folder("mine"), &o);
	st = accel_save_state(a, in_folder("t2"), &o);
	ok(st == ACCEL_EIO && strstr(accel_errmsg(), "this save is under way, "
	    "but an earlier one failed: the save to ") &&
	    strstr(accel_errmsg(), "mine is there already"),
	    "its error comes from the next save, which is done all the same");
	ok(accel_save_wait(a) == ACCEL_OK && there("t2/accel_state.json"),
	    "indeed");
	accel_save_state(a, in_folder("mine"), &o);
	ok(accel_fini(a) == ACCEL_EIO && strstr(accel_errmsg(), "mine is "
	    "there already"), "or from accel_fini");
	a = NULL;
}

static int
files_beside(const char *name)
{
	DIR *d = opendir(in_folder(name));
	struct dirent *e;
	int n = 0;

	while (d != NULL && (e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..");
	if (d != NULL)
		closedir(d);
	return n;
}

/* A disk that takes no more. */
static void
full(void)
{
	struct rlimit before, small;
	accel_status st;

	start();
	steps(1);
	accel_save_state(a, in_folder("full"), NULL);
	steps(1);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 1000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	st = accel_save_state(a, in_folder("full"), NULL);
	ok(st == ACCEL_EIO && strstr(accel_errmsg(), ".full.saving/") &&
	    strstr(accel_errmsg(), "File too large"),
	    "a file that cannot be written is named: %s", accel_errmsg());
	st = accel_save_model(a, in_folder("full-model"), 0);
	setrlimit(RLIMIT_FSIZE, &before);
	ok(st == ACCEL_EIO && files_beside("full-model") == 0,
	    "and leaves no model behind");
	ok(access(in_folder(".full.saving"), F_OK) != 0 &&
	    accel_load_state(a, in_folder("full")) == ACCEL_OK && v[0] == 1,
	    "nor a half of a state, but the old one");
	finish();
}

/* A disk that does not answer; here it has no time to. */
static void
stuck(void)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	accel_status st;
	int tries = 0;

	start();
	o.async = 1;
	setenv("ACCEL_SAVE_TIMEOUT", "1e-9", 1);
	accel_save_state(a, in_folder("stuck"), &o);
	st = accel_save_wait(a);
	unsetenv("ACCEL_SAVE_TIMEOUT");
	ok(st == ACCEL_EIO && strstr(accel_errmsg(), "stuck is not through "
	    "after 0 s") && strstr(accel_errmsg(), "ACCEL_SAVE_TIMEOUT"),
	    "a wait has a limit: %s", accel_errmsg());
	finish();
	while (!there("stuck/accel_state.json") && tries++ < 6000)
		usleep(10000);
	ok(there("stuck/accel_state.json"), "what was left to itself comes to "
	    "its end");
}

/* ---- kill -9 at any point ------------------------------------------------ */

/* Runs a save in a child, and kills it at its n-th entry to or return from the
 * kernel.  1: it came to its end before; -1: no ptrace here. */
static int
killed_save(const char *dir, int n, int numbered)
{
	accel_save_args o = ACCEL_SAVE_INIT;
	pid_t pid = fork();
	int status;

	o.numbered = numbered;
	o.total_limit = numbered;
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(99);
		raise(SIGSTOP);
		_exit(accel_save_state(a, dir, &o) == ACCEL_OK ? 0 : 1);
	}
	for (int i = -1; i < n; i++) {
		if (i >= 0 && ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0)
			break;
		if (waitpid(pid, &status, 0) != pid)
			break;
		if (WIFEXITED(status))
			return WEXITSTATUS(status) == 0 ? 1 : -1;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

static void
kills(void)
{
	static const char *const what[] = {
		"where there was none", "over another", "with a limit of one",
	};
	double old = 1.0 / 2, new = 1.0 / 4;

	for (int kind = 0; kind < 3; kind++) {
		const char *name = kind == 0 ? "k0/a" : kind == 1 ? "k1/a" :
		    "k2";
		accel_save_args o = ACCEL_SAVE_INIT;
		int n, code = 0, bad = 0, olds = 0, news = 0, none = 0;

		start();
		steps(2);
		o.numbered = kind == 2;
		if (kind != 0)
			accel_save_state(a, in_folder(name), &o);
		steps(2);
		for (n = 1; code == 0; n++) {
			accel_status st;

			/* Back to the old one, after a while with the new. */
			code = killed_save(in_folder(name), n, kind == 2);
			memset(v, 0, sizeof(v));
			st = accel_load_state(a, in_folder(name));
			olds += st == ACCEL_OK && v[0] == old;
			news += st == ACCEL_OK && v[0] == new;
			none += st == ACCEL_EIO && kind == 0;
			bad += !(st == ACCEL_OK && (v[0] == new ||
			    (kind != 0 && v[0] == old))) &&
			    !(kind == 0 && st == ACCEL_EIO &&
			    strstr(accel_errmsg(), "has neither"));
			if (bad == 1)
				printf("# after call %d: %s\n", n,
				    accel_errmsg());
			/* The next attempt saves the new one again. */
			if (st == ACCEL_OK && v[0] == old) {
				steps(2);
			} else if (st != ACCEL_OK) {
				finish();
				start();
				steps(4);
			}
			if (n > 5000)
				break;
		}
		if (code < 0) {
			skip("no ptrace here");
			finish();
			return;
		}
		ok(bad == 0 && news > 0 && (kind == 0 ? none : olds) > 10,
		    "killed at each of %d points of a save %s: %d times "
		    "nothing, %d the old, %d the new", n - 1, what[kind], none,
		    olds, news);
		ok(files_beside(kind == 0 ? "k0" : kind == 1 ? "k1" :
		    "k2/checkpoints") == 1, "a save that ends leaves nothing "
		    "of the others");
		finish();
	}
}

int
main(void)
{
	if (folder_make() != 0)
		return 1;
	round_trip();
	refusals();
	objects();
	damage();
	numbers();
	shards();
	threads();
	full();
	stuck();
	kills();
	folder_remove();
	return tap_done();
}
