/*
 * The valid transitions of a queue pair
 *
 * A row is for several types; a transition without a row is invalid. Every state can go to RESET,
 * and every state but RESET to ERR, with no attribute but the state.
 *
 * Source: ibv_modify_qp(3) and the InfiniBand specification, 11.2.5.2. Optional attributes and XRC,
 * which the man page lacks, are as Linux checks them. Of XRC, attributes that belong to the other
 * side are ignored.
 */
#include "analyzer/model/transition.h"

#include <stdio.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/qp.h"
#include "core/wire/desc.h"

enum {
	RC = 1,
	UC = 2,
	UD = 4,
	XSEND = 8,
	XRECV = 16,
	RAW = 32,
	RELIABLE = RC | XSEND | XRECV,
	CONNECTED = RELIABLE | UC,
	ALL = CONNECTED | UD | RAW,
};

#define A(name) ABI_QP_##name
#define PATHS   (A(ALT_PATH) | A(PATH_MIG_STATE))
#define PEER    (A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define ANSWERS (A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define ASKS    (A(TIMEOUT) | A(RETRY_CNT) | A(RNR_RETRY) | A(MAX_QP_RD_ATOMIC))

/*
 * The attributes that are required and allowed in addition to those of earlier rows of the same
 * types and states.
 */
struct transition {
	uint8_t types, from, to;
	uint32_t needs, allows;
};

/* clang-format off */
static const struct transition transitions[] = {
	{ ALL,			ABI_QPS_RESET,	ABI_QPS_INIT, A(PORT), 0 },
	{ CONNECTED | UD,	ABI_QPS_RESET,	ABI_QPS_INIT, A(PKEY_INDEX), 0 },
	{ CONNECTED,		ABI_QPS_RESET,	ABI_QPS_INIT, A(ACCESS_FLAGS), 0 },
	{ UD,			ABI_QPS_RESET,	ABI_QPS_INIT, A(QKEY), 0 },

	{ ALL,			ABI_QPS_INIT,	ABI_QPS_INIT, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_INIT,	ABI_QPS_INIT, 0, A(PKEY_INDEX) | A(PORT) },
	{ CONNECTED,		ABI_QPS_INIT,	ABI_QPS_INIT, 0, A(ACCESS_FLAGS) },
	{ UD,			ABI_QPS_INIT,	ABI_QPS_INIT, 0, A(QKEY) },

	{ ALL,			ABI_QPS_INIT,	ABI_QPS_RTR, 0, 0 },
	{ CONNECTED,		ABI_QPS_INIT,	ABI_QPS_RTR, PEER,
	  A(ALT_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX) },
	{ RC | XRECV,		ABI_QPS_INIT,	ABI_QPS_RTR, ANSWERS, 0 },
	{ UD,			ABI_QPS_INIT,	ABI_QPS_RTR, 0, A(PKEY_INDEX) | A(QKEY) },

	{ ALL,			ABI_QPS_RTR,	ABI_QPS_RTS, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_RTR,	ABI_QPS_RTS, A(SQ_PSN), A(CUR_STATE) },
	{ CONNECTED,		ABI_QPS_RTR,	ABI_QPS_RTS, 0, PATHS | A(ACCESS_FLAGS) },
	{ RC | XSEND,		ABI_QPS_RTR,	ABI_QPS_RTS, ASKS, 0 },
	{ XRECV,		ABI_QPS_RTR,	ABI_QPS_RTS, A(TIMEOUT), 0 },
	{ RC | XRECV,		ABI_QPS_RTR,	ABI_QPS_RTS, 0, A(MIN_RNR_TIMER) },
	{ UD,			ABI_QPS_RTR,	ABI_QPS_RTS, 0, A(QKEY) },
	{ RAW,			ABI_QPS_RTR,	ABI_QPS_RTS, 0, A(RATE_LIMIT) },

	{ ALL,			ABI_QPS_RTS,	ABI_QPS_RTS, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_RTS,	ABI_QPS_RTS, 0, A(CUR_STATE) },
	{ CONNECTED,		ABI_QPS_RTS,	ABI_QPS_RTS, 0, PATHS | A(ACCESS_FLAGS) },
	{ RC | XRECV,		ABI_QPS_RTS,	ABI_QPS_RTS, 0, A(MIN_RNR_TIMER) },
	{ UD,			ABI_QPS_RTS,	ABI_QPS_RTS, 0, A(QKEY) },
	{ RAW,			ABI_QPS_RTS,	ABI_QPS_RTS, 0, A(RATE_LIMIT) },

	{ ALL,			ABI_QPS_RTS,	ABI_QPS_SQD, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_RTS,	ABI_QPS_SQD, 0, A(EN_SQD_ASYNC_NOTIFY) },

	{ ALL,			ABI_QPS_SQD,	ABI_QPS_RTS, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_SQD,	ABI_QPS_RTS, 0, A(CUR_STATE) },
	{ CONNECTED,		ABI_QPS_SQD,	ABI_QPS_RTS, 0, PATHS | A(ACCESS_FLAGS) },
	{ RC | XRECV,		ABI_QPS_SQD,	ABI_QPS_RTS, 0, A(MIN_RNR_TIMER) },
	{ UD,			ABI_QPS_SQD,	ABI_QPS_RTS, 0, A(QKEY) },

	{ ALL,			ABI_QPS_SQD,	ABI_QPS_SQD, 0, 0 },
	{ CONNECTED | UD,	ABI_QPS_SQD,	ABI_QPS_SQD, 0, A(PKEY_INDEX) },
	{ CONNECTED,		ABI_QPS_SQD,	ABI_QPS_SQD, 0, PATHS | A(AV) | A(ACCESS_FLAGS) },
	{ RELIABLE,		ABI_QPS_SQD,	ABI_QPS_SQD, 0, A(PORT) | A(TIMEOUT) },
	{ RC | XSEND,		ABI_QPS_SQD,	ABI_QPS_SQD, 0, ASKS },
	{ RC | XRECV,		ABI_QPS_SQD,	ABI_QPS_SQD, 0, ANSWERS },
	{ UD,			ABI_QPS_SQD,	ABI_QPS_SQD, 0, A(QKEY) },

	{ UC | UD | RAW,	ABI_QPS_SQE,	ABI_QPS_RTS, 0, 0 },
	{ UC | UD,		ABI_QPS_SQE,	ABI_QPS_RTS, 0, A(CUR_STATE) },
	{ UC,			ABI_QPS_SQE,	ABI_QPS_RTS, 0, A(ACCESS_FLAGS) },
	{ UD,			ABI_QPS_SQE,	ABI_QPS_RTS, 0, A(QKEY) },
};
/* clang-format on */

