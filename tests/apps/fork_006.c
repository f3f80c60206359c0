/*
 * FORK-006: system() while a receive is outstanding, without fork support. The device simulates a
 * kernel that does not copy registered pages.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	self_open(8);
	MUST(self_receive(1));
	if (is_good(argc, argv))
		self_drain(1);
	NEED(system("exit 0") == 0);
	if (!is_good(argc, argv))
		self_drain(1);
	self_close();
	return 0;
}
