# Memory and time that recording costs a program: rings, their budget, a stopped recorder.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
unset VERBATIM_SESSIONS # shared memory is charged to the program, files on disk less so

tidy() { rm -f "$tmp"/*.db "$tmp"/out "$tmp"/err "$tmp"/counts; }
ask() { "$VERBATIM" sql "${2:-t.db}" "$1"; }
value() { ask "SELECT value FROM meta WHERE key = '$1'"; }

# A memory cgroup of 100 MB in $group, v1 or v2; 1: it cannot be created, for the reason $why.
group=
make_group() {
	local v1 v2 here
	v1=$(sed -n 's/^[0-9]*:\([^:]*,\)\?memory\(,[^:]*\)\?://p' /proc/self/cgroup)
	v2=$(sed -n 's/^0:://p' /proc/self/cgroup)
	if [ -n "$v1" ]; then
		here=/sys/fs/cgroup/memory$v1
		[ -d "$here" ] || here=/sys/fs/cgroup/memory
		limit=memory.limit_in_bytes
	else
		here=/sys/fs/cgroup$v2
		limit=memory.max
		echo +memory >"$here/cgroup.subtree_control" 2>/dev/null
	fi
	mkdir "$here/verbatim-$$" 2>/dev/null || { why="no cgroup can be made in $here"; return 1; }
	group=$here/verbatim-$$
	echo $((100 << 20)) 2>/dev/null >"$group/$limit" ||
		{ why="no memory limit can be set in $group"; rmdir "$group"; group=; return 1; }
}

trap '[ -n "$group" ] && rmdir "$group"; rm -rf "$tmp"' EXIT

# Only the program is in the group, and joins it before its first verb.
limited() { "$VERBATIM" record -q -d soft "$@"; }
in_group='echo $$ >"$0/cgroup.procs" && exec "$@"'

service_in_a_small_container_lives() {
	limited -o t.db -- sh -c "$in_group" "$group" "$apps/threads" service 100; is $? 0 || return
	is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 100000 &&
		is "$(ask "SELECT count(*) FROM loss")" 0 &&
		is "$(ask "SELECT count(*) FROM coverage WHERE what = 'thread'")" 0
}

rings_that_stay_small_are_reported() {
	"$VERBATIM" record -d soft --ring-budget 1M -o t.db "$apps/threads" service 20 2>err
	is $? 0 || return
	is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 20000 &&
		is "$(ask "SELECT count(*) FROM loss")" 0 || return
	local told='could not grow: the limit of 1 MiB for the rings of a process'
	grep -q "$told.*waited more often (raise --ring-budget)" err || { cat err; return 1; }
	told='the rings of their process already used 1 MiB'
	is "$(value ring_budget)" $((1 << 20)) && [ "$(value withheld_rings)" -ge 10 ] &&
		"$VERBATIM" info t.db | grep -q "WITHHELD: rings that could not grow: [0-9]*, $told"
}

threads_without_a_ring_are_reported() {
	"$VERBATIM" record -q -d soft --ring-budget 1M -o t.db "$apps/threads" service 50 2>err
	is $? 0 || return
	# 29 rings of 36 KiB fit, or fewer larger ones
	local told='since the rings of their process are limited to 1 MiB'
	grep -q "not recorded: [0-9]*, $told (raise --ring-budget)" err || { cat err; return 1; }
	local n=$(value withheld_threads)
	[ "$n" -ge 22 ] && is "$(ask "SELECT detail FROM coverage WHERE what = 'thread'")" \
		"$n threads could not create a ring" &&
		is "$(ask "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" \
			$(((50 - n) * 1000)) &&
		"$VERBATIM" info t.db | grep -q "LOST: threads without a ring: $n,"
}

number() { od -An -tu8 -j"$1" -N8 counts | tr -d ' '; }
posted() { [ "$(number 8)" -gt "$1" ]; }

# Rings are full after 3,000 events; later events have no recorder to wait for.
program_goes_on_when_its_recorder_is_stopped() {
	"$VERBATIM" record -q -d soft --max-wait 100ms --ring-size 256k -o t.db \
		"$apps/loop" counts 2>err & local pid=$! n
	await posted 1000 && kill -STOP $pid && n=$(number 8) && await posted $((n + 200000))
	local went=$?
	kill -CONT $pid; kill $pid; wait $pid; is $? 143 && is $went 0 || return
	says 'the recorder stalled for too long (--max-wait)' err &&
		says 'events were lost' err || return
	[ "$(ask "SELECT count(*)
		FROM loss WHERE events > 0 AND first > 0 AND last > first")" -ge 1 ] &&
		[ "$(value waits_given_up)" -ge 1 ] && "$VERBATIM" info t.db >out &&
		says 'LOST: the recorder stalled, and threads continued without it' out &&
		says 'LOST: .* did not fit' out
}

# The waiting program is in nanosleep(2).
sleeps() { grep -q '^\(35\|230\) ' "/proc/$(pgrep -P "$1" loop)/syscall"; }

# The same, but the recorder continues before the time limit.
nothing_is_lost_when_it_comes_back_in_time() {
	"$VERBATIM" record -q -d soft --ring-size 256k --max-wait 1d -o t.db \
		"$apps/loop" counts 2>err & local pid=$! n
	await posted 1000 && kill -STOP $pid && await sleeps $pid && n=$(number 8)
	kill -CONT $pid; await posted $((n + 10000)); local went=$?
	kill $pid; wait $pid
	is $? 143 && is $went 0 && is "$(ask "SELECT count(*) FROM loss")" 0 &&
		[ "$(ask "SELECT count(*) FROM wc")" -ge $((n + 10000)) ]
}

if make_group; then
	try_in_turn "a service of 100 threads in a cgroup of 100 MB is recorded, and lives" \
		service_in_a_small_container_lives
else
	skip "a service of 100 threads in a cgroup of 100 MB" "$why"
fi
try_in_turn "rings that the budget keeps small lose nothing, and are reported" \
	rings_that_stay_small_are_reported
try_in_turn "threads that the budget leaves without a ring are told" \
	threads_without_a_ring_are_reported
try "a program goes on when its recorder is stopped" program_goes_on_when_its_recorder_is_stopped
try "nothing is lost when it comes back in time" nothing_is_lost_when_it_comes_back_in_time
