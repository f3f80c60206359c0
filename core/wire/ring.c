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
 * A ring that grows is read when all is over. It never wraps: two pieces of
 * its file lie in memory, so that an event may go over from one to the other,
 * and both move on when the first is full:
 *
 *	| head | 0 | 1 | 2 | 3 |     in memory: 1 2, then 2 3
 *
 * Its head word says where the first of them begins.
 *
 * A narrow ring has further areas behind its data (ring_area.c).
 *
 * Nothing in the file is trusted by the reader: another process wrote it, and
 * may write while it is read. So events are copied out in bulk, and checked and
 * used in the copy only; of the head each word is read once.
 *
 * Not here: what an event is (event.h), when to wait (shim/trace/wait.c).
 */
#include "core/wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/wire/dir.h"
#include "core/wire/ring_priv.h"

#define MAGIC 0x6d69746162726556ull /* "Verbatim" */

enum {
	VERSION = 4,
	COPY = 16 << 10, /* bytes that are copied at a time: they stay in the first cache */
};

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* The head, then the data twice; or two pieces of data that grows. */
static int map(struct ring *ring, int fd, uint64_t bytes, bool grows, int sharing)
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
	*ring = (struct ring){ .head = (void *)at, .data = at + RING_PAGE, .mask = bytes - 1,
			       .most = bytes, .offset = RING_PAGE };
	return 0;
}

/* Beyond RLIMIT_FSIZE a file does not only not grow: the process gets SIGXFSZ. */
static bool too_long(uint64_t file_bytes)
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
	/* pairs with the fence in head_valid() */
	__atomic_store_n(&ring->head->magic, MAGIC, __ATOMIC_RELEASE);
}

int ring_create_alone(struct ring *ring, uint64_t bytes, uint32_t index)
{
	int fd, err = 0;

	if (!is_power_of_two(bytes) || bytes < RING_MIN)
		return -EINVAL;
	if (too_long(RING_PAGE + bytes))
		return -EFBIG;
	fd = memfd_create("verbatim", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)(RING_PAGE + bytes)))
		err = -errno;
	if (!err)
		err = map(ring, fd, bytes, false, MAP_SHARED);
	close(fd);
	if (!err)
		fill_head(ring, bytes, index, 0, false);
	return err;
}

/* Of a ring whose first area has @first bytes, its last @bytes. */
static uint64_t file_length(uint64_t first, uint64_t bytes)
{
	uint64_t length = RING_PAGE + bytes;

	for (uint64_t area = first; area < bytes; area *= 4)
		length += area;
	return length;
}

/* The first @reserved bytes of @length: a full file system must not become a SIGBUS later. */
static int make_file(int at, const char *name, uint64_t length, uint64_t reserved)
{
	int fd, err;

	if (too_long(length))
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

/* @first bytes of @bytes at once. */
static int create(struct ring *ring, int at, const char *name, uint64_t first, uint64_t bytes,
		  uint32_t index, uint64_t image, bool grows)
{
	const uint64_t length = grows ? RING_PAGE + 2 * bytes : file_length(first, bytes);
	int fd, err;

	if (!is_power_of_two(bytes) || first < RING_NARROW || bytes < first)
		return -EINVAL;
	fd = make_file(at, name, length, grows ? length : RING_PAGE + first);
	if (fd < 0)
		return fd;
	err = map(ring, fd, first, grows, MAP_SHARED);
	close(fd);
	if (err) {
		unlinkat(at, name, 0);
		return err;
	}
	fill_head(ring, bytes, index, image, grows);
	return 0;
}

int ring_create_at(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		   uint64_t image)
{
	return bytes < RING_MIN ? -EINVAL
				: create(ring, at, name, bytes, bytes, index, image, false);
}

int ring_create(struct ring *ring, const char *path, uint64_t bytes, uint32_t index,
		uint64_t image)
{
	return bytes < RING_MIN ? -EINVAL
				: create(ring, AT_FDCWD, path, bytes, bytes, index, image, false);
}

int ring_create_narrow(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		       uint64_t image)
{
	int err = create(ring, at, name, RING_NARROW, bytes, index, image, false);

	/* files may not be as long as that: one that stays narrow */
	return err == -EFBIG ? create(ring, at, name, RING_NARROW, RING_NARROW, index, image, false)
			     : err;
}

int ring_create_growing(struct ring *ring, int at, const char *name, uint64_t bytes,
			uint32_t index, uint64_t image)
{
	return bytes < RING_MIN ? -EINVAL
				: create(ring, at, name, bytes, bytes, index, image, true);
}

/* Both pieces to where piece @first of the file begins; they are there. */
static int move(struct ring *ring, int fd, uint64_t first, int sharing)
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

	if (too_long(RING_PAGE + first + 2 * bytes))
		return -EFBIG;
	fd = dir_open_file(at, name, O_RDWR, &file_bytes);
	if (fd < 0)
		return fd;
	err = -posix_fallocate(fd, (off_t)(RING_PAGE + first + bytes), (off_t)bytes);
	if (!err)
		err = move(ring, fd, first, MAP_SHARED);
	close(fd);
	if (err)
		return err;
	/* ring_room() counts from here */
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
		file_bytes = 0; /* it is longer than need be */
	close(fd);
}

