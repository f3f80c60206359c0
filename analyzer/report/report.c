/* Functions that the reports for people and those for programs share */
#include "analyzer/report/report.h"

#include <string.h>

static const char *enum_text(const char *info, int64_t value, char text[32])
{
	const char *name = enum_name(enum_find(info), value);

	if (name)
		return name;
	snprintf(text, 32, "%d", (int)value);
	return text;
}

const char *report_status(int status, char text[32])
{
	return enum_text("ibv_wc_status", status, text);
}

const char *report_opcode(const struct first_request *request, char text[32])
{
	if (!request->id.thread)
		return "unknown";
	return request->is_recv ? "receive" : enum_text("ibv_wr_opcode", request->opcode, text);
}

const char *report_qp(const struct first_error *error)
{
	return error->name[0] ? error->name : "a queue pair";
}

/* The callers of these functions are the same in every program. */
static bool is_start(const struct symbol *symbol)
{
	static const char *const starts[] = { "__libc_start", "start_thread", "_start", "clone" };

	for (size_t i = 0; symbol->function && i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(symbol->function, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * Is @symbol main(), called by the C library? The library's function need not be named: with its
 * debug information installed, that look-up would take as long as all others together.
 */
static bool is_called_by_libc(const struct symbol *symbol, const struct frame *caller)
{
	const char *slash = caller->module ? strrchr(caller->module, '/') : NULL;

	return symbol->function && !strcmp(symbol->function, "main") && slash &&
	       !strncmp(slash, "/libc.so.", strlen("/libc.so."));
}

unsigned int report_stack(const struct report *report, uint32_t stack,
			  struct report_line lines[REPORT_FRAMES])
{
	struct frame frames[REPORT_FRAMES];
	struct symbol symbols[REPORT_FRAMES];
	unsigned int nframes = stack ? trace_stack(report->trace, stack, frames, REPORT_FRAMES) : 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < nframes && n < REPORT_FRAMES; i++) {
		unsigned int inside =
			symbols_find(report->symbols, &frames[i], symbols, REPORT_FRAMES - n);

		if (is_start(&symbols[inside - 1]))
			break;
		for (unsigned int k = 0; k < inside; k++)
			/* skip functions of the verbs headers: the line of their caller counts */
			if (!frame_is_ours(&frames[i]) && (n || !symbol_is_of_verbs(&symbols[k])))
				lines[n++] = (struct report_line){ frames[i], symbols[k] };
		if (i + 1 < nframes && is_called_by_libc(&symbols[inside - 1], &frames[i + 1]))
			break;
	}
	return n;
}
