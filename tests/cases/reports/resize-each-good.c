/*
 * A client whose CQ has room enough.
 */
#include "each.h"

int main(void)
{
	return write_each(NULL);
}
