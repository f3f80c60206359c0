/*
 * Queries what differs between two machines with the same adapter: a completion queue on each
 * completion vector and on the one after the last; the first 16 GIDs, one by one and all at once.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

static void use_vectors(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };
	struct ibv_cq *cq;

	for (int i = 0; i <= context->num_comp_vectors; i++) {
		cq = ibv_create_cq(context, 4, NULL, NULL, i);
		if (!cq != (i == context->num_comp_vectors))
			exit(2);
		if (cq)
			ibv_destroy_cq(cq);
	}
	attr.comp_vector = (uint32_t)context->num_comp_vectors - 1;
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &attr));
	if (!cq)
		exit(2);
	ibv_destroy_cq(cq);
}

static void look_at_gids(struct ibv_context *context)
{
	struct ibv_gid_entry entries[16];
	union ibv_gid gid;

	for (int i = 0; i < 16; i++) {
		ibv_query_gid(context, 1, i, &gid);
		ibv_query_gid_ex(context, 1, (uint32_t)i, entries, 0);
	}
	ibv_query_gid_table(context, entries, 16, 0);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	if (!context)
		return 2;
	use_vectors(context);
	look_at_gids(context);
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
