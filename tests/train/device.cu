/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: training whose parameters and gradients lie on a GPU, against the same
 * in the host's memory.  A program of CUDA: its backward are kernels that it
 * only enqueues.  With nvcc it runs where a GPU is; else under a fake CUDA
 * (tests/fake/cuda), where two ranks can be had as well: over a fake NCCL, and
 * over MPI through the host's memory.
 *
 *	element by element	the same bits
 *	norms, Adafactor	sums are added in another order: within 1e-6
 */
#include "tests/train/device_model.hh"

/* ---- collectives over what is on the GPU ----------------------------------------- */

enum { MANY = 300 };

static bool
all_are(const struct model *m, const float *p, int n, float want)
{
	float here[2 * MANY];
	bool yes = true;

	fetch(m, here, p, (size_t)n * sizeof(*here));
	for (int i = 0; i < n; i++)
		yes = yes && here[i] == want;
	return yes;
}

static __global__ void
fill_with(void *p, int dtype, size_t n, float v)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		set_one(p, dtype, i, v);
}

/* Two ranks: sums and means of what is enqueued, and gathering to either side. */
static accel_status
collectives(struct model *m)
{
	float *x = (float *)(void *)memory(m, 2 * MANY * sizeof(float));
	float *y = (float *)(void *)memory(m, 2 * MANY * sizeof(float));
	float mine = (float)accel_rank(m->a) + 1, host[2 * MANY];
	accel_status st = ACCEL_OK;
	bool good = true;
	size_t n = 0;

#define FILL(p, type, n, v)						\
	LAUNCH(fill_with, blocks(n), 64, m->stream, (void *)p, (int)type,	\
	    (size_t)n, v)
#define TRY(call, holds) do {						\
	if (st == ACCEL_OK)						\
		st = (call);						\
	if (st == ACCEL_OK && good && !(holds)) {			\
		fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__,	\
		    #holds);						\
		good = false;						\
	}								\
} while (0)
	FILL(x, ACCEL_F32, MANY, mine);
	TRY(accel_all_reduce(m->a, x, MANY, ACCEL_F32, ACCEL_SUM),
	    all_are(m, x, MANY, 3));
	FILL(x, ACCEL_F32, MANY, mine);
	TRY(accel_all_reduce(m->a, x, MANY, ACCEL_F32, ACCEL_AVG),
	    all_are(m, x, MANY, 1.5f));
	FILL(x, ACCEL_F32, MANY, mine);
	TRY(accel_broadcast(m->a, x, MANY * sizeof(float), 1),
	    all_are(m, x, MANY, 2));
	/* 0x4000 is 2 in BF16: two of them are the F32 0x40004000. */
	FILL(x, ACCEL_BF16, 2 * MANY, mine);
	TRY(accel_all_reduce(m->a, x, 2 * MANY, ACCEL_BF16, ACCEL_MAX),
	    all_are(m, x, MANY, half_float(0x40004000)));
	FILL(x, ACCEL_F32, MANY, mine);
	TRY(accel_all_gather(m->a, x, y, MANY * sizeof(float)),
	    all_are(m, y, MANY, 1) && all_are(m, y + MANY, MANY, 2));
	TRY(accel_all_gather(m->a, x, host, MANY * sizeof(float)),
	    host[0] == 1 && host[MANY] == 2);
	TRY(accel_gather(m->a, x, 10 * (size_t)mine, sizeof(float), y, MANY,
	    &n), n == 30 && all_are(m, y, 10, 1) &&
	    all_are(m, y + 10, 20, 2));
	TRY(accel_reduce(m->a, x, MANY, ACCEL_F32, ACCEL_SUM, 1),
	    all_are(m, x, MANY, mine == 2 ? 3 : 1));
	release(m, x);
	release(m, y);
	return st == ACCEL_OK && !good ? ACCEL_EBACKEND : st;
}

/* ---- one run ------------------------------------------------------------------- */

