/*
 * verbatim stat: verbs, queues and completion queues, counted and timed
 *
 * One pass over the events. Calls of the recorder itself, those that a library
 * made inside another verb, and those that the trace before this one has, too
 * (--rotate-size), are left out: what is counted is what the program did.
 * Latency is from the post to the poll that brought the completion, of
 * successful requests of the send queue.
 *
 * If only one of N data verbs was recorded (--filter 1/N), the counts of sampled
 * verbs are multiplied by N, and the output says so. Failed completions and empty
 * polls were all recorded, so their counts are not multiplied.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "analyzer/profile/histogram.h"
#include "cli/table.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

struct settings {
	unsigned int json;
	int64_t deadline;
};

const struct option_row cli_stat_options[] = {
	CLI_FORMAT(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};

enum { WC_RECV = 1 << 7 };

struct verb_stat {
	uint64_t calls, errors, unfinished;
	struct histogram *times; /* NULL: none of it has a duration */
};

/* A QP or an SRQ. */
struct queue_stat {
	uint64_t sends, receives, completions, errors, bytes_sent, bytes_received;
	struct histogram latency;
};

struct stat {
	struct trace *trace;
	struct verb_stat verbs[VERB_COUNT];
	struct queue_stat **queues; /* by object; NULL: no traffic */
	uint32_t nqueues;
	uint32_t one_of;        /* of N data verbs one is there */
	int notify;             /* verb */
	bool opcode_reads[256]; /* does the opcode receive bytes, or send them? */
	bool opcode_writes[256];
};

static void *allocate_zeroed(size_t size)
{
	void *at = calloc(1, size);

	if (!at) {
		log_note("stat: out of memory");
		exit(CLI_ENVIRONMENT);
	}
	return at;
}

static struct queue_stat *queue_of(struct stat *s, uint32_t object)
{
	if (object >= s->nqueues)
		return NULL;
	if (!s->queues[object])
		s->queues[object] = allocate_zeroed(sizeof(struct queue_stat));
	return s->queues[object];
}

static void mark_opcode(bool *set, const char *opcode)
{
	const struct enum_info *names = enum_find("ibv_wr_opcode");

	for (unsigned int i = 0; i < names->nvalues; i++)
		if (!strcmp(names->values[i].name, opcode))
			set[names->values[i].value & 0xff] = true;
}

static void prepare_counts(struct stat *s)
{
	static const char *const writes[] = {
		"IBV_WR_SEND",       "IBV_WR_SEND_WITH_IMM",       "IBV_WR_SEND_WITH_INV",
		"IBV_WR_RDMA_WRITE", "IBV_WR_RDMA_WRITE_WITH_IMM", "IBV_WR_ATOMIC_WRITE",
		"IBV_WR_TSO"
	};
	static const char *const reads[] = { "IBV_WR_RDMA_READ", "IBV_WR_ATOMIC_CMP_AND_SWP",
					     "IBV_WR_ATOMIC_FETCH_AND_ADD" };

	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
		mark_opcode(s->opcode_writes, writes[i]);
	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++)
		mark_opcode(s->opcode_reads, reads[i]);
	s->one_of = trace_one_of(s->trace);
	s->notify = verb_find("ibv_req_notify_cq");
	for (s->nqueues = 1; trace_object(s->trace, s->nqueues); s->nqueues++)
		;
	s->queues = allocate_zeroed(s->nqueues * sizeof(struct queue_stat *));
}

static void count_call(struct stat *s, const struct call *call)
{
	struct verb_stat *verb = &s->verbs[call->verb];

	if (call->ours || call->depth)
		return;
	verb->calls++;
	verb->errors += call->failed;
	verb->unfinished += call->end < 0;
	if (!verb->times)
		verb->times = allocate_zeroed(sizeof(*verb->times));
	if (call->end >= 0)
		histogram_add(verb->times, call->end - call->begin);
}

static uint64_t wr_bytes(const struct wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		bytes += wr->sge[i].length;
	return bytes;
}

static void count_wr(struct stat *s, struct queue_stat *queue, const struct wr *wr)
{
	if (wr->opcode < 0) {
		queue->receives += s->one_of;
		return;
	}
	queue->sends += s->one_of;
	if (s->opcode_writes[wr->opcode & 0xff])
		queue->bytes_sent += s->one_of * wr_bytes(wr);
	if (s->opcode_reads[wr->opcode & 0xff])
		queue->bytes_received += s->one_of * wr_bytes(wr);
}

static void count_post(struct stat *s, const struct post *post)
{
	struct queue_stat *queue = queue_of(s, post->object);
	uint32_t taken = post_taken(post);

	s->verbs[post->verb].calls += s->one_of;
	s->verbs[post->verb].errors += post->ret ? s->one_of : 0;
	for (uint32_t i = 0; queue && i < taken; i++)
		count_wr(s, queue, &post->wr[i]);
}

