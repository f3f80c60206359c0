# Programs that take verbs out of libibverbs by dlopen and dlsym, and those that use dlsym for
# all else.
. tests/e2e/lib/try.sh
app=$PWD/$BUILD/tests/apps/plugin
verbs() {
	"$VERBATIM" sql "$t" "select group_concat(verb, ' ') from
		(select distinct verb from call where not ours and depth = 0 order by begin)"
}

# recorded, and with the same output as without the recorder
same() {
	rm -f "$t"
	"$VERBATIM" run --device soft -- "$@" >"$tmp/plain" 2>&1
	local status=$?
	"$VERBATIM" record -q --device soft -o "$t" -- "$@" >"$tmp/recorded" 2>&1
	is $? $status && diff "$tmp/plain" "$tmp/recorded"
}

all="ibv_get_device_list ibv_open_device ibv_alloc_pd ibv_reg_mr"
all+=" ibv_dereg_mr ibv_dealloc_pd ibv_close_device"

plugin_of_local_scope_is_recorded() {
	same "$app" && grep -q "of its own: 1" "$tmp/recorded" && is "$(verbs)" "$all" &&
		"$VERBATIM" check "$t" >/dev/null
}
library_by_path_is_recorded() {
	same "$app" "$(ldconfig -p | sed -n 's/.*libibverbs.so.1 .*x86-64.*=> //p' | head -1)" &&
		is "$(verbs)" "$all"
}

ctypes_are_recorded() {
	local called="ibv_get_device_list ibv_open_device ibv_alloc_pd"
	called+=" ibv_dealloc_pd ibv_close_device ibv_free_device_list"
	same python3 tests/e2e/dlopen/verbs.py && is "$(verbs)" "$called"
}

# what is meant by RTLD_NEXT depends on who asks: a library that stands before puts() and counts
next_means_next() {
	gcc -shared -fPIC -o "$tmp/libbefore.so" tests/e2e/dlopen/before.c &&
		gcc -o "$tmp/main" tests/e2e/dlopen/main.c -Wl,--no-as-needed -L"$tmp" -lbefore \
		-Wl,-rpath,"$tmp" &&
		same "$tmp/main" && is "$(cat "$tmp/recorded")" "before: hello"
}

# many libraries, each opened and asked
plugins_stay_as_they_are() {
	same timeout 60 python3 tests/e2e/dlopen/many.py
}

mpi_runs() {
	command -v mpirun >/dev/null || return 0
	same mpirun --allow-run-as-root --oversubscribe -n 2 --mca btl self,vader hostname
}

for each in plugin_of_local_scope_is_recorded library_by_path_is_recorded ctypes_are_recorded \
	next_means_next plugins_stay_as_they_are mpi_runs; do
	try $each
done