static accel_status
begin(struct model *m)
{
	static const char *const name[] = { "a", "b", "c", "d", "e" };
	const struct precision *p = &precision[m->run.p];
	accel_config c = ACCEL_CONFIG_INIT;
	accel_tensor t[NTENSOR];
	accel_status st;

	c.reduce = p->reduce;
	c.compress = p->compress;
	c.loss_scale = p->scale;
	c.grad_accum = m->run.accum;
	c.bucket_bytes = m->run.bucket;
	c.local_steps = m->run.extra == LOCAL ? 2 : 0;
	c.memory = m->on_gpu ? ACCEL_CUDA : ACCEL_HOST;
	c.stream = m->stream;
	st = accel_init(&c, &m->a);
	for (int i = 0; i < NTENSOR && st == ACCEL_OK; i++) {
		size_t n = (size_t)shape[i].n;
		int rank = accel_rank(m->a);

		t[i] = accel_tensor();
		t[i].name = name[i];
		t[i].data = m->data[i];
		t[i].grad = m->grad[i];
		t[i].dtype = p->dtype;
		t[i].ndim = shape[i].ndim;
		memcpy(t[i].shape, shape[i].shape, sizeof(shape[i].shape));
		if (m->on_gpu)
			LAUNCH(first_values, blocks(n), 64, m->stream,
			    m->data[i], (int)p->dtype, i, n, rank);
		for (size_t k = 0; !m->on_gpu && k < n; k++)
			set_one(m->data[i], p->dtype, k,
			    value((uint64_t)rank + 99, (uint64_t)i, k));
	}
	for (int u = 0, i = 0; u < NUNIT && st == ACCEL_OK; u++) {
		int n = 0;

		while (i + n < NTENSOR && shape[i + n].unit == u)
			n++;
		st = accel_unit(m->a, name[i], &t[i], n, NULL);
		i += n;
	}
	if (st == ACCEL_OK) {
		int rank = accel_rank(m->a);

		/* Rank 0's goes to all. */
		if (m->on_gpu && m->mean != &m->here)
			LAUNCH(first_values, 1, 64, m->stream, (void *)m->mean,
			    (int)ACCEL_F64, 7, (size_t)1, rank);
		else
			*m->mean = (double)value((uint64_t)rank + 99, 7, 0);
		st = accel_buffer(m->a, "mean", m->mean, sizeof(*m->mean));
	}
	if (st == ACCEL_OK && m->run.extra == HOOK)
		st = accel_set_hook(m->a, hook, m);
	return st != ACCEL_OK ? st : accel_prepare(m->a,
	    m->run.optimizer == ADAFACTOR ? (int)ACCEL_FACTORED : 2);
}

static accel_status
one_step(struct model *m, struct result *out)
{
	float *norm = &out->norm[m->step];
	const accel_range *r;
	accel_status st;
	int n;

	/* A gradient on one rank overflows once. */
	m->skip = m->run.extra == SKIPPING && m->step == 1 &&
	    accel_rank(m->a) == 0 && precision[m->run.p].scale > 0;
	st = accel_backward(m->a, backward, m);
	if (st == ACCEL_OK && m->run.clip == BY_NORM)
		st = accel_clip_grad_norm(m->a, 1.0f, norm);
	if (st == ACCEL_OK && m->run.clip == BY_VALUE)
		st = accel_clip_grad_value(m->a, 0.25f);
	if (st == ACCEL_OK && m->run.extra == LOOKED_AT)
		st = accel_gradients(m->a, &r, &n);
	if (st == ACCEL_OK)
		st = make_step(m);
	return st == ACCEL_SKIPPED ? ACCEL_OK : st;
}

