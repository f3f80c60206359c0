/*
 * What loaded objects import, and calls that are made round the verbs
 *
 * Two kinds of functions we stand before without exporting them, since a
 * program may ask whether they are there (by a weak symbol, by dlsym) and must
 * get the answer of the real libraries:
 *
 *	verbs that only newer libibverbs have, and what providers offer to make
 *	objects of the verbs (mlx5dv_create_qp): in the list, recorded like others
 *	all else that a provider offers beside the verbs (mlx5dv_init_obj): that
 *	it was called is recorded, since it moves data unseen
 *
 * An object that imports such a function has a slot for its address, named by a
 * relocation; ours is put there in place of the real one:
 *
 *	PT_DYNAMIC -> DT_NEEDED            does it need one of these libraries?
 *	           -> DT_RELA, DT_JMPREL   slot, symbol -> name -> struct import
 *
 * When the program begins, and when it looks something up after it has loaded
 * more, all objects are walked twice: what is imported? And, after the real
 * functions were looked up, which cannot be done under the loader's lock: which
 * slots hold them? An object that is first seen on a stack is looked at alone. A
 * slot that is not bound yet points into its own object. Nothing is looked up,
 * and nothing written, for a program that imports nothing of the kind.
 *
 * Not here: how a verb is recorded (gen/wrappers_gen.h).
 */
#include "shim/trace/import.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/desc.h"
#include "shim/trace/dl.h"
#include "shim/trace/next.h"
#include "shim/trace/record.h"

enum { IMPORTS = 128, NAME = 56, VERB_NONE = -1, TRIES = 1000 };

/* A provider's library, and how what it offers is called. */
static const struct {
	const char *library, *prefix;
} providers[] = {
	{ "libmlx5.so", "mlx5dv_" }, { "libmlx4.so", "mlx4dv_" }, { "libefa.so", "efadv_" },
	{ "libmana.so", "manadv_" }, { "libhns.so", "hnsdv_" }, { "libbnxt_re.so", "bnxt_re_dv_" },
};

/* What they begin with, behind the prefix, that only ask or tell, and hide nothing. */
static const char *const harmless[] = {
	"is_", "get_", "set_context_attr", "query_device", "query_port", "query_ah", "query_mr",
	"query_qp_lag_port",
};

enum { PROVIDERS = sizeof(providers) / sizeof(*providers) };

/*
 * A function that we stand before. There may be several of one name: a provider
 * has them in two versions, or comes back in another place. The first of a name
 * knows which of them a slot gets that is not bound yet.
 */
struct import {
	char name[NAME];
	void *real;   /* NULL: not known yet */
	bool asked;   /* look up what it is now */
	const struct import *now; /* what it was then; NULL: nothing that is known */
	bool blind;   /* a slot has it that could not be written */
	bool told;
};

static struct import imports[IMPORTS]; /* of providers: stub i is for imports[i] */
static unsigned int nimports;
static uint64_t wanted[(VERB_COUNT + 63) / 64]; /* verbs that somebody imports */

/* Where stub i goes on. */
extern void *import_next[IMPORTS];
void *import_next[IMPORTS];

/* Who works on the table: a thread of this process. In a child nobody is left of the parent's. */
static _Atomic pid_t holder;

static bool take(void)
{
	pid_t me = getpid();

	for (int i = 0; i < TRIES; i++) {
		pid_t was = atomic_load(&holder);

		if (was != me && atomic_compare_exchange_strong(&holder, &was, me))
			return true;
		sched_yield();
	}
	return false; /* the program goes on; what it calls is not seen */
}

static void give_back(void)
{
	atomic_store(&holder, 0);
}

/* Without libc: dl.c asks when a sanitizer's functions are not ready yet. */
static bool begins(const char *text, const char *with)
{
	while (*with && *text == *with)
		text++, with++;
	return !*with;
}

static bool is_harmless(const char *name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (begins(name, harmless[i]))
			return true;
	return false;
}

/* Whose function of that name we would see; -1: nobody's. */
static int provider_of(const char *name)
{
	name += *name == '_';
	for (int i = 0; i < PROVIDERS; i++)
		if (begins(name, providers[i].prefix))
			return is_harmless(name + strlen(providers[i].prefix)) ? -1 : i;
	return -1;
}

static int later_verb(const char *name)
{
	bool may_be = begins(name, "ibv_") || provider_of(name) >= 0;

	for (int verb = 0; may_be && verb < VERB_COUNT; verb++)
		if (verb_infos[verb].later && verb_infos[verb].symbol &&
		    !strcmp(verb_infos[verb].symbol, name))
			return verb;
	return VERB_NONE;
}

static struct import *first_of(const char *name)
{
	for (unsigned int i = 0; i < nimports; i++)
		if (!strcmp(imports[i].name, name))
			return &imports[i];
	return NULL;
}

