/*
 * Names for recorded frames
 *
 * 	frame -> struct binary (path and build id) -> the reader, a process -> names
 *
 * Paths and build ids come from a trace: only regular files are opened, and they are read by a
 * process with limits (symbolise.c), which is started when first needed. If a file crashes it, it
 * is started again for the other files, a few times. A frame is a return address: the call is
 * before it.
 */
#include "analyzer/report/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/report/symbolise.h"
#include "core/wire/log.h"
#include "core/wire/regular.h"

enum { DEATHS = 3 }; /* crashes of readers after which no more files are read */

/* The functions at one offset of a file. */
struct place {
	uint64_t offset;
	unsigned int n;
	struct symbol symbols[];
};

struct binary {
	char *path, *build_id;
	const char *name;    /* path without the directory */
	const char *problem; /* NULL: names can be found */
	unsigned int reader; /* the reader that has it open; 0: none */
	uint32_t number;     /* its number for the reader */
	void *places;        /* tree of struct place */
	struct binary *next;
};

struct symbols {
	struct binary *binaries;
	uint32_t nbinaries;
	int socket; /* -1: there is no reader */
	pid_t pid;
	unsigned int reader;  /* number of readers so far */
	unsigned int seconds; /* processor time that the readers have used */
};

int symbols_open(struct symbols **ret_symbols)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return log_err(-ENOMEM, "symbols");
	symbols->socket = -1;
	*ret_symbols = symbols;
	return 0;
}

static void place_free(void *node)
{
	struct place *place = node;

	for (unsigned int i = 0; i < place->n; i++) {
		free((char *)place->symbols[i].function);
		free((char *)place->symbols[i].path);
	}
	free(place);
}

static void binary_free(struct binary *binary)
{
	tdestroy(binary->places, place_free);
	free(binary->path);
	free(binary->build_id);
	free(binary);
}

