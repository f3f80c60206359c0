/*
 * The times of the calls of a block, as one column
 *
 * Most bytes of a block are its times, whose low bits are noise. So each span of time is stored
 * once: the column has the begins and ends of all calls in the order of their event numbers, and
 * stores the difference of each to the one before:
 *
 *	begin 1   begin 2 (inside 1)   end 2   end 1   begin 3   end 3
 *
 * Reader and writer compute this order from the numbers. In a damaged block the order may be wrong,
 * but each begin and each end is in it once.
 *
 * Not here: how the differences are stored (shapes.c).
 */
#include "core/store/chunk/call_times.h"

struct event_order {
	uint64_t *list; /* 2 * index of the call, + 1 for its end */
	size_t count;
};

/*
 * Compute the order. The calls of a thread nest: @open is the stack of those that have not
 * returned.
 */
static void order_events(const uint64_t *common, uint32_t calls, struct event_order *order,
			 uint64_t *open)
{
	const uint64_t *n = common + (size_t)CALL_N * calls;
	const uint64_t *returned = common + (size_t)CALL_RETURNED * calls;
	uint32_t nopen = 0;

	for (uint32_t i = 0; i < calls; i++) {
		while (nopen && n[open[nopen - 1]] + returned[open[nopen - 1]] < n[i])
			order->list[order->count++] = 2 * open[--nopen] + 1;
		order->list[order->count++] = 2 * (uint64_t)i;
		open[nopen++] = i;
	}
	while (nopen)
		order->list[order->count++] = 2 * open[--nopen] + 1;
}

void call_times_put(struct shapes_packer *packer, const uint64_t *common, uint32_t calls,
		    uint64_t *words)
{
	const uint64_t *begin = common + (size_t)CALL_BEGIN * calls;
	const uint64_t *lasted = common + (size_t)CALL_LASTED * calls;
	uint64_t *times = words;
	struct event_order order = { words + 2 * (size_t)calls, 0 };

	order_events(common, calls, &order, words + 4 * (size_t)calls);
	for (size_t k = 0; k < order.count; k++) {
		uint64_t i = order.list[k] / 2;

		times[k] = begin[i] + (order.list[k] % 2 ? lasted[i] : 0);
	}
	shapes_put_times(packer, times, order.count);
}

int call_times_get(struct shapes_input *in, uint64_t *common, uint32_t calls, uint64_t *words)
{
	uint64_t *begin = common + (size_t)CALL_BEGIN * calls;
	uint64_t *lasted = common + (size_t)CALL_LASTED * calls;
	struct event_order order = { words + 2 * (size_t)calls, 0 };
	int err = shapes_get_column(in, words, 2 * calls);

	if (err)
		return err;
	order_events(common, calls, &order, words + 4 * (size_t)calls);
	for (size_t k = 0; k < order.count; k++) {
		uint64_t i = order.list[k] / 2;

		if (order.list[k] % 2)
			lasted[i] = words[k] - begin[i];
		else
			begin[i] = words[k];
	}
	return 0;
}
