# LTTng: the tracepoints have the same contents as the recorder's events.
#
# The session daemon is private: as root it would use the machine's sockets, so an empty private
# directory is mounted over them.
skip() { echo "skip lttng: $1"; exit 0; }

command -v lttng-sessiond lttng babeltrace2 >/dev/null ||
	skip "lttng-sessiond, lttng or babeltrace2 is not installed"
if [ "$(id -u)" -eq 0 ] && [ -z "${LTTNG_ALONE:-}" ]; then
	unshare -m -n true 2>/dev/null || skip "no namespace of its own can be had"
	LTTNG_ALONE=1 exec unshare -m -n bash "$0"
fi
. tests/e2e/lib/try.sh
if [ -n "${LTTNG_ALONE:-}" ]; then
	mkdir -p /run/lttng
	mount -t tmpfs none /run/lttng || skip "/run/lttng cannot be covered"
	ip link set lo up
fi
mkdir "$tmp/home"
export LTTNG_HOME=$tmp/home
lttng-sessiond --daemonize --no-kernel --pidfile="$tmp/pid" >"$tmp/log" 2>&1 ||
	{ why=$(tail -1 "$tmp/log"); rm -rf "$tmp"; skip "lttng-sessiond does not run: $why"; }
trap 'kill "$(cat "$tmp/pid")"; cd /; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
preload=$libs/libverbatim.so:$libs/libverbatim-lttng.so:$libs/libverbatim-soft.so

quiet() { "$@" >log 2>&1 || { cat log; return 1; }; }
sql() { "$VERBATIM" sql "$@"; }

# traced NAME BYTES COMMAND...: into the directory NAME
traced() {
	local name=$1 bytes=$2 status
	shift 2
	quiet lttng create "$name" --output="$tmp/$name" &&
		quiet lttng enable-channel -u -s "$name" --subbuf-size="$bytes" --num-subbuf=8 \
			all &&
		quiet lttng enable-event -u -s "$name" -c all "${events:-verbatim:*}" &&
		quiet lttng start "$name" || return
	"$@"
	status=$?
	quiet lttng destroy "$name" && return $status
}

pingpong() {
	ibv_rc_pingpong -p $port -n 100 -g 0 >server 2>&1 & local pid=$!
	await eval 'ss -ltn | grep -q :$port' &&
		ibv_rc_pingpong -p $port -n 100 -g 0 127.0.0.1 >client && wait $pid
}
export -f pingpong await
export port=${TEST_PORT:-18515}

# The contents of a trace except numbers that depend on the interleaving of threads.
contents() {
	local from="FROM thread t JOIN"
	rm -f plain.db
	"$VERBATIM" unpack -o plain.db "$1" >/dev/null 2>&1 || return
	sqlite3 plain.db "
		CREATE TABLE t_rank AS
			SELECT id, row_number() OVER (ORDER BY start, tid) AS r FROM thread;
		CREATE TABLE p_rank AS
			SELECT id, row_number() OVER (ORDER BY start, pid) AS r FROM process;
		$(for t in wr sge wc poll; do
			echo "UPDATE $t SET thread = (SELECT r FROM t_rank WHERE id = thread);"
		done)
		$(for t in wr wc poll; do
			echo "UPDATE $t SET process = (SELECT r FROM p_rank WHERE id = process);"
		done)
		UPDATE wr SET stack = (SELECT group_concat(ip)
			FROM (SELECT ip FROM frame WHERE frame.stack = wr.stack ORDER BY i));
		UPDATE wc SET wr_thread = (SELECT r FROM t_rank WHERE id = wr_thread);
		SELECT 'process', pid, ppid, exe, cmdline, forked_from, fork_seq, fork_time, start
			FROM process ORDER BY start;
		SELECT 'thread', tid, comm, events, start FROM thread ORDER BY start, tid;
		SELECT 'call', tid, c.n, c.end_n, verb, begin, c.end, ret, error, failed, depth,
			ours, c.handle, args, out, o.name, (SELECT group_concat(ip)
				FROM (SELECT ip FROM frame WHERE frame.stack = c.stack ORDER BY i))
			$from call c ON c.thread = t.id LEFT JOIN object o ON o.id = c.object
			ORDER BY t.start, tid, c.n;
		SELECT 'module', pid, base, m.start, m.end, path, build_id
			FROM module m JOIN process p ON p.id = m.process
			ORDER BY p.start, m.base, path;
		SELECT 'object', kind, name, handle, number, rkey, created_at, destroyed_at
			FROM object ORDER BY created_at, name;
		SELECT 'fork', tid, f.n, time, f.fork_seq, p.pid
			$from fork f ON f.thread = t.id LEFT JOIN process p ON p.id = f.child
			ORDER BY time;
		SELECT 'mark', tid, m.n, time, kind, text
			$from mark m ON m.thread = t.id ORDER BY time, tid;
		SELECT 'coverage', tid, c.n, time, what, c.handle, detail
			$from coverage c ON c.thread = t.id ORDER BY time, tid;
		SELECT 'polls', tid, c.handle, life, polls, completions, empty
			$from poll_count c ON c.thread = t.id ORDER BY t.start, tid, handle, life;
		SELECT 'wr', * FROM wr ORDER BY thread, n, i;
		SELECT 'sge', * FROM sge ORDER BY thread, n, i, j;
		SELECT 'wc', * FROM wc ORDER BY thread, n, i;
		SELECT 'poll', * FROM poll ORDER BY thread, n;"
}

