/*
 * Asks the kernel by netlink
 *
 *	RDMA_NLDEV_CMD_GET	--> devices: index, name
 *	for each device, for each kind, RDMA_NLDEV_CMD_RES_..._GET, as a dump:
 *		--> RES_QP { RES_QP_ENTRY { LQPN, RQPN, STATE, PID... } ... }
 *
 * Each table is one attribute with entries, and each entry has attributes; which ones depends on
 * the kernel and the device. The only user of libmnl.
 *
 * The kernel does not report which requests were posted or completed.
 */
#include "cli/attach/kernel.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "core/base/library.h"
#include "core/base/vec.h"

/* clang-format off */
#define MNL_LIB(X) \
	X(mnl_attr_get_type) \
	X(mnl_attr_get_payload) \
	X(mnl_attr_get_payload_len) \
	X(mnl_attr_next) \
	X(mnl_attr_ok) \
	X(mnl_attr_put_u32) \
	X(mnl_nlmsg_get_payload_offset) \
	X(mnl_nlmsg_get_payload_tail) \
	X(mnl_nlmsg_next) \
	X(mnl_nlmsg_ok) \
	X(mnl_nlmsg_put_header) \
	X(mnl_socket_bind) \
	X(mnl_socket_close) \
	X(mnl_socket_get_fd) \
	X(mnl_socket_open) \
	X(mnl_socket_recvfrom) \
	X(mnl_socket_sendto)

/* Kind, name, command, table, entry, number */
static const struct kernel_query {
	const char *name;
	int command, table, entry, number;
} questions[KERNEL_KINDS] = {
	[KERNEL_CONTEXT] = { "context", RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
			     RDMA_NLDEV_ATTR_RES_CTX_ENTRY, RDMA_NLDEV_ATTR_RES_CTXN },
	[KERNEL_PD] = { "PD", RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
			RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN },
	[KERNEL_CQ] = { "CQ", RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
			RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN },
	[KERNEL_QP] = { "queue pair", RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
			RDMA_NLDEV_ATTR_RES_QP_ENTRY, RDMA_NLDEV_ATTR_RES_LQPN },
	[KERNEL_SRQ] = { "SRQ", RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
			 RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN },
	[KERNEL_MR] = { "region", RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
			RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN },
	[KERNEL_CM_ID] = { "connection id", RDMA_NLDEV_CMD_RES_CM_ID_GET,
			   RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
			   RDMA_NLDEV_ATTR_RES_CM_IDN },
};
/* clang-format on */

enum { DEVICES_MAX = 256, OBJECTS_MAX = 1 << 20, BUFFER = 1 << 16, PATIENCE_MS = 300 };

struct device {
	uint32_t index;
	char name[64];
};

struct devices {
	struct device at[DEVICES_MAX];
	size_t n;
};

static LIBRARY(MNL_LIB) mnl;

static const char *load_library(void)
{
	static const char *const names[] = { MNL_LIB(LIBRARY_NAME) NULL };

	return library_load("libmnl.so.0", names, mnl.functions);
}

const char *kernel_kind_name(enum kernel_kind kind)
{
	return questions[kind].name;
}

/* An attribute of 1, 4 or 8 bytes. */
static uint64_t read_number(const struct nlattr *attr)
{
	uint64_t value = 0;
	size_t n = mnl.mnl_attr_get_payload_len(attr);

	memcpy(&value, mnl.mnl_attr_get_payload(attr), n < sizeof(value) ? n : sizeof(value));
	return value;
}

static void copy_text(char *to, size_t size, const struct nlattr *attr)
{
	size_t n = strnlen(mnl.mnl_attr_get_payload(attr), mnl.mnl_attr_get_payload_len(attr));

	if (n >= size)
		n = size - 1;
	memcpy(to, mnl.mnl_attr_get_payload(attr), n);
	to[n] = '\0';
}

/* Iterate over the attributes in [@at, @end). The macros of libmnl need the library linked. */
#define each_attribute(attr, at, end)                                                \
	for (const struct nlattr *attr = (at);                                       \
	     (const char *)(end) - (const char *)attr >= (ptrdiff_t)sizeof(*attr) && \
	     mnl.mnl_attr_ok(attr, (int)((const char *)(end) - (const char *)attr)); \
	     attr = mnl.mnl_attr_next(attr))
