/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deal: reads lines "SAMPLES BATCH RANKS FLAGS SEED EPOCH SKIP" and prints for
 * each the batches of every rank, as a list of lists of lists in JSON.  FLAGS:
 * "-", or of h (shuffle), p (split), u (uneven), d (drop last), b (rank 0
 * reads), i (a stream), t (a thread reads ahead).
 */
#include <stdlib.h>
#include <string.h>

#include "tests/train/deal.h"

static uint32_t
flags_of(const char *text)
{
	static const struct {
		char letter;
		uint32_t flag;
	} all[] = { { 'h', ACCEL_SHUFFLE }, { 'p', ACCEL_SPLIT },
	    { 'u', ACCEL_UNEVEN }, { 'd', ACCEL_DROP_LAST },
	    { 'b', ACCEL_DISPATCH } };
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strchr(text, all[i].letter) != NULL)
			flags |= all[i].flag;
	return flags;
}

static void
rank_batches(int64_t n, int batch, int world, int rank, const char *text,
    uint64_t seed, int64_t epoch, int64_t skip)
{
	const struct round	*r;
	const char		*comma = "";
	accel_source		*s;
	struct err		 err = ERR_INIT;
	uint32_t		 flags = flags_of(text);
	struct feed		*f = feed_of(&n, batch, world, rank, flags,
	    seed, strchr(text, 'i') != NULL, strchr(text, 't') ? 2 : 0, &s,
	    &err);

	if (f == NULL || feed_seek(f, epoch, skip, &err) != 0) {
		fprintf(stderr, "deal: %s\n", err.text);
		exit(1);
	}
	printf("[");
	while ((r = feed_next(f, &err)) != NULL && r->status == ACCEL_OK &&
	    !r->over) {
		struct part p = part_of(r, n, batch, world, rank, flags);

		/* A peer that has none gets no batch. */
		if (p.rows == 0)
			continue;
		printf("%s[", comma);
		for (int i = 0; i < p.rows; i++)
			printf("%s%lld", i ? ", " : "",
			    (long long)r->index[p.first + i]);
		printf("]");
		comma = ", ";
	}
	printf("]");
	feed_free(f);
	accel_source_free(s);
}

int
main(void)
{
	long long n, epoch, skip;
	unsigned long long seed;
	int batch, world;
	char text[16];

	while (scanf("%lld %d %d %15s %llu %lld %lld", &n, &batch, &world,
	    text, &seed, &epoch, &skip) == 7) {
		printf("[");
		for (int rank = 0; rank < world; rank++) {
			if (rank > 0)
				printf(", ");
			rank_batches(n, batch, world, rank, text, seed, epoch,
			    skip);
		}
		printf("]\n");
	}
	return 0;
}
