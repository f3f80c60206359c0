/*
 * The number of the receiver comes in network byte order, and is not converted. GOOD: it is.
 */
#include "rep.h"
#include "ud.h"

int main(void)
{
	struct ud a, b;
	uint32_t number;
	int got = 0;

	ud_open(&a);
	ud_open(&b);
	ud_receive(&b, 4);
	number = htonl(b.qp->qp_num);
#ifdef GOOD
	number = ntohl(number);
#endif
	for (int i = 0; i < 4; i++) {
		ud_send(&a, number);
		got += ud_poll(&b);
	}
	printf("%d received\n", got);
	ud_close(&a);
	ud_close(&b);
	return 0;
}
