#include <infiniband/verbs.h>
#define C struct ibv_context *
#define V void *
#define LIST(F)                                                                                  \
	F(mlx5, struct ibv_context, mlx5dv_open_device, (struct ibv_device * d, V a),            \
	  (place, mark))                                                                         \
	F(mlx5, struct ibv_cq_ex, mlx5dv_create_cq, (C c, struct ibv_cq_init_attr_ex * a, V m),  \
	  (place, &cq_attr, mark))                                                               \
	F(mlx5, struct ibv_qp, mlx5dv_create_qp, (C c, struct ibv_qp_init_attr_ex * a, V m),     \
	  (place, &qp_attr, mark))                                                               \
	F(mlx5, struct ibv_wq, mlx5dv_create_wq, (C c, struct ibv_wq_init_attr * a, V m),        \
	  (place, &wq_attr, mark))                                                               \
	F(mlx5, struct ibv_dm, mlx5dv_alloc_dm, (C c, struct ibv_alloc_dm_attr * a, V m),        \
	  (place, &dm_attr, mark))                                                               \
	F(mlx5, struct ibv_mr, mlx5dv_reg_dmabuf_mr,                                             \
	  (struct ibv_pd * p, uint64_t o, size_t l, uint64_t i, int f, int a, int m),            \
	  (place, 1, 2, 3, 4, 1, 6))                                                             \
	F(mlx5, struct ibv_flow, mlx5dv_create_flow, (V m, V v, size_t n, V a),                  \
	  (place, mark, 3, mark))                                                                \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_esp, (C c, V e, V a),          \
	  (place, mark, mark))                                                                   \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_modify_header,                 \
	  (C c, size_t n, V a, int t), (place, 2, mark, 7))                                      \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_packet_reformat,               \
	  (C c, size_t n, V d, int r, int t), (place, 2, mark, 5, 7))                            \
	F(mlx4, struct ibv_qp, mlx4dv_create_qp, (C c, struct ibv_qp_init_attr_ex * a, V m),     \
	  (place, &qp_attr, mark))                                                               \
	F(efa, struct ibv_qp, efadv_create_driver_qp,                                            \
	  (struct ibv_pd * p, struct ibv_qp_init_attr * a, uint32_t t), (place, (V)&qp_attr, 7)) \
	F(efa, struct ibv_qp, efadv_create_qp_ex,                                                \
	  (C c, struct ibv_qp_init_attr_ex * a, V e, uint32_t n), (place, &qp_attr, mark, 16))   \
	F(efa, struct ibv_cq_ex, efadv_create_cq,                                                \
	  (C c, struct ibv_cq_init_attr_ex * a, V e, uint32_t n), (place, &cq_attr, mark, 16))
#define F(library, type, name, params, args) type *name params;
LIST(F)
#undef F
