/*
 * The report for a reader: the verdict on the first line, with everything that was left out; then
 * the divergences; then the counts
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/count.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "replay/report/outcome_priv.h"

enum { GAPS_SHOWN = 2 }; /* on the first line */

const char *outcome_object_text(const struct outcome *r, uint32_t object, char text[OBJECT_TEXT])
{
	const struct object *o = r->trace ? trace_object(r->trace, object) : NULL;
	char process[PROCESS_TEXT];

	if (!o)
		snprintf(text, OBJECT_TEXT, "object %u", object);
	else if (trace_process(r->trace, 2))
		snprintf(text, OBJECT_TEXT, "%s of %s", o->name,
			 process_id_text(o->process, process));
	else
		snprintf(text, OBJECT_TEXT, "%s", o->name);
	return text;
}

static void print_total(const struct outcome *r, FILE *to)
{
	char text[OUTCOME_COUNTS][COUNT_TEXT];
	uint64_t n[OUTCOME_COUNTS];

	for (int i = 0; i < OUTCOME_COUNTS; i++) {
		n[i] = outcome_total(r, (enum outcome_count)i);
		count_text(n[i], text[i]);
	}
	fputs("replayed ", to);
	print_untrusted(to, r->path ? r->path : "-");
	fputs(" on ", to);
	print_untrusted(to, r->device ? r->device : "-");
	fprintf(to,
		": %s calls, %s posts of %s work requests, %s polls with %s completions, %s "
		"notification requests, %s events\n",
		text[OUTCOME_CALLS], text[OUTCOME_POSTS], text[OUTCOME_REQUESTS],
		text[OUTCOME_POLLS], text[OUTCOME_COMPLETIONS], text[OUTCOME_NOTIFIES],
		text[OUTCOME_EVENTS]);
	if (n[OUTCOME_PAYLOADS])
		fprintf(to,
			"sent the recorded contents, and compared received contents %s "
			"time%s\n",
			text[OUTCOME_PAYLOADS], n[OUTCOME_PAYLOADS] == 1 ? "" : "s");
	fprintf(to, "recorded in %.3f s, compiled in %.3f s, replayed in %.3f s\n", r->recorded,
		r->compiled, r->replayed);
	if (n[OUTCOME_FAULTS])
		fprintf(to,
			"%s recorded error%s or event%s that the traffic does not cause "
			"%s injected (--faults recorded)\n",
			text[OUTCOME_FAULTS], n[OUTCOME_FAULTS] == 1 ? "" : "s",
			n[OUTCOME_FAULTS] == 1 ? "" : "s", n[OUTCOME_FAULTS] == 1 ? "was" : "were");
	if (n[OUTCOME_UNPOLLED])
		fprintf(to,
			"%s completion%s arrived that the recorded program had not "
			"polled %s\n",
			text[OUTCOME_UNPOLLED], n[OUTCOME_UNPOLLED] == 1 ? "" : "s",
			r->moment ? "by then" : "when it ended");
}

static void print_event(const struct divergence *d, FILE *to)
{
	char event[32];

	fprintf(to, "%s ", event_id_text(d->event, event));
}

static void print_difference(const struct divergence *d, FILE *to)
{
	char about[32], sender[32];

	fprintf(to, "%s: ", divergence_verb(d));
	print_untrusted(to, d->field);
	fputs(": recorded ", to);
	print_untrusted(to, d->recorded);
	fputs(", replayed ", to);
	print_untrusted(to, d->replayed);
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
		print_untrusted(to, outcome_object_text(r, cause->objects[i], object));
	}
	if (cause->more_objects)
		fputs(" and others", to);
}

void outcome_print_divergence(const struct outcome *r, size_t i, FILE *to)
{
	print_event(&r->kept[i].first, to);
	print_difference(&r->kept[i].first, to);
	print_consequences(r, &r->kept[i], to);
}

