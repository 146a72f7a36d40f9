/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of users, on 1 to 4 ranks; and what ranks do not agree in. */
#include <string.h>

#include "runtime/base/half.h"
#include "tests/train/world.h"

/* Rank r has r + 1 rows: 10r, 10r + 1, ... */
static accel_status
gathers(accel *a)
{
	int64_t	mine[8], all[16];
	int	rank = accel_rank(a), world = accel_world(a);
	size_t	n, at = 0, total = (size_t)(world * (world + 1) / 2);

	for (int i = 0; i <= rank; i++)
		mine[i] = 10 * rank + i;
	GOOD(accel_gather(a, mine, (size_t)rank + 1, 8, all, total, &n));
	HOLDS(n == total);
	for (int r = 0; r < world; r++)
		for (int i = 0; i <= r; i++)
			HOLDS(all[at++] == 10 * r + i);
	/* As many on each; and none from some. */
	GOOD(accel_gather(a, mine, 1, 8, all, 16, &n));
	HOLDS(n == (size_t)world && all[world - 1] == 10 * (world - 1));
	GOOD(accel_gather(a, mine, rank == world - 1, 8, all, 16, &n));
	HOLDS(n == 1 && all[0] == 10 * (world - 1));
	GOOD(accel_gather(a, NULL, 0, 8, NULL, 0, &n));
	HOLDS(n == 0);
	if (world == 1)
		return ACCEL_OK;
	HOLDS(accel_gather(a, mine, (size_t)rank + 1, 8, all,
	    rank == 1 ? total - 1 : total, &n) == ACCEL_EINVAL);
	HOLDS(strstr(accel_errmsg(), "accel_gather: rank 1 has room for"));
	return ACCEL_OK;
}

static accel_status
objects(accel *a)
{
	accel_objects	mine = ACCEL_OBJECTS_INIT, all;
	char		text[64];
	int		rank = accel_rank(a), world = accel_world(a);
	size_t		k = 0;

	/* Rank r has r strings of unequal lengths, and one empty. */
	for (int i = 0; i < rank; i++) {
		snprintf(text, sizeof(text), "%d:%.*s", rank, 5 * i,
		    "abcdefghijklmnopqrstuvwxyz");
		GOOD(accel_objects_add(&mine, text, strlen(text)));
	}
	GOOD(accel_objects_add(&mine, NULL, 0));
	GOOD(accel_gather_objects(a, &mine, &all));
	HOLDS(all.count == (size_t)(world * (world + 1) / 2));
	for (int r = 0; r < world; r++) {
		for (int i = 0; i < r; i++, k++) {
			snprintf(text, sizeof(text), "%d:%.*s", r, 5 * i,
			    "abcdefghijklmnopqrstuvwxyz");
			HOLDS(all.offset[k + 1] - all.offset[k] ==
			    strlen(text));
			HOLDS(memcmp(all.data + all.offset[k], text,
			    strlen(text)) == 0);
		}
		HOLDS(all.offset[k + 1] == all.offset[k]);
		k++;
	}
	accel_objects_free(&all);
	GOOD(accel_broadcast_objects(a, &mine, world - 1));
	HOLDS(mine.count == (size_t)world);
	HOLDS(mine.offset[world] == mine.offset[world - 1]);
	if (world > 1)
		HOLDS(memcmp(mine.data, text, 2) == 0);
	accel_objects_free(&mine);
	/* An empty list is a list. */
	GOOD(accel_gather_objects(a, &mine, &all));
	HOLDS(all.count == 0);
	GOOD(accel_broadcast_objects(a, &mine, 0));
	HOLDS(mine.count == 0);
	accel_objects_free(&mine);
	return ACCEL_OK;
}

