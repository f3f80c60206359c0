/*
 * FORK-008: system() while a completion channel has lost its FD_CLOEXEC.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));

	NEED(fcntl(channel->fd, F_GETFD) == FD_CLOEXEC);
	if (!is_good(argc, argv))
		MUST(fcntl(channel->fd, F_SETFD, 0));
	NEED(system("exit 0") == 0);
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_close_device(context));
	return 0;
}
