/*
 * Call stacks of a dump as text
 */
#include "cli/dump/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/report/symbols.h"
#include "core/base/map.h"
#include "core/base/text.h"
#include "core/base/vec.h"

enum { FRAMES_MAX = 128, INLINED_MAX = 16, LINE = 512 };

struct stacks {
	struct trace *trace;
	bool all;
	struct symbols *symbols; /* NULL: not available */
	struct map known;        /* stack to 1 + index */
	struct stack *at;
	size_t n;
};

struct stacks *stacks_new(struct trace *trace, bool all)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->trace = trace;
	stacks->all = all;
	if (symbols_open(&stacks->symbols))
		stacks->symbols = NULL;
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->n; i++) {
		for (size_t k = 0; k < stacks->at[i].n; k++)
			free(stacks->at[i].functions[k]);
		free(stacks->at[i].functions);
		free(stacks->at[i].brief);
	}
	free(stacks->at);
	map_fini(&stacks->known);
	symbols_close(stacks->symbols);
	free(stacks);
}

static void add_brief(struct text *brief, const struct symbol *symbol)
{
	char text[LINE];

	if (!brief->used && symbol_is_of_verbs(symbol))
		return;
	if (brief->used)
		text_add(brief, " < ", 3);
	if (symbol_is_python(symbol))
		text_addf(brief, "Python (its frames are not recorded)");
	else if (symbol->function && symbol->file)
		text_addf(brief, "%s (%s:%d)", symbol->function, symbol->file, symbol->line);
	else
		text_addf(brief, "%s", symbol_text(symbol, text, sizeof(text)));
}

static void add_function(struct stack *stack, const struct symbol *symbol)
{
	char text[LINE], **place = vec_push(stack->functions, stack->n);

	if (place)
		*place = strdup(symbol_text(symbol, text, sizeof(text)));
	if (place && !*place)
		stack->n--;
}

static bool is_main(const struct symbol *symbol)
{
	return symbol->function && !strcmp(symbol->function, "main");
}

/*
 * The callers of main() are the same in all programs, and so are the functions of the Python
 * interpreter.
 */
static void read_stack(struct stacks *stacks, uint32_t id, struct stack *stack)
{
	struct frame frames[FRAMES_MAX];
	struct symbol symbols[INLINED_MAX];
	unsigned int n = trace_stack(stacks->trace, id, frames, FRAMES_MAX);
	struct text brief = { 0 };
	bool ends = false;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int inside;

		if (!stacks->all && frame_is_ours(&frames[i]))
			continue;
		inside = symbols_find(stacks->symbols, &frames[i], symbols, INLINED_MAX);
		for (unsigned int k = 0; k < inside; k++) {
			add_function(stack, &symbols[k]);
			if (!ends)
				add_brief(&brief, &symbols[k]);
			stack->python |= symbol_is_python(&symbols[k]);
			ends = ends || stack->python || is_main(&symbols[k]);
		}
	}
	stack->brief = brief.at;
}

const struct stack *stacks_find(struct stacks *stacks, uint32_t id)
{
	struct stack *stack;
	uint64_t known;

	if (!stacks || !stacks->symbols || !id)
		return NULL;
	if (!map_get(&stacks->known, id, &known)) {
		stack = vec_push(stacks->at, stacks->n);
		if (!stack)
			return NULL;
		read_stack(stacks, id, stack);
		known = stacks->n;
		if (map_put(&stacks->known, id, known))
			return stack;
	}
	stack = &stacks->at[known - 1];
	return stack->n ? stack : NULL;
}
