/*
 * Faults that the recorder injected (record --faults)
 *
 * If a fault changed a call or post, its mark is the next event of the thread; if it changed a
 * poll, its mark is the event before the poll, which is recorded only when it returns.
 */
#include "core/base/vec.h"
#include "core/store/read/live.h"
#include "core/store/read/part.h"
#include "core/store/read/trace.h"
#include "core/store/read/trace_priv.h"

static bool is_fault(const struct rare_event *rare)
{
	return rare->kind == TRACE_MARK && rare->mark.kind == TRACE_MARK_FAULT;
}

static bool is_before(const void *element, const void *key)
{
	const struct rare_event *rare = element;
	const struct event_id *id = key;

	return rare->id.thread != id->thread ? rare->id.thread < id->thread : rare->id.n < id->n;
}

static size_t count_parts(const struct trace *trace)
{
	return trace->joint ? trace->joint->n : 1;
}

static const struct trace *find_part(const struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].trace : trace;
}

static uint32_t threads_before(const struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].ids.threads : 0;
}

static const char *find_mark(const struct trace *trace, uint32_t thread, uint64_t n)
{
	size_t part = count_parts(trace) - 1, at;
	struct event_id id = { .n = n };

	if (trace->live)
		return live_fault(trace->live, thread, n);
	while (part && threads_before(trace, part) >= thread)
		part--;
	id.thread = thread - threads_before(trace, part);
	trace = find_part(trace, part);
	at = vec_count_before(trace->rares, trace->nrares, sizeof(*trace->rares), is_before, &id);
	if (at == trace->nrares || !is_fault(&trace->rares[at]) ||
	    trace->rares[at].id.thread != id.thread || trace->rares[at].id.n != n)
		return NULL;
	return trace->rares[at].mark.text;
}

const char *trace_made_fault(const struct trace *trace, struct event_id id)
{
	return find_mark(trace, id.thread, id.n + 1);
}

const char *trace_made_fault_before(const struct trace *trace, struct event_id id)
{
	return find_mark(trace, id.thread, id.n - 1);
}

size_t trace_count_faults(const struct trace *trace)
{
	size_t count = 0;

	if (trace->live)
		return live_count_faults(trace->live);
	for (size_t part = 0; part < count_parts(trace); part++) {
		const struct trace *of = find_part(trace, part);

		for (size_t i = 0; i < of->nrares; i++)
			count += is_fault(&of->rares[i]);
	}
	return count;
}

const char *trace_nth_fault(const struct trace *trace, size_t n, struct event_id *ret_id)
{
	if (trace->live)
		return live_nth_fault(trace->live, n, ret_id);
	for (size_t part = 0; part < count_parts(trace); part++) {
		const struct trace *of = find_part(trace, part);

		for (size_t i = 0; i < of->nrares; i++) {
			if (!is_fault(&of->rares[i]) || n--)
				continue;
			*ret_id = of->rares[i].id;
			ret_id->thread += threads_before(trace, part);
			return of->rares[i].mark.text;
		}
	}
	return NULL;
}