static accel_status
reduces(accel *a)
{
	double	x[2] = { accel_rank(a) + 1, -accel_rank(a) };
	int	world = accel_world(a), last = world - 1;
	int64_t	big = (int64_t)1 << 40;

	GOOD(accel_reduce(a, x, 2, ACCEL_F64, ACCEL_AVG, last));
	if (accel_rank(a) == last)
		HOLDS(x[0] == (world + 1) / 2.0 && x[1] == -last / 2.0);
	else
		HOLDS(x[0] == accel_rank(a) + 1 && x[1] == -accel_rank(a));
	GOOD(accel_reduce(a, &big, 1, ACCEL_I64, ACCEL_SUM, 0));
	HOLDS(big == (accel_rank(a) == 0 ? world : 1) * ((int64_t)1 << 40));
	if (world == 1)
		return ACCEL_OK;
	HOLDS(accel_reduce(a, x, accel_rank(a) == 0 ? 2 : 1, ACCEL_F64,
	    ACCEL_SUM, 0) == ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_reduce: n is 2 on rank 0 and 1 on "
	    "rank"));
	HOLDS(accel_reduce(a, x, 1, ACCEL_F64, ACCEL_SUM, accel_rank(a) == 1 ?
	    7 : 0) == (accel_rank(a) == 1 ? ACCEL_EINVAL : ACCEL_EMISMATCH));
	HOLDS(strstr(accel_errmsg(), "rank 1: root is no rank"));
	return ACCEL_OK;
}

/* The number in that type; its size. */
static size_t
number(void *out, double x, accel_dtype t)
{
	float	 f32 = (float)x;
	int32_t	 i32 = (int32_t)x;
	int64_t	 i64 = (int64_t)x;
	uint8_t	 u8 = (uint8_t)x;
	uint16_t half = t == ACCEL_F16 ? f16_of(f32) : bf16_of(f32);
	const void *from[] = { &f32, &half, &half, &x, &i32, &i64, &u8 };
	size_t	 size[] = { 4, 2, 2, 8, 4, 8, 1 };

	memcpy(out, from[t], size[t]);
	return size[t];
}

/* Rank r has 3, 4, 5 ... and 10 - r: of every type, by every operation. */
static accel_status
types(accel *a)
{
	double	rank = accel_rank(a), world = accel_world(a);

	for (int t = ACCEL_F32; t <= ACCEL_U8; t++)
		for (int op = ACCEL_SUM; op <= ACCEL_MIN; op++) {
			double	want[2] = { 3 * world + world * (world - 1) / 2,
			    10 * world - world * (world - 1) / 2 };
			char	got[16], right[16];
			size_t	size = number(got, 3 + rank, (accel_dtype)t);

			number(got + size, 10 - rank, (accel_dtype)t);
			if (op == ACCEL_AVG) {
				want[0] /= world;
				want[1] /= world;
			} else if (op != ACCEL_SUM) {
				want[0] = op == ACCEL_MAX ? 2 + world : 3;
				want[1] = op == ACCEL_MAX ? 10 : 11 - world;
			}
			number(right, want[0], (accel_dtype)t);
			number(right + size, want[1], (accel_dtype)t);
			if (op == ACCEL_AVG && t >= ACCEL_I32) {
				HOLDS(accel_all_reduce(a, got, 2,
				    (accel_dtype)t, ACCEL_AVG) ==
				    ACCEL_EINVAL);
				continue;
			}
			GOOD(accel_all_reduce(a, got, 2, (accel_dtype)t,
			    (accel_op)op));
			HOLDS(memcmp(got, right, 2 * size) == 0);
		}
	HOLDS(accel_all_reduce(a, NULL, 0, (accel_dtype)7, ACCEL_SUM) ==
	    ACCEL_EINVAL);
	return ACCEL_OK;
}

/* Whatever way the backend takes for a size: each element is the sum of its
 * own. */
static accel_status
sizes(accel *a)
{
	static const size_t kib[] = { 1, 8, 9, 31, 32, 2048, 2049, 16384, 16385,
	    40000 };
	float	world = (float)accel_world(a), rank = (float)accel_rank(a);
	float	of_ranks = world * (world - 1) / 2;
	float  *x = malloc(40000 * 1024);

	HOLDS(x != NULL);
	for (size_t k = 0; k < sizeof(kib) / sizeof(kib[0]); k++) {
		size_t	n = kib[k] * 256, wrong = 0;

		for (size_t i = 0; i < n; i++)
			x[i] = (float)(i % 1000) + rank;
		GOOD(accel_all_reduce(a, x, n, ACCEL_F32, ACCEL_SUM));
		for (size_t i = 0; i < n; i++)
			wrong += x[i] != (float)(i % 1000) * world + of_ranks;
		HOLDS(wrong == 0);
	}
	free(x);
	return ACCEL_OK;
}

