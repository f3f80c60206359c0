/*
 * The descriptors of contexts and completion channels
 *
 * An entry is in use from the store of its object until NULL is stored. The descriptor is stored
 * first: a thread that sees the object also sees the descriptor.
 */
#include "shim/trace/objects/descriptors.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static struct {
	_Atomic(const void *) object; /* NULL: free; &taken: being filled */
	_Atomic int fd;
} places[DESCRIPTORS];

static const char taken;

void descriptors_add(const void *object, int fd)
{
	for (unsigned int i = 0; fd >= 0 && i < DESCRIPTORS; i++) {
		const void *none = NULL;

		if (!atomic_compare_exchange_strong(&places[i].object, &none, &taken))
			continue;
		atomic_store(&places[i].fd, fd);
		atomic_store(&places[i].object, object);
		return;
	}
}

void descriptors_remove(const void *object)
{
	for (unsigned int i = 0; i < DESCRIPTORS; i++)
		if (atomic_load(&places[i].object) == object)
			atomic_store(&places[i].object, NULL);
}

void descriptors_begin(bool child)
{
	for (unsigned int i = 0; child && i < DESCRIPTORS; i++)
		atomic_store(&places[i].object, NULL);
}

unsigned int descriptors_list_staying(struct event_descriptor *list)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < DESCRIPTORS && n < EVENT_FORK_DESCRIPTORS; i++) {
		const void *object = atomic_load(&places[i].object);
		int fd = atomic_load(&places[i].fd), flags;

		if (!object || object == &taken)
			continue;
		flags = fcntl(fd, F_GETFD);
		if (flags >= 0 && !(flags & FD_CLOEXEC))
			list[n++] =
				(struct event_descriptor){ .object = (uint64_t)(uintptr_t)object,
							   .fd = fd };
	}
	return n;
}