/* The reader exits when its socket is closed. */
static void end_reader(struct symbols *symbols)
{
	struct rusage usage = { 0 };
	int status = 0;

	if (symbols->socket < 0)
		return;
	close(symbols->socket);
	symbols->socket = -1;
	while (wait4(symbols->pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	symbols->seconds += (unsigned int)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
		symbols->seconds = SYMBOLISE_CPU;
}

void symbols_close(struct symbols *symbols)
{
	struct binary *binary;

	if (!symbols)
		return;
	end_reader(symbols);
	while ((binary = symbols->binaries)) {
		symbols->binaries = binary->next;
		binary_free(binary);
	}
	free(symbols);
}

/* Asking the reader */

/* The reader may outlive us: it must not keep our descriptors open. */
static void run_reader(int socket, unsigned int seconds)
{
	if (socket > 3)
		close_range(3, (unsigned int)socket - 1, 0);
	close_range((unsigned int)socket + 1, ~0u, 0);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	symbolise_run(socket, seconds);
}

/* 0, -ETIME, -EIO after too many crashes, or the reason why no process can start. */
static int start_reader(struct symbols *symbols)
{
	const char *why;
	int ends[2], err;

	if (symbols->socket >= 0)
		return 0;
	why = symbolise_load();
	if (why) {
		log_note("install elfutils' libdw, which reads names and lines of stacks: %s", why);
		return -ENOPKG;
	}
	if (symbols->seconds >= SYMBOLISE_CPU)
		return -ETIME;
	if (symbols->reader == DEATHS)
		return -EIO;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	symbols->pid = fork();
	err = symbols->pid < 0 ? -errno : 0;
	if (!symbols->pid)
		run_reader(ends[1], SYMBOLISE_CPU - symbols->seconds);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	symbols->socket = ends[0];
	symbols->reader++;
	return 0;
}

/* Send a request, with descriptor @fd unless it is -1. */
static int send_reader_request(int socket, const struct symbolise_ask *ask, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { (void *)ask, sizeof(*ask) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *right = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		right->cmsg_level = SOL_SOCKET;
		right->cmsg_type = SCM_RIGHTS;
		right->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(right), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int read_reader_answer(int socket, struct symbolise_answer *answer)
{
	const size_t head = offsetof(struct symbolise_answer, names);
	ssize_t n;

	do
		n = recv(socket, answer, sizeof(*answer), 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)head || answer->n > SYMBOLISE_MAX ||
	    (size_t)n != head + answer->n * sizeof(answer->names[0]))
		return -EIO;
	answer->wanted[sizeof(answer->wanted) - 1] = '\0';
	for (uint32_t i = 0; i < answer->n; i++) {
		answer->names[i].function[sizeof(answer->names[i].function) - 1] = '\0';
		answer->names[i].file[sizeof(answer->names[i].file) - 1] = '\0';
	}
	return 0;
}

/* Debug information that is installed on this machine, by build id. */
static int open_debug(const char *id)
{
	char path[64 + SYMBOLISE_ID];
	uint64_t size;

	if (strlen(id) < 4 || strspn(id, "0123456789abcdef") != strlen(id))
		return -EINVAL;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return regular_open(path, REGULAR_BINARY, &size);
}

/* Takes ownership of @fd. 0, or -EIO if the reader crashed on it. */
static int ask_reader(struct symbols *symbols, const struct symbolise_ask *ask, int fd,
		      struct symbolise_answer *answer)
{
	const struct symbolise_ask give = { .kind = SYMBOLISE_GIVE };
	int err = send_reader_request(symbols->socket, ask, fd);

	for (;;) {
		if (fd >= 0)
			close(fd);
		if (!err)
			err = read_reader_answer(symbols->socket, answer);
		if (err || !*answer->wanted)
			break;
		fd = open_debug(answer->wanted);
		err = send_reader_request(symbols->socket, &give, fd);
	}
	if (err)
		end_reader(symbols);
	return err;
}

/* Files */

static const char *open_problem(int err)
{
	switch (-err) {
	case EMFILE:
	case ENFILE:
		return "too few descriptors: ulimit -n";
	case EINVAL:
		return "not a regular file";
	case EFBIG:
		return "file too large";
	case EACCES:
	case EPERM:
		return "no permission";
	case ENOENT:
	case ENOTDIR:
		return "file not found";
	default:
		return "file cannot be opened";
	}
}

static const char *reader_problem(int err)
{
	switch (-err) {
	case ETIME:
		return "symbols take too long";
	case EMFILE:
	case ENFILE:
		return "too few descriptors: ulimit -n";
	case EIO:
		return "the reader of symbols crashed";
	default:
		return "no process could be started to read symbols";
	}
}

/* Only plain ELF: libdw would unpack a file that is compressed as a whole. */
static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

/*
 * The debug information of the C library takes 60 ms to unpack, and its lines, which call main(),
 * threads and handlers, are of no use.
 */
static bool is_c_library(const char *name)
{
	return !strncmp(name, "libc.so.", 8) || !strncmp(name, "libpthread.so.", 14) ||
	       !strncmp(name, "ld-linux", 8);
}

static const char *send_binary(struct symbols *symbols, struct binary *binary, int fd)
{
	static const char *const problems[] = {
		[SYMBOLISE_FINE] = NULL,
		[SYMBOLISE_MEMORY_OUT] = "no memory",
		[SYMBOLISE_NOT_READ] = "file cannot be read",
		[SYMBOLISE_CHANGED] = "binary changed",
	};
	struct symbolise_ask ask = { .kind = SYMBOLISE_OPEN,
				     .file = binary->number,
				     .table_only = is_c_library(binary->name) };
	struct symbolise_answer answer;

	snprintf(ask.id, sizeof(ask.id), "%s", binary->build_id);
	if (ask_reader(symbols, &ask, fd, &answer) || answer.problem > SYMBOLISE_CHANGED)
		return "file cannot be read";
	binary->reader = symbols->reader;
	return problems[answer.problem];
}

/* Let the reader open @binary. NULL, or why no names can be found in it. */
static const char *load_binary(struct symbols *symbols, struct binary *binary)
{
	const char *problem = NULL;
	uint64_t size;
	int fd, err;

	if (*binary->path != '/')
		return "no absolute path";
	fd = regular_open(binary->path, REGULAR_BINARY, &size);
	if (fd < 0)
		return open_problem(fd);
	if (!binary->build_id)
		problem = "no build id";
	else if (!is_elf(fd))
		problem = "not an ELF file";
	else if ((err = start_reader(symbols)))
		problem = reader_problem(err);
	if (!problem)
		return send_binary(symbols, binary, fd);
	close(fd);
	return problem;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct binary *binary_new(const struct frame *frame)
{
	struct binary *binary = calloc(1, sizeof(*binary));
	const char *slash;

	if (!binary)
		return NULL;
	binary->path = strdup(frame->module);
	binary->build_id = frame->build_id ? strdup(frame->build_id) : NULL;
	if (!binary->path || (frame->build_id && !binary->build_id)) {
		binary_free(binary);
		return NULL;
	}
	slash = strrchr(binary->path, '/');
	binary->name = slash ? slash + 1 : binary->path;
	return binary;
}

static struct binary *find_binary(struct symbols *symbols, const struct frame *frame)
{
	struct binary *binary;

	for (binary = symbols->binaries; binary; binary = binary->next)
		if (is_same(binary->path, frame->module) &&
		    is_same(binary->build_id, frame->build_id))
			return binary;
	binary = binary_new(frame);
	if (!binary)
		return NULL;
	binary->number = symbols->nbinaries++;
	binary->problem = load_binary(symbols, binary);
	binary->next = symbols->binaries;
	symbols->binaries = binary;
	return binary;
}

/* Places */

static char *text_or_null(const char *text)
{
	return *text ? strdup(text) : NULL;
}

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static struct place *place_new(uint64_t offset, const struct symbolise_answer *answer)
{
	struct place *place = calloc(1, sizeof(*place) + answer->n * sizeof(place->symbols[0]));

	if (!place)
		return NULL;
	place->offset = offset;
	place->n = answer->n;
	for (unsigned int i = 0; i < place->n; i++) {
		const struct symbolise_name *name = &answer->names[i];
		const char *path = text_or_null(name->file);

		place->symbols[i] = (struct symbol){ .function = text_or_null(name->function),
						     .offset = name->offset,
						     .path = path,
						     .file = base_of(path),
						     .line = name->line,
						     .inlined = name->inlined };
	}
	return place;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* NULL if there are no names. */
static const struct place *find_place(struct symbols *symbols, struct binary *binary,
				      uint64_t offset)
{
	const struct place wanted = { .offset = offset };
	struct symbolise_ask ask = { .kind = SYMBOLISE_FIND,
				     .file = binary->number,
				     .offset = offset };
	struct symbolise_answer answer;
	struct place *place, **known = tfind(&wanted, &binary->places, compare_places);

	if (known)
		return *known;
	if (symbols->socket < 0 || binary->reader != symbols->reader)
		binary->problem = load_binary(symbols, binary);
	if (!binary->problem && ask_reader(symbols, &ask, -1, &answer))
		binary->problem = "file cannot be read";
	if (binary->problem)
		return NULL;
	place = place_new(offset, &answer);
	if (place && !tsearch(place, &binary->places, compare_places)) {
		place_free(place);
		place = NULL;
	}
	return place;
}

unsigned int symbols_find(struct symbols *symbols, const struct frame *frame,
			  struct symbol *ret_symbols, unsigned int max)
{
	struct binary *binary = frame->module ? find_binary(symbols, frame) : NULL;
	const struct place *place = NULL;
	unsigned int n = 0;

	if (binary && !binary->problem && frame->offset)
		place = find_place(symbols, binary, frame->offset);
	memset(ret_symbols, 0, max * sizeof(ret_symbols[0]));
	for (; place && n < place->n && n < max; n++)
		ret_symbols[n] = place->symbols[n];
	if (!ret_symbols[0].function)
		ret_symbols[0].offset = frame->module ? frame->offset : frame->ip;
	n = n ? n : 1;
	for (unsigned int i = 0; i < n && binary; i++) {
		ret_symbols[i].module = binary->name;
		ret_symbols[i].problem = binary->problem;
	}
	return n;
}

bool frame_is_ours(const struct frame *frame)
{
	static const char *const libraries[] = { "libverbatim.so", "libverbatim-memory.so",
						 "libverbatim-lttng.so" };
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;

	for (size_t i = 0; slash && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!strcmp(slash + 1, libraries[i]))
			return true;
	return false;
}

bool symbol_is_of_verbs(const struct symbol *symbol)
{
	if (symbol->file)
		return !strcmp(symbol->file, "verbs.h") || !strcmp(symbol->file, "rdma_verbs.h");
	return symbol->function && !strncmp(symbol->function, "ibv_", strlen("ibv_"));
}

/* "python3.11", "libpython3.11.so.1.0" */
bool symbol_is_python(const struct symbol *symbol)
{
	static const char program[] = "python", library[] = "libpython";
	const char *name = symbol->module;

	if (!name || strncmp(name, program, strlen(program)) != 0)
		return name && !strncmp(name, library, strlen(library));
	name += strlen(program);
	return !name[strspn(name, "0123456789.d")];
}

const char *symbol_text(const struct symbol *symbol, char *text, size_t size)
{
	char offset[32] = "", file[256];

	if (symbol->offset)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, symbol->offset);
	if (symbol->file)
		snprintf(file, sizeof(file), "%s:%d", symbol->file, symbol->line);
	else
		snprintf(file, sizeof(file), "%s", symbol->module ? symbol->module : "");
	if (!symbol->module)
		snprintf(text, size, "0x%" PRIx64, symbol->offset);
	else if (symbol->function)
		snprintf(text, size, "%s%s (%s%s)", symbol->function, offset, file,
			 symbol->inlined ? ", inlined" : "");
	else if (symbol->problem)
		snprintf(text, size, "%s%s (%s)", symbol->module, offset, symbol->problem);
	else
		snprintf(text, size, "%s%s", symbol->module, offset);
	return text;
}