/* What a reader takes from the head when it opens a ring: each word once. */
struct shape {
	uint64_t bytes, narrow;
	bool grows;
};

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
	       (shape->narrow == shape->bytes ||
		(shape->narrow == RING_NARROW && !shape->grows)) &&
	       (shape->grows || file_bytes >= file_length(shape->narrow, shape->bytes));
}

/* What a reader of @ring needs; @fd is kept, under a number of its own, where more is mapped by it. */
static int start_reading(struct ring *ring, int fd, uint64_t file_bytes, const struct shape *shape,
			 int sharing)
{
	ring->room = shape->grows ? file_bytes - RING_PAGE : ring->mask + 1;
	ring->limit = shape->grows ? ring->mask + 1 : UINT64_MAX;
	ring->most = shape->bytes;
	ring->grows = shape->grows;
	if (shape->grows ||
	    (ring_wider(ring) && (sharing == MAP_PRIVATE || area_needs_file(ring))))
		ring->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return ring->fd < 0 ? -errno : 0;
}

/* Is the file @fd a ring? */
static bool look_into(int fd, uint64_t file_bytes, struct shape *shape)
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

static int open_as(struct ring *ring, int at, const char *name, int sharing)
{
	struct ring made = { 0 };
	struct shape shape;
	uint64_t file_bytes;
	int fd = dir_open_file(at, name, O_RDWR, &file_bytes);
	int err = -EPROTO;

	if (fd < 0)
		return fd;
	if (look_into(fd, file_bytes, &shape))
		err = map(&made, fd, shape.narrow, shape.grows, sharing);
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
	return open_as(ring, at, name, MAP_SHARED);
}

int ring_open(struct ring *ring, const char *path)
{
	return ring_open_at(ring, AT_FDCWD, path);
}

/* Where the first event is that can be read: the whole ring was not enough for all of them. */
static void start_late(struct ring *ring)
{
	const struct event_head *event;

	ring->reserved = atomic_load_explicit(&ring->head->head, memory_order_relaxed);
	if (ring->reserved % 8 || area_find(ring, ring->reserved))
		return; /* ring_peek() finds it damaged */
	event = (const void *)(ring->data + (ring->reserved & ring->mask));
	ring->seq = __atomic_load_n(&event->seq, __ATOMIC_RELAXED) - 1;
}

int ring_open_leftover_at(struct ring *ring, int at, const char *name)
{
	int err = open_as(ring, at, name, MAP_PRIVATE);

	if (!err && !ring->grows &&
	    (atomic_load_explicit(&ring->head->tail, memory_order_relaxed) > ring->mask + 1 ||
	     atomic_load_explicit(&ring->head->turned, memory_order_relaxed)))
		start_late(ring);
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
	/* pairs with the collector's acquire load: the times are there with the count */
	atomic_store_explicit(&head->dropped, n + 1, memory_order_release);
}

