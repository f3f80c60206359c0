# Verbs that only newer libibverbs have, and functions of providers beside the verbs: recorded, counted,
# and never there for a program whose own libraries lack them.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
GUEST=$PWD/$BUILD/libverbatim.so
tmp=$(mktemp -d) || exit 1
export VERBATIM_SOFT_FABRIC=$tmp/fabric
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

try() {
	local name=$1 out
	if out=$("$name" 2>&1); then echo "ok later: ${name//_/ }"; else echo "not ok later: ${name//_/ }: $out"; fi
}

is() { [ "$1" = "$2" ] || { echo "$1 instead of $2"; return 1; }; }
sql() { "$VERBATIM" sql t.db "$1"; }

# PROGRAM ARGS: recorded without a collector, with the same output as without the recorder
same() {
	rm -rf d t.db
	"$@" >plain 2>&1
	local status=$?
	VERBATIM_DIR=$tmp/d LD_PRELOAD=$GUEST "$@" >recorded 2>&1
	is $? $status && diff plain recorded && "$VERBATIM" collect -q -o t.db d
}

# a newer libibverbs, as far as this program calls it
cat >verbs.map <<'END'
IBVERBS_1.1 { global: ibv_get_device_list; ibv_free_device_list; local: *; };
IBVERBS_1.15 { global: ibv_alloc_dmah; ibv_dealloc_dmah; ibv_reg_mr_ex; } IBVERBS_1.1;
IBVERBS_1.16 { global: ibv_dm_export_dmabuf_fd; ibv_query_port_speed; } IBVERBS_1.15;
IBVERBS_1.17 { global: ibv_alloc_buf; ibv_free_buf; ibv_reg_buf_mr; } IBVERBS_1.16;
IBVERBS_1.18 { global: ibv_query_comp_cntr_caps; ibv_create_comp_cntr; ibv_destroy_comp_cntr; ibv_set_comp_cntr;
	ibv_set_err_comp_cntr; ibv_inc_comp_cntr; ibv_inc_err_comp_cntr; ibv_read_comp_cntr; ibv_read_err_comp_cntr;
	ibv_export_buf_dmabuf_fd; ibv_qp_attach_comp_cntr; } IBVERBS_1.17;
