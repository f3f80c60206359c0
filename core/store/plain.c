#include "core/store/plain.h"

#include <errno.h>

int plain_open(sqlite3 *db, uint32_t thread, struct plain **ret_plain)
{
	(void)db; (void)thread; (void)ret_plain;
	return -ENOSYS;
}
void plain_close(struct plain *plain) { (void)plain; }
int plain_load(struct plain *plain, struct block *block) { (void)plain; (void)block; return 0; }