/* In the middle of an accumulation: all of it into a folder, and from there. */
static accel_status
by_disk(struct model *m, const char *dir, const char *from)
{
	accel_save_args args = ACCEL_SAVE_INIT;
	accel_status st;

	args.async = m->step & 1;
	st = accel_save_state(m->a, dir, &args);
	if (st == ACCEL_OK)
		st = accel_save_wait(m->a);
	/* What load does not bring back shall show. */
	for (int i = 0; i < NTENSOR && st == ACCEL_OK; i++) {
		size_t bytes = (size_t)shape[i].n *
		    width(precision[m->run.p].dtype);

		if (m->on_gpu)
			CUDA(cudaMemsetAsync(m->data[i], 1, bytes, m->stream));
		else
			memset(m->data[i], 1, bytes);
	}
	if (st == ACCEL_OK && m->on_gpu)
		CUDA(cudaMemsetAsync(m->mean, 1, sizeof(*m->mean), m->stream));
	else if (st == ACCEL_OK)
		memset(m->mean, 1, sizeof(*m->mean));
	return st == ACCEL_OK ? accel_load_state(m->a, from) : st;
}

static int
waits(void)
{
#ifdef TESTS_FAKE_CUDA_LAUNCH_H
	return fake_cuda_waits();
#else
	return 0;
#endif
}

static void
run_one(int index, bool on_gpu, struct result *out)
{
	struct model m = {};
	char name[40], own_name[40];
	size_t at = 0;
	accel_status st;
	int before;

	m.run = runs[index];
	m.on_gpu = on_gpu;
	model_open(&m);
	st = begin(&m);
	if (st == ACCEL_OK && on_gpu && accel_world(m.a) == 2 &&
	    m.run.extra == LOOKED_AT)
		st = collectives(&m);
	before = waits();
	for (m.step = 0; m.step < STEPS && st == ACCEL_OK; m.step++)
		for (m.micro = 0; m.micro < m.run.accum && st == ACCEL_OK;
		    m.micro++) {
			st = one_step(&m, out);
			if (st != ACCEL_OK || m.run.extra != SAVED)
				continue;
			/* Now from its own, now from what the host saved. */
			snprintf(own_name, sizeof(own_name), "%s%d-%d-%d-%d",
			    on_gpu ? "gpu" : "host", accel_world(m.a), index,
			    m.step, m.micro);
			snprintf(name, sizeof(name), "%s%d-%d-%d-%d",
			    on_gpu && m.micro == 0 ? "gpu" : "host",
			    accel_world(m.a), index, m.step, m.micro);
			st = by_disk(&m, in_folder(own_name),
			    in_folder(name));
		}
	out->waits = waits() - before;
	if (st == ACCEL_OK && m.run.extra == LOCAL)
		st = accel_average_parameters(m.a);
	if (st == ACCEL_OK)
		st = accel_check_replicas(m.a);
	if (st != ACCEL_OK)
		snprintf(out->error, sizeof(out->error), "%d: %s", (int)st,
		    accel_errmsg());
	else
		out->scale = accel_loss_scale(m.a);
	for (int t = 0; t < NTENSOR && st == ACCEL_OK; t++) {
		size_t bytes = (size_t)shape[t].n *
		    width(precision[m.run.p].dtype);

		fetch(&m, out->data + at, m.data[t], bytes);
		at += bytes;
	}
	if (m.mean != &m.here)
		fetch(&m, &out->mean, m.mean, sizeof(out->mean));
	else
		out->mean = m.here;
	accel_fini(m.a);
	model_close(&m);
}

/* ---- all of them ---------------------------------------------------------------- */

static void
set_number(const char *name, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	setenv(name, text, 1);
}

/* A first accel keeps MPI up while others come and go. */
static int
rank_main(int mode, int rank, int world, int port)
{
	accel *base = NULL;
	int bad = 0;

	alarm(200);
	if (mode != NCCL2)		/* else ACCEL_CUDA's own */
		setenv("ACCEL_BACKEND", "mpi", 1);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", 0);
	set_number("WORLD_SIZE", world);
	set_number("MASTER_PORT", port);
	if (mode != NCCL2 && accel_init(NULL, &base) != ACCEL_OK) {
		fprintf(stderr, "rank %d: %s\n", rank, accel_errmsg());
		return 1;
	}
	for (int i = 0; i < nrun; i++) {
		/* The one before may not be free yet. */
		set_number("MASTER_PORT", port + 1 + i % 15);
		run_one(i, mode == CUDA1 || mode >= NCCL2,
		    result_of(mode, rank, i));
	}
	accel_fini(base);
#ifdef __SANITIZE_ADDRESS__
	/* Not among MPICH's threads. */
	if (world == 1 && __lsan_do_recoverable_leak_check())
		return 1;
#endif
#ifdef TESTS_FAKE_CUDA_LAUNCH_H
	bad = fake_cuda_in_use();
	if (bad != 0)
		fprintf(stderr, "rank %d, %s: %d things are left allocated\n",
		    rank, mode_name[mode], bad);
#endif
	return bad != 0;
}

