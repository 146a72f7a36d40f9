/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI program that knows nothing of accel. */
#include <mpi.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	int rank, world, mine, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world);
	mine = rank + 1;
	MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, sum %d\n", world, sum);
	MPI_Finalize();
	return 0;
}
