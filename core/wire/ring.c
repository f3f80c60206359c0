/*
 * One ring of events, one writer, one reader
 *
 *	+-----------------------------------+------------------------------+
 *	| head: who, tail, head, counters   | events, 8-byte aligned       |
 *	+-----------------------------------+------------------------------+
 *	 one page                            a power of two, mapped twice
 *
 * tail and head count bytes since the start and only grow; their difference is the unread data. The
 * data is mapped twice in a row, so that an event at the end continues at the start and is still
 * contiguous in memory. The head is filled before the magic number is stored: a reader that opens
 * the file too early finds no ring. The writer may be killed at any instruction: events that it has
 * committed are complete; uncommitted ones do not exist.
 *
 * A growing ring is read after the recording. It never wraps: two consecutive pieces of its file
 * are mapped, so that an event may cross the boundary, and both mappings move on by one piece when
 * the first piece is full:
 *
 *	| head | 0 | 1 | 2 | 3 |     in memory: 1 2, then 2 3
 *
 * The field `head` has the position of the first mapped piece.
 *
 * A narrow ring has further areas after its data (ring_area.c).
 *
 * Not here: reading (ring_read.c), the format of events (event.h), waiting
 * (shim/trace/ring/wait.c).
 */
#include "core/wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/wire/dir.h"
#include "core/wire/ring_priv.h"

#define MAGIC 0x6d69746162726556ull /* "Verbatim" */

enum { VERSION = 5 };

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Map the head, then the data twice; or, of a growing ring, the head and the first two pieces. */
static int map_file(struct ring *ring, int fd, uint64_t bytes, bool grows, int sharing)
{
	const int prot = PROT_READ | PROT_WRITE, flags = sharing | MAP_FIXED;
	const off_t second = (off_t)(grows ? RING_PAGE + bytes : RING_PAGE);
	uint8_t *at = mmap(NULL, RING_PAGE + 2 * bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	if (mmap(at, RING_PAGE + bytes, prot, flags, fd, 0) == MAP_FAILED ||
	    mmap(at + RING_PAGE + bytes, bytes, prot, flags, fd, second) == MAP_FAILED) {
		int err = -errno;

		munmap(at, RING_PAGE + 2 * bytes);
		return err;
	}
	*ring = (struct ring){ .head = (void *)at,
			       .data = at + RING_PAGE,
			       .mask = bytes - 1,
			       .most = bytes,
			       .offset = RING_PAGE };
	return 0;
}

/*
 * Is the length above RLIMIT_FSIZE? Then the file would not grow, and the process would get
 * SIGXFSZ.
 */
static bool exceeds_limit(uint64_t file_bytes)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < file_bytes;
}

static void fill_head(struct ring *ring, uint64_t bytes, uint32_t index, uint64_t image, bool grows)
{
	ring->limit = 0;
	ring->most = bytes;
	ring->head->version = VERSION;
	ring->head->index = index;
	ring->head->bytes = bytes;
	ring->head->narrow = ring->mask + 1;
	ring->head->grows = grows;
	ring->head->image = image;
	ring->head->pid = (uint32_t)getpid();
	ring->head->tid = (uint32_t)gettid();
	ring->head->owner = ring->head->tid;
	/* pairs with the load in read_shape() */
	__atomic_store_n(&ring->head->magic, MAGIC, __ATOMIC_RELEASE);
}

int ring_create_alone(struct ring *ring, uint64_t bytes, uint32_t index)
{
	int fd, err = 0;

	if (!is_power_of_two(bytes) || bytes < RING_MIN)
		return -EINVAL;
	if (exceeds_limit(RING_PAGE + bytes))
		return -EFBIG;
	fd = memfd_create("verbatim", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)(RING_PAGE + bytes)))
		err = -errno;
	if (!err)
		err = map_file(ring, fd, bytes, false, MAP_SHARED);
	close(fd);
	if (!err)
		fill_head(ring, bytes, index, 0, false);
	return err;
}

/* Length of the file of a ring whose first area has @first bytes, its last @bytes. */
static uint64_t file_length(uint64_t first, uint64_t bytes)
{
	uint64_t length = RING_PAGE + bytes;

	for (uint64_t area = first; area < bytes; area *= 4)
		length += area;
	return length;
}

/*
 * Create a file of @length bytes, and allocate its first @reserved bytes: otherwise a full file
 * system would raise SIGBUS later.
 */
static int make_file(int at, const char *name, uint64_t length, uint64_t reserved)
{
	int fd, err;

	if (exceeds_limit(length))
		return -EFBIG;
	fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, (off_t)reserved);
	if (!err && length > reserved && ftruncate(fd, (off_t)length))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	unlinkat(at, name, 0);
	return err;
}

