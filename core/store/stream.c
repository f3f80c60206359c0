/*
 * The events of one thread in order
 *
 * Three sources, each in the order of the event's numbers, and the smallest
 * number is next: table `call` (a call counts twice, at its begin and with the
 * number of its return), the small tables in memory, and the chunks. Of the
 * chunks one is decoded at a time; until its first event is due, only its head
 * is known.
 *
 * Not here: the rows of a trace without chunks (plain.c).
 */
#include "core/store/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/plain.h"
#include "core/wire/event.h"
#include "core/wire/log.h"

/* A call between its begin and its return. */
struct open_call {
	struct call call;
	struct event_id id;
	uint64_t end_n;
};

/* Source of the next event. */
enum source { CALL, RETURN, RARE, DATA, SOURCES };

struct due {
	uint64_t n; /* UINT64_MAX: nothing more */
	int64_t time;
};

struct stream {
	struct trace *trace;
	uint32_t thread, process;
	struct due due[SOURCES];
	enum source next;
	sqlite3_stmt *calls;
	struct open_call current; /* the call that was given last */
	struct open_call *open;
	size_t nopen, open_size;
	size_t rare;              /* index of the next */
	sqlite3_stmt *chunks;
	struct plain *plain;
	struct block block;
	bool loaded;
	struct walk walk;
	/* what the last event points to */
	struct post post;
	struct poll poll;
	struct notify notify;
	struct wr *wrs;
	struct sge *sges;
	struct wc *wcs;
	uint32_t wrs_size, sges_size, wcs_size;
};

static const struct due never = { UINT64_MAX, INT64_MAX };

static const char calls_sql[] =
	"SELECT n, verb, begin, end, ret, error, failed, depth, ours, stack, object, args, out,"
	" handle, end_n FROM call WHERE thread = ? ORDER BY n";

static const char chunks_sql[] =
	"SELECT first_n, begin, data, events FROM chunk WHERE thread = ? ORDER BY first_n";

static void choose(struct stream *s)
{
	s->next = DATA;
	for (int i = 0; i < DATA; i++)
		if (s->due[i].n < s->due[s->next].n)
			s->next = (enum source)i;
}

static int step_calls(struct stream *s)
{
	int more = sql_step(s->calls);

	s->due[CALL] = never;
	if (more > 0)
		s->due[CALL] = (struct due){ (uint64_t)sqlite3_column_int64(s->calls, 0),
					     sqlite3_column_int64(s->calls, 2) };
	return more < 0 ? more : 0;
}

static void step_rare(struct stream *s)
{
	const struct rare *rare = &s->trace->rares[s->rare];

	s->due[RARE] = never;
	if (s->rare < s->trace->nrares && rare->id.thread == s->thread)
		s->due[RARE] = (struct due){ rare->id.n, rare->time };
}

static void first_rare(struct stream *s)
{
	size_t low = 0, high = s->trace->nrares;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->trace->rares[middle].id.thread < s->thread)
			low = middle + 1;
		else
			high = middle;
	}
	s->rare = low;
	step_rare(s);
}

/* The innermost call that is open and has a return. */
static void step_returns(struct stream *s)
{
	s->due[RETURN] = never;
	for (size_t i = 0; i < s->nopen; i++)
		if (s->open[i].end_n < s->due[RETURN].n)
			s->due[RETURN] = (struct due){ s->open[i].end_n, s->open[i].call.end };
}

static int bad_chunk(struct stream *s, int err)
{
	return log_err(err == -ENOMEM ? err : -EINVAL,
		       "thread %u: the chunk at event %lld is damaged; what comes before it can be "
		       "read with `verbatim dump`", s->thread,
		       (long long)sqlite3_column_int64(s->chunks, 0));
}

/* Of the block that is loaded. */
static void due_data(struct stream *s)
{
	uint32_t at = s->walk.at[FAMILY_EVENT];

	s->due[DATA].n = block_get(&s->block, COLUMN_n, at);
	s->due[DATA].time = (int64_t)block_get(&s->block, COLUMN_time, at);
}

/* To the next chunk: its head only, or the rows of the plain tables. */
static int next_block(struct stream *s)
{
	int more;

	s->loaded = false;
	memset(&s->walk, 0, sizeof(s->walk));
	s->due[DATA] = never;
	if (s->plain) {
		more = plain_load(s->plain, &s->block);
		s->loaded = more > 0;
		if (more > 0)
			due_data(s);
		return more < 0 ? more : 0;
	}
	if (!s->chunks)
		return 0;
	more = sql_step(s->chunks);
	if (more > 0)
		s->due[DATA] = (struct due){ (uint64_t)sqlite3_column_int64(s->chunks, 0),
					     sqlite3_column_int64(s->chunks, 1) };
	return more < 0 ? more : 0;
}

