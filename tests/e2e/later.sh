# Verbs that only newer libibverbs have, and functions of providers beyond the verbs: recorded,
# counted, and never visible to a program whose own libraries lack them.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE # the libraries are built here
GUEST=$libs/libverbatim.so
cp -r tests/e2e/later/* "$tmp" && cd "$tmp" || exit 1

# PROGRAM ARGS: recorded without a collector, with the same output as without the recorder
same() {
	rm -rf d t.db
	"$@" >plain 2>&1
	local status=$?
	VERBATIM_DIR=$tmp/d LD_PRELOAD=$GUEST "$@" >recorded 2>&1
	is $? $status && diff plain recorded && "$VERBATIM" collect -q -o t.db d
}

# a newer libibverbs, with the functions that this program calls
mkdir new && gcc -shared -fPIC -o new/libibverbs.so.1 verbs.c -Wl,-soname,libibverbs.so.1 \
	-Wl,--version-script=verbs.map || exit 1
ln -sf libibverbs.so.1 new/libibverbs.so
# BIND_NOW with RELRO, lazily, and as a plug-in of its own scope
gcc -o now program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new",-z,now,-z,relro
gcc -fno-plt -fPIC -o noplt program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new"
gcc -o lazy program.c -Lnew -libverbs -Wl,-rpath,"$tmp/new",-z,lazy,-z,norelro

verbs="ibv_alloc_dmah ibv_alloc_dmah ibv_dealloc_dmah ibv_reg_mr_ex ibv_dm_export_dmabuf_fd
	ibv_query_port_speed ibv_alloc_buf ibv_free_buf ibv_reg_buf_mr ibv_export_buf_dmabuf_fd
	ibv_query_comp_cntr_caps ibv_create_comp_cntr ibv_destroy_comp_cntr ibv_set_comp_cntr
	ibv_set_err_comp_cntr ibv_inc_comp_cntr ibv_inc_err_comp_cntr ibv_read_comp_cntr
	ibv_read_err_comp_cntr
	ibv_qp_attach_comp_cntr ibv_qp_attach_comp_cntr ibv_get_device_list ibv_free_device_list"
all_are_there() {
	is "$(sql 'SELECT verb FROM call ORDER BY verb' | tr '\n' ' ')" \
		"$(printf '%s\n' $verbs | LC_ALL=C sort | tr '\n' ' ')"
}
out() { sql "SELECT json_extract($1, '$2') FROM call WHERE verb = 'ibv_$3' ORDER BY n LIMIT 1"; }

bound_at_the_start_is_recorded() { same ./now && all_are_there; }
bound_through_data_is_recorded() { same ./noplt && all_are_there; }
bound_lazily_is_recorded() { same ./lazy && all_are_there; }
arguments_and_results_are_recorded() {
	same ./now &&
		is "$(out args '$.attr.cpu_id' alloc_dmah)" 7 &&
		is "$(out args '$.attr.ph' alloc_dmah)" 2 &&
		is "$(out args '$.attr.tph_mem_type' alloc_dmah)" "" &&
		is "$(out args '$.mr_init_attr.length' reg_mr_ex)" 64 &&
		is "$(out args '$.mr_init_attr.fd' reg_mr_ex)" "" &&
		is "$(out out '$.ret.lkey' reg_mr_ex)" 17 &&
		is "$(out args '$.port_num' query_port_speed)" 2 &&
		is "$(out out '$.port_speed' query_port_speed)" 4002 &&
		is "$(out out '$.value' read_comp_cntr) $(out out '$.value' read_err_comp_cntr)" \
			"42 7" &&
		is "$(out args '$.attr.op_mask' qp_attach_comp_cntr)" 5 &&
		is "$(out out '$.caps.max_counters' query_comp_cntr_caps)" 5 &&
		is "$(sql "SELECT verb || ' ' || error FROM call WHERE failed" | paste -sd,)" \
			"ibv_alloc_dmah 22,ibv_dm_export_dmabuf_fd 95,ibv_qp_attach_comp_cntr 95" &&
		is "$(sql "SELECT group_concat(name, ' ') FROM (SELECT name FROM object
			WHERE kind IN ('dmah', 'mr', 'comp_cntr')
			AND NOT (created_n IS NULL) ORDER BY id)")" "dmah1 mr1 mr2 comp_cntr1" &&
		is "$(sql "SELECT count(*)
			FROM ref WHERE path = 'mr_init_attr.dmah' AND object > 0")" 1 &&
		"$VERBATIM" dump t.db >dump &&
		grep -q 'ibv_alloc_dmah(.*cpu_id=7, ph=2.* = dmah1' dump
}

gcc -fPIC -o asks_old asks.c -libverbs
gcc -fPIC -o asks_new asks.c -Lnew -libverbs -Wl,-rpath,"$tmp/new"
what_is_missing_stays_missing() {
	same ./asks_old && grep -q "weak 0 0" recorded && grep -q "default 0" recorded &&
		grep -q "handle 0" recorded &&
		is "$(sql "SELECT count(*) FROM call WHERE verb LIKE '%dmah'")" 0 &&
		is "$(sql 'SELECT count(*) FROM coverage')" 0
}
what_is_there_is_found_and_recorded() {
	same ./asks_new && grep -q "weak 1 1" recorded && grep -q "handle 1" recorded &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_dmah'")" 3
}
# by RTLD_NEXT, from the program and from its library; by RTLD_DEFAULT, from a plug-in with local
# scope
gcc -DFINDS=library_finds -shared -fPIC -o libfinds.so finds.c -Wl,-soname,libfinds.so &&
	gcc -DPLUG -DFINDS=plug_finds -shared -fPIC -o finds_plug.so finds.c -Wl,--no-as-needed \
		-Lnew -libverbs -Wl,-rpath,"$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_before finder.c finds.c -L. -Wl,--no-as-needed -lfinds \
		-Lnew -libverbs -Wl,-rpath,"$tmp:$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_behind finder.c finds.c -L. -Wl,--no-as-needed -Lnew \
		-libverbs -lfinds -Wl,-rpath,"$tmp:$tmp/new" &&
	gcc -DFINDS=program_finds -o finds_old finder.c finds.c -L. -Wl,--no-as-needed -lfinds \
		-libverbs -Wl,-rpath,"$tmp" || exit 1
how_often() { sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_dmah' AND depth = 0"; }
next_and_default_are_found_and_recorded() {
	same ./finds_before ./finds_plug.so &&
		is "before $(how_often)" "before $(grep -c ' 1$' recorded)" &&
		same ./finds_behind ./finds_plug.so &&
		is "behind $(how_often)" "behind $(grep -c ' 1$' recorded)" &&
		same ./finds_old ./finds_plug.so &&
		is "old $(how_often)" "old $(grep -c ' 1$' recorded)"
}
soft_device_lacks_them() {
	[ "$(uname -m)" = x86_64 ] || return 0
	"$VERBATIM" run --device soft -- ./asks_old >plain 2>&1 &&
		"$VERBATIM" record -q --device soft -o t.db -- ./asks_old >recorded 2>&1 &&
		diff plain recorded
}
guest_exports_none_of_them() {
	! nm -D --defined-only "$GUEST" | grep -E 'dmah|reg_mr_ex|comp_cntr|mlx5dv|efadv'
}

# a provider's library with functions beyond the verbs
mkdir dv && gcc -shared -fPIC -o dv/libmlx5.so.1 dv.c -Wl,-soname,libmlx5.so.1 -libverbs || exit 1
ln -sf libmlx5.so.1 dv/libmlx5.so
gcc -o direct_now direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,now,-z,relro
gcc -DDENY -o direct_denied direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,now,-z,relro
gcc -o direct_lazy direct.c -Ldv -lmlx5 -libverbs -Wl,-rpath,"$tmp/dv",-z,lazy

# a plug-in, bound lazily, that is loaded and unloaded with its provider, at another address each
# time
mkdir moved && gcc -shared -fPIC -o moved/libmlx5.so.1 moved.c -Wl,-soname,libmlx5.so.1 &&
	ln -sf libmlx5.so.1 moved/libmlx5.so &&
	gcc -shared -fPIC -o plug.so plug.c -Lmoved -lmlx5 -Wl,-rpath,"$tmp/moved",-z,lazy &&
	gcc -o moves moves.c -libverbs || exit 1
provider_that_comes_and_goes_is_followed() {
	same ./moves 200 && grep -q 1 recorded && is "$(calls)" "mlx5dv_init_obj 200" &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'mlx5dv_create_qp'")" 200
}

# as while the loader still works on it: RELRO pages are not read-only yet
gcc -shared -fPIC -o open_plug.so open_plug.c -Lmoved -lmlx5 \
	-Wl,-rpath,"$tmp/moved",-z,now,-z,relro && gcc -o opens opens.c -libverbs || exit 1
page_that_is_not_sealed_stays_so() {
	same ./opens && grep -q 3 recorded && is "$(calls)" "mlx5dv_init_obj 1"
}

directs="mlx5dv_create_many 1, mlx5dv_init_obj 2" # functions that only query hide nothing
calls() {
	sql "SELECT group_concat(detail || ' ' || times, ', ') FROM
		(SELECT * FROM coverage WHERE what = 'direct' ORDER BY detail)"
}

providers_calls_are_counted() {
	same ./direct_now && grep -q 177.75 recorded && is "$(calls)" "$directs" &&
		same ./direct_lazy && is "$(calls)" "$directs" &&
		"$VERBATIM" info t.db | grep -E 'direct +1 +- +2 .*mlx5dv_init_obj' >/dev/null
}
recorder_says_at_once_what_it_does_not_see() {
	"$VERBATIM" record -d soft -o t.db ./direct_now >out 2>err
	is "$(grep -c 'called mlx5dv_init_obj(): posts .* UCX_TLS=rc_v' err)" 1 || cat err
}
rules_say_what_they_do_not_see() {
	same ./direct_now && "$VERBATIM" check t.db >checked; is $? 0 &&
		sed -n 2p checked | grep -q 'NOT RECORDED: .*(mlx5dv_init_obj(), 2 calls)' &&
		sed -n 3,4p checked | grep -q 'UCX_TLS=rc_v,ud_v,self,sm' &&
		grep -q 'mlx5dv_init_obj() gave the program the hardware.s queues (2 calls' \
		checked &&
		grep -q 'not checked.*mlx5dv_create_many() creates or destroys objects' checked &&
		! grep -q is_supported checked || { cat checked; return 1; }
}
# the slots were written when the program started, before it forbade that
program_that_forbids_mprotect_is_counted() {
	same ./direct_denied || return
	! grep -q "no filter" plain || return 0
	is "$(calls)" "mlx5dv_create_many 1, mlx5dv_init_obj 2" &&
		is "$(sql "SELECT count(*) FROM coverage WHERE what = 'direct-linked'")" 0
}
real_providers_library_is_counted() {
	gcc -o real real.c -lmlx5 -libverbs &&
		"$VERBATIM" run --device soft -- ./real >plain 2>&1 &&
		"$VERBATIM" record -q --device soft -o t.db -- ./real >recorded 2>&1 &&
		diff plain recorded &&
		is "$(calls)" "mlx5dv_init_obj 1"
}

# more functions than there are counters: all are called, and the report says that some were not
# observed
long=mlx5dv_$(printf 'long_%.0s' $(seq 20))
{
	for i in $(seq 700); do echo "int mlx5dv_number_$i(int n) { return n + $i; }"; done
	echo "int $long(int n) { return n; }"
} >many.c
{
	sed 's/{.*/;/' many.c
	echo '#include <infiniband/verbs.h>
