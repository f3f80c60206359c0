/*
 * The object file at an address: both ways to find it agree
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "shim/trace/stack/locate.h"
#include "tests/test.h"

static void agree_on(const void *address)
{
	struct loaded_file one = { 0 }, other = { 0 };

	assert_true(locate_object(address, &one));
	assert_true(locate_by_iteration(address, &other));
	assert_int_equal(one.info.dlpi_addr, other.info.dlpi_addr);
	assert_string_equal(one.info.dlpi_name, other.info.dlpi_name);
	assert_ptr_equal(one.info.dlpi_phdr, other.info.dlpi_phdr);
	assert_int_equal(one.info.dlpi_phnum, other.info.dlpi_phnum);
	/* one of them may end with its last page */
	assert_int_equal(one.start, other.start);
	assert_true(one.end <= (other.end + 4095) / 4096 * 4096 &&
		    other.end <= (one.end + 4095) / 4096 * 4096);
}

static int agree_on_each(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
		    strncmp(info->dlpi_name, "linux-", 6)) {
			agree_on((const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
			++*(int *)n;
		}
	return 0;
}

TEST(both_ways_find_the_same)
{
	void *later = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	int n = 0;

	agree_on((const void *)agree_on);
	agree_on((const void *)&strlen);
	dl_iterate_phdr(agree_on_each, &n);
	assert_true(n > 2);
	if (later)
		dlclose(later);
}

TEST(what_is_no_files_is_not_found)
{
	struct loaded_file found;
	void *heap = calloc(1, 100);
	int local = 0;

	assert_false(locate_object(heap, &found) || locate_by_iteration(heap, &found));
	assert_false(locate_object(&local, &found) || locate_by_iteration(&local, &found));
	assert_false(locate_object(NULL, &found) || locate_by_iteration(NULL, &found));
	free(heap);
}

/* The byte behind a file's last is another's, or nobody's. */
TEST(a_file_ends_where_it_ends)
{
	struct loaded_file found, next;

	assert_true(locate_by_iteration((const void *)agree_on, &found));
	assert_true(locate_by_iteration((const char *)found.start, &next));
	assert_int_equal(next.start, found.start);
	assert_true(locate_by_iteration((const char *)found.end - 1, &next));
	assert_int_equal(next.start, found.start);
	assert_true(!locate_by_iteration((const char *)found.end, &next) ||
		    next.start >= found.end);
	assert_true(!locate_by_iteration((const char *)found.start - 1, &next) ||
		    next.end <= found.start);
}