/* The reader's next two pieces. */
static int move_on(struct ring *ring)
{
	int err = move(ring, ring->fd, ring->limit, MAP_PRIVATE);

	ring->limit += ring->mask + 1;
	return err;
}

static void drop_copy(struct ring *ring)
{
	free(ring->copy);
	ring->copy = NULL;
}

/* Bytes of the copy that were not stepped over yet. */
static size_t copied(const struct ring *ring)
{
	const struct ring_copy *copy = ring->copy;

	return copy && ring->reserved - copy->from <= copy->to - copy->from ?
		       copy->to - ring->reserved : 0;
}

static const struct event_head *next_copied(const struct ring *ring)
{
	return (const void *)(ring->copy->bytes + (ring->reserved - ring->copy->from));
}

/* Bytes of the events that follow each other by their numbers, whatever the tail says. */
static uint64_t follow(const struct ring *ring)
{
	uint64_t n = 0, end = ring->grows ? 0 : ring->mask + 1 - sizeof(struct event_head);

	for (uint32_t seq = ring->seq + 1; n < end; seq++) {
		const uint64_t *at = (const void *)(ring->data + ((ring->reserved + n) & ring->mask));
		/* words, type, flags and seq */
		uint64_t head = __atomic_load_n(at, __ATOMIC_ACQUIRE), words = head & UINT16_MAX;

		if (words * 8 < sizeof(struct event_head) || head >> 32 != seq ||
		    n + words * 8 > ring->room)
			break;
		n += words * 8;
	}
	return n;
}

/* Bytes that wait, as the writer says, or -EBADMSG where that cannot be. */
static int64_t look_for_more(struct ring *ring)
{
	/* pairs with the store in ring_commit() */
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire), end = tail;
	uint64_t waiting;

	if (tail == ring->reserved)
		return 0;
	if (!ring->grows && area_find_end(ring, tail, &end))
		return -EBADMSG;
	waiting = end - ring->reserved;
	if (ring->grows && waiting > ring->room - ring->reserved)
		waiting = ring->room - ring->reserved; /* the file was cut */
	if (waiting > ring->room || waiting < sizeof(struct event_head) || waiting % 8)
		waiting = follow(ring);
	if (!waiting)
		return -EBADMSG;
	if (ring->reserved >= ring->limit && move_on(ring))
		return -EBADMSG;
	return (int64_t)waiting;
}

/* Copy the next @most bytes, or what there is of them. Returns 1, 0 if nothing waits, or -errno. */
static int copy_out(struct ring *ring, uint64_t most)
{
	int64_t waiting = look_for_more(ring);
	uint64_t n = waiting < (int64_t)most ? (uint64_t)waiting : most;

	if (waiting <= 0)
		return (int)waiting;
	if (!ring->copy)
		ring->copy = malloc(sizeof(*ring->copy));
	if (!ring->copy)
		return -ENOMEM;
	memcpy(ring->copy->bytes, ring->data + (ring->reserved & ring->mask), n);
	/* what is read from now on is the copy: the compiler may not look again, either */
	atomic_signal_fence(memory_order_seq_cst);
	ring->copy->from = ring->reserved;
	ring->copy->to = ring->reserved + n;
	return 1;
}

/* The next event, if the copy has one that is whole. Returns its length or -EBADMSG. */
static int check_next(const struct ring *ring)
{
	const struct event_head *event = next_copied(ring);
	size_t bytes = event->words * 8u;

	return bytes < sizeof(*event) || bytes > copied(ring) || !event->type ||
			       event->type >= EVENT_TYPES || event->seq != ring->seq + 1 ?
		       -EBADMSG :
		       (int)bytes;
}