same_contents() {
	contents "$1" >of.record && contents "$2" >of.import && [ -s of.record ] || return
	cmp -s of.record of.import ||
		{ diff of.record of.import | cut -c 1-300 | head -10; return 1; }
}

library_exports_nothing() { is "$(nm -D --defined-only "$libs/libverbatim-lttng.so")" ""; }

# recorded on both sides at once: each event must be in both, with equal contents
pingpong_is_the_same_in_both_modes() {
	traced both 4M "$VERBATIM" record -q --lttng -o record.db -- bash -c pingpong &&
		"$VERBATIM" import -q -o import.db both && same_contents record.db import.db &&
		is "$(grep -c '^wc' of.import)" 400 &&
		is "$(sql import.db 'SELECT count(*) FROM loss')" 0
}

threads_forks_and_execs_are_the_same_in_both_modes() {
	traced crowd 4M "$VERBATIM" record -q --lttng -o record.db -- "$apps/crowd" 30 &&
		"$VERBATIM" import -q -o import.db crowd && same_contents record.db import.db &&
		is "$(sql import.db "SELECT count(*) || ' ' || count(parent) || ' ' ||
			count(DISTINCT pid) FROM process")" "3 1 2" &&
		is "$(sql import.db "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 180
}

babeltrace2_reads_it() {
	babeltrace2 both >text &&
		is "$(grep -c ' verbatim:reg_mr_begin: .* length = 4096, .* args = "pd=0x' text)" \
		2 &&
		is "$(grep -c ' verbatim:reg_mr_end: .* outs = ".*lkey=' text)" 2 &&
		is "$(grep -c ' verbatim:wc: .* status = 0, ' text)" 400 &&
		is "$(grep -c ' verbatim:post_send: ' text)" 200 &&
		is "$(grep ' verbatim:wr: ' text | grep -c '\[0\] = 4096')" \
			"$(grep -c '^sge' <(contents import.db
				"$VERBATIM" import -q -o both.db both
				contents both.db | grep '^sge'))"
}

preloaded_by_hand_needs_no_recorder() {
	LD_PRELOAD=$preload traced hand 4M bash -c pingpong && is "$(ls sessions)" "" &&
		"$VERBATIM" import -q -o hand.db hand &&
		is "$(sql hand.db 'SELECT count(*) FROM wc')" 400
}

# every kind of built request, and every field of an iterator
builders_and_iterators_are_the_same_in_both_modes() {
	VERBATIM_SOFT_LINK=roce traced built 4M "$VERBATIM" record -q --lttng -o record.db -- \
		"$apps/every_verb" >said &&
		"$VERBATIM" import -q -o import.db built && same_contents record.db import.db &&
		is "$(sql import.db "SELECT count(*) > 2
			FROM post WHERE verb IN ('ibv_wr_complete', 'ibv_wr_abort')")" 1 &&
		is "$(sql import.db "SELECT count(*) > 0 FROM wc WHERE timestamp IS NOT NULL")" 1
}

