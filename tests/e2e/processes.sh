# Every process: how it began, how it ended, and what of it is in the trace.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
apps=$PWD/$BUILD/tests/apps
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/sessions"
export VERBATIM_SESSIONS=$tmp/sessions VERBATIM_SOFT_FABRIC=$tmp/fabric VERBATIM_DEVICE=soft
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

# A test is a function and its arguments: what it prints is why it failed.
try() {
	local out name="${*//_/ }"
	rm -f "$tmp"/t.db* "$tmp"/out "$tmp"/err
	if out=$("$@" 2>&1); then echo "ok processes: $name"; else echo "not ok processes: $name: $out"; fi
}

is() { [ "$1" = "$2" ] || { echo "$1 instead of $2"; return 1; }; }
sql() { "$VERBATIM" sql t.db "$1"; }
record() { timeout 60 "$VERBATIM" record -q -o t.db "$@"; }
spawn() { record "$apps/spawn" "$@"; }

# each way to make a child with a copy of the memory: how, and is the child linked?
forked_by() { # the word of the program, how it is recorded
	spawn verb "$1" verb || return
	is "$(sql "SELECT f.how, f.child, p.parent, p.fork_thread || ':' || p.fork_n = f.thread || ':' || f.n FROM fork f JOIN process p ON p.id = f.child")" "$2|2|1|1" &&
		is "$(sql 'SELECT count(*) > 0 FROM frame WHERE stack = (SELECT stack FROM fork)')" 1 &&
		is "$(sql 'SELECT count(DISTINCT process) FROM thread')" 2 &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd' GROUP BY process" | xargs)" "1 1"
}

clone_by_a_bare_system_call_is_noticed() {
	spawn verb raw verb || return
	is "$(sql 'SELECT count(*) FROM fork')" 0 && is "$(sql 'SELECT parent FROM process WHERE id = 2')" 1
}

# each way to a new program: how, with which process
new_program_by() { # the word, how it is recorded, is its process known?
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
	is "$(sql 'SELECT how, child, thread FROM fork')" "posix_spawn|2|2" || is "$(sql 'SELECT how, child, thread FROM fork')" "posix_spawn|3|2"
}

child_of_vfork_that_calls_verbs_is_reported() {
	spawn verb vfork verb verb || return
	is "$(sql 'SELECT count(*) FROM fork')" 1 && is "$(sql 'SELECT what FROM coverage')" vfork &&
		is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 2
}

child_of_vfork_leaves_its_parent_recorded() {
	spawn verb vfork nothing verb || return
	is "$(sql 'SELECT count(*) FROM coverage')" 0 && is "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 2
}

childs_use_of_its_parents_is_found() { # by
	spawn keep "$1" use
	is "$("$VERBATIM" check --format json t.db | jq -r '[.findings[].rule] | index("FORK-003") != null')" true
}

dump_shows_how() {
	spawn verb clone verb spawn vexec || return
	"$VERBATIM" dump t.db >out
	is "$(grep -c ' \(clone\|posix_spawn\|vfork\)() = [0-9]*, process' out)" 3 && grep -q 'has ended by _exit(0) +++' out
}

# word and number; status and ending of the program itself, of its child, and of a grandchild
ending_is_known() { # words, ending, status
	local how=$1 ending=$2 status=$3
	# shellcheck disable=SC2086
	spawn verb $how >/dev/null 2>&1
	is "$(sql 'SELECT ending, status FROM process')" "$ending|$status" || return
	# shellcheck disable=SC2086
	record sh -c "$apps/spawn verb $how; true" >/dev/null 2>&1
	# a signal is known only where the recorder saw the process alive: see below
	is "descendant: $(sql "SELECT ending, CASE ending WHEN 'killed' THEN $status ELSE status END, end IS NOT NULL FROM process")" "descendant: $ending|$status|1"
}

# the kernel tells since 6.15
signal_that_killed_a_descendant_is_known() {
	"$VERBATIM" record -q -o t.db sh -c "$apps/guest until; true" >out 2>/dev/null & local recorder=$! known=1
	until ls -l "/proc/$recorder/fd" 2>/dev/null | grep -q pidfd; do kill -0 $recorder || return; done
	pkill -SEGV -P "$(pgrep -P $recorder -x sh)" guest
	wait $recorder
	[ "$(uname -r | awk -F. '{ print ($1 * 1000 + $2 >= 6015) }')" = 1 ] || known=
	is "$(sql "SELECT ending, $([ $known ] && echo 'status & 127' || echo 11) FROM process")" "killed|11"
}

leaks_of_a_descendant_are_found() {
	record sh -c "$apps/spawn keep; true" || return
	"$VERBATIM" check --format json t.db >out; is $? 1 || return
	is "$(jq -r '[.findings[] | .rule] | unique[]' out)" LIFE-004 && is "$(jq -r '.not_checked[].because' out)" ""
}

killed_descendant_does_not_leak() {
	record sh -c "$apps/spawn keep kill; true" 2>/dev/null
	"$VERBATIM" check --format json t.db >out; is $? 0 && is "$(jq -r '.findings | length' out)" 0 &&
		jq -r '.not_checked[].because' out | grep -q 'process 1 was killed'
}

# Threads

# peak of the session's directory in KiB while the recording runs
watch_rings() {
	local peak=0 now
	while [ ! -e done ]; do
		now=$(du -sk sessions 2>/dev/null | cut -f1)
		[ "${now:-0}" -gt $peak ] && peak=$now
	done
	echo "$peak" >peak
}

short_threads_share_rings() {
	rm -f done
	watch_rings & local watcher=$!
	record "$apps/threads" short 20000; local status=$?
	touch done
	wait $watcher
	is $status 0 && is "$(sql 'SELECT count(*), count(DISTINCT tid) > 1000 FROM thread')" "20001|1" &&
		is "$(sql "SELECT count(*), count(DISTINCT thread), count(end) FROM call WHERE verb = 'ibv_alloc_pd'")" "20000|20000|20000" &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" 0 || return
	[ "$(cat peak)" -lt 20000 ] || { echo "the rings took $(cat peak) KiB"; return 1; }
}

polls_of_threads_that_are_gone_are_counted() {
	record "$apps/threads" batch 20000 || return
	is "$(sql 'SELECT count(*), sum(empty), count(DISTINCT thread) FROM poll_count')" "20000|40000|20000"
}

thousands_of_threads_at_once_are_recorded() {
	record "$apps/threads" live 5000 || return
	is "$(sql 'SELECT count(*), sum(empty) FROM poll_count')" "5000|10000" &&
		is "$(sql 'SELECT (SELECT count(*) FROM loss) + (SELECT count(*) FROM coverage)')" 0
}

for need in spawn guest loop threads; do
	[ -x "$apps/$need" ] || { echo "not ok processes: $apps/$need is not built"; exit 1; }
done
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
try short_threads_share_rings
try polls_of_threads_that_are_gone_are_counted
try thousands_of_threads_at_once_are_recorded