#include <stdio.h>
int main(int argc, char **argv) { int sum = 0; ibv_get_device_list(NULL);'
	echo "if (argc > 1) return printf(\"%d\\n\", mlx5dv_number_1(0) + $long(1)), 0;"
	sed -n 's/^int \(mlx5dv_number_[0-9]*\).*/sum = \1(sum);/p' many.c
	echo 'printf("%d\n", sum); return 0; }'
} >many_main.c
mkdir many && gcc -shared -fPIC -o many/libmlx5.so.1 many.c -Wl,-soname,libmlx5.so.1 &&
	ln -sf libmlx5.so.1 many/libmlx5.so &&
	gcc -w -o many_now many_main.c -Lmany -lmlx5 -libverbs -Wl,-rpath,"$tmp/many",-z,now ||
	exit 1
more_than_can_be_seen_are_reported() {
	same ./many_now && grep -q 245350 recorded || return
	is "$(sql "SELECT count(*) FROM coverage WHERE what = 'direct' AND times = 1")" 512 &&
		is "$(sql "SELECT group_concat(times) FROM coverage WHERE what = 'imports'")" 1 &&
		"$VERBATIM" info t.db | grep -q '^ *imports ' && same ./many_now short &&
		is "$(sql "SELECT group_concat(what) FROM coverage WHERE what <> 'direct'")" imports
}

