/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_kernels: see cuda_kernels.h.  No thread reads what another of the same
 * kernel writes, so that no block has to meet: what needs another's result is
 * the next kernel.  (Hence a test can run a grid as a loop.)
 */
#include "runtime/device/cuda_kernels.h"

#include <math.h>

#include "runtime/device/device.h"

/* How a kernel is put on a stream; tests/fake/cuda has a way of its own. */
#ifndef LAUNCH
#define LAUNCH(kernel, blocks, threads, stream, ...)			\
	kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif

#define MOST_BLOCKS 8192u

#define FIRST ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((size_t)gridDim.x * blockDim.x)
#define EACH(i, n) for (size_t i = FIRST; i < (n); i += STRIDE)

static unsigned
blocks_for(size_t n, unsigned most)
{
	size_t blocks = (n + KERNEL_THREADS - 1) / KERNEL_THREADS;

	return blocks < most ? (unsigned)blocks : most;
}

/* For work on n elements, of which any thread may take any. */
#define OVER(n, kernel, stream, ...) do {				\
	if ((n) > 0)							\
		LAUNCH(kernel, blocks_for(n, MOST_BLOCKS),		\
		    KERNEL_THREADS, stream, __VA_ARGS__);		\
} while (0)

/* ---- casts ---------------------------------------------------------------- */

static inline ON_DEVICE uint16_t
round_to(int type, float x)
{
	return type == DEVICE_F16 ? f16_of(x) : bf16_of(x);
}

static inline ON_DEVICE float
value_of(int type, uint16_t h)
{
	return type == DEVICE_F16 ? f16_value(h) : bf16_value(h);
}

static __global__ void
narrow(uint16_t *to, const float *from, size_t n, int type)
{
	EACH(i, n)
		to[i] = round_to(type, from[i]);
}

static __global__ void
widen(float *to, const uint16_t *from, size_t n, int type)
{
	EACH(i, n)
		to[i] = value_of(type, from[i]);
}

static __global__ void
fold(float *sum, const uint16_t *with, size_t n, int type)
{
	EACH(i, n)
		sum[i] += value_of(type, with[i]);
}

cudaError_t
kernel_narrow(cudaStream_t stream, uint16_t *to, const float *from, size_t n,
    int type)
{
	OVER(n, narrow, stream, to, from, n, type);
	return cudaGetLastError();
}

cudaError_t
kernel_widen(cudaStream_t stream, float *to, const uint16_t *from, size_t n,
    int type)
{
	OVER(n, widen, stream, to, from, n, type);
	return cudaGetLastError();
}

cudaError_t
kernel_fold(cudaStream_t stream, float *sum, const uint16_t *with, size_t n,
    int type)
{
	OVER(n, fold, stream, sum, with, n, type);
	return cudaGetLastError();
}

/* ---- F32 and F64 ----------------------------------------------------------- */

static __global__ void
scale_f32(float *x, size_t n, float by)
{
	EACH(i, n)
		x[i] *= by;
}

static __global__ void
scale_f64(double *x, size_t n, double by)
{
	EACH(i, n)
		x[i] *= by;
}

static __global__ void
divide_f32(float *x, size_t n, float by)
{
	EACH(i, n)
		x[i] /= by;
}

static __global__ void
divide_f64(double *x, size_t n, double by)
{
	EACH(i, n)
		x[i] /= by;
}

static __global__ void
clamp_f32(float *x, size_t n, float most)
{
	EACH(i, n)
		x[i] = elem_clamp(x[i], most);
}

static __global__ void
clamp_f64(double *x, size_t n, double most)
{
	EACH(i, n)
		x[i] = elem_clamp_f64(x[i], most);
}

cudaError_t
kernel_scale(cudaStream_t stream, void *x, size_t n, int type, double by)
{
	if (type == DEVICE_F64)
		OVER(n, scale_f64, stream, (double *)x, n, by);
	else
		OVER(n, scale_f32, stream, (float *)x, n, (float)by);
	return cudaGetLastError();
}

cudaError_t
kernel_divide(cudaStream_t stream, void *x, size_t n, int type, int by)
{
	if (type == DEVICE_F64)
		OVER(n, divide_f64, stream, (double *)x, n, (double)by);
	else
		OVER(n, divide_f32, stream, (float *)x, n, (float)by);
	return cudaGetLastError();
}

