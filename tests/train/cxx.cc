/* SPDX-License-Identifier: Apache-2.0 */
/* accel.h is a C++ header too. */
#include "runtime/train/accel.h"

#include <cstdio>

/* Rows of memory, and words, as one rank gets them. */
static bool
data(accel *a)
{
	const double rows[] = { 1, 2, 3 };
	accel_loader_config how = ACCEL_LOADER_INIT;
	accel_tokens tokens = ACCEL_TOKENS_INIT;
	accel_objects mine = ACCEL_OBJECTS_INIT, all;
	accel_source *source = nullptr;
	accel_loader *loader = nullptr;
	accel_batch batch;
	double sum = 0;
	bool fine = accel_source_memory(rows, 3, sizeof(rows[0]), &source) ==
	    ACCEL_OK;

	how.batch = 2;
	how.flags = ACCEL_SHUFFLE | ACCEL_UNEVEN;
	fine = fine && accel_loader_open(a, source, &how, &loader) == ACCEL_OK;
	while (fine && accel_next_batch(loader, &batch) == ACCEL_OK)
		for (int i = 0; i < batch.rows; i++)
			sum += static_cast<const double *>(batch.data)[i];
	accel_loader_free(loader);
	accel_source_free(source);
	fine = fine && accel_objects_add(&mine, "word", 4) == ACCEL_OK &&
	    accel_gather_objects(a, &mine, &all) == ACCEL_OK &&
	    all.count == 1;
	accel_objects_free(&mine);
	accel_objects_free(&all);
	return fine && sum == 6 && tokens.size == sizeof(tokens);
}

static accel_status
rank(void *user)
{
	return *static_cast<int *>(user) == 3 ? ACCEL_END : ACCEL_ESTATE;
}

int
main()
{
	accel_config config = ACCEL_CONFIG_INIT;
	accel_spawn_config spawn = ACCEL_SPAWN_INIT;
	accel *a = nullptr;
	int three = 3;
	bool fine = accel_init(&config, &a) == ACCEL_OK &&
	    accel_world(a) == 1 && data(a) && accel_fini(a) == ACCEL_OK;

	std::printf("%sok 1 - a C++ program starts, reads and ends\n",
	    fine ? "" : "not ");
	spawn.limit_s = 60;
	bool forked = accel_spawn(2, rank, &three, &spawn) == ACCEL_OK;
	std::printf("%sok 2 - and forks ranks\n1..2\n", forked ? "" : "not ");
	return !fine || !forked;
}
