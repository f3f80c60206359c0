/*
 * Reads a core file: core(5), elf(5)
 *
 *	ELF header --> PT_LOAD: memory, of which the end may be missing
 *	           --> PT_NOTE: NT_PRSTATUS  number and registers of a thread, the first of which
 *	                                     got the signal
 *	                        NT_PRPSINFO  number and name of the process
 *	                        NT_FILE      mapped files: addresses, offset, path
 *
 * Memory of files is not in a core unless the process changed it (coredump_filter in core(5));
 * memory of shared files, such as rings of the recorder and segments of the software device, is not
 * in a core, either.
 */
#include "cli/attach/core_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/attach/stop.h"
#include "core/base/vec.h"
#include "core/wire/log.h"
#include "core/wire/regular.h"

enum { HEADERS_MAX = 1 << 16, NOTES_MAX = 64 << 20, FILES_MAX = 1 << 16 };

#define CORE_MAX (1ull << 46)

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#endif

struct reader {
	struct core_file *core;
	struct target *target;
	struct stop *stops;
	size_t nstops;
};

static bool read_at(const struct core_file *core, uint64_t at, void *to, size_t n)
{
	return at <= core->size && n <= core->size - at &&
	       pread(core->fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Memory */

/* The segment that contains @at, by bisection. */
static const struct core_segment *find_segment(const struct core_file *core, uint64_t at)
{
	size_t from = 0, to = core->nsegments;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const struct core_segment *segment = &core->segments[middle];

		if (at < segment->start)
			to = middle;
		else if (at - segment->start >= segment->bytes)
			from = middle + 1;
		else
			return segment;
	}
	return NULL;
}

static size_t read_memory(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	const struct core_file *core = memory->core;
	size_t got = 0, part;

	while (got < n) {
		const struct core_segment *segment = find_segment(core, at + got);
		uint64_t skip = segment ? at + got - segment->start : 0;

		if (!segment)
			break;
		part = segment->bytes - skip < n - got ? segment->bytes - skip : n - got;
		if (!read_at(core, segment->offset + skip, (char *)to + got, part))
			break;
		got += part;
	}
	return got;
}

struct memory core_file_memory(const struct core_file *core)
{
	return (struct memory){
		.read = read_memory,
		.ranges = core->ranges,
		.nranges = core->nranges,
		.core = core,
	};
}

static int compare_segments(const void *a, const void *b)
{
	const struct core_segment *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

/* Add a segment, without the part that the file lacks. */
static int add_segment(struct core_file *core, const Elf64_Phdr *header)
{
	uint64_t bytes = header->p_filesz, there;
	struct core_segment *segment;
	struct memory_range *range;

	if (!header->p_memsz || header->p_vaddr + header->p_memsz < header->p_vaddr)
		return 0;
	if (bytes > header->p_memsz)
		bytes = header->p_memsz;
	there = header->p_offset < core->size ? core->size - header->p_offset : 0;
	if (bytes > there) {
		core->missing += bytes - there;
		bytes = there;
	}
	range = vec_push(core->ranges, core->nranges);
	if (!range)
		return -ENOMEM;
	*range = (struct memory_range){ header->p_vaddr, header->p_vaddr + header->p_memsz,
					header->p_flags & PF_W, false };
	if (!bytes)
		return 0;
	segment = vec_push(core->segments, core->nsegments);
	if (!segment)
		return -ENOMEM;
	*segment = (struct core_segment){ header->p_vaddr, header->p_offset, bytes };
	return 0;
}

/* Notes */

static int add_thread(struct reader *reader, const uint8_t *desc, size_t n)
{
	struct elf_prstatus status;
	struct target_thread *thread;
	struct stop *stop;

	if (n < sizeof(status))
		return 0;
	memcpy(&status, desc, sizeof(status));
	thread = vec_push(reader->target->threads, reader->target->nthreads);
	stop = vec_push(reader->stops, reader->nstops);
	if (!thread || !stop)
		return -ENOMEM;
	if (reader->nstops == 1)
		reader->core->signal = status.pr_cursig;
	thread->tid = stop->tid = status.pr_pid;
	stop_fill_registers(stop, &status.pr_reg, &thread->syscall, thread->arguments);
	return 0;
}

static int read_name(struct reader *reader, const uint8_t *desc, size_t n)
{
	struct elf_prpsinfo info;

	if (n < sizeof(info))
		return 0;
	memcpy(&info, desc, sizeof(info));
	reader->target->pid = info.pr_pid;
	memcpy(reader->target->name, info.pr_fname, sizeof(info.pr_fname));
	return 0;
}

/* Count, size of a page, then start, end and offset of each, then the paths. */
static int read_files(struct reader *reader, const uint8_t *desc, size_t n)
{
	const char *path, *end = (const char *)desc + n;
	struct target *target = reader->target;
	uint64_t head[2], entry[3];

	if (n < sizeof(head))
		return 0;
	memcpy(head, desc, sizeof(head));
	if (head[0] > FILES_MAX || sizeof(head) + head[0] * sizeof(entry) > n)
		return 0;
	path = (const char *)desc + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++, path += strlen(path) + 1) {
		struct target_map *map;

		if (path >= end || !memchr(path, '\0', (size_t)(end - path)))
			return 0;
		memcpy(entry, desc + sizeof(head) + i * sizeof(entry), sizeof(entry));
		map = vec_push(target->maps, target->nmaps);
		if (!map || !(map->path = strdup(path)))
			return -ENOMEM;
		map->start = entry[0];
		map->end = entry[1];
		map->offset = entry[2] * head[1];
	}
	return 0;
}

static int read_note(struct reader *reader, uint32_t type, const uint8_t *desc, size_t n)
{
	switch (type) {
	case NT_PRSTATUS:
		return add_thread(reader, desc, n);
	case NT_PRPSINFO:
		return read_name(reader, desc, n);
	case NT_FILE:
		return read_files(reader, desc, n);
	default:
		return 0;
	}
}

static uint64_t round_up(uint64_t n)
{
	return (n + 3) & ~3ull;
}

static int read_notes(struct reader *reader, const Elf64_Phdr *header)
{
	uint64_t n = header->p_filesz, at = 0, next;
	uint8_t *notes = n && n <= NOTES_MAX ? malloc(n) : NULL;
	int err = 0;

	if (!notes)
		return n && n <= NOTES_MAX ? -ENOMEM : 0;
	if (!read_at(reader->core, header->p_offset, notes, n))
		n = 0;
	for (; !err && n - at >= sizeof(Elf64_Nhdr); at = next) {
		Elf64_Nhdr note;
		uint64_t desc;

		memcpy(&note, notes + at, sizeof(note));
		desc = at + sizeof(note) + round_up(note.n_namesz);
		next = desc + round_up(note.n_descsz);
		if (desc > n || note.n_descsz > n - desc)
			break;
		if (note.n_namesz == 5 && !memcmp(notes + at + sizeof(note), "CORE", 5))
			err = read_note(reader, note.n_type, notes + desc, note.n_descsz);
		if (next > n)
			break;
	}
	free(notes);
	return err;
}

/* Headers */

static bool is_core(const struct core_file *core, Elf64_Ehdr *header)
{
	return read_at(core, 0, header, sizeof(*header)) &&
	       !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_CORE &&
	       header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum &&
	       header->e_phnum < PN_XNUM;
}

static int read_headers(struct reader *reader, const Elf64_Ehdr *header)
{
	Elf64_Phdr program;
	int err = 0;

	for (uint32_t i = 0; !err && i < header->e_phnum; i++) {
		if (!read_at(reader->core, header->e_phoff + i * sizeof(program), &program,
			     sizeof(program)))
			break;
		if (program.p_type == PT_LOAD)
			err = add_segment(reader->core, &program);
		else if (program.p_type == PT_NOTE)
			err = read_notes(reader, &program);
	}
	if (reader->core->nsegments)
		qsort(reader->core->segments, reader->core->nsegments,
		      sizeof(*reader->core->segments), compare_segments);
	return err;
}

static int read_core(struct reader *reader, const char *path)
{
	Elf64_Ehdr header;
	int err;

	if (!is_core(reader->core, &header))
		return log_why(
			-EINVAL,
			"%s is not a core file, or lost its beginning; --core takes what the "
			"kernel or gcore wrote",
			path);
	if (header.e_machine != MACHINE)
		return log_why(-EINVAL, "%s is a core of another architecture", path);
	err = read_headers(reader, &header);
	if (err)
		return log_err(err, "read %s", path);
	if (!reader->nstops || !reader->core->nranges)
		return log_why(-EINVAL, "%s is truncated: it has no threads or no memory", path);
	return 0;
}

int core_file_open(const char *path, struct core_file *ret_core, struct target *ret_target,
		   struct stop **ret_stops)
{
	struct core_file core = { .fd = -1 };
	struct target target = { .nthreads = 0 };
	struct reader reader = { .core = &core, .target = &target };
	int err;

	core.fd = regular_open(path, CORE_MAX, &core.size);
	if (core.fd < 0)
		return core.fd == -EINVAL ? log_why(-EINVAL, "%s is not a regular file", path)
					  : log_err(core.fd, "open %s", path);
	err = read_core(&reader, path);
	if (err) {
		stop_free(reader.stops, reader.nstops);
		target_fini(&target);
		core_file_close(&core);
		return err;
	}
	target.memlock_soft = target.nofile_soft = UINT64_MAX;
	*ret_core = core;
	*ret_target = target;
	*ret_stops = reader.stops;
	return 0;
}

void core_file_close(struct core_file *core)
{
	if (core->fd >= 0)
		close(core->fd);
	free(core->segments);
	free(core->ranges);
	*core = (struct core_file){ .fd = -1 };
}