static void count_wc(struct stat *s, const struct wc *wc, int64_t time)
{
	struct queue_stat *queue = queue_of(s, wc->qp);

	if (!queue)
		return;
	queue->completions += wc->status ? 1 : s->one_of;
	if (wc->status)
		queue->errors++;
	else if (wc->opcode & WC_RECV)
		queue->bytes_received += (uint64_t)s->one_of * wc->byte_len;
	else if (wc->request.thread)
		histogram_add(&queue->latency, time - wc->posted_at);
}

static void count_poll(struct stat *s, const struct poll *poll, int64_t time)
{
	s->verbs[poll->verb].calls += poll->ret < 0 ? 1 : s->one_of;
	s->verbs[poll->verb].errors += poll->ret < 0;
	/* the end of a batch is none */
	s->verbs[poll->verb == VERB_next_poll ? VERB_start_poll : poll->verb].calls += poll->empty;
	for (uint32_t i = 0; i < poll->nwc; i++)
		count_wc(s, &poll->wc[i], time);
}

static void count_event(struct stat *s, const struct trace_event *event)
{
	if (event->inner || event->carried)
		return;
	switch (event->kind) {
	case TRACE_CALL:
		count_call(s, event->call);
		break;
	case TRACE_POST:
		count_post(s, event->post);
		break;
	case TRACE_POLL:
		count_poll(s, event->poll, event->time);
		break;
	case TRACE_NOTIFY:
		s->verbs[s->notify].calls++;
		s->verbs[s->notify].errors += event->notify->ret != 0;
		break;
	default:
		break;
	}
}

static int count_events(struct stat *s)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err;

	cli_show_progress("stat", s->trace);
	err = cursor_open(s->trace, NULL, &cursor);

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0)
		count_event(s, event);
	cursor_close(cursor);
	return err;
}

static struct table *verb_table(const struct stat *s)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "verb", COLUMN_TEXT },     { "calls", COLUMN_COUNT },
		{ "errors", COLUMN_COUNT },  { "unfinished", COLUMN_COUNT },
		{ "total_ns", COLUMN_TIME }, { "mean_ns", COLUMN_TIME },
		{ "p50_ns", COLUMN_TIME },   { "p99_ns", COLUMN_TIME },
		{ "max_ns", COLUMN_TIME },   { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("verbs", columns);

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct verb_stat *verb = &s->verbs[v];
		const struct histogram *h = verb->times && verb->times->count ? verb->times : NULL;

		if (!verb->calls)
			continue;
		table_text(table, verb_infos[v].name);
		table_number(table, (int64_t)verb->calls);
		table_number(table, (int64_t)verb->errors);
		table_number(table, (int64_t)verb->unfinished);
		table_number(table, h ? (int64_t)h->total : -1);
		table_number(table, h ? (int64_t)(h->total / h->count) : -1);
		table_number(table, h ? histogram_percentile(h, 50) : -1);
		table_number(table, h ? histogram_percentile(h, 99) : -1);
		table_number(table, h ? (int64_t)h->max : -1);
	}
	return table;
}

static void add_queue(struct table *table, const struct object *object,
		      const struct queue_stat *queue)
{
	const struct histogram *h = &queue->latency;

	table_text(table, object->name);
	table_number(table, object->process);
	table_number(table, (int64_t)queue->sends);
	table_number(table, (int64_t)queue->receives);
	table_number(table, (int64_t)queue->completions);
	table_number(table, (int64_t)queue->errors);
	table_number(table, (int64_t)queue->bytes_sent);
	table_number(table, (int64_t)queue->bytes_received);
	table_number(table, histogram_percentile(h, 50));
	table_number(table, histogram_percentile(h, 90));
	table_number(table, histogram_percentile(h, 99));
	table_number(table, h->count ? (int64_t)h->max : -1);
}

static struct table *queue_table(const struct stat *s)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "queue", COLUMN_TEXT },        { "process", COLUMN_NUMBER },
		{ "sends", COLUMN_COUNT },       { "receives", COLUMN_COUNT },
		{ "completions", COLUMN_COUNT }, { "errors", COLUMN_COUNT },
		{ "sent_bytes", COLUMN_BYTES },  { "received_bytes", COLUMN_BYTES },
		{ "p50_ns", COLUMN_TIME },       { "p90_ns", COLUMN_TIME },
		{ "p99_ns", COLUMN_TIME },       { "max_ns", COLUMN_TIME },
		{ 0 },
	};
	/* clang-format on */
	struct table *table = table_new("queues", columns);

	for (uint32_t id = 1; id < s->nqueues; id++)
		if (s->queues[id])
			add_queue(table, trace_object(s->trace, id), s->queues[id]);
	return table;
}

static const char cqs_sql[] =
	"SELECT coalesce(o.name, printf('0x%%x', p.handle)), p.process,"
	" %1$u * sum(p.polls) + sum(p.empty), sum(p.empty), %2$u * sum(p.completions),"
	" CASE WHEN sum(p.polls) > 0"
	" THEN printf('%%.2f', 1.0 * sum(p.completions) / sum(p.polls)) END"
	" FROM poll_count p LEFT JOIN object o ON o.id = p.cq"
	" GROUP BY p.process, p.handle, p.life ORDER BY p.process, o.id";

