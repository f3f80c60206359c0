/*
 * Memory that looks like an open context but is not one, until SIGUSR1: that of a closed one, parts
 * of which the allocator has given out again
 *
 * Prints "ready", and at the end "all went well" if nobody has written to it.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { OTHER = 0x51 }; /* as the size of a block that the allocator writes before it */

/* All of the context but its functions, which are other data now. */
static void copy_context(struct verbs_context *to, struct ibv_context *from)
{
	void **ops = (void **)&to->context.ops;

	*to = *verbs_get_ctx(from);
	for (size_t i = 0; i < sizeof(to->context.ops) / sizeof(*ops); i++)
		ops[i] = (void *)OTHER;
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct verbs_context *copies = NEED(calloc(2, sizeof(*copies)));
	sigset_t wake;
	const struct timespec pause = { 0, 10000000 };

	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	copy_context(&copies[0], context);
	copies[1] = copies[0];
	copies[1].context.abi_compat = NULL; /* this one does not look like a context */
	puts("ready");
	fflush(stdout);
	while (sigtimedwait(&wake, NULL, &pause) < 0)
		MUST(memcmp(&copies[0].context.ops, &copies[1].context.ops,
			    sizeof(copies->context.ops)) != 0);
	MUST(ibv_close_device(context));
	puts("all went well");
	free(copies);
	return 0;
}
