/*
 * Messages around a ring of all ranks: turns ROUNDS. The last line is the time of the rounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 100;
	char out[64] = "", in[64];
	double begin;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = -1; i < rounds; i++) {
		if (!i) {
			MPI_Barrier(MPI_COMM_WORLD);
			begin = MPI_Wtime();
		}
		MPI_Sendrecv(out, sizeof(out), MPI_BYTE, (rank + 1) % size, 0, in, sizeof(in),
			     MPI_BYTE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("%.3f\n", MPI_Wtime() - begin);
	MPI_Finalize();
	return 0;
}
