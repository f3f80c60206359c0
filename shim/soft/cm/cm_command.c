/*
 * The commands of /dev/infiniband/rdma_cm
 *
 * One table lists all commands, with the sizes that the kernel checks. This file only converts
 * structures of the kernel's interface to calls.
 */
#include "shim/soft/cm/cm_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_verbs.h>

#include "shim/soft/cm/cm_conn.h"
#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_mcast.h"
#include "shim/soft/cm/cm_path.h"
#include "shim/soft/cm/cm_react.h"
#include "shim/soft/cm/cm_route.h"

static int create_id(struct cm_channel *channel, const struct rdma_ucm_create_id *cmd,
		     struct rdma_ucm_create_id_resp *resp)
{
	uint8_t qp_type;
	struct cm_id *id;
	int err;

	switch (cmd->ps) {
	case RDMA_PS_TCP:
		qp_type = IBV_QPT_RC;
		break;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		qp_type = IBV_QPT_UD;
		break;
	case RDMA_PS_IB:
		qp_type = cmd->qp_type;
		break;
	default:
		return -EINVAL;
	}
	err = cm_id_new(channel, cmd->ps, qp_type, &id);
	if (err < 0)
		return err;
	id->uid = cmd->uid;
	resp->id = id->handle;
	return 0;
}

static int destroy_id(struct cm_channel *channel, const struct rdma_ucm_destroy_id *cmd,
		      struct rdma_ucm_destroy_id_resp *resp)
{
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (err < 0)
		return err;
	resp->events_reported = id->events;
	cm_react_destroy_id(id);
	return 0;
}

static int bind_to(struct cm_channel *channel, uint32_t handle, const void *sockaddr, size_t size)
{
	struct cm_addr addr;
	struct cm_id *id;
	int err = cm_id_get(channel, handle, &id);

	if (!err)
		err = cm_addr_from_sockaddr(&addr, sockaddr, size);
	return err < 0 ? err : cm_route_bind(id, &addr);
}

static int bind_ip(struct cm_channel *channel, const struct rdma_ucm_bind_ip *cmd, void *resp)
{
	(void)resp;
	return bind_to(channel, cmd->id, &cmd->addr, sizeof(cmd->addr));
}

static int bind_addr(struct cm_channel *channel, const struct rdma_ucm_bind *cmd, void *resp)
{
	(void)resp;
	if (cmd->reserved || cmd->addr_size > sizeof(cmd->addr))
		return -EINVAL;
	return bind_to(channel, cmd->id, &cmd->addr, cmd->addr_size);
}

static int resolve_sockaddr(struct cm_channel *channel, uint32_t handle, const void *src_addr,
			    size_t src_size, const void *dst_addr, size_t dst_size)
{
	struct cm_addr src = { 0 }, dst;
	uint16_t family = 0; /* sa_family_t */
	struct cm_id *id;
	int err = cm_id_get(channel, handle, &id);

	if (!err)
		err = cm_addr_from_sockaddr(&dst, dst_addr, dst_size);
	if (src_size >= sizeof(family))
		memcpy(&family, src_addr, sizeof(family));
	if (!err && family)
		err = cm_addr_from_sockaddr(&src, src_addr, src_size);
	return err < 0 ? err : cm_route_resolve_addr(id, &src, &dst);
}

static int resolve_ip(struct cm_channel *channel, const struct rdma_ucm_resolve_ip *cmd, void *resp)
{
	(void)resp;
	return resolve_sockaddr(channel, cmd->id, &cmd->src_addr, sizeof(cmd->src_addr),
				&cmd->dst_addr, sizeof(cmd->dst_addr));
}

static int resolve_addr(struct cm_channel *channel, const struct rdma_ucm_resolve_addr *cmd,
			void *resp)
{
	(void)resp;
	if (cmd->reserved || cmd->src_size > sizeof(cmd->src_addr) ||
	    cmd->dst_size > sizeof(cmd->dst_addr))
		return -EINVAL;
	return resolve_sockaddr(channel, cmd->id, &cmd->src_addr, cmd->src_size, &cmd->dst_addr,
				cmd->dst_size);
}

static int query_route(struct cm_channel *channel, const struct rdma_ucm_query *cmd,
		       struct rdma_ucm_query_route_resp *resp)
{
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (!err)
		cm_path_fill_route(id, resp);
	return err;
}