# the program was announced before the session listened
session_that_begins_late_is_reported() {
	local end
	LD_PRELOAD=$preload "$apps/loop" counts & local pid=$!
	await eval '[ "$(od -An -tu8 -j8 -N8 counts)" -gt 1000 ]' &&
		await eval 'lttng list -u 2>/dev/null | grep -q verbatim:wr' || return
	local later=$(($(od -An -tu8 -j8 -N8 counts) + 20000))
	traced late 4M await eval '[ "$(od -An -tu8 -j8 -N8 counts)" -gt '$later' ]'
	kill -KILL $pid; wait $pid 2>/dev/null
	"$VERBATIM" import -o late.db late 2>err; is $? 0 &&
		grep -q 'the session BEGAN LATE: 1 threads' err && ! grep -q LOST err ||
		{ cat err; return 1; }
	"$VERBATIM" info late.db >text 2>&1 && grep -q '^BEGAN LATE: ' text &&
		! grep -q '^LOST' text || { cat text; return 1; }
	quiet "$VERBATIM" check late.db && quiet "$VERBATIM" dump late.db &&
		"$VERBATIM" stat --format json late.db >text 2>/dev/null &&
		is "$(jq '[.verbs[] | select(.verb == "ibv_post_send") | .calls][0] > 100' text)" \
			true
}

check_stat_and_replay_work_on_it() {
	quiet "$VERBATIM" check hand.db && quiet "$VERBATIM" stat hand.db &&
		quiet "$VERBATIM" replay --device soft hand.db &&
		grep -q 'no divergence' log
}

# wr and wc are parts of the others, and may be disabled
filters_are_lttngs_own() {
	events='verbatim:post_send' LD_PRELOAD=$preload traced few 4M bash -c pingpong &&
		babeltrace2 few >text &&
		is "$(grep -vc ' verbatim:post_send: ' text)" 0 && is "$(wc -l <text)" 200
}

every_verb_has_a_tracepoint() {
	local pid missing
	LD_PRELOAD=$preload sleep 100 & pid=$!
	await eval 'lttng list -u 2>/dev/null | grep -q verbatim:wr' && lttng list -u >points
	kill $pid
	missing=$(grep -E '^[a-z]+ [^ ]+ control ' "$root/core/wire/verbs.list" |
		grep -o '[a-z_0-9]*(' | sed 's/^_*\(ibv_\|rdma_\)*//; s/($//' |
		while read -r verb; do grep -q "verbatim:\(rdma_\)*$verb[a-z_]*_begin" points &&
		grep -q "verbatim:\(rdma_\)*$verb[a-z_]*_end" points || echo "$verb"; done)
	is "$missing" "" && for verb in post_send post_recv post_srq_recv post_wq_recv wr_complete \
		wr_abort poll_cq req_notify_cq; do
		grep -q "verbatim:$verb " points || { echo "no $verb"; return 1; }
	done
}

# while the events are not consumed
unread() {
	local consumer status
	consumer=$(pgrep -P "$(cat "$tmp/pid")" lttng-consumerd)
	kill -STOP $consumer
	"$@"
	status=$?
	kill -CONT $consumer
	return $status
}

loss_is_loud() {
	LD_PRELOAD=$preload traced tiny 4096 unread "$apps/crowd" 3000 &&
		"$VERBATIM" import -o tiny.db tiny 2>err || return
	grep -q 'LTTng has LOST events' err || { cat err; return 1; }
	local lost all
	lost=$(sql tiny.db 'SELECT sum(events) FROM loss') \
		all=$(sql tiny.db 'SELECT sum(events) FROM thread')
	[ "$lost" -gt 0 ] && [ "$all" -gt 0 ] || { echo "$lost lost beside $all"; return 1; }
	"$VERBATIM" info tiny.db | grep -q LOST
}

# with LTTng only: the last events of the ring's thread are lost, not the others
killed_program_leaves_what_it_did() {
	LD_PRELOAD=$preload traced killed 4M "$apps/guest" calls 5 kill 9
	"$VERBATIM" import -q -o killed.db killed &&
		is "$(sql killed.db "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 5
}

no_daemon_is_no_hindrance() {
	unshare -m bash -c '[ -z "$LTTNG_ALONE" ] || umount /run/lttng; exec "$@"' - env \
		LTTNG_HOME="$tmp/nowhere" \
		"$VERBATIM" record -q --lttng -o t.db -- "$apps/guest" calls 5 exit 3
	is $? 3 && is "$(sql t.db "SELECT count(*) FROM call WHERE verb = 'ibv_alloc_pd'")" 5
}

program_notices_nothing() {
	traced still 4M "$VERBATIM" record -q --lttng -o t.db -- "$apps/guest" say hello calls 5 \
		exit 5 >out 2>err
	is $? 5 && is "$(cat out)" hello && is "$(cat err)" ""
}