# Another thread's scan finds a plug-in half loaded: while it is bound, one of its libraries calls
# the program's own function, which waits until that scan is over.
echo 'int program_has(int n); int helps(void) { return program_has(3); }' >half_help.c
gcc -shared -fPIC -o libhalf_help.so half_help.c -Wl,-z,now &&
	gcc -shared -fPIC -o half_plt.so half_plug.c -L. -lhalf_help -Lmoved -lmlx5 \
		-Wl,-rpath,"$tmp:$tmp/moved",-z,now &&
	gcc -shared -fPIC -fno-plt -o half_noplt.so half_plug.c -L. -lhalf_help -Lmoved -lmlx5 \
		-Wl,-rpath,"$tmp:$tmp/moved",-z,now &&
	gcc -rdynamic -o half half.c -libverbs -lpthread || exit 1
half_loaded_plugin_is_looked_at_again() {
	for how in plt noplt; do
		same ./half ./half_$how.so && grep -q '^3 2$' recorded &&
			is "$how $(calls)" "$how mlx5dv_init_obj 1" || return
	done
}

# objects that provider functions create: recorded, and so are calls on them
mkdir made && gcc -shared -fPIC -o made/libibverbs.so.1 base.c \
	-Wl,-soname,libibverbs.so.1,--version-script=base.map &&
	gcc -shared -fPIC -o made/libmlx5.so.1 made.c -Wl,-soname,libmlx5.so.1 &&
	ln -sf libmlx5.so.1 made/libmlx5.so && ln -sf libibverbs.so.1 made/libibverbs.so || exit 1
