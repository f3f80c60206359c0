# Faults files: what is wrong in them is told line by line; faults are made on any device.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE
cd "$tmp" || exit 1

file_is_checked() {
	printf '%s\n' "verb=reg_mr errno=ENOMEM" "lose p=0.1" "verb=reg_mr" >bad
	"$VERBATIM" faults check bad >out 2>err; is status $? 1 || return
	is lines "$(wc -l <err)" 2 && says "bad:2: lose is injected only by the" err &&
		says "bad:3: no action is given" err || return
	"$VERBATIM" faults --maker device check bad >out 2>err; is status $? 1 || return
	is lines "$(wc -l <err)" 1 || return
	head -1 bad >good
	"$VERBATIM" faults check good >out; is status $? 0 && is out "$(cat out)" "good: 1 rule"
}
try "each wrong line of a file is told" file_is_checked

what_a_receive_cannot_have_is_told() {
	echo "opcode=RECV n=2 disconnect" >bad
	"$VERBATIM" faults check bad 2>err; is status $? 1 && says "send requests" err
}
try what_a_receive_cannot_have_is_told

file_is_missing() {
	"$VERBATIM" faults check none >out 2>err; is status $? 4 && says "open .none." err || return
	"$VERBATIM" faults check /dev/null 2>err; is status $? 4 && says "not a regular file" err
}
try "a file that cannot be read is told" file_is_missing

app=$apps/error_paths

# what a program sees of a fault: its failed verbs and completions
seen() { # trace
	"$VERBATIM" sql "$1" "SELECT wr_id, status, vendor_err FROM wc WHERE status <> 0" &&
		"$VERBATIM" sql "$1" "SELECT count(*) FROM wr" &&
		"$VERBATIM" sql "$1" "SELECT verb, ret FROM call WHERE verb = 'ibv_reg_mr' AND
			ret = 0 OR verb IN ('ibv_modify_qp', 'ibv_destroy_qp') AND ret <> 0"
}

is_same_as_the_devices() { # rule
	echo "$1" >rule
	VERBATIM_SOFT_FAULTS=$PWD/rule "$VERBATIM" record -q --device soft -o device.db \
		-- "$app" none good >out 2>&1
	local device=$?
	"$VERBATIM" record -q --device soft --faults rule -o recorder.db -- "$app" none good \
		>out 2>&1
	is status $? $device || return
	seen device.db >device.txt && seen recorder.db >recorder.txt || return
	cmp device.txt recorder.txt || { diff device.txt recorder.txt; return 1; }
	"$VERBATIM" run --device soft --faults rule -- "$app" none good >out 2>&1
	is status $? $device
}
rules=("opcode=SEND n=3 status=RETRY_EXC_ERR vendor_err=0x81" "verb=post_send n=2 errno=ENOMEM"
	"verb=modify_qp n=2 errno=EINVAL" "verb=reg_mr errno=ENOMEM" "verb=destroy_qp errno=EBUSY"
	"opcode=SEND n=4 status=WR_FLUSH_ERR" "opcode=SEND p=0.3 seed=7 status=LOC_QP_OP_ERR")
for rule in "${rules[@]::$(share 3 7)}"; do
	try "a program sees what it sees of the device's own: $rule" is_same_as_the_devices "$rule"
done

# a program that polls the context's descriptor, and prints its events
gets_the_devices_events() { # rule
	echo "$1" >rule
	VERBATIM_SOFT_FAULTS=$PWD/rule "$VERBATIM" run --device soft -- "$apps/faulted" >wanted &&
		"$VERBATIM" run --device soft --faults rule -- "$apps/faulted" >out || return
	cmp wanted out || { diff wanted out; return 1; }
}
rules=("opcode=SEND n=3 event=QP_FATAL" "verb=reg_mr n=4 event=DEVICE_FATAL"
	"opcode=SEND n=2 event=PORT_ERR" "opcode=RDMA_WRITE n=4 event=COMM_EST"
	"opcode=SEND n=3 event=QP_ACCESS_ERR")
for rule in "${rules[@]::$(share 2 5)}"; do
	try "a program gets the device's events: $rule" gets_the_devices_events "$rule"
done

