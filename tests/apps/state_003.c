/*
 * STATE-003: a queue pair is put into ERR, and a receive is posted for each completion as before.
 * A single one, to learn when all others are flushed, is allowed; that is what `good` posts.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	int n = is_good(argc, argv) ? 1 : 3;

	self_open(16);
	to_err(self.qp);
	for (int i = 0; i < n; i++) {
		MUST(self_receive(i));
		self_poll(1);
	}
	self_close();
	return 0;
}
