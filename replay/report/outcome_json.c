/*
 * The report as one JSON object
 *
 *	{ "trace", "device", "seconds": {...}, "longest_wait_ns": N,
 *	  "counts": {...}, "calls": {...},
 *	  "whole": true|false, "partial": "ended by ...", "left_out": {...}, "lacking": [...],
 *	  "divergences": N, "consequences": N, "classes": {...},
 *	  "divergence": [...], "skipped": [...],
 *	  "part": "until 1:60", "alive": [...], "rounds": {...},
 *	  "made": {...}, "tolerated": [...], "tolerated_by": [...], "notes": [...] }
 */
#include <inttypes.h>
#include <string.h>

#include "core/base/text.h"
#include "replay/report/outcome_priv.h"

static const char *const count_names[OUTCOME_COUNTS] = {
	[OUTCOME_CALLS] = "calls",
	[OUTCOME_POSTS] = "posts",
	[OUTCOME_REQUESTS] = "requests",
	[OUTCOME_POLLS] = "polls",
	[OUTCOME_COMPLETIONS] = "completions",
	[OUTCOME_PAYLOADS] = "payloads",
	[OUTCOME_NOTIFIES] = "notifies",
	[OUTCOME_EVENTS] = "events",
	[OUTCOME_UNPOLLED] = "unpolled",
	[OUTCOME_FAULTS] = "faults",
	[OUTCOME_SEEN] = "seen",
	[OUTCOME_COMPILED] = "compiled",
};

const char *outcome_class_name(enum divergence_class class)
{
	static const char *const names[DIVERGENCE_CLASSES] = {
		[DIVERGENCE_OTHER] = "other",
		[DIVERGENCE_FAILED_RECORDED] = "recorded-failure-succeeds",
		[DIVERGENCE_FAILED_REPLAYED] = "recorded-success-fails",
	};

	return names[class];
}

static void put_text(FILE *to, const char *text)
{
	struct text quoted = { 0 };

	text_json(&quoted, text ? text : "", text ? strlen(text) : 0);
	fputs(quoted.failed ? "null" : quoted.at, to);
	text_fini(&quoted);
}

static void put_member(FILE *to, const char *name, const char *text)
{
	fprintf(to, "\"%s\": ", name);
	put_text(to, text);
}

static void put_event(FILE *to, const char *name, struct event_id event)
{
	char text[32];

	put_member(to, name, event_id_text(event, text));
}

static void put_counts(const struct outcome *r, FILE *to)
{
	const char *comma = "";

	fprintf(to, "  \"counts\": {");
	for (int i = 0; i < OUTCOME_COUNTS; i++)
		fprintf(to, "%s\"%s\": %" PRIu64, i ? ", " : "", count_names[i],
			outcome_total(r, (enum outcome_count)i));
	fprintf(to, "},\n  \"calls\": {");
	for (int v = 0; v < VERB_COUNT; v++) {
		uint64_t n = outcome_total_calls(r, (enum verb)v);

		if (!n)
			continue;
		fprintf(to, "%s\"%s\": %" PRIu64, comma, verb_infos[v].name, n);
		comma = ", ";
	}
	fprintf(to, "},\n");
}

static void put_divergence(const struct outcome *r, const struct cause *cause, FILE *to)
{
	const struct divergence *d = &cause->first;
	char object[OBJECT_TEXT];

	fprintf(to, "    {");
	put_event(to, "event", d->event);
	fprintf(to, ", ");
	put_member(to, "verb", divergence_verb(d));
	fprintf(to, ", ");
	put_member(to, "field", d->field);
	fprintf(to, ", ");
	put_member(to, "recorded", d->recorded);
	fprintf(to, ", ");
	put_member(to, "replayed", d->replayed);
	if (d->about.thread) {
		fprintf(to, ", ");
		put_event(to, "request", d->about);
	}
	if (d->sender.thread) {
		fprintf(to, ", ");
		put_event(to, "sender", d->sender);
	}
	if (d->object) {
		fprintf(to, ", ");
		put_member(to, "object", outcome_object_text(r, d->object, object));
	}
	fprintf(to, ", ");
	put_member(to, "class", outcome_class_name(d->class));
	fprintf(to, ", \"consequences\": %" PRIu64 ", \"on\": [", cause->consequences);
	for (uint32_t i = 0; i < cause->nobjects; i++) {
		fputs(i ? ", " : "", to);
		put_text(to, outcome_object_text(r, cause->objects[i], object));
	}
	fputs("]}", to);
}

