/*
 * Symbols that providers import from the private version node of libibverbs
 *
 * With the drop-in, providers load with these symbols and register drivers that are never used. The
 * preload is linked without this file: providers use the real library beside it.
 *
 * The name of the node changes with its contents. Each node of PRIVATE_NODE_LIST has all symbols,
 * so that a provider of any rdma-core loads.
 */
#include "shim/soft/transport/objects.h"

#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/nodes.h"

/* clang-format off */
/* functions int f(...) that return EOPNOTSUPP */
#define COMMANDS(V)                \
	V(execute_ioctl)                  \
	V(ibv_cmd_advise_mr)              \
	V(ibv_cmd_alloc_dm)               \
	V(ibv_cmd_alloc_dmah)             \
	V(ibv_cmd_alloc_mw)               \
	V(ibv_cmd_alloc_pd)               \
	V(ibv_cmd_attach_mcast)           \
	V(ibv_cmd_close_xrcd)             \
	V(ibv_cmd_create_ah)              \
	V(ibv_cmd_create_comp_cntr)       \
	V(ibv_cmd_create_counters)        \
	V(ibv_cmd_create_cq)              \
	V(ibv_cmd_create_cq_ex)           \
	V(ibv_cmd_create_cq_ex2)          \
	V(ibv_cmd_create_flow)            \
	V(ibv_cmd_create_flow_action_esp) \
	V(ibv_cmd_create_qp)              \
	V(ibv_cmd_create_qp_ex)           \
	V(ibv_cmd_create_qp_ex2)          \
	V(ibv_cmd_create_rwq_ind_table)   \
	V(ibv_cmd_create_srq)             \
	V(ibv_cmd_create_srq_ex)          \
	V(ibv_cmd_create_wq)              \
	V(ibv_cmd_dealloc_mw)             \
	V(ibv_cmd_dealloc_pd)             \
	V(ibv_cmd_dereg_mr)               \
	V(ibv_cmd_destroy_ah)             \
	V(ibv_cmd_destroy_comp_cntr)      \
	V(ibv_cmd_destroy_counters)       \
	V(ibv_cmd_destroy_cq)             \
	V(ibv_cmd_destroy_flow)           \
	V(ibv_cmd_destroy_flow_action)    \
	V(ibv_cmd_destroy_qp)             \
	V(ibv_cmd_destroy_rwq_ind_table)  \
	V(ibv_cmd_destroy_srq)            \
	V(ibv_cmd_destroy_wq)             \
	V(ibv_cmd_detach_mcast)           \
	V(ibv_cmd_export_dmabuf_fd)       \
	V(ibv_cmd_free_dm)                \
	V(ibv_cmd_free_dmah)              \
	V(ibv_cmd_get_context)            \
	V(ibv_cmd_inc_comp_cntr)          \
	V(ibv_cmd_inc_err_comp_cntr)      \
	V(ibv_cmd_modify_cq)              \
	V(ibv_cmd_modify_flow_action_esp) \
	V(ibv_cmd_modify_qp)              \
	V(ibv_cmd_modify_qp_ex)           \
	V(ibv_cmd_modify_srq)             \
	V(ibv_cmd_modify_wq)              \
	V(ibv_cmd_open_qp)                \
	V(ibv_cmd_open_xrcd)              \
	V(ibv_cmd_poll_cq)                \
	V(ibv_cmd_post_recv)              \
	V(ibv_cmd_post_send)              \
	V(ibv_cmd_post_srq_recv)          \
	V(ibv_cmd_qp_attach_comp_cntr)    \
	V(ibv_cmd_query_comp_cntr_caps)   \
	V(ibv_cmd_query_context)          \
	V(ibv_cmd_query_device)           \
	V(ibv_cmd_query_device_any)       \
	V(ibv_cmd_query_device_ex)        \
	V(ibv_cmd_query_mr)               \
	V(ibv_cmd_query_port)             \
	V(ibv_cmd_query_port_speed)       \
	V(ibv_cmd_query_qp)               \
	V(ibv_cmd_query_srq)              \
	V(ibv_cmd_read_comp_cntr)         \
	V(ibv_cmd_read_counters)          \
	V(ibv_cmd_read_err_comp_cntr)     \
	V(ibv_cmd_reg_dm_mr)              \
	V(ibv_cmd_reg_dmabuf_mr)          \
	V(ibv_cmd_reg_mr)                 \
	V(ibv_cmd_reg_mr_ex)              \
	V(ibv_cmd_req_notify_cq)          \
	V(ibv_cmd_rereg_mr)               \
	V(ibv_cmd_resize_cq)              \
	V(ibv_cmd_set_comp_cntr)          \
	V(ibv_cmd_set_err_comp_cntr)      \
	V(ibv_dmabuf_heap_cc_shared_init) \
	V(ibv_get_fw_ver)                 \
	V(verbs_init_cq)
/* clang-format on */

/* Newer headers declare some of these functions, so their C names differ. */
#define PRIVATE(name) private_##name
#define DECLARE(type, name)                             \
	EXPORT type PRIVATE(name)(void) __asm__(#name); \
	PRIVATE_NODES(name)

/* Private functions of libibverbs, which ignore their parameters. */
#define V(name)                        \
	DECLARE(int, name);            \
	EXPORT int PRIVATE(name)(void) \
	{                              \
		return EOPNOTSUPP;     \
	}
/* clang-format off */
COMMANDS(V)
/* clang-format on */
#undef V

#define NOTHING(name)                   \
	DECLARE(void, name);            \
	EXPORT void PRIVATE(name)(void) \
	{                               \
	}
/* clang-format off */
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)
NOTHING(__verbs_log)
NOTHING(ibv_dmabuf_heap_destroy)
NOTHING(ibv_dmabuf_heap_free)
/* clang-format on */

/* The symbol of this function contains the node's number. */
#define V(node, name)                                                                \
	EXPORT void private_register_##node(void) __asm__("register_driver_" #node); \
	EXPORT void private_register_##node(void)                                    \
	{                                                                            \
	}                                                                            \
	__asm__(".symver register_driver_" #node ", verbs_register_driver_" #node    \
		"@IBVERBS_PRIVATE_" #node);
/* clang-format off */
PRIVATE_NODE_LIST(V, )
/* clang-format on */
#undef V

#define NULL_POINTER(name)                    \
	DECLARE(void *, name);                \
	EXPORT void *PRIVATE(name)(void)      \
	{                                     \
		return soft_fail(EOPNOTSUPP); \
	}
/* clang-format off */
NULL_POINTER(verbs_open_device)
NULL_POINTER(_verbs_init_and_alloc_context)
NULL_POINTER(ibv_dmabuf_heap_alloc)
/* clang-format on */

DECLARE(unsigned int, __ioctl_final_num_attrs);
EXPORT unsigned int PRIVATE(__ioctl_final_num_attrs)(void)
{
	return 0;
}

DECLARE(int, ibv_read_ibdev_sysfs_file);
EXPORT int PRIVATE(ibv_read_ibdev_sysfs_file)(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

EXPORT extern bool verbs_allow_disassociate_destroy;
EXPORT bool verbs_allow_disassociate_destroy;
PRIVATE_NODES(verbs_allow_disassociate_destroy);
