/*
 * Events that stay in their rings until they are committed
 *
 *	ring	freed        marked         reserved        tail
 *		  |  committed  |  not yet     |  not read     |
 *		  +-------------+--------------+---------------+
 *
 * Not here: the process that takes over (standby.c).
 */
#include "cli/record/holding.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/vec.h"
#include "core/wire/session.h"

enum { HELD = 25 }; /* percent of a ring that wait for a commit, at which a commit is due */

void holding_fini(struct holding *holding)
{
	for (size_t i = 0; i < holding->nended; i++)
		ring_close(&holding->ended[i].ring);
	free(holding->ended);
	*holding = (struct holding){ 0 };
}

static void remove_ring(struct feed *feed, int at)
{
	char name[SESSION_NAME];

	session_ring_name(feed->index, name);
	unlinkat(at, name, 0);
	ring_close(&feed->ring);
}

void holding_end_feed(struct holding *holding, struct feed *feed, int at)
{
	struct feed *place = holding->on ? vec_push(holding->ended, holding->nended) : NULL;

	if (place)
		*place = *feed;
	else
		remove_ring(feed, at);
}

void holding_mark_positions(struct holding *holding, struct feed *feeds, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		feed_mark_position(&feeds[i]);
	holding->marked = holding->nended;
}

/* Owners free their rings when these are read: see rings_make(). */
static void remove_ended(struct holding *holding, int at)
{
	for (size_t i = 0; i < holding->marked; i++) {
		feed_mark_position(&holding->ended[i]);
		feed_release(&holding->ended[i]);
		remove_ring(&holding->ended[i], at);
	}
	holding->nended -= holding->marked;
	if (holding->nended)
		memmove(holding->ended, holding->ended + holding->marked,
			holding->nended * sizeof(*holding->ended));
	holding->marked = 0;
}

void holding_release(struct holding *holding, struct feed *feeds, unsigned int n,
		     struct writer *writer, int at)
{
	if (!holding->on || holding->commits == writer_count_commits(writer))
		return;
	holding->commits = writer_count_commits(writer);
	for (unsigned int i = 0; i < n; i++)
		feed_release(&feeds[i]);
	remove_ended(holding, at);
}

int holding_commit(struct holding *holding, struct feed *feeds, unsigned int n,
		   struct writer *writer, int at)
{
	int held = 0, err = 0;

	for (unsigned int i = 0; i < n && holding->on; i++) {
		int percent = feed_percent_held(&feeds[i]);

		held = percent > held ? percent : held;
	}
	if (held > HELD)
		err = writer_flush(writer);
	holding_release(holding, feeds, n, writer, at);
	return err;
}
