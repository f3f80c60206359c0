/* expect: nothing */
/* A server posts a receive for each of its clients when a timer fires; those that left are out. */
#include "clients.h"

int main(void)
{
	return serve_clients(true);
}
