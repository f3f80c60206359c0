/*
 * What a replay did, where it differed, and what it left out
 *
 * Divergences are kept up to KEPT_MAX and counted beyond; what was left out
 * and what was tolerated is counted by its reason.
 *
 * Not here: how that is written (outcome_text.c, outcome_json.c).
 */
#include "replay/outcome_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int outcome_new(struct outcome **ret_outcome)
{
	struct outcome *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*ret_outcome = r;
	return 0;
}

static void free_divergence(struct divergence *d)
{
	free((char *)d->field);
	free((char *)d->recorded);
	free((char *)d->replayed);
}

void outcome_free(struct outcome *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nkept; i++)
		free_divergence(&r->kept[i]);
	for (size_t i = 0; i < r->nskips; i++)
		free(r->skips[i].why);
	for (size_t i = 0; i < r->nnotes; i++)
		free(r->notes[i]);
	free(r->kept);
	free(r->skips);
	free(r->notes);
	free(r->trace);
	free(r->device);
	free(r);
}

void outcome_trace(struct outcome *r, const char *path)
{
	free(r->trace);
	r->trace = strdup(path);
}

void outcome_device(struct outcome *r, const char *names)
{
	free(r->device);
	r->device = strdup(names);
}

void outcome_other_device(struct outcome *r)
{
	r->other_device = true;
}

bool outcome_is_other_device(const struct outcome *r)
{
	return r->other_device;
}

void outcome_count(struct outcome *r, enum outcome_count what, uint64_t n)
{
	r->counts[what] += n;
}

void outcome_called(struct outcome *r, enum verb verb)
{
	r->counts[OUTCOME_CALLS]++;
	r->calls[verb]++;
}

/* Room for one more element at the end of an array; false without memory. */
static bool make_room(void **array, size_t n, size_t each)
{
	void *more;

	if (n & (n - 1)) /* grown at powers of two only */
		return true;
	more = reallocarray(*array, n ? n * 2 : 1, each);
	if (!more)
		return false;
	*array = more;
	return true;
}

void outcome_divergence(struct outcome *r, const struct divergence *d)
{
	r->ndivergences++;
	if (r->nkept == KEPT_MAX || !make_room((void **)&r->kept, r->nkept, sizeof(*r->kept)))
		return;
	r->kept[r->nkept] = *d;
	r->kept[r->nkept].field = strdup(d->field);
	r->kept[r->nkept].recorded = strdup(d->recorded);
	r->kept[r->nkept].replayed = strdup(d->replayed);
	r->nkept++;
}

static struct skip *find_skip(struct outcome *r, enum verb verb, const char *why)
{
	for (size_t i = 0; i < r->nskips; i++)
		if (r->skips[i].verb == verb && !strcmp(r->skips[i].why, why))
			return &r->skips[i];
	return NULL;
}

void outcome_skipped(struct outcome *r, struct event_id event, enum verb verb, const char *why)
{
	struct skip *skip = find_skip(r, verb, why);
	char *copy;

	r->nskipped++;
	if (skip) {
		skip->n++;
		return;
	}
	copy = strdup(why);
	if (copy && make_room((void **)&r->skips, r->nskips, sizeof(*r->skips)))
		r->skips[r->nskips++] = (struct skip){ event, verb, copy, 1 };
	else
		free(copy);
}

void outcome_note(struct outcome *r, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	for (size_t i = 0; text && i < r->nnotes; i++)
		if (!strcmp(r->notes[i], text)) {
			free(text);
			return;
		}
	if (text && make_room((void **)&r->notes, r->nnotes, sizeof(*r->notes)))
		r->notes[r->nnotes++] = text;
	else
		free(text);
}

void outcome_tolerated(struct outcome *r, const char *reason)
{
	size_t i = 0;

	while (i < r->ntolerated && r->tolerated[i].reason != reason)
		i++;
	if (i == REASONS_MAX)
		return;
	r->tolerated[i].reason = reason;
	r->tolerated[i].n++;
	if (i == r->ntolerated)
		r->ntolerated++;
}

void outcome_time(struct outcome *r, double recorded, double replayed)
{
	r->recorded = recorded;
	r->replayed = replayed;
}

uint64_t outcome_divergences(const struct outcome *r)
{
	return r->ndivergences;
}