# events of an SRQ, and at receives; made by the device at sends only
event_is_seen() { # rule, option, what it sees
	echo "$1" >rule
	"$VERBATIM" run --device soft --faults rule -- "$apps/srq_events" $2 >out || return
	is "by the recorder" "$(sort out | paste -sd ,)" "$3" || return
	[[ $1 == opcode=RECV* ]] && return
	VERBATIM_SOFT_FAULTS=$PWD/rule "$VERBATIM" run --device soft -- "$apps/srq_events" $2 >out
	is "by the device" "$(sort out | paste -sd ,)" "$3"
}
well="1: success,2: success,3: success,4: success" flushed="Work Request Flushed Error"
event_of_an_srq_is_seen() {
	event_is_seen "opcode=SEND n=2 event=SRQ_LIMIT_REACHED" "" \
		"$well,SRQ limit reached of the SRQ" &&
		event_is_seen "opcode=RECV n=2 event=SRQ_ERR" "" \
			"$well,SRQ catastrophic error of the SRQ" &&
		event_is_seen "opcode=SEND n=2 event=SRQ_ERR" own "$well" # it has none
}
try event_of_an_srq_is_seen
event_at_a_receive_is_seen() {
	local all="1: $flushed,2: $flushed,3: $flushed,4: $flushed"
	event_is_seen "opcode=RECV n=2 event=QP_FATAL" own \
		"$all,local work queue catastrophic error of the queue pair" &&
		event_is_seen "opcode=RECV n=1 event=COMM_EST" own \
			"$well,communication established of the queue pair"
}
try event_at_a_receive_is_seen

killed_at_a_request() {
	echo "opcode=SEND n=3 kill" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	is status $? 137 || return
	is mark "$("$VERBATIM" sql t.db "SELECT text FROM mark")" "the process is killed (line 1)"
}
try "a process is killed at a request" killed_at_a_request

made_faults_are_in_the_trace() {
	echo "opcode=RECV n=2 status=LOC_LEN_ERR" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	is status $? 1 || return
	"$VERBATIM" sql t.db "SELECT kind, text FROM mark" >out
	is mark "$(sed "s/QP 0x[0-9a-f]*/QP/" out)" \
		"fault|a request of QP gets LOC_LEN_ERR (line 1)" || return
	is status "$("$VERBATIM" sql t.db "SELECT count(*) FROM wc WHERE status = 1")" 1
}
try "a receive fails, and the trace has the fault" made_faults_are_in_the_trace

# It posts the rest again.
a_list_is_refused_in_the_middle() {
	echo "opcode=SEND n=6 errno=ENOMEM" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$apps/error_tables" none good
	is status $? 0 || return
	is posts "$("$VERBATIM" sql t.db "SELECT ret, bad FROM post WHERE verb = 'ibv_post_send'" |
		paste -sd ' ')" "0|0 12|2 0|0 0|0" || return
	is sends "$("$VERBATIM" sql t.db "SELECT count(*) FROM wc WHERE opcode = 0")" 12 || return
	"$VERBATIM" sql t.db "SELECT text FROM mark" >out
	says "a request of QP 0x[0-9a-f]* is refused with ENOMEM (line 1)" out
}
try "a list of requests is refused in the middle" a_list_is_refused_in_the_middle

chosen_by_place() {
	local line=$(grep -n "ibv_query_qp(qp, &init" "$root/tests/apps/error_paths.c")
	echo "verb=modify_qp at=to_rts errno=EINVAL" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good 2>out
	is status $? 2 && is states "$("$VERBATIM" sql t.db "SELECT count(*), max(ret) FROM call
		WHERE verb = 'ibv_modify_qp'")" "3|22" || return
	echo "verb=any at=error_paths.c:${line%%:*} errno=EINVAL" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	is status $? 1 && is mark "$("$VERBATIM" sql t.db "SELECT text FROM mark")" \
		"ibv_query_qp() fails with EINVAL (line 1)" || return
	echo "opcode=SEND at=apps/error_paths.c n=5 status=FATAL_ERR" >rule
	"$VERBATIM" run --device soft --faults rule -- "$app" none good; is status $? 1 || return
	printf '%s\n' "opcode=SEND at=post_receive status=FATAL_ERR" \
		"verb=any at=rror_paths.c errno=EIO" "verb=any at=error_paths.c:1 errno=EIO" >rule
	"$VERBATIM" run --device soft --faults rule -- "$app" none good; is status $? 0
}
try "a rule is for calls from a place" chosen_by_place