END
cat >later.h <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
struct dmah { struct ibv_context *context; };
struct dmah_attr { uint32_t comp_mask, cpu_id; uint8_t ph, type; };
struct mr_attr { size_t length; int access; uint64_t comp_mask, iova; void *addr; int fd; uint64_t fd_offset; void *dmah, *buf; };
struct cntr { struct ibv_context *context; uint32_t handle; uint64_t most, most_errors; };
struct cntr_attr { uint32_t comp_mask, type, flags; };
struct attach { uint32_t comp_mask, op_mask; };
struct caps { uint64_t most; uint32_t counters, ops; };
#ifndef WEAK
#define WEAK
#endif
struct dmah *ibv_alloc_dmah(struct ibv_context *, struct dmah_attr *) WEAK;
int ibv_dealloc_dmah(struct dmah *) WEAK;
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *, struct mr_attr *) WEAK;
int ibv_dm_export_dmabuf_fd(struct ibv_dm *) WEAK;
int ibv_query_port_speed(struct ibv_context *, uint32_t, uint64_t *) WEAK;
void *ibv_alloc_buf(struct ibv_pd *, size_t, void **) WEAK;
void ibv_free_buf(void *) WEAK;
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *, void *, void *, size_t, int) WEAK;
int ibv_query_comp_cntr_caps(struct ibv_context *, struct caps *) WEAK;
struct cntr *ibv_create_comp_cntr(struct ibv_context *, struct cntr_attr *) WEAK;
int ibv_destroy_comp_cntr(struct cntr *) WEAK;
int ibv_set_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_set_err_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_inc_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_inc_err_comp_cntr(struct cntr *, uint64_t) WEAK;
int ibv_read_comp_cntr(struct cntr *, uint64_t *) WEAK;
int ibv_read_err_comp_cntr(struct cntr *, uint64_t *) WEAK;
int ibv_export_buf_dmabuf_fd(void *) WEAK;
int ibv_qp_attach_comp_cntr(struct ibv_qp *, struct cntr *, struct attach *) WEAK;
END
cat >verbs.c <<'END'
#include "later.h"
static struct dmah the_dmah;
static struct cntr the_cntr = { .handle = 3, .most = 1000, .most_errors = 2000 };
static struct ibv_mr the_mr = { .lkey = 0x11, .rkey = 0x22 };
static int the_buf;
static char memory[4096];
static uint64_t count, errors;
struct ibv_device **(ibv_get_device_list)(int *n) { if (n) *n = 0; return calloc(1, sizeof(void *)); }
void ibv_free_device_list(struct ibv_device **list) { free(list); }
struct dmah *ibv_alloc_dmah(struct ibv_context *c, struct dmah_attr *a) { the_dmah.context = c; errno = a->ph == 9 ? EINVAL : 0; return a->ph == 9 ? NULL : &the_dmah; }
int ibv_dealloc_dmah(struct dmah *d) { return d == &the_dmah ? 0 : EINVAL; }
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *p, struct mr_attr *a) { the_mr.pd = p; the_mr.addr = a->addr; the_mr.length = a->length; return &the_mr; }
int ibv_dm_export_dmabuf_fd(struct ibv_dm *d) { (void)d; errno = EOPNOTSUPP; return -1; }
int ibv_query_port_speed(struct ibv_context *c, uint32_t p, uint64_t *s) { (void)c; *s = 4000 + p; return 0; }
void *ibv_alloc_buf(struct ibv_pd *p, size_t n, void **b) { (void)p; *b = &the_buf; return n <= sizeof(memory) ? memory : NULL; }
void ibv_free_buf(void *b) { (void)b; }
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *p, void *b, void *a, size_t n, int f) { (void)p, (void)b, (void)a, (void)n, (void)f; return &the_mr; }
int ibv_query_comp_cntr_caps(struct ibv_context *c, struct caps *k) { (void)c; *k = (struct caps){ 1000, 5, 6 }; return 0; }
struct cntr *ibv_create_comp_cntr(struct ibv_context *c, struct cntr_attr *a) { (void)a; the_cntr.context = c; return &the_cntr; }
int ibv_destroy_comp_cntr(struct cntr *c) { (void)c; return 0; }
int ibv_set_comp_cntr(struct cntr *c, uint64_t v) { (void)c; count = v; return 0; }
int ibv_set_err_comp_cntr(struct cntr *c, uint64_t v) { (void)c; errors = v; return 0; }
int ibv_inc_comp_cntr(struct cntr *c, uint64_t v) { (void)c; count += v; return 0; }
int ibv_inc_err_comp_cntr(struct cntr *c, uint64_t v) { (void)c; errors += v; return 0; }
int ibv_read_comp_cntr(struct cntr *c, uint64_t *v) { (void)c; *v = count; return 0; }
int ibv_read_err_comp_cntr(struct cntr *c, uint64_t *v) { (void)c; *v = errors; return 0; }
int ibv_export_buf_dmabuf_fd(void *b) { (void)b; return 77; }
int ibv_qp_attach_comp_cntr(struct ibv_qp *q, struct cntr *c, struct attach *a) { (void)q, (void)c; return a->op_mask == 63 ? ENOTSUP : 0; }
END
cat >program.c <<'END'
#include "later.h"
static char place[6][64];
#define C ((struct ibv_context *)place[0])
#define PD ((struct ibv_pd *)place[1])
int main(void)
{
	struct dmah_attr da = { .comp_mask = 3, .cpu_id = 7, .ph = 2, .type = 1 };
	struct cntr_attr ca = { .type = 1 };
	struct attach at = { .op_mask = 5 };
	struct dmah *d;
	struct mr_attr ma = { .length = 64, .access = 1, .comp_mask = 2 | 16, .addr = place[2], .fd = 4 };
	struct ibv_mr *mr;
	struct cntr *c;
	struct caps caps;
	uint64_t speed = 0, n = 0, e = 0;
	void *buf = NULL, *mem;
	ibv_free_device_list((ibv_get_device_list)(NULL));
	d = ibv_alloc_dmah(C, &da);
	ma.dmah = d;
	mr = ibv_reg_mr_ex(PD, &ma);
	printf("%d %x\n", d && mr, mr->lkey);
	da.ph = 9;
	printf("%p %d\n", (void *)ibv_alloc_dmah(C, &da), errno);
	printf("%d\n", ibv_dealloc_dmah(d));
	printf("%d %d\n", ibv_dm_export_dmabuf_fd((struct ibv_dm *)place[3]), errno);
	printf("%d %d\n", ibv_query_port_speed(C, 2, &speed), (int)speed);
	mem = ibv_alloc_buf(PD, 4096, &buf);
	printf("%d %d\n", !!ibv_reg_buf_mr(PD, buf, mem, 4096, 1), ibv_export_buf_dmabuf_fd(buf));
	ibv_free_buf(buf);
	printf("%d %d\n", ibv_query_comp_cntr_caps(C, &caps), caps.counters);
	c = ibv_create_comp_cntr(C, &ca);
	printf("%d %d\n", ibv_qp_attach_comp_cntr((struct ibv_qp *)place[4], c, &at), ibv_set_comp_cntr(c, 40));
	at.op_mask = 63;
	printf("%d\n", ibv_qp_attach_comp_cntr((struct ibv_qp *)place[4], c, &at));
	printf("%d %d %d\n", ibv_inc_comp_cntr(c, 2), ibv_set_err_comp_cntr(c, 7), ibv_inc_err_comp_cntr(c, 1));
	printf("%d %d\n", ibv_read_comp_cntr(c, &n), ibv_read_err_comp_cntr(c, &e));
	printf("%d %d %d\n", (int)n, (int)e, ibv_destroy_comp_cntr(c));
	return 0;
}
END
mkdir new && gcc -shared -fPIC -o new/libibverbs.so.1 verbs.c -Wl,-soname,libibverbs.so.1 -Wl,--version-script=verbs.map || exit 1
ln -sf libibverbs.so.1 new/libibverbs.so
# BIND_NOW with RELRO, lazily, and as a plug-in of its own scope
gcc -o now program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new",-z,now,-z,relro
gcc -fno-plt -fPIC -o noplt program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new"
gcc -o lazy program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new",-z,lazy,-z,norelro

verbs="ibv_alloc_dmah ibv_alloc_dmah ibv_dealloc_dmah ibv_reg_mr_ex ibv_dm_export_dmabuf_fd ibv_query_port_speed ibv_alloc_buf ibv_free_buf
	ibv_reg_buf_mr ibv_export_buf_dmabuf_fd ibv_query_comp_cntr_caps ibv_create_comp_cntr ibv_destroy_comp_cntr ibv_set_comp_cntr
	ibv_set_err_comp_cntr ibv_inc_comp_cntr ibv_inc_err_comp_cntr ibv_read_comp_cntr ibv_read_err_comp_cntr
	ibv_qp_attach_comp_cntr ibv_qp_attach_comp_cntr ibv_get_device_list ibv_free_device_list"
