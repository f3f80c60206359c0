# verbatim record: the program must not notice it, and the trace must be complete.
. tests/e2e/lib/try.sh
guest=$tmp/guest loop=$apps/loop
cd "$tmp" && cp "$apps/guest" . || exit 1 # at a path that no other test uses

stop_all() {
	kill -KILL $(jobs -p) 2>/dev/null
	pkill -KILL -f "^$guest "
}
tidy() { rm -f "$tmp"/t.db "$tmp"/out "$tmp"/err; }

calls() { "$VERBATIM" sql t.db "SELECT count(*) FROM call WHERE verb='ibv_alloc_pd' $*"; }
ended() { ! kill -0 "$1"; }
record() { "$VERBATIM" record -q -o t.db "$@"; }

exit_status_0_is_kept() { record "$guest" calls 5; is $? 0 && is "$(calls)" 5; }
exit_status_3_is_kept() { record "$guest" calls 5 exit 3; is $? 3 && is "$(calls)" 5; }
death_by_a_signal_is_kept() { record "$guest" calls 5 kill 9; is $? 137 && is "$(calls)" 5; }

stdout_is_untouched_byte_for_byte() {
	head -c 300000 /dev/urandom >in
	record cat <in >out && cmp in out
}

stderr_is_the_programs_alone_when_quiet() {
	record "$guest" calls 1 exit 1 2>err
	record sh -c 'echo mine >&2; exit 1' 2>>err
	is "$(cat err)" mine
}

# the program's view is the same as without the recorder
signals_and_descriptors_are_as_they_were() {
	local how look='grep -E "Sig(Ign|Blk)" /proc/self/status
		for i in 0 1 2; do [ -e /proc/self/fd/$i ] && echo $i; done; ulimit -f'
	for how in "trap '' PIPE" "trap '' XFSZ" "trap '' PIPE XFSZ" "exec <&-" "exec 2>&-" \
		"exec 3>&1 <&- 2>&-" true; do
		(eval "$how"; exec sh -c "$look") >plain
		(eval "$how"; record sh -c "$look") >recorded
		diff plain recorded || { echo "after $how"; return 1; }
	done
}

# stderr has no reader, and the program runs nevertheless
stderr_to_nobody_is_no_reason_to_end() {
	local status
	mkfifo nobody
	exec 9<>nobody 8>nobody 9<&-
	env -u VERBATIM_DEVICE "$VERBATIM" record -o t.db sh -c 'exit 7' 2>&8; status=$?
	exec 8>&-
	rm nobody
	is $status 7
}

