/*
 * The tracepoints, in the form that LTTng requires: included more than once
 *
 *	verbatim:VERB_begin, VERB_end   a control verb
 *	verbatim:VERB                   a data verb
 *	verbatim:wr, wc                 each work request, each completion of a data verb
 *	verbatim:process, module, ...   other events of the recorder
 *	verbatim:thread_begin, _end     a ring: struct ring_head
 *
 * `raw` is the event in the format of a ring (core/wire/event.h); `verbatim import` makes the trace
 * from it. The fields before `raw` are for people and filters. The length of `raw` has 16 bits,
 * because babeltrace2 allocates as much memory as a damaged length requests. The verbs are in
 * gen/points_gen.h.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER verbatim

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "shim/lttng/points.h"

#if !defined(POINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define POINTS_H

#include <lttng/tracepoint.h>

#include "shim/lttng/point.h"

#define NUM(type, name, value) lttng_ust_field_integer(type, name, (type)(value))
#define HEX(type, name, value) lttng_ust_field_integer_hex(type, name, (type)(value))

#define POINT_HEAD(p)                       \
	NUM(uint32_t, pid, (p)->ring->pid)  \
	NUM(uint32_t, tid, (p)->ring->tid)  \
	NUM(uint64_t, since, (p)->since)    \
	NUM(uint32_t, seq, (p)->event->seq) \
	NUM(uint64_t, time, (p)->time)      \
	HEX(uint8_t, mode, (p)->event->flags)

#define POINT_RAW(p)                                                                        \
	lttng_ust_field_sequence_hex(uint64_t, raw, (const uint64_t *)(p)->event, uint16_t, \
				     (p)->event->words)

#define AS(type, p) ((const struct type *)(p)->event)

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, end, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(POINT_HEAD(p) NUM(uint32_t, begin_seq, AS(event_return, p)->call_seq)
				    NUM(int64_t, ret, AS(event_return, p)->ret)
					    NUM(int32_t, error, AS(event_return, p)->error)
						    lttng_ust_field_string(outs, p->text)
							    POINT_RAW(p)))

#define FIRST_WR(p) ((const struct event_wr *)(AS(event_post, p) + 1))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, post, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(POINT_HEAD(p) HEX(uint64_t, object, AS(event_post, p)->object) NUM(
		uint16_t, nwr, AS(event_post, p)->nwr) NUM(int16_t, ret, AS(event_post, p)->ret)
				    NUM(uint16_t, bad, AS(event_post, p)->bad)
					    NUM(uint64_t, wr_id,
						AS(event_post, p)->nwr ? FIRST_WR(p)->wr_id : 0)
						    NUM(uint8_t, opcode,
							AS(event_post, p)->nwr ? FIRST_WR(p)->opcode
									       : 0) POINT_RAW(p)))

#define FIRST_WC(p) ((const struct event_wc *)(AS(event_poll, p) + 1))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, poll, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(POINT_HEAD(p) HEX(uint64_t, cq, AS(event_poll, p)->cq) NUM(
		int32_t, ret, AS(event_poll, p)->ret) NUM(uint32_t, nwc, AS(event_poll, p)->nwc)
				    NUM(uint64_t, empty, AS(event_poll, p)->empty)
					    NUM(uint64_t, wr_id,
						AS(event_poll, p)->nwc ? FIRST_WC(p)->wr_id : 0)
						    NUM(uint32_t, status,
							AS(event_poll, p)->nwc ? FIRST_WC(p)->status
									       : 0) POINT_RAW(p)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, notify, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(POINT_HEAD(p) HEX(uint64_t, cq, AS(event_notify, p)->cq) NUM(
		int32_t, solicited_only, AS(event_notify, p)->solicited_only)
				    NUM(int32_t, ret, AS(event_notify, p)->ret) POINT_RAW(p)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, event, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(POINT_HEAD(p) NUM(uint8_t, type, p->event->type)
				    lttng_ust_field_string(text, p->text) POINT_RAW(p)))

LTTNG_UST_TRACEPOINT_EVENT(
	verbatim, process, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(
		POINT_HEAD(p) NUM(uint32_t, ppid,
				  AS(event_process, p)->ppid) NUM(uint32_t, forked_from,
								  AS(event_process, p)->forked_from)
			NUM(uint32_t, fork_seq, AS(event_process, p)->fork_seq) NUM(
				uint64_t, fork_time,
				AS(event_process, p)->forked_from
					? clock_absolute(p->clock, AS(event_process, p)->fork_ticks)
					: 0) lttng_ust_field_string(text, p->text) POINT_RAW(p)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(
	verbatim, thread, LTTNG_UST_TP_ARGS(const struct point *, p),
	LTTNG_UST_TP_FIELDS(
		NUM(uint32_t, pid, p->ring->pid) NUM(uint32_t, tid, p->ring->tid)
			NUM(uint64_t, since, p->since) NUM(uint64_t, time, p->time)
				NUM(uint64_t, start, p->clock->monotonic) NUM(uint64_t, realtime,
									      p->clock->realtime)
					HEX(uint64_t, fingerprint,
					    verbs_fingerprint) NUM(uint64_t, seq, p->ring->tapped)
						lttng_ust_field_string(comm, p->text)
							lttng_ust_field_sequence_hex(
								uint64_t, raw,
								(const uint64_t *)p->ring, uint16_t,
								sizeof(*p->ring) / 8)))

LTTNG_UST_TRACEPOINT_EVENT(
	verbatim, wr, LTTNG_UST_TP_ARGS(const struct point_part *, i),
	LTTNG_UST_TP_FIELDS(
		POINT_HEAD(i->of) NUM(uint32_t, index, i->index) HEX(uint64_t, object, i->object)
			NUM(uint64_t, wr_id, i->wr->wr_id) NUM(uint8_t, opcode, i->wr->opcode) HEX(
				uint8_t, flags, i->wr->flags) HEX(uint32_t, imm, i->wr->imm)
				HEX(uint64_t, remote_addr, i->remote_addr)
					HEX(uint32_t, rkey, i->rkey) NUM(uint64_t, bytes, i->bytes)
						lttng_ust_field_sequence_hex(uint64_t, addr,
									     i->addr, uint8_t,
									     i->wr->nsge)
							lttng_ust_field_sequence(uint32_t, length,
										 i->length, uint8_t,
										 i->wr->nsge)
								lttng_ust_field_sequence_hex(
									uint32_t, lkey, i->lkey,
									uint8_t, i->wr->nsge)))

LTTNG_UST_TRACEPOINT_EVENT(
	verbatim, wc, LTTNG_UST_TP_ARGS(const struct point_part *, i),
	LTTNG_UST_TP_FIELDS(
		POINT_HEAD(i->of) NUM(uint32_t, index, i->index) HEX(uint64_t, cq, i->object) NUM(
			uint64_t, wr_id,
			i->wc->wr_id) NUM(uint32_t, status,
					  i->wc->status) NUM(uint32_t, opcode,
							     i->wc->opcode) HEX(uint32_t,
										vendor_err,
										i->wc->vendor_err)
			NUM(uint32_t, byte_len, i->wc->byte_len) HEX(uint32_t, imm, i->wc->imm) NUM(
				uint32_t, qp_num, i->wc->qp_num) NUM(uint32_t, src_qp,
								     i->wc->src_qp)
				HEX(uint32_t, wc_flags, i->wc->wc_flags) NUM(
					uint16_t, pkey_index,
					i->wc->pkey_index) NUM(uint16_t, slid, i->wc->slid)
					NUM(uint8_t, sl, i->wc->sl) NUM(
						uint8_t, dlid_path_bits,
						i->wc
							->dlid_path_bits) HEX(uint16_t, extra,
									      i->extra->parts)
						NUM(uint64_t, timestamp,
						    i->extra->timestamp) NUM(uint64_t, wallclock,
									     i->extra->wallclock)
							HEX(uint16_t, cvlan,
							    i->extra->cvlan) HEX(uint32_t, flow_tag,
										 i->extra->flow_tag)
								HEX(uint64_t, tm_tag,
								    i->extra->tm_tag)
									HEX(uint32_t, tm_priv,
									    i->extra->tm_priv)))

#define INSTANCE(class, name)                                                \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(verbatim, class, verbatim, name, \
					    LTTNG_UST_TP_ARGS(const struct point *, p))

INSTANCE(thread, thread_begin)
INSTANCE(thread, thread_end)
INSTANCE(event, module)
INSTANCE(event, fork)
INSTANCE(event, poll_count)
INSTANCE(event, blind)
INSTANCE(event, direct)
INSTANCE(event, site)
INSTANCE(event, mark)
INSTANCE(event, spawned)
INSTANCE(event, exit)
INSTANCE(event, other) /* types of events that this list does not have yet */

#include "gen/points_gen.h"

#endif

#include <lttng/tracepoint-event.h>
