# Torture: programs whose error path of one kind is broken are told with its place; their twins are
# not. Only the failure that shows the mistake is tried; LONG=1 tries all, of twins, too.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE
app=$apps/error_paths
needs "$app" "$apps/error_tables" "$apps/error_events" "$apps/cm_error_paths" "$apps/orders"
cd "$tmp" || exit 1

torture() { timeout 120 "$VERBATIM" torture "$@" >out 2>err; }

plant() { # kind, failure, verdict, what is said
	programs+=("$of_kinds"); kinds+=("$1"); failures+=("$2"); verdicts+=("$3"); words+=("$4")
}
of_kinds=$app
plant unchecked-region "ibv_reg_mr() fails" crash \
	"SIGSEGV after ibv_reg_mr() in create_all"
plant destroyed-twice "ibv_create_qp() fails" misuse \
	"LIFE-002 ibv_destroy_cq(): cq in clean_up"
plant forgotten-region "ibv_create_qp() fails" leak \
	"LIFE-004"
plant errno-for-minus-one "ibv_modify_qp() fails with EINVAL in to_rtr" misuse \
	"STATE-"
plant used-after-destroy "ibv_modify_qp() fails with EINVAL in to_rtr" misuse \
	"LIFE-001 ibv_modify_qp(): qp in to_err"
plant asserted-post "ibv_post_recv() fails" corrupt \
	"Assertion"
plant ignored-post "ibv_post_send() fails" hang \
	"in post_send (error_paths.c"
plant ignored-status "SEND completes with RETRY_EXC_ERR" misuse \
	"in post_send"
plant waits-for-success "SEND completes with RETRY_EXC_ERR" hang \
	"process 1"
plant freed-at-each-flush "SEND completes with RETRY_EXC_ERR" crash \
	"SIGABRT"
plant region-before-late-completion "completions come 300 ms late" misuse "ibv_dereg_mr"
plant ignored-destroy "ibv_destroy_qp() fails" misuse \
	"LIFE-003"
plant ignored-query "ibv_query_qp() fails" silent "exit 0, as if nothing had failed"

# of several regions, queue pairs, lists of requests; of trying again
of_kinds=$apps/error_tables
plant cleanup-aborts "ibv_destroy_qp() fails" crash \
	"SIGABRT after ibv_destroy_qp() in destroy_pairs"
plant first-region-left "ibv_create_cq() fails" misuse \
	"LIFE-003 ibv_dealloc_pd(): pd in destroy_all"
plant shorter-region "ibv_reg_mr() fails" misuse \
	"MKEY-001 ibv_post_send(): wr.1.*lkey in post_list"
plant failed-one-too "ibv_create_qp() fails" crash \
	"SIGSEGV after ibv_destroy_qp() in fail_pair"
plant queue-after-destroy "ibv_create_qp() fails" misuse \
	"LIFE-001 ibv_poll_cq(): cq in fail_pair"
plant tries-forever "ibv_post_send() fails with ENOMEM in" hang \
	"if the call fails each time: process 1 .*in post_list"
plant list-again "at a later request" misuse \
	"QUEUE-006 ibv_post_send(): wr.0. in post_list"
plant refused-count "ibv_post_send() fails with ENOMEM in" hang \
	"last verb, ibv_post_send(), .* in post_list"
plant memory-before-flush "at a later request" misuse \
	"MKEY-005 ibv_dereg_mr(): mr in drain_queues"
plant flush-is-none "SEND completes with RETRY_EXC_ERR" hang \
	"last verb, ibv_poll_cq()"

# of events of a CQ and the device, of threads, of memory that is freed
of_kinds=$apps/error_events
plant unacknowledged-by-watcher "the CQ overruns" hang \
	"its last verb, ibv_get_async_event(), .* in watch_device"
plant unacknowledged-at-failure "SEND completes with RETRY_EXC_ERR" hang \
	"COMPL-003 ibv_destroy_cq(): cq in destroy_all"
plant waits-with-lock "the CQ overruns" hang \
	"it slept in the kernel, in futex"
plant thread-left "ibv_modify_qp() fails with EINVAL in connect_all" misuse \
	"LIFE-001 ibv_poll_cq(): cq in poll_rest"
plant waits-for-all "the CQ overruns" hang \
	"its last verb, ibv_ack_async_event(), .* in watch_device"