/* 2 x (rank + 1) x 3, padded on the middle axis. */
static accel_status
pads(accel *a)
{
	int	 rank = accel_rank(a), world = accel_world(a);
	int64_t	 shape[3] = { 2, rank + 1, 3 }, got[3];
	int32_t	 in[2 * 4 * 3], out[2 * 4 * 3];
	size_t	 room = (size_t)world * 2 * 3 * 4;

	for (int i = 0; i < 2 * (rank + 1) * 3; i++)
		in[i] = 100 * rank + i;
	for (int front = 0; front < 2; front++) {
		GOOD(accel_pad_across(a, in, shape, 3, 1, ACCEL_I32, -7, front,
		    NULL, 0, got));
		HOLDS(got[0] == 2 && got[1] == world && got[2] == 3);
		GOOD(accel_pad_across(a, in, shape, 3, 1, ACCEL_I32, -7, front,
		    out, room, got));
		for (int i = 0, k = 0; i < 2; i++)
			for (int j = 0; j < world; j++)
				for (int l = 0; l < 3; l++) {
					int at = front ? j - (world - rank - 1)
					    : j;
					int want = at < 0 || at > rank ? -7 :
					    in[(i * (rank + 1) + at) * 3 + l];

					HOLDS(out[k++] == want);
				}
	}
	if (rank == world - 1 && world > 1)
		shape[2] = 4;
	HOLDS(accel_pad_across(a, in, shape, 3, 1, ACCEL_I32, 0, 0, out, room -
	    1, got) == (world > 1 ? ACCEL_EMISMATCH : ACCEL_EINVAL));
	if (world > 1)
		HOLDS(strstr(accel_errmsg(), "shape[2] is 3 on rank 0 and 4 "
		    "on rank"));
	HOLDS(accel_pad_across(a, in, shape, 3, 3, ACCEL_I32, 0, 0, out, room,
	    got) == ACCEL_EINVAL);
	return ACCEL_OK;
}

/* A padding of each type is that type's number. */
static accel_status
pad_types(accel *a)
{
	static const struct {
		accel_dtype type;
		size_t size;
		unsigned char one[8];
	} types[] = {
		{ ACCEL_F32, 4, { 0, 0, 0x80, 0xbf } },
		{ ACCEL_F16, 2, { 0, 0xbc } },
		{ ACCEL_BF16, 2, { 0x80, 0xbf } },
		{ ACCEL_F64, 8, { 0, 0, 0, 0, 0, 0, 0xf0, 0xbf } },
		{ ACCEL_I64, 8, { 255, 255, 255, 255, 255, 255, 255, 255 } },
	};
	int64_t		shape = accel_rank(a) == 0, got;
	unsigned char	in[8] = { 0 }, out[8];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		GOOD(accel_pad_across(a, in, &shape, 1, 0, types[i].type, -1,
		    0, out, types[i].size, &got));
		HOLDS(got == 1);
		HOLDS(memcmp(out, shape == 1 ? in : types[i].one,
		    types[i].size) == 0);
	}
	return ACCEL_OK;
}

static accel_status
triggers(accel *a)
{
	int set;

	GOOD(accel_check_trigger(a, &set));
	HOLDS(!set);
	if (accel_on_last(a))
		accel_set_trigger(a);
	GOOD(accel_check_trigger(a, &set));
	HOLDS(set);
	GOOD(accel_check_trigger(a, &set));
	HOLDS(!set);
	return ACCEL_OK;
}

static int	made;			/* by this rank, or found */
static char	cache[64];

static accel_status
fill_cache(void *user)
{
	FILE *file = fopen(cache, "r");

	(void)user;
	made = file == NULL ? 1 : 2;
	if (file == NULL)
		file = fopen(cache, "w");
	if (file == NULL)
		return ACCEL_EIO;
	fclose(file);
	return ACCEL_OK;
}

static accel_status
fail_first(void *user)
{
	const accel *a = user;

	return accel_on_main(a) ? accel__fail(ACCEL_EIO, "no disk") :
	    ACCEL_OK;
}

