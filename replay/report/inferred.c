/*
 * Inferred properties of ends that are not in the trace
 */
#include "replay/report/inferred.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/count.h"
#include "core/base/printable.h"

void inferred_fini(struct inferred_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->at[i].ranges);
	free(list->at);
	*list = (struct inferred_list){ 0 };
}

static struct inferred sum_inferred(const struct inferred_list *list)
{
	struct inferred sum = { .address = "" };

	for (size_t i = 0; i < list->n; i++) {
		sum.queue_pairs += list->at[i].queue_pairs;
		sum.receives += list->at[i].receives;
		sum.messages += list->at[i].messages;
		sum.placed += list->at[i].placed;
		sum.regions += list->at[i].regions;
		sum.nranges += list->at[i].nranges;
	}
	return sum;
}

static void print_count(FILE *to, const char *before, uint64_t n, const char *what)
{
	char text[COUNT_TEXT];

	fprintf(to, "%s%s %s%s", before, count_text(n, text), what, n == 1 ? "" : "s");
}

void inferred_text(const struct inferred_list *list, FILE *to)
{
	const struct inferred sum = sum_inferred(list);

	if (!list->n)
		return;
	print_count(to, "made ", list->n, "peer");
	print_count(to, ": ", sum.queue_pairs, "queue pair");
	print_count(to, ", ", sum.receives, "receive");
	print_count(to, ", ", sum.messages, "message");
	if (sum.regions) {
		print_count(to, ", ", sum.regions, "region");
		print_count(to, " of ", sum.nranges, "range");
	}
	fputs(" inferred\n", to);
	if (sum.placed) {
		print_count(to, "unknown: the destination of ", sum.placed, "write");
		fputs(" with immediate data\n", to);
	}
	if (list->open) {
		print_count(to, "not reproducible: data that a synthesized peer wrote into ",
			    list->open, "region");
		fputs(" of the program, or read from it\n", to);
	}
}

static void put_ranges(const struct inferred *i, FILE *to)
{
	for (size_t k = 0; k < i->nranges; k++) {
		const struct inferred_range *range = &i->ranges[k];

		fprintf(to,
			"%s\n      {\"rkey\": %" PRIu32 ", \"access\": %d, \"start\": %" PRIu64
			", \"length\": %" PRIu64 "}",
			k ? "," : "", range->rkey, range->access, range->start, range->length);
	}
}

void inferred_json(const struct inferred_list *list, FILE *to)
{
	fprintf(to, "  \"made\": {\"open_regions\": %" PRIu64 ", \"peers\": [", list->open);
	for (size_t i = 0; i < list->n; i++) {
		const struct inferred *at = &list->at[i];

		fprintf(to,
			"%s\n    {\"address\": \"%s\", \"queue_pairs\": %" PRIu64
			", \"receives\": %" PRIu64 ", \"messages\": %" PRIu64
			", \"placed\": %" PRIu64 ", \"regions\": %" PRIu64 ", \"ranges\": [",
			i ? "," : "", at->address, at->queue_pairs, at->receives, at->messages,
			at->placed, at->regions);
		put_ranges(at, to);
		fputs("]}", to);
	}
	fputs("]},\n", to);
}
