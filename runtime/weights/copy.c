/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the elements of pieces to their places in the whole tensor. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/err.h"
#include "runtime/weights/weights.h"

#include "runtime/base/banned.h"

enum { CHUNK = 32 << 20 };	/* bytes between two words on progress */

struct move {
	const struct weights	*w;
	unsigned char		*to;
	void			(*moved)(void *user, uint64_t n);
	void			*user;
	uint64_t		 since;	/* bytes since the last word */
};

/* The pages are not needed any more; the kernel may keep them as it likes. */
static void
forget(const unsigned char *data, uint64_t n)
{
	uintptr_t	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t	first = (uintptr_t)data, last = first + n;

	first = (first + page - 1) / page * page;
	last = last / page * page;
	if (first < last)
		madvise((void *)first, last - first, MADV_DONTNEED);
}

/* A run of bytes that lie side by side on both sides.  A piece that is there
 * twice must be the same twice. */
static int
move_run(struct move *m, unsigned char *to, const unsigned char *from,
    size_t n, bool compare)
{
	while (n) {
		size_t now = n < CHUNK ? n : CHUNK;

		if (!compare)
			memcpy(to, from, now);
		else if (memcmp(to, from, now))
			return -1;
		if (now == CHUNK) {
			forget(to, now);
			forget(from, now);
		}
		to += now;
		from += now;
		n -= now;
		m->since += compare ? 0 : now;
		if (m->since >= CHUNK && m->moved) {
			m->moved(m->user, m->since);
			m->since = 0;
		}
	}
	return 0;
}

static int
move_piece(struct move *m, const struct whole *t, const struct piece *p)
{
	const struct box	*b = &p->box;
	const unsigned char	*from = m->w->file[p->file].data + p->first;
	size_t			 size = t->dtype->bits / 8, run = size;
	int64_t			 pitch[WEIGHTS_RANK], at[WEIGHTS_RANK] = { 0 };
	int64_t			 whole = 1;
	int			 outer = t->rank;

	for (int i = t->rank - 1; i >= 0; i--) {
		pitch[i] = whole;
		whole *= t->shape[i];
	}
	/* Fold the inner dimensions that lie side by side on both sides. */
	while (outer > 0 && (b->shape[outer - 1] == 1 ||
	    (p->stride[outer - 1] * (int64_t)size == (int64_t)run &&
	    pitch[outer - 1] * (int64_t)size == (int64_t)run))) {
		run *= (size_t)b->shape[outer - 1];
		outer--;
	}
	for (;;) {
		int64_t		to = 0, of = 0;
		int		i;

		for (i = 0; i < t->rank; i++) {
			to += (b->at[i] + at[i]) * pitch[i];
			of += at[i] * p->stride[i];
		}
		if (move_run(m, m->to + (size_t)to * size,
		    from + (size_t)of * size, run, p->again) < 0)
			return -1;
		for (i = outer - 1; i >= 0 && ++at[i] == b->shape[i]; i--)
			at[i] = 0;
		if (i < 0)
			return 0;
	}
}

int
weights_copy(const struct weights *w, size_t tensor, unsigned char *to,
    void (*moved)(void *user, uint64_t n), void *user, struct err *err)
{
	const struct whole	*t = &w->tensor[tensor];
	struct move		 m = { w, to, moved, user, 0 };

	for (size_t i = t->piece; i < t->piece + t->pieces; i++) {
		const struct piece	*p = &w->piece[i];
		uint64_t		 n = t->dtype->bits / 8;

		if (move_piece(&m, t, p) < 0)
			return err_set(err, "tensor \"%s\" differs between %s "
			    "and %s", t->key, w->file[p[-1].file].path,
			    w->file[p->file].path);
		for (int k = 0; k < t->rank; k++)
			n *= (uint64_t)p->box.shape[k];
		forget(w->file[p->file].data + p->first, n);
	}
	if (moved && m.since)
		moved(user, m.since);
	forget(to, t->bytes);
	return 0;
}
