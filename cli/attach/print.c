/*
 * Prints what attach found: the conclusion first, then tables
 *
 * A table without rows is left out of the text, and is empty in JSON.
 */
#include "cli/attach/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/qp.h"
#include "cli/attach/facts.h"
#include "cli/attach/reason.h"
#include "cli/table.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/wire/desc.h"

enum { THREADS_SHOWN = 16, FRAMES_SHOWN = 12, REASONS_SHOWN = 6, CELL = 160 };

__attribute__((format(printf, 2, 3))) static void add_cell(struct table *table, const char *format,
							   ...)
{
	char text[CELL];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	table_text(table, text);
}

static void add_address(struct table *table, uint64_t address)
{
	if (address)
		add_cell(table, "0x%" PRIx64, address);
	else
		table_text(table, NULL);
}

/* Tables */

static struct table *list_threads(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "thread", COLUMN_NUMBER },    { "name", COLUMN_TEXT },
		{ "state", COLUMN_TEXT },       { "sleeps_in", COLUMN_TEXT },
		{ "verb", COLUMN_TEXT },        { "stopped_ns", COLUMN_TIME },
		{ "not_stopped", COLUMN_TEXT }, { 0 },
	};
	struct table *table = table_new("threads", columns);
	char verb[UNWIND_NAME];

	for (size_t i = 0; i < facts->process.nthreads; i++) {
		const struct target_thread *thread = &facts->process.threads[i];
		const struct stop *stop = facts->stops ? &facts->stops[i] : NULL;

		table_number(table, thread->tid);
		table_text(table, thread->name);
		if (thread->state)
			add_cell(table, "%c", thread->state);
		else
			table_text(table, NULL);
		table_text(table, thread->wchan[0] ? thread->wchan : NULL);
		table_text(table, facts_verb(facts, i, verb));
		table_number(table, stop && stop->ns ? (int64_t)stop->ns : -1);
		table_text(table, stop ? stop->why : NULL);
	}
	return table;
}

static struct table *list_qps(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "queue_pair", COLUMN_TEXT },
		{ "type", COLUMN_TEXT },
		{ "state", COLUMN_TEXT },
		{ "receives", COLUMN_TEXT },
		{ "peer", COLUMN_TEXT },
		{ "peer_process", COLUMN_TEXT },
		{ "peer_state", COLUMN_TEXT },
		{ "peer_receives", COLUMN_TEXT },
		{ 0 },
	};
	struct table *table = table_new("fabric_queue_pairs", columns);

	for (size_t i = 0; i < facts->fabric.nqps; i++) {
		const struct fabric_qp *qp = &facts->fabric.qps[i];
		const struct fabric_peer *peer = &qp->peer;

		add_cell(table, "0x%x", qp->qpn);
		table_text(table, qp_type_name((int)qp->type));
		table_text(table, qp_state_name((int)qp->state));
		if (qp->shared)
			table_text(table, "SRQ");
		else
			add_cell(table, "%u of %u", qp->rq.posted, qp->rq.size);
		if (!qp->dest_qpn) {
			for (int k = 0; k < 4; k++)
				table_text(table, NULL);
			continue;
		}
		add_cell(table, "0x%x", qp->dest_qpn);
		if (peer->known)
			add_cell(table, "%d%s", (int)peer->pid, peer->ended ? ", ended" : "");
		else
			table_text(table, "unknown");
		table_text(table, peer->seen ? qp_state_name((int)peer->state) : NULL);
		if (peer->seen)
			add_cell(table, "%u of %u", peer->rq.posted, peer->rq.size);
		else
			table_text(table, NULL);
	}
	return table;
}

static struct table *list_cqs(const struct facts *facts)
{
	static const char *const armed[] = { "no", "for solicited", "yes" };
	static const struct column columns[] = {
		{ "cq", COLUMN_NUMBER },        { "entries", COLUMN_COUNT },
		{ "not_polled", COLUMN_COUNT }, { "channel", COLUMN_TEXT },
		{ "armed", COLUMN_TEXT },       { "events", COLUMN_COUNT },
		{ "overrun", COLUMN_TEXT },     { 0 },
	};
	struct table *table = table_new("fabric_cqs", columns);

