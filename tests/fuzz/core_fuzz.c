/*
 * A core file: whatever it has, it is described or refused
 *
 * The core has a thread, the mapping of a file, and a page with a context, a queue pair, CQs and a
 * region, which point at each other. The input changes some of its bytes.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/procfs.h>

#include "cli/attach/core_file.h"
#include "cli/attach/facts.h"
#include "cli/attach/handles.h"
#include "cli/attach/print.h"
#include "cli/attach/reason.h"
#include "core/wire/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inside.h"

#define ADDRESS 0x7f0000001000ull

struct page {
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq[2];
	struct ibv_qp qp;
	struct ibv_mr mr;
	char rest[512];
};

#define PLACE(member) ((void *)(uintptr_t)(ADDRESS + offsetof(struct page, member)))

static struct image {
	Elf64_Ehdr header;
	Elf64_Phdr program[2];
	struct {
		Elf64_Nhdr note;
		char name[8];
		struct elf_prstatus status;
	} __attribute__((packed)) thread;
	struct {
		Elf64_Nhdr note;
		char name[8];
		uint64_t head[2], entry[3];
		char path[16];
	} __attribute__((packed)) file;
	struct page page;
} image;

static void fill_page(struct page *page)
{
	strcpy(page->device.name, "mlx5_0");
	strcpy(page->device.dev_name, "uverbs0");
	page->context = (struct ibv_context){ .device = PLACE(device),
					      .cmd_fd = 3,
					      .async_fd = 4,
					      .num_comp_vectors = 1,
					      .abi_compat = __VERBS_ABI_IS_EXTENDED };
	page->pd.context = page->channel.context = PLACE(context);
	page->channel.fd = 5;
	page->channel.refcnt = 1;
	for (int i = 0; i < 2; i++)
		page->cq[i] = (struct ibv_cq){ .context = PLACE(context), .cqe = 63 };
	page->cq[1].channel = PLACE(channel);
	page->qp = (struct ibv_qp){ .context = PLACE(context),
				    .pd = PLACE(pd),
				    .send_cq = PLACE(cq[0]),
				    .recv_cq = PLACE(cq[1]),
				    .qp_num = 0x1234,
				    .state = IBV_QPS_INIT,
				    .qp_type = IBV_QPT_RC };
	page->mr = (struct ibv_mr){ .context = PLACE(context),
				    .pd = PLACE(pd),
				    .addr = PLACE(rest),
				    .length = sizeof(page->rest),
				    .lkey = 1 };
}

static void fill_headers(void)
{
	const size_t notes = offsetof(struct image, thread), memory = offsetof(struct image, page);

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.header.e_type = ET_CORE;
#if defined(__x86_64__)
	image.header.e_machine = EM_X86_64;
#else
	image.header.e_machine = EM_AARCH64;
#endif
	image.header.e_phoff = offsetof(struct image, program);
	image.header.e_phnum = 2;
	image.header.e_phentsize = sizeof(Elf64_Phdr);
	image.program[0] =
		(Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = notes, .p_filesz = memory - notes };
	image.program[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_W,
					 .p_offset = memory,
					 .p_vaddr = ADDRESS,
					 .p_filesz = sizeof(struct page),
					 .p_memsz = 4096 };
	image.thread.note = (Elf64_Nhdr){ 5, sizeof(struct elf_prstatus), NT_PRSTATUS };
	strcpy(image.thread.name, "CORE");
	image.file.note = (Elf64_Nhdr){ 5, 5 * 8 + sizeof(image.file.path), NT_FILE };
	strcpy(image.file.name, "CORE");
	image.file.head[0] = 1;
	image.file.head[1] = 4096;
	memcpy(image.file.entry, (uint64_t[]){ ADDRESS, ADDRESS + 4096, 0 }, 24);
	strcpy(image.file.path, "/x/ring.0");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	log_silence(true);
	fill_headers();
	fill_page(&image.page);
	return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

static void describe_facts(struct facts *facts)
{
	struct reasons reasons;

	if (!handles_find(facts, &facts->handles) &&
	    !core_rings_read(&facts->process, &facts->memory, &facts->rings)) {
		reasons_find(facts, &reasons);
		print_facts(facts, &reasons, true);
		print_facts(facts, &reasons, false);
	}
	handles_fini(&facts->handles);
	core_rings_fini(&facts->rings);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct dice dice = dice_of_bytes(bytes, n);
	struct facts facts = { .is_core = true, .searched = true };
	struct image spoilt = image;
	struct core_file core;
	size_t length = sizeof(spoilt);

	for (uint32_t times = 1 + dice_roll(&dice, 4); times; times--) {
		uint64_t value = dice_number(&dice);
		size_t at = dice_roll(&dice, sizeof(spoilt) / 4 - 1) * 4;

		memcpy((uint8_t *)&spoilt + at, &value, dice_roll(&dice, 2) ? 8 : 4);
	}
	if (!dice_roll(&dice, 8))
		length = dice_roll(&dice, sizeof(spoilt));
	if (core_file_open(inside_file((const uint8_t *)&spoilt, length), &core, &facts.process,
			   &facts.stops))
		return 0;
	facts.memory = core_file_memory(&core);
	describe_facts(&facts);
	stop_free(facts.stops, facts.process.nthreads);
	target_fini(&facts.process);
	core_file_close(&core);
	return 0;
}
