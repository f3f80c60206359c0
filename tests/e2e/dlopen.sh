# Programs that take verbs out of libibverbs by dlopen and dlsym, and those that use dlsym for all else.
. tests/e2e/lib/try.sh
app=$PWD/$BUILD/tests/apps/plugin
verbs() { "$VERBATIM" sql "$t" "select group_concat(verb, ' ') from (select distinct verb from call where not ours and depth = 0 order by begin)"; }

# recorded, and with the same output as without the recorder
same() {
	rm -f "$t"
	"$VERBATIM" run --device soft -- "$@" >"$tmp/plain" 2>&1
	local status=$?
	"$VERBATIM" record -q --device soft -o "$t" -- "$@" >"$tmp/recorded" 2>&1
	is $? $status && diff "$tmp/plain" "$tmp/recorded"
}

all="ibv_get_device_list ibv_open_device ibv_alloc_pd ibv_reg_mr ibv_dereg_mr ibv_dealloc_pd ibv_close_device"

plugin_of_local_scope_is_recorded() { same "$app" && grep -q "of its own: 1" "$tmp/recorded" && is "$(verbs)" "$all" && "$VERBATIM" check "$t" >/dev/null; }
library_by_path_is_recorded() {
	same "$app" "$(ldconfig -p | sed -n 's/.*libibverbs.so.1 .*x86-64.*=> //p' | head -1)" && is "$(verbs)" "$all"
}

cat >"$tmp/verbs.py" <<'END'
import ctypes
lib = ctypes.CDLL("libibverbs.so.1", use_errno=True)
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_open_device.restype = lib.ibv_alloc_pd.restype = ctypes.c_void_p
devices = lib.ibv_get_device_list(None)
context = lib.ibv_open_device(ctypes.c_void_p(devices[0]))
pd = lib.ibv_alloc_pd(ctypes.c_void_p(context))
print(lib.ibv_dealloc_pd(ctypes.c_void_p(pd)), lib.ibv_close_device(ctypes.c_void_p(context)))
lib.ibv_free_device_list(devices)
lib.ibv_wc_status_str.restype = ctypes.c_char_p
print(lib.ibv_wc_status_str(5).decode(), hasattr(lib, "ibv_no_such_verb"), hasattr(lib, "malloc"))
END
ctypes_are_recorded() {
	same python3 "$tmp/verbs.py" &&
		is "$(verbs)" "ibv_get_device_list ibv_open_device ibv_alloc_pd ibv_dealloc_pd ibv_close_device ibv_free_device_list"
}

# what is meant by RTLD_NEXT depends on who asks: a library that stands before puts() and counts
next_means_next() {
	cat >"$tmp/before.c" <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		int puts(const char *s) { int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts"); printf("before: "); return next(s); }
	END
	echo '#include <stdio.h>
int main(void) { return puts("hello") < 0; }' >"$tmp/main.c"
	gcc -shared -fPIC -o "$tmp/libbefore.so" "$tmp/before.c" && gcc -o "$tmp/main" "$tmp/main.c" -Wl,--no-as-needed -L"$tmp" -lbefore -Wl,-rpath,"$tmp" &&
		same "$tmp/main" && is "$(cat "$tmp/recorded")" "before: hello"
}

# many libraries, each opened and asked
plugins_stay_as_they_are() {
	cat >"$tmp/many.py" <<-'END'
		import ctypes, glob, json, sqlite3, ssl, sys, decimal, hashlib, zlib
		for path in sorted(glob.glob("/usr/lib/x86_64-linux-gnu/lib[a-z]*.so.[0-9]"))[:200]:
		    if "san.so" in path: # they must come first, and end the process
		        continue
		    try:
		        lib = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
		        print(path, [hasattr(lib, name) for name in ("malloc", "ibv_reg_mr", "main", "rdma_connect", "zlibVersion")])
		    except OSError as e:
		        print(path, "cannot be opened")
	END
	same timeout 60 python3 "$tmp/many.py"
}

mpi_runs() {
	command -v mpirun >/dev/null || return 0
	same mpirun --allow-run-as-root --oversubscribe -n 2 --mca btl self,vader hostname
}

for each in plugin_of_local_scope_is_recorded library_by_path_is_recorded ctypes_are_recorded next_means_next plugins_stay_as_they_are mpi_runs; do
	try $each
done
