/*
 * Rings that do not exist yet
 */
#include "cli/record/ring_search.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/wire/log.h"

enum {
	RECENT_NS = 700000000,    /* a ring that is still missing then was most likely never made */
	LIST_DIRECTORY_FROM = 64, /* with more missing rings than this, list the directory */
};

void ring_search_init(struct ring_search *search, const struct session *session, int at,
		      ring_search_take *take, void *arg)
{
	*search = (struct ring_search){ .session = session, .at = at, .take = take, .arg = arg };
}

void ring_search_fini(struct ring_search *search)
{
	free(search->missing);
}

static int open_ring(const struct ring_search *search, uint32_t index, struct ring *ret_ring)
{
	return search->leftover ? session_open_leftover(search->at, index, ret_ring)
				: session_open_ring(search->at, index, ret_ring);
}

/* Returns 1 if the ring exists, 0 if not yet, or -errno. */
static int try_ring(struct ring_search *search, uint32_t index)
{
	struct ring ring;
	int err = open_ring(search, index, &ring);

	if (err)
		return 0;
	/*
	 * pairs with the store in make_new_ring(): its maker has not finished it yet, or no thread
	 * has taken it
	 */
	if (!atomic_load_explicit(&ring.head->ticks, memory_order_acquire) &&
	    (!search->leftover || !atomic_load(&ring.head->tail))) {
		ring_close(&ring);
		return 0;
	}
	search->opened++;
	err = search->take(search->arg, &ring, index);
	if (err)
		ring_close(&ring);
	return err ? err : 1;
}

static int try_missing_rings(struct ring_search *search)
{
	unsigned int left = 0;
	int found = 0;

	for (unsigned int i = 0; i < search->nmissing && found >= 0; i++) {
		found = try_ring(search, search->missing[i]);
		if (!found)
			search->missing[left++] = search->missing[i];
	}
	search->nmissing = left;
	return found < 0 ? found : 0;
}

/* Try the missing rings by a list of the directory. Both lists are sorted. */
static int try_listed_rings(struct ring_search *search)
{
	uint32_t *listed;
	int n = session_list_rings(search->at, &listed), at = 0, found = 0;
	unsigned int left = 0;

	if (n < 0)
		return log_err(n, "look for rings in %s", search->session->dir);
	for (unsigned int i = 0; i < search->nmissing && found >= 0; i++) {
		uint32_t index = search->missing[i];

		while (at < n && listed[at] < index)
			at++;
		found = at < n && listed[at] == index ? try_ring(search, index) : 0;
		if (!found)
			search->missing[left++] = index;
	}
	free(listed);
	search->nmissing = left;
	return found < 0 ? found : 0;
}

int ring_search_missing(struct ring_search *search)
{
	return search->nmissing > LIST_DIRECTORY_FROM ? try_listed_rings(search)
						      : try_missing_rings(search);
}

int ring_search_recent(struct ring_search *search)
{
	return clock_monotonic() - search->given_at < RECENT_NS ? ring_search_missing(search) : 0;
}

bool ring_search_waiting(const struct ring_search *search)
{
	return search->known < session_count_rings(search->session);
}

/*
 * Search for missing rings first, as processes and threads are numbered in the order in which they
 * began; then for new ones. A recent ring is searched for even if no newer number was given out.
 */
int ring_search_new_rings(struct ring_search *search)
{
	uint32_t given = session_count_rings(search->session);

	if (search->known >= given)
		return ring_search_recent(search);
	for (; search->known < given; search->known++) {
		if (vec_reserve(search->missing, search->size, search->nmissing + 1))
			return log_err(-ENOMEM, "start reading ring %u", search->known);
		search->missing[search->nmissing++] = search->known;
	}
	search->given_at = clock_monotonic();
	return ring_search_missing(search);
}

/* The directory lists all rings, whatever the page says. */
int ring_search_leftover(struct ring_search *search)
{
	int n = session_list_rings(search->at, &search->missing);

	if (n < 0)
		return log_err(n, "look for rings in %s", search->session->dir);
	search->leftover = true;
	search->nmissing = (unsigned int)n;
	search->size = (size_t)n;
	search->known = SESSION_RINGS;
	return ring_search_missing(search);
}

/* Is there a file that is not a ring? A ring that was never made has no file. */
static bool is_unreadable(const struct ring_search *search, uint32_t index)
{
	struct ring ring;
	int err = open_ring(search, index, &ring);

	if (!err)
		ring_close(&ring);
	return err && err != -ENOENT;
}

/* A program killed while it creates a ring leaves a file without events. */
static uint32_t count_lost(const struct ring_search *search)
{
	uint32_t made = atomic_load_explicit(&search->session->page->made, memory_order_relaxed);

	if (search->leftover)
		return UINT32_MAX; /* files may have been deleted: unknown */
	return made > search->opened ? made - search->opened : 0;
}

uint32_t ring_search_unreadable(const struct ring_search *search, char path[SESSION_PATH + 16])
{
	uint32_t most = count_lost(search), n = 0;

	for (unsigned int i = 0; i < search->nmissing && n < most; i++)
		if (is_unreadable(search, search->missing[i]) && !n++)
			session_ring_path(search->session, search->missing[i], path);
	return n;
}