nothing_is_made_without_a_match() {
	echo "process=1 verb=reg_mr errno=ENOMEM" >rule
	"$VERBATIM" run --device soft --faults rule -- "$app" none good; is status $? 0
}
try "rules of another process are not made" nothing_is_made_without_a_match

numbers_of_ended_processes_are_not_used_again() {
	local how
	echo "process=1 verb=alloc_pd errno=ENOMEM" >rule
	for how in run "record -q -o t.db"; do
		"$VERBATIM" $how --device soft --faults rule -- sh -c \
			"$app none good && { $app none good; [ \$? = 1 ]; } && $app none good" ||
			{ echo "$how"; return 1; }
	done
}
try numbers_of_ended_processes_are_not_used_again

# The status of a client with faults, whose server has none.
pingpong() { # rule, kind, option...
	echo "$1" >rule
	next_port
	timeout 60 "$VERBATIM" run --device soft -- "ibv_$2_pingpong" -g 0 -p $port "${@:3}" \
		>server 2>&1 & local pid=$!
	await listens $port || return
	timeout 60 "$VERBATIM" run --device soft --faults rule -- "ibv_$2_pingpong" -g 0 -p $port \
		"${@:3}" localhost >out 2>&1
	local status=$?
	[ $status -eq 0 ] || kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	return $status
}

queue_pair_fails() { # kind, option...
	! pingpong "opcode=SEND n=20 status=RETRY_EXC_ERR" "$@" -n 50 || return
	says "Failed status transport retry counter exceeded" out || { cat out; return 1; }
}
kinds=("rc -N -t" "rc -e" "ud" "rc" "rc -N" "rc -t" "uc" "srq")
for kind in "${kinds[@]::$(share 3 8)}"; do
	try "ibv_${kind/ /_pingpong } meets a status" queue_pair_fails $kind
done

passes_late() { # rule, kind, option...
	pingpong "$@" -n 100 || { cat out; return 1; }
	says "^100 iters\|^success" out
}
late="late=2ms p=0.3 seed=5" delay="delay=1ms p=0.3 seed=5" rate="rate=2MB"
delays=("$late" "rc -e" "late=1ms opcode=RECV every=3" "ud -e" "$late" "rc -N -t"
	"$delay" "rc -e" "$rate" "srq -e" "opcode=RECV delay=1ms every=3" "ud -e" "$delay" "rc -N")
