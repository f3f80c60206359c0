# Every process: its beginning, its end, and its events in the trace. KILLS=1000 kills that many
# programs at random moments.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

tidy() { rm -f "$tmp"/t.db* "$tmp"/out "$tmp"/err; }
# in case it hangs: thousands of threads take half a minute on a busy machine
record() { timeout 120 "$VERBATIM" record -q -o t.db "$@"; }
spawn() { record "$apps/spawn" "$@"; }

# each way to create a child with a copy of the memory: how, and is the child linked?
forked_by() { # argument of the program, `how` in the trace
	spawn verb "$1" verb || return
	is "$(sql "SELECT f.how, f.child, p.parent,
		p.fork_thread || ':' || p.fork_n = f.thread || ':' || f.n
		FROM fork f JOIN process p ON p.id = f.child")" "$2|2|1|1" &&
		is "$(sql 'SELECT count(*) > 0 FROM frame
			WHERE stack = (SELECT stack FROM fork)')" 1 &&
		is "$(sql 'SELECT count(DISTINCT process) FROM thread')" 2 &&
		is "$(sql "SELECT count(*) FROM call
			WHERE verb = 'ibv_alloc_pd' GROUP BY process" | xargs)" "1 1"
}

clone_by_a_bare_system_call_is_noticed() {
	spawn verb raw verb || return
	is "$(sql 'SELECT count(*) FROM fork')" 0 &&
		is "$(sql 'SELECT parent FROM process WHERE id = 2')" 1
}

# each way to start a new program: how, in which process
new_program_by() { # argument, `how` in the trace, is its process known?
	spawn verb "$1" || return
	is "$(sql 'SELECT how FROM fork')" "$2" &&
		is "$(sql "SELECT coalesce(child, '?') FROM fork")" "$3" &&
		is "$(sql 'SELECT stack > 0 AND time > 0 FROM fork')" 1 &&
		is "$(sql 'SELECT count(*) FROM process WHERE parent IS NULL')" 2
}

exec_goes_on_as_another_process() { # by
	spawn verb "$1" verb || return
	is "$(sql 'SELECT how, child FROM fork')" "exec|2" &&
		is "$(sql 'SELECT ending FROM process' | xargs)" "exec exit" &&
		is "$(sql 'SELECT count(DISTINCT pid) FROM process')" 1
}

failed_exec_and_spawn_say_so() {
	spawn verb badexec missing verb || return
	is "$(sql 'SELECT how, error, child FROM fork' | xargs)" "exec|2| posix_spawn|2|" &&
		is "$(sql 'SELECT ending FROM process')" exit &&
		is "$("$VERBATIM" dump t.db | grep -c 'ENOENT')" 2
}

thread_that_calls_no_verb_forks() {
	spawn verb thread spawn || return
	is "$(sql 'SELECT how, child, thread FROM fork')" "posix_spawn|2|2" ||
		is "$(sql 'SELECT how, child, thread FROM fork')" "posix_spawn|3|2"
}

child_of_vfork_that_calls_verbs_is_reported() {
	spawn verb vfork verb verb || return
	is "$(sql 'SELECT count(*) FROM fork')" 1 &&
		is "$(sql 'SELECT what FROM coverage')" vfork &&
		"$VERBATIM" dump t.db >out && grep -q 'vfork()  the child, .*not recorded' out &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 2
}

child_of_vfork_leaves_its_parent_recorded() {
	spawn verb vfork nothing verb || return
	is "$(sql 'SELECT count(*) FROM coverage')" 0 &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 2
}

childs_use_of_its_parents_is_found() { # by
	spawn keep "$1" use
	is "$("$VERBATIM" check --format json t.db |
		jq -r '[.findings[].rule] | index("FORK-003") != null')" true
}

dump_shows_how() {
	spawn verb clone verb spawn vexec || return
	"$VERBATIM" dump t.db >out
	is "$(grep -c ' \(clone\|posix_spawn\|vfork\)() = [0-9]*, process' out)" 3 &&
		grep -q 'has ended by _exit(0) +++' out
}

