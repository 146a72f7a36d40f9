/* SPDX-License-Identifier: Apache-2.0 */
/* accel merge-weights: a sharded checkpoint becomes model.safetensors. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/err.h"
#include "runtime/base/num.h"
#include "runtime/cli/cli.h"
#include "runtime/weights/weights.h"

#include "runtime/base/banned.h"

struct merge {
	const char	*max_shard_size;
	bool		 unsafe_serialization, remove_checkpoint_dir;
	bool		 tensors_only;
};

static const struct option options[] = {
	VALUE(struct merge, max_shard_size, "max_shard_size", 0, "SIZE",
	    TAKES_TEXT, "files of at most that, such as 5GB, and an index"),
	SWITCH(struct merge, unsafe_serialization, "unsafe_serialization", 0,
	    "write pytorch_model.bin, as torch.save does"),
	SWITCH(struct merge, tensors_only, "tensors_only", 0,
	    "leave out what is no tensor, and name it"),
	SWITCH(struct merge, remove_checkpoint_dir, "remove_checkpoint_dir", 0,
	    "remove CHECKPOINT_DIR when all is written"),
	OPTIONS_END
};

struct clock_face {		/* of the progress */
	int64_t	begin, last;	/* milliseconds */
	bool	terminal, shown;
};

/* After a second: on a terminal a line that changes, elsewhere one now and
 * then. */
static void
progress(void *user, uint64_t done, uint64_t total)
{
	struct clock_face	*f = user;
	int64_t			 now = clock_ms();

	if (now - f->begin < 1000 ||
	    now - f->last < (f->terminal ? 200 : 10000))
		return;
	f->last = now;
	f->shown = true;
	fprintf(stderr, "%smerge-weights: %.1f of %.1f GB%s",
	    f->terminal ? "\r" : "", (double)done / 1e9, (double)total / 1e9,
	    f->terminal ? "" : "\n");
}

static void
stop(int sig)
{
	static const char text[] = "\naccel merge-weights: a file became "
	    "shorter, or its disk failed, while it was read\n";

	weights_abandon();
	if (sig == SIGBUS) {
		if (write(2, text + 1, sizeof text - 2) < 0)
			_exit(1);
		_exit(1);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static int
read_size(const char *text, uint64_t *out, struct err *err)
{
	static const struct { const char *unit; double bytes; } units[] = {
		{ "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 },
		{ "KiB", 1024.0 }, { "MiB", 1048576.0 },
		{ "GiB", 1073741824.0 }, { "TiB", 1099511627776.0 },
		{ "", 1 },
	};
	size_t	n = strspn(text, "0123456789.");
	char	number[32];
	double	value;

	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcasecmp(text + n, units[i].unit) || n >= sizeof number)
			continue;
		memcpy(number, text, n);
		number[n] = '\0';
		if (num_parse_real(number, 0, 1e15, &value) < 0 ||
		    value * units[i].bytes < 1 ||
		    value * units[i].bytes > 1e18)
			break;
		*out = (uint64_t)(value * units[i].bytes);
		return 0;
	}
	err_set(err, "--max_shard_size %s is no size", text);
	return err_hint(err, "such as 5GB or 500MB");
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* The folder, or the nearest one above it that is there; NULL. */
static char *
real_folder(const char *path)
{
	char	*copy = strdup(path), *real = NULL, *slash;

	while (copy && !(real = realpath(copy, NULL)) && errno == ENOENT) {
		slash = strrchr(copy, '/');
		if (!slash) {
			real = realpath(".", NULL);
			break;
		}
		slash[slash == copy] = '\0';
	}
	free(copy);
	return real;
}

/* The checkpoint must not be removed with the output in it. */
static int
check_apart(const char *from, const char *to, struct err *err)
{
	char	*a = realpath(from, NULL), *b = real_folder(to);
	size_t	 n = a ? strlen(a) : 0;
	int	 ret = 0;

	if (a && b && !strncmp(a, b, n) && (b[n] == '/' || !b[n])) {
		err_set(err, "%s would be removed with %s in it", from, to);
		ret = err_hint(err, "give another output, or leave out "
		    "--remove_checkpoint_dir");
	}
	free(a);
	free(b);
	return ret;
}

static int
check_objects(const struct weights *w, const struct merge *o, struct err *err)
{
	for (size_t i = 0; o->tensors_only && i < w->objects.count; i++)
		fprintf(stderr, "merge-weights: \"%s\" is no tensor, and is "
		    "left out\n", w->objects.item[i]);
	if (o->tensors_only || !w->objects.count)
		return 0;
	err_set(err, "\"%s\" is no tensor but a pickled object%s",
	    w->objects.item[0], w->objects.count > 1 ?
	    ", and it is not the only one" : "");
	return err_hint(err, "such are in checkpoints of optimizers; "
	    "--tensors_only leaves them out");
}

static int
run(struct call *call, struct err *err)
{
	static const int	 signals[] = { SIGINT, SIGTERM, SIGHUP,
	    SIGBUS };
	const struct merge	*o = call->options;
	const char		*from = call->argv[0], *to = call->argv[1];
	struct clock_face	 face = { clock_ms(), 0, isatty(2), false };
	struct weights_out	 out = { to, 0, o->unsafe_serialization,
	    progress, &face };
	struct weights		 w = WEIGHTS_INIT;
	int			 ret = -1;

	if (o->max_shard_size && read_size(o->max_shard_size, &out.shard_max,
	    err) < 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], stop);
	signal(SIGXFSZ, SIG_IGN);	/* said as an error */
	if (o->remove_checkpoint_dir && check_apart(from, to, err) < 0)
		return -1;
	if (weights_read(&w, from, err) == 0 &&
	    check_objects(&w, o, err) == 0 && weights_write(&w, &out, err) == 0)
		ret = 0;
	if (face.shown && face.terminal)
		fputc('\n', stderr);
	if (ret == 0)
		printf("%zu tensors are in %s\n", w.tensors, to);
	weights_clear(&w);
	if (ret == 0 && o->remove_checkpoint_dir &&
	    nftw(from, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
		ret = err_set(err, "%s: not removed: %s", from,
		    strerror(errno));
	return ret;
}

const struct command command_merge_weights = {
	"merge-weights", "make one model.safetensors of a sharded checkpoint",
	.run = run, .words = "CHECKPOINT_DIR OUTPUT", .least = 2, .most = 2,
	.takes = TAKES_FOLDER,
	.about = "Reads the checkpoints that FSDP writes with "
	    "SHARDED_STATE_DICT\n(torch.distributed.checkpoint), and folders "
	    "of safetensors files whose tensors\nmay be sliced, and writes "
	    "whole tensors into the folder OUTPUT.",
	.page = "accel-merge-weights(1)", .options = options,
	.size = sizeof(struct merge),
};
