/* expect: nothing */
/*
 * Two writers share a queue pair and its CQ; each posts a write and waits for its completion. A
 * writer that polls the completion of the other one notes it.
 */
#include "writers.h"

static bool is_done(struct writer *w, const struct ibv_wc *wc)
{
	done[wc->wr_id] = true;
	return done[w->number];
}

int main(void)
{
	return run_writers(is_done);
}
