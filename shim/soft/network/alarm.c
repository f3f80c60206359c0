/*
 * Waking the thread of the network for a timer
 *
 * Most timers never expire, since an answer stops them. So the thread is woken only for a timer
 * that expires before the thread would wake anyway, and it checks all timers when it wakes.
 */
#include "shim/soft/network/alarm.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int fd = -1;
static uint64_t expected = UINT64_MAX;

int alarm_open(void)
{
	if (fd >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd < 0 ? -errno : 0;
}

void alarm_close(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

int alarm_fd(void)
{
	return fd;
}

void alarm_wake_thread(void)
{
	int saved = errno;
	eventfd_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		errno = saved; /* a failed write means that it is readable already */
}

void alarm_set(struct network_qp *n, uint64_t due)
{
	/* pairs with the store of alarm_begin(): at least one thread sees the other's store */
	__atomic_store_n(&n->due, due, __ATOMIC_SEQ_CST);
	if (due)
		alarm_expect(due);
}

void alarm_expect(uint64_t due)
{
	if (due < __atomic_load_n(&expected, __ATOMIC_SEQ_CST))
		alarm_wake_thread();
}

void alarm_begin(void)
{
	eventfd_t count;
	int saved = errno;

	__atomic_store_n(&expected, UINT64_MAX, __ATOMIC_SEQ_CST);
	if (read(fd, &count, sizeof(count)) < 0)
		errno = saved;
}

void alarm_wait_for(uint64_t due)
{
	__atomic_store_n(&expected, due, __ATOMIC_SEQ_CST);
}

uint64_t alarm_expected(void)
{
	return __atomic_load_n(&expected, __ATOMIC_SEQ_CST);
}
