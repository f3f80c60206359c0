#pragma once
/*
 * The columns of the data plane: the one list of them.
 *
 * A chunk is the data-plane events of one thread in order. Each event is a row
 * of family EVENT; by its kind also one of POST, POLL or NOTIFY. A post has
 * nwr rows of WR; a work request has nsge rows of SGE and, for each bit of
 * `parts` (enum event_wr_part), one row of that part's family. A poll has nwc
 * rows of WC and, with KIND_EXTRA, as many of EXTRA. All rows of a family lie
 * in the order of the events.
 *
 * A column's place in the list is its number in the file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

#define FAMILIES(F) \
	F(EVENT) F(POST) F(POLL) F(NOTIFY) F(WR) F(RDMA) F(ATOMIC) F(UD) F(XRC) F(BIND) F(TSO) \
	F(ODD) F(SGE) F(WC) F(EXTRA)

/* family, name, is it signed? */
#define COLUMNS(C)                  \
	C(EVENT, n, 0)              \
	C(EVENT, time, 1)           \
	C(EVENT, kind, 0)           \
	C(POST, post_handle, 0)     \
	C(POST, post_ret, 1)        \
	C(POST, post_bad, 0)        \
	C(POST, nwr, 0)             \
	C(POLL, poll_handle, 0)     \
	C(POLL, poll_ret, 1)        \
	C(POLL, empty, 0)           \
	C(POLL, nwc, 0)             \
	C(NOTIFY, notify_handle, 0) \
	C(NOTIFY, solicited, 1)     \
	C(NOTIFY, notify_ret, 1)    \
	C(WR, wr_id, 0)             \
	C(WR, opcode, 0)            \
	C(WR, send_flags, 0)        \
	C(WR, nsge, 0)              \
	C(WR, parts, 0)             \
	C(WR, imm, 0)               \
	C(RDMA, remote_addr, 0)     \
	C(RDMA, rkey, 0)            \
	C(ATOMIC, compare_add, 0)   \
	C(ATOMIC, swap, 0)          \
	C(UD, ah, 0)                \
	C(UD, remote_qpn, 0)        \
	C(UD, remote_qkey, 0)       \
	C(XRC, remote_srqn, 0)      \
	C(BIND, bind_mw, 0)         \
	C(BIND, bind_mr, 0)         \
	C(BIND, bind_addr, 0)       \
	C(BIND, bind_length, 0)     \
	C(BIND, bind_rkey, 0)       \
	C(BIND, bind_access, 0)     \
	C(TSO, tso_hdr, 0)          \
	C(TSO, tso_hdr_sz, 0)       \
	C(TSO, tso_mss, 0)          \
	C(ODD, odd_opcode, 1)       \
	C(ODD, odd_flags, 0)        \
	C(ODD, odd_num_sge, 1)      \
	C(SGE, addr, 0)             \
	C(SGE, length, 0)           \
	C(SGE, lkey, 0)             \
	C(WC, wc_wr_id, 0)          \
	C(WC, status, 0)            \
	C(WC, wc_opcode, 0)         \
	C(WC, vendor_err, 0)        \
	C(WC, byte_len, 0)          \
	C(WC, wc_imm, 0)            \
	C(WC, qp_num, 0)            \
	C(WC, src_qp, 0)            \
	C(WC, wc_flags, 0)          \
	C(WC, pkey_index, 0)        \
	C(WC, slid, 0)              \
	C(WC, sl, 0)                \
	C(WC, dlid_path_bits, 0)    \
	C(EXTRA, wc_parts, 0)       \
	C(EXTRA, timestamp, 0)      \
	C(EXTRA, wallclock, 0)      \
	C(EXTRA, cvlan, 0)          \
	C(EXTRA, flow_tag, 0)       \
	C(EXTRA, tm_tag, 0)         \
	C(EXTRA, tm_priv, 0) \
	C(POST, post_stack, 0)

enum family {
#define F(name) FAMILY_##name,
	FAMILIES(F)
#undef F
	FAMILY_COUNT,
};

enum column_id {
#define C(family, name, sign) COLUMN_##name,
	COLUMNS(C)
#undef C
	COLUMN_COUNT,
};

/* Column `kind`: one of these, with KIND_INNER where the library or a provider called. */
enum event_kind {
	KIND_POST_SEND = 1,
	KIND_POST_RECV,
	KIND_POST_SRQ_RECV,
	KIND_POLL,
	KIND_NOTIFY,
	KIND_INNER = 8,
	KIND_BUILT = 16,    /* ibv_wr_complete */
	KIND_ABORTED,       /* ibv_wr_abort */
	KIND_POST_WQ_RECV,
	KIND_START_POLL,    /* ibv_start_poll */
	KIND_NEXT_POLL,     /* ibv_next_poll */
	KINDS,
	KIND_MASK = 31 & ~KIND_INNER,
	KIND_EXTRA = 32,    /* of a poll: more is known of its completions */
	KIND_FLAGS = KIND_INNER | KIND_EXTRA,
};

#define KINDS_OF_POSTS (1u << KIND_POST_SEND | 1u << KIND_POST_RECV | 1u << KIND_POST_SRQ_RECV | \
			1u << KIND_BUILT | 1u << KIND_ABORTED | 1u << KIND_POST_WQ_RECV)

#define KINDS_OF_POLLS (1u << KIND_POLL | 1u << KIND_START_POLL | 1u << KIND_NEXT_POLL)

/* Of @kind without KIND_FLAGS. */
static inline bool kind_is_post(uint32_t kind)
{
	return KINDS_OF_POSTS >> kind & 1;
}

static inline bool kind_is_poll(uint32_t kind)
{
	return KINDS_OF_POLLS >> kind & 1;
}

/*
 * The verb of a post or a poll; VERB_COUNT where it is neither. Its inverse: 0
 * where the verb is neither.
 */
enum verb kind_verb(uint32_t kind);
uint32_t kind_of_verb(enum verb verb);

static const unsigned char column_family[COLUMN_COUNT] = {
#define C(family, name, sign) FAMILY_##family,
	COLUMNS(C)
#undef C
};

/* The bit of enum event_wc_part that says that a column of EXTRA is valid. */
unsigned int extra_part(enum column_id id);
