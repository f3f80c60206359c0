# Merged traces of both ends of a job, one from a machine whose clock is 10 s ahead and 50 ppm fast:
# the merged trace gives the same results as reading both.
. tests/e2e/lib/try.sh
needs "$apps/far_end" "$apps/cm_ends"
# perftest's measurement of the processor takes time, and the longer a run the better clocks can be
# compared
PATH=${PATH//"$libs"\/tests\/quick:/}
cd "$tmp" || exit 1

cat >apart <<'END'
#!/bin/bash
last=${!#}
[ "$last" = localhost ] && { t=b.db; export VERBATIM_TEST_CLOCK="10 50"; } || t=a.db
exec "$VERBATIM" record -q --payload full -o $t -- "$@"
END
chmod +x apart
record_apart() {
	rm -f a.db b.db all.db
	"$both" ./apart "$apps/far_end" "$1" >out 2>&1 || { cat out; return 1; }
}
# b.db as if from another machine.
move_away() {
	sqlite3 b.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot';
		UPDATE meta SET value = 'far' WHERE key = 'host'"
}
merges() { "$VERBATIM" merge "$@" >out 2>err || { cat out err; return 1; }; }
merged() { "$VERBATIM" sql all.db "$1"; }

# In a pingpong the n-th sent message of one end is the n-th received of the other.
cat >order.sql <<'END'
WITH sent AS (SELECT process, posted,
		row_number() OVER (PARTITION BY process ORDER BY wr_n, wr_i) AS i FROM wc
		WHERE status = 0 AND opcode = 0),
	got AS (SELECT process, time, row_number() OVER (PARTITION BY process ORDER BY n, i) AS i
		FROM wc WHERE status = 0 AND opcode = 128)
	SELECT count(*), sum(got.time <= sent.posted) FROM sent JOIN got USING (i)
	WHERE sent.process <> got.process
END
# The true relation of the clocks: both count the same ticks.
cat >truth.py <<'END'
import sqlite3

def read_meta(path):
    return dict(sqlite3.connect(path).execute("SELECT key, value FROM meta"))

a, b = read_meta('a.db'), read_meta('b.db')
rate = [int(m['clock_mult']) / 2 ** int(m['clock_shift']) for m in (a, b)]
rows = list(sqlite3.connect('all.db').execute(
    "SELECT clock, offset, drift, error, drift_error FROM merged ORDER BY id"))
apart = (int(b['clock_start']) - int(a['clock_start'])) * rate[0]
drift, (clock, offset, found, error, drift_error) = rate[0] / rate[1] - 1, rows[1]
off = max(abs(offset - rows[0][1] - apart + (found - drift) * time)
          for time in (0, int(b['duration'])))
print(f"off by {off:.0f} of {error} ns, drift {found * 1e6:.3f} instead of {drift * 1e6:.3f} ppm")
assert clock == 'estimated' and off <= error and abs(found - drift) <= drift_error
END

no_receive_is_before_its_send() {
	record_apart long && move_away && merges a.db b.db -o all.db &&
		says "^all.db: 2 traces, 2 processes, [0-9,]* events" out &&
		says "^  a.db: reference clock of all times" out &&
		says "^  b.db: its clock is 10.* s ahead.*, +- .* from [0-9]* messages of 1" out &&
		[[ $(merged "$(cat order.sql)") =~ ^[0-9]{2,}\|0$ ]] ||
		{ echo "$(merged "$(cat order.sql)"), $(cat out)"; return 1; }
}
the_bounds_hold() { python3 truth.py; }

# Events and their times are the same as when both are read, with other names.
the_events_are_those_of_both() {
	"$VERBATIM" dump --format json --all a.db b.db 2>/dev/null |
		jq -c '[.time_ns, .kind, .verb, .requests, .completions]' >two &&
		"$VERBATIM" dump --format json --all all.db |
		jq -c '[.time_ns, .kind, .verb, .requests, .completions]' >one &&
		is "$(sed -E 's/"[ab]\.db:[0-9]+:/"E:/g' two | sort | md5sum)" \
			"$(sed -E 's/"[0-9]+:/"E:/g' one | sort | md5sum)" &&
		is "$(grep -c . <one)" "$(grep -c . <two)"
}
every_table_is_carried() {
	local table
	for table in process environ thread module stack frame object connection queue call ref \
		event fork memory mark loss waited coverage poll_count post wr sge poll wc notify \
		payload counter; do
		is "$table" "$(merged "SELECT count(*) FROM $table")" \
			"$(($("$VERBATIM" sql a.db "SELECT count(*) FROM $table") +
				$("$VERBATIM" sql b.db "SELECT count(*) FROM $table")))" || return
	done
	is "$(merged "SELECT name FROM device")" $'verbatim0\nverbatim0@far' &&
		is "$(merged "SELECT host FROM merged WHERE first_process = 2")" far &&
		is "$(merged "SELECT count(*) FROM peers")" 2 &&
		is "$(merged "SELECT count(*) FROM object WHERE created_at < 0")" 0 &&
		is "$(merged "SELECT stack(stack) LIKE '%main%' FROM wr WHERE process = 2
			LIMIT 1")" 1
}
payload_is_joined_to_its_requests() {
	is "$(merged "SELECT count(DISTINCT p.process), max(abs(p.time - w.time)) < 1000000000
		FROM payload p JOIN wr w USING (thread, n, i)")" "2|1"
}
all_commands_take_it() {
	"$VERBATIM" replay all.db >replay 2>&1 && says "^no divergence" replay &&
		"$VERBATIM" diff all.db all.db >diff &&
		says "same attributes, shares, batches and calls" diff &&
		"$VERBATIM" stat all.db >stat && says "^2 processes" stat &&
		"$VERBATIM" info all.db >info && says "^merged of" info &&
		"$VERBATIM" query all.db peer of qp1 in process 2 >query &&
		says "qp1 of process 1" query &&
		"$VERBATIM" trim --only process=2 -o part.db all.db >/dev/null &&
		"$VERBATIM" check part.db >check && says "b.db: its clock is 10" check
}
json_has_the_clocks() {
	is "$("$VERBATIM" check --format json all.db | jq -c '[.merged[] |
		[.name, .clock, (.ahead / 1e9 | round), .error > 0, .messages > 0]]')" \
		'[["a.db","first",0,false,false],["b.db","estimated",10,true,true]]'
}
an_unpacked_trace_is_taken() {
	"$VERBATIM" unpack -o plain.db b.db && merges a.db plain.db -o plain_all.db &&
		is "$("$VERBATIM" sql plain_all.db "SELECT count(*), sum(time) FROM wc")" \
			"$(merged "SELECT count(*), sum(time) FROM wc")" &&
		is "$("$VERBATIM" sql plain_all.db "SELECT count(*), sum(time), sum(length(bytes))
			FROM payload")" \
			"$(merged "SELECT count(*), sum(time), sum(length(bytes)) FROM payload")"
}
say_alike() { # the output of a check, without names and times
	"$VERBATIM" check --format json "$@" | jq -r '
		(.findings[] | [.rule, .where, .message]),
		(.first_errors[] | [.status, .opcode, .keys, .peer, .peer_then]) | join(" ")' |
		sed -E 's/([a-z]\.db )?process [0-9]+/P/g; s/([a-z]\.db:)?[0-9]+:[0-9]+/E/g' | sort
}
check_says_what_it_says_of_both() {
	record_apart gone && move_away && merges a.db b.db -o all.db &&
		is "$(say_alike all.db)" "$(say_alike a.db b.db)" &&
		says "MKEY-004" <(say_alike all.db)
}
# A check of the merged trace reports what it reports for each trace alone, with other names, and
# appends what the other end adds; only a process that called no verb, which is known if its peers
# are, comes first. Only the lines listed here are refuted by it.
cat >kept.py <<'END'
import json, re, sqlite3, subprocess, sys

