/*
 * Messages of the connection manager as management datagrams, and back: cm_away_test.txt
 *
 * Both sides of cm_away.c are the test's: datagrams, mailboxes and ports. All fields of what it
 * sends, puts into a mailbox or asks a port for are printed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>

#include "shim/soft/cm/cm_away.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/network/mads.h"
#include "tests/transcript.h"

static struct text out;
static struct uplink uplink = { .mtu = IBV_MTU_2048 };
static struct node nodes[NODE_MAX];
static int port_result, mailbox_result, engine_result;

const struct uplink *__wrap_uplink_get(void);
void __wrap_mads_send(const struct in6_addr *to, const uint8_t bytes[MAD_SIZE]);
int __wrap_cm_wire_put(const struct cm_name *to, struct cm_msg *msg);
int __wrap_cm_port_request(uint16_t ps, const struct cm_addr *addr,
			   int (*send)(const struct cm_name *to, void *arg), void *arg);
int __wrap_engine_start(void);

const struct uplink *__wrap_uplink_get(void)
{
	return &uplink;
}

int __wrap_engine_start(void)
{
	return engine_result;
}

static void show_bytes(const char *name, const uint8_t *bytes, size_t n)
{
	size_t used = n;

	while (used && !bytes[used - 1])
		used--;
	text_addf(&out, " %s[%zu]=", name, n);
	for (size_t i = 0; i < used; i++)
		text_addf(&out, "%02x", bytes[i]);
}

static void show_mad(const struct mad *mad)
{
#define F(name)        \
	if (mad->name) \
		text_addf(&out, " " #name " %" PRIx64, mad->name);
	MAD_NAMES(F)
#undef F
	show_bytes("private", mad->private_data, mad_private(mad->attr_id));
	text_addf(&out, "\n");
}

void __wrap_mads_send(const struct in6_addr *to, const uint8_t bytes[MAD_SIZE])
{
	char text[INET6_ADDRSTRLEN];
	struct mad mad;

	assert_true(mad_read(&mad, bytes));
	text_addf(&out, "\tto %s:", inet_ntop(AF_INET6, to, text, sizeof(text)));
	show_mad(&mad);
}

static void show_addr(const char *name, const struct cm_addr *addr)
{
	text_addf(&out, " %s %u:%u", name, addr->family, ntohs(addr->port));
	show_bytes("ip", addr->ip, sizeof(addr->ip));
}

static void show_name(const char *name, const struct cm_name *it)
{
	text_addf(&out, " %s %" PRIu64 "/%d/%u", name, it->instance, (int)it->node, it->serial);
	show_bytes("away", it->away, sizeof(it->away));
}

static void show_msg(const struct cm_msg *m)
{
	text_addf(&out,
		  " type %u tid %" PRIx64
		  " ps %x qpn %u qkey %u psn %u status %u qp_type %u resources %u depth %u "
		  "flow %u retry %u rnr %u srq %u mtu %u ece %u %u",
		  m->type, m->tid, m->ps, m->qpn, m->qkey, m->psn, m->status, m->qp_type,
		  m->responder_resources, m->initiator_depth, m->flow_control, m->retry_count,
		  m->rnr_retry_count, m->srq, m->mtu, m->ece.vendor_id, m->ece.attr_mod);
	show_name("from", &m->from);
	show_addr("src", &m->src);
	show_addr("dst", &m->dst);
	show_bytes("private", m->private_data, m->private_len);
	text_addf(&out, "\n");
}

int __wrap_cm_wire_put(const struct cm_name *to, struct cm_msg *msg)
{
	text_addf(&out, "\tmailbox");
	show_name("of", to);
	show_msg(msg);
	return mailbox_result;
}

int __wrap_cm_port_request(uint16_t ps, const struct cm_addr *addr,
			   int (*send)(const struct cm_name *to, void *arg), void *arg)
{
	const struct cm_name listener = { .instance = 7, .node = 8, .serial = 9 };

	text_addf(&out, "\tport %x", ps);
	show_addr("of", addr);
	text_addf(&out, ": %d\n", port_result);
	return port_result ?: send(&listener, arg);
}

static int begin_messages(void **state)
{
	(void)state;
	inet_pton(AF_INET6, "fd00::1:2:3:4", &uplink.addr);
	node_self.node = 5;
	nodes[5].instance = 55;
	node_table = nodes;
	port_result = mailbox_result = 0;
	return cm_away_start();
}

FIXTURE(begin_messages, NULL);

static struct cm_addr make_addr(const char *ip, uint16_t port)
{
	struct cm_addr addr = { .family = strchr(ip, ':') ? AF_INET6 : AF_INET,
				.port = htons(port) };

	assert_int_equal(inet_pton(addr.family, ip, addr.ip), 1);
	return addr;
}

/* All fields differ. */
static struct cm_msg make_message(uint32_t type, uint8_t qp_type, bool ipv4)
{
	struct cm_msg msg = {
		.type = type,
		.from = { .instance = 1, .node = 2, .serial = 3 },
		.src = make_addr(ipv4 ? "10.0.0.1" : "fd00::1:2:3:4", 1001),
		.dst = make_addr(ipv4 ? "10.0.0.2" : "fd00::2", 1002),
		.ece = { .vendor_id = 0x15b3, .attr_mod = 12 },
		.ps = 0x106,
		.qpn = 100,
		.qkey = 101,
		.psn = 102,
		.status = 6,
		.qp_type = qp_type,
		.responder_resources = 11,
		.initiator_depth = 13,
		.flow_control = 1,
		.retry_count = 5,
		.rnr_retry_count = 4,
		.srq = 1,
		.private_len = 200,
	};

