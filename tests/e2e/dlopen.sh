# Programs that look up verbs of libibverbs by dlopen and dlsym, and programs that use dlsym for
# other things.
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

# RTLD_NEXT depends on the caller: a library that interposes puts() and counts
next_means_next() {
	gcc -shared -fPIC -o "$tmp/libbefore.so" tests/e2e/dlopen/before.c &&
		gcc -o "$tmp/main" tests/e2e/dlopen/main.c -Wl,--no-as-needed -L"$tmp" -lbefore \
		-Wl,-rpath,"$tmp" &&
		same "$tmp/main" && is "$(cat "$tmp/recorded")" "before: hello"
}

# many libraries, each opened and searched
plugins_stay_as_they_are() {
	same timeout 60 python3 tests/e2e/dlopen/many.py
}

# The library is unloaded as without us, and each call after it is loaded again is recorded. One has
# global scope, and one local scope, which no RTLD_NEXT finds.
compile_plugs() {
	gcc -o "$tmp/host" tests/e2e/dlopen/host.c -ldl &&
		gcc -shared -fPIC -DCM -o "$tmp/cm.so" tests/e2e/dlopen/plug.c -lrdmacm &&
		gcc -shared -fPIC -o "$tmp/verbs.so" tests/e2e/dlopen/plug.c -libverbs
}
count() { "$VERBATIM" sql "$t" "SELECT count(*) FROM call WHERE verb = '$1' AND depth = 0"; }
library_that_comes_and_goes_is_recorded() {
	compile_plugs || return
	for each in "$tmp/cm.so" librdmacm.so.1; do
		for scope in "" global; do
			same "$tmp/host" "$each" $scope &&
				is "channels" "$(count rdma_create_event_channel)" 4 &&
				is "gone" "$(grep -c "mapped: 0 0" "$tmp/recorded")" 4 || return
		done
	done
}
# rdma-core's own libibverbs, which the software device would interpose
verbs_that_come_and_go_are_recorded() {
	compile_plugs || return
	for scope in "" global; do
		"$tmp/host" "$tmp/verbs.so" $scope >"$tmp/plain" || return
		rm -rf "$tmp/d" "$t"
		VERBATIM_DIR=$tmp/d LD_PRELOAD=$libs/libverbatim.so "$tmp/host" "$tmp/verbs.so" \
			$scope >"$tmp/recorded" || return
		diff "$tmp/plain" "$tmp/recorded" && "$VERBATIM" collect -q -o "$t" "$tmp/d" &&
			is "lists" "$(count ibv_get_device_list)" 4 || return
	done
}

# The functions of a library that is not loaded cost its program one look-up, not one each.
absent_libraries_are_looked_for_once() {
	command -v strace >/dev/null || return 0
	"$VERBATIM" record -q -o "$t" -- strace -qq -e trace=openat -o "$tmp/opened" \
		"$apps/guest" >/dev/null || return
	for each in librdmacm libmlx5 libmlx4 libefa; do
		[ "$(grep -c "/$each.so.1\".*= [0-9]" "$tmp/opened")" -le 1 ] ||
			{ grep $each "$tmp/opened"; return 1; }
	done
}

mpi_runs() {
	command -v mpirun >/dev/null || return 0
	same mpirun --allow-run-as-root --oversubscribe -n 2 --mca btl self,vader hostname
}

for each in plugin_of_local_scope_is_recorded library_by_path_is_recorded ctypes_are_recorded \
	next_means_next plugins_stay_as_they_are library_that_comes_and_goes_is_recorded \
	verbs_that_come_and_go_are_recorded absent_libraries_are_looked_for_once \
	mpi_runs; do
	try $each
done