all_are_there() { is "$(sql 'SELECT verb FROM call ORDER BY verb' | tr '\n' ' ')" "$(printf '%s\n' $verbs | LC_ALL=C sort | tr '\n' ' ')"; }
out() { sql "SELECT json_extract($1, '$2') FROM call WHERE verb = 'ibv_$3' ORDER BY n LIMIT 1"; }

bound_at_the_start_is_recorded() { same ./now && all_are_there; }
bound_through_data_is_recorded() { same ./noplt && all_are_there; }
bound_lazily_is_recorded() { same ./lazy && all_are_there; }
arguments_and_results_are_recorded() {
	same ./now && is "$(out args '$.attr.cpu_id' alloc_dmah) $(out args '$.attr.ph' alloc_dmah) $(out args '$.attr.tph_mem_type' alloc_dmah)" "7 2 " &&
		is "$(out args '$.mr_init_attr.length' reg_mr_ex) $(out args '$.mr_init_attr.fd' reg_mr_ex) $(out out '$.ret.lkey' reg_mr_ex)" "64  17" &&
		is "$(out args '$.port_num' query_port_speed) $(out out '$.port_speed' query_port_speed)" "2 4002" &&
		is "$(out out '$.value' read_comp_cntr) $(out out '$.value' read_err_comp_cntr)" "42 7" &&
		is "$(out args '$.attr.op_mask' qp_attach_comp_cntr) $(out out '$.caps.max_counters' query_comp_cntr_caps)" "5 5" &&
		is "$(sql "SELECT group_concat(verb || ' ' || error, ', ') FROM call WHERE failed")" \
			"ibv_alloc_dmah 22, ibv_dm_export_dmabuf_fd 95, ibv_qp_attach_comp_cntr 95" &&
		is "$(sql "SELECT group_concat(name, ' ') FROM (SELECT name FROM object WHERE kind IN ('dmah', 'mr', 'comp_cntr') AND NOT (created_n IS NULL) ORDER BY id)")" "dmah1 mr1 mr2 comp_cntr1" &&
		is "$(sql "SELECT count(*) FROM ref WHERE path = 'mr_init_attr.dmah' AND object > 0")" 1 &&
		"$VERBATIM" dump t.db >dump && grep -q 'ibv_alloc_dmah(.*cpu_id=7, ph=2.* = dmah1' dump
}

cat >asks.c <<'END'
#define WEAK __attribute__((weak))
#include "later.h"
#include <dlfcn.h>
int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);
	const char *why;
	struct dmah_attr attr = { .comp_mask = 1, .cpu_id = 5 };
	static char context[64];
	struct dmah *(*at)(struct ibv_context *, struct dmah_attr *);
	if (list)
		ibv_free_device_list(list);
	printf("weak %d %d\n", !!ibv_alloc_dmah, !!ibv_create_comp_cntr);
	printf("default %d\n", !!dlsym(RTLD_DEFAULT, "ibv_alloc_dmah"));
	why = dlerror();
	printf("%d\n", why && strstr(why, "undefined symbol: ibv_alloc_dmah"));
	printf("versions %d %d\n", !!dlvsym(lib, "ibv_alloc_dmah", "IBVERBS_1.15"), !!dlvsym(lib, "ibv_alloc_dmah", "IBVERBS_1.14"));
	why = dlerror();
	printf("%d\n", !!why);
	at = (struct dmah *(*)(struct ibv_context *, struct dmah_attr *))dlsym(lib, "ibv_alloc_dmah");
	printf("handle %d\n", !!at);
	if (at)
		printf("%d\n", !!at((struct ibv_context *)context, &attr));
	if (ibv_alloc_dmah)
		printf("%d\n", !!ibv_alloc_dmah((struct ibv_context *)context, &attr));
	if ((at = (struct dmah *(*)(struct ibv_context *, struct dmah_attr *))dlsym(RTLD_DEFAULT, "ibv_alloc_dmah")))
		printf("%d\n", !!at((struct ibv_context *)context, &attr));
	return 0;
}
END
sed -i 's/#include <stdlib.h>/#include <stdlib.h>\n#include <string.h>/' later.h
gcc -fPIC -o asks_old asks.c -libverbs
gcc -fPIC -o asks_new asks.c -Lnew -libverbs -Wl,-rpath,"$tmp/new"
what_is_missing_stays_missing() {
	same ./asks_old && grep -q "weak 0 0" recorded && grep -q "default 0" recorded && grep -q "handle 0" recorded &&
		is "$(sql "SELECT count(*) FROM call WHERE verb LIKE '%dmah'")" 0 && is "$(sql 'SELECT count(*) FROM coverage')" 0
}
what_is_there_is_found_and_recorded() {
	same ./asks_new && grep -q "weak 1 1" recorded && grep -q "handle 1" recorded &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_dmah'")" 3
}
# by what is next, from the program and from a library of it; by default, from a plug-in that has them for itself
cat >finds.c <<'END'
#include "later.h"
#include <dlfcn.h>
typedef struct dmah *alloc_fn(struct ibv_context *, struct dmah_attr *);
static void try(const char *how, void *at)
{
	struct dmah_attr attr = { .comp_mask = 1, .cpu_id = 5 };
	static char context[64];
	printf("%s %d\n", how, at ? !!((alloc_fn *)at)((struct ibv_context *)context, &attr) : -1);
}
void FINDS(void)
{
#ifndef PLUG /* what is next there only the loader knows */
	try("next", dlsym(RTLD_NEXT, "ibv_alloc_dmah"));
	try("next of its version", dlvsym(RTLD_NEXT, "ibv_alloc_dmah", "IBVERBS_1.15"));
	try("next of another", dlvsym(RTLD_NEXT, "ibv_alloc_dmah", "IBVERBS_1.14"));
#endif
	try("default", dlsym(RTLD_DEFAULT, "ibv_alloc_dmah"));
	try("default of its version", dlvsym(RTLD_DEFAULT, "ibv_alloc_dmah", "IBVERBS_1.15"));
	printf("%d\n", !!dlerror());
}
END
cat >finder.c <<'END'
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
void program_finds(void), library_finds(void);
int main(int argc, char **argv)
{
	void *plug;
	void (*finds)(void);
	(void)argc;
	(ibv_get_device_list)(NULL);
	program_finds();
	library_finds();
	plug = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	finds = plug ? (void (*)(void))dlsym(plug, "plug_finds") : NULL;
	if (finds)
		finds();
	return !finds;
}
END
gcc -DFINDS=library_finds -shared -fPIC -o libfinds.so finds.c -Wl,-soname,libfinds.so &&
	gcc -DPLUG -DFINDS=plug_finds -shared -fPIC -o finds_plug.so finds.c -Wl,--no-as-needed -Lnew -libverbs -Wl,-rpath,"$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_before finder.c finds.c -L. -Wl,--no-as-needed -lfinds -Lnew -libverbs -Wl,-rpath,"$tmp:$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_behind finder.c finds.c -L. -Wl,--no-as-needed -Lnew -libverbs -lfinds -Wl,-rpath,"$tmp:$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_old finder.c finds.c -L. -Wl,--no-as-needed -lfinds -libverbs -Wl,-rpath,"$tmp" || exit 1