# argument and number; status and ending of the program itself, of its child, and of a grandchild
ending_is_known() { # words, ending, status
	local how=$1 ending=$2 status=$3
	# shellcheck disable=SC2086
	spawn verb $how >/dev/null 2>&1
	is "$(sql 'SELECT ending, status FROM process')" "$ending|$status" || return
	# shellcheck disable=SC2086
	record sh -c "$apps/spawn verb $how; true" >/dev/null 2>&1
	# a signal is known only if the recorder saw the process alive: see below
	is "descendant: $(sql "SELECT ending,
		CASE ending WHEN 'killed' THEN $status ELSE status END,
		end IS NOT NULL FROM process")" "descendant: $ending|$status|1"
}

# the kernel reports it since 6.15
signal_that_killed_a_descendant_is_known() {
	"$VERBATIM" record -q -o t.db sh -c \
		"$apps/guest until; true" >out 2>/dev/null & local recorder=$! known=1
	until ls -l "/proc/$recorder/fd" 2>/dev/null | grep -q pidfd; do kill -0 $recorder ||
		return; done
	pkill -SEGV -P "$(pgrep -P $recorder -x sh)" guest
	wait $recorder
	[ "$(uname -r | awk -F. '{ print ($1 * 1000 + $2 >= 6015) }')" = 1 ] || known=
	is "$(sql "SELECT ending, $([ $known ] && echo 'status & 127' || echo 11) FROM process")" \
		"killed|11"
}

leaks_of_a_descendant_are_found() {
	record sh -c "$apps/spawn keep; true" || return
	"$VERBATIM" check --format json t.db >out; is $? 1 || return
	is "$(jq -r '[.findings[] | .rule] | unique[]' out)" LIFE-004 &&
		is "$(jq -r '.not_checked[].because | select(test("--memory|--strict") | not)' \
			out)" ""
}

killed_descendant_does_not_leak() {
	record sh -c "$apps/spawn keep kill; true" 2>/dev/null
	"$VERBATIM" check --format json t.db >out; is $? 1 && # a killed process is a fact
		is "$(jq -r '.findings | length' out)" 0 &&
		jq -r '.not_checked[].because' out | grep -q 'process 1 was killed'
}

# Threads

# peak of the session's directory in KiB while the recording runs
watch_rings() {
	local peak=0 now
	while [ ! -e done ]; do
		now=$(du -sk sessions 2>/dev/null | cut -f1)
		[ "${now:-0}" -gt $peak ] && peak=$now
		pause
	done
	echo "$peak" >peak
}

short_threads_share_rings() {
	local n=$(share 4000 20000)
	rm -f done
	watch_rings & local watcher=$!
	record "$apps/threads" short $n; local status=$?
	touch done
	wait $watcher
	is $status 0 && is "$(sql 'SELECT count(*), count(DISTINCT tid) > 1000 FROM thread')" \
		"$((n + 1))|1" &&
		is "$(sql "SELECT count(*), count(DISTINCT thread), count(end)
			FROM call WHERE verb = 'ibv_alloc_pd'")" "$n|$n|$n" &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" \
			0 || return
	[ "$(cat peak)" -lt 20000 ] || { echo "the rings took $(cat peak) KiB"; return 1; }
}

polls_of_threads_that_are_gone_are_counted() {
	local n=$(share 8000 20000)
	record "$apps/threads" batch $n || return
	is "$(sql 'SELECT count(*), sum(empty), count(DISTINCT thread) FROM poll_count')" \
		"$n|$((2 * n))|$n"
}

# 5000 rings in files on a disk take minutes on a busy machine: they are in the default directory.
thousands_of_threads_at_once_are_recorded() {
	local status shm; shm=$(mktemp -d /dev/shm/verbatim-processes.XXXXXX) || return
	VERBATIM_SESSIONS=$shm record "$apps/threads" live 5000
	status=$?
	rm -rf "$shm"
	is status $status 0 || return
	is "$(sql 'SELECT count(*), sum(empty) FROM poll_count')" "5000|10000" &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" 0
}