REFUTED = (
    r'(no response within .*; )?dest_qp_num 0x\w+ matches no queue pair in this trace',
    r'; no process in this trace has sent to this queue pair',
)
FACTS = ('failed_verbs', 'hung_calls', 'killed_processes', 'fatal_events', 'failed_exits',
         'vain_waits', 'long_waits', 'first_errors', 'findings')
SAME = ('rule', 'severity', 'where', 'verb', 'errno', 'signal', 'status', 'type',
        'live_objects', 'object', 'flushed', 'candidates', 'wr_id')
TEXTS = ('what', 'because', 'waited_for', 'message', 'keys', 'lkey_of', 'port_then', 'peer_then')
TIME = r'\b\d+(\.\d+)? (ns|us|ms|s)\b'
QUIET = '(it called no verb for T: [^;]*; )?'

def check(path):
    out = subprocess.run([sys.argv[1], 'check', '--format', 'json', path], capture_output=True)
    assert out.returncode in (0, 1), out.stderr
    return json.loads(out.stdout)

def moved(text, threads, processes):
    text = re.sub(r'\b(\d+):(\d+)\b', lambda m: f'{int(m[1]) + threads}:{m[2]}', text or '')
    text = re.sub(r'\bthread (\d+)', lambda m: f'thread {int(m[1]) + threads}', text)
    text = re.sub(r'\bprocess (\d+)', lambda m: f'process {int(m[1]) + processes}', text)
    for refuted in REFUTED:
        text = re.sub(refuted + '.*', '', text)
    return re.sub(TIME, 'T', text)