how_often() { sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_dmah' AND depth = 0"; }
next_and_default_are_found_and_recorded() {
	same ./finds_before ./finds_plug.so && is "before $(how_often)" "before $(grep -c ' 1$' recorded)" &&
		same ./finds_behind ./finds_plug.so && is "behind $(how_often)" "behind $(grep -c ' 1$' recorded)" &&
		same ./finds_old ./finds_plug.so && is "old $(how_often)" "old $(grep -c ' 1$' recorded)"
}
soft_device_lacks_them() {
	[ "$(uname -m)" = x86_64 ] || return 0
	"$VERBATIM" run --device soft -- ./asks_old >plain 2>&1 && "$VERBATIM" record -q --device soft -o t.db -- ./asks_old >recorded 2>&1 && diff plain recorded
}
guest_exports_none_of_them() { ! nm -D --defined-only "$GUEST" | grep -E 'dmah|reg_mr_ex|comp_cntr|mlx5dv|efadv'; }

# a provider's library with functions beside the verbs
cat >dv.c <<'END'
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
bool mlx5dv_is_supported(struct ibv_device *d) { return d; }
int mlx5dv_init_obj(void *obj, uint64_t type) { errno = ERANGE; return obj ? (int)type : -1; }
double mlx5dv_create_many(int a, int b, int c, int d, int e, int f, int g, int h, double x, double y, ...)
{
	va_list more;
	double z;
	va_start(more, y);
	z = va_arg(more, double);
	va_end(more);
	return a + b + c + d + e + f + g * h + x + y + z;
}
void *_mlx5dv_query_port(void *c) { return c; }
END
cat >direct.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
bool mlx5dv_is_supported(struct ibv_device *);
int mlx5dv_init_obj(void *, uint64_t);
double mlx5dv_create_many(int, int, int, int, int, int, int, int, double, double, ...);
int mlx5dv_open_device(void *) __attribute__((weak));
#ifdef DENY
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
/* no page can be made writable any more */
static void deny(void)
{
	struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { 4, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		printf("no filter\n");
}
#else
static void deny(void) {}
#endif
int main(int argc, char **argv)
{
	struct ibv_device **list = (deny(), ibv_get_device_list(NULL));
	int (*at)(void *, uint64_t) = (int (*)(void *, uint64_t))dlsym(RTLD_DEFAULT, "mlx5dv_init_obj");
	(void)argc;
	printf("%d %d %d\n", mlx5dv_is_supported(NULL), mlx5dv_is_supported((struct ibv_device *)argv), !!mlx5dv_open_device);
	printf("%d %d\n", mlx5dv_init_obj(argv, 3), errno);
	printf("%d\n", at(argv, 4));
	printf("%g\n", mlx5dv_create_many(1, 2, 3, 4, 5, 6, 7, 8, 0.5, 0.25, 100.0));
	printf("%d\n", !!dlsym(RTLD_DEFAULT, "mlx5dv_devx_obj_create"));
	if (list)
		ibv_free_device_list(list);
	return 0;
}
END
mkdir dv && gcc -shared -fPIC -o dv/libmlx5.so.1 dv.c -Wl,-soname,libmlx5.so.1 -libverbs || exit 1
ln -sf libmlx5.so.1 dv/libmlx5.so
gcc -o direct_now direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,now,-z,relro
gcc -DDENY -o direct_denied direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,now,-z,relro
gcc -o direct_lazy direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,lazy

# a plug-in, bound lazily, that comes and goes with its provider, which lies elsewhere each time
cat >moved.c <<'END'
#include <infiniband/verbs.h>
struct ibv_qp *mlx5dv_create_qp(void *c, void *a, void *m) { (void)c, (void)a; return m; }
int mlx5dv_init_obj(void *obj, uint64_t type) { return obj ? (int)type : -1; }
END
cat >plug.c <<'END'
#include <infiniband/verbs.h>
struct ibv_qp *mlx5dv_create_qp(void *, void *, void *);
int mlx5dv_init_obj(void *, uint64_t);
void *run(void *context, void *attr) { return mlx5dv_init_obj(attr, 3) == 3 ? (void *)mlx5dv_create_qp(context, attr, 0) : attr; }
END
cat >moves.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static char context[1024];
int main(int argc, char **argv)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC };
	int places = 0;
	void *before = NULL;
	(void)argc;
	ibv_get_device_list(NULL);
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *plug = dlopen("./plug.so", RTLD_LAZY | RTLD_LOCAL), *mlx5;
		void *(*run)(void *, void *) = plug ? (void *(*)(void *, void *))dlsym(plug, "run") : NULL;
		Dl_info info;
		if (!run)
			return 1;
		if (run(context + 64, &attr))
			return 2;
		mlx5 = dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_NOLOAD);
		if (!mlx5 || !dladdr(dlsym(mlx5, "_init_here"), &info))
			return 3;
		places += info.dli_fbase != before;
		before = info.dli_fbase;
		dlclose(mlx5);
		dlclose(plug);
		/* so that nothing is loaded there again */
		if (i < 8)
			mmap(before, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	printf("%d\n", places > 1);
	return 0;
}
END
echo 'int _init_here;' >>moved.c
mkdir moved && gcc -shared -fPIC -o moved/libmlx5.so.1 moved.c -Wl,-soname,libmlx5.so.1 && ln -sf libmlx5.so.1 moved/libmlx5.so &&
	gcc -shared -fPIC -o plug.so plug.c -Lmoved -lmlx5 -Wl,-rpath,"$tmp/moved",-z,lazy && gcc -o moves moves.c -libverbs || exit 1
