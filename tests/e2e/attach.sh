# verbatim attach: what programs wait for that nobody recorded. Each hangs for another reason.
. tests/e2e/lib/try.sh
needs "$apps/cm_hung"
cd "$tmp" || exit 1

# Start cm_hung $1 on the software device, until it is about to hang: $pid.
start() {
	local line
	rm -f ready && mkfifo ready
	LD_PRELOAD=$libs/libverbatim-soft.so "$apps/cm_hung" "$@" >ready 2>err &
	pid=$!
	read -rt 60 line <ready && is "its line" "$line" ready
}

# The first reason, which is the conclusion, has these words. The program may not wait yet.
concludes() { # words [option...]
	local words=$1
	shift
	"$VERBATIM" attach "$@" $pid >out && sed -n 2p out >first && says "$words" first
}

# So it is within two seconds; and the program still waits.
waits_for() { # reason words [option...]
	local reason=$1 status
	shift
	start "$reason" || return
	AWAIT_SECONDS=10 await concludes "$@" && kill -0 $pid &&
		"$VERBATIM" attach "${@:2}" --format json $pid >json &&
		jq -e '.waits_for == .reasons[0].text' json >/dev/null
	status=$?
	kill $pid
	wait $pid 2>/dev/null
	return $status
}

try "receiver not ready" waits_for rnr 'not ready (RNR): queue pair .* has 1 request outstanding'
try "receiver not ready, from outside" waits_for rnr 'not ready (RNR): the device tries' --facts
try "full queue" waits_for full 'is full: 8 of 8 requests are outstanding, and none .* signalled'
try "lost wake-up" waits_for wakeup 'lost wake-up'
try "dead peer" waits_for peer 'whose process has ended'
try "lost credit" waits_for credit 'waits for a message'
try "connection manager" waits_for cm 'rdma_get_cm_event() for an event of the connection manager'
try "destroy that waits" waits_for destroy 'ibv_destroy_cq() until .* acknowledged'
export VERBATIM_SOFT_MEMLOCK=1
try "limit of memory" waits_for memlock 'RLIMIT_MEMLOCK is 64 KiB'
unset VERBATIM_SOFT_MEMLOCK
try "wrong state" waits_for state 'in state INIT: it cannot send'
try "deadlock of two threads" waits_for deadlock 'is in a deadlock: it waits for the mutex'

events_not_acknowledged_are_counted() {
	start destroy && AWAIT_SECONDS=10 await concludes 'ibv_destroy_cq' || return
	says '1 event taken from CQ 1 of the fabric, of which 1 is not acknowledged' out
	local status=$?
	kill $pid
	return $status
}
try events_not_acknowledged_are_counted

# Its context, queue pairs and regions are those of the fabric, and no more.
objects_in_memory_are_those_of_the_fabric() {
	start credit && "$VERBATIM" attach --json $pid >json || return
	kill $pid
	jq -e '([.queue_pairs[] | .queue_pair + .state] | sort) ==
			([.fabric_queue_pairs[] | .queue_pair + .state] | sort) and
		(.contexts | length) == 1 and .contexts[0].device == "verbatim0" and
		([.cqs[].fabric_cq] | sort) == ["0", "1"] and (.regions | length) == 2' \
		json >/dev/null || cat json
}
try objects_in_memory_are_those_of_the_fabric

# From --no-stop the kernel's SP and PC of a sleeping thread are left: enough for its verb.
is_asleep() {
	"$VERBATIM" attach --no-stop --format json $pid >json && jq -e '.threads[0].sleeps_in' json
}
no_thread_is_stopped() {
	start cm && await is_asleep >/dev/null || return
	kill $pid
	jq -e '.longest_stop_ns == 0 and all(.threads[]; .not_stopped != null)' json >/dev/null ||
		{ cat json; return 1; }
}
try no_thread_is_stopped