	for (size_t i = 0; i < facts->fabric.ncqs; i++) {
		const struct fabric_cq *cq = &facts->fabric.cqs[i];

		table_number(table, cq->slot);
		table_number(table, cq->size);
		table_number(table, cq->waiting);
		table_text(table, cq->channel ? "yes" : "no");
		table_text(table, cq->armed < 3 ? armed[cq->armed] : "?");
		table_number(table, cq->events);
		table_text(table, cq->overrun ? "yes" : "no");
	}
	return table;
}

static struct table *list_srqs(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "srq", COLUMN_NUMBER },
		{ "posted", COLUMN_COUNT },
		{ "size", COLUMN_COUNT },
		{ 0 },
	};
	struct table *table = table_new("fabric_srqs", columns);

	for (size_t i = 0; i < facts->fabric.nsrqs; i++) {
		table_number(table, facts->fabric.srqs[i].slot);
		table_number(table, facts->fabric.srqs[i].rq.posted);
		table_number(table, facts->fabric.srqs[i].rq.size);
	}
	return table;
}

static void add_detail(struct table *table, const struct kernel_object *object)
{
	switch (object->kind) {
	case KERNEL_QP:
		add_cell(table, "%s in %s, peer 0x%x", qp_type_name(object->type),
			 qp_state_name(object->state), object->peer);
		break;
	case KERNEL_CQ:
		add_cell(table, "%u entries, used %" PRIu64 " times", object->cqe, object->users);
		break;
	case KERNEL_MR:
		add_cell(table, "%" PRIu64 " bytes at 0x%" PRIx64 ", PD %u", object->length,
			 object->iova, object->pd);
		break;
	case KERNEL_PD:
		add_cell(table, "used %" PRIu64 " times", object->users);
		break;
	default:
		table_text(table, NULL);
	}
}

static struct table *list_contexts(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "context", COLUMN_TEXT },    { "device", COLUMN_TEXT },
		{ "uverbs", COLUMN_TEXT },     { "cmd_fd", COLUMN_NUMBER },
		{ "async_fd", COLUMN_NUMBER }, { 0 },
	};
	struct table *table = table_new("contexts", columns);

	for (size_t i = 0; i < facts->handles.ncontexts; i++) {
		const struct handle_context *context = &facts->handles.contexts[i];

		add_cell(table, "0x%" PRIx64, context->at);
		table_text(table, context->name);
		table_text(table, context->dev_name);
		table_number(table, context->cmd_fd);
		table_number(table, context->async_fd);
	}
	return table;
}

/* The texts for what the first request of a send queue that is not executed waits for. */
static const char *const waits[HANDLE_WAITS + 1] = {
	[HANDLE_RUNS] = "-",
	[HANDLE_WAITS_RECEIVER] = "receiver",
	[HANDLE_WAITS_PEER] = "peer",
	[HANDLE_WAITS_COPY] = "copy by the peer",
	[HANDLE_WAITS_FAULT] = "a fault",
	[HANDLE_WAITS_STATE] = "the state",
	[HANDLE_WAITS] = "?",
};

static struct table *list_memory_qps(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "queue_pair", COLUMN_TEXT },
		{ "at", COLUMN_TEXT },
		{ "type", COLUMN_TEXT },
		{ "state", COLUMN_TEXT },
		{ "send_cq", COLUMN_TEXT },
		{ "recv_cq", COLUMN_TEXT },
		{ "srq", COLUMN_TEXT },
		{ "sends", COLUMN_TEXT },
		{ "executed", COLUMN_TEXT },
		{ "signalled", COLUMN_TEXT },
		{ "waits_for", COLUMN_TEXT },
		{ "remark", COLUMN_TEXT },
		{ 0 },
	};
	struct table *table = table_new("queue_pairs", columns);

	for (size_t i = 0; i < facts->handles.nqps; i++) {
		const struct handle_qp *qp = &facts->handles.qps[i];

		add_cell(table, "0x%x", qp->qpn);
		add_cell(table, "0x%" PRIx64, qp->at);
		table_text(table, qp_type_name((int)qp->type));
		table_text(table, qp_state_name((int)qp->state));
		add_cell(table, "0x%" PRIx64, qp->send_cq);
		add_cell(table, "0x%" PRIx64, qp->recv_cq);
		add_address(table, qp->srq);
		if (qp->sq.known) {
			add_cell(table, "%u of %u", qp->sq.outstanding, qp->sq.depth);
			add_cell(table, "%u", qp->sq.executed);
			add_cell(table, "%u", qp->sq.signalled);
			table_text(table, waits[qp->sq.wait]);
		} else {
			if (qp->rings.known)
				add_cell(table, "%u of %u", qp->rings.sends, qp->rings.sends_most);
			else
				table_text(table, NULL);
			for (int k = 0; k < 3; k++)
				table_text(table, NULL);
		}
		table_text(table, qp->gone ? "not of the device: freed memory" : NULL);
	}
	return table;
}