provider_that_comes_and_goes_is_followed() {
	same ./moves 200 && grep -q 1 recorded && is "$(calls)" "mlx5dv_init_obj 200" &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'mlx5dv_create_qp'")" 200
}

# as while the loader is still at work on it: what is sealed by rights is not sealed yet
cat >open_plug.c <<'END'
#include <stdint.h>
#include <sys/mman.h>
int mlx5dv_init_obj(void *, uint64_t);
static int one, two;
__attribute__((section(".data.rel.ro"))) int *volatile constant = &one;
__attribute__((constructor)) static void unseal(void) { mprotect((void *)((uintptr_t)&constant & -4096ul), 4096, PROT_READ | PROT_WRITE); }
int run(void *obj) { constant = &two; return mlx5dv_init_obj(obj, 3); }
END
cat >opens.c <<'END'
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
int main(void)
{
	void *plug = (ibv_get_device_list(NULL), dlopen("./open_plug.so", RTLD_NOW));
	int (*run)(void *) = plug ? (int (*)(void *))dlsym(plug, "run") : NULL;
	printf("%d\n", run ? run(plug) : -1);
	return 0;
}
END
gcc -shared -fPIC -o open_plug.so open_plug.c -Lmoved -lmlx5 -Wl,-rpath,"$tmp/moved",-z,now,-z,relro && gcc -o opens opens.c -libverbs || exit 1
page_that_is_not_sealed_stays_so() { same ./opens && grep -q 3 recorded && is "$(calls)" "mlx5dv_init_obj 1"; }

directs="mlx5dv_create_many 1, mlx5dv_init_obj 2" # those that only ask hide nothing
calls() { sql "SELECT group_concat(detail || ' ' || times, ', ') FROM (SELECT * FROM coverage WHERE what = 'direct' ORDER BY detail)"; }

providers_calls_are_counted() {
	same ./direct_now && grep -q 177.75 recorded && is "$(calls)" "$directs" && same ./direct_lazy && is "$(calls)" "$directs" &&
		"$VERBATIM" info t.db | grep -E 'direct +1 +- +2 .*mlx5dv_init_obj' >/dev/null
}
rules_say_what_they_do_not_see() {
	same ./direct_now && "$VERBATIM" check t.db >checked; is $? 0 && grep -q 'mlx5dv_init_obj() gave the program the hardware.s queues (2 calls' checked &&
		grep -q 'LIFE-001.*mlx5dv_create_many() makes or ends objects unseen' checked && ! grep -q is_supported checked || { cat checked; return 1; }
}
# the slots were written when the program began, before it forbade that
program_that_forbids_mprotect_is_counted() {
	same ./direct_denied || return
	! grep -q "no filter" plain || return 0
	is "$(calls)" "mlx5dv_create_many 1, mlx5dv_init_obj 2" &&
		is "$(sql "SELECT count(*) FROM coverage WHERE what = 'direct-linked'")" 0
}
real_providers_library_is_counted() {
	cat >real.c <<-'END'
		#include <infiniband/mlx5dv.h>
		#include <stdio.h>
		int main(void)
		{
			int n = 0;
			struct ibv_device **list = ibv_get_device_list(&n);
			for (int i = 0; i < n; i++)
				printf("%d\n", mlx5dv_is_supported(list[i]));
			printf("%d\n", mlx5dv_init_obj(NULL, 0));
			ibv_free_device_list(list);
			return 0;
		}
	END
	gcc -o real real.c -lmlx5 -libverbs && "$VERBATIM" run --device soft -- ./real >plain 2>&1 &&
		"$VERBATIM" record -q --device soft -o t.db -- ./real >recorded 2>&1 && diff plain recorded &&
		is "$(calls)" "mlx5dv_init_obj 1"
}

