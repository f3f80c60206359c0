/*
 * "Cannot allocate memory", although there is plenty: RLIMIT_MEMLOCK is 64 KiB under this launcher
 * (ucx#8229).
 */
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { KIB = 1 << 10 };

static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	MUST(syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	MUST(syscall(SYS_capset, &head, data));
}

int main(int argc, char **argv)
{
	const struct rlimit limit = { .rlim_cur = 64 * KIB, .rlim_max = 64 * KIB };
	size_t length = is_good(argc, argv) ? 32 * KIB : 1024 * KIB;
	void *memory = NEED(aligned_alloc(4096, length));
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	MUST(setenv("VERBATIM_SOFT_MEMLOCK", "1", 1));
	drop_ipc_lock();
	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		MUST(ibv_dereg_mr(mr));
	else
		perror("ibv_reg_mr");
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
