/* Marks its phases in the trace, without linking anything. */
#include "shim/trace/verbatim.h"
#include "tests/apps/app.h"

int main(void)
{
	struct ibv_context *context;
	struct ibv_pd *pd;

	verbatim_mark("before the first verb");
	verbatim_phase("set-up", 1);
	context = open_first_device();
	verbatim_phase("set-up", 0);
	for (int i = 0; i < 3; i++) {
		verbatim_phase("round", 1);
		pd = NEED(ibv_alloc_pd(context));
		verbatim_mark("a\nb");
		MUST(ibv_dealloc_pd(pd));
		verbatim_phase("round", 0);
	}
	verbatim_phase("never ends", 1);
	MUST(ibv_close_device(context));
	return 0;
}