#define each_nested(attr, outer)                                       \
	each_attribute(attr, mnl.mnl_attr_get_payload(outer),          \
		       (const char *)mnl.mnl_attr_get_payload(outer) + \
			       mnl.mnl_attr_get_payload_len(outer))
#define each_of_message(attr, message)                                     \
	each_attribute(attr, mnl.mnl_nlmsg_get_payload_offset(message, 0), \
		       mnl.mnl_nlmsg_get_payload_tail(message))

static void read_attribute(const struct nlattr *attr, struct kernel_object *object)
{
	uint64_t value = read_number(attr);

	switch (mnl.mnl_attr_get_type(attr)) {
	case RDMA_NLDEV_ATTR_RES_PID:
		object->pid = (pid_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_RQPN:
		object->peer = (uint32_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_TYPE:
		object->type = (uint8_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_STATE:
		object->state = (uint8_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_CQE:
		object->cqe = (uint32_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_USECNT:
		object->users = value;
		break;
	case RDMA_NLDEV_ATTR_RES_LKEY:
		object->lkey = (uint32_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_RKEY:
		object->rkey = (uint32_t)value;
		break;
	case RDMA_NLDEV_ATTR_RES_IOVA:
		object->iova = value;
		break;
	case RDMA_NLDEV_ATTR_RES_MRLEN:
		object->length = value;
		break;
	case RDMA_NLDEV_ATTR_RES_PDN:
		object->pd = (uint32_t)value;
		break;
	default:
		break;
	}
}

static int add_object(const struct nlattr *entry, const char *device, enum kernel_kind kind,
		      pid_t pid, struct kernel *kernel)
{
	struct kernel_object object = { .kind = kind }, *added;

	each_nested(attr, entry)
	{
		if (mnl.mnl_attr_get_type(attr) == questions[kind].number)
			object.number = (uint32_t)read_number(attr);
		else
			read_attribute(attr, &object);
	}
	if (object.pid != pid || kernel->n >= OBJECTS_MAX)
		return 0;
	snprintf(object.device, sizeof(object.device), "%s", device);
	added = vec_push(kernel->objects, kernel->n);
	if (!added)
		return -ENOMEM;
	*added = object;
	return 0;
}

static int read_message(const struct nlmsghdr *message, enum kernel_kind kind, pid_t pid,
			struct kernel *kernel)
{
	char device[64] = "";
	int err = 0;

	each_of_message(attr, message) if (mnl.mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
		copy_text(device, sizeof(device), attr);
	each_of_message(table, message)
	{
		if (mnl.mnl_attr_get_type(table) != questions[kind].table)
			continue;
		each_nested(entry, table) if (!err &&
					      mnl.mnl_attr_get_type(entry) == questions[kind].entry)
			err = add_object(entry, device, kind, pid, kernel);
	}
	return err;
}

/* 0 for an acknowledgement, or the error that the kernel answers. */
static int read_error(const struct nlmsghdr *message)
{
	const struct nlmsgerr *error = mnl.mnl_nlmsg_get_payload_offset(message, 0);
	int err;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*error)))
		return -EPROTO;
	memcpy(&err, &error->error, sizeof(err));
	return err <= 0 ? err : -EPROTO;
}

/* Is the message complete? libmnl's own check takes lengths of 2 GiB and more as negative. */
static bool is_whole(const struct nlmsghdr *message, int left)
{
	return left >= (int)sizeof(*message) && message->nlmsg_len <= (uint32_t)left &&
	       mnl.mnl_nlmsg_ok(message, left);
}

typedef int use_message(const struct nlmsghdr *message, void *arg);

/* 1: more will come; 0: the end; or -errno. */
static int each_message(const void *messages, size_t n, use_message *use, void *arg)
{
	const struct nlmsghdr *message = messages;
	int left = (int)n, err = 0;

	for (; !err && is_whole(message, left); message = mnl.mnl_nlmsg_next(message, &left)) {
		if (message->nlmsg_type == NLMSG_DONE)
			return 0;
		if (message->nlmsg_type == NLMSG_ERROR)
			return read_error(message);
		err = use(message, arg);
		if (!(message->nlmsg_flags & NLM_F_MULTI) && !err)
			return 0;
	}
	return err ? err : left ? -EPROTO : 1;
}

struct kernel_collector {
	enum kernel_kind kind;
	pid_t pid;
	struct kernel *kernel;
	struct devices *devices;
};

static int read_object_reply(const struct nlmsghdr *message, void *arg)
{
	const struct kernel_collector *collect = arg;

	return read_message(message, collect->kind, collect->pid, collect->kernel);
}

int kernel_parse(const void *messages, size_t n, enum kernel_kind kind, pid_t pid,
		 struct kernel *kernel)
{
	struct kernel_collector collect = { kind, pid, kernel, NULL };

	return load_library() ? -ENOPKG : each_message(messages, n, read_object_reply, &collect);
}

static int read_device_reply(const struct nlmsghdr *message, void *arg)
{
	const struct kernel_collector *collect = arg;
	struct devices *devices = collect->devices;
	struct device device = { 0 };

	each_of_message(attr, message)
	{
		if (mnl.mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
			device.index = (uint32_t)read_number(attr);
		if (mnl.mnl_attr_get_type(attr) == RDMA_NLDEV_ATTR_DEV_NAME)
			copy_text(device.name, sizeof(device.name), attr);
	}
	if (devices->n < DEVICES_MAX)
		devices->at[devices->n++] = device;
	return 0;
}

/* Send a question for a dump, about @device unless that is NULL, and use all of its answer. */
static int query_kernel(struct mnl_socket *socket, int command, const struct device *device,
			use_message *use, struct kernel_collector *collect)
{
	char buffer[BUFFER] __attribute__((aligned(8)));
	struct nlmsghdr *header = mnl.mnl_nlmsg_put_header(buffer);
	ssize_t n;
	int err;

	header->nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (device)
		mnl.mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, device->index);
	if (mnl.mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl.mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		err = n < 0 ? -errno : each_message(buffer, (size_t)n, use, collect);
	} while (err == 1);
	return err;
}

static int query_all_objects(struct mnl_socket *socket, struct kernel_collector *collect)
{
	int err = query_kernel(socket, RDMA_NLDEV_CMD_GET, NULL, read_device_reply, collect);

	if (err < 0)
		return err;
	collect->kernel->ndevices = collect->devices->n;
	for (size_t i = 0; i < collect->devices->n; i++) {
		for (int kind = 0; kind < KERNEL_KINDS; kind++) {
			collect->kind = (enum kernel_kind)kind;
			err = query_kernel(socket, questions[kind].command,
					   &collect->devices->at[i], read_object_reply, collect);
			/* an older kernel lacks some of these commands */
			if (err == -ENOMEM)
				return err;
		}
	}
	return 0;
}

int kernel_read(pid_t pid, struct kernel *ret_kernel)
{
	static const struct timeval patience = { 0, PATIENCE_MS * 1000 };
	struct devices devices = { .n = 0 };
	struct kernel_collector collect = { 0, pid, ret_kernel, &devices };
	struct mnl_socket *socket;
	const char *why = load_library();
	int err;

	*ret_kernel = (struct kernel){ 0 };
	if (why) {
		snprintf(ret_kernel->why, sizeof(ret_kernel->why), "%.120s", why);
		return 0;
	}
	socket = mnl.mnl_socket_open(NETLINK_RDMA);
	if (!socket) {
		snprintf(ret_kernel->why, sizeof(ret_kernel->why),
			 "this kernel has no RDMA netlink (module ib_core)");
		return 0;
	}
	setsockopt(mnl.mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof(patience));
	err = mnl.mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0
		      ? -errno
		      : query_all_objects(socket, &collect);
	if (err < 0)
		snprintf(ret_kernel->why, sizeof(ret_kernel->why), "RDMA netlink: %s",
			 strerror(-err));
	mnl.mnl_socket_close(socket);
	return err == -ENOMEM ? err : 0;
}

void kernel_fini(struct kernel *kernel)
{
	free(kernel->objects);
	*kernel = (struct kernel){ 0 };
}
