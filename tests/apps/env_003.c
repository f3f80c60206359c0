/*
 * ENV-003: the first message is lost once. It is sent again after the timeout of 1 ms.
 */
#include <fcntl.h>

#include "tests/apps/self.h"

static char rules[] = "/tmp/env_003-XXXXXX";

/* The device reads its rules when it is opened. */
static void lose_first(void)
{
	static const char rule[] = "opcode=SEND n=1 lose\n";
	int fd = mkstemp(rules);

	NEED(fd >= 0 && write(fd, rule, sizeof(rule) - 1) == sizeof(rule) - 1);
	close(fd);
	MUST(setenv("VERBATIM_SOFT_FAULTS", rules, 1));
}

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

	if (!good)
		lose_first();
	connected_with.timeout = 8;
	self_open(8);
	if (!good)
		MUST(unlink(rules));
	MUST(self_receive(1));
	MUST(self_receive(2));
	self_send(3);
	self_send(4);
	self_poll(4);
	self_close();
	return 0;
}
