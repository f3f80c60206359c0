/*
 * QUEUE-006: of a list of four two are accepted, and then all four are posted again.
 */
#include <errno.h>

#include "tests/apps/self.h"

enum { LIST = 4 };

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);
	struct ibv_send_wr wrs[LIST], *bad;
	struct ibv_sge sges[LIST];

	self_open(16);
	for (int i = 0; i < SELF_ROOM - LIST / 2; i++)
		MUST(self_post(i, IBV_SEND_SIGNALED));
	for (int i = 0; i < LIST; i++) {
		wrs[i] = self_write(0x10 + i, &sges[i], IBV_SEND_SIGNALED);
		wrs[i].next = i < LIST - 1 ? &wrs[i + 1] : NULL;
	}
	NEED(ibv_post_send(self.qp, wrs, &bad) == ENOMEM);
	NEED(bad == &wrs[LIST / 2]);
	self_poll(SELF_ROOM);
	MUST(ibv_post_send(self.qp, good ? bad : wrs, &bad));
	self_poll(good ? LIST / 2 : LIST);
	self_close();
	return 0;
}