static accel_status
first(accel *a)
{
	unlink(cache);
	GOOD(accel_barrier(a));
	GOOD(accel_main_first(a, fill_cache, NULL));
	HOLDS(made == (accel_on_main(a) ? 1 : 2));
	GOOD(accel_barrier(a));
	unlink(cache);
	GOOD(accel_barrier(a));
	GOOD(accel_local_main_first(a, fill_cache, NULL));
	HOLDS(made == (accel_on_local_main(a) ? 1 : 2));
	HOLDS(accel_main_first(a, fail_first, a) == ACCEL_EIO);
	HOLDS(strstr(accel_errmsg(), "accel_main_first: rank 0 went first and "
	    "returned -3: no disk"));
	return ACCEL_OK;
}

static accel_status
splits(accel *a)
{
	int64_t	begin, count, pad, next = 0;
	int	world = accel_world(a);

	for (int64_t n = 0; n < 11; n++) {
		int64_t sum = 0, most = (n + world - 1) / world;

		accel_split_between(a, n, &begin, &count, &pad);
		HOLDS(count + pad == most && pad >= 0 && pad <= 1);
		HOLDS(count == n / world + (accel_rank(a) < n % world));
		/* The shares lie side by side. */
		for (int r = 0; r < world; r++) {
			int64_t b = begin, c = count;

			GOOD(accel_broadcast(a, &b, sizeof(b), r));
			GOOD(accel_broadcast(a, &c, sizeof(c), r));
			HOLDS(b == (r == 0 ? 0 : next));
			next = b + c;
			sum += c;
		}
		HOLDS(sum == n);
	}
	return ACCEL_OK;
}

/* Ranks that are in different calls all hear of it. */
static accel_status
mixes(accel *a)
{
	int	set;
	int64_t	x = 0, all[4];
	size_t	n;

	if (accel_world(a) == 1)
		return ACCEL_OK;
	if (accel_on_last(a))
		HOLDS(accel_check_trigger(a, &set) == ACCEL_EMISMATCH);
	else
		HOLDS(accel_gather(a, &x, 1, 8, all, 4, &n) ==
		    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "rank 0 calls accel_gather, and rank"));
	HOLDS(accel_gather(a, &x, 1, accel_on_last(a) ? 4 : 8, all, 4, &n) ==
	    ACCEL_EMISMATCH);
	HOLDS(strstr(accel_errmsg(), "accel_gather: row_bytes is 8 on rank 0 "
	    "and 4 on rank"));
	/* The longest name is whole. */
	{
		accel_objects	mine = ACCEL_OBJECTS_INIT, list;
		accel_loader	*l;

		GOOD(accel_loader_new(a, 4, 1, 0, 0, &l));
		HOLDS(accel_gather_objects_for_metrics(l, &mine, &list) ==
		    ACCEL_EINVAL);
		HOLDS(strstr(accel_errmsg(), "accel_gather_objects_for_metrics:"
		    " rank"));
		accel_loader_free(l);
	}
	/* And can go on. */
	return accel_barrier(a);
}

static accel_status
prints(accel *a)
{
	HOLDS(accel_on_main(a) == (accel_rank(a) == 0));
	HOLDS(accel_on_last(a) == (accel_rank(a) == accel_world(a) - 1));
	accel_print(a, "# printed by rank %d of %d\n", accel_rank(a),
	    accel_world(a));
	return ACCEL_OK;
}

static accel_status (*const parts[])(accel *) = {
	gathers, objects, types, sizes, reduces, pads, pad_types, triggers, first,
	splits, mixes, prints,
};

static accel_status
run(void *user)
{
	accel *a;
	accel_status st;

	(void)user;
	GOOD(accel_init(NULL, &a));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((st = parts[i](a)) != ACCEL_OK)
			return st;
	NO_LEAKS(a);
	return accel_fini(a);
}

int
main(void)
{
	char dir[] = "/tmp/accel-user-XXXXXX";

	if (!has_backend()) {
		skip("built without MPICH");
		return tap_done();
	}
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	on_worlds(run, NULL, "the collectives of users");
	unlink(cache);
	rmdir(dir);
	return tap_done();
}
