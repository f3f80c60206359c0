# Recorders of a job on one node share a collector and a trace; whoever is killed, nothing is lost.
. tests/e2e/lib/try.sh
needs "$apps/ranks"
cd "$tmp" || exit 1
export SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_STEP_TASKS_PER_NODE=2

of_job() { "$VERBATIM" sql "$1" "$2"; }

# Both ends of a pingpong of @n messages, as ranks 0 and 1; each may be recorded in its own way.
start_ends() { # n [options of record]
	local n=$1
	shift
	next_port
	SLURM_PROCID=0 "$VERBATIM" record "$@" -o job%j.db ibv_rc_pingpong -p $port -n "$n" \
		>out0 2>err0 & end0=$!
	await listens $port || return
	SLURM_PROCID=1 "$VERBATIM" record "$@" -o job%j.db ibv_rc_pingpong -p $port -n "$n" \
		localhost >out1 2>err1 & end1=$!
}

await_ends() { wait $end0 && wait $end1; }

# Each end has sent and received @n messages, and no event of a thread is missing.
has_all() { # n
	is "requests" "$(of_job job9.db "SELECT r.rank, sum(opcode IS NOT NULL),
		sum(opcode IS NULL) >= $1 FROM wr JOIN ranks r USING (process)
		GROUP BY 1")" "0|$1|1"$'\n'"1|$1|1" &&
		is "lost" "$(of_job job9.db "SELECT count(*) FROM loss")" 0 &&
		is "gaps" "$(of_job job9.db "SELECT count(*) FROM coverage")" 0 &&
		is "ended" "$(of_job job9.db "SELECT status FROM process")" $'0\n0' &&
		is "unfinished" "$(of_job job9.db "SELECT count(*) FROM call WHERE end IS NULL")" 0
}

ranks_of_a_node_share_a_trace() {
	start_ends 1000 && await_ends || { cat err0 err1; return 1; }
	is "traces" "$(ls ./*.db)" ./job9.db && has_all 1000 &&
		is "told once" "$(cat err0 err1 | grep -c "job9.db: 2 processes, .*, 0 lost")" 1 &&
		is "left" "$(ls "$VERBATIM_SESSIONS")" ""
}

# The collector's pid, from the page of its session: core/wire/session.h.
collector() {
	local pid
	pid=$(od -An -tu4 -j32 -N4 "$VERBATIM_SESSIONS"/verbatim-*-??????/session) && echo $pid
}

is_recorded() { collector=$(collector) && [ -n "$collector" ]; }

is_after() { # another recorder than $1
	is_recorded && [ "$collector" != "$1" ]
}

another_takes_over_from_a_killed_collector() {
	local n=$(share 20000 200000) before=0 kills=0
	start_ends $n || return
	while [ $kills -lt 3 ] && kill -0 $end0 2>/dev/null; do
		await is_after $before || break
		kill -KILL $collector
		before=$collector kills=$((kills + 1))
	done
	await_ends || { cat err0 err1; return 1; }
	echo "$kills kills"
	[ $kills -ge 2 ] && has_all $n && says "takes over, and no event is lost" <(cat err0 err1)
}

a_killed_recorder_takes_nothing_with_it() {
	start_ends 20000 && await is_recorded || return
	kill -KILL $end0
	wait $end0
	wait $end1 || { cat err1; return 1; }
	await test -z "$(ls "$VERBATIM_SESSIONS")"
	has_all 20000
}

# The launcher sees at once that a rank has failed.
a_rank_that_fails_ends_its_recorder() {
	SLURM_PROCID=0 "$VERBATIM" record -o job%j.db cat <> <(:) & local other=$!
	SLURM_PROCID=1 "$VERBATIM" record -o job%j.db sh -c 'exit 3'
	is "status" $? 3 && kill -0 $other && kill $other && wait $other
	is "status" $? 143
}

# The first rank has failed before another one comes, so that it is the last for a while.
a_rank_that_fails_first_does_not_wait_for_a_late_one() {
	SLURM_PROCID=1 "$VERBATIM" record -o job%j.db sh -c 'echo >failed; exit 3' & local first=$!
	await test -e failed || return
	SLURM_PROCID=0 "$VERBATIM" record -o job%j.db cat <> <(:) & local other=$!
	wait $first
	is "status" $? 3 && kill -0 $other && kill $other && wait $other
	is "status" $? 143
}

