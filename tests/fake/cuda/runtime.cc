/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not CUDA: a runtime without a GPU, for tests.  It is as unkind as the real one
 * may be:
 *
 *	memory	of the "GPU" is mapped without access, but while a stream runs: a
 *		host that reads or writes it dies there.  New memory has rubbish.
 *	streams	run nothing before somebody waits for them: who forgets that sees
 *		old numbers.  With FAKE_CUDA_EAGER=1 those made NonBlocking run
 *		each work as soon as they have it, so that who forgets to have
 *		one wait for another gets there too early.
 *
 * Any thread, one at a time.
 */
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "tests/fake/cuda/launch.hh"

fake_dim blockIdx, threadIdx, blockDim, gridDim;

namespace {

const size_t	room = (size_t)256 << 20, line = 256, rubbish = 65536;
char		*memory;		/* the GPU's */
size_t		 top;			/* so much of it was ever in use */
std::map<char *, size_t> used;
std::set<void *> pinned;
int		 reach;			/* > 0: it may be touched */
int		 events, device;
std::atomic<int> waits;
cudaError_t	 error;
std::recursive_mutex gate;

#define ENTER() std::lock_guard<std::recursive_mutex> entered(gate)

void
allow(bool yes)
{
	if ((yes ? reach++ > 0 : --reach > 0) || memory == nullptr)
		return;
	if (mprotect(memory, top, yes ? PROT_READ | PROT_WRITE : PROT_NONE))
		abort();
}

bool
on_gpu(const void *p)
{
	return memory != nullptr && (const char *)p >= memory &&
	    (const char *)p < memory + room;
}

} /* namespace */

struct fake_stream {
	bool eager;
	uint64_t issued, done;
	std::deque<std::function<bool()>> queue;

	/* As far as it gets now. */
	bool
	run(uint64_t until)
	{
		if (done >= until)
			return true;
		allow(true);
		while (done < until && queue.front()()) {
			queue.pop_front();
			done++;
		}
		allow(false);
		return done >= until;
	}
};

struct fake_event {
	fake_stream *stream;		/* null: not recorded */
	uint64_t at;
	bool asked;
};

namespace {

fake_stream usual;			/* the default one */
std::set<fake_stream *> streams;

fake_stream *
of(cudaStream_t stream)
{
	return stream != nullptr ? stream : &usual;
}

void
add(fake_stream *s, std::function<bool()> fn)
{
	s->queue.push_back(fn);
	s->issued++;
	if (s->eager)
		s->run(s->issued);
}

/* The host stands still until then; a minute, and the test has failed. */
void
wait_for(std::function<bool()> through)
{
	time_t end = time(nullptr) + 60;

	for (;;) {
		{
			ENTER();
			if (through())
				return;
		}
		if (time(nullptr) > end) {
			fprintf(stderr, "the fake CUDA waits in vain\n");
			abort();
		}
		sched_yield();
	}
}

bool
run_all()
{
	bool through = usual.run(usual.issued);

	for (fake_stream *s : streams)
		through = s->run(s->issued) && through;
	return through;
}

cudaError_t
result(cudaError_t code)
{
	if (code != cudaSuccess)
		error = code;
	return code;
}

} /* namespace */

void
fake_enqueue(cudaStream_t stream, std::function<bool()> fn)
{
	ENTER();
	add(of(stream), fn);
}

int
fake_cuda_in_use(void)
{
	ENTER();
	return (int)(used.size() + pinned.size() + streams.size()) + events;
}

int
fake_cuda_waits(void)
{
	ENTER();
	return waits;
}

/* ---- devices and errors ----------------------------------------------------- */

cudaError_t
cudaGetDeviceCount(int *count)
{
	const char *text = getenv("FAKE_CUDA_GPUS");

	*count = text != nullptr ? (int)strtol(text, nullptr, 10) : 1;
	return cudaSuccess;
}

cudaError_t
cudaSetDevice(int n)
{
	ENTER();
	device = n;
	return cudaSuccess;
}

cudaError_t
cudaGetDevice(int *n)
{
	ENTER();
	*n = device;
	return cudaSuccess;
}

cudaError_t
cudaGetLastError(void)
{
	ENTER();
	cudaError_t code = error;

	error = cudaSuccess;
	return code;
}

const char *
cudaGetErrorString(cudaError_t code)
{
	return code == cudaErrorMemoryAllocation ? "out of memory" :
	    "pretended";
}

/* ---- memory ------------------------------------------------------------------- */