static int load_block(struct stream *s)
{
	int err = block_load(&s->block, sqlite3_column_blob(s->chunks, 2),
			     (size_t)sqlite3_column_bytes(s->chunks, 2), FAMILIES_ALL);

	for (int id = 0; id < COLUMN_COUNT && !err; id++)
		err = block_need(&s->block, (enum column_id)id);
	if (!err && !block_count(&s->block, COLUMN_n))
		err = -EBADMSG;
	if (err)
		return bad_chunk(s, err);
	s->loaded = true;
	return 0;
}

int stream_open(struct trace *trace, uint32_t thread, bool data, struct stream **ret_stream)
{
	struct stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return log_err(-ENOMEM, "read thread %u", thread);
	s->trace = trace;
	s->thread = thread;
	s->process = trace->threads[thread - 1].process;
	s->due[RETURN] = never;
	err = sql_prepare(trace->db, calls_sql, &s->calls);
	if (!err && data && trace->plain)
		err = plain_open(trace->db, thread, &s->plain);
	else if (!err && data)
		err = sql_prepare(trace->db, chunks_sql, &s->chunks);
	if (!err) {
		sql_bind(s->calls, "u", thread);
		if (s->chunks)
			sql_bind(s->chunks, "u", thread);
		err = step_calls(s);
	}
	if (!err)
		err = next_block(s);
	if (err) {
		stream_close(s);
		return err;
	}
	first_rare(s);
	choose(s);
	*ret_stream = s;
	return 0;
}

static void call_free(struct open_call *open)
{
	free((char *)open->call.args);
	free((char *)open->call.out);
	*open = (struct open_call){ 0 };
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	call_free(&stream->current);
	for (size_t i = 0; i < stream->nopen; i++)
		call_free(&stream->open[i]);
	free(stream->open);
	sqlite3_finalize(stream->calls);
	sqlite3_finalize(stream->chunks);
	plain_close(stream->plain);
	block_fini(&stream->block);
	free(stream->wrs);
	free(stream->sges);
	free(stream->wcs);
	free(stream);
}

int stream_time(const struct stream *stream, int64_t *ret_time)
{
	*ret_time = stream->due[stream->next].time;
	return stream->due[stream->next].n != UINT64_MAX;
}

/*
 * ibv_query_port() is two verbs by one name: the exported one, for programs of
 * before 2016, and the one of struct verbs_context, which is told a length.
 */
static int call_verb(sqlite3_stmt *stmt, const char *args)
{
	const char *name = (const char *)sqlite3_column_text(stmt, 1);
	int verb = name ? verb_find(name) : -1;

	if (verb == VERB_query_port_compat && args && strstr(args, "\"port_attr_len\""))
		return VERB_query_port;
	return verb;
}

static int read_call(struct stream *s, struct open_call *open)
{
	sqlite3_stmt *stmt = s->calls;
	struct call *call = &open->call;
	int verb;

	call->args = sql_strdup(stmt, 11);
	call->out = sql_strdup(stmt, 12);
	verb = call_verb(stmt, call->args);
	open->id = (struct event_id){ s->thread, (uint64_t)sqlite3_column_int64(stmt, 0) };
	if (verb < 0)
		return log_err(-EINVAL, "call %u:%" PRIu64 " is of a verb that is not known",
			       s->thread, open->id.n);
	call->verb = (enum verb)verb;
	call->begin = sqlite3_column_int64(stmt, 2);
	call->end = sqlite3_column_type(stmt, 3) == SQLITE_NULL ? -1 :
		    sqlite3_column_int64(stmt, 3);
	call->ret = sqlite3_column_int64(stmt, 4);
	call->error = sqlite3_column_int(stmt, 5);
	call->failed = sqlite3_column_int(stmt, 6);
	call->depth = sql_u32(stmt, 7);
	call->ours = sqlite3_column_int(stmt, 8);
	call->stack = sql_u32(stmt, 9);
	call->object = sql_u32(stmt, 10);
	call->handle = (uint64_t)sqlite3_column_int64(stmt, 13);
	open->end_n = call->end < 0 ? UINT64_MAX : (uint64_t)sqlite3_column_int64(stmt, 14);
	return 0;
}

static int keep_open(struct stream *s)
{
	if (s->nopen == s->open_size) {
		size_t size = s->open_size ? s->open_size * 2 : 4;
		struct open_call *more = realloc(s->open, size * sizeof(*more));

		if (!more)
			return log_err(-ENOMEM, "read calls");
		s->open = more;
		s->open_size = size;
	}
	s->open[s->nopen++] = s->current;
	s->current = (struct open_call){ 0 };
	return 0;
}

