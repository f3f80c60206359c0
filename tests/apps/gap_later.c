/*
 * A mistake (QUEUE-003); when the input ends a gap in the recording; the same mistake again.
 *
 * 	gap_later lost N	N calls of a verb, more than fit into a ring that is not read
 * 	gap_later direct	the provider is asked for the hardware's queues
 *
 * Prints "made" when the first mistake has been made.
 */
#include <dlfcn.h>

#include "tests/apps/self.h"

typedef int init_obj_fn(void *object, uint64_t type);

static void ask_provider(void)
{
	void *library = NEED(dlopen("libmlx5.so.1", RTLD_NOW));
	init_obj_fn *init_obj = (init_obj_fn *)NEED(dlsym(library, "mlx5dv_init_obj"));
	void *nothing[16] = { NULL };

	NEED(init_obj(nothing, 0) != 0);
}

static void call_verbs(unsigned long n)
{
	struct ibv_context *context = open_first_device();
	struct ibv_port_attr attr;

	while (n--)
		MUST(ibv_query_port(context, 1, &attr));
	MUST(ibv_close_device(context));
}

/* 8 receives complete in a queue of 4 entries. */
static void post_many(void)
{
	self_open(SELF_ROOM / 2);
	for (int i = 0; i < SELF_ROOM; i++)
		MUST(self_receive(i));
	self_close();
}

int main(int argc, char **argv)
{
	char byte;

	NEED(argc > 1);
	post_many();
	puts("made");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	if (argc > 2)
		call_verbs(strtoul(argv[2], NULL, 10));
	else
		ask_provider();
	post_many();
	return 0;
}