for how in now lazy; do
	gcc -o maker_$how maker.c -Lmade -lmlx5 -libverbs -Wl,-rpath,"$tmp/made",-z,$how
done
objects_of_providers_are_recorded() {
	local how
	for how in now lazy; do
		same ./maker_$how &&
			is "$(sql "SELECT group_concat(name || ' ' || (destroyed_n > 0), ', ')
				FROM object WHERE kind IN ('cq', 'qp')")" "cq1 1, qp1 1" &&
			is "$(sql "SELECT group_concat(verb || ' ' || failed, ', ')
				FROM call WHERE verb LIKE 'mlx5dv%'")" \
				"mlx5dv_create_cq 0, mlx5dv_create_qp 1, mlx5dv_create_qp 0" &&
			is "$(sql "SELECT json_extract(args, '$.cq_attr.cqe')
				FROM call WHERE verb = 'mlx5dv_create_cq'")" 9 &&
			is "$(sql "SELECT r.wr_id || ' ' || r.bytes || ' ' || w.flow_tag || ' ' ||
				(w.wr_n = r.n) FROM wr r, wc w")" "5 3 17 1" &&
			is "$(sql 'SELECT count(*) FROM coverage')" 0 &&
			"$VERBATIM" check --mute failed-verb,STATE-002 t.db >checked ||
			{ cat checked; return 1; } # the provider's queue pair stays in RESET
	done
	"$VERBATIM" dump t.db >dump && grep -q 'mlx5dv_create_qp(.* = qp1' dump
}

