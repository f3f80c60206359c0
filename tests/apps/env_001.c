/*
 * ENV-001: more memory is registered than RLIMIT_MEMLOCK allows. The device counts as the kernel
 * does, and the program has no CAP_IPC_LOCK.
 */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { MIB = 1 << 20, VERSION = _LINUX_CAPABILITY_VERSION_3 };

static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = { .version = VERSION };
	struct __user_cap_data_struct data[2];

	MUST(syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	MUST(syscall(SYS_capset, &head, data));
}

int main(int argc, char **argv)
{
	const struct rlimit limit = { .rlim_cur = 2 * MIB, .rlim_max = 2 * MIB };
	size_t more = is_good(argc, argv) ? MIB : 2 * MIB;
	char *memory = NEED(aligned_alloc(4096, 3 * MIB));
	struct ibv_context *context;
	struct ibv_mr *first, *second;
	struct ibv_pd *pd;

	MUST(setenv("VERBATIM_SOFT_MEMLOCK", "1", 1));
	drop_ipc_lock();
	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	first = NEED(ibv_reg_mr(pd, memory, MIB, IBV_ACCESS_LOCAL_WRITE));
	second = ibv_reg_mr(pd, memory + MIB, more, IBV_ACCESS_LOCAL_WRITE);
	NEED(!second == !is_good(argc, argv));
	if (second)
		MUST(ibv_dereg_mr(second));
	MUST(ibv_dereg_mr(first));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