def keeps(one, other, before):
    """Does @other, of the merged trace, say what @one says?"""
    process = one['process'] + before[1]
    if other['event'] != moved(one['event'], *before) and process not in (
            other.get('processes', []) + other.get('also_in', [])):
        return False
    return all(one.get(key) == other.get(key) for key in SAME) and all(
        re.match(QUIET + re.escape(moved(one.get(key), *before)), moved(other.get(key), 0, 0))
        for key in TEXTS)

merged, said = check(sys.argv[2]), 0
rows = sqlite3.connect(sys.argv[2]).execute(
    "SELECT first_thread - 1, first_process - 1 FROM merged ORDER BY id")
for path, before in zip(sys.argv[3:], rows):
    alone = check(path)
    for kind in FACTS:
        for one in alone[kind]:
            said += 1
            assert any(keeps(one, other, before) for other in merged[kind]), (
                f'{path}: {kind}: {json.dumps(one)} is gone from {json.dumps(merged[kind])}')
assert said, 'nothing was said'
END
# No effect before its cause: k datagrams of a queue pair to another were posted before the k-th is
# received, and a call of librdmacm begins before the event that it causes is retrieved.
cat >causes.py <<'END'
import collections, json, sqlite3, subprocess, sys

def ask(question):
    out = subprocess.run([sys.argv[1], 'sql', '--format', 'json', 'all.db', question],
                         capture_output=True, check=True, text=True).stdout
    return json.loads(out)

found, wrong = collections.Counter(), []

def put(what, cause, effect):
    found[what] += 1
    if cause >= effect:
        wrong.append(f'{what}: {cause} is not before {effect}')

def put_datagrams():
    sent, got = collections.defaultdict(list), collections.defaultdict(list)
    for row in ask("SELECT w.time, o.number, w.remote_qpn FROM wr w JOIN object o"
                   " ON o.id = w.qp WHERE w.ah <> 0 ORDER BY w.time, w.n, w.i"):
        sent[row['number'], row['remote_qpn']].append(row['time'])
    for row in ask("SELECT time, src_qp, qp_num FROM wc WHERE status = 0 AND opcode = 128"
                   " ORDER BY time, n, i"):
        got[row['src_qp'], row['qp_num']].append(row['time'])
    for key in got:
        for cause, effect in zip(sent[key], got[key]):
            put('datagram', cause, effect)

def put_connections():
    ends = collections.defaultdict(dict) # by process and identifier: the first event
    for row in ask("SELECT process, verb, begin, \"end\", args, out FROM call WHERE verb GLOB"
                   " 'rdma_*' AND NOT failed ORDER BY begin"):
        args, out = json.loads(row['args'] or '{}'), json.loads(row['out'] or '{}')
        event = out.get('event') if row['verb'] == 'rdma_get_cm_event' else None
        if event:
            end = ends[row['process'], event['id']]
            end['address'] = event['src_addr'], event['dst_addr']
            end.setdefault(event['event'].replace('RDMA_CM_EVENT_', ''), row['end'])
        elif 'id' in args:
            ends[row['process'], args['id']].setdefault(row['verb'], row['begin'])
    for end in ends.values():
        for other in ends.values():
            if 'address' in end and end['address'] == other.get('address', ())[::-1]:
                put_both(end, other)