# A program that sends and sleeps is looked at many times, and has the same results.
goes_on_unharmed() {
	local i times
	times=$(share 30 1000)
	LD_PRELOAD=$libs/libverbatim-soft.so "$apps/cm_hung" works >result 2>err &
	pid=$!
	await grep -q ready result || return
	for ((i = 0; i < times; i++)); do
		"$VERBATIM" attach $pid >out || return
	done
	kill -USR1 $pid
	wait $pid
	is "status" $? 0 && says 'all arrived' result && is "errors" "$(cat err)" ""
}
try goes_on_unharmed

# The file `core` of cm_hung $1, when attach concludes $2 of it. Status 77: none can be made.
make_core() {
	local pattern
	read -r pattern </proc/sys/kernel/core_pattern
	ulimit -c unlimited 2>/dev/null
	[[ $pattern = core && $(ulimit -c) = unlimited ]] || return 77
	rm -f core core.*
	start "$1" && AWAIT_SECONDS=10 await concludes "$2" || return
	kill -ABRT $pid
	wait $pid
	[ -f core ] || mv core.* core
}

cores_are_described() {
	make_core destroy 'ibv_destroy_cq()' || return
	"$VERBATIM" attach --core core >out && sed -n 2p out >first &&
		says 'ended by signal 6' out && says 'in ibv_destroy_cq() until' first &&
		"$VERBATIM" attach --core core --json >json &&
		jq -e '.signal == 6 and (.cqs | length) == 2 and
			(.stacks[0].frames | any(.function == "hang_destroy"))' json >/dev/null
}

# Whatever is cut off, there is an answer or one line.
cut_cores_are_refused() {
	local size i n status
	size=$(stat -c %s core) && cp core whole || return
	for ((i = 0; i < $(share 12 200); i++)); do
		n=$((i < 6 ? i * 700 : size / 13 * (i % 13)))
		head -c $n whole >core
		"$VERBATIM" attach --core core >out 2>err
		status=$?
		if [ $status = 3 ]; then is "lines" "$(wc -l <err)" 1 || return
		else is "status of $n bytes" $status 0 || return; fi
	done
	head -c 700 whole >core && refuses 3 'truncated: it has no threads or no memory' --core core
}

other_files_are_no_cores() {
	refuses 3 'is not a core file' --core "$VERBATIM" && : >empty &&
		refuses 3 'is not a core file' --core empty &&
		refuses 4 'open no/such/file' --core no/such/file &&
		refuses 3 'is not a regular file' --core ready &&
		refuses 2 'unexpected' --core core 12
}

# One line, with the status and what to do next.
refuses() { # status words arguments
	local status=$1 words=$2
	shift 2
	"$VERBATIM" attach "$@" >out 2>err
	is "status" $? "$status" && says "$words" err && is "lines" "$(wc -l <err)" 1 &&
		is "output" "$(cat out)" ""
}
no_process_is_refused() {
	refuses 2 'no PID given' && refuses 2 'is not a PID' x12 &&
		refuses 2 'leave out --facts' --record x --facts 1 &&
		refuses 2 'is not a PID' -- -5 && refuses 2 'unexpected' 1 2 &&
		refuses 2 'is not a PID' 99999999999 &&
		refuses 4 'no process 2147483647' 2147483647
}
try no_process_is_refused

other_programs_are_refused() {
	sleep 60 & local pid=$!
	await grep -q sleep /proc/$pid/comm && refuses 4 'is not an RDMA program' $pid
	local status=$?
	kill $pid
	return $status
}
try other_programs_are_refused

of_other_users_is_refused() {
	start cm || return
	chmod 755 "$tmp" 2>/dev/null
	setpriv --reuid=65534 --regid=65534 --clear-groups "$VERBATIM" attach $pid >out 2>err
	local status=$?
	kill $pid
	is "status" $status 4 && says 'belongs to user 0: run .verbatim attach. as that user' err
}
if [ "$(id -u)" = 0 ]; then try of_other_users_is_refused
else skip "of other users is refused" "needs root"; fi

make_core state 'state INIT' >/dev/null 2>&1
if [ $? = 77 ]; then
	skip "cores are described" "the kernel writes no cores here"
else
	try cores_are_described
	try cut_cores_are_refused
fi
try other_files_are_no_cores

exit $failed
