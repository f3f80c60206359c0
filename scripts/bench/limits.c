/*
 * Limits of the machine for two processes
 *
 *	half_trip       one way of a flag with 8 bytes beside it in shared memory, ns
 *	vm_write_8      process_vm_writev() of 8 bytes, ns
 *	vm_write_1m     the same of 1 MiB, ns
 *	memcpy_1m       memcpy() of 1 MiB, ns
 *
 * The two are bound to the first and the last allowed processor. With any argument only half_trip
 * is measured, once: the current distance of the processors.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scripts/bench/sample.h"

enum { MIB = 1 << 20, TRIPS = 4000, SMALL_CALLS = 400, BIG_CALLS = 10 };

struct mail {
	_Alignas(64) _Atomic uint64_t flag;
	uint64_t payload;
};

struct shared {
	struct mail there, back;
	uint8_t *target; /* in the other process */
};

struct copy {
	pid_t peer;
	uint8_t *from, *to;
	size_t bytes;
};

static struct shared *shared;

static void bind_to(bool first)
{
	cpu_set_t may, one;
	int chosen = -1;

	sched_getaffinity(0, sizeof(may), &may);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && (chosen < 0 || !first))
			chosen = i;
	CPU_ZERO(&one);
	CPU_SET(chosen, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void wait_for(struct mail *mail, uint64_t n)
{
	/* pairs with the store in send_mail() */
	while (atomic_load_explicit(&mail->flag, memory_order_acquire) != n)
		;
}

static void send_mail(struct mail *mail, uint64_t n)
{
	mail->payload = n;
	/* pairs with the load in wait_for() */
	atomic_store_explicit(&mail->flag, n, memory_order_release);
}

static void make_trips(void *unused, long n)
{
	uint64_t last = atomic_load_explicit(&shared->there.flag, memory_order_relaxed);

	(void)unused;
	for (uint64_t i = 1; i <= (uint64_t)n / 2; i++) {
		send_mail(&shared->there, last + i);
		wait_for(&shared->back, last + i);
	}
}

static void answer_trips(void)
{
	for (uint64_t n = 1;; n++) {
		wait_for(&shared->there, n);
		if (shared->there.payload == UINT64_MAX)
			return;
		send_mail(&shared->back, n);
	}
}

static void end_trips(void)
{
	uint64_t next = atomic_load_explicit(&shared->there.flag, memory_order_relaxed) + 1;

	shared->there.payload = UINT64_MAX;
	/* pairs with the load in wait_for() */
	atomic_store_explicit(&shared->there.flag, next, memory_order_release);
}

static void vm_writes(void *arg, long n)
{
	const struct copy *copy = arg;
	struct iovec from = { copy->from, copy->bytes }, to = { copy->to, copy->bytes };

	while (n--) {
		if (process_vm_writev(copy->peer, &from, 1, &to, 1, 0) != (ssize_t)copy->bytes) {
			perror("process_vm_writev");
			exit(1);
		}
	}
}

static void copy_memory(void *arg, long n)
{
	const struct copy *copy = arg;

	while (n--) {
		memcpy(copy->to, copy->from, copy->bytes);
		__asm__ volatile("" : : : "memory");
	}
}

static uint8_t *map_pages(size_t bytes)
{
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		exit(1);
	memset(at, 1, bytes);
	return at;
}

static void be_peer(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bind_to(false);
	memset(shared->target, 2, MIB); /* from here on it has its own copy */
	answer_trips();
	pause(); /* written to, until it is killed */
}

static void copy_rows(pid_t peer)
{
	struct copy copy = {
		.peer = peer, .from = map_pages(MIB), .to = shared->target, .bytes = 8
	};
	struct copy local = { .from = copy.from, .to = map_pages(MIB), .bytes = MIB };
	struct side side = { .run = vm_writes, .arg = &copy };
	struct side memcpy_side = { .run = copy_memory, .arg = &local };

	sample_cost("vm_write_8", &side, SMALL_CALLS);
	copy.bytes = MIB;
	sample_cost("vm_write_1m", &side, BIG_CALLS);
	sample_cost("memcpy_1m", &memcpy_side, BIG_CALLS);
}

/* The minimum of some runs. */
static void print_distance(void)
{
	double least = 1e9, now;

	for (int i = 0; i < 3; i++) {
		uint64_t start = sample_now();

		make_trips(NULL, TRIPS / 4);
		now = (double)(sample_now() - start) / (TRIPS / 4);
		least = now < least ? now : least;
	}
	sample_print("half_trip", &least, 1);
}

int main(int argc, char **argv)
{
	struct side side = { .run = make_trips };
	pid_t peer;

	(void)argv;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	shared->target = map_pages(MIB);
	peer = fork();
	if (!peer)
		be_peer();
	bind_to(true);
	if (argc > 1)
		print_distance();
	else
		sample_cost("half_trip", &side, TRIPS);
	end_trips();
	if (argc < 2)
		copy_rows(peer);
	kill(peer, SIGKILL);
	return waitpid(peer, NULL, 0) == peer ? 0 : 1;
}
