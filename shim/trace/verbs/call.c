/*
 * A control verb in the ring
 *
 *	EVENT_CALL    verb, frames of the stack, arguments that go in
 *	...           what is called meanwhile, marked as inner
 *	EVENT_RETURN  result, errno, arguments that the verb wrote, the new object
 *
 * Verbs nest: the library calls itself, providers call it. The depth is reset if the outermost
 * verb's frame is gone, as after a cancellation or a longjmp() out of it: then this call is not
 * inside it. Calls of librdmacm have a separate depth: the verbs inside them are outermost calls of
 * libibverbs, and are checked and replayed as if the program had called them itself.
 */
#include "shim/trace/verbs/call.h"

#include <errno.h>
#include <string.h>

#include "core/wire/codec.h"
#include "shim/trace/base/defined.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/stack.h"
#include "shim/trace/verbs/poll_ex.h"
#include "shim/trace/verbs/stop.h"

enum { USUAL = 4096 }; /* bytes: a longer event is written again, with enough space */

struct call_nesting {
	uint32_t *depth;
	const void **frame;
};

static struct call_nesting nesting_of(enum verb verb)
{
	if (verb_infos[verb].via == VIA_CM)
		return (struct call_nesting){ &recorder.cm_depth, &recorder.cm_frame };
	return (struct call_nesting){ &recorder.depth, &recorder.frame };
}

/* Enter a call. @inside: a jump cannot have left the verbs that seem to be around this one. */
static void enter_call(struct call *call, const void *frame, bool inside)
{
	struct call_nesting in = nesting_of(call->verb);

	/* the stack grows down: an outer frame lies above this one */
	if (*in.depth && (*in.frame <= frame || !inside))
		*in.depth = 0;
	call->depth = *in.depth;
	call->frame = *in.frame;
	if (!call->depth)
		*in.frame = frame;
}

static size_t words_left(const void *event, const void *at, size_t room)
{
	return (room - (size_t)((const char *)at - (const char *)event)) / 8;
}

/* Fill in the event, at most @room bytes. Returns its length in words. */
static size_t fill_call(struct event_call *event, size_t room, const struct call *call,
			const struct stack *stack, bool *ret_cut)
{
	uint64_t *words = (uint64_t *)(event + 1);
	struct codec_out out;

	record_head(&event->head, EVENT_CALL, record_ticks());
	event->verb = (uint16_t)call->verb;
	event->depth = (uint8_t)(call->depth < 255 ? call->depth : 255);
	event->nframes = (uint8_t)stack->nframes;
	event->modules = stack->modules;
	event->pad = 0;
	memcpy(words, stack->frames, stack->nframes * sizeof(*words));
	words += stack->nframes;
	out = (struct codec_out){ .words = words,
				  .size = words_left(event, words, room),
				  .rule = &payload_rule };
	codec_put_args(&out, call->verb, call->args, DIR_IN);
	if (out.cut)
		event->head.flags |= EVENT_CUT;
	event->nargs = (uint32_t)out.used;
	*ret_cut = out.cut;
	return sizeof(*event) / 8 + event->nframes + out.used;
}

/* Reserve again, with space for the longest event. */
static void *reserve_largest(void)
{
	record_set_writing(NULL);
	return record_reserve(RING_EVENT_MAX);
}

static void write_call(struct call *call, const struct stack *stack)
{
	struct event_call *event;
	size_t words;
	bool cut;

	event = record_reserve(USUAL);
	if (!event)
		return;
	words = fill_call(event, USUAL, call, stack, &cut);
	if (cut) {
		event = reserve_largest();
		if (!event)
			return;
		words = fill_call(event, RING_EVENT_MAX, call, stack, &cut);
	}
	call->seq = recorder.ring.seq + 1; /* the number that record_commit() will assign */
	record_commit(&event->head, words);
}

void call_write_begin(struct call *call, enum verb verb)
{
	struct stack stack = { .inside = true };
	int saved = errno;

	call->verb = verb;
	call->seq = 0;
	if (verb_infos[verb].effect == EFFECT_DESTROY) {
		const void *object = (const void *)(uintptr_t)call->args[0];

		poll_ex_note_destroy(verb, object);
		if (strict_is_on())
			strict_check_destroy(verb, object);
	}
	if (!recorder.ours)
		stack_take(&stack);
	enter_call(call, __builtin_frame_address(0), stack.inside);
	write_call(call, &stack);
	*nesting_of(verb).depth = call->depth + 1;
	errno = saved;
}

static size_t fill_return(struct event_return *event, size_t room, const struct call *call,
			  uint64_t ret, int error, bool *ret_cut)
{
	uint64_t *words = (uint64_t *)(event + 1);
	struct codec_out out = { .words = words,
				 .size = words_left(event, words, room),
				 .ret = (int64_t)ret,
				 .rule = &payload_rule,
				 .reads = defined_on ? defined_mark : NULL };

	record_head(&event->head, EVENT_RETURN, record_ticks());
	event->call_seq = call->seq;
	event->error = error;
	event->ret = (int64_t)ret;
	event->verb = (uint16_t)call->verb;
	event->pad = 0;
	if (!verb_failed(call->verb, (int64_t)ret))
		codec_put_outputs(&out, call->verb, call->args);
	if (out.cut)
		event->head.flags |= EVENT_CUT;
	event->nouts = (uint32_t)out.used;
	*ret_cut = out.cut;
	return sizeof(*event) / 8 + out.used;
}

static void write_return(const struct call *call, uint64_t ret, int error)
{
	struct event_return *event = record_reserve(USUAL);
	size_t words;
	bool cut;

	if (!event)
		return;
	words = fill_return(event, USUAL, call, ret, error, &cut);
	if (cut) {
		event = reserve_largest();
		if (!event)
			return;
		words = fill_return(event, RING_EVENT_MAX, call, ret, error, &cut);
	}
	record_commit(&event->head, words);
}

void call_write_end(struct call *call, uint64_t ret)
{
	struct call_nesting in = nesting_of(call->verb);
	int error = errno;

	*in.depth = call->depth;
	*in.frame = call->frame;
	if (call->seq && recorder.generation == recording_generation())
		write_return(call, ret, error);
	errno = error;
	if (verb_failed(call->verb, (int64_t)ret))
		stop_at_call(call->verb, call->args, (int64_t)ret, error, call->seq);
}