static bool
launch(int mode)
{
	int world = mode < HOST2 ? 1 : 2, port = free_ports(16), status;
	int bad = 0;

	for (int r = 0; r < world; r++)
		if (fork() == 0)
			_exit(rank_main(mode, r, world, port));
	while (wait(&status) > 0)
		bad += status != 0;
	for (int r = 0; r < world; r++)
		for (int i = 0; i < nrun && bad == 0; i++)
			if (result_of(mode, r, i)->error[0] != '\0') {
				bad++;
				printf("# rank %d, run %d (%s, optimizer %d, "
				    "extra %d): %s\n", r, i,
				    precision[runs[i].p].name, runs[i].optimizer,
				    runs[i].extra, result_of(mode, r, i)->error);
			}
	ok(bad == 0, "%s: %d runs come to their end, and leave nothing",
	    mode_name[mode], nrun);
	return bad == 0;
}

static double
number(const struct result *r, int dtype, int i)
{
	uint16_t h;
	double d;
	float f;

	if (dtype == ACCEL_F64) {
		memcpy(&d, r->data + i * 8, 8);
		return d;
	}
	if (dtype == ACCEL_F32) {
		memcpy(&f, r->data + i * 4, 4);
		return (double)f;
	}
	memcpy(&h, r->data + i * 2, 2);
	return (double)(dtype == ACCEL_F16 ? f16_value(h) : bf16_value(h));
}

/* The largest difference; of 16 bits in units of their last place. */
static double
apart(const struct result *x, const struct result *y, int dtype)
{
	double most = 0;

	for (int i = 0; i < TOTAL; i++) {
		double u = number(x, dtype, i), v = number(y, dtype, i);
		double unit = dtype == ACCEL_F16 ? 1000 : dtype == ACCEL_BF16 ?
		    8000 : 1;

		most = fmax(most, fabs(u - v) / fmax(1, fabs(u)) / unit);
		if (isnan(u) || isnan(v))
			most = INFINITY;
	}
	return most;
}

static void
compare(int host, int mode)
{
	int world = host == HOST1 ? 1 : 2;

	for (int p = 0; p < PRECISIONS; p++) {
		int bits = 0, seen = 0, waited = 0;
		double off = 0, norms = 0;

		for (int i = 0; i < nrun; i++) {
			const struct run *r = &runs[i];
			bool sums = r->clip == BY_NORM ||
			    r->optimizer == ADAFACTOR;

			if (r->p != p)
				continue;
			for (int k = 0; k < world; k++) {
				const struct result *x = result_of(host, k, i);
				const struct result *y = result_of(mode, k, i);
				int differ = memcmp(x->data, y->data, BYTES) ||
				    x->scale != y->scale || x->mean != y->mean;

				if (!sums && differ) {
					printf("# run %d: optimizer %d, accum "
					    "%d, clip %d, extra %d, bucket "
					    "%d\n", i, r->optimizer, r->accum,
					    r->clip, r->extra, r->bucket);
					bits++;
				}
				seen += memcmp(x->data, result_of(host, k,
				    0)->data, BYTES) != 0 || i == 0;
				off = fmax(off, apart(x, y,
				    precision[p].dtype));
				for (int s = 0; s < STEPS; s++)
					norms = fmax(norms, fabs(
					    (double)(x->norm[s] -
					    y->norm[s])));
				if (!sums && mode != MPI2 &&
				    r->extra == NOTHING &&
				    precision[p].scale == 0)
					waited += y->waits;
			}
		}
		ok(bits == 0 && seen > 5, "%s, %s: the host's bits in %d runs",
		    mode_name[mode], precision[p].name, seen);
		ok(off < 1e-6 && norms < 1e-5, "%s, %s: with norms and "
		    "Adafactor near them (%.1e)", mode_name[mode],
		    precision[p].name, off);
		if (mode != MPI2)
			ok(waited == 0, "%s, %s: the host waits for no step",
			    mode_name[mode], precision[p].name);
	}
}

