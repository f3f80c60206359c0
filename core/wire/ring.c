/*
 * One ring of events, one writer, one reader
 *
 *	+-----------------------------------+------------------------------+
 *	| head: who, tail, head, counters   | events, 8-byte aligned       |
 *	+-----------------------------------+------------------------------+
 *	 one page                            a power of two, mapped twice
 *
 * tail and head are bytes since the start and only grow; their difference is
 * what waits for the reader. The data is mapped a second time right behind
 * itself, so that an event at the end goes on at the start without a seam.
 * The head is filled before the magic number is stored: a reader that comes
 * too early sees no ring. The writer may be killed at any instruction: what
 * it had committed is whole, what it had not is not there.
 *
 * Nothing in the file is trusted by the reader: another process wrote it.
 *
 * Not here: what an event is (event.h), when to wait (shim/trace/record.c).
 */
#include "core/wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6d69746162726556ull /* "Verbatim" */

enum { VERSION = 1 };

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* The head, then the data twice. */
static int map(struct ring *ring, int fd, uint64_t bytes)
{
	const int prot = PROT_READ | PROT_WRITE;
	uint8_t *at = mmap(NULL, RING_PAGE + 2 * bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	if (mmap(at, RING_PAGE + bytes, prot, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(at + RING_PAGE + bytes, bytes, prot, MAP_SHARED | MAP_FIXED, fd, RING_PAGE) ==
		    MAP_FAILED) {
		int err = -errno;

		munmap(at, RING_PAGE + 2 * bytes);
		return err;
	}
	*ring = (struct ring){ .head = (void *)at, .data = at + RING_PAGE, .mask = bytes - 1 };
	return 0;
}

/* Beyond RLIMIT_FSIZE a file does not only not grow: the process gets SIGXFSZ. */
static bool too_long(uint64_t file_bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < file_bytes;
}

int ring_create(struct ring *ring, const char *path, uint64_t bytes, uint32_t index)
{
	int fd, err;

	if (!is_power_of_two(bytes) || bytes < RING_MIN)
		return -EINVAL;
	if (too_long(RING_PAGE + bytes))
		return -EFBIG;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* reserved now: a full file system must not become a SIGBUS later */
	err = -posix_fallocate(fd, 0, (off_t)(RING_PAGE + bytes));
	if (!err)
		err = map(ring, fd, bytes);
	close(fd);
	if (err) {
		unlink(path);
		return err;
	}
	ring->limit = bytes;
	ring->head->version = VERSION;
	ring->head->index = index;
	ring->head->bytes = bytes;
	ring->head->pid = (uint32_t)getpid();
	ring->head->tid = (uint32_t)gettid();
	/* pairs with the fence in head_valid() */
	__atomic_store_n(&ring->head->magic, MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static bool head_valid(const struct ring_head *head, uint64_t file_bytes)
{
	/* pairs with the store in ring_create() */
	return __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == MAGIC &&
	       head->version == VERSION && is_power_of_two(head->bytes) &&
	       head->bytes >= RING_MIN && head->bytes + RING_PAGE == file_bytes;
}

int ring_open(struct ring *ring, const char *path)
{
	struct stat st;
	struct ring_head *head;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int err = -EPROTO;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < RING_PAGE + RING_MIN)
		goto out;
	head = mmap(NULL, RING_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		goto out;
	if (head_valid(head, (uint64_t)st.st_size))
		err = map(ring, fd, head->bytes);
	munmap(head, RING_PAGE);
out:
	close(fd);
	return err;
}

void ring_close(struct ring *ring)
{
	if (ring->head)
		munmap(ring->head, RING_PAGE + 2 * (ring->mask + 1));
	*ring = (struct ring){ 0 };
}

void ring_drop(struct ring *ring, uint64_t ticks)
{
	struct ring_head *head = ring->head;
	uint64_t n = atomic_load_explicit(&head->dropped, memory_order_relaxed);

	if (!n)
		atomic_store_explicit(&head->drop_first, ticks, memory_order_relaxed);
	atomic_store_explicit(&head->drop_last, ticks, memory_order_relaxed);
	/* pairs with the collector's acquire load: the times are there with the count */
	atomic_store_explicit(&head->dropped, n + 1, memory_order_release);
}

int ring_peek(struct ring *ring, const struct event_head **ret_event)
{
	/* pairs with the store in ring_commit() */
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	uint64_t waiting = tail - ring->reserved;
	const struct event_head *event = (const void *)(ring->data + (ring->reserved & ring->mask));
	size_t bytes;

	if (!waiting)
		return 0;
	if (waiting > ring->mask + 1 || waiting < sizeof(*event) || tail % 8)
		return -EBADMSG;
	bytes = event->words * 8u;
	if (bytes < sizeof(*event) || bytes > waiting || bytes > RING_EVENT_MAX ||
	    !event->type || event->type >= EVENT_TYPES || event->seq != ring->seq + 1)
		return -EBADMSG;
	*ret_event = event;
	return (int)bytes;
}
