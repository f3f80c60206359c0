/* expect: waited in vain */
/*
 * Two writers share a queue pair and its CQ; each posts a write and waits for its completion.
 *
 * The mistake: a writer that polls the completion of the other one drops it, and the other one
 * waits without an end.
 */
#include "writers.h"

static bool is_done(struct writer *w, const struct ibv_wc *wc)
{
	return wc->wr_id == w->number;
}

int main(void)
{
	return run_writers(is_done);
}
