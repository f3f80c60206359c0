/*
 * Misuses found by `record --strict`: table misuse
 */
#include <errno.h>

#include "core/store/write/writer_priv.h"
#include "core/wire/desc.h"

static const char *const whats[MISUSES] = {
#define MISUSE(name, word) [MISUSE_##name] = word,
	EACH_MISUSE(MISUSE)
#undef MISUSE
};

static const char *const fields[CQ_FIELDS] = {
#define FIELD(name) [CQ_FIELD_##name] = #name,
	EACH_CQ_FIELD(FIELD)
#undef FIELD
};

static const char *verb_name(uint16_t verb)
{
	return verb < VERB_COUNT ? verb_infos[verb].name : NULL;
}

static bool is_sound(const struct event_misuse *event)
{
	size_t bytes = event->head.words * 8u;

	return bytes >= sizeof(*event) && event->nframes <= (bytes - sizeof(*event)) / 8 &&
	       event->what < MISUSES && event->field < CQ_FIELDS;
}

int writer_note_misuse(struct writer *writer, struct thread_log *log,
		       const struct event_misuse *event, uint64_t n, int64_t time)
{
	const struct thread_log *other;
	bool read;
	uint32_t stack;

	if (!is_sound(event))
		return -EBADMSG;
	if (stacks_find_or_add(writer, log->process, event->modules, (const void *)(event + 1),
			       event->nframes, &stack))
		return writer->err;
	read = event->verb >= VERB_COUNT;
	other = event->tid ? polls_find_log(writer, event->ring, event->tid) : NULL;
	return WRITER_RUN(writer, misuse, "uiuitttdiizzt", log->id, n, log->process, time,
			  whats[event->what], verb_name(event->verb),
			  read ? fields[event->field] : NULL, read ? (int)event->status : 0,
			  event->object, event->of, other ? (int64_t)other->id : 0, (int64_t)stack,
			  event->what == MISUSE_DESTROY_OVERLAP ? verb_name(event->other_verb)
								: NULL);
}