plant opcode-of-failed "SEND completes with RETRY_EXC_ERR" crash \
	"SIGSEGV after ibv_poll_cq()"
plant request-freed "ibv_post_send() fails" crash \
	"SIGSEGV after ibv_poll_cq()"
plant first-arm-ignored "ibv_req_notify_cq() fails" hang \
	"its last verb, ibv_post_send()"
plant second-arm-ignored "ibv_req_notify_cq() fails" hang \
	"its last verb, ibv_post_send()"

# of librdmacm
of_kinds=$apps/cm_error_paths
plant error-event-kept "ADDR_ERROR instead of ADDR_RESOLVED" hang \
	"CM-002 rdma_destroy_id(): cm_id in destroy_all"
plant waits-for-established "REJECTED instead of ESTABLISHED" hang \
	"in next_event (cm_error_paths.c"
plant id-destroyed-twice "rdma_resolve_addr() fails" crash \
	"SIGSEGV after "
plant request-left "rdma_create_qp() fails" misuse \
	"CM-001 rdma_destroy_event_channel(): cm_channel in destroy_all"
plant pair-left-to-id "ibv_create_cq() fails" misuse \
	"LIFE-003 ibv_destroy_cq(): cq in destroy_end"

is_told() { # number
	torture --only "${failures[$1]}" -- "${programs[$1]}" "${kinds[$1]}"
	is status $? 1 && says "^${verdicts[$1]} .*${failures[$1]}" out &&
		says "${words[$1]}" out || { cat out err; return 1; }
}

twin_is_fine() { # number
	local only=(--only "${failures[$1]}")
	[ -z "${LONG:-}" ] || only=()
	torture "${only[@]}" -- "${programs[$1]}" "${kinds[$1]}" good
	is status $? 0 && says "[0-9] handled" out || { cat out err; return 1; }
}

only_the_mistake_is_told() { is_told $1 && twin_is_fine $1; }

for i in "${!kinds[@]}"; do
	try_in_turn "${kinds[$i]} is told, and its twin is fine" only_the_mistake_is_told $i
done

