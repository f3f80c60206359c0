/*
 * The RDMA netlink of the kernel, for queries about devices and ports
 *
 * A request is a message with attributes; The answer to a dump is one message per object, and
 * NLMSG_DONE at the end; to any other request, one message. If requested, or after an error, an
 * acknowledgement follows. Each message is sent from a separate socket to the requesting socket.
 *
 * Resources (`rdma resource`, `rdma statistic`) and changes are refused with EOPNOTSUPP.
 *
 * Source: nldev in the kernel's InfiniBand core.
 */
#include "shim/soft/sysfs/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/uplink.h"

enum {
	DEVICE_INDEX = 0,
	HIGHEST = 1024, /* limit of descriptors that are remembered */
	WORD_BITS = 64,
	MESSAGE_MAX = 1024,
};

static uint64_t ours[HIGHEST / WORD_BITS];
static bool any;

struct message {
	struct nlmsghdr header;
	uint8_t attributes[MESSAGE_MAX];
};

/* The sender of a request, and its contents. */
struct request {
	uint32_t port_id;
	const struct nlmsghdr *header;
	uint32_t device, port;
	bool has_device, has_port;
};

bool netlink_is_rdma(int domain, int protocol)
{
	return domain == AF_NETLINK && protocol == NETLINK_RDMA;
}

void netlink_note(int fd)
{
	if (fd < 0 || fd >= HIGHEST)
		return;
	__atomic_or_fetch(&ours[fd / WORD_BITS], 1ull << fd % WORD_BITS, __ATOMIC_RELAXED);
	__atomic_store_n(&any, true, __ATOMIC_RELAXED);
}

/*
 * Is @fd an RDMA socket? Its protocol is checked, too: the descriptor may have been closed and
 * reused.
 */
bool netlink_is_ours(int fd)
{
	int protocol = -1;
	socklen_t size = sizeof(protocol);

	if (!__atomic_load_n(&any, __ATOMIC_RELAXED) || fd < 0 || fd >= HIGHEST ||
	    !(__atomic_load_n(&ours[fd / WORD_BITS], __ATOMIC_RELAXED) >> fd % WORD_BITS & 1))
		return false;
	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) &&
	       protocol == NETLINK_USERSOCK;
}

static void begin_message(struct message *m, const struct request *request, uint16_t type,
			  uint16_t flags)
{
	m->header = (struct nlmsghdr){
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = flags,
		.nlmsg_seq = request->header->nlmsg_seq,
		.nlmsg_pid = request->port_id,
	};
}

/* Add an attribute. All attributes of a message fit, since none is long. */
static void put_attribute(struct message *m, uint16_t type, const void *value, uint16_t len)
{
	struct nlattr attribute = { .nla_len = NLA_HDRLEN + len, .nla_type = type };
	uint8_t *to = m->attributes + m->header.nlmsg_len - NLMSG_HDRLEN;

	if (m->header.nlmsg_len + NLA_ALIGN(attribute.nla_len) > sizeof(*m))
		return;
	memset(to, 0, NLA_ALIGN(attribute.nla_len));
	memcpy(to, &attribute, NLA_HDRLEN);
	memcpy(to + NLA_HDRLEN, value, len);
	m->header.nlmsg_len += NLA_ALIGN(attribute.nla_len);
}

static void put_u8(struct message *m, uint16_t type, uint8_t value)
{
	put_attribute(m, type, &value, sizeof(value));
}

static void put_u32(struct message *m, uint16_t type, uint32_t value)
{
	put_attribute(m, type, &value, sizeof(value));
}

static void put_u64(struct message *m, uint16_t type, uint64_t value)
{
	put_attribute(m, type, &value, sizeof(value));
}

static void put_text(struct message *m, uint16_t type, const char *text)
{
	put_attribute(m, type, text, strlen(text) + 1);
}

static int send_message(const struct request *request, const struct message *m)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = request->port_id };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (sendto(fd, m, m->header.nlmsg_len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void put_name(struct message *m)
{
	put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, DEVICE_INDEX);
	put_text(m, RDMA_NLDEV_ATTR_DEV_NAME, profile_get()->name);
}

static void fill_device(struct message *m)
{
	const struct ibv_device_attr *attr = &profile_get()->attr.orig_attr;

	put_name(m);
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, attr->phys_port_cnt);
	put_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS, attr->device_cap_flags);
	put_text(m, RDMA_NLDEV_ATTR_FW_VERSION, attr->fw_ver);
	put_u64(m, RDMA_NLDEV_ATTR_NODE_GUID, be64toh(attr->node_guid));
	put_u64(m, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, be64toh(attr->sys_image_guid));
	put_u8(m, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, RDMA_NODE_IB_CA);
	put_text(m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, port_is_roce(1) ? "roce" : "ib");
}

