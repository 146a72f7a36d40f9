/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not CUDA: kernels as functions of C++, for .cu files that begin a kernel by
 * LAUNCH.  A grid runs as a loop over its threads, one after the other, when its
 * stream comes to it; so a kernel may not have threads meet (__syncthreads).
 */
#ifndef TESTS_FAKE_CUDA_LAUNCH_H
#define TESTS_FAKE_CUDA_LAUNCH_H

#include <functional>
#include <tuple>

#include "tests/fake/cuda/cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__

struct fake_dim {
	unsigned x, y, z;
};
extern fake_dim blockIdx, threadIdx, blockDim, gridDim;

/* Has the stream run fn, with the GPU's memory in reach, when it comes to it;
 * and again and again until it is true. */
void fake_enqueue(cudaStream_t stream, std::function<bool()> fn);

template <typename... P, typename... A>
void
fake_launch(cudaStream_t stream, unsigned blocks, unsigned threads,
    void (*kernel)(P...), A... args)
{
	std::tuple<P...> given((P)args...);	/* now, as CUDA does */

	fake_enqueue(stream, [=] {
		gridDim = { blocks, 1, 1 };
		blockDim = { threads, 1, 1 };
		for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
			for (threadIdx.x = 0; threadIdx.x < threads;
			    threadIdx.x++)
				std::apply(kernel, given);
		return true;
	});
}

#define LAUNCH(kernel, blocks, threads, stream, ...)			\
	fake_launch(stream, blocks, threads, kernel, __VA_ARGS__)
#endif
