/*
 * A CQ for each core, with the core's number as comp_vector, on a device that has 4 (.persona):
 * EINVAL. [libfabric#6841] GOOD: modulo
 */
#include "rep.h"
int main(void)
{
	struct ibv_device **l = ibv_get_device_list(NULL);
	struct ibv_context *c = ibv_open_device(l[0]);
	struct ibv_cq *cq[8];
	int rc = 0, n = 0;
	ibv_free_device_list(l);
	for (; n < 8; n++) {
#ifdef GOOD
		cq[n] = ibv_create_cq(c, 64, NULL, NULL, n % c->num_comp_vectors);
#else
		cq[n] = ibv_create_cq(c, 64, NULL, NULL, n);
#endif
		if (!cq[n]) {
			fprintf(stderr, "ibv_create_cq: %s\n", strerror(errno));
			rc = 1;
			break;
		}
	}
	while (n--)
		ibv_destroy_cq(cq[n]);
	return ibv_close_device(c) | rc;
}