for ((i = 0; i < ${#delays[@]}; i += 2)); do
	try "ibv_${delays[i + 1]/ /_pingpong } with ${delays[i]}" passes_late "${delays[i]}" \
		${delays[i + 1]}
done
# not -t -e, which fails without faults, too (docs/ERROR-PATHS.md)
for kind in "rc -e" "srq -e" "xsrq -e" "ud -e" "uc -e" "rc -N" "rc -t"; do
	for rule in "$late" "$delay" "$rate" "opcode=RECV late=1ms every=3" \
		"opcode=RECV delay=1ms every=3"; do
		[ -n "${LONG:-}" ] || [ $((++turns * 7 % 15)) = "${TURN:-0}" ] || continue
		try "ibv_${kind/ /_pingpong } with $rule, in turn" passes_late "$rule" $kind
	done
done

# it creates extended CQs, and polls them with ibv_poll_cq()
ucx_passes_late() { # transports, rule
	local pid
	echo "$2" >rule
	next_port
	export UCX_TLS=$1 UCX_NET_DEVICES=verbatim0:1
	set -- timeout 60 "$VERBATIM" run --device soft --faults rule -- \
		ucx_perftest -p $port -t tag_lat -n 100 -w 5 -s 8
	"$@" >server 2>&1 &
	pid=$!
	await listens $port && "$@" localhost >out 2>&1 && wait $pid && says "^Final: *100 " out
}
try "UCX with late completions" ucx_passes_late rc_verbs,ud_verbs:aux \
	"late=200us p=0.2 spread=100us seed=3"
for rule in "late=200us p=0.2 seed=3" "delay=200us p=0.2 seed=3" "rate=20MB"; do
	try_in_turn "UCX ud_verbs with $rule" ucx_passes_late ud_verbs "$rule"
	try_in_turn "UCX rc_verbs with $rule" ucx_passes_late rc_verbs,ud_verbs:aux "$rule"
done

# rdma-core's traffic over CQs with events, extended CQs, SRQs, builders, XRC and librdmacm: a line
# for each test
pyverbs_late() { # rule
	echo "$1" >rule
	(cd "$root" && "$VERBATIM" run --device soft --faults "$tmp/rule" -- /usr/bin/python3 \
		tests/e2e/pyverbs.py "faults: pyverbs with $1" 40 VERBATIM_SOFT_LINK=roce \
		test_cq_events test_cqex qp_ex_xrc traffic)
}
[ -z "${LONG:-}" ] || for rule in "$late" "$delay" "$rate"; do pyverbs_late "$rule"; done

never_comes() {
	echo "never opcode=SEND n=4" >rule
	timeout 2 "$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	"$VERBATIM" sql t.db "SELECT text FROM mark" >out
	says "a completion of QP .* is not delivered (line 1)" out || return
	is completions "$("$VERBATIM" sql t.db "SELECT count(*) FROM wc WHERE opcode = 0")" 3
}
try "a completion never comes" never_comes

# What a client with this rule is told; its server has none, and accepts one connection.
client_is_told() { # rule, status, text
	local pid turn
	echo "$1" >rule
	next_port
	timeout 20 "$VERBATIM" run --device soft -- \
		rping -s -a 127.0.0.1 -p $port -C 2 >server 2>&1 &
	pid=$!
	for ((turn = 0; turn < 200; turn++)); do # until it listens
		timeout 20 "$VERBATIM" run --device soft --faults rule -- \
			rping -c -a 127.0.0.1 -p $port -C 2 >out 2>&1
		status=$?
		grep -q "^cma event RDMA_CM_EVENT_REJECTED, error 8" out || break
		pause
	done
	kill $pid 2>/dev/null
	wait $pid
	is status $status $2 && { [ -z "$3" ] || says "$3" out; } || { cat out; return 1; }
}
events=("cm=ESTABLISHED becomes=REJECTED" 255 "cma event RDMA_CM_EVENT_REJECTED, error 28"
	"cm=ADDR_RESOLVED becomes=ADDR_ERROR" 255 "cma event RDMA_CM_EVENT_ADDR_ERROR, error -19"
	"cm=ESTABLISHED becomes=UNREACHABLE" 255 "cma event RDMA_CM_EVENT_UNREACHABLE, error -110"
	"cm=ROUTE_RESOLVED delay=50ms" 0 "")
for ((i = 0; i < $(share 2 4); i++)); do
	try "rping with ${events[i * 3]}" client_is_told "${events[@]:i * 3:3}"
done

for rule in "late=2ms p=0.5 seed=3" "delay=1ms p=0.5 seed=3" "rate=1MB"; do
	try_in_turn "rping with $rule" client_is_told "$rule" 0 ""
done

connection_ends_in_the_middle() {
	echo "opcode=SEND n=3 disconnect" >rule
	timeout 20 "$VERBATIM" record -q --device soft --faults rule -o t.db -- \
		"$apps/cm_failures" 127.0.0.1 >out
	is status $? 0 || return
	cat >wanted <<-END
		round 1 done
		round 2 done
		send: $flush
		write: $flush
		round 3 failed
		client: state 6
		receive: $flush
		end
	END
	cmp wanted out || { diff wanted out; return 1; }
	# both ends get the event that the program awaits; only its own calls are recorded
	is calls "$("$VERBATIM" sql t.db "SELECT count(*) FROM call
		WHERE verb = 'rdma_disconnect'")" 2 || return
	"$VERBATIM" sql t.db "SELECT text FROM mark" >marks
	says "QP 0x[0-9a-f]* is ended (line 1)" marks
}
flush="Work Request Flushed Error"
try "a connection ends in the middle" connection_ends_in_the_middle

all_queue_pairs_of_a_cq_fail() {
	echo "opcode=SEND event=CQ_ERR" >rule
	"$VERBATIM" run --device soft --faults rule -- "$apps/cq_error" >out
	is status $? 0 && is states "$(tr '\n' ' ' <out)" "error error good "
}
try "all queue pairs of a CQ fail with it" all_queue_pairs_of_a_cq_fail

check_names_what_was_made() {
	echo "opcode=SEND n=3 status=RETRY_EXC_ERR" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	"$VERBATIM" check t.db >out
	says "^faults injected by the recorder (1)" out &&
		says "    a fault injected by the recorder: a request of QP .* gets RETRY" out &&
		! grep -q "the peer does not answer" out || return
	echo "verb=reg_mr errno=ENOMEM" >rule
	"$VERBATIM" record -q --device soft --faults rule -o t.db -- "$app" none good
	"$VERBATIM" check t.db >out
	says "= ENOMEM: a fault injected by the recorder: ibv_reg_mr()" out
}
try "check says which failures were made" check_names_what_was_made

# "faults injected by ..." and what is their result; names of events without that of the trace
lines_of_faults() { grep -A1 "fault.* injected by" "$1" | sed 's/[a-z]*\.db:\(1:\)/\1/'; }

check_names_it_live_and_in_several_traces() {
	echo "opcode=SEND n=3 status=RETRY_EXC_ERR" >rule
	"$VERBATIM" record -q --check --device soft --faults rule -o a.db -- "$app" none good 2>live
	"$VERBATIM" check a.db >alone
	is "live" "$(lines_of_faults live | sort)" "$(lines_of_faults alone | sort)" || return
	echo "verb=reg_mr errno=ENOMEM" >rule
	"$VERBATIM" record -q --check --device soft --faults rule -o b.db -- "$app" none good 2>live
	says "= ENOMEM: a fault injected by the recorder: ibv_reg_mr()" live || return
	"$VERBATIM" check a.db b.db >out
	says "^faults injected by the recorder (2)" out &&
		says "^  a.db:1:.* a request of QP .* gets RETRY_EXC_ERR (line 1)" out &&
		says "^  b.db:1:.* ibv_reg_mr() fails with ENOMEM" out &&
		says "^    a fault injected by the recorder: a request of QP .* gets RETRY" out &&
		says "= ENOMEM: a fault injected by the recorder: ibv_reg_mr()" out &&
		! grep -q "the peer does not answer\|RLIMIT" out
}
try "check names them live, and in several traces" check_names_it_live_and_in_several_traces

# Without a file the recorder's code is that of a library without faults: the rest refers to them
# only when it finds a verb, once, and at a mark.
only_two_places_know_of_faults() {
	nm -g --defined-only "$libs"/obj/shim/trace/faults/*.o | awk 'NF == 3 { print $3 }' |
		sort -u >made
	[ "$(wc -l <made)" -gt 50 ] || { echo "$(wc -l <made) names"; return 1; }
	find "$libs/obj/shim/trace" "$libs/obj/core/wire" -name '*.o' ! -path '*/trace/faults/*' \
		-exec nm -u {} + | awk 'NF == 2 { print $2 }' | sort -u | comm -12 - made >used
	is "names of shim/trace/faults" "$(paste -sd ' ' used)" \
		"callback_mark_seen callback_next_tamper"
}
try only_two_places_know_of_faults

# What was asked for is kept: never less, but for the 1 of 20 requests of a round that may leave
# before it, and within 5 % whenever the machine lets the program run. Posts return at once.
is_kept() { # maker, rule, arguments of paced, of which the third is the time
	local least took posted faults=(--faults rule)
	[ "$1" = recorder ] || { faults=(); local -x VERBATIM_SOFT_FAULTS=$PWD/rule; }
	echo "$2" >rule
	local words
	read -ra words <<<"$3"
	read -r least took posted _ < <("$VERBATIM" run --device soft "${faults[@]}" -- \
		"$apps/paced" $3)
	[ "$least" -ge $((words[2] * 949 / 1000)) ] && [ "$took" -le $((words[2] * 105 / 100)) ] &&
		[ "$posted" -le $((words[2] / 4)) ] ||
		{ echo "$least to $took us instead of ${words[2]}, $posted for posts"; return 1; }
}
kept=("late=200us" "1 64 200 one" "delay=500us" "1 64 500 one"
	"late=2ms" "1 64 2000 one" "late=2ms" "20 64 2000" "delay=2ms" "1 64 2000 one"
	"delay=2ms" "1 64 2000 one built" "rate=800MB" "20 100000 2500 built"
	"rate=800MB" "20 100000 2500" "rate=6400Mbit" "20 100000 2500 one"
	"every=20 delay=4ms" "20 64 4000" "every=20 late=4ms" "20 64 4000")
for ((i = 0; i < ${#kept[@]}; i += 2)); do
	try "kept: ${kept[*]:i:2}" is_kept recorder "${kept[@]:i:2}"
done
for ((i = 8; i < 20; i += 2)); do
	try_in_turn "kept by the device: ${kept[*]:i:2}" is_kept device "${kept[@]:i:2}"
done
