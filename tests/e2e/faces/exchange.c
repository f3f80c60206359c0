#include <mpi.h>
#include <stdio.h>
static char bytes[1 << 20];
int main(int argc, char **argv)
{
	int rank, size, i, status = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (i = 1; i < 100; i++) {
		size = i % 2 ? 64 : sizeof(bytes);
		if (!rank)
			bytes[size - 1] = i;
		MPI_Bcast(bytes, size, MPI_CHAR, 0, MPI_COMM_WORLD);
		status |= bytes[size - 1] != i;
	}
	MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!rank && !status)
		puts("all there");
	return MPI_Finalize() || status;
}