int ring_peek(struct ring *ring, const struct event_head **ret_event)
{
	int bytes = 1;

	if (copied(ring) < sizeof(**ret_event))
		bytes = copy_out(ring, COPY);
	/* one that goes on behind what was copied */
	if (bytes > 0 && next_copied(ring)->words * 8u > copied(ring))
		bytes = copy_out(ring, RING_EVENT_MAX);
	if (bytes > 0)
		bytes = check_next(ring);
	if (bytes <= 0) {
		drop_copy(ring);
		return bytes;
	}
	ring->unsure = 0;
	*ret_event = next_copied(ring);
	return bytes;
}

/*
 * How many events are missing before the one at byte @at of the copy; 0: there
 * is none that is sound. A number that fits is not enough: the next one has to
 * follow it, where there is one.
 */
static uint32_t count_missing(const struct ring *ring, uint64_t at, uint64_t waiting)
{
	const struct event_head *event = (const void *)(ring->copy->bytes + at), *next;
	uint64_t have = copied(ring), bytes = event->words * 8u;
	uint32_t missing = event->seq - (ring->seq + 1);

	if (bytes < sizeof(*event) || bytes > waiting - at || !event->type ||
	    event->type >= EVENT_TYPES || missing > at / sizeof(*event) + ring->unsure)
		return 0;
	if (at + bytes + sizeof(*next) > have)
		return at || ring->unsure ? missing : 0;
	next = (const void *)(ring->copy->bytes + at + bytes);
	return next->words * 8u >= sizeof(*next) && next->seq == event->seq + 1 ? missing : 0;
}

/* The writer went over what was not read: it had been told of room that it did not have. */
static uint64_t catch_up(struct ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	uint64_t before = ring->odd_tail, bytes = tail - ring->reserved;

	ring->odd_tail = tail;
	/* a tail that was overwritten does not grow like one */
	if (ring->grows || tail % 8 || bytes >> 63 || !before || tail == before ||
	    tail - before > ring->room || area_find(ring, tail))
		return 0;
	ring->reserved = tail;
	ring->unsure = INT32_MAX;
	return bytes;
}

/* Go to the next event of the copy that is sound, or behind all of it. */
static uint32_t find_sound(struct ring *ring, uint64_t waiting)
{
	uint64_t have = copied(ring), at = 0;

	for (; at + sizeof(struct event_head) <= have; at += 8) {
		uint32_t missing = count_missing(ring, at, waiting);

		if (missing) {
			ring->reserved += at;
			ring->seq += missing;
			ring->unsure = 0;
			return missing;
		}
	}
	/* one may begin with the last word */
	ring->reserved += have < waiting ? at : have;
	ring->unsure += (uint32_t)(have / sizeof(struct event_head));
	return 0;
}

int64_t ring_skip(struct ring *ring, uint32_t *ret_events)
{
	uint64_t from = ring->reserved;
	int64_t waiting, err = 1;

	*ret_events = 0;
	while (!*ret_events && err > 0 && ring->reserved - from <= ring->room &&
	       (waiting = look_for_more(ring)) > 0) {
		err = copy_out(ring, RING_EVENT_MAX);
		if (err > 0)
			*ret_events = find_sound(ring, (uint64_t)waiting);
	}
	if (err == -ENOMEM)
		return err;
	if (*ret_events)
		return (int64_t)(ring->reserved - from);
	*ret_events = 1;
	if (ring->reserved == from && !catch_up(ring))
		return 0;
	drop_copy(ring);
	ring->seq++;
	return (int64_t)(ring->reserved - from);
}

void ring_read_head(const struct ring *ring, struct ring_head *copy)
{
	/* pairs with the store in ring_drop(): the times are there with the count */
	uint64_t dropped = atomic_load_explicit(&ring->head->dropped, memory_order_acquire);
	const uint64_t *from = (const void *)ring->head;
	uint64_t *to = (void *)copy;

	for (size_t i = 0; i < sizeof(*copy) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&copy->dropped, dropped, memory_order_relaxed);
}
