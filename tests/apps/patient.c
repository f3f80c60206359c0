/*
 * A mistake (LIFE-001), and then the program lives until its input ends.
 *
 *	patient: prints "made" when the mistake has been made
 */
#include <unistd.h>

#include "tests/apps/app.h"

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	char byte;

	MUST(ibv_destroy_cq(cq));
	ibv_ack_cq_events(cq, 0);
	puts("made");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	MUST(ibv_close_device(context));
	return 0;
}