static void put_skip(const struct skip *s, FILE *to)
{
	fprintf(to, "    {");
	put_event(to, "first", s->event);
	fprintf(to, ", ");
	put_member(to, "verb", verb_infos[s->verb].name);
	fprintf(to, ", \"count\": %" PRIu64 ", ", s->n);
	put_member(to, "why", s->why);
	fputc('}', to);
}

/* The lines of --tolerate, used or not. */
static void put_lines(const struct outcome *r, FILE *to)
{
	const struct tolerate_line *line;

	fputs("  \"tolerated_by\": [", to);
	for (size_t i = 0; (line = tolerate_line(r->tolerate, i)); i++) {
		fprintf(to,
			"%s\n    {\"line\": %u, \"count\": %" PRIu64 ", \"consequences\": %" PRIu64
			", ",
			i ? "," : "", line->number, line->used, line->consequences);
		put_member(to, "reason", line->reason);
		fputc('}', to);
	}
	fputs("],\n", to);
}

static void put_tolerated(const struct outcome *r, FILE *to)
{
	inferred_json(&r->inferred, to);
	alive_objects_json(r->moment, to);
	rounds_json(&r->rounds, to);
	fprintf(to, "  \"tolerated\": [");
	for (size_t i = 0; i < r->ntolerated; i++) {
		fprintf(to, "%s\n    {\"count\": %" PRIu64 ", ", i ? "," : "", r->tolerated[i].n);
		put_member(to, "reason", r->tolerated[i].reason);
		fputc('}', to);
	}
	fputs("],\n", to);
	put_lines(r, to);
	fputs("  \"notes\": [", to);
	for (size_t i = 0; i < r->nnotes; i++) {
		fprintf(to, "%s\n    ", i ? "," : "");
		put_text(to, r->notes[i]);
	}
	fprintf(to, "]\n");
}

/* The reasons why the report does not cover the whole recording. */
static void put_whole(const struct outcome *r, FILE *to)
{
	static const char *const names[SKIP_KINDS] = { "posts", "completions", "calls" };

	fprintf(to, "  \"whole\": %s,\n  ", outcome_is_whole(r) ? "true" : "false");
	if (r->state.stopped) {
		put_member(to, "partial", r->why_stopped);
		fputs(",\n  ", to);
	}
	if (r->part) {
		put_member(to, "part", r->part);
		fputs(",\n  ", to);
	}
	fputs("\"left_out\": {", to);
	for (int kind = 0; kind < SKIP_KINDS; kind++)
		fprintf(to, "%s\"%s\": %" PRIu64, kind ? ", " : "", names[kind], r->nskipped[kind]);
	fputs("},\n  \"lacking\": [", to);
	for (size_t i = 0; i < r->ngaps; i++) {
		fputs(i ? ", " : "", to);
		put_text(to, r->gaps[i]);
	}
	fputs("],\n", to);
}

void outcome_json(const struct outcome *r, FILE *to)
{
	fprintf(to, "{\n  ");
	put_member(to, "trace", r->path);
	fprintf(to, ",\n  ");
	put_member(to, "device", r->device);
	fprintf(to,
		",\n  \"seconds\": {\"recorded\": %.6f, \"compiled\": %.6f, \"replayed\": %.6f},\n"
		"  \"longest_wait_ns\": %" PRId64 ",\n",
		r->recorded, r->compiled, r->replayed, r->waited);
	put_counts(r, to);
	put_whole(r, to);
	fprintf(to, "  \"divergences\": %" PRIu64 ",\n  \"consequences\": %" PRIu64 ",\n",
		r->ndivergences, r->nconsequences);
	fprintf(to, "  \"classes\": {");
	for (int i = 0; i < DIVERGENCE_CLASSES; i++)
		fprintf(to, "%s\"%s\": %" PRIu64, i ? ", " : "",
			outcome_class_name((enum divergence_class)i), r->classes[i]);
	fprintf(to, "},\n  \"divergence\": [");
	for (size_t i = 0, n = 0; i < r->nkept; i++) {
		if (r->kept[i].tolerated)
			continue;
		fprintf(to, "%s\n", n++ ? "," : "");
		put_divergence(r, &r->kept[i], to);
	}
	fprintf(to, "],\n  \"skipped\": [");
	for (size_t i = 0; i < r->nskips; i++) {
		fprintf(to, "%s\n", i ? "," : "");
		put_skip(&r->skips[i], to);
	}
	fprintf(to, "],\n");
	put_tolerated(r, to);
	fprintf(to, "}\n");
}
