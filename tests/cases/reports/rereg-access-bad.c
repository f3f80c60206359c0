/*
 * A buffer moves, and its region with it.
 *
 * Bad: the access flags are given again, as for ibv_reg_mr(), without the flag that changes them.
 */
#include "rep.h"

int main(void)
{
	int flags = IBV_REREG_MR_CHANGE_TRANSLATION, rc;
	static char longer[65536] __attribute__((aligned(4096)));
	struct end e = { 0 };

#ifdef GOOD
	flags |= IBV_REREG_MR_CHANGE_ACCESS;
#endif
	end_open(&e, cfg_usual(), 8192);
	rc = ibv_rereg_mr(e.mr, flags, NULL, longer, sizeof(longer), IBV_ACCESS_LOCAL_WRITE);
	e.server = true; /* without another end */
	return end_close(&e, rc != 0);
}