# Events that were read but not written are lost, and not counted as events of the trace.
counts_are_of_the_trace() { # trace: the recorder's output is in err, that of info in info
	local line events lost rows
	line=$(grep -E ' process(es)?, [0-9,]+ events?, [0-9,]+ lost, ' err)
	events=$(sed -E 's/.* ([0-9,]+) events?, .*/\1/' <<<"$line")
	lost=$(sed -E 's/.* ([0-9,]+) lost, .*/\1/' <<<"$line")
	is "$(grep ^events info | tr -s ' ')" "events $events, and $lost lost" &&
		says "^LOST: $lost events were read, but could not be written: " info &&
		says "$lost events were lost$" err || return
	rows=$("$VERBATIM" sql "$1" "SELECT (SELECT coalesce(sum(events), 0) FROM chunk) +
		(SELECT count(*) + count(end) FROM call) + (SELECT count(*) FROM waited)")
	events=${events//,/} # which include those of modules and the like
	[ "$rows" -le "$events" ] && [ "$((events - rows))" -lt 100 ] ||
		{ echo "$events events, but $rows rows"; return 1; }
}

limit_on_files_stops_the_recording_only() {
	local status
	(ulimit -f 20; exec "$VERBATIM" record -q -o t.db "$guest" say started) >out 2>err
	status=$?
	is $status 4 && is "$(cat out)" "" && grep -q 'File too large' err && [ ! -e t.db ] ||
		{ cat err; return 1; }
	(ulimit -S -f 300; exec "$VERBATIM" record -o t.db sh -c \
		"ulimit -f unlimited; VERBATIM_SESSIONS=$tmp exec $loop counts 400000") 2>err
	status=$?
	"$VERBATIM" info t.db >info 2>&1 && counts_are_of_the_trace t.db || return
	is $status 3 && is "$(od -An -tu8 -j8 -N8 counts | tr -d ' ')" 400000 &&
		grep -q 'File too large' err && grep -q INCOMPLETE err || { cat err; return 1; }
}

# A trace whose file is removed cannot be written; SQLite alone would not notice.
lost_file_stops_the_recording() {
	local how status
	for how in 'rm t.db' 'rm -r ../d' 'echo x >n; mv n t.db' ': >t.db'; do
		rm -rf d info && mkdir d && cd d || return
		"$VERBATIM" record -o t.db sh -c "\"$loop\" ../counts 100000; $how
			exec \"$loop\" ../counts 1000000" 2>../err
		status=$?
		cd "$tmp" || return
		is "$how: $(od -An -tu8 -j8 -N8 counts | tr -d ' ')" "$how: 1000000" &&
			is "$how: $status" "$how: 3" && says INCOMPLETE err &&
			says ' 0 events, [0-9,]* lost, ' err || { cat err; return 1; }
	done
	rm -rf d
}

moved_trace_is_whole() {
	rm -f u.db
	"$VERBATIM" record -o t.db sh -c "\"$guest\" calls 3; mv t.db u.db; \"$guest\" calls 5
		exit 7" 2>err
	is $? 7 && says 't.db was moved during the recording' err && mv u.db t.db &&
		is "$(calls)" 8
}

few_descriptors_are_said_to_be_few() {
	local n
	for n in 4 5 6; do
		(ulimit -n $n; exec "$VERBATIM" record -q -o t.db true) 2>err
		is "$n: $?" "$n: 4" && grep -q 'Too many open files' err && [ ! -e t.db ] ||
			{ cat err; return 1; }
	done
}

program_without_a_name_is_not_there() {
	record ''; is $? 127 || return
	"$VERBATIM" run ''; is $? 127
}

sessions_in_a_folder_from_here_are_found_from_elsewhere() {
	(VERBATIM_SESSIONS=. record sh -c "cd /; $guest calls 7") && is "$(calls)" 7
}

signal_to_the_recorder_is_passed_on_once() {
	"$VERBATIM" record -q -o t.db "$guest" until exit 5 >out & local pid=$!
	await grep -q ready out || return
	kill -TERM $pid
	wait $pid; is $? 5 && is "$(tail -1 out)" "signals 1"
}

signal_to_the_group_comes_once() {
	setsid "$VERBATIM" record -q -o t.db "$guest" until exit 5 >out & local pid=$!
	await grep -q ready out || return
	kill -TERM -- -$pid
	wait $pid; is $? 5 && is "$(tail -1 out)" "signals 1"
}

ctrl_c_comes_once_and_leaves_a_whole_trace() {
	mkfifo keys
	script -qec "$VERBATIM record -q -o t.db $guest until exit 5" /dev/null <keys >out 2>&1 &
	local pid=$!
	exec 9>keys
	await grep -q ready out || return
	printf '\003' >&9
	wait $pid; local status=$?
	exec 9>&-
	is $status 5 && grep -q "signals 1" out && "$VERBATIM" info t.db | head -1 | grep -q ^trace
}

timeout_is_one_wish() {
	timeout 100 "$VERBATIM" record -q -o t.db "$guest" until exit 5 >out & local pid=$!
	await grep -q ready out || return
	kill -ALRM $pid # its time limit has expired
	wait $pid; is $? 124 && await grep -q "^signals [12]" out
}

# it has received the SIGTERM that it was sent
heeded() { ((!(0x$(sed -n 's/^ShdPnd:.//p' "/proc/$1/status") & 1 << 14))); }

second_request_leaves_the_program_running() {
	# the program ignores signals: only a second request, 0.3 seconds later, ends the recording
	"$VERBATIM" record -o t.db sh -c \
		"trap '' TERM; $guest deaf calls 3 say ready; exec sleep 100" >out 2>err &
	local pid=$! left
	await grep -q ready out || return
	kill -TERM $pid
	await heeded $pid || return
	read -rt 0.5 <> <(:)
	kill -TERM $pid
	wait $pid; is $? 143 || return
	left=$(sed -n 's/.*left running (pid \([0-9]*\)).*/\1/p' err)
	kill -KILL "$left" || return
	is "$(calls)" 3
}

ignored_signal_is_left_alone() {
	(trap '' HUP; exec "$VERBATIM" record -q -o t.db "$guest" until exit 5 >out) & local pid=$!
	await grep -q ready out || return
	kill -HUP $pid
	kill -TERM $pid
	wait $pid; is $? 5
}

descendants_are_followed_after_the_program() {
	record "$guest" calls 5 child calls 7 exit 4
	is $? 0 && is "$(calls)" 12 && is "$("$VERBATIM" sql t.db 'SELECT count(*) FROM process')" 2
}

grandchildren_without_a_verb_between_are_followed() {
	record sh -c "($guest child calls 4 &) ; exit 6"
	is $? 6 && is "$(calls)" 4
}

descendant_in_another_pid_namespace_is_recorded() {
	record unshare --fork --pid --mount-proc "$guest" calls 5 exit 6
	is $? 6 && is "$(calls)" 5
}

killed_recorder_does_not_hurt_the_program() {
	"$VERBATIM" record -q -o t.db sh -c \
		"$guest until exit 5; echo \$? >status" >out 2>/dev/null &
	local pid=$! app
	await grep -q ready out && app=$(pgrep -f "^$guest until") || return
	await test -s t.db-wal || return
	kill -KILL "$pid"
	await ended "$pid" || return
	kill -TERM "$app"
	await test -s status && is "$(cat status)" 5 || return
	"$VERBATIM" info t.db >info 2>err; is $? 0 && grep -q INTERRUPTED info
}

session_of_a_killed_recorder_is_collected() {
	is "$(ls sessions | wc -l)" 1 || return # left by the previous test
	record true; is $? 0 && is "$(ls sessions | wc -l)" 1 || return
	"$VERBATIM" collect -q -o t.db sessions/* 2>err && is "$(ls sessions)" ""
}

killed_program_leaves_a_whole_trace() {
	"$VERBATIM" record -q -o t.db "$guest" calls 1 until >out & local pid=$!
	await grep -q ready out || return
	pkill -KILL -P $pid guest
	wait $pid; is $? 137 || return
	[ "$(calls)" -gt 0 ] && ! "$VERBATIM" info t.db | grep -q INTERRUPTED
}

trace_and_session_are_closed_to_others() {
	(umask 0; exec "$VERBATIM" record -q -o t.db "$guest" until >out) & local pid=$!
	await grep -q ready out || return
	is "$(find sessions/* -type d -printf '%m\n' | sort -u)" 700 &&
		is "$(find sessions/* -type f -printf '%m\n' | sort -u)" 600 || return
	kill -TERM $pid; wait $pid
	is "$(stat -c %a t.db)" 600
}

program_that_is_not_there_leaves_the_old_trace() {
	record "$guest" calls 5 || return
	record "$tmp/nothing" 2>err; is $? 127 && is "$(wc -l <err)" 1 && is "$(calls)" 5
}

program_that_cannot_start_leaves_nothing() {
	printf '#!/nothing\n' >script; chmod +x script
	record ./script 2>err; is $? 127 && [ ! -e t.db ]
}

childless() { [ -z "$(pgrep -P "$1" -r S,R,D guest)" ]; }

loss_is_reported_even_when_quiet() {
	"$VERBATIM" record -q -o t.db --on-full drop --ring-size 256k \
		"$guest" calls 1 until calls 20000 >out 2>err & local pid=$!
	await grep -q ready out || return
	kill -STOP $pid
	pkill -TERM -P $pid guest
	await childless $pid || return
	kill -CONT $pid
	wait $pid; is $? 0 && grep -q "events were lost" err || return
	"$VERBATIM" info t.db >out
	grep -q ^LOST out && grep -Eq "^events +[0-9,]+, and [0-9,]+ lost$" out
}

# Reported once, and the trace has the beginning: it opens at once, or when there is room again.
full_disk_stops_the_recording_only() {
	local size status
	mkdir -p small
	for size in $(share "300k 1m" "300k 600k 1m 2m"); do
		mount -t tmpfs -o size=$size none small || return
		"$VERBATIM" record -o small/t.db "$loop" counts 1000000 2>err; status=$?
		if ! "$VERBATIM" info small/t.db >info 2>&1; then
			is "$(grep -c 'free some space there' info)" 1 ||
				{ umount small; cat info; return 1; }
			mount -o remount,size=64m small
		fi
		"$VERBATIM" info small/t.db >info 2>&1 && "$VERBATIM" check small/t.db >out 2>&1
		local opens=$?
		counts_are_of_the_trace small/t.db || { umount small; cat err info; return 1; }
		"$VERBATIM" sql small/t.db "SELECT count(*) < 1000000,
			max(wr_id) IS NULL OR max(wr_id) + 1 >= count(*)
			FROM wr WHERE verb = 'ibv_post_send'" >sends
		umount small
		is $opens 0 && is $status 3 &&
			is "$(od -An -tu8 -j8 -N8 counts | tr -d ' ')" 1000000 &&
			is "$(cat sends)" "1|1" &&
			is "$(grep -c 'No space left' err)" 1 && grep -q INCOMPLETE err &&
			grep -q INTERRUPTED info || { cat err info; return 1; }
	done
}

full_disk_leaves_the_programs_own_status() {
	local status
	mkdir -p small && mount -t tmpfs -o size=300k none small || return
	"$VERBATIM" record -q -o small/t.db sh -c "\"$loop\" counts 1000000; exit 5" 2>err
	status=$?
	umount small
	is $status 5 && says INCOMPLETE err && says '[0-9,]* events were lost$' err
}

nothing_is_left_of_sessions() { is "$(ls sessions)" ""; }

pingpong_is_recorded_on_both_sides() {
	record_both_sides || return
	is "$("$VERBATIM" sql t.db 'SELECT count(*) FROM wc WHERE status = 0')" 2000 &&
		is "$("$VERBATIM" sql s.db 'SELECT count(*) FROM wc WHERE status = 0')" 2000
}

needs "$guest" "$loop" "$VERBATIM"
try exit_status_0_is_kept
try exit_status_3_is_kept
try death_by_a_signal_is_kept
try stdout_is_untouched_byte_for_byte
try stderr_is_the_programs_alone_when_quiet
try signals_and_descriptors_are_as_they_were
try stderr_to_nobody_is_no_reason_to_end
try limit_on_files_stops_the_recording_only
try_in_turn lost_file_stops_the_recording
try moved_trace_is_whole
try few_descriptors_are_said_to_be_few
try program_without_a_name_is_not_there
try sessions_in_a_folder_from_here_are_found_from_elsewhere
try signal_to_the_recorder_is_passed_on_once
try signal_to_the_group_comes_once
try ctrl_c_comes_once_and_leaves_a_whole_trace
try timeout_is_one_wish
try second_request_leaves_the_program_running
try ignored_signal_is_left_alone
try descendants_are_followed_after_the_program
try grandchildren_without_a_verb_between_are_followed
if unshare --fork --pid --mount-proc true 2>/dev/null; then
	try descendant_in_another_pid_namespace_is_recorded
else echo "skip record: descendant in another pid namespace is recorded: may not make one"; fi
try killed_recorder_does_not_hurt_the_program
try session_of_a_killed_recorder_is_collected
try killed_program_leaves_a_whole_trace
try_in_turn trace_and_session_are_closed_to_others
try program_that_is_not_there_leaves_the_old_trace
try program_that_cannot_start_leaves_nothing
try loss_is_reported_even_when_quiet
full_shared_memory_is_reported() {
	mkdir -p small
	mount -t tmpfs -o size=16k none small || return
	VERBATIM_SESSIONS=$PWD/small "$VERBATIM" record -q -o t.db "$guest" calls 10 exit 3 2>err
	local status=$?
	umount small
	is $status 3 && grep -q 'threads not recorded: 1,' err &&
		is "$("$VERBATIM" sql t.db "SELECT what || ': ' || detail FROM coverage")" \
			"thread: 1 threads could not create a ring"
}

small_shared_memory_makes_small_rings() {
	mkdir -p small
	mount -t tmpfs -o size=1m none small || return
	VERBATIM_SESSIONS=$PWD/small "$VERBATIM" record -q -o t.db "$guest" calls 3000 exit 3 2>err
	local status=$?
	umount small
	is $status 3 && is "$(cat err)" "" && is "$(calls)" 3000 &&
		is "$("$VERBATIM" sql t.db "SELECT count(*) FROM loss")" 0
}

no_shared_memory_starts_nothing() {
	mkdir -p small
	mount -t tmpfs -o size=4k none small || return
	head -c 4096 /dev/zero >small/all 2>/dev/null
	VERBATIM_SESSIONS=$PWD/small "$VERBATIM" record -q -o t.db "$guest" say started >out 2>err
	local status=$?
	ls small >left
	umount small
	is $status 4 && is "$(cat out)" "" && is "$(wc -l <err)" 1 &&
		grep -q "No space left" err && is "$(cat left)" all && [ ! -e t.db ]
}
# Processor time in us of a command and what it starts.
spent() {
	local TIMEFORMAT='%U %S' used user system
	used=$({ time "$@" >/dev/null 2>&1; } 2>&1)
	read -r user system <<<"${used//./}"
	echo $(((10#$user + 10#$system) * 1000))
}

four_times() { for _ in 1 2 3 4; do "$@"; done; }

# Compared with the start of the command alone; 8.5 times when SQLite made the tables and derived
# others from nothing, 4.2 without. The least of several, since others use the machine,
# and four runs each, since the time is in milliseconds, of which one run takes few.
program_without_verbs_costs_little() {
	local least=99999999 alone=99999999 us i
	for i in 1 2 3; do
		us=$(spent four_times "$VERBATIM" --version)
		[ "$us" -ge $alone ] || alone=$us
		us=$(spent four_times record true)
		[ "$us" -ge $least ] || least=$us
		rm -f t.db
	done
	[ $least -lt $((alone * 6)) ] || { echo "$least us, $alone us alone"; return 1; }
}
try program_without_verbs_costs_little
if [ "$(id -u)" -eq 0 ]; then
	try_in_turn full_disk_stops_the_recording_only
	try full_disk_leaves_the_programs_own_status
	try full_shared_memory_is_reported
	try small_shared_memory_makes_small_rings
	try no_shared_memory_starts_nothing
else echo "skip record: full disk stops the recording only: needs root to mount"; fi
try nothing_is_left_of_sessions
try pingpong_is_recorded_on_both_sides
