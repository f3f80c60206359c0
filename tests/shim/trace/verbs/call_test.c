/*
 * Control verbs of the recorder, over a context whose verbs do nothing
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <infiniband/verbs.h>

#include "core/wire/codec.h"
#include "shim/trace/verbs/wrappers.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct verbs_context vctx = {
	.sz = sizeof(struct verbs_context),
	.context = { .abi_compat = __VERBS_ABI_IS_EXTENDED },
};
static struct ibv_cq_ex made_cq = { .context = &vctx.context, .cqe = 77 };
static jmp_buf away;

static int fake_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
			   size_t bytes)
{
	(void)context, (void)port;
	memset(attr, 0, bytes);
	attr->lid = 9;
	errno = EAGAIN;
	return 0;
}

static struct ibv_cq_ex *fake_create_cq_ex(struct ibv_context *context,
					   struct ibv_cq_init_attr_ex *attr)
{
	(void)context;
	if (attr->cqe == 0) {
		errno = EINVAL;
		return NULL;
	}
	return &made_cq;
}

/* a provider that calls a public verb */
static int fake_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_port_attr port;

	(void)attr;
	return ibv_query_port(cq->context, 1, &port);
}

static int fake_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			  struct ibv_sge *sge, uint32_t n)
{
	(void)pd, (void)advice, (void)flags, (void)sge, (void)n;
	longjmp(away, 1);
}

static void begin_calls(void)
{
	session_begin(1 << 20, ON_FULL_WAIT);
	vctx.query_port = fake_query_port;
	vctx.create_cq_ex = fake_create_cq_ex;
	vctx.modify_cq = fake_modify_cq;
	vctx.advise_mr = fake_advise_mr;
	HOLDS(wrappers_patch(&vctx.context) == 0);
}

/* Collects the numbers that a walk meets, by name. */
struct seen {
	const char *name;
	int64_t value;
	bool found;
};

static void see_event(void *arg, const struct field_info *field, int64_t value)
{
	struct seen *seen = arg;

	if (!strcmp(field->name, seen->name)) {
		seen->value = value;
		seen->found = true;
	}
}

static struct seen look_at(const uint64_t *words, size_t n, const struct struct_info *info,
			   const char *name)
{
	struct seen seen = { .name = name };
	struct codec_visitor visitor = { .number = see_event, .arg = &seen };

	HOLDS(codec_visit(words, n, info, &visitor) >= 0);
	return seen;
}

static const uint64_t *call_args(const struct event_call *call)
{
	return (const uint64_t *)(call + 1) + call->nframes;
}

static void create_body(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .comp_mask = 0, .flags = 3 };
	const struct struct_info *info = &verb_infos[VERB_create_cq_ex].args;
	const struct event_call *call;
	const struct event_return *back;
	const uint64_t *outs;
	struct ring ring;
	ssize_t used;

	begin_calls();
	HOLDS(ibv_create_cq_ex(&vctx.context, &attr) == &made_cq);
	ring = session_ring(0);
	call = expect_event(&ring, EVENT_CALL);
	HOLDS(call && call->verb == VERB_create_cq_ex && call->depth == 0 && call->nframes > 1);
	HOLDS(look_at(call_args(call), call->nargs, info, "cqe").value == 16);
	HOLDS(!look_at(call_args(call), call->nargs, info, "parent_domain").found);
	HOLDS(!look_at(call_args(call), call->nargs, info, "flags").found); /* comp_mask says no */
	back = expect_event(&ring, EVENT_RETURN);
	HOLDS(back && back->call_seq == call->head.seq && back->ret == (intptr_t)&made_cq);
	outs = (const uint64_t *)(back + 1);
	used = codec_visit(outs, back->nouts, info, &(struct codec_visitor){ 0 });
	HOLDS(used > 0);
	HOLDS(look_at(outs + used, back->nouts - (size_t)used, &object_infos[OBJECT_cq], "cqe")
		      .value == 77);
}

TEST(creation_has_arguments_by_mask_stack_and_new_object)
{
	in_child(create_body);
}

static void failed_body(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 0 };
	const struct event_return *back;
	struct ring ring;

	begin_calls();
	HOLDS(!ibv_create_cq_ex(&vctx.context, &attr) && errno == EINVAL);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_CALL));
	back = expect_event(&ring, EVENT_RETURN);
	HOLDS(back->ret == 0 && back->error == EINVAL && back->nouts == 0);
}

TEST(failure_keeps_errno_and_gives_nothing_out)
{
	in_child(failed_body);
}