/* Large enough for the answer to any query. */
struct query_resp {
	union {
		struct rdma_ucm_query_addr_resp addr;
		struct { /* struct rdma_ucm_query_path_resp with one path */
			uint32_t num_paths;
			uint32_t reserved;
			struct ib_path_rec_data data;
		} path;
	};
};

static int query_id(struct cm_channel *channel, const struct rdma_ucm_query *cmd,
		    struct query_resp *resp)
{
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (err < 0)
		return err;
	switch (cmd->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		cm_path_fill_addr(id, &resp->addr);
		return 0;
	case RDMA_USER_CM_QUERY_GID:
		cm_path_fill_gid(id, &resp->addr);
		return 0;
	case RDMA_USER_CM_QUERY_PATH:
		resp->path.num_paths = cm_path_data(id, &resp->path.data);
		return 0;
	default:
		return -ENOSYS;
	}
}

static int init_qp_attr(struct cm_channel *channel, const struct rdma_ucm_init_qp_attr *cmd,
			struct ib_uverbs_qp_attr *resp)
{
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (err < 0)
		return err;
	if (!id->device || cmd->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	resp->qp_state = cmd->qp_state;
	return cm_path_fill_qp_attr(id, resp);
}

/* Return the next event of the channel; -EAGAIN: there is none. */
static int get_event(struct cm_channel *channel, const struct rdma_ucm_get_event *cmd,
		     struct rdma_ucm_event_resp *resp)
{
	struct cm_event *event = cm_channel_get(channel);

	(void)cmd;
	if (!event)
		return -EAGAIN;
	event->id->events++;
	if (event->multicast)
		event->multicast->events++;
	if (event->request)
		cm_id_request_done(event);
	*resp = event->resp;
	free(event);
	return 0;
}

static int join_ip_mcast(struct cm_channel *channel, const struct rdma_ucm_join_ip_mcast *cmd,
			 struct rdma_ucm_create_id_resp *resp)
{
	struct cm_addr addr;
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (!err)
		err = cm_addr_from_sockaddr(&addr, &cmd->addr, sizeof(cmd->addr));
	return err < 0 ? err : cm_mcast_join(id, &addr, cmd->uid, &resp->id);
}

static int join_mcast(struct cm_channel *channel, const struct rdma_ucm_join_mcast *cmd,
		      struct rdma_ucm_create_id_resp *resp)
{
	struct cm_addr addr;
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	if (!err &&
	    (cmd->addr_size > sizeof(cmd->addr) || cmd->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED))
		err = -EINVAL;
	if (!err)
		err = cm_addr_from_sockaddr(&addr, &cmd->addr, cmd->addr_size);
	return err < 0 ? err : cm_mcast_join(id, &addr, cmd->uid, &resp->id);
}

static int leave_mcast(struct cm_channel *channel, const struct rdma_ucm_destroy_id *cmd,
		       struct rdma_ucm_destroy_id_resp *resp)
{
	int events = cm_mcast_leave(channel, cmd->id);

	if (events < 0)
		return events;
	resp->events_reported = events;
	return 0;
}

static int migrate_id(struct cm_channel *channel, const struct rdma_ucm_migrate_id *cmd,
		      struct rdma_ucm_migrate_resp *resp)
{
	struct cm_channel *from = cm_channel_at(cmd->fd);
	struct cm_id *id;
	int err = from ? cm_id_get(from, cmd->id, &id) : -EINVAL;

