/*
 * shim/memory/memory.c: what is reported of memory that the program releases
 *
 * The functions of the recorder are the test's, and one region is registered. They allocate
 * nothing: they are called by free().
 */
#include "shim/trace/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/test.h"

enum { PAGE = 4096, TEXT = 400 };

static char page[PAGE];
static char *base; /* offsets in reports are from here */
static const char *region;
static size_t region_length;
static char said[TEXT];

static const char *const whats[MEMORY_WHATS] = {
	[MEMORY_MUNMAP] = "munmap",   [MEMORY_MMAP] = "mmap", [MEMORY_MREMAP] = "mremap",
	[MEMORY_MADVISE] = "madvise", [MEMORY_FREE] = "free", [MEMORY_REALLOC] = "realloc",
};

static void report_range(const char *what, const void *at, size_t length)
{
	size_t n = strlen(said);

	snprintf(said + n, TEXT - n, "%s %td+%zu; ", what, (const char *)at - base, length);
}

bool verbatim_memory_holds(const void *addr, size_t length, bool whole)
{
	const char *at = addr;

	if (!region)
		return false;
	if (whole)
		return at <= region && at + length >= region + region_length;
	return at < region + region_length && at + length > region;
}

void verbatim_memory_gone(enum event_memory_what what, const void *addr, size_t length)
{
	report_range(whats[what], addr, length);
}

void verbatim_memory_mapped(const void *addr, size_t length, bool huge)
{
	if (region)
		report_range(huge ? "huge" : "mapped", addr, length);
}

static void expect_said(const char *wanted)
{
	char copy[TEXT];

	region = NULL; /* cmocka frees memory, too */
	strcpy(copy, said);
	*said = '\0';
	assert_string_equal(copy, wanted);
}

static void register_pages(char *at, size_t first, size_t pages)
{
	base = at;
	region = at + first * PAGE;
	region_length = pages * PAGE;
}

static char *map_pages(size_t pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

TEST(registered_pages_are_unmapped)
{
	char *at = map_pages(4);

	register_pages(at, 1, 2);
	assert_int_equal(munmap(at, PAGE), 0);
	assert_int_equal(munmap(at + 2 * PAGE, 2 * PAGE), 0);
	assert_int_equal(munmap(at + 1, PAGE), -1);
	assert_int_equal(errno, EINVAL);
	expect_said("mapped 0+4096; munmap 8192+8192; mapped 8192+8192; ");
	munmap(at + PAGE, PAGE);
}

TEST(other_memory_is_mapped_over_them)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *at = map_pages(4), *other, *more;

	register_pages(at, 1, 1);
	other = mmap(NULL, PAGE, PROT_READ, flags, -1, 0); /* elsewhere */
	more = mmap64(NULL, PAGE, PROT_READ, flags, -1, 0);
	assert_ptr_equal(mmap(at, 2 * PAGE, PROT_READ, flags | MAP_FIXED, -1, 0), at);
	assert_ptr_equal(mmap64(at + PAGE, PAGE, PROT_READ, flags | MAP_FIXED, -1, 0), at + PAGE);
	assert_ptr_equal(mmap(at + 2 * PAGE, PAGE, PROT_READ, flags | MAP_FIXED, -1, 0),
			 at + 2 * PAGE);
	assert_ptr_equal(mmap(at + 1, PAGE, PROT_READ, flags | MAP_FIXED, -1, 0), MAP_FAILED);
	expect_said("mmap 0+8192; mapped 0+8192; mmap 4096+4096; mapped 4096+4096; "
		    "mapped 8192+4096; ");
	munmap(at, 4 * PAGE);
	munmap(other, PAGE);
	munmap(more, PAGE);
}

TEST(huge_pages_are_reported)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
	size_t size = 2 << 20;
	char *at, wanted[TEXT];

	register_pages(page, 0, 1);
	at = mmap(NULL, size, PROT_READ, flags, -1, 0);
	region = NULL;
	if (at == MAP_FAILED)
		skip(); /* a kernel without them */
	snprintf(wanted, sizeof(wanted), "huge %td+%zu; ", at - page, size);
	expect_said(wanted);
	munmap(at, size);
}

TEST(pages_are_moved)
{
	char *at = map_pages(12), *to = at + 8 * PAGE;

	register_pages(at, 1, 1);
	assert_ptr_equal(mremap(at, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE), at);
	assert_ptr_equal(mremap(at, 4 * PAGE, 3 * PAGE, MREMAP_MAYMOVE), at); /* behind it */
	assert_ptr_equal(mremap(at, 3 * PAGE, PAGE, 0), at);
	assert_ptr_equal(mremap(at, PAGE, 2 * PAGE, 0), at); /* grows where it is */
	assert_ptr_equal(mremap(at, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
	assert_ptr_equal(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), MAP_FAILED);
	expect_said("mremap 4096+8192; mremap 0+8192; ");
	munmap(at, 12 * PAGE);
}

TEST(contents_are_discarded)
{
	char *at = map_pages(3);

	register_pages(at, 1, 1);
	assert_int_equal(madvise(at, 2 * PAGE, MADV_DONTNEED), 0);
	assert_int_equal(madvise(at, 2 * PAGE, MADV_WILLNEED), 0);
	assert_int_equal(madvise(at, PAGE, MADV_DONTNEED), 0); /* before it */
	assert_int_equal(madvise(at + 1, PAGE, MADV_DONTNEED), -1);
	expect_said("madvise 0+8192; ");
	munmap(at, 3 * PAGE);
	at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	register_pages(at, 0, 1);
	assert_int_equal(madvise(at, PAGE, MADV_REMOVE), 0);
	expect_said("madvise 0+4096; ");
	munmap(at, 2 * PAGE);
}

/* A block of which bytes from @first on are registered. */
static char *register_block(size_t first, size_t length)
{
	base = malloc(64);
	assert_non_null(base);
	region = base + first;
	region_length = length;
	return base;
}

TEST(a_block_with_a_whole_region_is_freed)
{
	char *at = register_block(8, 16);

	free(NULL);
	free(at);
	assert_int_equal(strncmp(said, "free 0+", 7), 0);
	assert_true(atoi(said + 7) >= 64); /* as much as may be used of it */
	*said = '\0';
	at = register_block(8, 16000); /* of a region that is larger */
	free(at);
	expect_said("");
}

TEST(a_block_is_moved)
{
	char *at = register_block(8, 16), *to, *behind;

	at = realloc(at, 60); /* stays where it is */
	behind = malloc(64);
	to = realloc(at, 60000);
	assert_ptr_not_equal(to, base);
	assert_int_equal(strncmp(said, "realloc 0+", 10), 0);
	*said = '\0';
	free(behind);
	base = to;
	region = to + 8;
	assert_null(realloc(to, 0)); /* frees it */
	assert_int_equal(strncmp(said, "realloc 0+", 10), 0);
	*said = '\0';
	assert_null(realloc(register_block(8, 16), SIZE_MAX / 2));
	assert_int_equal(errno, ENOMEM);
	expect_said("");
	free(base);
}

TEST(a_new_block_is_not_reported)
{
	char *at = NULL;

	register_pages(page, 0, 1);
	at = realloc(at, 100);
	expect_said("");
	free(at);
}