static struct table *list_memory_cqs(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "cq", COLUMN_TEXT },
		{ "entries", COLUMN_NUMBER },
		{ "channel_fd", COLUMN_TEXT },
		{ "events_got", COLUMN_TEXT },
		{ "events_acknowledged", COLUMN_NUMBER },
		{ "fabric_cq", COLUMN_TEXT },
		{ 0 },
	};
	struct table *table = table_new("cqs", columns);

	for (size_t i = 0; i < facts->handles.ncqs; i++) {
		const struct handle_cq *cq = &facts->handles.cqs[i];

		add_cell(table, "0x%" PRIx64, cq->at);
		table_number(table, cq->cqe);
		if (cq->fd >= 0)
			add_cell(table, "%d", cq->fd);
		else
			table_text(table, NULL);
		if (cq->slot >= 0)
			add_cell(table, "%u", cq->events_got);
		else
			table_text(table, NULL);
		table_number(table, cq->events_acked);
		if (cq->slot >= 0)
			add_cell(table, "%" PRId64, cq->slot);
		else
			table_text(table, NULL);
	}
	return table;
}

static struct table *list_memory_mrs(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "region", COLUMN_TEXT }, { "addr", COLUMN_TEXT }, { "length", COLUMN_BYTES },
		{ "lkey", COLUMN_TEXT },   { "rkey", COLUMN_TEXT }, { 0 },
	};
	struct table *table = table_new("regions", columns);

	for (size_t i = 0; i < facts->handles.nmrs; i++) {
		const struct handle_mr *mr = &facts->handles.mrs[i];

		add_cell(table, "0x%" PRIx64, mr->at);
		add_cell(table, "0x%" PRIx64, mr->addr);
		table_number(table, (int64_t)mr->length);
		add_cell(table, "0x%x", mr->lkey);
		add_cell(table, "0x%x", mr->rkey);
	}
	return table;
}

static struct table *list_kernel(const struct facts *facts)
{
	static const struct column columns[] = { { "object", COLUMN_TEXT },
						 { "device", COLUMN_TEXT },
						 { "number", COLUMN_TEXT },
						 { "detail", COLUMN_TEXT },
						 { 0 } };
	struct table *table = table_new("kernel_objects", columns);

	for (size_t i = 0; i < facts->kernel.n; i++) {
		const struct kernel_object *object = &facts->kernel.objects[i];

		table_text(table, kernel_kind_name(object->kind));
		table_text(table, object->device);
		add_cell(table, object->kind == KERNEL_QP ? "0x%x" : "%u", object->number);
		add_detail(table, object);
	}
	return table;
}

static struct table *list_rings(const struct facts *facts)
{
	static const struct column columns[] = {
		{ "thread", COLUMN_NUMBER }, { "name", COLUMN_TEXT },
		{ "events", COLUMN_COUNT },  { "last_verb", COLUMN_TEXT },
		{ "returned", COLUMN_TEXT }, { 0 }
	};
	struct table *table = table_new("rings", columns);

	for (size_t i = 0; i < facts->rings.n; i++) {
		const struct core_ring *ring = &facts->rings.rings[i];

		table_number(table, ring->tid);
		table_text(table, ring->name);
		table_number(table, (int64_t)ring->events);
		table_text(table, ring->verb < 0 ? NULL : verb_infos[ring->verb].name);
		table_text(table, ring->verb < 0 ? NULL : ring->returned ? "yes" : "no");
	}
	return table;
}