/* Create a ring of up to @bytes, whose first area has @first bytes. */
static int create_ring(struct ring *ring, int at, const char *name, uint64_t first, uint64_t bytes,
		       uint32_t index, uint64_t image, bool grows)
{
	const uint64_t length = grows ? RING_PAGE + 2 * bytes : file_length(first, bytes);
	int fd, err;

	if (!is_power_of_two(bytes) || first < RING_NARROW || bytes < first)
		return -EINVAL;
	fd = make_file(at, name, length, grows ? length : RING_PAGE + first);
	if (fd < 0)
		return fd;
	err = map_file(ring, fd, first, grows, MAP_SHARED);
	close(fd);
	if (err) {
		unlinkat(at, name, 0);
		return err;
	}
	fill_head(ring, bytes, index, image, grows);
	return 0;
}

int ring_create(struct ring *ring, const char *path, uint64_t bytes, uint32_t index, uint64_t image)
{
	return bytes < RING_MIN
		       ? -EINVAL
		       : create_ring(ring, AT_FDCWD, path, bytes, bytes, index, image, false);
}

int ring_create_narrow(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		       uint64_t image)
{
	int err = create_ring(ring, at, name, RING_NARROW, bytes, index, image, false);

	/* RLIMIT_FSIZE forbids this length: create a ring with only its first area */
	return err == -EFBIG
		       ? create_ring(ring, at, name, RING_NARROW, RING_NARROW, index, image, false)
		       : err;
}

int ring_create_growing(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
			uint64_t image)
{
	return bytes < RING_MIN ? -EINVAL
				: create_ring(ring, at, name, bytes, bytes, index, image, true);
}

int ring_move(struct ring *ring, int fd, uint64_t first, int sharing)
{
	void *at = mmap(ring->data, 2 * (ring->mask + 1), PROT_READ | PROT_WRITE,
			sharing | MAP_FIXED, fd, (off_t)(RING_PAGE + first));

	return at == MAP_FAILED ? -errno : 0;
}

int ring_grow(struct ring *ring, int at, const char *name)
{
	const uint64_t first = ring->reserved & ~ring->mask, bytes = ring->mask + 1;
	uint64_t file_bytes;
	int fd, err;

	if (exceeds_limit(RING_PAGE + first + 2 * bytes))
		return -EFBIG;
	fd = dir_open_file(at, name, O_RDWR, &file_bytes);
	if (fd < 0)
		return fd;
	err = -posix_fallocate(fd, (off_t)(RING_PAGE + first + bytes), (off_t)bytes);
	if (!err)
		err = ring_move(ring, fd, first, MAP_SHARED);
	close(fd);
	if (err)
		return err;
	/* ring_has_room() computes the free space from this position */
	atomic_store_explicit(&ring->head->head, first, memory_order_release);
	ring->limit = first + bytes;
	return 0;
}

void ring_trim(struct ring *ring, int at, const char *name)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_relaxed), file_bytes;
	int fd = ring->head->grows ? dir_open_file(at, name, O_RDWR, &file_bytes) : -1;

	if (fd < 0)
		return;
	if (ftruncate(fd, (off_t)(RING_PAGE + tail)))
		file_bytes = 0; /* cannot truncate: the file remains longer than necessary */
	close(fd);
}

/* The fields of the head that a reader uses when it opens a ring; each word is read once. */
struct shape {
	uint64_t bytes, narrow;
	bool grows;
};

bool ring_is_damaged(const struct ring *ring)
{
	return __atomic_load_n(&ring->head->magic, __ATOMIC_RELAXED) != MAGIC;
}

static bool read_shape(const struct ring_head *head, uint64_t file_bytes, struct shape *shape)
{
	/* pairs with the store in fill_head() */
	uint64_t magic = __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE);

	shape->bytes = __atomic_load_n(&head->bytes, __ATOMIC_RELAXED);
	shape->narrow = __atomic_load_n(&head->narrow, __ATOMIC_RELAXED);
	shape->grows = __atomic_load_n(&head->grows, __ATOMIC_RELAXED);
	return magic == MAGIC && __atomic_load_n(&head->version, __ATOMIC_RELAXED) == VERSION &&
	       is_power_of_two(shape->bytes) && shape->bytes >= RING_NARROW &&
	       shape->bytes <= RING_MAX &&
	       (shape->narrow == shape->bytes || (shape->narrow == RING_NARROW && !shape->grows)) &&
	       (shape->grows || file_bytes >= file_length(shape->narrow, shape->bytes));
}

/*
 * Prepare @ring for reading. A duplicate of @fd stays open if the reader must map other parts
 * later.
 */
