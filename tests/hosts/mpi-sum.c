/* SPDX-License-Identifier: Apache-2.0 */
/* mpi-sum [RANK CODE]: an MPI program that knows nothing of us: sums rank + 1.
 * That rank then ends with that code, while the others wait for it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	int rank, size, mine, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mine = rank + 1;
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("sum %d of %d\n", sum, size);
	if (argc > 2) {
		fflush(stdout);
		if (rank == strtol(argv[1], NULL, 10))
			_Exit((int)strtol(argv[2], NULL, 10));
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