a_signal_is_passed_on() {
	SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_TASKS_PER_NODE=1 "$VERBATIM" record -o job%j.db \
		sh -c 'trap "exit 7" TERM; echo >ready; while :; do sleep 0.01; done' & local pid=$!
	await test -e ready && kill $pid && wait $pid
	is "status" $? 7
}

traces_of_single_ranks_are_as_before() {
	SLURM_PROCID=0 "$VERBATIM" record -o r%r.db true 2>err && [ -e r0.db ] &&
		says "no process of 'true' called a verb" err
}

# A rank of the node has not come yet: its trace is the same.
a_late_rank_is_waited_for() {
	SLURM_PROCID=0 "$VERBATIM" record -q -o job%j.db "$apps/demo_bug" >out0 2>&1 &
	local first=$!
	await is_recorded || return
	SLURM_PROCID=1 "$VERBATIM" record -q -o job%j.db "$apps/demo_bug" >out1 2>&1
	wait $first
	is "ranks" "$(of_job job9.db "SELECT rank FROM ranks ORDER BY 1")" $'0\n1'
}

try ranks_of_a_node_share_a_trace
try another_takes_over_from_a_killed_collector
try a_killed_recorder_takes_nothing_with_it
try a_rank_that_fails_ends_its_recorder
try a_rank_that_fails_first_does_not_wait_for_a_late_one
try a_signal_is_passed_on
try traces_of_single_ranks_are_as_before
try a_late_rank_is_waited_for

# Each launcher has variables of its own.
a_launcher_starts_recorders() { # name command...
	local name=$1
	shift
	rm -f ./*.db
	env -u SLURM_JOB_ID -u SLURM_NTASKS -u SLURM_STEP_ID OMPI_ALLOW_RUN_AS_ROOT=1 \
		OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
		timeout 60 "$@" -n 4 "$VERBATIM" record -o all.%n.db -- "$apps/two_threads" 8 \
		>out 2>err || { cat out err; return 1; }
	is "ranks" "$(of_job all.*.db "SELECT group_concat(rank), max(size), launcher FROM
		(SELECT * FROM ranks ORDER BY rank)")" "0,1,2,3|4|$name" &&
		is "told once" "$(cat out err | grep -c "4 processes, .* 0 lost")" 1
}

for each in "Open MPI:mpirun.openmpi" "PMI:mpiexec.hydra" "PMIx:prterun"; do
	if command -v "${each#*:}" >/dev/null; then
		try "${each#*:} starts recorders" a_launcher_starts_recorders "${each%:*}" \
			"${each#*:}"
	else
		skip "${each#*:} starts recorders" "not installed"
	fi
done

# The job of 32 ranks costs at most 1.1 times as much as with a collector for each rank.
processor_time() { # command...
	local before after
	read -ra before <"/proc/$BASHPID/stat"
	"$@" >out 2>err || { cat out err >&2; return 1; }
	read -ra after <"/proc/$BASHPID/stat"
	echo $(((after[15] + after[16] - before[15] - before[16]) * 10))
}

in_32_ranks() {
	env -u SLURM_JOB_ID -u SLURM_NTASKS -u SLURM_STEP_ID timeout 200 mpirun \
		--allow-run-as-root --oversubscribe -np 32 --mca pml ob1 --mca btl self,openib \
		--mca btl_openib_allow_ib 1 --mca btl_openib_warn_no_device_params_found 0 \
		--mca mpi_yield_when_idle 1 "$@" ./turns 1000
}

one_collector_costs_no_more_than_one_a_rank() {
	local one=0 each=0
	mpicc -o turns "$root/tests/e2e/node/turns.c" || return
	for i in 1 2 3; do
		rm -f ./*.db
		each=$((each + $(processor_time in_32_ranks "$VERBATIM" record -q -o r%r.db --)))
		one=$((one + $(processor_time in_32_ranks "$VERBATIM" record -q -o all.%n.db --)))
	done
	echo "32 ranks: $one ms of processors with one collector, $each ms with one a rank" >figures
	is "sends" "$(of_job all.*.db "SELECT count(*) >= 32000, (SELECT count(*) FROM loss),
		(SELECT count(*) FROM coverage), (SELECT count(*) FROM process WHERE status = 0)
		FROM wr WHERE opcode IS NOT NULL")" "1|0|0|32" &&
		[ $((10 * one)) -le $((11 * each)) ] || cat figures
}

if [ -n "${LONG:-}" ] && command -v mpirun mpicc >/dev/null; then
	try one_collector_costs_no_more_than_one_a_rank
	sed 's/^/# /' figures
fi
