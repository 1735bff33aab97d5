// A program of MPI: a ring of messages of all sizes, then a sum over all ranks. It checks each byte that comes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1 << 20)

static int rank, ranks;

static void die(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char byte(int from, size_t n, size_t i)
{
	return (unsigned char)(31 * from + 7 * n + i + (i >> 8));
}

static void ring(unsigned char *out, unsigned char *in, size_t n)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;

	for (size_t i = 0; i < n; i++)
		out[i] = byte(rank, n, i);
	memset(in, 0, n);
	MPI_Request requests[2];
	MPI_Irecv(in, n, MPI_BYTE, left, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(out, n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (size_t i = 0; i < n; i++)
		if (in[i] != byte(left, n, i))
			die("a wrong byte came around the ring");
}

static void sum(double *mine, double *all, int n)
{
	for (int i = 0; i < n; i++)
		mine[i] = rank + i;
	MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		if (all[i] != ranks * (ranks - 1) / 2 + (double)ranks * i)
			die("a wrong sum");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	unsigned char *out = malloc(MOST), *in = malloc(MOST);
	if (!out || !in)
		die("no memory");
	for (size_t n = 1; n <= MOST; n *= 4)
		ring(out, in, n);
	for (int n = 1; n <= MOST / 8; n *= 8)
		sum((double *)out, (double *)in, n);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	free(out);
	free(in);
	if (!rank)
		printf("%d ranks agree\n", ranks);
	return 0;
}
