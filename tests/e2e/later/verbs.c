#include "later.h"
static struct dmah the_dmah;
static struct cntr the_cntr = { .handle = 3, .most = 1000, .most_errors = 2000 };
static struct ibv_mr the_mr = { .lkey = 0x11, .rkey = 0x22 };
static int the_buf;
static char memory[4096];
static uint64_t count, errors;
struct ibv_device **(ibv_get_device_list)(int *n)
{
	if (n)
		*n = 0;
	return calloc(1, sizeof(void *));
}
void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}
struct dmah *ibv_alloc_dmah(struct ibv_context *c, struct dmah_attr *a)
{
	the_dmah.context = c;
	errno = a->ph == 9 ? EINVAL : 0;
	return a->ph == 9 ? NULL : &the_dmah;
}
int ibv_dealloc_dmah(struct dmah *d)
{
	return d == &the_dmah ? 0 : EINVAL;
}
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *p, struct mr_attr *a)
{
	the_mr.pd = p;
	the_mr.addr = a->addr;
	the_mr.length = a->length;
	return &the_mr;
}
int ibv_dm_export_dmabuf_fd(struct ibv_dm *d)
{
	(void)d;
	errno = EOPNOTSUPP;
	return -1;
}
int ibv_query_port_speed(struct ibv_context *c, uint32_t p, uint64_t *s)
{
	(void)c;
	*s = 4000 + p;
	return 0;
}
void *ibv_alloc_buf(struct ibv_pd *p, size_t n, void **b)
{
	(void)p;
	*b = &the_buf;
	return n <= sizeof(memory) ? memory : NULL;
}
void ibv_free_buf(void *b)
{
	(void)b;
}
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *p, void *b, void *a, size_t n, int f)
{
	(void)p, (void)b, (void)a, (void)n, (void)f;
	return &the_mr;
}
int ibv_query_comp_cntr_caps(struct ibv_context *c, struct caps *k)
{
	(void)c;
	*k = (struct caps){ 1000, 5, 6 };
	return 0;
}
struct cntr *ibv_create_comp_cntr(struct ibv_context *c, struct cntr_attr *a)
{
	(void)a;
	the_cntr.context = c;
	return &the_cntr;
}
int ibv_destroy_comp_cntr(struct cntr *c)
{
	(void)c;
	return 0;
}
int ibv_set_comp_cntr(struct cntr *c, uint64_t v)
{
	(void)c;
	count = v;
	return 0;
}
int ibv_set_err_comp_cntr(struct cntr *c, uint64_t v)
{
	(void)c;
	errors = v;
	return 0;
}
int ibv_inc_comp_cntr(struct cntr *c, uint64_t v)
{
	(void)c;
	count += v;
	return 0;
}
int ibv_inc_err_comp_cntr(struct cntr *c, uint64_t v)
{
	(void)c;
	errors += v;
	return 0;
}
int ibv_read_comp_cntr(struct cntr *c, uint64_t *v)
{
	(void)c;
	*v = count;
	return 0;
}
int ibv_read_err_comp_cntr(struct cntr *c, uint64_t *v)
{
	(void)c;
	*v = errors;
	return 0;
}
int ibv_export_buf_dmabuf_fd(void *b)
{
	(void)b;
	return 77;
}
int ibv_qp_attach_comp_cntr(struct ibv_qp *q, struct cntr *c, struct attach *a)
{
	(void)q, (void)c;
	return a->op_mask == 63 ? ENOTSUP : 0;
}