cudaError_t
cudaMalloc(void **p, size_t bytes)
{
	ENTER();
	size_t size = (bytes + line - 1) / line * line + line;
	char *at;

	if (memory == nullptr) {
		void *map = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (map == MAP_FAILED)
			abort();
		memory = (char *)map;
	}
	at = memory;
	for (auto const &one : used) {
		if ((size_t)(one.first - at) >= size)
			break;
		at = one.first + one.second;
	}
	if ((size_t)(memory + room - at) < size)
		return result(cudaErrorMemoryAllocation);
	used[at] = size;
	while (top < (size_t)(at - memory) + size)
		top += (size_t)1 << 20;
	allow(true);
	memset(at, 0xa5, size < rubbish ? size : rubbish);
	allow(false);
	*p = at;
	return cudaSuccess;
}

static cudaError_t
release(void *p)
{
	ENTER();
	auto one = used.find((char *)p);

	if (one == used.end())
		return result(cudaErrorInvalidValue);
	allow(true);
	memset(p, 0x5a, one->second < rubbish ? one->second : rubbish);
	allow(false);
	used.erase(one);
	return cudaSuccess;
}

/* Waits for all work, as the real one. */
cudaError_t
cudaFree(void *p)
{
	if (p == nullptr)
		return cudaSuccess;
	wait_for(run_all);
	return release(p);
}

cudaError_t
cudaMallocAsync(void **p, size_t bytes, cudaStream_t)
{
	ENTER();
	return cudaMalloc(p, bytes);
}

cudaError_t
cudaFreeAsync(void *p, cudaStream_t stream)
{
	ENTER();
	add(of(stream), [p] { return release(p) == cudaSuccess; });
	return cudaSuccess;
}

cudaError_t
cudaMallocHost(void **p, size_t bytes)
{
	ENTER();
	*p = malloc(bytes);
	memset(*p, 0xa5, bytes < 65536 ? bytes : 65536);
	pinned.insert(*p);
	return cudaSuccess;
}

cudaError_t
cudaFreeHost(void *p)
{
	ENTER();
	pinned.erase(p);
	free(p);
	return cudaSuccess;
}

cudaError_t
cudaPointerGetAttributes(cudaPointerAttributes *at, const void *p)
{
	ENTER();
	*at = cudaPointerAttributes();
	at->type = on_gpu(p) ? cudaMemoryTypeDevice :
	    pinned.count((void *)(uintptr_t)p) ? cudaMemoryTypeHost :
	    cudaMemoryTypeUnregistered;
	return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes,
    cudaMemcpyKind kind, cudaStream_t stream)
{
	ENTER();
	bool from_gpu = kind == cudaMemcpyDeviceToHost ||
	    kind == cudaMemcpyDeviceToDevice;
	bool to_gpu = kind == cudaMemcpyHostToDevice ||
	    kind == cudaMemcpyDeviceToDevice;

	if (on_gpu(from) != from_gpu || on_gpu(to) != to_gpu)
		return result(cudaErrorInvalidValue);
	fake_enqueue(stream, [=] { return memmove(to, from, bytes); });
	return cudaSuccess;
}

cudaError_t
cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
	cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, nullptr);

	wait_for([] { return usual.run(usual.issued); });
	return code;
}

cudaError_t
cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
	ENTER();
	if (!on_gpu(p))
		return result(cudaErrorInvalidValue);
	fake_enqueue(stream, [=] { return memset(p, value, bytes); });
	return cudaSuccess;
}

/* ---- streams and events --------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	ENTER();
	const char *text = getenv("FAKE_CUDA_EAGER");

	*stream = new fake_stream();
	(*stream)->eager = flags == cudaStreamNonBlocking &&
	    text != nullptr && strcmp(text, "1") == 0;
	streams.insert(*stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	wait_for([=] { return stream->run(stream->issued); });
	ENTER();
	streams.erase(stream);
	delete stream;
	return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	waits++;
	wait_for([=] { return of(stream)->run(of(stream)->issued); });
	return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize(void)
{
	waits++;
	wait_for(run_all);
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
	ENTER();
	*event = new fake_event();
	events++;
	return cudaSuccess;
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	ENTER();
	delete event;
	events--;
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	ENTER();
	event->stream = of(stream);
	event->at = event->stream->issued;
	event->asked = false;
	return cudaSuccess;
}

/* What the event has now counts, not what it gets later. */
cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
	ENTER();
	fake_stream *other = event->stream;
	uint64_t at = event->at;

	if (other != nullptr)
		add(of(stream), [=] { return other->run(at); });
	return cudaSuccess;
}

/* At the first time it is never there yet. */
cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	ENTER();
	if (event->stream == nullptr || event->stream->done >= event->at)
		return cudaSuccess;
	if (!event->asked) {
		event->asked = true;
		return cudaErrorNotReady;
	}
	return event->stream->run(event->at) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	waits++;
	if (event->stream != nullptr)
		wait_for([=] { return event->stream->run(event->at); });
	return cudaSuccess;
}