static uint32_t bit_of_type(int type)
{
	switch (type) {
	case ABI_QPT_RC:
		return RC;
	case ABI_QPT_UC:
		return UC;
	case ABI_QPT_UD:
		return UD;
	case ABI_QPT_XRC_SEND:
		return XSEND;
	case ABI_QPT_XRC_RECV:
		return XRECV;
	case ABI_QPT_RAW_PACKET:
		return RAW;
	default:
		return 0;
	}
}

static uint32_t ignored_of_type(uint32_t type)
{
	return type == XSEND ? ANSWERS : type == XRECV ? ASKS & ~A(TIMEOUT) : 0;
}

bool transition_check(int type, int from, int to, uint32_t mask, struct transition_fault *ret_fault)
{
	struct transition_fault fault = { .none = true }, unused;
	uint32_t bit = bit_of_type(type), allows = A(STATE);

	if (!bit || from < 0 || from > ABI_QPS_ERR || to < 0 || to > ABI_QPS_ERR)
		return true;
	if (to == ABI_QPS_RESET || (to == ABI_QPS_ERR && from != ABI_QPS_RESET))
		fault.none = false;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (!(t->types & bit) || t->from != from || t->to != to)
			continue;
		fault.none = false;
		fault.lacks |= t->needs & ~mask;
		allows |= t->needs | t->allows;
	}
	if (!fault.none)
		fault.bars = mask & ~allows & ~ignored_of_type(bit);
	fault.stays = fault.bars && !(mask & A(STATE)) && from < ABI_QPS_RTS &&
		      transition_check(type, from, from + 1, mask | A(STATE), &unused);
	*ret_fault = fault;
	return !fault.none && !fault.lacks && !fault.bars;
}

const char *transition_list_attributes(uint32_t mask, char *text, size_t size)
{
	const struct enum_info *names = enum_find("ibv_qp_attr_mask");
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; names && i < names->nvalues && used < size; i++)
		if (mask & names->values[i].value) {
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 names->values[i].name);
			mask &= ~(uint32_t)names->values[i].value;
		}
	if (mask && used < size)
		snprintf(text + used, size - used, "%s0x%x", used ? ", " : "", mask);
	return text;
}

const char *transition_explain(int from, int to, const struct transition_fault *fault, char *text,
			       size_t size)
{
	char lacks[384], bars[384];

	transition_list_attributes(fault->lacks, lacks, sizeof(lacks));
	transition_list_attributes(fault->bars, bars, sizeof(bars));
	if (fault->none)
		snprintf(text, size, "there is no transition %s -> %s", qp_state_name(from),
			 qp_state_name(to));
	else if (fault->lacks && fault->bars)
		snprintf(text, size, "lacks %s; not allowed: %s", lacks, bars);
	else if (fault->lacks)
		snprintf(text, size, "lacks %s", lacks);
	else
		snprintf(text, size, "%s not allowed %s -> %s%s", bars, qp_state_name(from),
			 qp_state_name(to), fault->stays ? ": attr_mask lacks IBV_QP_STATE" : "");
	return text;
}
