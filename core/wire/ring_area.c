/*
 * The areas of a narrow ring
 *
 * A narrow ring begins small, and continues in another area of its file, four times as large, when
 * its thread needs more space:
 *
 *	| head | 32 KiB | 128 KiB | 512 KiB | 2 MiB | 4 MiB |
 *
 * The head has the positions at which the writer switched to the next area; positions never start
 * again from 0. Unread data stays in the previous area until it is read; then the reader frees the
 * memory of the area. The file has its full length from the start, but memory is allocated only for
 * areas in use.
 *
 * Not here: the contents of an area (ring.c), the budget for larger ones (shim/trace/ring/rings.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/wire/dir.h"
#include "core/wire/ring.h"
#include "core/wire/ring_priv.h"

/*
 * Map @bytes of the file from @offset on, twice in a row; NULL with errno. mremap() duplicates the
 * mapping of the head, so this works even if the file cannot be opened any more.
 */
static uint8_t *map_area(const struct ring *ring, uint64_t offset, uint64_t bytes)
{
	const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;
	uint8_t *at = mmap(NULL, offset + 2 * bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	if (at == MAP_FAILED)
		return NULL;
	if (mremap(ring->head, 0, offset + bytes, fixed, at) != MAP_FAILED &&
	    mremap(at + offset, 0, bytes, fixed, at + offset + bytes) != MAP_FAILED) {
		munmap(at, offset);
		return at + offset;
	}
	err = errno;
	munmap(at, offset + 2 * bytes);
	errno = err;
	return NULL;
}

/* Like map_area(), but maps the file @fd. */
static uint8_t *map_area_of(int fd, uint64_t offset, uint64_t bytes, int prot)
{
	const int flags = MAP_SHARED | MAP_FIXED;
	uint8_t *at = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mmap(at, bytes, prot, flags, fd, (off_t)offset) != MAP_FAILED &&
	    mmap(at + bytes, bytes, prot, flags, fd, (off_t)offset) != MAP_FAILED)
		return at;
	munmap(at, 2 * bytes);
	return NULL;
}

/*
 * Map the writer's next area; if mremap() cannot duplicate a mapping (under valgrind), from file
 * @name in @at.
 */
static uint8_t *map_next(const struct ring *ring, uint64_t offset, uint64_t bytes, int at,
			 const char *name)
{
	uint8_t *data = map_area(ring, offset, bytes);
	uint64_t file_bytes;
	int fd;

	if (data || errno == ENOMEM)
		return data;
	fd = dir_open_file(at, name, O_RDWR, &file_bytes);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	data = map_area_of(fd, offset, bytes, PROT_READ | PROT_WRITE);
	close(fd);
	return data;
}

bool area_needs_file(const struct ring *ring)
{
	void *again = mremap(ring->head, 0, RING_PAGE, MREMAP_MAYMOVE);

	if (again == MAP_FAILED)
		return true;
	munmap(again, RING_PAGE);
	return false;
}

/* Continue in the next area, which has @bytes and is mapped at @data. */
static void enter_area(struct ring *ring, uint8_t *data, uint64_t bytes)
{
	munmap(ring->data, 2 * (ring->mask + 1));
	ring->data = data;
	ring->offset += ring->mask + 1;
	ring->mask = bytes - 1;
	ring->area++;
}

/* Allocate all of @data: otherwise a full file system would raise SIGBUS later. */
static int populate_area(uint8_t *data, uint64_t offset, uint64_t bytes, int at, const char *name)
{
	uint64_t file_bytes;
	int fd, err;

	if (!madvise(data, bytes, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	fd = dir_open_file(at, name, O_RDWR, &file_bytes); /* before Linux 5.14 */
	if (fd < 0)
		return fd;
	err = -posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	close(fd);
	return err;
}

int ring_widen(struct ring *ring, int at, const char *name)
{
	const uint64_t bytes = ring_next_area_bytes(ring), offset = ring->offset + ring->mask + 1;
	const uint32_t area = ring->area;
	uint8_t *data;
	int err;

	if (!bytes || area >= RING_TURNS)
		return -EINVAL;
	data = map_next(ring, offset, bytes, at, name);
	if (!data)
		return -errno;
	err = populate_area(data, offset, bytes, at, name);
	if (err) {
		madvise(data, bytes, MADV_REMOVE);
		munmap(data, 2 * bytes);
		return err;
	}
	enter_area(ring, data, bytes);
	atomic_store_explicit(&ring->head->turns[area], ring->reserved, memory_order_relaxed);
	/* pairs with the load in area_find_end() */
	atomic_store_explicit(&ring->head->turned, area + 1, memory_order_release);
	return 0;
}

uint64_t ring_footprint(const struct ring *ring)
{
	const struct ring_head *head = ring->head;
	uint64_t read = atomic_load_explicit(&head->head, memory_order_relaxed);
	uint64_t area = head->narrow, bytes = RING_PAGE + ring->mask + 1;

	for (uint32_t i = 0; i < ring->area; i++) {
		if (read <= atomic_load_explicit(&head->turns[i], memory_order_relaxed))
			bytes += area;
		area *= 4; /* the last area, which may be shorter, is counted above */
	}
	return bytes;
}

/*
 * Continue reading in the next area, and free the memory of the previous one, which is not needed
 * any more.
 */
static int follow_area_change(struct ring *ring)
{
	const uint64_t bytes = ring_next_area_bytes(ring), offset = ring->offset + ring->mask + 1;
	uint8_t *data = ring->fd ? map_area_of(ring->fd, offset, bytes, PROT_READ)
				 : map_area(ring, offset, bytes);

	if (!data)
		return -EBADMSG;
	if (!ring->fd && !ring->holds)
		madvise(ring->data, ring->mask + 1, MADV_REMOVE);
	enter_area(ring, data, bytes);
	ring->room = bytes;
	return 0;
}

int area_find_end(struct ring *ring, uint64_t tail, uint64_t *ret_end)
{
	*ret_end = tail;
	/* pairs with the store in ring_widen(); data after @tail may not be read yet */
	while (atomic_load_explicit(&ring->head->turned, memory_order_acquire) > ring->area &&
	       ring->area < RING_TURNS && ring_next_area_bytes(ring)) {
		uint64_t turn =
			atomic_load_explicit(&ring->head->turns[ring->area], memory_order_relaxed);

		if (turn != ring->reserved) {
			*ret_end = turn - ring->reserved < tail - ring->reserved ? turn : tail;
			return 0;
		}
		if (follow_area_change(ring))
			return -EBADMSG;
	}
	return 0;
}

int area_find(struct ring *ring, uint64_t at)
{
	while (ring->area < RING_TURNS && ring_next_area_bytes(ring) &&
	       atomic_load_explicit(&ring->head->turned, memory_order_relaxed) > ring->area &&
	       at >= atomic_load_explicit(&ring->head->turns[ring->area], memory_order_relaxed))
		if (follow_area_change(ring))
			return -EBADMSG;
	return 0;
}
