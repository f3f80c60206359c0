/* expect: waited in vain */
/*
 * A client writes to a server that has gone.
 *
 * The mistake: with timeout 20 and retry_cnt 7 it takes half a minute until it learns that, and it
 * gives up after a second.
 */
#include "gone.h"

int main(void)
{
	return write_to_gone(20, 7);
}
