/*
 * A process starts a helper after it has registered its memory.
 *
 * Bad: it never asks for fork support, and relies on the kernel. GOOD: it calls ibv_fork_init().
 */
#include "rep.h"

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;
	pid_t helper;

#ifdef GOOD
	need(!ibv_fork_init());
#endif
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	if (e.server)
		need(!recv_post(&e, 1, 0, 64));
	end_sync(&e);
	if (!e.server) {
		helper = fork();
		if (!helper) {
			nap(20);
			_exit(0);
		}
		memset(e.mem, 1, 64);
		need(!send_post(&e, 1, 0, 64, IBV_SEND_SIGNALED));
		need(waitpid(helper, NULL, 0) == helper);
	}
	need(wait_wc(e.server ? e.rcq : e.scq, &wc, 5000) && !wc.status);
	end_sync(&e);
	return end_close(&e, 0);
}