# cancelled inside a verb, which does not return; the next thread takes over the ring
cancelled_threads_are_recorded() {
	record "$apps/threads" cancel 500 || return
	is "$(sql "SELECT count(*), count(DISTINCT thread), count(end)
		FROM call WHERE verb = 'ibv_get_cq_event'")" "500|500|0" &&
		is "$(sql "SELECT count(*), count(DISTINCT thread), count(end)
			FROM call WHERE verb = 'ibv_dealloc_pd'")" "500|500|500" &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" 0
}

# calls that had returned in other threads when one of them ended the process
exit_while_others_call_verbs_loses_nothing() {
	local i got
	for i in $(seq $(share 4 10)); do
		record "$apps/threads" exit counts; is $? 3 || return
		got=$(sql "SELECT (SELECT ending FROM process), count(*), min(n), sum(n)
			FROM (SELECT count(*) n FROM notify GROUP BY thread)")
		read -r least all <<<"$(od -An -v -tu8 counts | xargs -n1 |
			awk '{ s += $1; if (NR == 1 || $1 < m) m = $1 } END { print m, s }')"
		IFS='|' read -r how threads min sum <<<"$got"
		is "$how $threads $((min >= least)) $((sum >= all && sum <= all + 8))" \
			"exit 8 1 1" || { echo "$got, $least $all returned"; return 1; }
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" \
			0 || return
	done
}

# Killed

at() { od -An -tu8 -j "$1" -N8 "$2" | tr -d ' '; }

