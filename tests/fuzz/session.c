/*
 * A session without a collector, altered: its page, its rings, its directory
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/event.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/fuzz/mutate.h"

/* Fields that are checked first usually stay the same: otherwise the rest is not reached. */
void mutate_page(const char *dir, struct dice *dice)
{
	const char *path = mutate_path(dir, "session");
	struct session_page *page;
	uint8_t *bytes;
	size_t n, first = dice_roll(dice, 8) ? offsetof(struct session_page, ring_bytes) : 0;

	if (mutate_read(path, &bytes, &n))
		return;
	page = (struct session_page *)bytes;
	if (n > sizeof(*page)) {
		dice_spoil(dice, bytes + first, (dice_roll(dice, 2) ? sizeof(*page) : 256) - first);
		if (!dice_roll(dice, 4))
			page->rings = dice_number(dice);
		if (!dice_roll(dice, 4))
			dice_spoil(dice, (uint8_t *)&page->clock, sizeof(page->clock));
	}
	if (!dice_roll(dice, 8))
		n = dice_roll(dice, (uint32_t)n + 1);
	mutate_write(path, bytes, n);
	free(bytes);
}

static const char *ring_path(const char *dir, struct dice *dice)
{
	char name[32];

	snprintf(name, sizeof(name), "ring.%u", dice_roll(dice, 4) ? 0 : dice_roll(dice, 8));
	return mutate_path(dir, name);
}

/* The @skip-th event from the start, if the lengths lead there. */
static struct event_head *event_at(uint8_t *data, size_t n, uint32_t skip)
{
	size_t at = 0;
	struct event_head *event = NULL;

	while (at + sizeof(*event) <= n) {
		event = (struct event_head *)(data + at);
		if (!event->words || !skip--)
			return event;
		at += event->words * 8ul;
	}
	return event;
}

/* One event or a few, in the middle of undamaged ones. */
static void spoil_events(uint8_t *data, size_t n, struct dice *dice)
{
	for (uint32_t times = 1 + dice_roll(dice, 4); times; times--) {
		struct event_head *event = event_at(data, n, dice_roll(dice, 64));
		size_t left = event ? n - (size_t)((uint8_t *)event - data) : 0, bytes;

		if (left < sizeof(*event))
			return;
		bytes = event->words * 8ul;
		bytes = bytes > left ? left : bytes;
		if (bytes > sizeof(*event) && dice_roll(dice, 4))
			dice_spoil(dice, (uint8_t *)(event + 1), bytes - sizeof(*event));
		else if (dice_roll(dice, 2))
			event->type = (uint8_t)dice_roll(dice, EVENT_TYPES + 2);
		else
			dice_spoil(dice, (uint8_t *)event, sizeof(*event));
	}
}

void mutate_ring(const char *dir, struct dice *dice)
{
	char path[512];
	uint8_t *bytes;
	size_t n;

	snprintf(path, sizeof(path), "%s", ring_path(dir, dice));
	if (mutate_read(path, &bytes, &n))
		return;
	if (n > RING_PAGE && dice_roll(dice, 4))
		spoil_events(bytes + RING_PAGE, n - RING_PAGE, dice);
	else if (n >= sizeof(struct ring_head))
		dice_spoil(dice, bytes + 16, sizeof(struct ring_head) - 16);
	if (!dice_roll(dice, 8))
		n = dice_roll(dice, (uint32_t)n + 1);
	mutate_write(path, bytes, n);
	free(bytes);
}

/* Other kinds of files in place of its files; and both of the above. */
void mutate_session(const char *dir, struct dice *dice)
{
	char path[512];

	snprintf(path, sizeof(path), "%s",
		 dice_roll(dice, 3) ? ring_path(dir, dice) : mutate_path(dir, "session"));
	if (dice_roll(dice, 2))
		unlink(path);
	switch (dice_roll(dice, 8)) {
	case 0:
		mkfifo(path, 0600);
		break;
	case 1:
		mkdir(path, 0700);
		break;
	case 2:
		(void)!symlink(mutate_path(dir, MUTATE_VICTIM), path);
		break;
	case 3:
		(void)!link(mutate_path(dir, "session"), path);
		break;
	case 4:
		chmod(path, 0);
		break;
	case 5:
		(void)!truncate(path, (off_t)(dice_number(dice) & ((1ul << 32) - 1)));
		break;
	default:
		mutate_page(dir, dice);
	}
	mutate_ring(dir, dice);
}