static int cq_table(const struct stat *s, struct table **ret_table)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "cq", COLUMN_TEXT },
		{ "process", COLUMN_NUMBER },
		{ "polls", COLUMN_COUNT },
		{ "empty_polls", COLUMN_COUNT },
		{ "completions", COLUMN_COUNT },
		{ "completions_per_poll", COLUMN_TEXT },
		{ 0 },
	};
	/* clang-format on */
	char sql[512];

	snprintf(sql, sizeof(sql), cqs_sql, s->one_of, s->one_of);
	*ret_table = table_new("completion queues", columns);
	return table_query(*ret_table, s->trace, sql);
}

/* A phase that has ended as often as it began has a duration, however it nests. */
static int mark_table(const struct stat *s, struct table **ret_table)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "mark", COLUMN_TEXT },     { "kind", COLUMN_TEXT },
		{ "process", COLUMN_NUMBER }, { "times", COLUMN_COUNT },
		{ "total_ns", COLUMN_TIME }, { "mean_ns", COLUMN_TIME },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("marks", columns);
	return table_query(*ret_table, s->trace,
			   "SELECT text, kind, process, times,"
			   " CASE WHEN times = ends THEN took ELSE -1 END,"
			   " CASE WHEN times = ends THEN took / times ELSE -1 END"
			   " FROM (SELECT text, CASE kind WHEN 'point' THEN kind ELSE 'phase' END"
			   " AS kind, process, count(*) - sum(kind = 'end') AS times,"
			   " sum(kind = 'end') AS ends, sum(CASE kind WHEN 'begin' THEN -time"
			   " WHEN 'end' THEN time ELSE 0 END) AS took, min(time) AS first"
			   " FROM mark GROUP BY 1, 2, 3) ORDER BY first");
}

static int payload_table(const struct stat *s, struct table **ret_table)
{
	static const char sql[] =
		"SELECT kind, count(*), sum(length), sum(captured), sum(hash IS NOT NULL),"
		" sum(why IS NOT NULL) FROM payload GROUP BY kind"
		" ORDER BY kind = 'atomic', kind = 'read', kind = 'recv'";
	/* clang-format off */
	static const struct column columns[] = {
		{ "payload", COLUMN_TEXT },     { "times", COLUMN_COUNT },
		{ "bytes", COLUMN_BYTES },      { "captured", COLUMN_BYTES },
		{ "hashed", COLUMN_COUNT },     { "less_than_asked", COLUMN_COUNT },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("payloads", columns);
	return trace_has_payloads(s->trace) ? table_query(*ret_table, s->trace, sql) : 0;
}

static void print_tables(struct table *const *tables, unsigned int n, uint32_t one_of, bool json)
{
	if (json)
		printf("{\n  \"one_of\": %u,\n", one_of);
	else if (one_of > 1)
		printf("SAMPLED: one of %u data verbs was recorded; their counts and bytes are "
		       "estimates, %u times what was.\nRequests and completions are not those of "
		       "each other, so there are no latencies.\n\n",
		       one_of, one_of);
	for (unsigned int i = 0; i < n; i++) {
		if (json)
			table_print_json(tables[i]);
		else
			table_print(tables[i]);
		if (json)
			printf(i + 1 < n ? ",\n" : "\n}\n");
	}
}

static int stat_trace(struct stat *s, bool json)
{
	struct table *tables[5] = { 0 };
	int err;

	prepare_counts(s);
	err = count_events(s);
	tables[0] = verb_table(s);
	tables[1] = queue_table(s);
	if (!err)
		err = cq_table(s, &tables[2]);
	if (!err)
		err = mark_table(s, &tables[3]);
	if (!err)
		err = payload_table(s, &tables[4]);
	if (!err)
		print_tables(tables, 5, s->one_of, json);
	for (int i = 0; i < 5; i++)
		table_free(tables[i]);
	return err;
}

static void free_counts(struct stat *s)
{
	for (uint32_t id = 0; id < s->nqueues; id++) {
		if (s->queues[id])
			histogram_fini(&s->queues[id]->latency);
		free(s->queues[id]);
	}
	free(s->queues);
	for (int v = 0; v < VERB_COUNT; v++) {
		if (s->verbs[v].times)
			histogram_fini(s->verbs[v].times);
		free(s->verbs[v].times);
	}
}

int cli_stat(int argc, char **argv)
{
	struct stat s = { 0 };
	struct settings set = { 0 };
	struct arguments arguments;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	status = cli_open("stat", &arguments, 1, &s.trace);
	if (status)
		return status;
	cli_tell_loss(s.trace);
	status = cli_status(stat_trace(&s, set.json));
	free_counts(&s);
	trace_close(s.trace);
	return status;
}
