/*
 * Which code a test reaches
 *
 * Linked into everything that scripts/reach builds; the compiler inserts a call at each block. The
 * address goes to a map with one byte for each byte of the program or library, in a file of its
 * name in $REACH. All processes that run the code share the file, and need not write it at the end:
 * they may be killed, or forbidden to make system calls.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* from the linker: the begin of our program or library, and the end of its code */
extern char __ehdr_start[] HIDDEN, etext[] HIDDEN;

static char *reached;

HIDDEN void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
	if (reached)
		reached[(char *)__builtin_return_address(0) - __ehdr_start] = 1;
}

static void map_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *at;

	if (fd < 0)
		return;
	at = ftruncate(fd, (off_t)size)
		     ? MAP_FAILED
		     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		reached = at;
}

/* The file of our program or library: argv[0] may be another name of a program. */
static const char *find_file(void)
{
	const char *program = (const char *)getauxval(AT_PHDR);
	static char path[4096];
	Dl_info info;

	if (program < __ehdr_start || program >= etext)
		return dladdr(__ehdr_start, &info) ? info.dli_fname : "unknown";
	return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 ? path : "unknown";
}

/* Before any other constructor. */
__attribute__((constructor(101))) static void open_reach(void)
{
	const char *folder = getenv("REACH");
	char path[4096];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, basename(find_file()));
	map_file(path, (size_t)(etext - __ehdr_start));
}