/* ---- a rank that dies ------------------------------------------------------------ */

/* What rank 1 does in step 3, and whether rank 0 waits for its stream in each
 * step, as a program that prints its loss does, or for nothing. */
struct doom {
	bool enqueues, dies, waits;
	accel_status tells;
	const char *says;
};

static int
doomed(int rank, int port, const struct doom *d)
{
	struct model m = {};
	accel_status st;

	alarm(100);
	setenv("ACCEL_BACKEND", "nccl", 1);
	if (!d->dies && rank == 0)
		setenv("ACCEL_TIMEOUT", "1", 1);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", 0);
	set_number("WORLD_SIZE", 2);
	set_number("MASTER_PORT", port);
	m.on_gpu = 1;
	model_open(&m);
	st = begin(&m);
	for (m.step = 0; st == ACCEL_OK && m.step < STEPS * 100; m.step++) {
		if (rank == 1 && m.step == 3) {
			if (d->enqueues)
				accel_backward(m.a, backward, &m);
			if (d->dies)
				raise(SIGKILL);
			pause();
		}
		st = accel_backward(m.a, backward, &m);
		if (st == ACCEL_OK)
			st = make_step(&m);
		if (st == ACCEL_OK && d->waits)
			cudaStreamSynchronize(m.stream);
	}
	if (st != d->tells || strstr(accel_errmsg(), "rank 1") == NULL) {
		fprintf(stderr, "%d in step %d: %s\n", (int)st, m.step,
		    accel_errmsg());
		return 1;
	}
	/* Rank 1 had three of them. */
	if (m.step > 6) {
		fprintf(stderr, "noticed in step %d\n", m.step);
		return 1;
	}
	accel_fini(m.a);
	model_close(&m);
	return 0;
}

static void
death(const struct doom *d)
{
	int port = free_ports(1), status = 0;
	pid_t pid[2];

	for (int r = 0; r < 2; r++)
		if ((pid[r] = fork()) == 0)
			_exit(doomed(r, port, d));
	waitpid(pid[0], &status, 0);
	kill(pid[1], SIGKILL);
	waitpid(pid[1], NULL, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a rank that %s is "
	    "named, and leaves nobody hanging", d->says);
}

static void
deaths(void)
{
	static const struct doom all[] = {
		{ false, true, false, ACCEL_EPEER, "dies" },
		{ true, true, false, ACCEL_EPEER, "dies with its exchange "
		    "enqueued" },
		{ false, true, true, ACCEL_EPEER, "dies while another waits for "
		    "its stream" },
		{ false, false, true, ACCEL_ETIMEDOUT, "does not come while "
		    "another waits for its stream" },
	};

	for (const struct doom &d : all)
		death(&d);
}

