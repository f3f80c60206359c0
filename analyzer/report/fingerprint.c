/*
 * Identifies the same finding in another recording
 *
 * The innermost PLACE functions of a stack are used: a single one is often a wrapper that the whole
 * program calls, and the whole stack changes with every caller.
 */
#include "analyzer/report/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/hash.h"

enum { PLACE = 3 };

static void add_text(struct hash *hash, const char *text)
{
	hash_add(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* "ibv_post_send(): wr[2].sg_list[0].lkey", without the numbers */
static void add_where(struct hash *hash, const char *where)
{
	bool inside = false;

	for (; where && *where; where++) {
		inside = *where == '[' || (inside && *where != ']');
		if (!inside || *where == '[')
			hash_add(hash, where, 1);
	}
	hash_add(hash, "", 1);
}

static void add_place(struct hash *hash, const struct report *report, uint32_t stack)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(report, stack, lines);

	for (unsigned int i = 0; i < n && i < PLACE; i++) {
		const struct symbol *symbol = &lines[i].symbol;
		char offset[32];

		add_text(hash, symbol->function);
		add_text(hash, symbol->file ? symbol->file : symbol->module);
		snprintf(offset, sizeof(offset), "%" PRIx64, symbol->offset);
		if (!symbol->function)
			add_text(hash, offset);
	}
	hash_add(hash, "", 1);
}

/* Is @step the finding's event? Only the first step and this one always exist. */
static bool is_event(const struct finding_step *step, const struct finding *finding)
{
	return step->moment.id.thread == finding->event.thread &&
	       step->moment.id.n == finding->event.n;
}

const char *report_fingerprint(const struct report *report, const struct finding *finding,
			       char text[FINGERPRINT])
{
	struct hash hash;

	hash_begin(&hash, 0);
	add_text(&hash, rules[finding->rule].id);
	if (finding->site->hazard) /* a hazard in a baseline must not hide an error */
		add_text(&hash, "hazard");
	add_where(&hash, finding->where);
	if (finding->nsteps)
		add_place(&hash, report, finding->steps[0].moment.stack);
	for (unsigned int i = 1; i < finding->nsteps; i++)
		if (is_event(&finding->steps[i], finding))
			add_place(&hash, report, finding->steps[i].moment.stack);
	snprintf(text, FINGERPRINT, "%016" PRIx64, hash_end(&hash));
	return text;
}

static const char *print_fact(const struct report *report, enum fact_kind kind, enum verb verb,
			      int error, uint32_t stack, char text[FINGERPRINT])
{
	struct hash hash;

	hash_begin(&hash, 0);
	add_text(&hash, fact_infos[kind].name);
	add_text(&hash, verb == VERB_COUNT ? "" : verb_infos[verb].name);
	hash_add(&hash, &error, sizeof(error));
	add_place(&hash, report, stack);
	snprintf(text, FINGERPRINT, "%016" PRIx64, hash_end(&hash));
	return text;
}

const char *fingerprint_fact(const struct report *report, const struct fact *fact,
			     char text[FINGERPRINT])
{
	return print_fact(report, fact->kind, fact->verb, fact->error, fact->stack, text);
}

const char *fingerprint_error(const struct report *report, const struct first_error *error,
			      char text[FINGERPRINT])
{
	return print_fact(report, FACT_ERROR, VERB_COUNT, error->status, error->request.stack,
			  text);
}