	if (err < 0)
		return err;
	resp->events_reported = id->events;
	return cm_react_migrate_id(id, channel);
}

/* Commands added in Linux 6.17, which older headers lack. */
enum { CMD_RESOLVE_IB_SERVICE = RDMA_USER_CM_CMD_JOIN_MCAST + 1, CMD_WRITE_CM_EVENT };

struct write_cm_event {
	uint32_t id;
	uint32_t reserved;
	uint32_t event;
	uint32_t status;
	union {
		struct rdma_ucm_conn_param conn;
		struct rdma_ucm_ud_param ud;
		uint64_t arg;
	} param;
};

/*
 * Add an event that the program or librdmacm writes; the event is later returned with the argument
 * @cmd->param.
 */
static int write_cm_event(struct cm_channel *channel, const struct write_cm_event *cmd, void *resp)
{
	struct cm_event *event;
	struct cm_id *id;
	int err = cm_id_get(channel, cmd->id, &id);

	(void)resp;
	if (err < 0)
		return err;
	if (cmd->event != CM_EVENT_USER && cmd->event != CM_EVENT_INTERNAL)
		return -EINVAL;
	event = cm_id_event(id, cmd->event, cmd->status);
	if (!event)
		return -ENOMEM;
	memcpy(&event->resp.param, &cmd->param.arg, sizeof(cmd->param.arg));
	return 0;
}

/* Commands whose only argument is an id. */
#define OF_ID(name, type, call)                                                         \
	static int name(struct cm_channel *channel, const struct type *cmd, void *resp) \
	{                                                                               \
		struct cm_id *id;                                                       \
		int err = cm_id_get(channel, cmd->id, &id);                             \
                                                                                        \
		(void)resp;                                                             \
		return err < 0 ? err : call;                                            \
	}

/* clang-format off */
OF_ID(resolve_route, rdma_ucm_resolve_route, cm_route_resolve_route(id))
OF_ID(connect, rdma_ucm_connect, cm_conn_connect(id, cmd))
OF_ID(listen, rdma_ucm_listen, cm_route_listen(id, cmd->backlog))
OF_ID(accept, rdma_ucm_accept, cm_conn_accept(id, cmd))
OF_ID(reject, rdma_ucm_reject, cm_conn_reject(id, cmd))
OF_ID(disconnect, rdma_ucm_disconnect, cm_conn_disconnect(id))
OF_ID(set_option, rdma_ucm_set_option, cm_route_set_option(id, cmd))
OF_ID(notify, rdma_ucm_notify, cm_conn_notify(id, cmd->event))
/* clang-format on */

typedef int command_fn(struct cm_channel *channel, const void *cmd, void *resp);

struct cm_command {
	command_fn *run; /* NULL: the kernel lacks the command, too */
	uint16_t size;   /* size of the command's structure */
	uint16_t must;   /* required size: old versions of librdmacm write no more */
	/* offset in the command of the address of the response; -1: no response */
	int16_t response;
	uint16_t answer; /* size of the response */
	uint16_t room;   /* space that the program must provide for the response */
};

#define RUN(name)          ((command_fn *)(void *)name)
#define UPTO(type, member) offsetof(struct type, member)
#define QUIET(name, type, must)                                \
	{                                                      \
		RUN(name), sizeof(struct type), must, -1, 0, 0 \
	}
#define ANSWERS(name, type, answer, room)                                            \
	{                                                                            \
		RUN(name), sizeof(struct type), sizeof(struct type),                 \
			offsetof(struct type, response), sizeof(struct answer), room \
	}

/* clang-format off */
static const struct cm_command commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] =
		ANSWERS(create_id, rdma_ucm_create_id, rdma_ucm_create_id_resp,
			sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_DESTROY_ID] =
		ANSWERS(destroy_id, rdma_ucm_destroy_id, rdma_ucm_destroy_id_resp,
			sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_BIND_IP] =
		QUIET(bind_ip, rdma_ucm_bind_ip, sizeof(struct rdma_ucm_bind_ip)),
	[RDMA_USER_CM_CMD_RESOLVE_IP] =
		QUIET(resolve_ip, rdma_ucm_resolve_ip,
		      sizeof(struct rdma_ucm_resolve_ip)),
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] =
		QUIET(resolve_route, rdma_ucm_resolve_route,
		      sizeof(struct rdma_ucm_resolve_route)),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] =
		ANSWERS(query_route, rdma_ucm_query, rdma_ucm_query_route_resp,
			UPTO(rdma_ucm_query_route_resp, ibdev_index)),
	[RDMA_USER_CM_CMD_CONNECT] =
		QUIET(connect, rdma_ucm_connect, UPTO(rdma_ucm_connect, ece)),
	[RDMA_USER_CM_CMD_LISTEN] =
		QUIET(listen, rdma_ucm_listen, sizeof(struct rdma_ucm_listen)),
	[RDMA_USER_CM_CMD_ACCEPT] =
		QUIET(accept, rdma_ucm_accept, UPTO(rdma_ucm_accept, ece)),
	[RDMA_USER_CM_CMD_REJECT] =
		QUIET(reject, rdma_ucm_reject, sizeof(struct rdma_ucm_reject)),
	[RDMA_USER_CM_CMD_DISCONNECT] =
		QUIET(disconnect, rdma_ucm_disconnect,
		      sizeof(struct rdma_ucm_disconnect)),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] =
		ANSWERS(init_qp_attr, rdma_ucm_init_qp_attr, ib_uverbs_qp_attr,
			sizeof(struct ib_uverbs_qp_attr)),
	[RDMA_USER_CM_CMD_GET_EVENT] =
		ANSWERS(get_event, rdma_ucm_get_event, rdma_ucm_event_resp,
			UPTO(rdma_ucm_event_resp, reserved)),
	[RDMA_USER_CM_CMD_GET_OPTION] = { 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] =
		QUIET(set_option, rdma_ucm_set_option,
		      sizeof(struct rdma_ucm_set_option)),
	[RDMA_USER_CM_CMD_NOTIFY] =
		QUIET(notify, rdma_ucm_notify, sizeof(struct rdma_ucm_notify)),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] =
		ANSWERS(join_ip_mcast, rdma_ucm_join_ip_mcast,
			rdma_ucm_create_id_resp,
			sizeof(struct rdma_ucm_create_id_resp)),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] =
		ANSWERS(leave_mcast, rdma_ucm_destroy_id, rdma_ucm_destroy_id_resp,
			sizeof(struct rdma_ucm_destroy_id_resp)),
	[RDMA_USER_CM_CMD_MIGRATE_ID] =
		ANSWERS(migrate_id, rdma_ucm_migrate_id, rdma_ucm_migrate_resp,
			sizeof(struct rdma_ucm_migrate_resp)),
	[RDMA_USER_CM_CMD_QUERY] =
		ANSWERS(query_id, rdma_ucm_query, query_resp,
			sizeof(struct rdma_ucm_query_path_resp)),
	[RDMA_USER_CM_CMD_BIND] =
		QUIET(bind_addr, rdma_ucm_bind, sizeof(struct rdma_ucm_bind)),
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] =
		QUIET(resolve_addr, rdma_ucm_resolve_addr,
		      sizeof(struct rdma_ucm_resolve_addr)),
	[RDMA_USER_CM_CMD_JOIN_MCAST] =
		ANSWERS(join_mcast, rdma_ucm_join_mcast, rdma_ucm_create_id_resp,
			sizeof(struct rdma_ucm_create_id_resp)),
	[CMD_RESOLVE_IB_SERVICE] = { 0 }, /* always fails: there is no subnet administrator */
	[CMD_WRITE_CM_EVENT] =
		QUIET(write_cm_event, write_cm_event, sizeof(struct write_cm_event)),
};
/* clang-format on */

