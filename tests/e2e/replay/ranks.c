/*
 * Ranks that talk to all others at once, in many sizes: ranks ROUNDS
 */
#include <mpi.h>
#include <stdlib.h>

enum { RANKS = 16, MOST = 65000 };

static char in[RANKS][MOST], out[MOST];

static void exchange_round(int round, int rank, int size)
{
	int length = round % 5 == 4 ? MOST : 1 << (round % 13), n = 0;
	MPI_Request requests[2 * RANKS];

	for (int peer = 0; peer < size; peer++) {
		if (peer == rank)
			continue;
		MPI_Irecv(in[peer], MOST, MPI_CHAR, peer, round, MPI_COMM_WORLD, &requests[n++]);
		MPI_Isend(out, length, MPI_CHAR, peer, round, MPI_COMM_WORLD, &requests[n++]);
	}
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	double mine = 1, sum;
	int rank, size;

	if (argc != 2)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < atoi(argv[1]) && size <= RANKS; i++) {
		exchange_round(i, rank, size);
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	return MPI_Finalize();
}
