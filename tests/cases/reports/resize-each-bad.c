/*
 * A client whose CQ has room enough.
 *
 * The mistake: it adapts the size of the CQ before each write.
 */
#include "each.h"

static void prepare(struct end *e, int i)
{
	need(!ibv_resize_cq(e->scq, 256 + i % 2 * 64));
}

int main(void)
{
	return write_each(prepare);
}