cudaError_t
kernel_clamp(cudaStream_t stream, void *x, size_t n, int type, float most)
{
	if (type == DEVICE_F64)
		OVER(n, clamp_f64, stream, (double *)x, n, (double)most);
	else
		OVER(n, clamp_f32, stream, (float *)x, n, most);
	return cudaGetLastError();
}

/* ---- sums ------------------------------------------------------------------ */

/* Loads of several elements before the first is added. */
#ifdef __CUDACC__
#define UNROLL _Pragma("unroll 4")
#else
#define UNROLL
#endif

/* A thread is a lane, in any grid of at most KERNEL_LANES threads. */
#define EACH_OF_LANE(i, n)						\
	for (size_t i = FIRST; i < (n); i += KERNEL_LANES)

static __global__ void
add_f32(struct kernel_sum *s, float *x, size_t n, float by, int scaled)
{
	double sum = 0;

	if (FIRST >= n)
		return;
	if (scaled) {
		UNROLL
		EACH_OF_LANE(i, n) {
			float y = x[i] * by;

			x[i] = y;
			sum += elem_square(y);
		}
	} else {
		UNROLL
		EACH_OF_LANE(i, n)
			sum += elem_square(x[i]);
	}
	s->lane[FIRST] += sum;
}

static __global__ void
add_f64(struct kernel_sum *s, double *x, size_t n, double by)
{
	double sum = 0;

	EACH_OF_LANE(i, n) {
		double y = x[i] * by;

		x[i] = y;
		sum += y * y;
		if (!isfinite(y))
			s->total.bad = 1;
	}
	if (FIRST < n)
		s->lane[FIRST] += sum;
}

/* Of a block: each thread takes every KERNEL_THREADS-th lane to its own. */
static __global__ void
fold_lanes(struct kernel_sum *s)
{
	double sum = 0;

	for (size_t i = threadIdx.x; i < KERNEL_LANES; i += KERNEL_THREADS)
		sum += s->lane[i];
	s->lane[threadIdx.x] = sum;
}

static __global__ void
fold_last(struct kernel_sum *s)
{
	double sum = 0;

	for (int i = 0; i < KERNEL_THREADS; i++)
		sum += s->lane[i];
	s->total.sum = sum;
}

static unsigned
lane_blocks(size_t n)
{
	return blocks_for(n, KERNEL_LANES / KERNEL_THREADS);
}

cudaError_t
kernel_sum_add(cudaStream_t stream, struct kernel_sum *s, void *x, size_t n,
    int type, double by)
{
	if (n == 0)
		return cudaSuccess;
	if (type == DEVICE_F64)
		LAUNCH(add_f64, lane_blocks(n), KERNEL_THREADS, stream, s,
		    (double *)x, n, by);
	else
		LAUNCH(add_f32, lane_blocks(n), KERNEL_THREADS, stream, s,
		    (float *)x, n, (float)by, by != 1);
	return cudaGetLastError();
}

cudaError_t
kernel_sum_fold(cudaStream_t stream, struct kernel_sum *s)
{
	LAUNCH(fold_lanes, 1, KERNEL_THREADS, stream, s);
	LAUNCH(fold_last, 1, 1, stream, s);
	return cudaGetLastError();
}

/* ---- optimizers ------------------------------------------------------------- */

static inline ON_DEVICE void
round_half(const struct mem_update *u, size_t i, float p)
{
	if (u->half != NULL)
		u->half[i] = round_to(u->type, p);
}

static __global__ void
adam(struct mem_update u, struct vec_adam c)
{
	EACH(i, u.n) {
		float p = u.p[i], m = u.state[0][i], v = u.state[1][i];

		elem_adam(&p, u.g[i], &m, &v, &c);
		u.p[i] = p;
		u.state[0][i] = m;
		u.state[1][i] = v;
		round_half(&u, i, p);
	}
}

static __global__ void
sgd(struct mem_update u, struct vec_sgd c)
{
	EACH(i, u.n) {
		float p = u.p[i];

		elem_sgd(&p, u.g[i], c.lr, c.decay);
		u.p[i] = p;
		round_half(&u, i, p);
	}
}