static void add_property(struct table *table, const char *name, uint64_t value)
{
	table_text(table, name);
	if (value == UINT64_MAX)
		table_text(table, "unlimited");
	else
		add_cell(table, "%" PRIu64, value);
}

static struct table *list_limits(const struct facts *facts)
{
	static const struct column columns[] = { { "resource", COLUMN_TEXT },
						 { "value", COLUMN_TEXT },
						 { 0 } };
	const struct target *process = &facts->process;
	struct table *table = table_new("resources", columns);

	if (facts->is_core)
		return table;
	add_property(table, "RLIMIT_MEMLOCK, bytes", process->memlock_soft);
	add_property(table, "RLIMIT_MEMLOCK that applies, bytes", facts_memlock(facts));
	add_property(table, "pinned, bytes", facts_pinned(facts));
	add_property(table, "registered regions", facts_regions(facts));
	add_property(table, "RLIMIT_NOFILE", process->nofile_soft);
	add_property(table, "open descriptors", process->nfds);
	add_property(table, "uverbs descriptors", target_fd_count(process, TARGET_FD_UVERBS));
	add_property(table, "rdma_cm descriptors", target_fd_count(process, TARGET_FD_RDMA_CM));
	add_property(table, "event descriptors",
		     target_fd_count(process, TARGET_FD_COMP_EVENT) +
			     target_fd_count(process, TARGET_FD_ASYNC_EVENT) +
			     target_fd_count(process, TARGET_FD_SOFT_PIPE));
	return table;
}

typedef struct table *list_facts(const struct facts *facts);

static list_facts *const lists[] = { list_threads,    list_contexts,   list_memory_qps,
				     list_memory_cqs, list_memory_mrs, list_qps,
				     list_cqs,        list_srqs,       list_kernel,
				     list_limits,     list_rings };

enum { LISTS = sizeof(lists) / sizeof(*lists) };

/* Uses a sentence about something that could not be read. */
typedef void use_note(const char *note, void *arg);

static void each_note(const struct facts *facts, use_note *use, void *arg)
{
	char text[512];

	if (facts->no_stacks)
		use(facts->no_stacks, arg);
	if (facts->fabric.why[0]) {
		snprintf(text, sizeof(text), "software device: %s", facts->fabric.why);
		use(text, arg);
	}
	if (facts->kernel.why[0] && !facts->fabric.joined)
		use(facts->kernel.why, arg);
	if (facts->missing) {
		snprintf(text, sizeof(text), "the core is truncated: %" PRIu64 " bytes are missing",
			 facts->missing);
		use(text, arg);
	}
	if (facts->rings.mapped > facts->rings.n) {
		snprintf(text, sizeof(text),
			 "%zu of %zu rings of the recorder are not in the core (bit 3 of "
			 "coredump_filter); the recorder has written its trace",
			 facts->rings.mapped - facts->rings.n, facts->rings.mapped);
		use(text, arg);
	}
	if (!facts->searched)
		use("outstanding requests: the memory of the process was not searched (--facts)",
		    arg);
	else if (!facts->handles.ncontexts)
		use("no context of libibverbs was found in its memory", arg);
	else if (!facts->fabric.instance)
		use("outstanding requests: attach cannot read the queues of this provider", arg);
	if (facts->handles.skipped) {
		snprintf(text, sizeof(text), "%" PRIu64 " MiB of its memory were not searched",
			 (facts->handles.skipped >> 20) + 1);
		use(text, arg);
	}
}

/* Text */

static void print_stack(const struct unwind_stack *stack)
{
	for (size_t i = 0; i < stack->n && i < FRAMES_SHOWN; i++) {
		const struct unwind_frame *frame = &stack->frames[i];

		printf("    ");
		if (frame->function[0])
			print_untrusted(stdout, frame->function);
		else
			printf("0x%" PRIx64, frame->pc);
		printf(" (");
		print_untrusted(stdout, frame->module[0] ? frame->module : "?");
		printf(")\n");
	}
}

static void print_stacks(const struct facts *facts)
{
	size_t n = facts->stacks ? facts->process.nthreads : 0;

	for (size_t i = 0; i < n && i < THREADS_SHOWN; i++) {
		if (!facts->stacks[i].n)
			continue;
		printf("  stack of thread %d\n", (int)facts->process.threads[i].tid);
		style_put(stdout, STYLE_DIM);
		print_stack(&facts->stacks[i]);
		style_put(stdout, STYLE_PLAIN);
	}
	if (n > THREADS_SHOWN)
		printf("  and %zu more threads: --format json has all\n", n - THREADS_SHOWN);
}

