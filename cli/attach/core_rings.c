/*
 * Reads the rings in a core: each is copied from its mappings to a file, and then read like the
 * ring of a dead program
 *
 * The reader of rings (core/wire/ring.h) trusts nothing in them.
 */
#include "cli/attach/core_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/memory.h"
#include "cli/attach/target.h"
#include "core/base/vec.h"
#include "core/wire/event.h"
#include "core/wire/ring.h"
#include "gen/verbs_gen.h"

enum { COPY_MAX = 64 << 20, COPY_AT_ONCE = 1 << 20, EVENTS_MAX = 1 << 24 };

/* Is its file named "ring.N", in a folder? */
static bool is_ring(const struct target_map *map)
{
	const char *last = strrchr(map->path, '/');

	return last && !strncmp(last + 1, "ring.", 5);
}

/* Write the part of a mapping that the core has. Returns the number of bytes. */
static uint64_t copy_map(const struct memory *memory, const struct target_map *map, int fd)
{
	uint64_t done = 0, n = map->end - map->start;
	uint8_t *buffer = malloc(COPY_AT_ONCE);
	size_t got = 1;

	if (n > COPY_MAX)
		n = COPY_MAX;
	while (buffer && got && done < n) {
		got = n - done < COPY_AT_ONCE ? n - done : COPY_AT_ONCE;
		got = memory->read(memory, map->start + done, buffer, got);
		if (pwrite(fd, buffer, got, (off_t)(map->offset + done)) != (ssize_t)got)
			got = 0;
		done += got;
	}
	free(buffer);
	return done;
}

/*
 * The file of the ring that begins at map @i, with all of its mappings. False: the core does not
 * have it.
 */
static bool write_ring(const struct target *target, const struct memory *memory, size_t i, int fd)
{
	const char *path = target->maps[i].path;
	uint64_t bytes = 0;

	/* longer than any ring, and sparse: the reader requires the full length */
	if (ftruncate(fd, 0) || ftruncate(fd, (off_t)(4ull * RING_MAX)))
		return false;
	for (; i < target->nmaps; i++)
		if (!strcmp(target->maps[i].path, path) && target->maps[i].offset < RING_MAX)
			bytes += copy_map(memory, &target->maps[i], fd);
	return bytes;
}

static void note_last_event(struct core_ring *into, const struct event_head *event, size_t bytes)
{
	into->events++;
	if (event->type == EVENT_CALL && bytes >= sizeof(struct event_call)) {
		const struct event_call *call = (const void *)event;

		if (call->verb < VERB_COUNT && !call->depth) {
			into->verb = call->verb;
			into->returned = false;
		}
	} else if (event->type == EVENT_RETURN && bytes >= sizeof(struct event_return)) {
		into->returned |= ((const struct event_return *)event)->verb == into->verb;
	}
}

static void read_events(struct ring *ring, struct core_ring *into)
{
	const struct event_head *event;
	uint32_t lost;
	int n = 1;

	while (n && into->events < EVENTS_MAX) {
		n = ring_peek(ring, &event);
		if (n > 0) {
			note_last_event(into, event, (size_t)n);
			ring_step(ring, (size_t)n);
		} else if (n == -EBADMSG && ring_skip(ring, &lost) > 0) {
			into->events += lost;
		} else {
			n = 0;
		}
	}
}

static int add_ring(const char *path, struct core_rings *rings)
{
	struct core_ring *added;
	struct ring_head head;
	struct ring ring = { 0 };

	if (ring_open_leftover(&ring, path))
		return 0; /* not the whole ring is in the core */
	added = vec_push(rings->rings, rings->n);
	if (added) {
		ring_read_head(&ring, &head);
		added->verb = -1;
		added->tid = (pid_t)head.owner;
		memcpy(added->name, head.comm, sizeof(added->name) - 1);
		read_events(&ring, added);
	}
	ring_close(&ring);
	return added ? 0 : -ENOMEM;
}

/* Is map @i the first mapping of its file? */
static bool is_first_mapping(const struct target *target, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(target->maps[k].path, target->maps[i].path))
			return false;
	return true;
}

int core_rings_read(const struct target *target, const struct memory *memory,
		    struct core_rings *ret_rings)
{
	const char *where = getenv("TMPDIR");
	char path[4096];
	int fd, err = 0;

	*ret_rings = (struct core_rings){ 0 };
	snprintf(path, sizeof(path), "%s/verbatim-ring-XXXXXX", where && *where ? where : "/tmp");
	fd = -1;
	for (size_t i = 0; !err && i < target->nmaps && ret_rings->mapped < CORE_RINGS_MAX; i++) {
		if (!is_ring(&target->maps[i]) || !is_first_mapping(target, i))
			continue;
		ret_rings->mapped++;
		if (fd < 0)
			fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (write_ring(target, memory, i, fd))
			err = add_ring(path, ret_rings);
	}
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return err;
}

void core_rings_fini(struct core_rings *rings)
{
	free(rings->rings);
	*rings = (struct core_rings){ 0 };
}
