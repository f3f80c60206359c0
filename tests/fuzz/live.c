/*
 * A program that overwrites its own session while the recorder reads it
 *
 * Words that only the recorder writes (its position in a ring) are not changed: a program that
 * misleads the recorder about these waits for it with reason.
 */
#include "tests/fuzz/live.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/ring.h"

void live_open(struct live *live)
{
	live->dice = dice_of_seed(live->seed, 77);
}

static void map_file(struct live *live, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size >= RING_PAGE) {
		for (int i = 0; i < live->files; i++)
			if (live->map[i].inode == st.st_ino)
				st.st_size = 0;
		bytes = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
					  MAP_SHARED, fd, 0)
				   : MAP_FAILED;
		if (bytes != MAP_FAILED) {
			live->map[live->files].bytes = bytes;
			live->map[live->files].inode = st.st_ino;
			live->map[live->files++].size = (size_t)st.st_size;
		}
	}
	close(fd);
}

static void look_at_session(struct live *live)
{
	const char *parent = getenv("VERBATIM_SESSIONS");
	DIR *sessions = opendir(parent), *rings;
	char dir[1024], path[2048];

	for (struct dirent *s; sessions && (s = readdir(sessions));) {
		snprintf(dir, sizeof(dir), "%s/%s", parent, s->d_name);
		rings = strncmp(s->d_name, "verbatim", 8) ? NULL : opendir(dir);
		for (struct dirent *r; rings && (r = readdir(rings));) {
			snprintf(path, sizeof(path), "%s/%s", dir, r->d_name);
			if (!strncmp(r->d_name, "ring.", 5) && live->files < LIVE_FILES)
				map_file(live, path);
		}
		if (rings)
			closedir(rings);
	}
	if (sessions)
		closedir(sessions);
}

/* A word of an event, near the writer's position; sometimes one of the head. */
static void spoil_bytes(struct live *live, uint8_t *bytes, size_t size)
{
	struct ring_head *head = (void *)bytes;
	uint64_t tail = atomic_load_explicit(&head->tail, memory_order_relaxed);
	size_t data = size - RING_PAGE, back = dice_roll(&live->dice, 4096) * 2u, at;
	uint32_t *word;

	if (!dice_roll(&live->dice, 256)) {
		word = (uint32_t *)bytes +
		       dice_roll(&live->dice, offsetof(struct ring_head, head) / 4);
	} else {
		at = data ? (size_t)(tail - back) % data : 0;
		word = (uint32_t *)(bytes + RING_PAGE + (at & ~3ul) % (data ? data : 4));
	}
	__atomic_store_n(word, (uint32_t)dice_number(&live->dice), __ATOMIC_RELAXED);
}

int live_spoil(void *arg)
{
	struct live *live = arg;

	if (!(live->turn++ % 64))
		look_at_session(live);
	for (int i = 0; i < live->files; i++)
		spoil_bytes(live, live->map[i].bytes, live->map[i].size);
	return 0;
}

void live_close(struct live *live)
{
	for (int i = 0; i < live->files; i++)
		munmap(live->map[i].bytes, live->map[i].size);
}