static __global__ void
sgd_momentum(struct mem_update u, struct vec_sgd c)
{
	EACH(i, u.n) {
		float p = u.p[i], m = u.state[0][i];

		elem_sgd_momentum(&p, u.g[i], &m, &c);
		u.p[i] = p;
		u.state[0][i] = m;
		round_half(&u, i, p);
	}
}

static __global__ void
lion(struct mem_update u, struct vec_lion c)
{
	EACH(i, u.n) {
		float p = u.p[i], m = u.state[0][i];

		elem_lion(&p, u.g[i], &m, &c);
		u.p[i] = p;
		u.state[0][i] = m;
		round_half(&u, i, p);
	}
}

cudaError_t
kernel_adam(cudaStream_t stream, const struct mem_update *u,
    const struct vec_adam *c)
{
	OVER(u->n, adam, stream, *u, *c);
	return cudaGetLastError();
}

cudaError_t
kernel_sgd(cudaStream_t stream, const struct mem_update *u,
    const struct vec_sgd *c)
{
	if (u->state[0] == NULL)
		OVER(u->n, sgd, stream, *u, *c);
	else
		OVER(u->n, sgd_momentum, stream, *u, *c);
	return cudaGetLastError();
}

cudaError_t
kernel_lion(cudaStream_t stream, const struct mem_update *u,
    const struct vec_lion *c)
{
	OVER(u->n, lion, stream, *u, *c);
	return cudaGetLastError();
}

/* ---- Adafactor -------------------------------------------------------------- */

/* "room" of a matrix's sums: lanes of rows, parts of columns, a matrix's scale,
 * and last the step. */
struct places {
	double	*lane, *part, *scale, *step;
};

static ON_DEVICE size_t
column_parts(const struct mem_adafactor *c)
{
	return (c->rows + KERNEL_COLUMN - 1) / KERNEL_COLUMN;
}

size_t
kernel_adafactor_room(const struct mem_adafactor *c)
{
	size_t rows = c->nmat * c->rows;

	return c->row == NULL ? 1 : rows * KERNEL_ROW_LANES +
	    c->nmat * column_parts(c) * c->cols + c->nmat + 1;
}

static struct places
places_in(const struct mem_adafactor *c, double *room)
{
	struct places x = { NULL, NULL, NULL, NULL };

	if (c->row != NULL) {
		x.lane = room;
		x.part = x.lane + c->nmat * c->rows * KERNEL_ROW_LANES;
		x.scale = x.part + c->nmat * column_parts(c) * c->cols;
		room = x.scale + c->nmat;
	}
	x.step = room;
	return x;
}

static __global__ void
row_lanes(struct mem_adafactor c, struct places x, const float *g)
{
	EACH(i, c.nmat * c.rows * KERNEL_ROW_LANES) {
		const float *row = g + i / KERNEL_ROW_LANES * c.cols;
		size_t whole = c.cols / KERNEL_ROW_LANES * KERNEL_ROW_LANES;
		double sum = 0;

		for (size_t k = i % KERNEL_ROW_LANES; k < whole;
		    k += KERNEL_ROW_LANES)
			sum += elem_square(row[k]);
		x.lane[i] = sum;
	}
}

/* In the order of vec.c. */
static __global__ void
row_means(struct mem_adafactor c, struct places x, const float *g)
{
	EACH(i, c.nmat * c.rows) {
		double *lane = x.lane + i * KERNEL_ROW_LANES, rest = 0;
		size_t whole = c.cols / KERNEL_ROW_LANES * KERNEL_ROW_LANES;

		for (int n = KERNEL_ROW_LANES / 2; n > 0; n /= 2)
			for (int k = 0; k < n; k++)
				lane[k] += lane[k + n];
		for (size_t k = whole; k < c.cols; k++)
			rest += elem_square(g[i * c.cols + k]);
		c.row[i] = elem_lerp_mean(c.row[i], lane[0] + rest, c.cols,
		    c.weight);
	}
}

