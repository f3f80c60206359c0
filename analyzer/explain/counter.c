/*
 * What the counters of devices mean
 *
 * The names are those of the drivers of Linux, below ports/N/hw_counters: mlx5, rxe, bnxt_re, efa;
 * and of the InfiniBand specification, 16.1.3.5, below ports/N/counters. Not here: counters that
 * rise without any failure (packets, bytes, port_xmit_wait, marks of congestion, receivers that are
 * not ready), and those of errors that a completion reports.
 */
#include "analyzer/explain/counter.h"

#include <string.h>

/* clang-format off */
static const struct counter_meaning meanings[] = {
	{ COUNTER_REMOVED, COUNTER_GONE,
	  "the device was removed during the recording: suspect this first for any error on it" },
	{ "local_ack_timeout_err", COUNTER_RETRANSMIT,
	  "no response came within the timeout of a queue pair, and requests were sent again" },
	{ "packet_seq_err", COUNTER_RETRANSMIT,
	  "the peer missed packets, and requests were sent again" },
	{ "implied_nak_seq_err", COUNTER_RETRANSMIT,
	  "responses to reads or atomics were missing, and requests were sent again" },
	{ "roce_adp_retrans", COUNTER_RETRANSMIT, "requests were sent again (adaptive timer)" },
	{ "roce_adp_retrans_to", COUNTER_RETRANSMIT,
	  "no response came within the adaptive timer, and requests were sent again" },
	{ "completer_retry_err", COUNTER_RETRANSMIT,
	  "no response came in time, or the peer missed packets; requests were sent again" },
	{ "retry_exceeded_err", COUNTER_RETRANSMIT,
	  "requests were sent again until retry_cnt was exhausted" },
	{ "to_retransmits", COUNTER_RETRANSMIT,
	  "no response came within the timeout of a queue pair, and requests were sent again" },
	{ "seq_err_naks_rcvd", COUNTER_RETRANSMIT,
	  "the peer missed packets, and requests were sent again" },
	{ "missing_resp", COUNTER_RETRANSMIT, "responses were missing" },
	{ "max_retry_exceeded", COUNTER_RETRANSMIT,
	  "requests were sent again until retry_cnt was exhausted" },
	{ "retrans_timeout_events", COUNTER_RETRANSMIT,
	  "no response came in time, and packets were sent again" },
	{ "retrans_pkts", COUNTER_RETRANSMIT, "packets were sent again" },
	{ "out_of_sequence", COUNTER_LOSS, "packets came out of order, or were missing" },
	{ "out_of_seq_request", COUNTER_LOSS, "requests came out of order, or were missing" },
	{ "rcvd_seq_err", COUNTER_LOSS, "the peer reported that packets were missing" },
	{ "duplicate_request", COUNTER_LOSS, "duplicate requests were received" },
	{ "dup_req", COUNTER_LOSS, "duplicate requests were received" },
	{ "rx_icrc_encapsulated", COUNTER_LOSS, "packets had a wrong checksum" },
	{ "link_downed", COUNTER_LINK, "the link went down" },
	{ "link_error_recovery", COUNTER_LINK, "the link was trained again after errors" },
	{ "symbol_error", COUNTER_LINK, "the wire had symbol errors" },
	{ "local_link_integrity_errors", COUNTER_LINK, "the link had too many errors" },
	{ "port_rcv_errors", COUNTER_LINK, "damaged packets were received" },
	{ "port_rcv_remote_physical_errors", COUNTER_LINK,
	  "received packets were damaged in transit" },
	{ "port_rcv_constraint_errors", COUNTER_LINK,
	  "received packets were rejected because of their partition key" },
	{ "port_xmit_constraint_errors", COUNTER_LINK,
	  "packets were not sent because of their partition key" },
	{ "port_xmit_discards", COUNTER_LINK, "packets were dropped before they were sent" },
	{ "excessive_buffer_overrun_errors", COUNTER_LINK, "the buffers of the port overran" },
	{ "rx_roce_discards", COUNTER_LINK, "received packets were dropped" },
	{ "rx_roce_errors", COUNTER_LINK, "damaged packets were received" },
};
/* clang-format on */

const struct counter_meaning *counter_find(const char *name)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (!strcmp(meanings[i].name, name))
			return &meanings[i];
	return NULL;
}
