/* expect: LIFE-001 */
/*
 * A server posts a receive for each of its clients when a timer fires.
 *
 * The mistake: the client that left is still in the table of the timer. The post goes to a queue
 * pair that was destroyed.
 */
#include "clients.h"

int main(void)
{
	survive_crash();
	return serve_clients(false);
}