/* That is @real, or of which that is not known. */
static struct import *find(const char *name, const void *real)
{
	for (unsigned int i = 0; i < nimports; i++)
		if (imports[i].real == real && !strcmp(imports[i].name, name))
			return &imports[i];
	return NULL;
}

static struct import *find_or_add(const char *name, void *real)
{
	struct import *import = find(name, real);

	if (import || nimports == IMPORTS || strlen(name) >= NAME)
		return import;
	import = &imports[nimports];
	*import = (struct import){ .real = real };
	strcpy(import->name, name);
	import_next[nimports++] = real;
	return import;
}

static void record_direct(const char *name, enum event_direct_how how)
{
	size_t bytes = strlen(name);
	struct event_direct *event;

	if (!record_ready())
		return;
	event = record_reserve(sizeof(*event) + NAME);
	if (!event)
		return;
	record_head(&event->head, EVENT_DIRECT, record_ticks());
	event->how = (uint16_t)how;
	event->bytes = (uint16_t)bytes;
	event->pad = 0;
	memcpy(event + 1, name, bytes);
	record_commit(&event->head, (sizeof(*event) + bytes + 7) / 8);
}

#ifdef __x86_64__

/* Called by a stub, before the function behind it. */
void import_called(unsigned int index);

void import_called(unsigned int index)
{
	int saved = errno;

	record_direct(imports[index].name, DIRECT_CALLED);
	errno = saved;
}

/*
 * One stub a function: all that an argument may be in is kept. The stub's index
 * lies on the stack meanwhile, so that rsp is a multiple of 16 in the call.
 */
__asm__(".text\n"
	".balign 16\n"
	".type import_stubs, @object\n"
	"import_stubs:\n"
	".set index, 0\n"
	".rept 128\n"
	"	endbr64\n"
	"	push $index\n"
	"	jmp import_common\n"
	"	.balign 16\n"
	".set index, index + 1\n"
	".endr\n"
	".size import_stubs, . - import_stubs\n"
	".type import_common, @function\n"
	"import_common:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.cfi_offset %rbp, -24\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %rax\n"
	"	sub $128, %rsp\n"
	"	movups %xmm0, (%rsp)\n"
	"	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n"
	"	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n"
	"	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n"
	"	movups %xmm7, 112(%rsp)\n"
	"	mov 8(%rbp), %rdi\n"
	"	call import_called\n"
	"	movups (%rsp), %xmm0\n"
	"	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n"
	"	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n"
	"	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n"
	"	movups 112(%rsp), %xmm7\n"
	"	add $128, %rsp\n"
	"	pop %rax\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"	pop %rbp\n"
	"	.cfi_def_cfa %rsp, 16\n"
	"	pop %r11\n"
	"	.cfi_def_cfa_offset 8\n"
	"	lea import_next(%rip), %r10\n"
	"	jmp *(%r10,%r11,8)\n"
	"	.cfi_endproc\n"
	".size import_common, . - import_common\n");

extern char import_stubs[] __attribute__((visibility("hidden")));

enum { STUB = 16 };

_Static_assert(IMPORTS == 128, "as many stubs");

static void *stub(const struct import *import)
{
	return import_stubs + (import - imports) * STUB;
}

static bool is_stub(const void *at)
{
	return (const char *)at >= import_stubs && (const char *)at < import_stubs + IMPORTS * STUB;
}

/* An object file in memory. */
struct object {
	uintptr_t base, start, end;
	uintptr_t relro, relro_end;
	const ElfW(Dyn) *dynamic;
	const char *strings;
	const ElfW(Sym) *symbols;
	const ElfW(Rela) *tables[2]; /* DT_RELA, DT_JMPREL */
	size_t sizes[2];
};

/* The loader has made addresses of them, but not in every object. */
static const void *pointer(const struct object *o, const ElfW(Dyn) *d)
{
	return (const void *)(d->d_un.d_ptr + (d->d_un.d_ptr < o->base ? o->base : 0));
}

static void read_segments(const struct dl_phdr_info *info, struct object *o)
{
	*o = (struct object){ .base = info->dlpi_addr, .start = UINTPTR_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && at < o->start)
			o->start = at;
		if (ph->p_type == PT_LOAD && at + ph->p_memsz > o->end)
			o->end = at + ph->p_memsz;
		if (ph->p_type == PT_DYNAMIC)
			o->dynamic = (const void *)at;
		if (ph->p_type == PT_GNU_RELRO) {
			o->relro = at;
			o->relro_end = at + ph->p_memsz;
		}
	}
}

