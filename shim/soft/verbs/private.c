/*
 * What providers import from the private symbol version of libibverbs
 *
 * With the drop-in, providers load with these and register drivers that are never used. With the
 * preload they are hidden (soft.map), and those of the real library are used.
 */
#include "shim/soft/transport/objects.h"

#include "shim/soft/verbs/enter.h"

/* int f(...): EOPNOTSUPP */
#define COMMANDS(V)                       \
	V(execute_ioctl)                  \
	V(ibv_cmd_advise_mr)              \
	V(ibv_cmd_alloc_dm)               \
	V(ibv_cmd_alloc_mw)               \
	V(ibv_cmd_alloc_pd)               \
	V(ibv_cmd_attach_mcast)           \
	V(ibv_cmd_close_xrcd)             \
	V(ibv_cmd_create_ah)              \
	V(ibv_cmd_create_counters)        \
	V(ibv_cmd_create_cq)              \
	V(ibv_cmd_create_cq_ex)           \
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
	V(ibv_cmd_destroy_counters)       \
	V(ibv_cmd_destroy_cq)             \
	V(ibv_cmd_destroy_flow)           \
	V(ibv_cmd_destroy_flow_action)    \
	V(ibv_cmd_destroy_qp)             \
	V(ibv_cmd_destroy_rwq_ind_table)  \
	V(ibv_cmd_destroy_srq)            \
	V(ibv_cmd_destroy_wq)             \
	V(ibv_cmd_detach_mcast)           \
	V(ibv_cmd_free_dm)                \
	V(ibv_cmd_get_context)            \
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
	V(ibv_cmd_query_context)          \
	V(ibv_cmd_query_device_any)       \
	V(ibv_cmd_query_mr)               \
	V(ibv_cmd_query_port)             \
	V(ibv_cmd_query_qp)               \
	V(ibv_cmd_query_srq)              \
	V(ibv_cmd_read_counters)          \
	V(ibv_cmd_reg_dm_mr)              \
	V(ibv_cmd_reg_dmabuf_mr)          \
	V(ibv_cmd_reg_mr)                 \
	V(ibv_cmd_req_notify_cq)          \
	V(ibv_cmd_rereg_mr)               \
	V(ibv_cmd_resize_cq)              \
	V(verbs_init_cq)

/* The parameters are ignored. */
#define V(name)                    \
	EXPORT int name(void);     \
	EXPORT int name(void)      \
	{                          \
		return EOPNOTSUPP; \
	}
/* clang-format off */
COMMANDS(V)
/* clang-format on */
#undef V

#define NOTHING(name)           \
	EXPORT void name(void); \
	EXPORT void name(void)  \
	{                       \
	}
/* clang-format off */
NOTHING(verbs_register_driver_34)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)
NOTHING(__verbs_log)
/* clang-format on */

#define NULL_POINTER(name)                    \
	EXPORT void *name(void);              \
	EXPORT void *name(void)               \
	{                                     \
		return soft_fail(EOPNOTSUPP); \
	}
/* clang-format off */
NULL_POINTER(verbs_open_device)
NULL_POINTER(_verbs_init_and_alloc_context)
/* clang-format on */

EXPORT unsigned int __ioctl_final_num_attrs(void);
EXPORT unsigned int __ioctl_final_num_attrs(void)
{
	return 0;
}

EXPORT int ibv_read_ibdev_sysfs_file(void);
EXPORT int ibv_read_ibdev_sysfs_file(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

EXPORT extern bool verbs_allow_disassociate_destroy;
EXPORT bool verbs_allow_disassociate_destroy;
