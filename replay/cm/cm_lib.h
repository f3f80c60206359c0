#pragma once
/*
 * librdmacm, loaded when a trace has calls of it.
 *
 * Nothing else links with it: a machine without it replays the verbs inside these calls.
 */
#include <rdma/rdma_cma.h>

#define CM_LIB(X)                \
	X(create_event_channel)  \
	X(destroy_event_channel) \
	X(create_id)             \
	X(destroy_id)            \
	X(bind_addr)             \
	X(resolve_addr)          \
	X(resolve_route)         \
	X(connect)               \
	X(establish)             \
	X(listen)                \
	X(accept)                \
	X(reject)                \
	X(notify)                \
	X(disconnect)            \
	X(join_multicast)        \
	X(leave_multicast)       \
	X(get_cm_event)          \
	X(ack_cm_event)          \
	X(event_str)             \
	X(get_src_port)          \
	X(get_dst_port)          \
	X(set_option)            \
	X(migrate_id)

/* The functions of librdmacm, without "rdma_". */
struct cm_lib {
	void *handle;
#define MEMBER(name) typeof(&rdma_##name) name;
	CM_LIB(MEMBER)
#undef MEMBER
	/* NULL in versions without it */
	typeof(&rdma_join_multicast_ex) join_multicast_ex;
	typeof(&rdma_reject_ece) reject_ece;
};

/* Load librdmacm permanently. Returns 0 or -ENOENT: it is not installed, or too old. */
int cm_lib_load(struct cm_lib *lib);
