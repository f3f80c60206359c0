# Names of traces with host, pid and rank; and a job whose launcher starts a recorder for each rank.
. tests/e2e/lib/try.sh
needs "$apps/guest"
cd "$tmp" || exit 1
unset PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID

traces() { echo *.db; }
records_as() { # expected name; given name, environment...
	local wanted=$1 name=$2
	shift 2
	rm -f -- *.db
	env "$@" "$VERBATIM" record -q -o "$name" "$apps/guest" calls 1 >out 2>&1 ||
		{ cat out; return 1; }
	is "$(traces)" "$wanted"
}
a_rank_is_that_of_the_launcher() {
	records_as rank7.db rank%r.db PMIX_RANK=7 SLURM_PROCID=3 &&
		records_as rank12.db rank%r.db OMPI_COMM_WORLD_RANK=12 &&
		records_as 0-of-job.db %r-of-job.db PMIX_RANK=../x SLURM_PROCID=0
}
a_host_is_this_one() { records_as "$(uname -n).db" %h.db && records_as "100%.db" "100%%.db"; }
a_pid_is_that_of_the_program() {
	rm -f -- *.db
	"$VERBATIM" record -q -o t%p.db -- sh -c "echo \$\$; exec $apps/guest calls 1" >out &&
		is "$(traces)" "t$(cat out).db" &&
		is "$("$VERBATIM" sql t*.db "SELECT pid FROM process")" "$(cat out)"
}
with_a_pid_nothing_else_differs() {
	is "$(AB='c d' "$VERBATIM" record -q -o %p.db -- \
		sh -c 'echo "$AB $1"; cat; exit 7' x y <<<in
		echo $?)" $'c d y\nin\n7' &&
		is "$("$VERBATIM" record -q -o %p.db -- sh -c 'kill -TERM $$'; echo $?)" 143 &&
		is "$("$VERBATIM" record -q -o %p.db -- "$tmp/none" 2>&1; echo $?)" \
			"verbatim: start '$tmp/none': No such file or directory"$'\n127'
}
is_refused() { # name, expected message
	rm -f -- *.db
	"$VERBATIM" record -o "$1" -- touch ran 2>err
	is "exit $?" "exit 2" && says "$2" err && is "$(traces) $(echo ra*)" "*.db ra*"
}
what_no_name_can_be_made_of_is_refused() {
	is_refused "a%x.db" "use %h (host), %p (PID), %r (rank) or %% (a %)" &&
		is_refused "a%" "ends with a '%'" &&
		is_refused "%r.db" "is the rank, but PMIX_RANK"
}

# Each rank has its own recorder; their traces are merged.
ranks_of_a_job_are_merged() {
	rm -f -- *.db
	[ -z "$(command -v mpirun mpicc | sed 1d)" ] && { echo "no mpirun"; return 1; }
	mpicc -O2 -o mpi_check "$root/tests/e2e/mpi_check.c" &&
		timeout 120 mpirun --allow-run-as-root --oversubscribe -np 2 --mca pml ucx \
			--mca osc ucx -x UCX_TLS=rc_verbs,ud_verbs:aux,self \
			-x UCX_NET_DEVICES=verbatim0:1 \
			"$VERBATIM" record -q -o rank%r.db -- ./mpi_check >out 2>&1
	says "^good$" out && is "$(traces)" "rank0.db rank1.db" &&
		"$VERBATIM" merge rank*.db -o job.db >out &&
		says "^job.db: 2 traces, 2 processes" out &&
		says "rank1.db: the same machine and clock, [0-9]* joined queue pair" out &&
		"$VERBATIM" check job.db >check && says "nothing failed" check &&
		says "SEND" <("$VERBATIM" stat job.db)
}

try a_rank_is_that_of_the_launcher
try a_host_is_this_one
try a_pid_is_that_of_the_program
try with_a_pid_nothing_else_differs
try what_no_name_can_be_made_of_is_refused
try ranks_of_a_job_are_merged
