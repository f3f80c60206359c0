/*
 * The event of a post as an LTTng tracepoint
 *
 * The same fields as struct event_post with one work request and one SGE; the time and the thread
 * are LTTng's own. Included several times, as LTTng requires.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER verbatim_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "scripts/bench/ust.h"

#if !defined(BENCH_UST_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_UST_H

#include <infiniband/verbs.h>
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(
	verbatim_bench, post,
	LTTNG_UST_TP_ARGS(const struct ibv_qp *, qp, unsigned int, verb, const struct ibv_send_wr *,
			  wr, int, ret),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, object, (uint64_t)(uintptr_t)qp)
			lttng_ust_field_integer(uint16_t, verb, verb) lttng_ust_field_integer(
				uint16_t, nwr, 1) lttng_ust_field_integer(int16_t, ret, ret)
				lttng_ust_field_integer(uint16_t, bad, 0) lttng_ust_field_integer(
					uint64_t, wr_id,
					wr->wr_id) lttng_ust_field_integer(uint8_t, opcode,
									   wr->opcode)
					lttng_ust_field_integer(
						uint8_t, flags,
						wr->send_flags) lttng_ust_field_integer(uint8_t,
											nsge,
											wr->num_sge)
						lttng_ust_field_integer(uint32_t, imm, wr->imm_data)
							lttng_ust_field_integer_hex(
								uint64_t, addr, wr->sg_list->addr)
								lttng_ust_field_integer(
									uint32_t, length,
									wr->sg_list->length)
									lttng_ust_field_integer(
										uint32_t, lkey,
										wr->sg_list->lkey)))

#endif

#include <lttng/tracepoint-event.h>
