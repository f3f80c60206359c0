# verbatim attach --record: a running program is recorded, and goes on as if it had not been. LONG=1
# does it 1,000 times, with perftest and UCX, too; TIMES_EACH=200 so often.
. tests/e2e/lib/try.sh
needs "$apps/throng" "$apps/cm_hung"
cd "$tmp" || exit 1
[[ $(uname -m) = x86_64 ]] || { echo "skip attach_record: not x86-64"; exit 0; }
! ldd "$VERBATIM" | grep -q 'lib[at]san' || { echo "skip attach_record: sanitizers"; exit 0; }

# Start a program on the software device, until it says that it is ready: $pid.
start() {
	: >result # that of the program before was ready
	LD_PRELOAD=$libs/libverbatim-soft.so "$@" >result 2>err &
	pid=$!
	AWAIT_SECONDS=60 await grep -q ready result
}

# What a program has that the recorder might leave behind.
state() {
	echo "descriptors $(ls /proc/$pid/fd | wc -l)" "threads $(ls /proc/$pid/task | wc -l)" \
		"mappings $(wc -l </proc/$pid/maps)" \
		"$(grep -hE 'SigBlk|TracerPid' /proc/$pid/task/*/status | sort | uniq -c | xargs)"
}

is_left_alone() {
	! grep -E 'verbatim-[^/]*/(ring|session)' /proc/$pid/maps &&
		! grep -z VERBATIM_DIR /proc/$pid/environ
}

# On a busy machine all threads may be in verbs whenever the command looks: no other failure.
record() {
	timeout 60 "$VERBATIM" attach -q --record t.db --for 50ms $pid 2>said ||
		grep 'may be borrowed now' said || { cat said; return 1; }
}

ends_well() { # words
	kill -USR1 $pid
	wait $pid
	is status $? 0 && says "$1" result && is errors "$(cat err)" ""
}

# the second time the library is there already: nothing at all is added
one_thread() {
	local i times before
	start "$apps/cm_hung" works || return
	record && says '' t.db && is_left_alone || return
	before=$(state)
	times=$(share 3 ${TIMES_EACH:-1000})
	for ((i = 0; i < times; i++)); do
		record && is_left_alone && is state "$(state)" "$before" || return
	done
	"$VERBATIM" check t.db >checked || { cat checked; return 1; }
	says 'the program ran already when the recording began' checked &&
		is "events" "$(sql "SELECT count(*) > 0 FROM wr")" 1 &&
		is lost "$(sql 'SELECT coalesce(sum(events), 0) FROM loss')" 0 &&
		ends_well 'all arrived'
}
try one_thread

# objects of before have their kinds and states; what comes then uses them
objects_made_before() {
	start "$apps/cm_hung" works && record || return
	"$VERBATIM" attach --json $pid >json
	is "queue pairs" "$(sql "SELECT count(*) FROM object WHERE kind = 'qp'")" \
		"$(jq '[.queue_pairs[] | select(.gone | not)] | length' json)" &&
		is "unknown" "$(sql 'SELECT count(*) FROM wr WHERE qp IS NULL')" 0 &&
		is marks "$(sql "SELECT count(*) FROM mark WHERE text LIKE '%made before%'")" 2 &&
		ends_well 'all arrived'
}
try objects_made_before

many_threads() {
	local before i
	start "$apps/throng" "$(share 50 200)" || return
	record && is_left_alone || return
	before=$(state)
	for ((i = 0; i < $(share 1 ${TIMES_EACH:-1000}); i++)); do
		record && is_left_alone && is threads "$(state | grep -o 'SigBlk.*')" \
			"$(grep -o 'SigBlk.*' <<<"$before")" || return
	done
	ends_well 'all went well'
}
try many_threads

# at any moment of it; then it can be recorded again
attach_is_killed() {
	local i
	start "$apps/throng" 4 || return
	for ((i = 0; i < $(share 4 40); i++)); do
		VERBATIM_SESSIONS=$tmp "$VERBATIM" attach -q --record k.db $pid 2>/dev/null &
		sleep 0.0$((RANDOM % 10))$((RANDOM % 10))
		kill -KILL $!
		wait $! 2>/dev/null
	done
	record && ends_well 'all went well'
}
try attach_is_killed

# children of before, of the recording, and of after it use the context that they inherit
forks() {
	local i
	start "$apps/brood" || return
	for ((i = 0; i < $(share 3 ${TIMES_EACH:-1000}); i++)); do
		record && is_left_alone || return
	done
	is forked "$(sql 'SELECT count(*) > 0 FROM fork')" 1 &&
		is lost "$(sql 'SELECT coalesce(sum(events), 0) FROM loss')" 0 &&
		"$VERBATIM" check t.db >/dev/null && ends_well 'all went well'
}
try forks

# a closed context's memory, which the program uses for something else
lookalikes_are_left_alone() {
	start "$apps/lookalike" && record && ends_well 'all went well' &&
		is contexts "$(sql "SELECT count(*) FROM object WHERE kind = 'context'")" 1
}
try lookalikes_are_left_alone

