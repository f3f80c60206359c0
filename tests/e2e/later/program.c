#include "later.h"
static char place[6][64];
#define C  ((struct ibv_context *)place[0])
#define PD ((struct ibv_pd *)place[1])
int main(void)
{
	struct dmah_attr da = { .comp_mask = 3, .cpu_id = 7, .ph = 2, .type = 1 };
	struct cntr_attr ca = { .type = 1 };
	struct attach at = { .op_mask = 5 };
	struct dmah *d;
	struct mr_attr ma = {
		.length = 64, .access = 1, .comp_mask = 2 | 16, .addr = place[2], .fd = 4
	};
	struct ibv_mr *mr;
	struct cntr *c;
	struct caps caps = { 0 };
	uint64_t speed = 0, n = 0, e = 0;
	void *buf = NULL, *mem;
	int ret;
	ibv_free_device_list((ibv_get_device_list)(NULL));
	d = ibv_alloc_dmah(C, &da);
	ma.dmah = d;
	mr = ibv_reg_mr_ex(PD, &ma);
	printf("%d %x\n", d && mr, mr->lkey);
	da.ph = 9;
	printf("%p %d\n", (void *)ibv_alloc_dmah(C, &da), errno);
	printf("%d\n", ibv_dealloc_dmah(d));
	printf("%d %d\n", ibv_dm_export_dmabuf_fd((struct ibv_dm *)place[3]), errno);
	ret = ibv_query_port_speed(C, 2, &speed);
	printf("%d %d\n", ret, (int)speed);
	mem = ibv_alloc_buf(PD, 4096, &buf);
	printf("%d %d\n", !!ibv_reg_buf_mr(PD, buf, mem, 4096, 1), ibv_export_buf_dmabuf_fd(buf));
	ibv_free_buf(buf);
	ret = ibv_query_comp_cntr_caps(C, &caps);
	printf("%d %d\n", ret, caps.counters);
	c = ibv_create_comp_cntr(C, &ca);
	printf("%d %d\n", ibv_qp_attach_comp_cntr((struct ibv_qp *)place[4], c, &at),
	       ibv_set_comp_cntr(c, 40));
	at.op_mask = 63;
	printf("%d\n", ibv_qp_attach_comp_cntr((struct ibv_qp *)place[4], c, &at));
	printf("%d %d %d\n", ibv_inc_comp_cntr(c, 2), ibv_set_err_comp_cntr(c, 7),
	       ibv_inc_err_comp_cntr(c, 1));
	printf("%d %d\n", ibv_read_comp_cntr(c, &n), ibv_read_err_comp_cntr(c, &e));
	printf("%d %d %d\n", (int)n, (int)e, ibv_destroy_comp_cntr(c));
	return 0;
}
