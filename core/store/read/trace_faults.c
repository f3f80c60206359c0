/*
 * Faults that the recorder made (record --faults)
 *
 * The mark of a fault is the next event of its thread after the call or post whose result it is;
 * that of a poll is before it, since a poll is recorded when it has returned.
 */
#include "core/store/read/trace.h"
#include "core/store/read/trace_priv.h"

static bool is_fault(const struct rare *rare)
{
	return rare->kind == TRACE_MARK && rare->mark.kind == TRACE_MARK_FAULT;
}

static const char *find_mark(const struct trace *trace, uint32_t thread, uint64_t n)
{
	for (size_t i = 0; i < trace->nrares; i++) {
		const struct rare *rare = &trace->rares[i];

		if (is_fault(rare) && rare->id.thread == thread && rare->id.n == n)
			return rare->mark.text;
	}
	return NULL;
}

const char *trace_made_fault(const struct trace *trace, struct event_id id)
{
	return find_mark(trace, id.thread, id.n + 1);
}

const char *trace_made_fault_before(const struct trace *trace, struct event_id id)
{
	return find_mark(trace, id.thread, id.n - 1);
}

const char *trace_nth_fault(const struct trace *trace, size_t n, struct event_id *ret_id)
{
	for (size_t i = 0; i < trace->nrares; i++) {
		if (!is_fault(&trace->rares[i]) || n--)
			continue;
		*ret_id = trace->rares[i].id;
		return trace->rares[i].mark.text;
	}
	return NULL;
}