static int give_call(struct stream *s, struct trace_event *event)
{
	struct open_call *open = &s->current;
	int err = read_call(s, open);

	if (err)
		return err;
	event->kind = TRACE_CALL;
	event->id = open->id;
	event->inner = open->call.depth;
	event->call = &open->call;
	if (open->end_n != UINT64_MAX) {
		err = keep_open(s);
		if (err)
			return err;
		event->call = &s->open[s->nopen - 1].call;
		step_returns(s);
	}
	return step_calls(s);
}

static int give_return(struct stream *s, struct trace_event *event)
{
	size_t i = 0;

	while (s->open[i].end_n != s->due[RETURN].n)
		i++;
	s->current = s->open[i];
	s->nopen--;
	memmove(&s->open[i], &s->open[i + 1], (s->nopen - i) * sizeof(*s->open));
	event->kind = TRACE_RETURN;
	event->id = s->current.id;
	event->inner = s->current.call.depth;
	event->call = &s->current.call;
	step_returns(s);
	return 0;
}

static int give_rare(struct stream *s, struct trace_event *event)
{
	const struct rare *rare = &s->trace->rares[s->rare++];

	event->kind = rare->kind;
	event->id = rare->id;
	if (rare->kind == TRACE_MARK)
		event->mark = &rare->mark;
	else
		event->fork = &rare->fork;
	step_rare(s);
	return 0;
}

static int reserve(void *memory, uint32_t *size, uint32_t count, size_t bytes)
{
	void **at = memory, *more;

	if (count <= *size)
		return 0;
	more = realloc(*at, count * bytes * 2);
	if (!more)
		return log_err(-ENOMEM, "read an event");
	*at = more;
	*size = count * 2;
	return 0;
}

#define GET(s, name, family) block_get(&(s)->block, COLUMN_##name, (s)->walk.at[FAMILY_##family])

static void fill_rare_parts(struct stream *s, struct wr *wr, unsigned int parts)
{
	if (parts & WR_ATOMIC) {
		wr->compare_add = GET(s, compare_add, ATOMIC);
		wr->swap = GET(s, swap, ATOMIC);
	}
	if (parts & WR_UD) {
		wr->ah = GET(s, ah, UD);
		wr->remote_qpn = (uint32_t)GET(s, remote_qpn, UD);
		wr->remote_qkey = (uint32_t)GET(s, remote_qkey, UD);
	}
	if (parts & WR_XRC)
		wr->remote_srqn = (uint32_t)GET(s, remote_srqn, XRC);
	if (parts & WR_BIND) {
		wr->bind_mw = GET(s, bind_mw, BIND);
		wr->bind_mr = GET(s, bind_mr, BIND);
		wr->bind_addr = GET(s, bind_addr, BIND);
		wr->bind_length = GET(s, bind_length, BIND);
		wr->bind_rkey = (uint32_t)GET(s, bind_rkey, BIND);
		wr->bind_access = (uint32_t)GET(s, bind_access, BIND);
	}
	if (parts & WR_TSO) {
		wr->tso_hdr = GET(s, tso_hdr, TSO);
		wr->tso_hdr_sz = (uint32_t)GET(s, tso_hdr_sz, TSO);
		wr->tso_mss = (uint32_t)GET(s, tso_mss, TSO);
	}
	if (parts & WR_ODD) {
		wr->opcode = (int)GET(s, odd_opcode, ODD);
		wr->send_flags = (uint32_t)GET(s, odd_flags, ODD);
		wr->num_sge = (int)GET(s, odd_num_sge, ODD);
	}
}

static void fill_wr(struct stream *s, struct wr *wr, bool receive)
{
	unsigned int parts = (unsigned int)GET(s, parts, WR);

	*wr = (struct wr){ .wr_id = GET(s, wr_id, WR),
			   .opcode = (int)GET(s, opcode, WR),
			   .send_flags = (uint32_t)GET(s, send_flags, WR),
			   .nsge = (uint32_t)GET(s, nsge, WR),
			   .imm = (uint32_t)GET(s, imm, WR) };
	wr->num_sge = (int)wr->nsge;
	if (parts & WR_RDMA) {
		wr->remote_addr = GET(s, remote_addr, RDMA);
		wr->rkey = (uint32_t)GET(s, rkey, RDMA);
	}
	if (parts & ~WR_RDMA)
		fill_rare_parts(s, wr, parts);
	if (receive)
		wr->opcode = -1;
}