static void short_body(void)
{
	const struct struct_info *info = &verb_infos[VERB_query_port].args;
	struct {
		struct ibv_port_attr attr;
	} port;
	const struct event_return *back;
	const uint64_t *outs;
	struct ring ring;

	begin_calls();
	memset(&port, 0xff, sizeof(port));
	HOLDS(!vctx.query_port(&vctx.context, 1, &port.attr, 48) && errno == EAGAIN);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_CALL));
	back = expect_event(&ring, EVENT_RETURN);
	outs = (const uint64_t *)(back + 1);
	HOLDS(back->error == EAGAIN);
	HOLDS(look_at(outs, back->nouts, info, "lid").value == 9);
	HOLDS(!look_at(outs, back->nouts, info, "port_cap_flags2").found);
}

TEST(structure_is_read_as_far_as_the_caller_has_it)
{
	in_child(short_body);
}

static void inner_body(void)
{
	struct ibv_modify_cq_attr attr = { 0 };
	const struct event_call *outer, *inner;
	struct ring ring;

	begin_calls();
	HOLDS(!ibv_modify_cq(ibv_cq_ex_to_cq(&made_cq), &attr));
	ring = session_ring(0);
	outer = expect_event(&ring, EVENT_CALL);
	inner = expect_event(&ring, EVENT_CALL);
	HOLDS(outer->verb == VERB_modify_cq && outer->depth == 0);
	HOLDS(!(outer->head.flags & EVENT_INNER));
	HOLDS(inner->verb == VERB_query_port && inner->depth == 1);
	HOLDS(inner->head.flags & EVENT_INNER);
}

TEST(verb_inside_a_verb_is_marked)
{
	in_child(inner_body);
}

static void longjmp_body(void)
{
	struct ibv_pd pd = { .context = &vctx.context };
	struct ibv_port_attr port;
	const struct event_call *after;
	struct ring ring;

	begin_calls();
	if (!setjmp(away))
		ibv_advise_mr(&pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0);
	HOLDS(!ibv_query_port(&vctx.context, 1, &port));
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_CALL));
	after = expect_event(&ring, EVENT_CALL);
	HOLDS(after->verb == VERB_query_port && after->depth == 0);
}

TEST(verb_left_by_longjmp_is_not_around_the_next)
{
	in_child(longjmp_body);
}

static void query_device(void)
{
	struct ibv_port_attr port;

	HOLDS(!ibv_query_port(&vctx.context, 1, &port));
}

/* Have the notes of the object file in @image lie where nothing is mapped. */
static void move_notes(char *image)
{
	const ElfW(Ehdr) *head = (const void *)image;
	ElfW(Phdr) *ph = (void *)(image + head->e_phoff);

	for (int i = 0; i < head->e_phnum; i++)
		if (ph[i].p_type == PT_NOTE)
			ph[i].p_vaddr = 1ul << 40;
}

static void load_without_notes(void)
{
	static char image[1 << 20];
	char path[] = "/tmp/verbatim-test-XXXXXX";
	int from, to = mkstemp(path);
	ssize_t n;
	Dl_info info;

	HOLDS(dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &info));
	from = open(info.dli_fname, O_RDONLY);
	n = read(from, image, sizeof(image));
	HOLDS(to >= 0 && n > 0);
	move_notes(image);
	HOLDS(write(to, image, (size_t)n) == n);
	HOLDS(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	unlink(path);
}

static void notes_body(void)
{
	begin_calls();
	load_without_notes();
	query_device();
}

static void fork_init_body(void)
{
	const struct event_call *call;
	struct ring ring;

	begin_calls();
	HOLDS(!ibv_fork_init()); /* the installed library's, found by name */
	ring = session_ring(0);
	call = expect_event(&ring, EVENT_CALL);
	HOLDS(call->verb == VERB_fork_init);
}

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret: code without unwind information */
static void call_from_nowhere(void (*function)(void))
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	HOLDS(at != MAP_FAILED);
	memcpy(at, code, sizeof(code));
	((void (*)(void (*)(void)))at)(function);
}

/* Put @fd, which holds 8 bytes, where pipes are. */
static void replace_pipes(int fd)
{
	struct stat st;

	for (int i = 3; i < 64; i++)
		if (i != fd && !fstat(i, &st) && S_ISFIFO(st.st_mode) &&
		    fcntl(i, F_GETFL) & O_NONBLOCK)
			HOLDS(dup2(fd, i) == i);
}

static void closed_body(void)
{
	FILE *file = tmpfile();
	struct stat st;

	HOLDS(file && write(fileno(file), "12345678", 8) == 8);
	HOLDS(lseek(fileno(file), 0, SEEK_SET) == 0);
	begin_calls();
	query_device();
	replace_pipes(fileno(file));
	call_from_nowhere(query_device);
	HOLDS(lseek(fileno(file), 0, SEEK_CUR) == 0);
	HOLDS(!fstat(fileno(file), &st) && st.st_size == 8);
}

TEST(files_of_a_program_that_closed_all_are_left_alone)
{
	in_child(closed_body);
}

TEST(notes_that_are_not_mapped_are_not_read)
{
	in_child(notes_body);
}

TEST(library_that_is_not_in_the_global_scope_is_found)
{
	in_child(fork_init_body);
}