# The report is the verdict; what the sanitizer reports of each run, or only looks like a report, is
# none.
is_told_by_its_sanitizer() { # kind, sanitizer, verdict, what is said
	gcc -g -O1 -I"$root" -fsanitize="$2" -o "$1" "$root/tests/e2e/torture/sanitized.c" \
		-libverbs || return
	torture --only "ibv_reg_mr() fails" -- "./$1" "$1"
	is status $? 1 && says "^$3 .*ibv_reg_mr() fails" out && says "$4" out ||
		{ cat out err; return 1; }
	torture --only "ibv_reg_mr() fails" -- "./$1" good
	is status $? 0 && says "^1 handled" out || { cat out err; return 1; }
}
sanitizers=(
	address address crash "AddressSanitizer: heap-use-after-free .*sanitized.c.* in fail_region"
	leak address leak "10 byte(s) leaked .* in fail_region .*sanitized.c:[0-9]*"
	undefined undefined crash "sanitized.c:[0-9:]* runtime error: signed integer overflow"
	thread thread crash "ThreadSanitizer: data race .* in \(count_failure\|fail_with\)"
)
for ((i = 0; i < ${#sanitizers[@]}; i += 4)); do
	try_in_turn "a sanitizer reports: ${sanitizers[i]}" is_told_by_its_sanitizer \
		"${sanitizers[@]:i:4}"
done

errno_of_another_call_is_told() {
	torture --only "ibv_alloc_pd" -- sh -c "$app none || { echo 'pd: Success' >&2; exit 1; }"
	is status $? 1 && says "^misuse .*ibv_alloc_pd() fails" out &&
		says 'it prints "pd: Success" for ENOMEM' out || { cat out err; return 1; }
}

# Some rely on what is in their memory; they are tried with that.
garbage_is_not_forced_on_a_program() {
	torture --only "ibv_alloc_pd" -- sh -c "[ -z \$MALLOC_PERTURB_ ] && $app none"
	is status $? 0 && says "^1 handled" out || { cat out err; return 1; }
}

one_is_repeated() {
	torture --only "ibv_reg_mr() fails" -- "$app" unchecked-region
	local n=$(sed -n 's/^crash *\([0-9]*\) .*/\1/p' out)
	rm -rf torture
	torture --again "$n" -- "$app" unchecked-region; is status $? 1 &&
		says "^crash *$n " out && "$VERBATIM" dump "torture/$n.db" >dumped &&
		says ENOMEM dumped
}

# the smallest trace in which check finds the same; a crash is none of its findings
traces_are_reduced() {
	torture --reduce 500ms --only "ibv_create_cq() fails" -- "$app" forgotten-region
	local n=$(sed -n 's/^leak *\([0-9]*\) .*/\1/p' out)
	says "^ *torture/$n.reduced.db: .* reproduce finding LIFE-004" out || return
	"$VERBATIM" check "torture/$n.reduced.db" >checked
	says LIFE-004 checked || return
	torture --reduce 500ms --only "ibv_reg_mr() fails" -- "$app" unchecked-region
	says "^ *not reduced: no finding of check" out || { cat out err; return 1; }
}

# on any device: the verdicts are those of the same failures made by the software device
the_recorder_makes_the_failures() {
	local only=(--only "SEND completes with RETRY_EXC_ERR")
	torture "${only[@]}" -- "$app" ignored-status
	grep "SEND" out >wanted
	torture --maker recorder "${only[@]}" -- "$app" ignored-status; is status $? 1 || return
	says "^to repeat one: verbatim torture --maker recorder --again" out || return
	grep "SEND" out | diff wanted -
}

# each with a port of its own
pairs_run_beside_each_other() {
	torture -j 2 --only "ibv_alloc_pd() fails" --timeout 5s -- \
		env TEST_PORT=%p "$both" ibv_rc_pingpong -n 5
	is status $? 1 && says "^hang .*ibv_alloc_pd() fails with ENOMEM" out &&
		says "1 hang, 1 handled" out || { cat out err; return 1; }
}

list_is_printed() {
	rm -rf torture
	torture --list -- "$app" none; is status $? 0 &&
		says " 1  ibv_open_device() fails with ENOMEM in open_first_device" out &&
		says "^[1-9][0-9]* failures, [a-z ]*[0-9]* s$" out &&
		is files "$(ls -A torture 2>/dev/null)" ""
}

reports_are_valid() {
	torture --json --only "ibv_alloc_pd" -- "$app" none
	is verdict "$(jq -r '.results[] | select(.verdict) | .verdict' out)" handled || return
	torture --format junit --only "ibv_alloc_pd" -- "$app" none
	xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" out || return
	torture --format sarif --only "ibv_reg_mr() fails" -- "$app" unchecked-region
	is status $? 1 && python3 "$root/tests/e2e/lib/sarif.py" out >said ||
		{ cat said; return 1; }
	is result "$(jq -r '.runs[0].results[] | "\(.ruleId) \(.locations[0].logicalLocations[0]
		.fullyQualifiedName) \(.locations[0].physicalLocation.artifactLocation.uri)"' out |
		sed 's, .*/, ,')" "crash error_paths.c" || return
	torture --format html --only "ibv_reg_mr() fails" -- "$app" unchecked-region "<b>"
	is status $? 1 && says '<td class="bad">crash<td>[0-9]*<td>ibv_reg_mr() fails' out &&
		says 'unchecked-region &lt;b&gt;' out
}

# Nothing fails: the program relies on an order. It meets another one on a busy machine, too: a
# completion is late from when its CQ is polled, and the other thread is held much longer than this
# one sleeps.
order_is_met() { # kind, seed, runs, verdict
	torture --chaos "$2" --runs "$3" -- "$apps/orders" "$1"
	is status $? 1 && says "^$4 .*another order, seed" out &&
		says "; again with this seed" out || { cat out err; return 1; }
	torture --chaos "$2" --runs "$3" -- "$apps/orders" "$1" good
	is status $? 0 && says "^$3 handled" out || { cat out err; return 1; }
}

a_stopped_one_goes_on() {
	local only=(--only "ibv_create" -- "$app" forgotten-region)
	torture --json "${only[@]}"; jq 'del(.results[].took_ns)' out >whole
	torture --budget 1ns "${only[@]}" && says "not tried" out && says "resume continues" err &&
		is "file of results" "$(wc -c <torture/progress)" 0 || return
	head -n 1 <(jq -c '.results[] | select(.verdict) | .says = "as before"' whole) \
		>torture/progress
	torture --again 1 -- "$app" forgotten-region
	is "results, after one more run" "$(wc -l <torture/progress)" 1 || return
	torture --json --resume "${only[@]}"
	is status $? 1 && is "taken over" "$(jq '[.results[] | select(.says == "as before")] |
		length' out)" 1 || return
	is "the others" "$(jq -c '[.results[] | .verdict]' out)" \
		"$(jq -c '[.results[] | .verdict]' whole)" || return
	[ ! -e torture/progress ] || { echo "a file of results is left"; return 1; }
	torture --resume "${only[@]}"; is status $? 4 && says "go on: open torture/progress" err
}

results_are_kept_until_they_are_replaced() {
	local only=(--only "ibv_create" -- "$app" forgotten-region good)
	torture --budget 1ns "${only[@]}"; is status $? 0 || return
	torture --json "${only[@]}"; jq -c '.results[] | select(.verdict)' out | head -n 1 >kept
	mkdir -p torture/progress.new && cp kept torture/progress
	torture --resume "${only[@]}"; is status $? 4 && cmp kept torture/progress || return
	rmdir torture/progress.new
	torture --resume --budget 1ns "${only[@]}"; is status $? 0 &&
		is results "$(wc -l <torture/progress)" 1 && [ ! -e torture/progress.new ]
}

stopped_by_a_signal() { # signal, status
	local pid
	rm -rf torture
	"$VERBATIM" torture -j 1 --only ibv_ -- "$app" none good >out 2>err &
	pid=$!
	await [ -e torture/progress ] && kill -s $1 $pid || return
	wait $pid
	is status $? $2 && says "not tried" out && says "--resume continues" err
}

stopped_before_the_first_failure() {
	local pid
	rm -rf torture
	"$VERBATIM" torture -- sleep 60 >out 2>err &
	pid=$!
	await compgen -G "torture/runs.*/reference" >/dev/null && kill -s INT $pid || return
	wait $pid
	is status $? 130
}

# A process that outlives its recorder: it would hold the trace, and the processor.
nothing_is_left_running() {
	rm -f pids
	torture --only "ibv_alloc_pd" -- sh -c "$app none good || {
		sleep 1234 & echo \$! >>$PWD/pids; kill -KILL \$PPID; }"
	[ -s pids ] || { cat out err; return 1; }
	# a zombie is left to whoever reaps it
	is left "$(ps -o stat=,args= -p "$(paste -sd, pids)" | grep -v ^Z)" ""
}

known_ones_do_not_count() {
	torture --json --only "ibv_create" -- "$app" forgotten-region; is status $? 1 || return
	mv out known.json
	torture --baseline known.json --only "ibv_create" -- "$app" forgotten-region
	is status $? 0 && says "2 known" out || { cat out err; return 1; }
	torture --baseline known.json --only "ibv_" -- "$app" forgotten-region,unchecked-region
	is status $? 1 && says "^crash .*ibv_reg_mr" out && says "2 known" out ||
		{ cat out err; return 1; }
	echo '[1]' >bad.json
	torture --baseline bad.json -- "$app" none; is status $? 3 &&
		says "bad.json is not a baseline: write one with torture --json" err
}

# it calls no verb the third time
what_did_not_occur_is_missed() {
	torture -j 1 --only SEND -- sh -c \
		"echo >>runs; [ \$(wc -l <runs) -gt 2 ] || exec $app none"
	is status $? 0 && says "^[0-9]* missed" out || { cat out err; return 1; }
}

# it sends 2 messages the third time, not 10: the completion of the fifth is to be late
what_came_to_no_middle_is_missed() {
	rm -f runs
	torture -j 1 --only "300 ms late" -- sh -c \
		"echo >>runs; [ \$(wc -l <runs) -gt 2 ] && n=2; exec $apps/loop counts \${n:-10}"
	is status $? 0 && says "^1 missed" out || { cat out err; return 1; }
}

# it has destroyed nothing, and leaves all to the kernel
an_exit_at_once_leaks_nothing() {
	torture --only "ibv_create_qp() fails" -- "$apps/loop" counts 3
	is status $? 0 && says "^1 handled" out || { cat out err; return 1; }
}

# What another process destroys later is no cleaning up by the one that failed.
each_process_is_judged_by_itself() {
	torture --only "ibv_create_qp() fails" -- sh -c \
		"$apps/loop counts 3; status=\$?; $app none && exit \$status"
	is status $? 0 && says "^2 handled" out || { cat out err; return 1; }
	torture --only "ibv_create_qp() fails" -- sh -c \
		"$app forgotten-region || exit 0; $apps/loop counts 3"
	is status $? 1 && says "^leak " out || { cat out err; return 1; }
}

# What librdmacm destroys of its own is no cleaning up either.
what_librdmacm_destroys_is_not_cleaned_up() {
	torture --only "ibv_create_qp() fails" -- sh -c "$app none good || python3 -c 'if True:
		import ctypes, sys
		ctypes.CDLL(\"librdmacm.so.1\").rdma_create_event_channel()
		sys.exit(1)'"
	is status $? 0 && says "^1 handled" out || { cat out err; return 1; }
}

# perftest ignores that its queue pair did not get to INIT (docs/ERROR-PATHS.md)
bug_of_perftest_is_told() {
	torture -j 2 --only "ibv_modify_qp() fails" --timeout 20s -- \
		env TEST_PORT=%p "$both" ib_send_lat -F -n 5
	is status $? 1 && says "^misuse .*ibv_modify_qp() fails with EINVAL" out &&
		says "STATE-001 ibv_modify_qp(): attr->qp_state" out || { cat out err; return 1; }
}

# librdmacm has its own part of the device, which may be used before a device is opened
processes_are_numbered_as_by_the_device() {
	torture --only "ibv_create_qp() fails" -- python3 -c "if True:
		import ctypes, subprocess, sys
		ctypes.CDLL('librdmacm.so.1').rdma_create_event_channel()
		sys.exit(subprocess.call(['$app', 'none']))"
	is status $? 0 && says "^1 handled" out || { cat out err; return 1; }
}

# the request is not recorded then
a_kill_is_no_miss() {
	torture -j 2 --only "is killed" --timeout 5s -- \
		sh -c "TEST_PORT=%p $both ibv_rc_pingpong -n 5"
	! says missed out || { cat out err; return 1; }
}

# it destroys the queue pair instead
a_status_that_is_not_polled_is_no_miss() {
	torture --only "SEND completes" -- "$apps/in_vain" destroyed
	is status $? 1 && says "^silent " out || { cat out err; return 1; }
}

# the others are tried all the same
a_run_without_a_trace_is_told() {
	torture -j 1 --only "ibv_create_" -- sh -c "$app none || kill -9 0"
	is status $? 0 && says "^2 missed" out || { cat out err; return 1; }
}

what_fails_by_itself_is_refused() {
	torture -- sh -c 'echo no luck >&2; exit 7'; is status $? 3 &&
		says "without an injected failure: exit status 7: no luck" err || return
	torture -- true; is status $? 3 && says "called no verb that can fail" err || return
	torture; is status $? 2 && says "no program given" err || return
	torture --again 1000 -- "$app" none; is status $? 3 && says "there is no failure 1000" err
}

budget_ends_it() {
	torture --budget 1ns -- "$app" none; is status $? 0 && says "^[0-9]* not tried" out
}

try_in_turn errno_of_another_call_is_told
try_in_turn garbage_is_not_forced_on_a_program
try one_is_repeated
try traces_are_reduced
try the_recorder_makes_the_failures
try pairs_run_beside_each_other
try list_is_printed
try reports_are_valid
try "an order of queues is met" order_is_met queues 1 5 corrupt
try "an order of threads is met" order_is_met threads 1 4 crash
try a_stopped_one_goes_on
try results_are_kept_until_they_are_replaced
try "a signal ends it: the status says so" stopped_by_a_signal INT 130
try "SIGTERM ends it: the status says so" stopped_by_a_signal TERM 143
try stopped_before_the_first_failure
try nothing_is_left_running
try known_ones_do_not_count
try what_did_not_occur_is_missed
try what_came_to_no_middle_is_missed
try an_exit_at_once_leaks_nothing
try each_process_is_judged_by_itself
try_in_turn what_librdmacm_destroys_is_not_cleaned_up
if command -v ib_send_lat >/dev/null; then
	try_in_turn bug_of_perftest_is_told
else
	skip "bug of perftest" "ib_send_lat is not installed"
fi
try processes_are_numbered_as_by_the_device
try_in_turn a_kill_is_no_miss
try_in_turn a_status_that_is_not_polled_is_no_miss
try a_run_without_a_trace_is_told
try what_fails_by_itself_is_refused
try budget_ends_it
exit $failed