# more functions than can be told apart: all are called, and that some were not seen is said
{
	for i in $(seq 700); do echo "int mlx5dv_number_$i(int n) { return n + $i; }"; done
	echo "int mlx5dv_$(printf 'long_%.0s' $(seq 20))(int n) { return n; }"
} >many.c
{
	sed 's/{.*/;/' many.c
	echo '#include <infiniband/verbs.h>
#include <stdio.h>
int main(int argc, char **argv) { int sum = 0; ibv_get_device_list(NULL); if (argc > 1) return printf("%d\n", mlx5dv_number_1(0) + mlx5dv_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_long_(1)), 0;'
	sed -n 's/^int \(mlx5dv_number_[0-9]*\).*/sum = \1(sum);/p' many.c
	echo 'printf("%d\n", sum); return 0; }'
} >many_main.c
mkdir many && gcc -shared -fPIC -o many/libmlx5.so.1 many.c -Wl,-soname,libmlx5.so.1 && ln -sf libmlx5.so.1 many/libmlx5.so &&
	gcc -w -o many_now many_main.c -Lmany -lmlx5 -libverbs -Wl,-rpath,"$tmp/many",-z,now || exit 1
more_than_can_be_seen_are_said() {
	same ./many_now && grep -q 245350 recorded || return
	is "$(sql "SELECT count(*) FROM coverage WHERE what = 'direct' AND times = 1")" 512 &&
		is "$(sql "SELECT group_concat(times) FROM coverage WHERE what = 'imports'")" 1 &&
		"$VERBATIM" info t.db | grep -q '^ *imports ' && same ./many_now short && is "$(sql "SELECT group_concat(what) FROM coverage WHERE what <> 'direct'")" imports
}

# A plug-in that another thread's look finds half loaded: the program's own function is asked for by a
# library of the plug-in's while it is bound, and waits until that look is over.
cat >half.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static atomic_int turn, looker;
static int one(int n) { return n; }
static int is_waiting(void)
{
	char path[64], text[512] = "";
	FILE *f;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", looker);
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
	}
	return strstr(text, ") S ") != NULL;
}
static int (*resolve(void))(int)
{
	turn = 1;
	for (int i = 0; i < 5000 && !is_waiting(); i++)
		usleep(1000);
	return one;
}
int program_has(int n) __attribute__((ifunc("resolve")));
static void *look(void *unused)
{
	looker = gettid();
	while (!turn)
		;
	dlsym(RTLD_DEFAULT, "no_such_thing"); /* looks at what is loaded, then waits for the loader */
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	void *plug;
	int (*run)(void *);
	ibv_get_device_list(NULL);
	pthread_create(&thread, NULL, look, NULL);
	plug = dlopen(argv[1], RTLD_NOW);
	pthread_join(thread, NULL);
	run = plug ? (int (*)(void *))dlsym(plug, "run") : NULL;
	printf("%d %d\n", run ? run(plug) : -1, argc);
	return 0;
}
END
cat >half_plug.c <<'END'
#include <stdint.h>
int mlx5dv_init_obj(void *, uint64_t), helps(void);
int run(void *obj) { return mlx5dv_init_obj(obj, helps()); }
END
echo 'int program_has(int n); int helps(void) { return program_has(3); }' >half_help.c
gcc -shared -fPIC -o libhalf_help.so half_help.c -Wl,-z,now &&
	gcc -shared -fPIC -o half_plt.so half_plug.c -L. -lhalf_help -Lmoved -lmlx5 -Wl,-rpath,"$tmp:$tmp/moved",-z,now &&
	gcc -shared -fPIC -fno-plt -o half_noplt.so half_plug.c -L. -lhalf_help -Lmoved -lmlx5 -Wl,-rpath,"$tmp:$tmp/moved",-z,now &&
	gcc -rdynamic -o half half.c -libverbs -lpthread || exit 1
half_loaded_plugin_is_looked_at_again() {
	for how in plt noplt; do
		same ./half ./half_$how.so && grep -q '^3 2$' recorded && is "$how $(calls)" "$how mlx5dv_init_obj 1" || return
	done
}

# objects that providers make in ways of their own: recorded, and so is what is done with them
cat >base.map <<'END'
IBVERBS_1.1 { global: ibv_get_device_list; ibv_destroy_cq; ibv_destroy_qp; local: *; };
IBVERBS_1.6 { global: ibv_qp_to_qp_ex; } IBVERBS_1.1;
END
cat >base.c <<'END'
#include <infiniband/verbs.h>
#include <stdlib.h>
struct ibv_device **(ibv_get_device_list)(int *n) { if (n) *n = 0; return NULL; }
int ibv_destroy_cq(struct ibv_cq *cq) { (void)cq; return 0; }
int ibv_destroy_qp(struct ibv_qp *qp) { (void)qp; return 0; }
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp) { return (struct ibv_qp_ex *)qp; }
END
cat >made.c <<'END'
#include <errno.h>
#include <infiniband/verbs.h>
static int start(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *a) { (void)a; cq->wr_id = 5; return 0; }
static int next(struct ibv_cq_ex *cq) { (void)cq; return ENOENT; }
static enum ibv_wc_opcode opcode(struct ibv_cq_ex *cq) { (void)cq; return IBV_WC_SEND; }
static uint32_t number(struct ibv_cq_ex *cq) { (void)cq; return 17; }
static unsigned int flags(struct ibv_cq_ex *cq) { (void)cq; return 0; }
static void nothing(struct ibv_qp_ex *qp) { (void)qp; }
static int complete(struct ibv_qp_ex *qp) { (void)qp; return 0; }
static void sge(struct ibv_qp_ex *qp, uint32_t k, uint64_t a, uint32_t n) { (void)qp, (void)k, (void)a, (void)n; }
static struct ibv_cq_ex cq = { .start_poll = start, .next_poll = next, .end_poll = (void (*)(struct ibv_cq_ex *))nothing,
	.read_opcode = opcode, .read_qp_num = number, .read_wc_flags = flags, .read_flow_tag = number };
