/*
 * Half a round trip of MPI messages between two ranks, comparable with ib_send_lat
 *
 *	mpi_lat BYTES
 *
 * Rank 0 prints "mpi_lat" and the median in microseconds of each of ten runs.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 10, TRIPS = 20000 };

static double time_trips(int rank, char *buf, int bytes)
{
	double start = MPI_Wtime();

	for (int i = 0; i < TRIPS; i++) {
		if (rank == 0)
			MPI_Send(buf, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(buf, bytes, MPI_BYTE, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buf, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - start) * 1e6 / (2 * TRIPS);
}

int main(int argc, char **argv)
{
	int rank, bytes = argc > 1 ? atoi(argv[1]) : 64;
	char *buf = calloc(1, bytes);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	time_trips(rank, buf, bytes);
	for (int i = 0; i < RUNS; i++) {
		double us = time_trips(rank, buf, bytes);

		if (rank == 0)
			printf("mpi_lat %g\n", us);
	}
	MPI_Finalize();
	free(buf);
	return 0;
}