# each function of the list once: it is recorded with its arguments and its new object
for library in mlx5 mlx4 efa; do
	{
		echo '#include "each.h"'
		echo "#define is_$library 1"
		echo '#define DEFINE(t, n, p) static char the_##n[1024]; \'
		echo '	t *n p { return (V)(the_##n + 64); }'
		printf '#define IF_%s(t, n, p) DEFINE(t, n, p)\n' $library
		for other in mlx5 mlx4 efa; do [ $other = $library ] ||
			echo "#define IF_$other(t, n, p)"; done
		echo '#define F(library, type, name, params, args) IF_##library(type, name, params)'
		echo 'LIST(F)'
	} >each_$library.c
done
mkdir all && gcc -shared -fPIC -o all/libibverbs.so.1 all.c \
	-Wl,-soname,libibverbs.so.1,--version-script=all.map &&
	ln -sf libibverbs.so.1 all/libibverbs.so || exit 1
for library in mlx5 mlx4 efa; do
	gcc -w -shared -fPIC -o all/lib$library.so.1 each_$library.c -Wl,-soname,lib$library.so.1 &&
		ln -sf lib$library.so.1 all/lib$library.so || exit 1
done
gcc -w -o caller caller.c -Lall -lmlx5 -lmlx4 -lefa -libverbs -Wl,-rpath,"$tmp/all"
each_function_of_the_list_is_recorded() {
	same ./caller || return
	for name in $(sed -n 's/^dv .*[ *]\([a-z0-9_]*dv_[a-z0-9_]*\)(.*/\1/p' \
		"$OLDPWD/core/wire/verbs.list"); do
		is "$name $(sql "SELECT count(*) || ' ' || sum(failed) FROM call
			WHERE verb = '$name'")" "$name 1 0" && grep -q "^$name 1" plain || return
	done
	is "$(sql "SELECT group_concat(kind || n, ' ') FROM (SELECT kind, count(*) AS n FROM object
		WHERE created_n > 0 GROUP BY kind ORDER BY kind)")" \
		"context1 cq2 dm1 flow1 flow_action3 mr1 qp4 wq1" &&
		is "$(sql "SELECT json_extract(args, '$.mlx5_qp_attr') || ' ' ||
			json_extract(args, '$.qp_attr.qp_type')
			FROM call WHERE verb = 'mlx5dv_create_qp'")" "119 IBV_QPT_RC" &&
		is "$(sql "SELECT json_extract(args, '$.fd') || ' ' ||
			json_extract(args, '$.mlx5_access')
			FROM call WHERE verb = 'mlx5dv_reg_dmabuf_mr'")" "4 6" &&
		is "$(sql "SELECT json_extract(args, '$.wq_init_attr.max_wr')
			FROM call WHERE verb = 'mlx5dv_create_wq'")" 22 &&
		is "$(sql "SELECT json_extract(args, '$.dm_attr.length')
			FROM call WHERE verb = 'mlx5dv_alloc_dm'")" 23 &&
		is "$(sql "SELECT json_extract(args, '$.inlen')
			FROM call WHERE verb = 'efadv_create_cq'")" 16 &&
		is "$(sql 'SELECT count(*) FROM coverage')" 0
}

if [ "$(uname -m)" != x86_64 ]; then
	echo "skip later: only for x86-64"
	exit
fi
for each in bound_at_the_start_is_recorded bound_through_data_is_recorded bound_lazily_is_recorded \
	arguments_and_results_are_recorded \
	what_is_missing_stays_missing what_is_there_is_found_and_recorded \
		next_and_default_are_found_and_recorded soft_device_lacks_them \
		guest_exports_none_of_them \
	objects_of_providers_are_recorded each_function_of_the_list_is_recorded \
		providers_calls_are_counted provider_that_comes_and_goes_is_followed \
	page_that_is_not_sealed_stays_so more_than_can_be_seen_are_reported \
		half_loaded_plugin_is_looked_at_again recorder_says_at_once_what_it_does_not_see \
		rules_say_what_they_do_not_see \
		program_that_forbids_mprotect_is_counted real_providers_library_is_counted; do
	try $each
done