# Both ends of a pair, the client recorded again and again until it ends. Prints how often.
pair_under_attach() { # program with its arguments
	local server times=0
	next_port
	AWAIT_SECONDS=60
	LD_PRELOAD=$libs/libverbatim-soft.so "$@" -p $port >server 2>&1 & server=$!
	await listens $port || return
	LD_PRELOAD=$libs/libverbatim-soft.so "$@" -p $port localhost >client 2>&1 & pid=$!
	while "$VERBATIM" attach -q --record t.db --for 50ms $pid >/dev/null 2>said; do
		times=$((times + 1))
	done # a thread that polls may be in the recorder at each look: then a ring stays mapped
	wait $pid && wait $server || { cat server client; return 1; }
	says ended said || return
	[ $times -ge 3 ] || { echo "only $times: $(cat said)"; return 1; } # on a busy machine
	echo "$times attached to: $*" >>times
}
perftest() { # program, words of its result
	pair_under_attach "$1" -F -s 64 -D $((${TIMES_EACH:-1000} / 3)) && says '^ 64 ' client
}
ucx() {
	UCX_TLS=rc_v UCX_NET_DEVICES=verbatim0:1 pair_under_attach ucx_perftest -t tag_lat \
		-s 8 -w 20 -n $((${TIMES_EACH:-1000} * 15000)) && says '^Final:' client
}
if [ -n "${LONG:-}" ]; then
	command -v ib_send_lat >/dev/null && try "ib_send_lat" perftest ib_send_lat
	command -v ib_write_bw >/dev/null && try "ib_write_bw" perftest ib_write_bw
	command -v ucx_perftest >/dev/null && try "ucx_perftest" ucx
	cat times 2>/dev/null
fi

# What falls into the recording is counted and checked as in one from the start: calls, requests and
# completions of each message, and findings.
facts_of() { # trace
	"$VERBATIM" check --json "$1" | jq -c '[.findings[]?.rule] | unique'
	"$VERBATIM" stat --json "$1" | jq -c '.summary | [.failed, .errors, .unmatched, .lost]'
	"$VERBATIM" sql "$1" "WITH sent AS (SELECT count(*) * 1.0 AS all_of, min(time) AS a,
			max(time) AS b FROM wr WHERE verb <> 'ibv_post_recv')
		SELECT verb, round(count(*) / all_of) FROM call, sent
			WHERE begin BETWEEN a AND b AND depth = 0 AND NOT ours GROUP BY 1
		UNION ALL SELECT verb || ' ' || num_sge, round(count(*) / all_of) FROM wr, sent
			GROUP BY 1
		UNION ALL SELECT 'notify', round(count(*) / all_of) FROM notify, sent
		UNION ALL SELECT opcode || status, round(count(*) / all_of) FROM wc, sent
			GROUP BY 1"
}
as_from_the_start() {
	"$VERBATIM" record -q -d soft -o whole.db -- timeout -s USR1 3 "$apps/cm_hung" works >out
	start "$apps/cm_hung" works && "$VERBATIM" attach -q --record t.db --for 1s $pid 2>said &&
		ends_well 'all arrived' && says 'all arrived' out || return
	is facts "$(facts_of t.db)" "$(facts_of whole.db)" && is lines "$(facts_of t.db | wc -l)" 9
}
try_in_turn as_from_the_start

is_refused() { # words
	"$VERBATIM" attach --record t.db $pid >out 2>said
	is status $? 4 && is lines "$(wc -l <said)" 1 && says "$1" said
}

sandboxes_are_refused() {
	cat >box.py <<-END
		import ctypes, signal, sys
		libc = ctypes.CDLL(None)
		class Filter(ctypes.Structure):
		    _fields_ = [("n", ctypes.c_ushort), ("at", ctypes.c_void_p)]
		allow = (ctypes.c_uint64 * 1)(0x7fff000000000006)
		libc.prctl(38, 1, 0, 0, 0)
		libc.prctl(22, 2, ctypes.byref(Filter(1, ctypes.addressof(allow))), 0, 0)
		ctypes.CDLL("libibverbs.so.1")
		print("ready", flush=True)
		signal.pause()
	END
	start python3 box.py || return
	is_refused 'seccomp sandbox' && kill -0 $pid
	local status=$?
	kill $pid
	return $status
}
try sandboxes_are_refused

recorded_programs_are_refused() {
	: >result
	"$VERBATIM" record -q -d soft -o r.db -- "$apps/throng" 1 >result 2>err &
	local recorder=$!
	AWAIT_SECONDS=60 await grep -q ready result || return
	pid=$(pgrep -P $recorder throng)
	is_refused 'is already being recorded'
	local status=$?
	kill -USR1 $pid
	wait $recorder && says 'all went well' result && return $status
}
try recorded_programs_are_refused
