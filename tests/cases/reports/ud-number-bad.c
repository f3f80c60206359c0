/*
 * A UD server is restarted within its process; the address book still has the number of its former
 * queue pair. GOOD: the new one.
 */
#include "rep.h"
#include "ud.h"

int main(void)
{
	struct ud a, b;
	uint32_t old;
	int got = 0;

	ud_open(&a);
	ud_open(&b);
	old = b.qp->qp_num;
	ud_receive(&b, 1);
	ud_send(&a, old);
	got += ud_poll(&b);
	need(!ibv_destroy_qp(b.qp));
	ud_make(&b);
	ud_receive(&b, 4);
#ifdef GOOD
	old = b.qp->qp_num;
#endif
	for (int i = 0; i < 4; i++) {
		ud_send(&a, old);
		got += ud_poll(&b);
	}
	printf("%d received\n", got);
	ud_close(&a);
	ud_close(&b);
	return 0;
}