static void fill_port(struct message *m, uint32_t num)
{
	const struct port *port = port_at(num);
	const struct ibv_port_attr *attr = &port->attr;

	put_name(m);
	put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, num);
	put_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS,
		attr->port_cap_flags | (uint64_t)attr->port_cap_flags2 << 32);
	if (!port_is_roce(num)) {
		put_u64(m, RDMA_NLDEV_ATTR_SUBNET_PREFIX,
			be64toh(port->gid[0].gid.global.subnet_prefix));
		put_u32(m, RDMA_NLDEV_ATTR_LID, attr->lid);
		put_u32(m, RDMA_NLDEV_ATTR_SM_LID, attr->sm_lid);
		put_u8(m, RDMA_NLDEV_ATTR_LMC, attr->lmc);
	}
	put_u8(m, RDMA_NLDEV_ATTR_PORT_STATE, attr->state);
	put_u8(m, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, attr->phys_state);
	if (port_is_roce(num)) {
		put_u32(m, RDMA_NLDEV_ATTR_NDEV_INDEX, uplink_interface()->index);
		put_text(m, RDMA_NLDEV_ATTR_NDEV_NAME, uplink_interface()->name);
	}
}

/* Describe the device or one of its ports. */
static int describe_object(const struct request *request, uint32_t port, uint16_t flags)
{
	struct message m;

	begin_message(&m, request, request->header->nlmsg_type, flags);
	if (port)
		fill_port(&m, port);
	else
		fill_device(&m);
	return send_message(request, &m);
}

static int end_dump(const struct request *request)
{
	struct message m;

	begin_message(&m, request, NLMSG_DONE, NLM_F_MULTI);
	memset(m.attributes, 0, sizeof(int)); /* the status of the dump: 0 */
	m.header.nlmsg_len += sizeof(int);
	return send_message(request, &m);
}

static int dump_objects(const struct request *request, bool ports)
{
	int err = 0;
	uint32_t num;

	if (!ports)
		err = describe_object(request, 0, NLM_F_MULTI);
	for (num = 1; ports && !err && port_at(num); num++)
		err = describe_object(request, num, NLM_F_MULTI);
	return err ? err : end_dump(request);
}

static int get_object(const struct request *request, bool ports)
{
	if (request->header->nlmsg_flags & NLM_F_DUMP)
		return dump_objects(request, ports);
	if (!request->has_device || (ports && !request->has_port))
		return -EINVAL;
	if (request->device != DEVICE_INDEX || (ports && !port_at(request->port)))
		return -EINVAL;
	return describe_object(request, ports ? request->port : 0, 0);
}

static int handle_request(const struct request *request)
{
	uint16_t type = request->header->nlmsg_type;

	if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV)
		return -EOPNOTSUPP;
	switch (RDMA_NL_GET_OP(type)) {
	case RDMA_NLDEV_CMD_GET:
		return get_object(request, false);
	case RDMA_NLDEV_CMD_PORT_GET:
		return get_object(request, true);
	default:
		return -EOPNOTSUPP;
	}
}

static int send_ack(const struct request *request, int status)
{
	struct nlmsgerr answer = { .error = status, .msg = *request->header };
	struct message m;

	begin_message(&m, request, NLMSG_ERROR, 0);
	memcpy(m.attributes, &answer, sizeof(answer));
	m.header.nlmsg_len += sizeof(answer);
	return send_message(request, &m);
}

static void read_attributes(struct request *request)
{
	const uint8_t *at = (const uint8_t *)request->header + NLMSG_HDRLEN;
	const uint8_t *end = (const uint8_t *)request->header + request->header->nlmsg_len;
	struct nlattr attribute;
	uint32_t value;

	for (; end - at >= NLA_HDRLEN + (int)sizeof(value); at += NLA_ALIGN(attribute.nla_len)) {
		memcpy(&attribute, at, NLA_HDRLEN);
		if (attribute.nla_len < NLA_HDRLEN || NLA_ALIGN(attribute.nla_len) > end - at)
			break;
		memcpy(&value, at + NLA_HDRLEN, sizeof(value));
		if (attribute.nla_type == RDMA_NLDEV_ATTR_DEV_INDEX) {
			request->device = value;
			request->has_device = true;
		} else if (attribute.nla_type == RDMA_NLDEV_ATTR_PORT_INDEX) {
			request->port = value;
			request->has_port = true;
		}
	}
}

/* The port id of the socket; the kernel assigns one when the socket first sends. 0: none. */
static uint32_t find_port_id(int fd)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	socklen_t size = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &size) < 0)
		return 0;
	if (own.nl_pid)
		return own.nl_pid;
	if (bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&own, &size) < 0)
		return 0;
	return own.nl_pid;
}

ssize_t netlink_send(int fd, const void *requests, size_t len)
{
	const uint8_t *at = requests;
	size_t left = len;
	int status, err = 0;

	while (!err && left >= NLMSG_HDRLEN) {
		struct request request = { .header = (const void *)at };
		size_t size = request.header->nlmsg_len;

		if (size < NLMSG_HDRLEN || size > left)
			break;
		request.port_id = find_port_id(fd);
		read_attributes(&request);
		status = handle_request(&request);
		if (status || request.header->nlmsg_flags & NLM_F_ACK)
			err = send_ack(&request, status);
		size = NLMSG_ALIGN(size);
		at += size < left ? size : left;
		left -= size < left ? size : left;
	}
	if (err) {
		errno = -err;
		return -1;
	}
	return len;
}
