/*
 * What doctor says about programs: doctor_program_test.txt
 *
 * Scripts, and ELF files made here, each of which needs some libraries of the same folder:
 *
 *	header | three program headers | dynamic section | strings, the loader's path at their end
 */
#include <elf.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "core/base/text.h"
#include "tests/transcript.h"

enum { SEGMENTS = 3, NEEDED = 4, STRINGS = 256, BASE = 0x10000 };

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS];
	Elf64_Dyn dynamic[NEEDED + 4];
	char strings[STRINGS];
};

#define AT(member) offsetof(struct image, member)

static char folder[64];
static struct text out;

static void name_file(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void put_file(const char *name, const void *bytes, size_t n, mode_t mode)
{
	char path[128];
	FILE *file;

	name_file(name, path);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static size_t add_string(struct image *image, size_t *used, const char *string)
{
	size_t at = *used;

	strcpy(image->strings + at, string);
	*used += strlen(string) + 1;
	return at;
}

static void add_segments(struct image *image, size_t loader)
{
	const char *path = image->strings + loader;

	image->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_phoff = AT(segments),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = SEGMENTS,
#ifdef __x86_64__
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
	};
	image->segments[0] = (Elf64_Phdr){ .p_type = *path ? PT_INTERP : PT_NULL,
					   .p_offset = AT(strings) + loader,
					   .p_filesz = strlen(path) + 1 };
	image->segments[1] =
		(Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = sizeof(*image) };
	image->segments[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					   .p_offset = AT(dynamic),
					   .p_filesz = sizeof(image->dynamic) };
}

/* A program or library that needs @needed and contains @text; @loader is "" for a static one. */
static struct image make_image(const char *loader, const char *const needed[NEEDED],
			       const char *text)
{
	struct image image = { .dynamic[0] = { DT_STRTAB, { BASE + AT(strings) } },
			       .dynamic[1] = { DT_STRSZ, { STRINGS } } };
	size_t used = 1, n = 2;

	image.dynamic[n++] = (Elf64_Dyn){ DT_RUNPATH, { add_string(&image, &used, "$ORIGIN") } };
	for (int i = 0; i < NEEDED && needed[i]; i++)
		image.dynamic[n++] =
			(Elf64_Dyn){ DT_NEEDED, { add_string(&image, &used, needed[i]) } };
	add_string(&image, &used, text);
	add_segments(&image, add_string(&image, &used, loader));
	return image;
}

static void put_program(const char *name, const char *loader, const char *text,
			const char *const needed[NEEDED])
{
	struct image image = make_image(loader, needed, text);

	put_file(name, &image, sizeof(image), 0755);
}
#define NEEDS(...) ((const char *const[NEEDED]){ __VA_ARGS__ })

static void put_library(const char *name, const char *text, const char *const needed[NEEDED])
{
	put_program(name, "", text, needed);
}

static void put_programs(void)
{
	put_library("libibverbs.so.1", "libibverbs.so", NEEDS(NULL));
	put_library("librdmacm.so.1", "", NEEDS("libibverbs.so.1"));
	put_library("libmlx5.so.1", "", NEEDS("libibverbs.so.1"));
	put_library("libround.so", "", NEEDS("libround.so", "libother.so"));
	put_library("libother.so", "", NEEDS("libround.so", "libibverbs.so.1"));
	put_library("libopens.so", "dlopen libibverbs.so", NEEDS("libround2.so"));
	put_library("libround2.so", "", NEEDS("libopens.so"));
	put_program("verbs", "/bin/sh", "", NEEDS("libibverbs.so.1"));
	put_program("cm", "/bin/sh", "", NEEDS("librdmacm.so.1"));
	put_program("direct", "/bin/sh", "", NEEDS("libmlx5.so.1"));
	put_program("far", "/bin/sh", "", NEEDS("libnone.so", "libround.so"));
	put_program("opens", "/bin/sh", "", NEEDS("libopens.so"));
	put_program("itself", "/bin/sh", "libibverbs.so.1", NEEDS(NULL));
	put_program("none", "/bin/sh", "libibverb", NEEDS(NULL));
	put_program("musl", "/lib/ld-musl.so.1", "", NEEDS(NULL));
	put_program("loader", "/lib/none.so", "", NEEDS(NULL));
	put_program("static", "", "", NEEDS(NULL));
}

static void put_odd_files(void)
{
	struct image image = make_image("/bin/sh", NEEDS(NULL), "");

	put_file("locked", &image, sizeof(image), 0644);
	put_file("head", &image, 4, 0755);
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	put_file("bits", &image, sizeof(image), 0755);
	image.head.e_ident[EI_CLASS] = ELFCLASS64;
	image.head.e_machine = EM_S390;
	put_file("machine", &image, sizeof(image), 0755);
	put_file("text", "text", 4, 0755);
	put_file("empty", "", 0, 0755);
}

static void put_script(const char *name, const char *first)
{
	char line[256];

	snprintf(line, sizeof(line), first, folder);
	put_file(name, line, strlen(line), 0755);
}

static void put_scripts(void)
{
	put_script("script", "#!%s/verbs -x\n");
	put_script("blank", "#! \t%s/verbs\n");
	put_script("env", "#!/usr/bin/env verbs\n");
	put_script("env_options", "#!/usr/bin/env -S A=B verbs -c\n");
	put_script("env_alone", "#!/usr/bin/env\n");
	put_script("missing", "#!/nowhere/at/all\n");
	put_script("unnamed", "#!\n");
	put_script("twice", "#!%s/script\n");
	put_script("three", "#!%s/twice\n");
	put_script("four", "#!%s/three\n");
	put_script("five", "#!%s/four\n");
}

static int begin_programs(void **state)
{
	char path[128];

	(void)state;
	strcpy(folder, "/tmp/doctor_program_test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	put_programs();
	put_odd_files();
	put_scripts();
	name_file("folder", path);
	setenv("PATH", folder, 1);
	unsetenv("LD_LIBRARY_PATH");
	return mkdir(path, 0755);
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat, (void)type, (void)walk;
	return remove(path);
}

static int end_programs(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

GROUP(begin_programs, end_programs);

static void put_text(const char *text)
{
	for (const char *at; (at = strstr(text, folder)); text = at + strlen(folder))
		text_addf(&out, "%.*sFOLDER", (int)(at - text), text);
	text_addf(&out, "%s", text);
}

static void show_program(const char *name)
{
	struct doctor doctor = { .root = "", .program = name };

	text_addf(&out, "%s\n", name);
	doctor_run(&doctor, doctor_program_checks);
	for (size_t i = 0; i < doctor.nfindings; i++) {
		const struct finding *f = &doctor.findings[i];

		text_addf(&out, "\t%d %s: ", (int)f->verdict, f->check);
		put_text(f->text);
		text_addf(&out, "%s%s\n", f->remedy ? "; " : "", f->remedy ?: "");
	}
	doctor_fini(&doctor);
}

TEST(findings_are_those_of_the_transcript)
{
	static const char *const names[] = {
		"verbs",   "cm",      "direct", "far",     "opens", "itself",      "none",
		"musl",    "loader",  "static", "locked",  "head",  "bits",        "machine",
		"text",    "empty",   "script", "blank",   "env",   "env_options", "env_alone",
		"missing", "unnamed", "twice",  "three",   "four",  "five",        "folder",
		"verb",    "nowhere", "",       "./verbs",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		show_program(names[i]);
	transcript_expect(__FILE__, &out);
}