static int start_reading(struct ring *ring, int fd, uint64_t file_bytes, const struct shape *shape,
			 int sharing)
{
	ring->room = shape->grows ? file_bytes - RING_PAGE : ring->mask + 1;
	ring->limit = shape->grows ? ring->mask + 1 : UINT64_MAX;
	ring->most = shape->bytes;
	ring->grows = shape->grows;
	if (shape->grows ||
	    (ring_next_area_bytes(ring) && (sharing == MAP_PRIVATE || area_needs_file(ring))))
		ring->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return ring->fd < 0 ? -errno : 0;
}

/* Is the file @fd a ring? */
static bool is_ring_file(int fd, uint64_t file_bytes, struct shape *shape)
{
	struct ring_head *head;
	bool is_ring;

	if (file_bytes < RING_PAGE)
		return false;
	head = mmap(NULL, RING_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return false;
	is_ring = read_shape(head, file_bytes, shape);
	munmap(head, RING_PAGE);
	return is_ring;
}

static int open_shared_ring(struct ring *ring, int at, const char *name, int sharing)
{
	struct ring made = { 0 };
	struct shape shape;
	uint64_t file_bytes;
	int fd = dir_open_file(at, name, O_RDWR, &file_bytes);
	int err = -EPROTO;

	if (fd < 0)
		return fd;
	if (is_ring_file(fd, file_bytes, &shape))
		err = map_file(&made, fd, shape.narrow, shape.grows, sharing);
	if (!err)
		err = start_reading(&made, fd, file_bytes, &shape, sharing);
	if (err)
		ring_close(&made);
	else
		*ring = made;
	close(fd);
	return err;
}

int ring_open_at(struct ring *ring, int at, const char *name)
{
	return open_shared_ring(ring, at, name, MAP_SHARED);
}

int ring_open(struct ring *ring, const char *path)
{
	return ring_open_at(ring, AT_FDCWD, path);
}

/*
 * Start at the oldest event that still exists: earlier ones were overwritten, or their area was
 * freed.
 */
static void start_at_oldest(struct ring *ring)
{
	const struct event_head *event;

	ring->reserved = atomic_load_explicit(&ring->head->head, memory_order_relaxed);
	if (ring->reserved % 8 || area_find(ring, ring->reserved))
		return; /* ring_peek() will report the damage */
	event = (const void *)(ring->data + (ring->reserved & ring->mask));
	ring->seq = __atomic_load_n(&event->seq, __ATOMIC_RELAXED) - 1;
}

int ring_open_leftover_at(struct ring *ring, int at, const char *name)
{
	int err = open_shared_ring(ring, at, name, MAP_PRIVATE);

	if (!err && !ring->grows &&
	    (atomic_load_explicit(&ring->head->tail, memory_order_relaxed) > ring->mask + 1 ||
	     atomic_load_explicit(&ring->head->turned, memory_order_relaxed)))
		start_at_oldest(ring);
	return err;
}

int ring_open_leftover(struct ring *ring, const char *path)
{
	return ring_open_leftover_at(ring, AT_FDCWD, path);
}

void ring_close_data(struct ring *ring)
{
	if (ring->data)
		munmap(ring->data, 2 * (ring->mask + 1));
	ring->data = NULL;
}

/*
 * Finds unpublished events after the tail: their numbers are consecutive, and the last event has
 * number ring->seq. Older events in that memory may also end with this number, at the other end of
 * the ring.
 */
void ring_repair(struct ring *ring)
{
	const uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_relaxed);
	const struct event_head *event;
	uint64_t at = tail;
	uint32_t seq = 0;

	ring->reserved = tail;
	do {
		event = (const void *)(ring->data + (at & ring->mask));
		if (!event->words || (at > tail && event->seq != seq + 1))
			return;
		seq = event->seq;
		at += event->words * 8u;
		if (at - tail > ring->mask / 2)
			return;
	} while (seq != ring->seq);
	ring->reserved = at;
	/* pairs with the load in ring_peek() */
	atomic_store_explicit(&ring->head->tail, at, memory_order_release);
}

void ring_close(struct ring *ring)
{
	if (ring->head)
		munmap(ring->head, RING_PAGE);
	ring_close_data(ring);
	if (ring->fd > 0)
		close(ring->fd);
	free(ring->copy);
	*ring = (struct ring){ 0 };
}

void ring_drop(struct ring *ring, uint64_t ticks)
{
	struct ring_head *head = ring->head;
	uint64_t n = atomic_load_explicit(&head->dropped, memory_order_relaxed);

	if (!n)
		atomic_store_explicit(&head->drop_first, ticks, memory_order_relaxed);
	atomic_store_explicit(&head->drop_last, ticks, memory_order_relaxed);
	/*
	 * pairs with the acquire load in ring_read_head(): a reader of this count finds valid times
	 */
	atomic_store_explicit(&head->dropped, n + 1, memory_order_release);
}
