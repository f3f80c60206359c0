/*
 * Marks of the program (verbatim.h), and of the recorder
 */
#include "shim/trace/ring/mark.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shim/trace/ring/record.h"

enum { TEXT_MAX = 1000 };

/* Programs find this function with dlsym(): verbatim.h declares only its type. */
__attribute__((visibility("default"))) void verbatim_record_mark(int kind, const char *text);

static void write_mark(int kind, const char *text)
{
	size_t bytes = strnlen(text, TEXT_MAX);
	size_t words = (sizeof(struct event_mark) + bytes + 7) / 8;
	struct event_mark *event = record_reserve(words * 8);

	if (!event)
		return;
	record_head(&event->head, EVENT_MARK, record_ticks());
	event->kind = (uint16_t)kind;
	event->bytes = (uint16_t)bytes;
	event->pad = 0;
	memcpy(event + 1, text, bytes);
	record_commit(&event->head, words);
}

void verbatim_record_mark(int kind, const char *text)
{
	int saved = errno;

	if (text && kind >= 0 && kind <= MARK_END) {
		CALL_BACK(mark_seen)(kind, text);
		if (record_ready())
			write_mark(kind, text);
	}
	errno = saved;
}

void record_mark_fault(const char *text)
{
	int saved = errno;

	if (record_ready())
		write_mark(MARK_FAULT, text);
	errno = saved;
}
