/*
 * Replacing names of files, programs and devices, unless they are the same on every machine
 *
 * The lists below have the names that are not replaced.
 */
#include "core/store/anonymise/names.h"

#include <string.h>
#include <strings.h>

#include "core/store/anonymise/addresses.h"

static const char *const folders[] = {
	"usr",
	"lib",
	"lib32",
	"lib64",
	"bin",
	"sbin",
	"local",
	"opt",
	"home",
	"tmp",
	"var",
	"run",
	"dev",
	"shm",
	"proc",
	"sys",
	"class",
	"etc",
	"share",
	"x86_64-linux-gnu",
	"aarch64-linux-gnu",
	".",
	"..",
	"self",
	"memfd:",
	"libibverbs",
	"infiniband",
	"infiniband_verbs",
};

/* Names of libraries; only ".so" and versions may follow them. */
static const char *const libraries[] = {
	"ld-linux-x86-64",
	"ld-linux-aarch64",
	"libc",
	"libm",
	"libdl",
	"libpthread",
	"librt",
	"libresolv",
	"libstdc++",
	"libgcc_s",
	"libibverbs",
	"librdmacm",
	"libibumad",
	"libibmad",
	"libmlx4",
	"libmlx5",
	"libefa",
	"libhns",
	"libmana",
	"libbnxt_re",
	"libcxgb4",
	"liberdma",
	"libhfi1verbs",
	"libipathverbs",
	"libirdma",
	"libmthca",
	"libocrdma",
	"libqedr",
	"librxe",
	"libsiw",
	"libvmw_pvrdma",
	"libnl-3",
	"libnl-route-3",
	"libnuma",
	"libz",
	"libzstd",
	"libpci",
	"libatomic",
	"libgomp",
	"libucp",
	"libucs",
	"libuct",
	"libucm",
	"libfabric",
	"libmpi",
	"libopen-pal",
	"libopen-rte",
	"libnccl",
	"libunwind",
	"libunwind-x86_64",
	"liblzma",
	"liblttng-ust",
	"libverbatim",
	"libverbatim-soft",
	"libverbatim-lttng",
	"libverbatim-memory",
	"libasan",
	"libtsan",
	"libubsan",
	"linux-vdso",
};

/* Drivers of the kernel, and the software device. */
static const char *const drivers[] = {
	"mlx4_", "mlx5_",  "rxe",        "rxe_",   "siw",  "siw_",   "bnxt_re",
	"irdma", "efa_",   "hns_",       "hfi1_",  "qedr", "cxgb4_", "i40iw",
	"mana_", "erdma_", "vmw_pvrdma", "ocrdma", "qib",  "mthca",  "verbatim",
};

static const char *const values[] = {
	"y",     "n",   "yes", "no",   "on",  "off",  "true",
	"false", "try", "inf", "auto", "all", "none", "soft",
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static bool is_listed_word(const char *const *list, size_t count, const char *text, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == n && !strncasecmp(list[i], text, n))
			return true;
	return false;
}

/* "-2.36.so", ".so.1.14.39.0", "-rdmav34.so" */
static bool is_version(const char *text, size_t n)
{
	static const char *const parts[] = { ".so", "-rdmav", "-", "." };

	while (n) {
		size_t k = strspn(text, "0123456789");

		for (size_t i = 0; !k && i < COUNT(parts); i++)
			if (!strncmp(text, parts[i], strlen(parts[i])))
				k = strlen(parts[i]);
		if (!k || k > n)
			return false;
		text += k;
		n -= k;
	}
	return true;
}

static bool is_library(const char *name, size_t n)
{
	for (size_t i = 0; i < COUNT(libraries); i++) {
		size_t k = strlen(libraries[i]);

		if (n > k && !strncmp(name, libraries[i], k) && is_version(name + k, n - k))
			return true;
	}
	return n == 6 && !strncmp(name, "[vdso]", 6);
}

static void add_component(struct substitutes *s, const char *name, size_t n, bool last,
			  struct text *to)
{
	if (last ? is_library(name, n) || (n && strspn(name, ".") >= n)
		 : is_listed_word(folders, COUNT(folders), name, n))
		text_add(to, name, n);
	else
		text_addf(to, "%s", substitute_text(s, SUBSTITUTE_NAME, name, n));
}

static void add_path(struct substitutes *s, const char *path, size_t n, struct text *to)
{
	static const char gone[] = " (deleted)"; /* as in /proc/self/maps */
	size_t tail =
		n > sizeof(gone) && !memcmp(path + n - (sizeof(gone) - 1), gone, sizeof(gone) - 1)
			? sizeof(gone) - 1
			: 0;
	const char *end = path + n - tail;

	for (const char *at = path; at <= end; at++) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		const char *stop = slash ? slash : end;

		add_component(s, at, (size_t)(stop - at), !slash, to);
		if (slash)
			text_char(to, '/');
		at = stop;
	}
	text_add(to, end, tail);
}

void replace_path(struct substitutes *s, const char *path, struct text *to)
{
	if (*path)
		add_path(s, path, strlen(path), to);
}

void replace_command(struct substitutes *s, const char *command, struct text *to)
{
	bool first = true;

	for (const char *at = command; *at;) {
		size_t blanks = strspn(at, " \t\r\n"), n;

		for (size_t i = 0; i < blanks; i++)
			text_char(to, ' ');
		at += blanks;
		n = strcspn(at, " \t\r\n");
		if (n && first)
			add_path(s, at, n, to);
		else if (n)
			text_addf(to, "%s", substitute_text(s, SUBSTITUTE_ARGUMENT, at, n));
		first = first && !n;
		at += n;
	}
}

/* mlx5_0, rxe0, "soft" */
static bool is_numbered(const char *name, size_t n)
{
	if ((n == 4 && !strncmp(name, "soft", 4)) || (n == 7 && !strncmp(name, "several", 7)))
		return true;
	for (size_t i = 0; i < COUNT(drivers); i++) {
		size_t k = strlen(drivers[i]);

		if (n > k && n <= k + 3 && !strncmp(name, drivers[i], k) &&
		    strspn(name + k, "0123456789") >= n - k)
			return true;
	}
	return false;
}

void replace_device(struct substitutes *s, const char *name, struct text *to)
{
	for (const char *at = name; *at;) {
		size_t n = strcspn(at, ",");

		if (is_numbered(at, n))
			text_add(to, at, n);
		else
			text_addf(to, "%s", substitute_text(s, SUBSTITUTE_DEVICE, at, n));
		at += n;
		if (*at)
			text_char(to, *at++);
	}
}

void replace_value(struct substitutes *s, const char *value, struct text *to)
{
	size_t n = strlen(value), digits = strspn(value, "0123456789");

	if (is_listed_word(values, COUNT(values), value, n) ||
	    (digits && digits < 10 && n <= digits + 1 &&
	     strspn(value + digits, "kKmMgGsu") == n - digits))
		text_add(to, value, n);
	else
		text_addf(to, "%s", substitute_text(s, SUBSTITUTE_VALUE, value, n));
}

void replace_release(const char *release, struct text *to)
{
	size_t n = strspn(release, "0123456789.-");

	while (n && release[n - 1] == '-')
		n--;
	text_add(to, release, n);
}

void replace_host(struct substitutes *s, const char *name, struct text *to)
{
	if (!strcmp(name, "localhost"))
		text_addf(to, "%s", name);
	else if (!replace_address(s, name, to))
		text_addf(to, "%s", substitute_text(s, SUBSTITUTE_HOST, name, strlen(name)));
}
