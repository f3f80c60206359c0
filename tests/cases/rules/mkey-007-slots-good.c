/* expect: clean */
/*
 * Sensor readings: a gateway keeps eight receives posted, sensors send bursts
 * of eight. All bursts come from one read-only table, so that several
 * outstanding sends name the same bytes, which is fine.
 *
 * Each receive has a slot of its own.
 */
#include "common.h"

#define BURST 8
#define SLOTS 8

struct reading {
	uint32_t sensor;
	uint32_t celsius;
	uint8_t pad[56];
};

struct gateway {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct reading *slot;
};

static void arm(struct gateway *g)
{
	struct ibv_recv_wr wr[BURST], *bad;
	struct ibv_sge sge[BURST];

	for (int i = 0; i < BURST; i++) {
		sge[i].addr = (uintptr_t)&g->slot[i % SLOTS];
		sge[i].length = sizeof(struct reading);
		sge[i].lkey = g->mr->lkey;
		wr[i].wr_id = i;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].next = i + 1 < BURST ? &wr[i + 1] : NULL;
	}
	need(!ibv_post_recv(g->qp, wr, &bad));
}

int main(void)
{
	struct reading table[2] __attribute__((aligned(64))) = { { .sensor = 0 } };
	struct reading *source;
	struct gateway g;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *sensors;
	struct ibv_mr *table_mr;
	struct ibv_wc wc[BURST];
	struct dev dev;
	unsigned distinct = 0;

	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	need(pd && cq);
	source = page_alloc(4096);
	table_mr = ibv_reg_mr(pd, source, 4096, 0);
	need(table_mr);
	sensors = qp_make(pd, IBV_QPT_RC, cq, cq, BURST);

	g.cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	g.qp = qp_make(pd, IBV_QPT_RC, g.cq, g.cq, BURST);
	g.slot = page_alloc(SLOTS * sizeof(struct reading));
	g.mr = ibv_reg_mr(pd, g.slot, SLOTS * sizeof(struct reading), IBV_ACCESS_LOCAL_WRITE);
	need(g.cq && g.mr);
	rc_connect(&dev, sensors, g.qp);

	for (uint32_t burst = 0; burst < 3; burst++) {
		for (int i = 0; i < 2; i++) {
			table[i].sensor = 1 + i;
			table[i].celsius = 100 * burst + i;
		}
		memcpy(source, table, sizeof(table));
		arm(&g);
		for (int i = 0; i < BURST; i++) {
			struct ibv_sge sge = { (uintptr_t)&source[i >= BURST / 2],
					       sizeof(struct reading), table_mr->lkey };
			struct ibv_send_wr wr =
                             {
                                 .wr_id = burst * BURST + i,
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED,
                             },
                         *bad;

			need(!ibv_post_send(sensors, &wr, &bad));
		}
		need(wait_wc(g.cq, wc, BURST, 2000) == BURST);
		for (int i = 0; i < BURST; i++)
			need(wc[i].status == IBV_WC_SUCCESS && wc[i].wr_id == (uint64_t)i);
		need(wait_wc(cq, wc, BURST, 2000) == BURST);
		for (int i = 0; i < BURST; i++) {
			need(wc[i].status == IBV_WC_SUCCESS);
			distinct += !memcmp(&g.slot[i % SLOTS], &table[i >= BURST / 2],
					    sizeof(struct reading));
		}
	}
	printf("%u of %u readings are what was sent\n", distinct, 3 * BURST);
	need(distinct == 3 * BURST);

	ibv_destroy_qp(sensors);
	ibv_destroy_qp(g.qp);
	ibv_dereg_mr(table_mr);
	ibv_dereg_mr(g.mr);
	ibv_destroy_cq(cq);
	ibv_destroy_cq(g.cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(source);
	free(g.slot);
	return 0;
}
