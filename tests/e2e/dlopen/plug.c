/* A plug-in that is linked with librdmacm, or with libibverbs alone. */
#ifdef CM
#include <rdma/rdma_cma.h>
#else
#include <infiniband/verbs.h>
#endif

int call_plug(void);

int call_plug(void)
{
#ifdef CM
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (channel)
		rdma_destroy_event_channel(channel);
	return !!channel;
#else
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (list)
		ibv_free_device_list(list);
	return list ? n : -1;
#endif
}