/* "3 divergences (2 recorded successes fail in the replay, 1 other)" */
static void print_classes(const struct outcome *r, FILE *to)
{
	static const char *const one[DIVERGENCE_CLASSES] = {
		[DIVERGENCE_FAILED_REPLAYED] = "recorded success fails in the replay",
		[DIVERGENCE_FAILED_RECORDED] = "recorded failure succeeds in the replay",
		[DIVERGENCE_OTHER] = "other",
	};
	static const char *const many[DIVERGENCE_CLASSES] = {
		[DIVERGENCE_FAILED_REPLAYED] = "recorded successes fail in the replay",
		[DIVERGENCE_FAILED_RECORDED] = "recorded failures succeed in the replay",
		[DIVERGENCE_OTHER] = "other",
	};
	static const enum divergence_class order[] = { DIVERGENCE_FAILED_REPLAYED,
						       DIVERGENCE_FAILED_RECORDED,
						       DIVERGENCE_OTHER };
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

/* "partial, ended by SIGTERM after 1,234 of 5,678 events: " */
static void print_stopped(const struct outcome *r, FILE *to)
{
	uint64_t all = r->trace ? trace_events(r->trace) : 0;
	char seen[COUNT_TEXT], total[COUNT_TEXT];

	if (!r->state.stopped)
		return;
	fprintf(to, "partial, %s after %s", r->why_stopped,
		count_text(outcome_total(r, OUTCOME_SEEN), seen));
	if (all)
		fprintf(to, " of %s", count_text(all, total));
	fputs(" events: ", to);
}

/* "12 of 3,010 posts, 24 of 3,010 completions" */
static void print_left_out(const struct outcome *r, FILE *to)
{
	static const enum outcome_count done[SKIP_KINDS] = {
		[SKIP_POST] = OUTCOME_POSTS,
		[SKIP_COMPLETION] = OUTCOME_COMPLETIONS,
		[SKIP_CALL] = OUTCOME_CALLS,
	};
	static const char *const names[SKIP_KINDS] = {
		[SKIP_POST] = "post",
		[SKIP_COMPLETION] = "completion",
		[SKIP_CALL] = "call",
	};
	char left[COUNT_TEXT], all[COUNT_TEXT];
	const char *before = "; ";

	for (int kind = 0; kind < SKIP_KINDS; kind++) {
		uint64_t n = r->nskipped[kind], total = n + outcome_total(r, done[kind]);

		if (!n)
			continue;
		fprintf(to, "%s%s of %s %s%s", before, count_text(n, left), count_text(total, all),
			names[kind], total == 1 ? "" : "s");
		before = ", ";
	}
}

/* Print the most frequent reason for leaving events out. */
static void print_main_reason(const struct outcome *r, FILE *to)
{
	const struct skip *most = &r->skips[0];
	size_t others = 0;

	for (size_t i = 1; i < r->nskips; i++)
		if (r->skips[i].n > most->n)
			most = &r->skips[i];
	for (size_t i = 0; i < r->nskips; i++)
		others += strcmp(r->skips[i].why, most->why) != 0;
	fputs(" left out: ", to);
	print_untrusted(to, most->why);
	if (others)
		fputs(", and other reasons below", to);
}

static void print_gaps(const struct outcome *r, FILE *to)
{
	for (size_t i = 0; i < r->ngaps && i < GAPS_SHOWN; i++) {
		fputs("; ", to);
		print_untrusted(to, r->gaps[i]);
	}
	if (r->ngaps > GAPS_SHOWN)
		fprintf(to, "; and %zu more missing, see below", r->ngaps - GAPS_SHOWN);
}

void outcome_verdict(const struct outcome *r, FILE *to)
{
	char n[COUNT_TEXT];

	print_stopped(r, to);
	rounds_verdict(&r->rounds, to);
	if (r->part) {
		print_untrusted(to, r->part);
		fputs(": ", to);
	}
	if (r->ndivergences) {
		fprintf(to, "%s divergence%s", count_text(r->ndivergences, n),
			r->ndivergences == 1 ? "" : "s");
		print_classes(r, to);
	} else {
		fputs("no divergence", to);
	}
	if (r->nskips) {
		print_left_out(r, to);
		print_main_reason(r, to);
	}
	print_gaps(r, to);
}

static void print_divergences(const struct outcome *r, FILE *to)
{
	uint64_t shown = 0;
	char n[COUNT_TEXT];

	for (size_t i = 0; i < r->nkept && shown < OUTCOME_PRINTED; i++) {
		if (r->kept[i].tolerated)
			continue;
		fputs("  ", to);
		style_put(to, STYLE_NAME);
		print_event(&r->kept[i].first, to);
		style_put(to, STYLE_PLAIN);
		print_difference(&r->kept[i].first, to);
		print_consequences(r, &r->kept[i], to);
		fputc('\n', to);
		shown++;
	}
	if (r->ndivergences > shown)
		fprintf(to, "  and %s more\n", count_text(r->ndivergences - shown, n));
}

bool outcome_print_skip(const struct outcome *r, size_t i, FILE *to)
{
	const struct skip *s = i < r->nskips ? &r->skips[i] : NULL;
	char event[32], n[COUNT_TEXT];

	if (!s)
		return false;
	fprintf(to, "%s x %s, first at %s: ", count_text(s->n, n), verb_infos[s->verb].name,
		event_id_text(s->event, event));
	print_untrusted(to, s->why);
	return true;
}

static void print_skips(const struct outcome *r, FILE *to)
{
	if (r->nskips)
		fputs("not replayed:\n", to);
	for (size_t i = 0; i < r->nskips && i < OUTCOME_PRINTED; i++) {
		fputs("  ", to);
		outcome_print_skip(r, i, to);
		fputc('\n', to);
	}
	if (r->nskips > OUTCOME_PRINTED)
		fprintf(to, "  and %zu more reasons\n", r->nskips - OUTCOME_PRINTED);
}

/* Print the effect of the lines of --tolerate. */
static void print_lines(const struct outcome *r, FILE *to)
{
	const struct tolerate_line *line;
	char n[COUNT_TEXT];

	for (size_t i = 0; (line = tolerate_line(r->tolerate, i)); i++) {
		fputs(line->used ? "tolerated by " : "unused: ", to);
		print_untrusted(to, tolerate_path(r->tolerate));
		fprintf(to, ":%u: ", line->number);
		if (line->used)
			fprintf(to, "%s x ", count_text(line->used, n));
		print_untrusted(to, line->reason);
		if (line->consequences)
			fprintf(to, "; %s consequence%s", count_text(line->consequences, n),
				line->consequences == 1 ? "" : "s");
		fputc('\n', to);
	}
}

static enum style style_of_verdict(const struct outcome *r)
{
	if (r->ndivergences)
		return STYLE_ERROR;
	return r->state.stopped || r->nskips || r->ngaps ? STYLE_WARNING : STYLE_GOOD;
}

void outcome_text(const struct outcome *r, FILE *to)
{
	style_put(to, style_of_verdict(r));
	outcome_verdict(r, to);
	style_put(to, STYLE_PLAIN);
	fputc('\n', to);
	print_divergences(r, to);
	print_total(r, to);
	inferred_text(&r->inferred, to);
	alive_objects_text(r->moment, to);
	rounds_text(&r->rounds, to);
	print_skips(r, to);
	print_lines(r, to);
	if (r->ntolerated)
		fprintf(to, "ignored differences (expected):\n");
	for (size_t i = 0; i < r->ntolerated; i++)
		fprintf(to, "  %" PRIu64 " x %s\n", r->tolerated[i].n, r->tolerated[i].reason);
	for (size_t i = GAPS_SHOWN; i < r->ngaps; i++) {
		fputs("lacking: ", to);
		print_untrusted(to, r->gaps[i]);
		fputc('\n', to);
	}
	for (size_t i = 0; i < r->nnotes; i++) {
		fputs("note: ", to);
		print_untrusted(to, r->notes[i]);
		fputc('\n', to);
	}
}