static void read_dynamic(struct object *o)
{
	for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_STRTAB:
			o->strings = pointer(o, d);
			break;
		case DT_SYMTAB:
			o->symbols = pointer(o, d);
			break;
		case DT_RELA:
			o->tables[0] = pointer(o, d);
			break;
		case DT_RELASZ:
			o->sizes[0] = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->tables[1] = pointer(o, d);
			break;
		case DT_PLTRELSZ:
			o->sizes[1] = d->d_un.d_val;
			break;
		}
	}
}

static bool is_known_library(const char *name)
{
	const char *base = strrchr(name, '/');

	name = base ? base + 1 : name;
	if (begins(name, "libibverbs.so"))
		return true;
	for (int i = 0; i < PROVIDERS; i++)
		if (begins(name, providers[i].library))
			return true;
	return false;
}

static bool needs_one(const struct object *o)
{
	for (const ElfW(Dyn) *d = o->dynamic; o->strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && is_known_library(o->strings + d->d_un.d_val))
			return true;
	return false;
}

/* The slot of a relocation that is the address of a function from elsewhere; NULL: it is none. */
static void **slot_of(const struct object *o, const ElfW(Rela) *r, const char **ret_name)
{
	const ElfW(Sym) *symbol = &o->symbols[ELF64_R_SYM(r->r_info)];

	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_64:
		if (r->r_addend)
			return NULL;
		break;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		break;
	default:
		return NULL;
	}
	if (symbol->st_shndx != SHN_UNDEF)
		return NULL;
	*ret_name = o->strings + symbol->st_name;
	return (void **)(o->base + r->r_offset);
}

typedef void slot_fn(const struct object *o, void **slot, const char *name);

/* Of an object that the loader, in another thread, has only mapped so far: it will write it. */
static bool is_raw(const struct object *o, int table, const void *slot_value)
{
	return table == 1 && o->base && (uintptr_t)slot_value < o->end - o->base;
}

static void each_slot(const struct object *o, slot_fn *visit)
{
	for (int t = 0; t < 2; t++) {
		size_t n = o->tables[t] ? o->sizes[t] / sizeof(*o->tables[t]) : 0;

		for (size_t i = 0; i < n; i++) {
			const char *name;
			void **slot = slot_of(o, &o->tables[t][i], &name);

			if (slot && *slot && !is_raw(o, t, *slot))
				visit(o, slot, name);
		}
	}
}

static int each_object(struct dl_phdr_info *info, size_t size, void *visit)
{
	struct object o;

	(void)size;
	read_segments(info, &o);
	if (!o.dynamic)
		return 0;
	read_dynamic(&o);
	if (o.strings && o.symbols && needs_one(&o))
		each_slot(&o, (slot_fn *)visit);
	return 0;
}

/* Bound lazily, and not called yet. */
static bool is_unbound(const struct object *o, const void *slot_value)
{
	return (uintptr_t)slot_value >= o->start && (uintptr_t)slot_value < o->end;
}

static bool fresh; /* a slot is there that may have to be changed */

/* What a slot that is not bound would get is another's by now, if its library went and came. */
static void ask(const char *name)
{
	struct import *import = first_of(name);

	if (!import)
		import = find_or_add(name, NULL);
	if (import)
		import->asked = true;
}

static void note(const struct object *o, void **slot, const char *name)
{
	int verb = later_verb(name);

	if (verb != VERB_NONE) {
		wanted[verb / 64] |= 1ull << (verb % 64);
		fresh = fresh || *slot != later_function((enum verb)verb);
	} else if (provider_of(name) >= 0 && !is_stub(*slot)) {
		if (is_unbound(o, *slot))
			ask(name);
		else
			find_or_add(name, *slot);
		fresh = true;
	}
}

/*
 * May it not be written to? Behind RELRO it may until the loader, in another
 * thread, has done with the object. An operation of the kernel's that changes
 * nothing, and is refused where nothing can be changed, tells.
 */
static bool is_sealed(void **slot)
{
	static uint32_t nobody_waits;
	int nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);

	return syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP_PRIVATE, 0, NULL, slot, nothing) < 0;
}

/* Behind RELRO the page is made writable for the moment. */
static int write_slot(const struct object *o, void **slot, void *value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = (void *)((uintptr_t)slot & ~(page - 1));
	bool relro = (uintptr_t)slot >= o->relro && (uintptr_t)slot < o->relro_end;
	bool sealed = relro && is_sealed(slot);

	if (relro && mprotect(at, page, PROT_READ | PROT_WRITE))
		return -errno;
	atomic_store_explicit((_Atomic(void *) *)slot, value, memory_order_release);
	if (sealed)
		mprotect(at, page, PROT_READ);
	return 0;
}

static void hook_verb(const struct object *o, void **slot, enum verb verb)
{
	void *real = atomic_load_explicit(&next_found[verb], memory_order_relaxed);

	/* else it is a function of the program's own, by that name */
	if (real && (*slot == real || is_unbound(o, *slot)))
		write_slot(o, slot, later_function(verb));
}

