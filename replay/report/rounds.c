/*
 * Printing the rounds of a replay
 */
#include "replay/report/rounds.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void rounds_measure(struct rounds *rounds, double *times, uint32_t n)
{
	if (!n)
		return;
	qsort(times, n, sizeof(*times), compare_times);
	rounds->least = times[0];
	rounds->median = n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
	rounds->most = times[n - 1];
}

void rounds_verdict(const struct rounds *rounds, FILE *to)
{
	uint32_t all = rounds->warmup + rounds->wanted;

	if (!all)
		return;
	if (rounds->done < all)
		fprintf(to, "%" PRIu32 " of ", rounds->done);
	fprintf(to, "%" PRIu32 " round%s", all, all == 1 ? "" : "s");
	if (rounds->differing)
		fprintf(to, ", of which %" PRIu32 " differ%s, the first round %" PRIu32,
			rounds->differing, rounds->differing == 1 ? "s" : "", rounds->shown);
	fputs(": ", to);
}

void rounds_text(const struct rounds *rounds, FILE *to)
{
	uint32_t timed = rounds->done > rounds->warmup ? rounds->done - rounds->warmup : 0;

	if (!timed)
		return;
	fprintf(to, "%" PRIu32 " round%s", timed, timed == 1 ? "" : "s");
	if (rounds->warmup)
		fprintf(to, " after %" PRIu32 " to warm up", rounds->warmup);
	fprintf(to, ": replayed in %.6f s minimum, %.6f s median, %.6f s maximum\n", rounds->least,
		rounds->median, rounds->most);
}

void rounds_json(const struct rounds *rounds, FILE *to)
{
	if (!rounds->warmup && !rounds->wanted)
		return;
	fprintf(to,
		"  \"rounds\": {\"warmup\": %" PRIu32 ", \"wanted\": %" PRIu32
		", \"done\": %" PRIu32 ", \"differing\": %" PRIu32 ", \"shown\": %" PRIu32
		", \"least\": %.6f, \"median\": %.6f, \"most\": %.6f},\n",
		rounds->warmup, rounds->wanted, rounds->done, rounds->differing, rounds->shown,
		rounds->least, rounds->median, rounds->most);
}