enum { COMMAND_MAX = 512, ANSWER_MAX = 512 };

_Static_assert(sizeof(struct rdma_ucm_resolve_addr) <= COMMAND_MAX &&
		       sizeof(struct rdma_ucm_accept) <= COMMAND_MAX &&
		       sizeof(struct rdma_ucm_event_resp) <= ANSWER_MAX &&
		       sizeof(struct rdma_ucm_query_route_resp) <= ANSWER_MAX &&
		       sizeof(struct query_resp) <= ANSWER_MAX,
	       "they fit");

int cm_command_run(struct cm_channel *channel, const struct cm_command *command, const void *in,
		   size_t in_len, size_t out_len)
{
	uint64_t cmd[COMMAND_MAX / 8] = { 0 }, resp[ANSWER_MAX / 8] = { 0 };
	uint64_t to;
	int err;

	memcpy(cmd, in, in_len < command->size ? in_len : command->size);
	cm_react_run(channel);
	err = command->run(channel, cmd, resp);
	cm_channel_arm(channel);
	if (err < 0 || command->response < 0)
		return err;
	memcpy(&to, (char *)cmd + command->response, sizeof(to));
	memcpy((void *)(uintptr_t)to, resp, out_len < command->answer ? out_len : command->answer);
	return 0;
}

int cm_command_find(const void *buf, size_t len, struct rdma_ucm_cmd_hdr *hdr,
		    const struct cm_command **ret_command)
{
	const struct cm_command *command;

	if (len < sizeof(*hdr))
		return -EINVAL;
	memcpy(hdr, buf, sizeof(*hdr));
	if (hdr->cmd >= sizeof(commands) / sizeof(commands[0]) || hdr->in > len - sizeof(*hdr))
		return -EINVAL;
	command = &commands[hdr->cmd];
	if (!command->run)
		return -ENOSYS;
	if (hdr->in < command->must)
		return -EINVAL;
	if (hdr->out < command->room)
		return -ENOSPC;
	*ret_command = command;
	return 0;
}
