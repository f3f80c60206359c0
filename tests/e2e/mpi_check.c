/*
 * Pairs of ranks exchange messages of many sizes, each way, by send and receive and by one-sided
 * access, and check every byte. Prints "good", or the error.
 *
 *	mpi_check [RANKS [ROUNDS]]	2 ranks, or as many; of the first half with one of the other
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20 };

static int peer;

static unsigned char byte_at(size_t i, int round, int rank)
{
	return (unsigned char)(i * 7 + (i >> 8) + round * 31 + rank * 101);
}

static void fill_buffer(unsigned char *buf, size_t n, int round, int rank)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = byte_at(i, round, rank);
}

static void check_buffer(const unsigned char *buf, size_t n, int round, int rank, const char *what)
{
	for (size_t i = 0; i < n; i++) {
		if (buf[i] == byte_at(i, round, rank))
			continue;
		fprintf(stderr, "%s of %zu bytes: byte %zu is wrong\n", what, n, i);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void exchange_buffers(unsigned char *out, unsigned char *in, int n, int round, int rank)
{
	MPI_Request requests[2];

	fill_buffer(out, n, round, rank);
	memset(in, 0, n);
	MPI_Irecv(in, n, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(out, n, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	check_buffer(in, n, round, peer, "message");
}

static void put_and_get(unsigned char *out, unsigned char *window_at, MPI_Win window, int n,
			int round, int rank)
{
	fill_buffer(out, n, round, rank);
	MPI_Win_fence(0, window);
	MPI_Put(out, n, MPI_BYTE, peer, 0, n, MPI_BYTE, window);
	MPI_Win_fence(0, window);
	check_buffer(window_at, n, round, peer, "put");
	memset(out, 0, n);
	MPI_Get(out, n, MPI_BYTE, peer, 0, n, MPI_BYTE, window);
	MPI_Win_fence(0, window);
	check_buffer(out, n, round, rank, "get");
}

int main(int argc, char **argv)
{
	unsigned char *out = malloc(MOST), *in = malloc(MOST);
	int wanted = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 2000;
	int rank, ranks, sum, round = 0;
	MPI_Win window;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	peer = (rank + ranks / 2) % ranks;
	MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	for (int n = 1; n <= MOST; n *= 4)
		exchange_buffers(out, in, n, round++, rank);
	for (int i = 0; i < rounds; i++)
		exchange_buffers(out, in, i % 100, round++, rank);
	for (int n = 1; n <= MOST; n *= 16)
		put_and_get(out, in, window, n, round++, rank);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Win_free(&window);
	if (rank == 0)
		puts(ranks == wanted && sum == ranks * (ranks - 1) / 2 ? "good"
								       : "the ranks do not meet");
	MPI_Finalize();
	free(out);
	free(in);
	return 0;
}