	for (int i = 0; i < 200; i++)
		msg.private_data[i] = (uint8_t)(i + 1);
	return msg;
}

static const uint32_t types[] = { CM_REQ,  CM_REP, CM_RTU,      CM_REJ,      CM_DREQ,
				  CM_DREP, CM_MRA, CM_SIDR_REQ, CM_SIDR_REP, 99 };
enum { TYPES = sizeof(types) / sizeof(*types) };

static void send_message(const char *what, const struct cm_msg *msg, uint32_t serial)
{
	struct cm_name to = { .node = (uint32_t)CM_REMOTE, .serial = serial };

	inet_pton(AF_INET6, "fd00::2", to.away);
	text_addf(&out, "send type %u, %s\n", msg->type, what);
	cm_remote_send(&to, msg);
}

static void send_all(void)
{
	struct cm_msg msg;

	for (int i = 0; i < TYPES; i++) {
		msg = make_message(types[i], IBV_QPT_RC, false);
		send_message("RC", &msg, 0x1234);
	}
	msg = make_message(CM_REQ, IBV_QPT_UC, true);
	send_message("UC, IPv4", &msg, 0);
	msg = make_message(CM_REQ, IBV_QPT_XRC_SEND, true);
	send_message("XRC, IPv4", &msg, 0);
	msg.private_len = 3;
	send_message("three bytes", &msg, 0);
	msg.private_len = 0;
	msg.from.serial = 0;
	send_message("nobody", &msg, 0x1234);
	msg.type = CM_REJ;
	send_message("nobody", &msg, 0);
	msg.type = CM_REJ;
	send_message("nobody to somebody", &msg, 0x1234);
}

static void receive_mad(const char *what, const struct mad *mad, const char *from)
{
	uint8_t bytes[MAD_SIZE];
	struct in6_addr at;

	inet_pton(AF_INET6, from, &at);
	text_addf(&out, "receive %" PRIx64 ", %s\n", mad->attr_id, what);
	assert_true(mad_write(mad, bytes));
	mads_taker(&at, bytes);
}

static struct mad make_mad(uint64_t attr_id)
{
	struct mad mad = { 0 };
	uint64_t n = 1;

#define F(name) mad.name = n++;
	MAD_NAMES(F)
#undef F
	mad.attr_id = attr_id;
	mad.service_type = mad.extended_type = 0;
	mad.srq = 1;
	mad.remote_id = 0x1234 << NODE_BITS | 5;
	mad.service_id = 0x1061234;
	for (int i = 0; i < MAD_PRIVATE; i++)
		mad.private_data[i] = (uint8_t)(i + 100);
	return mad;
}