# One program killed after that many microseconds: calls that had returned are in the trace, and at
# most one more.
killed_after() { # microseconds, name of the files
	local us=$1 t=$2 got recvs sends polls
	"$VERBATIM" record -q -o "$t.db" "$apps/loop" "$t.counts" 0 "$us" 2>"$t.err" >/dev/null
	is $? 137 || return
	"$VERBATIM" info "$t.db" >"$t.out" 2>&1 || { cat "$t.out"; return 1; }
	read -r recvs sends polls <<<"$(at 0 "$t.counts") $(at 8 "$t.counts") $(at 16 "$t.counts")"
	got=$("$VERBATIM" sql "$t.db" "SELECT
		count(*) FILTER (WHERE verb = 'ibv_post_recv') BETWEEN $recvs AND $recvs + 1,
		count(*) FILTER (WHERE verb = 'ibv_post_send') BETWEEN $sends AND $sends + 1,
		(SELECT count(*) FROM wc) BETWEEN $polls AND $polls + 1,
		(SELECT count(*) FROM loss), (SELECT count(*) FROM coverage) FROM wr")
	rm -f "$t".*
	is "$got" "1|1|1|0|0" ||
		{ echo "after $us us: $recvs receives, $sends sends," \
			"$polls completions had returned"; return 1; }
}

# Two at a time. Every tenth dies while it opens the device, or before.
programs_killed_at_random_moments_lose_nothing() { # how many
	local seed=${VERBATIM_SEED:-$RANDOM} i us
	echo "VERBATIM_SEED=$seed"
	RANDOM=$seed
	for ((i = 0; i < $1; i++)); do
		us=$((1 + (RANDOM * 32768 + RANDOM) % (i % 10 ? 60000 : 3000)))
		killed_after $us "k$i" >"k$i.why" 2>&1 && rm "k$i.why" &
		((i % 2)) && wait
	done
	wait
	cat k*.why 2>/dev/null | head -5
	[ -z "$(ls k*.why 2>/dev/null)" ]
}

# The end of the pipe's last holder shows that all have ended.
collector_killed_at_random_moments_does_no_harm() { # how many
	local seed=${VERBATIM_SEED:-$RANDOM} i recorder reader
	echo "VERBATIM_SEED=$seed"
	RANDOM=$seed
	mkfifo ends
	for ((i = 0; i < $1; i++)); do
		rm -f status counts t.db*
		cat ends & reader=$!
		exec 9>ends # if the recorder were killed first, the reader would wait forever
		"$VERBATIM" record -q -o t.db sh -c \
			"$apps/loop counts 30000; echo \$? >status" & recorder=$!
		exec 9>&-
		read -rt "0.$(printf %03d $((RANDOM % 200)))" <> <(:)
		kill -KILL $recorder 2>/dev/null
		wait $recorder $reader 2>/dev/null
		[ -e counts ] || continue # killed before it started the program
		is "status $(cat status)" "status 0" && is "sends $(at 8 counts)" "sends 30000" ||
			return
		[ ! -e t.db ] || "$VERBATIM" info t.db >out 2>&1 || { cat out; return 1; }
	done
}

# MPI: mpirun passes its environment to its ranks without an option.
build_ring() {
	mpicc -o ring "$root/tests/e2e/processes/ring.c"
}

in_ranks=(mpirun --allow-run-as-root --oversubscribe -np 4 --mca pml ob1 --mca btl self,openib \
	--mca btl_openib_allow_ib 1 --mca btl_openib_warn_no_device_params_found 0)

mpi_ranks_are_in_one_trace() {
	build_ring || return
	record "${in_ranks[@]}" ./ring >out 2>err || { cat out err; return 1; }
	is "$(sort out | xargs)" "0 after 3 1 after 0 2 after 1 3 after 2" &&
		is "ranks $(sql "SELECT count(DISTINCT process)
			FROM call WHERE verb = 'ibv_create_qp' AND failed = 0")" "ranks 4" &&
		is "$(sql "SELECT count(*), count(DISTINCT pid) FROM process
			WHERE cmdline LIKE './ring%' AND ending = 'exit' AND status = 0")" "4|4" &&
		is "$(sql "SELECT count(DISTINCT process) FROM wc")" 4 &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" \
			0 || return
	# MPI_Finalize destroys an address handle while another thread waits for a completion
	echo 'LIFE-008 mca_btl_openib.so ring' >known
	"$VERBATIM" check --suppress known t.db >out 2>&1 || { cat out; return 1; }
	# datagrams of two ranks may arrive in another order; nothing else may differ
	"$VERBATIM" replay t.db >out 2>&1
	[ $? -le 1 ] && grep -q '^replayed' out && ! grep '^  [0-9]*:[0-9]* ' out |
		grep -v 'wc\[.*byte_len' || { cat out; return 1; }
}

each_mpi_rank_in_its_own_trace() {
	build_ring && "${in_ranks[@]}" sh -c \
		"exec $VERBATIM record -q -o rank\$OMPI_COMM_WORLD_RANK.db ./ring" >out 2>err ||
		{ cat out err; return 1; }
	is "$(sort out | xargs)" "0 after 3 1 after 0 2 after 1 3 after 2" || return
	for rank in 0 1 2 3; do
		is "$("$VERBATIM" sql rank$rank.db 'SELECT count(*),
			(SELECT count(*) > 0 FROM wc),
			(SELECT count(*) FROM loss) FROM process')" "1|1|0" || return
	done
}

# Events outside the program

# how often a process went to sleep
sleeps() { awk '/^voluntary/ { print $2 }' "/proc/$1/status"; }

nothing_is_done_before_the_first_verb() {
	record bash -c 'recorder=/proc/$PPID/status
		read -rt 0.5 <> <(:)
		awk "/^voluntary/ { print \$2 }" $recorder
		read -rt 2 <> <(:)
		awk "/^voluntary/ { print \$2 }" $recorder
		ls $VERBATIM_DIR | grep -c ring
		sed -n "s/^Threads:.//p" $recorder' >out
	mapfile -t said <out
	[ $((said[1] - said[0])) -lt 5 ] ||
		{ echo "the recorder woke $((said[1] - said[0])) times in two seconds"; return 1; }
	is "rings ${said[2]}, threads ${said[3]}" "rings 0, threads 1"
}

next_to_nothing_is_done_for_a_program_that_is_idle() { # options
	mkfifo input
	exec 7<>input
	"$VERBATIM" record -q -o t.db "$@" \
		"$apps/patient" <input 7>&- >out 2>/dev/null & local recorder=$! before after
	until grep -q made out; do kill -0 $recorder && pause || return; done
	read -rt 3 <> <(:)
	before=$(sleeps $recorder)
	read -rt 2 <> <(:)
	after=$(sleeps $recorder)
	exec 7>&-
	wait $recorder
	rm input
	[ $((after - before)) -lt 60 ] ||
		{ echo "the recorder woke $((after - before)) times in two seconds"; return 1; }
}

# the recorder removes a ring when it has read it; sessions of killed recorders keep their rings
removed_session_directory_is_reported() {
	record sh -c "$apps/guest calls 3; while ls \$VERBATIM_DIR/ring.* >ls 2>&1; do :; done
		rm -rf \$VERBATIM_DIR; $apps/guest calls 4 exit 5" 2>err; is $? 5 || return
	is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 3 &&
		is "$(wc -l <err)" 1 && grep -q 'was removed' err &&
		is "$(sql 'SELECT what FROM coverage')" session && "$VERBATIM" check t.db >out
	grep -q "directory of the session was removed" out
}

program_in_a_removed_session_goes_on_recorded() {
	"$VERBATIM" record -q -o t.db "$apps/guest" until calls 5 exit 3 >out 2>err & local pid=$!
	until grep -q ready out && grep -q /ring. /proc/$pid/maps; do
		kill -0 $pid && pause || return
	done
	rm -rf sessions/*
	kill -TERM $pid
	wait $pid; is $? 3 && is "$(wc -l <err)" 1 && is "$(sql 'SELECT ending FROM process')" exit
}

needs "$apps"/{spawn,guest,loop,threads,patient}
try forked_by fork fork
try forked_by clone clone
try forked_by _fork fork
try clone_by_a_bare_system_call_is_noticed
try new_program_by spawn posix_spawn 2
try new_program_by vexec vfork 2
try new_program_by system system '?'
try new_program_by popen popen '?'
try exec_goes_on_as_another_process exec
try exec_goes_on_as_another_process execvp
try failed_exec_and_spawn_say_so
try thread_that_calls_no_verb_forks
try child_of_vfork_that_calls_verbs_is_reported
try child_of_vfork_leaves_its_parent_recorded
try childs_use_of_its_parents_is_found fork
try childs_use_of_its_parents_is_found clone
try childs_use_of_its_parents_is_found raw
try dump_shows_how
try ending_is_known "exit 3" exit 768
try ending_is_known "_exit 4" _exit 1024
try ending_is_known "quick 5" exit 1280
try ending_is_known abort killed 6
try ending_is_known kill killed 9
try signal_that_killed_a_descendant_is_known
try leaks_of_a_descendant_are_found
try killed_descendant_does_not_leak
try_in_turn short_threads_share_rings
try polls_of_threads_that_are_gone_are_counted
try_in_turn thousands_of_threads_at_once_are_recorded
try cancelled_threads_are_recorded
try_in_turn exit_while_others_call_verbs_loses_nothing
try_in_turn programs_killed_at_random_moments_lose_nothing ${KILLS:-$(share 30 80)}
try collector_killed_at_random_moments_does_no_harm $(share 12 30)
if command -v mpicc >/dev/null; then try_in_turn mpi_ranks_are_in_one_trace
try_in_turn each_mpi_rank_in_its_own_trace
else echo "skip processes: mpi ranks are in one trace: mpicc is not installed"; fi
try nothing_is_done_before_the_first_verb
try next_to_nothing_is_done_for_a_program_that_is_idle
try next_to_nothing_is_done_for_a_program_that_is_idle --check
try removed_session_directory_is_reported
try_in_turn program_in_a_removed_session_goes_on_recorded
