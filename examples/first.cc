/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first: a first program in C++.  A net of two layers fits y = |x| on any
 * number of ranks.
 *
 *	c++ first.cc $(pkg-config --cflags --libs accel) -o first
 *	accel launch --cpu --num_processes 2 --no_python ./first
 */
#include <accel.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const int hidden = 16, batch = 32, samples = 1000, epochs = 20;

struct layer {
	std::vector<float> w, g;	/* must not move once registered */
	int unit = -1;
};

struct net {
	accel *a = nullptr;
	layer in, out;
	std::vector<float> x;		/* this rank's batch */
	int rows = 0;
	float loss = 0;
};

static void
check(accel_status st)
{
	if (st < 0) {
		std::fprintf(stderr, "first: %s\n", accel_errmsg());
		std::exit(1);
	}
}

/* Forward and backward: adds this batch's gradients, and says of each layer
 * when its are final.  It is called from C, so nothing may be thrown out of it. */
static accel_status
backward(void *user)
{
	net &n = *static_cast<net *>(user);
	float *w = n.in.w.data(), *v = n.out.w.data(), h[hidden];
	float *dw = n.in.g.data(), *dv = n.out.g.data();

	n.loss = 0;
	for (int r = 0; r < n.rows; r++) {
		float x = n.x[r], y = 0, d;

		for (int k = 0; k < hidden; k++) {
			h[k] = std::fmax(w[k] * x + w[hidden + k], 0.0f);
			y += v[k] * h[k];
		}
		d = y - std::fabs(x);
		n.loss += d * d / n.rows;
		d *= 2.0f / n.rows;
		for (int k = 0; k < hidden; k++) {
			dv[k] += d * h[k];
			if (h[k] > 0) {
				dw[k] += d * v[k] * x;
				dw[hidden + k] += d * v[k];
			}
		}
	}
	accel_status st = accel_leave(n.a, n.out.unit);
	return st == ACCEL_OK ? accel_leave(n.a, n.in.unit) : st;
}

static void
add_layer(accel *a, layer &l, const char *name, size_t count)
{
	l.w.resize(count);
	l.g.resize(count);
	for (float &w : l.w)		/* rank 0's go to all */
		w = static_cast<float>(std::rand()) / RAND_MAX - 0.5f;
	accel_tensor t = { name, l.w.data(), l.g.data(), ACCEL_F32, 0, 1,
	    { static_cast<int64_t>(count) } };
	check(accel_unit(a, name, &t, 1, &l.unit));
}

int
main()
{
	accel_adamw_args adamw = ACCEL_ADAMW_INIT;
	accel_loader *loader;
	net n;

	check(accel_init(nullptr, &n.a));
	add_layer(n.a, n.in, "in", 2 * hidden);
	add_layer(n.a, n.out, "out", hidden);
	check(accel_prepare(n.a, 2));	/* AdamW has two arrays of state */

	check(accel_loader_new(n.a, samples, batch, ACCEL_SHUFFLE, 1,
	    &loader));
	std::vector<int64_t> index(accel_loader_rows(loader));
	n.x.resize(index.size());
	adamw.lr = 1e-2;
	for (int epoch = 0; epoch < epochs; epoch++) {
		accel_status st;

		while ((st = accel_next(loader, index.data(), &n.rows)) ==
		    ACCEL_OK) {
			for (int i = 0; i < n.rows; i++)
				n.x[i] = 2.0f * index[i] / samples - 1;
			check(accel_backward(n.a, backward, &n));
			check(accel_clip_grad_norm(n.a, 1, nullptr));
			check(accel_step(n.a, accel_adamw, &adamw));
		}
		check(st);		/* ACCEL_END is none of the errors */
	}
	float loss = n.loss;		/* of this rank's last batch */
	check(accel_all_reduce(n.a, &loss, 1, ACCEL_F32, ACCEL_AVG));
	accel_print(n.a, "ranks: %d, loss: %.6f\n", accel_world(n.a),
	    static_cast<double>(loss));
	accel_loader_free(loader);
	check(accel_fini(n.a));
	return 0;
}