/* The function behind a slot that is not bound; NULL: it is still to be looked up. */
static const struct import *looked_up(const char *name)
{
	const struct import *first = first_of(name);

	return first && !first->asked ? first->now : NULL;
}

/* Where the table is full another of that name says it. */
static void set_blind(const char *name)
{
	struct import *first = first_of(name);

	if (first)
		first->blind = true;
}

static void hook(const struct object *o, void **slot, const char *name)
{
	int verb = later_verb(name);
	const struct import *import;

	if (verb != VERB_NONE) {
		hook_verb(o, slot, (enum verb)verb);
		return;
	}
	if (provider_of(name) < 0 || is_stub(*slot))
		return;
	import = is_unbound(o, *slot) ? looked_up(name) : find(name, *slot);
	if (!import || write_slot(o, slot, stub(import)))
		set_blind(name);
}

void *import_provider(const char *name)
{
	char soname[32];
	void *at = dl_plain(RTLD_DEFAULT, name), *handle;

	if (at)
		return at;
	strcpy(soname, providers[provider_of(name)].library);
	strcat(soname, ".1");
	handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		return NULL;
	at = dl_plain(handle, name);
	dlclose(handle);
	return at;
}

/* A provider's may lie elsewhere than the last time; what is not there any more nobody calls. */
static void look_up_verb(enum verb verb)
{
	void *now = verb_infos[verb].via == VIA_DV ? import_provider(verb_infos[verb].symbol) :
						     next_symbol(verb);

	if (now)
		atomic_store_explicit(&next_found[verb], now, memory_order_relaxed);
}

static void look_up(struct import *import)
{
	void *real = import_provider(import->name);

	if (!import->real)
		import_next[import - imports] = import->real = real;
	import->now = real ? find_or_add(import->name, real) : NULL;
	import->asked = false;
}

static void look_up_all(void)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (wanted[verb / 64] >> (verb % 64) & 1)
			look_up_verb((enum verb)verb);
	for (unsigned int i = 0; i < nimports; i++)
		if (imports[i].asked)
			look_up(&imports[i]);
}

/* What cannot be counted may have been called. */
void import_tell(void)
{
	for (unsigned int i = 0; i < nimports; i++) {
		if (imports[i].blind && !imports[i].told)
			record_direct(imports[i].name, DIRECT_LINKED);
		imports[i].told |= imports[i].blind;
	}
}

static atomic_bool looked; /* asked first: a sanitizer looks up before it can be called */

void import_look(void)
{
	int saved = errno;

	atomic_store(&looked, true);
	if (!take())
		return;
	fresh = false;
	dl_iterate_phdr(each_object, (void *)note);
	if (fresh) {
		look_up_all();
		dl_iterate_phdr(each_object, (void *)hook);
	}
	give_back();
	errno = saved;
}

static int count_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

void import_look_again(void)
{
	static __thread bool looking __attribute__((tls_model("initial-exec")));
	static atomic_ullong seen;
	unsigned long long now = 0;

	if (looking || !atomic_load_explicit(&looked, memory_order_relaxed) || !record_on())
		return;
	looking = true; /* what is looked up here comes here again */
	dl_iterate_phdr(count_changes, &now);
	if (atomic_exchange(&seen, now) != now) {
		import_look();
		import_tell();
	}
	looking = false;
}

/* What would have to be looked up waits for import_look(). */
void import_see(const struct dl_phdr_info *info)
{
	struct dl_phdr_info object = *info;
	int saved = errno;

	if (!take())
		return;
	fresh = false;
	each_object(&object, sizeof(object), (void *)note);
	if (fresh)
		each_object(&object, sizeof(object), (void *)hook);
	give_back();
	import_tell();
	errno = saved;
}

static void *instead_of_verb(enum verb verb, const void *found)
{
	return found == next_symbol(verb) ? later_function(verb) : NULL;
}

void *import_instead(const char *name, void *found)
{
	int verb = later_verb(name);
	struct import *import;

	if (verb != VERB_NONE)
		return instead_of_verb((enum verb)verb, found);
	if (provider_of(name) < 0 || is_stub(found) || !take())
		return NULL;
	import = find_or_add(name, found);
	give_back();
	return import ? stub(import) : NULL;
}

#else

void import_look(void)
{
}

void import_look_again(void)
{
}

void import_see(const struct dl_phdr_info *info)
{
	(void)info;
}

void import_tell(void)
{
}

void *import_instead(const char *name, void *found)
{
	(void)name, (void)found;
	return NULL;
}

void *import_provider(const char *name)
{
	(void)name;
	return NULL;
}

#endif

bool import_is_known(const char *name)
{
	return later_verb(name) != VERB_NONE || provider_of(name) >= 0;
}
