/*
 * PERF-002: eight requests at a time are posted by eight calls.
 */
#include "tests/apps/self.h"

enum { ROUNDS = 2000 };

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < ROUNDS; i++) {
		if (is_good(argc, argv))
			self_post_list(SELF_ROOM, 0);
		for (int j = 1; j <= SELF_ROOM && !is_good(argc, argv); j++)
			MUST(self_post(j, j == SELF_ROOM ? IBV_SEND_SIGNALED : 0));
		self_poll(1);
	}
	self_close();
	return 0;
}