refused() { # STATUS WORDS ARGUMENTS...: one line, and no trace
	local status=$1 words=$2
	shift 2
	rm -f bad.db
	"$VERBATIM" import -o bad.db "$@" 2>err
	is $? "$status" && is "$(wc -l <err)" 1 &&
		{ grep -q "$words" err || { cat err; return 1; }; } && [ ! -e bad.db ]
}

bad_input_is_refused() {
	mkdir -p empty text_file odd && echo hello >odd/metadata
	refused 2 'no CTF directory given' && refused 4 'No such file' nowhere &&
		refused 3 'has no CTF trace' empty &&
		refused 3 'has no CTF trace' /dev/null && refused 3 'truncated or damaged' odd
}

others_events_are_refused() {
	events='lttng_ust_statedump:*' LD_PRELOAD=$preload traced others 4M "$apps/guest" calls 1 &&
		refused 3 'has no events of verbatim' others
}

cut_streams_are_refused() {
	local stream
	cp -r crowd cut && stream=$(find cut -name 'all_*' -size +8k | head -1) &&
		truncate -s -5000 "$stream" &&
		refused 3 'truncated or damaged' cut
}

damaged_streams_give_what_comes_before() {
	local stream at
	cp -r crowd bent && for stream in $(find bent -name 'all_*'); do
		at=$(grep -abo 'pd=0x' "$stream" | sed -n '40s/:.*//p')
		[ -z "$at" ] || head -c 1000 /dev/zero | tr '\0' '\377' |
			dd of="$stream" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
	"$VERBATIM" import -q -o bent.db bent 2>err
	is $? 3 && { grep -q 'truncated or damaged\|DAMAGED' err || { cat err; return 1; }; } &&
		"$VERBATIM" info bent.db 2>&1 | grep -q DAMAGED &&
		[ "$(sql bent.db 'SELECT count(*) FROM module' 2>/dev/null)" -gt 5 ]
}

# Other problems of the session are reported, too.
damaged_session_that_began_late_says_both() {
	local stream
	cp -r late bent_late && for stream in $(find bent_late -name 'all_*' -size +8k); do
		head -c 1000 /dev/zero | tr '\0' '\377' |
			dd of="$stream" bs=1 seek=$(($(stat -c %s "$stream") / 2)) conv=notrunc
	done 2>/dev/null
	"$VERBATIM" import -o bent_late.db bent_late 2>err
	is $? 3 && says 'truncated or damaged\|DAMAGED' err && says 'BEGAN LATE' err
}

# All events have one version: a different one in a thread's second event is damage, not another
# version.
damaged_version_is_damage() {
	local version
	version=$(babeltrace2 crowd | grep -om1 'fingerprint = 0x[0-9A-F]*') &&
		cp -r crowd odd_one || return
	python3 - "${version##* }" $(find odd_one -name 'all_*') <<-'END' || return
		import sys
		version = int(sys.argv[1], 16).to_bytes(8, 'little')
		for path in sys.argv[2:]:
		    before, found, after = open(path, 'rb').read().rpartition(version)
		    if version in before:
		        open(path, 'wb').write(before + bytes(7) + b'x' + after)
		END
	"$VERBATIM" import -q -o odd_one.db odd_one 2>err
	is $? 3 && says 'truncated or damaged' err &&
		"$VERBATIM" info odd_one.db 2>&1 | grep -q DAMAGED
}

cut_metadata_is_refused() {
	local metadata
	cp -r crowd torn && metadata=$(find torn -name metadata) && truncate -s -3000 "$metadata" &&
		refused 3 'truncated or damaged' torn
}

for each in library_exports_nothing pingpong_is_the_same_in_both_modes \
	threads_forks_and_execs_are_the_same_in_both_modes \
	babeltrace2_reads_it builders_and_iterators_are_the_same_in_both_modes \
		session_that_begins_late_is_reported preloaded_by_hand_needs_no_recorder \
		check_stat_and_replay_work_on_it filters_are_lttngs_own \
	every_verb_has_a_tracepoint loss_is_loud killed_program_leaves_what_it_did \
		no_daemon_is_no_hindrance \
	program_notices_nothing bad_input_is_refused others_events_are_refused \
		cut_streams_are_refused damaged_streams_give_what_comes_before \
		damaged_session_that_began_late_says_both \
		damaged_version_is_damage \
	cut_metadata_is_refused; do
	try $each
done
