/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem: the memory that a program's parameters and gradients lie in, and the
 * loops over them there.  One table of functions a kind of memory: the host's
 * (runtime/train/mem_host.c), and a GPU's, which is libaccel-cuda.so.
 *
 * A GPU's functions put work on the program's stream and return; the work comes
 * behind what the program has put there and before what it puts there next.
 * Only read, write and sum_end wait for it, and nothing there waits for another
 * rank: who calls them has seen to that.  A function without a result keeps its
 * first error, which "failed" gives.
 *
 * Types are enum device_type's, counts in elements, unless they say bytes.
 * Arrays do not overlap.
 */
#ifndef RUNTIME_DEVICE_MEM_H
#define RUNTIME_DEVICE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/elem.h"

struct err;
struct mem;

#define MEM_ABI 1

/* The sum of squares over several arrays, and whether all were finite. */
struct mem_sum {
	double	sum;
	int	finite;
};

/* What an optimizer updates: values and their gradients in F32, up to two
 * arrays of state; then rounded to "half", of "type", where that is not NULL. */
struct mem_update {
	float		*p;
	const float	*g;
	float		*state[2];
	size_t		 n;
	uint16_t	*half;
	int		 type;
};

/* One step of Adafactor over a tensor: see optim_adafactor.c. */
struct mem_adafactor {
	size_t	nmat, rows, cols;	/* a vector: one row */
	float	*row, *col;		/* means; row NULL: a vector */
	double	 weight;		/* of this step's squares */
	float	 eps1;
	double	 eps2, d, rate;		/* times the rms of p: the step */
	float	 keep;
};

struct mem_ops {
	int	 abi;
	const char *name;
	/* Gives *m.  "stream": the program's (a cudaStream_t).  gpu < 0: the
	 * one that the program has chosen. */
	int	 (*open)(struct mem **m, void *stream, int gpu,
	    struct err *err);
	void	 (*close)(struct mem *m);
	/* The first error of what has no result. */
	int	 (*failed)(struct mem *m, struct err *err);

	/* Can p be used here?  1, or 0 with the reason. */
	int	 (*owns)(struct mem *m, const void *p, struct err *err);
	/* Zeroed; NULL without memory. */
	void	*(*alloc)(struct mem *m, size_t bytes);
	void	 (*free)(struct mem *m, void *p);
	void	 (*zero)(struct mem *m, void *p, size_t bytes);
	void	 (*copy)(struct mem *m, void *to, const void *from,
	    size_t bytes);
	/* To and from the host's memory. */
	int	 (*read)(struct mem *m, void *host, const void *from,
	    size_t bytes, struct err *err);
	int	 (*write)(struct mem *m, void *to, const void *host,
	    size_t bytes, struct err *err);

	/* F32 to F16 or BF16 ("type"), and back; and sum += back. */
	void	 (*narrow)(struct mem *m, uint16_t *to, const float *from,
	    size_t n, int type);
	void	 (*widen)(struct mem *m, float *to, const uint16_t *from,
	    size_t n, int type);
	void	 (*fold)(struct mem *m, float *sum, const uint16_t *with,
	    size_t n, int type);
	/* Of F32 (by rounded to it) and F64. */
	void	 (*scale)(struct mem *m, void *x, size_t n, int type,
	    double by);
	void	 (*divide)(struct mem *m, void *x, size_t n, int type,
	    int by);
	void	 (*clamp)(struct mem *m, void *x, size_t n, int type,
	    float most);
	/* begin, then x *= by and the squares of that for each array, then end,
	 * which gives the result.  The order of additions depends on the
	 * lengths alone, and is another one for each kind of memory. */
	void	 (*sum_begin)(struct mem *m, struct mem_sum *s);
	void	 (*sum_add)(struct mem *m, struct mem_sum *s, void *x,
	    size_t n, int type, double by);
	int	 (*sum_end)(struct mem *m, struct mem_sum *s,
	    struct err *err);

	void	 (*adam)(struct mem *m, const struct mem_update *u,
	    const struct vec_adam *c);
	/* state[0] NULL: without momentum. */
	void	 (*sgd)(struct mem *m, const struct mem_update *u,
	    const struct vec_sgd *c);
	void	 (*lion)(struct mem *m, const struct mem_update *u,
	    const struct vec_lion *c);
	/* -1 without memory for its sums. */
	int	 (*adafactor)(struct mem *m, const struct mem_update *u,
	    const struct mem_adafactor *c, struct err *err);
};

/* Each kind's own begins with it. */
struct mem {
	const struct mem_ops *ops;
};

/* What a plugin exports. */
extern const struct mem_ops mem_plugin;

/* Opens libaccel-NAME.so for memory of a kind that is not the host's. */
int mem_open(struct mem **m, const char *name, void *stream, int gpu,
    struct err *err);
/* NULL is fine. */
void mem_close(struct mem *m);
/* Is p memory of a GPU that the host cannot touch?  Asks CUDA's driver, where
 * the program has loaded it; 0 also where nobody knows. */
int mem_is_gpus(const void *p);
#endif
