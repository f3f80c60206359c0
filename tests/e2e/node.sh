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
	[ $kills -ge 2 ] && has_all $n && says "goes on, and no event is lost" <(cat err0 err1)
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
try a_signal_is_passed_on
try traces_of_single_ranks_are_as_before
try a_late_rank_is_waited_for
