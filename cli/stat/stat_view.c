/*
 * A profile, as `verbatim stat` prints it: names and orders that text and JSON share
 */
#include "cli/stat/stat_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/places.h"
#include "cli/format.h"
#include "core/store/read/trace.h"

/* Posts and control verbs are in different lists. */
static uint32_t list_of(const struct profile_place *place)
{
	return verb_infos[place->verb].plane;
}

const char *stat_place(const struct stat_view *view, const struct profile_place *place)
{
	return places_text(view->places, list_of(place), place->stack) ?: "";
}

void stat_name_places(struct stat_view *view)
{
	const struct profile *profile = view->profile;

	view->places = places_new(view->trace, view->symbols);
	for (size_t i = 0; i < profile->nplaces; i++)
		if (profile->places[i].calls)
			places_add(view->places, list_of(&profile->places[i]),
				   profile->places[i].stack);
}

static int compare_places(const void *a, const void *b)
{
	const struct profile_place *x = *(const struct profile_place *const *)a;
	const struct profile_place *y = *(const struct profile_place *const *)b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x < y ? -1 : x > y;
}

size_t stat_places(const struct profile *profile, enum verb_plane plane,
		   const struct profile_place ***ret_places)
{
	const struct profile_place **places = calloc(profile->nplaces + 1, sizeof(*places));
	size_t n = 0;

	*ret_places = places;
	for (size_t i = 0; places && i < profile->nplaces; i++)
		if (verb_infos[profile->places[i].verb].plane == plane && profile->places[i].calls)
			places[n++] = &profile->places[i];
	if (n)
		qsort(places, n, sizeof(*places), compare_places);
	return n;
}

/* 64 B, 4 KiB: sizes of requests are powers of two. */
static const char *size_text(uint64_t bytes, char *text)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	unsigned int unit = 0;

	while (bytes >= 1024 && bytes % 1024 == 0 && unit < 3) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, 32, "%llu %s", (unsigned long long)bytes, units[unit]);
	return text;
}

const char *stat_size(const struct profile_requests *row, unsigned int class, char text[STAT_SIZE])
{
	char end[32];

	if (row->least == row->most)
		return size_text(row->least, text);
	if (class == PROFILE_SIZES - 1)
		snprintf(text, STAT_SIZE, "> 4 GiB");
	else
		snprintf(text, STAT_SIZE, "<= %s", size_text(profile_size_end(class), end));
	return text;
}

uint64_t stat_regions(const struct stat_view *view)
{
	return trace_alive(view->trace, OBJECT_mr, view->part->process, view->profile->to);
}