def put_both(end, other):
    for cause, effect in (('rdma_connect', 'CONNECT_REQUEST'), ('rdma_reject', 'REJECTED'),
                          ('rdma_accept', 'CONNECT_RESPONSE'), ('rdma_accept', 'ESTABLISHED'),
                          ('rdma_establish', 'ESTABLISHED')):
        if cause in end and effect in other:
            put(effect, end[cause], other[effect])
    causes = [end[verb] for verb in ('rdma_disconnect', 'rdma_destroy_id', 'rdma_reject')
              if verb in end]
    if causes and 'DISCONNECTED' in other:
        put('DISCONNECTED', min(causes), other['DISCONNECTED'])

put_datagrams()
put_connections()
print(dict(found), *wrong[:5])
assert not wrong and all(found[what] for what in sys.argv[2:])
END
nothing_is_before_its_cause() { # the expected contents
	move_away && merges a.db b.db -o all.db && says "  b.db: its clock is .*joined queue" out &&
		python3 causes.py "$VERBATIM" "$@" && python3 truth.py || return
	"$VERBATIM" replay all.db >replay 2>&1 && says "^no divergence" replay ||
		{ cat replay; return 1; }
	# rping's thread for events sleeps in its channel when that is destroyed
	is "$("$VERBATIM" check --format json all.db | jq -c '[.findings[] |
		select(.severity | IN("error", "warning")) | "\(.rule) \(.where)"] -
		["THREAD-002 rdma_destroy_event_channel(): cm_channel"]')" "[]"
}
datagrams() { # program and arguments
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 1; }
	rm -f a.db b.db all.db
	"$both" ./apart "$@" >out 2>&1 || { cat out; return 1; }
	nothing_is_before_its_cause datagram
}
# The client is restarted until the server is ready.
connections() { # server's command, client's; the expected contents
	local server client pid turn status=1
	read -ra server <<<"$1" && read -ra client <<<"$2"
	command -v "${server[0]}" >/dev/null || { echo "${server[0]} is not installed"; return 1; }
	rm -f a.db b.db all.db
	timeout 120 "$VERBATIM" record -q --payload full -o a.db -- "${server[@]}" >server 2>&1 &
	pid=$!
	for ((turn = 0; status && turn < 200; turn++)); do
		kill -0 $pid 2>/dev/null || break
		VERBATIM_TEST_CLOCK="10 50" timeout 120 "$VERBATIM" record -q --payload full \
			-o b.db -- "${client[@]}" >client 2>&1
		status=$?
	done
	wait $pid && [ $status -eq 0 ] || { tail -qn 3 server client; return 1; }
	shift 2
	nothing_is_before_its_cause "$@"
}

keeps_what_each_says() { # what went wrong
	rm -f a.db b.db all.db
	"$both" ./apart "$apps/far_end" "$1" >out 2>&1 # one end of some is killed
	for each in a.db b.db; do
		await is_complete $each || return
	done
	move_away && merges a.db b.db -o all.db && python3 kept.py "$VERBATIM" all.db a.db b.db &&
		merges b.db a.db -o all.db && python3 kept.py "$VERBATIM" all.db b.db a.db
}
# A call that never returned is a fact of its trace, even if another trace has lost events.
hung() { "$VERBATIM" check --format json "$@" | jq -c '[.hung_calls[].verb]'; }
losses_of_another_take_nothing_away() {
	record_apart good || return
	"$VERBATIM" record -q -o hung.db "$apps/incident_11" bad >out 2>&1
	sqlite3 b.db "INSERT INTO loss(thread, process, events) VALUES(1, 1, 3)"
	move_away && merges b.db hung.db -o all.db &&
		is "alone" "$(hung hung.db)" '["ibv_destroy_cq"]' &&
		is "merged" "$(hung all.db)" '["ibv_destroy_cq"]' &&
		is "joined" "$(hung b.db hung.db)" '["ibv_destroy_cq"]'
}
is_complete() { [ "$(sqlite3 "$1" "SELECT value FROM meta WHERE key = 'state'")" = complete ]; }

