/* expect: nothing waits in vain */
/* A client writes to a server that has gone, and learns that soon. */
#include "gone.h"

int main(void)
{
	return write_to_gone(10, 2);
}
