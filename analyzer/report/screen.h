#pragma once
/*
 * The lines of the first screen: see report_screen.c. Entries that do not fit are left out.
 *
 * Not thread-safe.
 */
#include "analyzer/report/groups.h"
#include "analyzer/report/places.h"
#include "analyzer/report/wrap.h"
#include "core/base/text.h"

struct screen {
	const struct report *report;
	struct groups errors;
	unsigned int left;       /* lines */
	unsigned int kept;       /* lines reserved for later parts */
	struct places *places;   /* the rows of each list: a kind of facts, or SCREEN_... */
	struct wrap_spans spans; /* of the text that is printed next */
};
enum { SCREEN_FINDINGS = FACT_COUNT, SCREEN_WAITS, SCREEN_LATE };

/* Print @t in lines that begin at @indent, if they fit, and empty it and the spans. */
bool screen_print_wrapped(struct screen *screen, unsigned int indent, struct text *t);

/* "and 3 more elsewhere"; nothing if @n is 0. @t is empty. */
void screen_print_more(struct screen *screen, struct text *t, uint64_t n, const char *what);

/* Add ", 2 errors", nothing if @n is 0. */
void screen_put_part(struct text *t, uint64_t n, const char *one, const char *more);

/* Add "   send_post < to_rts (app.c:20)", of a row of places_add(). */
void screen_put_place(struct text *t, struct screen *screen, uint32_t list, uint32_t stack);

void screen_put_styled(struct text *t, struct screen *screen, enum style style, const char *words);

/* Add "   3 times in 2 processes". */
void screen_put_times(struct text *t, uint64_t times, size_t processes);

/* Equal for facts and findings of one @kind whose lines would have the same place. */
uint64_t screen_line_key(const struct report *report, uint64_t kind, uint32_t stack);

/* The list of findings, which uses the remaining lines (screen_findings.c). */
void screen_print_findings(struct screen *screen);

/* Does a process wait for a process that is to blame (screen_waits.c)? */
bool screen_has_waits(const struct report *report);
void screen_print_waits(struct screen *screen);

/* The rank that was late, if it caused most of the waiting of the others. */
void screen_print_late(struct screen *screen);

/* The killed processes of a job that hangs, in groups by signal and time. */
void screen_print_killed(struct screen *screen);