one_machine_needs_no_estimate() {
	record_apart good && merges b.db a.db -o all.db &&
		says "  a.db: the same machine and clock, 1 joined queue pair" out &&
		is "$(merged "SELECT clock, error FROM merged WHERE id = 2")" "same machine|0" &&
		is "$(merged "SELECT count(*) FROM device")" 1
}
without_messages_the_time_of_day_decides() {
	cp a.db s.db
	sqlite3 s.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot';
		UPDATE meta SET value = value + 5000000000 WHERE key = 'realtime';
		UPDATE call SET args = replace(args, 'dest_qp_num', 'x')"
	merges a.db s.db -o apart.db &&
		says "s.db: no queue pair is joined with .*based on the time of day" out &&
		is "$("$VERBATIM" sql apart.db "SELECT clock, error IS NULL, offset FROM merged
			WHERE id = 2")" \
			"time of day|1|5000000000"
}

refuses() { # exit status, expected text; arguments
	local status=$1 what=$2
	shift 2
	echo precious >kept
	"$VERBATIM" merge "$@" >out 2>err
	is "exit $?" "exit $status" && is "lines" "$(wc -l <err)" 1 && says "$what" err &&
		is "$(cat kept)" precious && [ ! -e no.db ] && [ ! -e no.db.part ]
}
what_cannot_be_merged() {
	cp a.db copy.db
	head -c 20000 b.db >short.db
	cp b.db damaged.db && sqlite3 damaged.db "UPDATE chunk SET data = x'0200ff'" &&
		merges a.db b.db -o all.db || return
	refuses 2 "no output given" a.db b.db && refuses 2 "no trace given" -o no.db &&
		refuses 2 "at least two traces are required" a.db -o no.db &&
		refuses 2 "is one of the input traces" a.db b.db -o b.db &&
		refuses 3 "a.db is given twice" a.db a.db -o no.db &&
		refuses 3 "are from the same recording" a.db copy.db -o no.db &&
		refuses 3 "are from the same recording" all.db b.db -o no.db &&
		refuses 3 "short.db is truncated" a.db short.db -o no.db &&
		refuses 3 "damaged.db is damaged" a.db damaged.db -o no.db &&
		refuses 4 "none.db" a.db none.db -o no.db && refuses 4 "kept" a.db b.db -o kept
}
what_is_merged_is_not_merged_again() {
	cp a.db other.db && sqlite3 other.db "UPDATE meta SET value = '1' WHERE key = 'recorder'" &&
		refuses 3 "all.db is itself a merged trace" all.db other.db -o no.db
}

try no_receive_is_before_its_send
try the_bounds_hold
try the_events_are_those_of_both
try every_table_is_carried
try payload_is_joined_to_its_requests
try all_commands_take_it
try json_has_the_clocks
try an_unpacked_trace_is_taken
try check_says_what_it_says_of_both
for each in killed stopped retry late gone; do
	try_in_turn keeps_what_each_says "$each"
done
try losses_of_another_take_nothing_away
try_in_turn datagrams ibv_ud_pingpong -g 0 -n 300
try_in_turn datagrams ib_send_bw -F -c UD -q 3 -b -n 300
next_port
try_in_turn connections "udaddy" "udaddy -s 127.0.0.1" CONNECT_REQUEST ESTABLISHED datagram
try_in_turn connections "udaddy -C 0" "udaddy -s 127.0.0.1 -C 0" CONNECT_REQUEST ESTABLISHED
try_in_turn connections "rping -s -p $port -C 3" "rping -c -a 127.0.0.1 -p $port -C 3" \
	CONNECT_REQUEST ESTABLISHED DISCONNECTED
try_in_turn connections "rdma_server -p $port" "rdma_client -s 127.0.0.1 -p $port" \
	CONNECT_REQUEST ESTABLISHED DISCONNECTED
try_in_turn connections "$apps/cm_ends listen $port" "$apps/cm_ends connect $port" \
	CONNECT_REQUEST ESTABLISHED REJECTED DISCONNECTED
try one_machine_needs_no_estimate
try without_messages_the_time_of_day_decides
try what_cannot_be_merged
try what_is_merged_is_not_merged_again
