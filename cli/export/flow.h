#pragma once
/*
 * Queue pairs as ends of traffic: the destination of their packets, and their progress. Not
 * thread-safe.
 */
#include "analyzer/model/qp.h"
#include "analyzer/tables/pass.h"
#include "cli/export/message.h"
#include "core/base/map.h"
#include "core/base/text.h"

struct profile_select;

enum { QPT_UD = 4, TRANSPORT_UC = 0x20, TRANSPORT_UD = 0x60, TRANSPORT_XRC = 0xa0 };

/* A request that is not answered yet. */
struct request {
	struct event_id id;
	uint32_t index, psn, length;
	uint8_t code; /* opcode of its only packet, which determines the answer */
};

/* A queue pair. */
struct flow {
	struct packet_path there, back;
	int type;
	uint8_t transport;
	uint32_t number, psn, expected, messages, qkey, rnr_timer;
	struct request *requests;
	size_t first, nrequests, size;
};

struct traffic {
	struct trace *trace;
	const struct profile_select *select;
	struct pass pass;
	struct capture capture;
	struct text comment;
	struct map flows; /* by object: 1 + index */
	struct flow **all;
	size_t nall;
	struct map interfaces; /* by object of the device and port */
	uint32_t ninterfaces;
	struct map numbers; /* of queue pairs of the trace */
	struct map paths;   /* of address handles, by object: 1 + index */
	struct qp_path *known;
	size_t nknown;
	struct map unsent; /* requests, by hash */
	bool has_payloads;
	uint64_t start, left_out;
};

/*
 * The flow of queue pair @life, whose interface is written if needed; *@ret_flow is NULL if it
 * sends no RoCE packets. 0 or -ENOMEM.
 */
int flow_find(struct traffic *traffic, const struct life *life, struct flow **ret_flow);

/* Update the destination of the packets of @flow from the model. */
void flow_refresh(struct traffic *traffic, struct flow *flow, const struct life *life);

/* A call has returned: PSNs, an address handle. 0 or -ENOMEM. */
int flow_learn(struct traffic *traffic, const struct trace_event *event);

/* The path of a request of @process: for a datagram, from its address handle. */
struct packet_path flow_find_way(struct traffic *traffic, const struct flow *flow,
				 const struct life *qp, uint32_t process, const struct wr *wr);

/* A path without a GID: an IPv4 address that contains the LID. */
void flow_put_lid(uint8_t gid[ROCE_GID], uint16_t lid);

void flow_free_all(struct traffic *traffic);
