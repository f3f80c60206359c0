#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
bool mlx5dv_is_supported(struct ibv_device *);
int mlx5dv_init_obj(void *, uint64_t);
double mlx5dv_create_many(int, int, int, int, int, int, int, int, double, double, ...);
int mlx5dv_open_device(void *) __attribute__((weak));
#ifdef DENY
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
/* pages can no longer be made writable */
static void deny_mprotect(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr)),
				   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
				   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { 4, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		printf("no filter\n");
}
#else
static void deny_mprotect(void)
{
}
#endif
int main(int argc, char **argv)
{
	struct ibv_device **list = (deny_mprotect(), ibv_get_device_list(NULL));
	int (*at)(void *, uint64_t) =
		(int (*)(void *, uint64_t))dlsym(RTLD_DEFAULT, "mlx5dv_init_obj");
	(void)argc;
	printf("%d %d %d\n", mlx5dv_is_supported(NULL),
	       mlx5dv_is_supported((struct ibv_device *)argv), !!mlx5dv_open_device);
	printf("%d %d\n", mlx5dv_init_obj(argv, 3), errno);
	printf("%d\n", at(argv, 4));
	printf("%g\n", mlx5dv_create_many(1, 2, 3, 4, 5, 6, 7, 8, 0.5, 0.25, 100.0));
	printf("%d\n", !!dlsym(RTLD_DEFAULT, "mlx5dv_devx_obj_create"));
	if (list)
		ibv_free_device_list(list);
	return 0;
}