/* Elements of all requests of the event, from the walk's place on. */
static int fill_sges(struct stream *s, uint32_t count)
{
	uint32_t at = s->walk.at[FAMILY_SGE];

	if (reserve(&s->sges, &s->sges_size, count, sizeof(*s->sges)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		s->sges[i] = (struct sge){
			block_get(&s->block, COLUMN_addr, at + i),
			(uint32_t)block_get(&s->block, COLUMN_length, at + i),
			(uint32_t)block_get(&s->block, COLUMN_lkey, at + i) };
	return 0;
}

static int give_post(struct stream *s, struct trace_event *event, uint32_t kind)
{
	uint32_t nwr = (uint32_t)GET(s, nwr, POST), nsge = 0;

	s->post = (struct post){ .verb = kind_verb(kind),
				 .handle = GET(s, post_handle, POST),
				 .ret = (int)GET(s, post_ret, POST),
				 .bad = (uint32_t)GET(s, post_bad, POST),
				 .nwr = nwr };
	if (reserve(&s->wrs, &s->wrs_size, nwr, sizeof(*s->wrs)))
		return -ENOMEM;
	for (uint32_t i = 0; i < nwr; i++)
		nsge += (uint32_t)block_get(&s->block, COLUMN_nsge, s->walk.at[FAMILY_WR] + i);
	if (fill_sges(s, nsge))
		return -ENOMEM;
	for (uint32_t i = 0, at = 0; i < nwr; i++) {
		fill_wr(s, &s->wrs[i], !post_is_send(&s->post));
		s->wrs[i].sge = s->sges + at;
		at += s->wrs[i].nsge;
		walk_next_wr(&s->block, &s->walk);
	}
	s->post.wr = s->wrs;
	event->kind = TRACE_POST;
	event->post = &s->post;
	return 0;
}

static void fill_wc(struct stream *s, struct wc *wc)
{
	*wc = (struct wc){ .wr_id = GET(s, wc_wr_id, WC),
			   .status = (int)GET(s, status, WC),
			   .opcode = (int)GET(s, wc_opcode, WC),
			   .vendor_err = (uint32_t)GET(s, vendor_err, WC),
			   .byte_len = (uint32_t)GET(s, byte_len, WC),
			   .imm = (uint32_t)GET(s, wc_imm, WC),
			   .qp_num = (uint32_t)GET(s, qp_num, WC),
			   .src_qp = (uint32_t)GET(s, src_qp, WC),
			   .wc_flags = (uint32_t)GET(s, wc_flags, WC),
			   .pkey_index = (uint16_t)GET(s, pkey_index, WC),
			   .slid = (uint16_t)GET(s, slid, WC),
			   .sl = (uint8_t)GET(s, sl, WC),
			   .dlid_path_bits = (uint8_t)GET(s, dlid_path_bits, WC),
			   .posted_at = -1 };
}

static int give_poll(struct stream *s, struct trace_event *event)
{
	uint32_t nwc = (uint32_t)GET(s, nwc, POLL);

	s->poll = (struct poll){ .handle = GET(s, poll_handle, POLL),
				 .ret = (int)GET(s, poll_ret, POLL),
				 .empty = GET(s, empty, POLL),
				 .nwc = nwc };
	if (reserve(&s->wcs, &s->wcs_size, nwc, sizeof(*s->wcs)))
		return -ENOMEM;
	for (uint32_t i = 0; i < nwc; i++) {
		fill_wc(s, &s->wcs[i]);
		s->walk.at[FAMILY_WC]++;
	}
	s->poll.wc = s->wcs;
	event->kind = TRACE_POLL;
	event->poll = &s->poll;
	return 0;
}

static void give_notify(struct stream *s, struct trace_event *event)
{
	s->notify = (struct notify){ .handle = GET(s, notify_handle, NOTIFY),
				     .solicited_only = (int)GET(s, solicited, NOTIFY),
				     .ret = (int)GET(s, notify_ret, NOTIFY) };
	event->kind = TRACE_NOTIFY;
	event->notify = &s->notify;
}

static int give_data(struct stream *s, struct trace_event *event)
{
	uint32_t kind;
	int err = s->loaded ? 0 : load_block(s);

	if (err)
		return err;
	kind = walk_kind(&s->block, &s->walk);
	event->inner = kind & KIND_INNER;
	event->id = (struct event_id){ s->thread, s->due[DATA].n };
	kind &= KIND_MASK;
	if (kind_is_post(kind))
		err = give_post(s, event, kind);
	else if (kind == KIND_POLL)
		err = give_poll(s, event);
	else
		give_notify(s, event);
	walk_next_event(&s->block, &s->walk, false);
	if (err)
		return err;
	if (s->walk.at[FAMILY_EVENT] == block_count(&s->block, COLUMN_n))
		return next_block(s);
	due_data(s);
	return 0;
}

int stream_next(struct stream *s, struct trace_event *event)
{
	int err;

	if (s->current.call.args || s->current.call.out)
		call_free(&s->current);
	*event = (struct trace_event){ .process = s->process, .time = s->due[s->next].time };
	switch (s->next) {
	case CALL:
		err = give_call(s, event);
		break;
	case RETURN:
		err = give_return(s, event);
		break;
	case RARE:
		err = give_rare(s, event);
		break;
	default:
		err = give_data(s, event);
	}
	choose(s);
	return err;
}
