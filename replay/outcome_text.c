/*
 * The report for a reader
 */
#include <inttypes.h>

#include "core/base/count.h"
#include "core/base/printable.h"
#include "replay/outcome_priv.h"

static void print_total(const struct outcome *r, FILE *to)
{
	uint64_t n[OUTCOME_COUNTS];

	for (int i = 0; i < OUTCOME_COUNTS; i++)
		n[i] = outcome_total(r, (enum outcome_count)i);
	fputs("replayed ", to);
	print_foreign(to, r->path ? r->path : "-");
	fputs(" on ", to);
	print_foreign(to, r->device ? r->device : "-");
	fprintf(to,
		": %" PRIu64 " calls, %" PRIu64 " posts of %" PRIu64 " work requests, %" PRIu64
		" polls with %" PRIu64 " completions, %" PRIu64 " notification requests, %" PRIu64
		" events\n",
		n[OUTCOME_CALLS], n[OUTCOME_POSTS], n[OUTCOME_REQUESTS], n[OUTCOME_POLLS],
		n[OUTCOME_COMPLETIONS], n[OUTCOME_NOTIFIES], n[OUTCOME_EVENTS]);
	if (n[OUTCOME_PAYLOADS])
		fprintf(to,
			"sent what was recorded, and compared what was received %" PRIu64
			" time%s\n",
			n[OUTCOME_PAYLOADS], n[OUTCOME_PAYLOADS] == 1 ? "" : "s");
	fprintf(to, "recorded in %.3f s, replayed in %.3f s\n", r->recorded, r->replayed);
	if (n[OUTCOME_FAULTS])
		fprintf(to,
			"%" PRIu64 " recorded error%s or event%s that the traffic does not cause "
			"%s caused (--faults recorded)\n",
			n[OUTCOME_FAULTS], n[OUTCOME_FAULTS] == 1 ? "" : "s",
			n[OUTCOME_FAULTS] == 1 ? "" : "s", n[OUTCOME_FAULTS] == 1 ? "was" : "were");
	if (n[OUTCOME_UNPOLLED])
		fprintf(to,
			"%" PRIu64 " completions came that the recorded program had not asked "
			"for when it ended\n",
			n[OUTCOME_UNPOLLED]);
}

static void print_divergence(const struct divergence *d, FILE *to)
{
	char event[32], about[32], sender[32];

	fprintf(to, "  %s %s: ", event_id_text(d->event, event), verb_infos[d->verb].name);
	print_foreign(to, d->field);
	fputs(": recorded ", to);
	print_foreign(to, d->recorded);
	fputs(", replayed ", to);
	print_foreign(to, d->replayed);
	if (d->about.thread)
		fprintf(to, " (request of %s%s%s)", event_id_text(d->about, about),
			d->sender.thread ? ", sent by " : "",
			d->sender.thread ? event_id_text(d->sender, sender) : "");
}

static void print_consequences(const struct outcome *r, const struct cause *cause, FILE *to)
{
	char object[OBJECT_TEXT], n[COUNT_TEXT];

	if (!cause->consequences)
		return;
	fprintf(to, "; %s consequence%s", count_text(cause->consequences, n),
		cause->consequences == 1 ? "" : "s");
	for (uint32_t i = 0; i < cause->nobjects; i++) {
		fputs(!i                                               ? " on "
		      : i + 1 < cause->nobjects || cause->more_objects ? ", "
								       : " and ",
		      to);
		print_foreign(to, outcome_object_text(r, cause->objects[i], object));
	}
	if (cause->more_objects)
		fputs(" and others", to);
}

/* "3 divergences (2 recorded successes fail here, 1 recorded failure succeeds here)" */
static void print_classes(const struct outcome *r, FILE *to)
{
	static const char *const one[DIVERGENCE_CLASSES] = {
		[DIVERGENCE_FAILED_HERE] = "recorded success fails here",
		[DIVERGENCE_FAILED_THERE] = "recorded failure succeeds here",
		[DIVERGENCE_OTHER] = "other",
	};
	static const char *const many[DIVERGENCE_CLASSES] = {
		[DIVERGENCE_FAILED_HERE] = "recorded successes fail here",
		[DIVERGENCE_FAILED_THERE] = "recorded failures succeed here",
		[DIVERGENCE_OTHER] = "other",
	};
	static const enum divergence_class order[] = { DIVERGENCE_FAILED_HERE,
						       DIVERGENCE_FAILED_THERE, DIVERGENCE_OTHER };
	const char *before = " (";
	char n[COUNT_TEXT];

	if (r->classes[DIVERGENCE_OTHER] == r->ndivergences)
		return;
	for (size_t i = 0; i < DIVERGENCE_CLASSES; i++) {
		uint64_t count = r->classes[order[i]];

		if (!count)
			continue;
		fprintf(to, "%s%s %s", before, count_text(count, n),
			(count == 1 ? one : many)[order[i]]);
		before = ", ";
	}
	fputc(')', to);
}

static void print_divergences(const struct outcome *r, FILE *to)
{
	size_t shown = r->nkept < OUTCOME_PRINTED ? r->nkept : OUTCOME_PRINTED;
	char n[COUNT_TEXT];

	if (!r->ndivergences) {
		fprintf(to, "no divergence\n");
		return;
	}
	fprintf(to, "%s divergence%s", count_text(r->ndivergences, n),
		r->ndivergences == 1 ? "" : "s");
	print_classes(r, to);
	fputs(":\n", to);
	for (size_t i = 0; i < shown; i++) {
		print_divergence(&r->kept[i].first, to);
		print_consequences(r, &r->kept[i], to);
		fputc('\n', to);
	}
	if (r->ndivergences > shown)
		fprintf(to, "  and %s more\n", count_text(r->ndivergences - shown, n));
}

static void print_skips(const struct outcome *r, FILE *to)
{
	char event[32];

	if (r->nskipped)
		fprintf(to, "%" PRIu64 " events not replayed:\n", r->nskipped);
	for (size_t i = 0; i < r->nskips && i < OUTCOME_PRINTED; i++) {
		const struct skip *s = &r->skips[i];

		fprintf(to, "  %" PRIu64 " x %s, first at %s: ", s->n, verb_infos[s->verb].name,
			event_id_text(s->event, event));
		print_foreign(to, s->why);
		fputc('\n', to);
	}
	if (r->nskips > OUTCOME_PRINTED)
		fprintf(to, "  and %zu more reasons\n", r->nskips - OUTCOME_PRINTED);
}

void outcome_text(const struct outcome *r, FILE *to)
{
	print_total(r, to);
	inferred_text(&r->inferred, to);
	print_divergences(r, to);
	print_skips(r, to);
	if (r->ntolerated)
		fprintf(to, "differences that say nothing:\n");
	for (size_t i = 0; i < r->ntolerated; i++)
		fprintf(to, "  %" PRIu64 " x %s\n", r->tolerated[i].n, r->tolerated[i].reason);
	for (size_t i = 0; i < r->nnotes; i++) {
		fputs("note: ", to);
		print_foreign(to, r->notes[i]);
		fputc('\n', to);
	}
}