static struct ibv_qp_ex qp = { .qp_base = { .qp_num = 17 }, .wr_start = nothing, .wr_complete = complete, .wr_abort = nothing,
	.wr_send = nothing, .wr_set_sge = sge };
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *c, struct ibv_cq_init_attr_ex *a, void *m) { (void)m; cq.context = c; cq.cqe = (int)a->cqe; return &cq; }
struct ibv_qp *mlx5dv_create_qp(struct ibv_context *c, struct ibv_qp_init_attr_ex *a, void *m)
{
	qp.qp_base.context = c, qp.qp_base.send_cq = a->send_cq;
	errno = ENOSYS;
	return m ? &qp.qp_base : NULL;
}
END
cat >maker.c <<'END'
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *, struct ibv_cq_init_attr_ex *, void *);
struct ibv_qp *mlx5dv_create_qp(struct ibv_context *, struct ibv_qp_init_attr_ex *, void *);
int main(void)
{
	static char context[512];
	struct ibv_cq_init_attr_ex ca = { .cqe = 9, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG };
	struct ibv_qp_init_attr_ex qa = { .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	ibv_get_device_list(NULL);
	cq = mlx5dv_create_cq((struct ibv_context *)context, &ca, NULL);
	qa.send_cq = ibv_cq_ex_to_cq(cq);
	printf("%p %d\n", (void *)mlx5dv_create_qp((struct ibv_context *)context, &qa, NULL), errno);
	qp = mlx5dv_create_qp((struct ibv_context *)context, &qa, context);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 1, 2, 3);
	printf("%d\n", ibv_wr_complete(ex));
	printf("%d %d\n", ibv_start_poll(cq, &attr), ibv_wc_read_flow_tag(cq));
	ibv_end_poll(cq);
	printf("%d\n", ibv_destroy_qp(qp));
	printf("%d\n", ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	return 0;
}
END
mkdir made && gcc -shared -fPIC -o made/libibverbs.so.1 base.c -Wl,-soname,libibverbs.so.1,--version-script=base.map &&
	gcc -shared -fPIC -o made/libmlx5.so.1 made.c -Wl,-soname,libmlx5.so.1 && ln -sf libmlx5.so.1 made/libmlx5.so && ln -sf libibverbs.so.1 made/libibverbs.so || exit 1
for how in now lazy; do
	gcc -o maker_$how maker.c -Lmade -lmlx5 -libverbs -Wl,-rpath,"$tmp/made",-z,$how
done
objects_of_providers_are_recorded() {
	local how
	for how in now lazy; do
		same ./maker_$how && is "$(sql "SELECT group_concat(name || ' ' || (destroyed_n > 0), ', ') FROM object WHERE kind IN ('cq', 'qp')")" "cq1 1, qp1 1" &&
			is "$(sql "SELECT group_concat(verb || ' ' || failed, ', ') FROM call WHERE verb LIKE 'mlx5dv%'")" "mlx5dv_create_cq 0, mlx5dv_create_qp 1, mlx5dv_create_qp 0" &&
			is "$(sql "SELECT json_extract(args, '$.cq_attr.cqe') FROM call WHERE verb = 'mlx5dv_create_cq'")" 9 &&
			is "$(sql "SELECT r.wr_id || ' ' || r.bytes || ' ' || w.flow_tag || ' ' || (w.wr_n = r.n) FROM wr r, wc w")" "5 3 17 1" &&
			is "$(sql 'SELECT count(*) FROM coverage')" 0 && "$VERBATIM" check t.db >checked || { cat checked; return 1; }
	done
	"$VERBATIM" dump t.db >dump && grep -q 'mlx5dv_create_qp(.* = qp1' dump
}

# each function of the list once: it is found with its arguments, and what it made
cat >all.map <<'END'
IBVERBS_1.1 { global: ibv_get_device_list; ibv_query_device; local: *; };
END
cat >all.c <<'END'
#include <errno.h>
#include <infiniband/verbs.h>
struct ibv_device **(ibv_get_device_list)(int *n) { if (n) *n = 0; return NULL; }
int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a) { (void)c, (void)a; return ENOSYS; }
END
cat >each.h <<'END'
#include <infiniband/verbs.h>
#define C struct ibv_context *
#define V void *
#define LIST(F) \
	F(mlx5, struct ibv_context, mlx5dv_open_device, (struct ibv_device *d, V a), (place, mark)) \
	F(mlx5, struct ibv_cq_ex, mlx5dv_create_cq, (C c, struct ibv_cq_init_attr_ex *a, V m), (place, &cq_attr, mark)) \
	F(mlx5, struct ibv_qp, mlx5dv_create_qp, (C c, struct ibv_qp_init_attr_ex *a, V m), (place, &qp_attr, mark)) \
	F(mlx5, struct ibv_wq, mlx5dv_create_wq, (C c, struct ibv_wq_init_attr *a, V m), (place, &wq_attr, mark)) \
	F(mlx5, struct ibv_dm, mlx5dv_alloc_dm, (C c, struct ibv_alloc_dm_attr *a, V m), (place, &dm_attr, mark)) \
	F(mlx5, struct ibv_mr, mlx5dv_reg_dmabuf_mr, (struct ibv_pd *p, uint64_t o, size_t l, uint64_t i, int f, int a, int m), (place, 1, 2, 3, 4, 1, 6)) \
	F(mlx5, struct ibv_flow, mlx5dv_create_flow, (V m, V v, size_t n, V a), (place, mark, 3, mark)) \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_esp, (C c, V e, V a), (place, mark, mark)) \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_modify_header, (C c, size_t n, V a, int t), (place, 2, mark, 7)) \
	F(mlx5, struct ibv_flow_action, mlx5dv_create_flow_action_packet_reformat, (C c, size_t n, V d, int r, int t), (place, 2, mark, 5, 7)) \
	F(mlx4, struct ibv_qp, mlx4dv_create_qp, (C c, struct ibv_qp_init_attr_ex *a, V m), (place, &qp_attr, mark)) \
	F(efa, struct ibv_qp, efadv_create_driver_qp, (struct ibv_pd *p, struct ibv_qp_init_attr *a, uint32_t t), (place, (V)&qp_attr, 7)) \
	F(efa, struct ibv_qp, efadv_create_qp_ex, (C c, struct ibv_qp_init_attr_ex *a, V e, uint32_t n), (place, &qp_attr, mark, 16)) \
	F(efa, struct ibv_cq_ex, efadv_create_cq, (C c, struct ibv_cq_init_attr_ex *a, V e, uint32_t n), (place, &cq_attr, mark, 16))
