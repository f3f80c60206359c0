/* Lines of the first screen */
#include "analyzer/report/screen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/count.h"
#include "core/wire/hash.h"

bool screen_print_wrapped(struct screen *screen, unsigned int indent, struct text *t)
{
	unsigned int lines = 0;
	char *shown = NULL;
	size_t size = 0;
	FILE *out = t->failed ? NULL : open_memstream(&shown, &size);

	if (out) {
		fprintf(out, "%*s", (int)indent, "");
		wrap_styled(out, (int)indent, (int)indent + 4, t->at ? t->at : "", &screen->spans);
		fclose(out);
	}
	text_cut(t, 0);
	screen->spans.n = 0;
	for (const char *c = shown; c && *c; c++)
		lines += *c == '\n';
	if (shown && lines + screen->kept <= screen->left) {
		fputs(shown, screen->report->out);
		screen->left -= lines;
	} else {
		lines = 0;
	}
	free(shown);
	return lines;
}

void screen_put_part(struct text *t, uint64_t n, const char *one, const char *more)
{
	char count[COUNT_TEXT];

	if (n)
		text_addf(t, "%s%s %s", t->used ? ", " : "", count_text(n, count),
			  n == 1 ? one : more);
}

void screen_put_place(struct text *t, struct screen *screen, uint32_t list, uint32_t stack)
{
	const char *place = places_text(screen->places, list, stack);
	size_t from = t->used;

	if (!place)
		return;
	text_addf(t, "   %s", place);
	wrap_mark(&screen->spans, from, t->used, STYLE_DIM);
}

void screen_put_styled(struct text *t, struct screen *screen, enum style style, const char *words)
{
	size_t from = t->used;

	text_addf(t, "%s", words);
	wrap_mark(&screen->spans, from, t->used, style);
}

uint64_t screen_line_key(const struct report *report, uint64_t kind, uint32_t stack)
{
	char line[512];

	if (*place_line(report, stack, line, sizeof(line)))
		return fact_key(kind, hash_of(line, strlen(line), 0), 0);
	return fact_key(kind, stack, 1);
}

void screen_put_times(struct text *t, uint64_t times, size_t processes)
{
	if (times > 1)
		text_addf(t, "   %" PRIu64 " times", times);
	if (processes > 1)
		text_addf(t, "%s in %zu processes", times > 1 ? "" : "  ", processes);
}

void screen_print_more(struct screen *screen, struct text *t, uint64_t n, const char *what)
{
	if (!n)
		return;
	text_addf(t, "and %" PRIu64 " more %s", n, what);
	screen_print_wrapped(screen, 2, t);
}
