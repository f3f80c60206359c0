/*
 * A child's exit handler destroys its parent's objects. On a kernel device these are the parent's
 * own: the child's destroys fail, which it ignores.
 */
#include <sys/wait.h>

#include "tests/apps/app.h"

static char buffer[4096];

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), 0));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	pid_t child = fork();
	int status;

	if (child)
		NEED(waitpid(child, &status, 0) == child);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	if (!child)
		_exit(0);
	ibv_close_device(context);
	return 0;
}
