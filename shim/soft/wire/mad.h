#pragma once
/*
 * Management datagrams of connection management: a common header, the fields of one message, and
 * private data up to the end. There is a list of fields for each message.
 *
 * Source: InfiniBand specification, 13.4.3, and tables 106 to 120 of chapter 12.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	MAD_SIZE = 256,
	MAD_HEAD = 24,
	MAD_PRIVATE = 224, /* maximum bytes of private data */
	MAD_QKEY = (int)0x80010000,
	MAD_QPN = 1,
};

/* clang-format off */
/* All fields that a message may have. */
#define MAD_NAMES(F)								\
	F(tid) F(attr_id) F(attr_mod) F(local_id) F(remote_id) F(vendor_id)	\
	F(service_id) F(ca_guid) F(qkey) F(qpn) F(responder_resources)		\
	F(initiator_depth) F(remote_timeout) F(service_type) F(flow_control)	\
	F(psn) F(local_timeout) F(retry_count) F(pkey) F(mtu)			\
	F(rnr_retry_count) F(max_retries) F(srq) F(extended_type) F(local_lid)	\
	F(remote_lid) F(local_gid_high) F(local_gid_low) F(remote_gid_high)	\
	F(remote_gid_low) F(rate) F(traffic_class) F(hop_limit) F(ack_timeout)	\
	F(failover) F(rejected) F(info_length) F(reason) F(info)		\
	F(service_timeout) F(status) F(ack_delay)

/* The fields of each message, in order: F is a field, G a gap, each with its number of bits. */
#define MAD_REQ(F, G)								\
	F(32, local_id) G(8) F(24, vendor_id) F(64, service_id) F(64, ca_guid)	\
	G(32) F(32, qkey) F(24, qpn) F(8, responder_resources) G(24)		\
	F(8, initiator_depth) G(24) F(5, remote_timeout) F(2, service_type)	\
	F(1, flow_control) F(24, psn) F(5, local_timeout) F(3, retry_count)	\
	F(16, pkey) F(4, mtu) G(1) F(3, rnr_retry_count) F(4, max_retries)	\
	F(1, srq) F(3, extended_type) F(16, local_lid) F(16, remote_lid)	\
	F(64, local_gid_high) F(64, local_gid_low) F(64, remote_gid_high)	\
	F(64, remote_gid_low) G(26) F(6, rate) F(8, traffic_class)		\
	F(8, hop_limit) G(8) F(5, ack_timeout) G(3) G(352)
#define MAD_MRA(F, G)								\
	F(32, local_id) F(32, remote_id) G(8) F(5, service_timeout) G(3)
#define MAD_REJ(F, G)								\
	F(32, local_id) F(32, remote_id) F(2, rejected) G(6) F(7, info_length)	\
	G(1) F(16, reason) F(64, info) G(512)
#define MAD_REP(F, G)								\
	F(32, local_id) F(32, remote_id) F(32, qkey) F(24, qpn) G(32) G(8)	\
	F(24, psn) G(8) F(8, responder_resources) F(8, initiator_depth)		\
	F(5, ack_delay) F(2, failover) F(1, flow_control) F(3, rnr_retry_count) F(1, srq)	\
	G(4) F(64, ca_guid)
#define MAD_RTU(F, G)	F(32, local_id) F(32, remote_id)
#define MAD_DREQ(F, G)	F(32, local_id) F(32, remote_id) F(24, qpn) G(8)
#define MAD_DREP(F, G)	F(32, local_id) F(32, remote_id)
#define MAD_SIDR_REQ(F, G)							\
	F(32, local_id) F(16, pkey) G(16) F(64, service_id)
#define MAD_SIDR_REP(F, G)							\
	F(32, remote_id) F(8, status) G(24) F(24, qpn) G(8) F(64, service_id)	\
	F(32, qkey) G(576)

/* Each message: its attribute ID, and the offset of its private data. */
#define MADS(M)									\
	M(REQ, 0x10, 140) M(MRA, 0x11, 10) M(REJ, 0x12, 84) M(REP, 0x13, 36)	\
	M(RTU, 0x14, 8) M(DREQ, 0x15, 12) M(DREP, 0x16, 8)			\
	M(SIDR_REQ, 0x17, 16) M(SIDR_REP, 0x18, 96)
/* clang-format on */

enum mad_attribute {
#define M(name, id, private_data) MAD_ATTR_##name = id,
	MADS(M)
#undef M
};

struct mad {
#define F(name) uint64_t name;
	MAD_NAMES(F)
#undef F
	uint8_t private_data[MAD_PRIVATE];
};

/* The bytes of private data of message @attr_id; 0: there is no such message. */
uint32_t mad_private(uint64_t attr_id);

/* Write the datagram. False: there is no such message. */
bool mad_write(const struct mad *mad, uint8_t to[MAD_SIZE]);

/* Read a datagram. False: it is not of connection management, or an unknown message. */
bool mad_read(struct mad *mad, const uint8_t from[MAD_SIZE]);