/* Element [mat][part][column]. */
static __global__ void
column_sums(struct mem_adafactor c, struct places x, const float *g)
{
	size_t parts = column_parts(&c);

	EACH(i, c.nmat * parts * c.cols) {
		size_t col = i % c.cols, part = i / c.cols % parts;
		size_t first = part * KERNEL_COLUMN, n = c.rows - first;
		const float *at = g + (i / c.cols / parts * c.rows + first) *
		    c.cols + col;
		double sum = 0;

		n = n < (size_t)KERNEL_COLUMN ? n : (size_t)KERNEL_COLUMN;
		for (size_t k = 0; k < n; k++)
			sum += elem_square(at[k * c.cols]);
		x.part[i] = sum;
	}
}

static __global__ void
column_means(struct mem_adafactor c, struct places x)
{
	size_t parts = column_parts(&c);

	EACH(i, c.nmat * c.cols) {
		const double *at = x.part + i / c.cols * parts * c.cols +
		    i % c.cols;
		double sum = 0;

		for (size_t k = 0; k < parts; k++)
			sum += at[k * c.cols];
		c.col[i] = elem_lerp_mean(c.col[i], sum, c.rows, c.weight);
	}
}

static __global__ void
matrix_scales(struct mem_adafactor c, struct places x)
{
	EACH(i, c.nmat) {
		double mean = 0;

		for (size_t k = 0; k < c.rows; k++)
			mean += (double)c.row[i * c.rows + k];
		x.scale[i] = elem_over_mean(mean, c.rows, c.eps1);
	}
}

static __global__ void
vector_means(struct mem_adafactor c, const float *g)
{
	EACH(i, c.cols)
		c.col[i] = elem_lerp_square(c.col[i], g[i], (float)c.weight);
}

static inline ON_DEVICE float
factored(const struct mem_adafactor *c, const struct places *x, size_t i,
    float g)
{
	float least = c->eps1 * c->eps1, row = 1;
	size_t at = i / c->cols, mat = at / c->rows;

	if (c->row != NULL)
		row = elem_row_factor(c->row[at], x->scale[mat]);
	return elem_factored(g, c->col[mat * c->cols + i % c->cols], row,
	    least);
}

static __global__ void
factored_squares(struct mem_adafactor c, struct places x, const float *g,
    size_t n, struct kernel_sum *s)
{
	double sum = 0;

	EACH_OF_LANE(i, n)
		sum += elem_square(factored(&c, &x, i, g[i]));
	if (FIRST < n)
		s->lane[FIRST] += sum;
}

static __global__ void
find_step(struct mem_adafactor c, struct places x, const struct kernel_sum *p,
    const struct kernel_sum *update, size_t n)
{
	*x.step = (double)elem_adafactor_step(p->total.sum,
	    update->total.sum, n, c.eps2, c.d, c.rate);
}

static __global__ void
make_update(struct mem_update u, struct mem_adafactor c, struct places x)
{
	float step = (float)*x.step;

	EACH(i, u.n) {
		float p = u.p[i] * c.keep -
		    step * factored(&c, &x, i, u.g[i]);

		u.p[i] = p;
		round_half(&u, i, p);
	}
}

cudaError_t
kernel_adafactor(cudaStream_t stream, const struct mem_update *u,
    const struct mem_adafactor *c, struct kernel_sum *p,
    struct kernel_sum *update, double *room)
{
	struct places x = places_in(c, room);
	size_t rows = c->nmat * c->rows;

	if (u->n == 0)
		return cudaSuccess;
	LAUNCH(add_f32, lane_blocks(u->n), KERNEL_THREADS, stream, p, u->p,
	    u->n, 1.0f, 0);
	kernel_sum_fold(stream, p);
	if (c->row == NULL) {
		OVER(c->cols, vector_means, stream, *c, u->g);
	} else {
		OVER(rows * KERNEL_ROW_LANES, row_lanes, stream, *c, x, u->g);
		OVER(rows, row_means, stream, *c, x, u->g);
		OVER(c->nmat * column_parts(c) * c->cols, column_sums, stream,
		    *c, x, u->g);
		OVER(c->nmat * c->cols, column_means, stream, *c, x);
		OVER(c->nmat, matrix_scales, stream, *c, x);
	}
	LAUNCH(factored_squares, lane_blocks(u->n), KERNEL_THREADS, stream,
	    *c, x, u->g, u->n, update);
	kernel_sum_fold(stream, update);
	LAUNCH(find_step, 1, 1, stream, *c, x, p, update, u->n);
	OVER(u->n, make_update, stream, *u, *c, x);
	return cudaGetLastError();
}
