/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the .metadata of a checkpoint, or, behind an "S", as a
 * safetensors file with slices.  What is accepted is merged in memory, so that
 * a place outside a file or a tensor would be seen. */
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/weights/weights.h"
#include "tests/fuzz/fuzz.h"

enum { LARGEST = 1 << 20 };	/* bytes of a tensor that is merged */

static char	folder[] = "/tmp/accel-fuzz-XXXXXX";
static int	at = -1;	/* that folder */

static void
put(const char *name, const void *data, size_t n)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	MUST(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

static void
end(void)
{
	unlinkat(at, "__0_0.distcp", 0);
	unlinkat(at, "__1_0.distcp", 0);
	rmdir(folder);
}

static void
begin(void)
{
	static char	 data[1 << 16];
	const char	*top = getenv("top_srcdir");
	char		 path[400];
	size_t		 n;
	FILE		*f;

	MUST(mkdtemp(folder));
	atexit(end);
	at = open(folder, O_RDONLY | O_DIRECTORY);
	/* the files of tests/data/dcp/.metadata, a good seed */
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/tests/data/dcp/__%d_0.distcp",
		    top ? top : ".", i);
		if (!(f = fopen(path, "r")))
			continue;
		n = fread(data, 1, sizeof data, f);
		fclose(f);
		put(strrchr(path, '/') + 1, data, n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	bool		slices = n && *data == 'S';
	struct weights	w = WEIGHTS_INIT;
	struct err	err = ERR_INIT;
	unsigned char  *to;
	int		ret;

	if (at < 0)
		begin();
	if (slices)
		put("x.safetensors", data + 1, n - 1);
	else
		put(".metadata", data, n);
	ret = slices ? weights_read_shards(&w, folder, &err) :
	    weights_read_dcp(&w, folder, &err);
	MUST(ret == 0 || *err.text);
	if (ret == 0 && weights_check(&w, &err) == 0)
		for (size_t i = 0; i < w.tensors; i++) {
			if (w.tensor[i].bytes > LARGEST)
				continue;
			to = malloc(w.tensor[i].bytes + 1);
			weights_copy(&w, i, to, NULL, NULL, &err);
			free(to);
		}
	weights_clear(&w);
	unlinkat(at, slices ? "x.safetensors" : ".metadata", 0);
	return 0;
}