static void print_note(const char *note, void *arg)
{
	(void)arg;
	printf("not known: ");
	print_untrusted(stdout, note);
	putchar('\n');
}

static void print_head(const struct facts *facts, const struct reasons *reasons)
{
	printf("%sprocess %d (", facts->is_core ? "core of " : "", (int)facts->process.pid);
	print_untrusted(stdout, facts->process.name);
	printf(")");
	if (facts->signal)
		printf(", ended by signal %d", facts->signal);
	printf(", %zu thread%s\n", facts->process.nthreads,
	       facts->process.nthreads == 1 ? "" : "s");
	for (size_t i = 0; i < reasons->n && i < REASONS_SHOWN; i++) {
		printf("%s", i ? "  also: " : "");
		style_put(stdout, i ? STYLE_PLAIN : STYLE_HEAD);
		if (reasons->at[i].tid)
			printf("thread %d ", (int)reasons->at[i].tid);
		print_untrusted(stdout, reasons->at[i].text);
		style_put(stdout, STYLE_PLAIN);
		putchar('\n');
	}
}

static void print_text(const struct facts *facts, const struct reasons *reasons)
{
	print_head(facts, reasons);
	for (int i = 0; i < LISTS; i++) {
		struct table *table = lists[i](facts);

		table_print(table);
		table_free(table);
		if (!i)
			print_stacks(facts);
	}
	putchar('\n');
	each_note(facts, print_note, NULL);
}

/* JSON */

static void print_note_json(const char *note, void *arg)
{
	bool *more = arg;

	printf("%s", *more ? ", " : "");
	json_text(note);
	*more = true;
}

static void print_reasons_json(const struct reasons *reasons)
{
	printf("  \"waits_for\": ");
	json_text(reasons->at[0].text);
	printf(",\n  \"reasons\": [");
	for (size_t i = 0; i < reasons->n; i++) {
		printf("%s\n    { \"kind\": \"%s\", \"thread\": ", i ? "," : "",
		       reason_name(reasons->at[i].kind));
		if (reasons->at[i].tid)
			printf("%d", (int)reasons->at[i].tid);
		else
			printf("null");
		printf(", \"text\": ");
		json_text(reasons->at[i].text);
		printf(" }");
	}
	printf("\n  ],\n");
}

static void print_stacks_json(const struct facts *facts)
{
	printf("  \"stacks\": [");
	for (size_t i = 0; facts->stacks && i < facts->process.nthreads; i++) {
		printf("%s\n    { \"thread\": %d, \"frames\": [", i ? "," : "",
		       (int)facts->process.threads[i].tid);
		for (size_t k = 0; k < facts->stacks[i].n; k++) {
			const struct unwind_frame *frame = &facts->stacks[i].frames[k];

			printf("%s{ \"function\": ", k ? ", " : "");
			json_text(frame->function[0] ? frame->function : NULL);
			printf(", \"module\": ");
			json_text(frame->module[0] ? frame->module : NULL);
			printf(" }");
		}
		printf("] }");
	}
	printf("\n  ],\n");
}

static void print_json(const struct facts *facts, const struct reasons *reasons)
{
	bool more = false;

	printf("{\n  \"pid\": %d,\n  \"name\": ", (int)facts->process.pid);
	json_text(facts->process.name);
	printf(",\n  \"signal\": %d,\n", facts->signal);
	print_reasons_json(reasons);
	printf("  \"longest_stop_ns\": %" PRIu64 ",\n", facts_longest_stop(facts));
	print_stacks_json(facts);
	for (int i = 0; i < LISTS; i++) {
		struct table *table = lists[i](facts);

		table_print_json(table);
		printf(",\n");
		table_free(table);
	}
	printf("  \"not_known\": [");
	each_note(facts, print_note_json, &more);
	printf("]\n}\n");
}

void print_facts(const struct facts *facts, const struct reasons *reasons, bool json)
{
	if (json)
		print_json(facts, reasons);
	else
		print_text(facts, reasons);
}
