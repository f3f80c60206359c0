/*
 * A client of one server.
 */
#include "each.h"

int main(void)
{
	return write_each(NULL);
}