#define F(library, type, name, params, args) type *name params;
LIST(F)
#undef F
END
for library in mlx5 mlx4 efa; do
	{
		echo '#include "each.h"'
		echo "#define is_$library 1"
		printf '#define %s(t, n, p) static char the_##n[1024]; t *n p { return (V)(the_##n + 64); }\n' DEFINE
		printf '#define IF_%s(t, n, p) DEFINE(t, n, p)\n' $library
		for other in mlx5 mlx4 efa; do [ $other = $library ] || echo "#define IF_$other(t, n, p)"; done
		echo '#define F(library, type, name, params, args) IF_##library(type, name, params)'
		echo 'LIST(F)'
	} >each_$library.c
done
cat >caller.c <<'END'
#include "each.h"
#include <stdio.h>
static char room[1024];
int main(void)
{
	V place = room + 64, *mark = (V)0x77;
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 21 };
	struct ibv_qp_init_attr_ex qp_attr = { .qp_type = IBV_QPT_RC };
	struct ibv_wq_init_attr wq_attr = { .max_wr = 22 };
	struct ibv_alloc_dm_attr dm_attr = { .length = 23 };
	ibv_get_device_list(NULL);
#define F(library, type, name, params, args) printf(#name " %d\n", !!name args);
	LIST(F)
	return 0;
}
END
mkdir all && gcc -shared -fPIC -o all/libibverbs.so.1 all.c -Wl,-soname,libibverbs.so.1,--version-script=all.map && ln -sf libibverbs.so.1 all/libibverbs.so || exit 1
for library in mlx5 mlx4 efa; do
	gcc -w -shared -fPIC -o all/lib$library.so.1 each_$library.c -Wl,-soname,lib$library.so.1 && ln -sf lib$library.so.1 all/lib$library.so || exit 1
done
gcc -w -o caller caller.c -Lall -lmlx5 -lmlx4 -lefa -libverbs -Wl,-rpath,"$tmp/all"
each_function_of_the_list_is_recorded() {
	same ./caller || return
	for name in $(sed -n 's/^dv .*[ *]\([a-z0-9_]*dv_[a-z0-9_]*\)(.*/\1/p' "$OLDPWD/core/wire/verbs.list"); do
		is "$name $(sql "SELECT count(*) || ' ' || sum(failed) FROM call WHERE verb = '$name'")" "$name 1 0" && grep -q "^$name 1" plain || return
	done
	is "$(sql "SELECT group_concat(kind || n, ' ') FROM (SELECT kind, count(*) AS n FROM object WHERE created_n > 0 GROUP BY kind ORDER BY kind)")" \
		"context1 cq2 dm1 flow1 flow_action3 mr1 qp4 wq1" &&
		is "$(sql "SELECT json_extract(args, '$.mlx5_qp_attr') || ' ' || json_extract(args, '$.qp_attr.qp_type') FROM call WHERE verb = 'mlx5dv_create_qp'")" "119 IBV_QPT_RC" &&
		is "$(sql "SELECT json_extract(args, '$.fd') || ' ' || json_extract(args, '$.mlx5_access') FROM call WHERE verb = 'mlx5dv_reg_dmabuf_mr'")" "4 6" &&
		is "$(sql "SELECT json_extract(args, '$.wq_init_attr.max_wr') FROM call WHERE verb = 'mlx5dv_create_wq'")" 22 &&
		is "$(sql "SELECT json_extract(args, '$.dm_attr.length') FROM call WHERE verb = 'mlx5dv_alloc_dm'")" 23 &&
		is "$(sql "SELECT json_extract(args, '$.inlen') FROM call WHERE verb = 'efadv_create_cq'")" 16 && is "$(sql 'SELECT count(*) FROM coverage')" 0
}

if [ "$(uname -m)" != x86_64 ]; then
	echo "skip later: only for x86-64"
	exit
fi
for each in bound_at_the_start_is_recorded bound_through_data_is_recorded bound_lazily_is_recorded arguments_and_results_are_recorded \
	what_is_missing_stays_missing what_is_there_is_found_and_recorded next_and_default_are_found_and_recorded soft_device_lacks_them guest_exports_none_of_them \
	objects_of_providers_are_recorded each_function_of_the_list_is_recorded providers_calls_are_counted provider_that_comes_and_goes_is_followed \
	page_that_is_not_sealed_stays_so more_than_can_be_seen_are_said half_loaded_plugin_is_looked_at_again rules_say_what_they_do_not_see program_that_forbids_mprotect_is_counted real_providers_library_is_counted; do
	try $each
done