/* While another makes the first connections to it, inside NCCL. */
static void
early_death(void)
{
	int port = free_ports(1), status = 0;
	char path[300], said[500] = "";
	accel_config c = ACCEL_CONFIG_INIT;
	accel *a;
	pid_t pid;
	FILE *f;

	snprintf(path, sizeof(path), "%s/stderr", folder);
	setenv("FAKE_NCCL_DIES", "1", 1);
	for (int r = 0; r < 2; r++)
		if ((pid = fork()) == 0) {
			alarm(100);
			if (r == 0 && dup2(open(path, O_WRONLY | O_CREAT,
			    0600), 2) < 0)
				_exit(3);
			set_number("RANK", r);
			set_number("LOCAL_RANK", 0);
			set_number("WORLD_SIZE", 2);
			set_number("MASTER_PORT", port);
			c.memory = ACCEL_CUDA;
			_exit(accel_init(&c, &a) == ACCEL_OK ? 4 : 5);
		} else if (r == 1) {
			waitpid(pid, NULL, 0);
		}
	wait(&status);
	unsetenv("FAKE_NCCL_DIES");
	f = fopen(path, "r");
	if (f != NULL) {
		said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
		said[strcspn(said, "\n")] = '\0';
		fclose(f);
	}
	unlink(path);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(said,
	    "gives up the start of an exchange: rank 1") != NULL,
	    "or ends, inside NCCL, with a word about it: %s", said);
}

/* ---- what is refused -------------------------------------------------------------- */

static void
refusal(const char *what, const char *words, void (*spoil)(accel_config *c,
    accel_tensor *t))
{
	static float here[4];
	accel_config c = ACCEL_CONFIG_INIT;
	accel_tensor t = accel_tensor();
	struct model m = {};
	char *d, *g;
	accel *a;
	accel_status st;

	m.on_gpu = 1;
	d = memory(&m, 16);
	g = memory(&m, 16);
	t.name = "weight";
	t.data = d;
	t.grad = g;
	t.ndim = 1;
	t.shape[0] = 4;
	c.memory = ACCEL_CUDA;
	spoil(&c, &t);
	if (t.grad == NULL)
		t.grad = here;
	st = accel_init(&c, &a);
	if (st == ACCEL_OK)
		st = accel_unit(a, "u", &t, 1, NULL);
	if (st == ACCEL_OK)
		st = accel_prepare(a, 0);
	ok(st == ACCEL_EINVAL && strstr(accel_errmsg(), words) != NULL,
	    "%s is refused (%s)", what, accel_errmsg());
	accel_fini(a);
	release(&m, d);
	release(&m, g);
}

static void
on_host(accel_config *, accel_tensor *t)
{
	t->grad = NULL;
}

static void
low_rank(accel_config *c, accel_tensor *)
{
	c->compress = ACCEL_COMPRESS_POWERSGD;
}

/* Asked in another process: CUDA does not survive a fork. */
static bool
has_gpu(void)
{
	int count = 0, status;

	if (fork() == 0)
		_exit(cudaGetDeviceCount(&count) == cudaSuccess && count > 0);
	return wait(&status) > 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 1;
}

int
main(void)
{
	size_t bytes = sizeof(struct result) * MODES * RANKS * RUNS;
	bool two = false, good;

	if (!has_gpu()) {
		skip("no GPU");
		return tap_done();
	}
	results = (struct result *)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (results == MAP_FAILED || folder_make() != 0)
		return 1;
#ifdef TESTS_FAKE_CUDA_LAUNCH_H
	two = fake_plugins(folder);
#endif
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("ACCEL_PEER_TIMEOUT", "30", 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	cases();
	good = launch(HOST1) && launch(CUDA1);
	if (good)
		compare(HOST1, CUDA1);
	if (!two) {
		skip("two ranks: they need MPICH and the fake NCCL");
	} else if (good && launch(HOST2)) {
		if (launch(NCCL2))
			compare(HOST2, NCCL2);
		setenv("FAKE_CUDA_EAGER", "1", 1);
		if (launch(NCCL2))
			compare(HOST2, NCCL2);
		unsetenv("FAKE_CUDA_EAGER");
		deaths();
		early_death();
		if (launch(MPI2))
			compare(HOST2, MPI2);
	}
	refusal("a gradient in the host's memory", "the gradients of weight "
	    "lie in the host's memory", on_host);
	refusal("PowerSGD", "ACCEL_COMPRESS_POWERSGD", low_rank);
#ifdef TESTS_FAKE_CUDA_LAUNCH_H
	silent_program();
#endif
	folder_remove();
	return tap_done();
}