/* The addresses of a request from fd00::2. */
static void put_ends(struct mad *mad, bool ipv4)
{
	memset(mad->private_data, 0, 36);
	mad->private_data[1] = ipv4 ? 4 << 4 : 6 << 4;
	mad->private_data[2] = 0x12;
	mad->private_data[3] = 0x34;
	if (ipv4) {
		inet_pton(AF_INET, "10.0.0.2", mad->private_data + 4 + 12);
		inet_pton(AF_INET, "10.0.0.1", mad->private_data + 20 + 12);
	} else {
		inet_pton(AF_INET6, "fd00::2", mad->private_data + 4);
		memcpy(mad->private_data + 20, &uplink.addr, 16);
	}
}

static void receive_answers(void)
{
	static const uint64_t attributes[] = { MAD_ATTR_REP,     MAD_ATTR_RTU,  MAD_ATTR_REJ,
					       MAD_ATTR_DREQ,    MAD_ATTR_DREP, MAD_ATTR_MRA,
					       MAD_ATTR_SIDR_REP };
	static const int results[] = { -ENOENT, -ENOSPC, -EAGAIN };
	struct mad mad;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		mad = make_mad(attributes[i]);
		mailbox_result = 0;
		receive_mad("taken", &mad, "fd00::2");
		for (int k = 0; k < 3; k++) {
			mailbox_result = results[k];
			receive_mad("refused", &mad, "fd00::2");
		}
		mailbox_result = 0;
		mad.remote_id = 0x1234 << NODE_BITS | 6;
		receive_mad("no such process", &mad, "fd00::2");
		mad.remote_id = 5;
		receive_mad("no id", &mad, "fd00::2");
	}
	node_table = NULL;
	receive_mad("no processes", &mad, "fd00::2");
	node_table = nodes;
}

static void receive_requests(void)
{
	static const int results[] = { 0, -ENOENT, -ENOSPC, -EAGAIN };

	for (int i = 0; i < 8; i++) {
		struct mad mad = make_mad(i & 1 ? MAD_ATTR_SIDR_REQ : MAD_ATTR_REQ);

		put_ends(&mad, false);
		port_result = results[i / 2];
		receive_mad("listener", &mad, "fd00::2");
	}
	port_result = 0;
}

static void receive_service(const char *what, uint64_t type, uint64_t extended)
{
	struct mad mad = make_mad(MAD_ATTR_REQ);

	put_ends(&mad, false);
	mad.service_type = type;
	mad.extended_type = extended;
	receive_mad(what, &mad, "fd00::2");
}

/* Addresses that are not those of the packet. */
static void receive_liars(void)
{
	struct mad good = make_mad(MAD_ATTR_REQ), mad;

	put_ends(&good, false);
	receive_mad("from elsewhere", &good, "fd00::3");
	for (int i = 0; i < 5; i++) {
		static const int places[] = { 0, 1, 4, 19, 35 };

		mad = good;
		mad.private_data[places[i]] ^= 1;
		receive_mad("another byte", &mad, "fd00::2");
	}
	mad = good;
	mad.service_id |= 1ull << 32;
	receive_mad("not a port", &mad, "fd00::2");
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &uplink.addr);
	put_ends(&good, true);
	receive_mad("IPv4", &good, "::ffff:10.0.0.2");
	receive_mad("IPv4, from elsewhere", &good, "::ffff:10.0.0.3");
}

TEST(messages_are_those_of_the_transcript)
{
	send_all();
	receive_answers();
	receive_requests();
	receive_service("UC", 1, 0);
	receive_service("RD", 2, 0);
	receive_service("XRC", 3, 1);
	receive_service("extended", 3, 2);
	receive_liars();
	transcript_expect(__FILE__, &out);
}

TEST(start_needs_the_wire)
{
	engine_result = -ENODEV;
	assert_int_equal(cm_away_start(), -ENODEV);
	engine_result = 0;
	assert_int_equal(cm_away_start(), 0);
}

TEST(other_datagrams_are_ignored)
{
	uint8_t bytes[MAD_SIZE] = { 0 };
	struct in6_addr from = { 0 };

	mads_taker(&from, bytes);
	assert_int_equal(out.used, 0);
}
