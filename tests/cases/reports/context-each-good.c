/*
 * A client asks for the state of its port, and writes.
 */
#include "each.h"

int main(void)
{
	return write_each(NULL);
}
