# Replay of all traces of a folder, as a table and as JUnit; also of those in the source tree, which
# their script records again.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
suites=$root/tests/conformance

replay_suite() { timeout 300 "$VERBATIM" replay --suite "$@" >out 2>err; }

# Trace, result, coverage.
as_list() { jq -r '.suite[] | [.trace, to_entries[1].value, (.covers // "-")] | @tsv' out; }

that_of_the_software_device_replays() {
	replay_suite $suites/soft --device soft -f json; is $? 1 || { cat err out; return 1; }
	as_list >made.list
	diff $suites/soft.list made.list
}

# With the differences that docs/DEVICES.md lists.
that_of_Soft-RoCE_replays() {
	replay_suite $suites/rxe --device soft -f json; is $? 1 || { cat err out; return 1; }
	as_list | cut -f1,3 >made.list
	cut -f1,3 $suites/rxe.list | diff - made.list &&
		jq -r '.suite[] | "| rxe/\(.trace) | \(.soft) |"' out >soft.cells &&
		diff soft.cells <(grep -o '^| rxe/[a-z_]*[.]db |[^|]*|' "$root/docs/DEVICES.md")
}

all_is_covered() {
	local word
	for word in RC UC UD XRC_SEND SRQ "XRC domain" windows rdma_cm "extended CQ" events SEND \
		SEND_WITH_IMM SEND_WITH_INV RDMA_WRITE RDMA_WRITE_WITH_IMM RDMA_READ \
		ATOMIC_CMP_AND_SWP ATOMIC_FETCH_AND_ADD BIND_MW LOCAL_INV LOC_LEN_ERR \
		LOC_QP_OP_ERR LOC_EEC_OP_ERR LOC_PROT_ERR WR_FLUSH_ERR MW_BIND_ERR BAD_RESP_ERR \
		LOC_ACCESS_ERR REM_INV_REQ_ERR REM_ACCESS_ERR REM_OP_ERR RETRY_EXC_ERR \
		RNR_RETRY_EXC_ERR LOC_RDD_VIOL_ERR REM_INV_RD_REQ_ERR REM_ABORT_ERR INV_EECN_ERR \
		INV_EEC_STATE_ERR FATAL_ERR RESP_TIMEOUT_ERR GENERAL_ERR RAW_PACKET; do
		cut -f3 $suites/soft.list | grep -qw -e "$word" ||
			{ echo "$word is not covered"; return 1; }
	done
}

it_is_small() {
	[ "$(cat $suites/*/*.db | wc -c)" -lt 5000000 ] && ! ls $suites/*/*.db-* 2>/dev/null
}

some_are_made_again() {
	timeout 300 "$root/scripts/make-suite" -o again rc_events windows_refused ud >made.out 2>&1
	is $? 0 && is "$(sort made.out)" \
		"$(grep -E '^(rc_events|windows_refused|ud)\.db' $suites/soft.list | sort)"
}

a_folder() {
	mkdir -p folder/below && cp $suites/soft/rc.db folder/ &&
		cp $suites/soft/ud.db folder/below/
}

# docs/DEVICES.md lists the contents of the traces.
the_table_of_coverage_is_right() {
	(cd "$root" && scripts/suite-coverage) >coverage || return
	local lines
	mapfile -t lines <coverage
	for line in "${lines[@]}"; do
		[ -z "$line" ] || grep -qxF -e "$line" "$root/docs/DEVICES.md" ||
			{ echo "docs/DEVICES.md has not: $line"; return 1; }
	done
	says '^| SEND |\( [0-9]*+[0-9]* |\)\{4\} [0-9]* |$' coverage
}

traces_of() { jq -r '.suite[].trace' "$1" | sort | paste -sd,; }

# Also those of equal names, and of names that begin alike; a link from a folder to itself is not
# followed.
folders_below_are_taken_too() {
	a_folder && mkdir -p deep/one/two deep/.git && cp folder/rc.db deep/one/two/ &&
		cp folder/rc.db deep/one/ && cp folder/rc.db deep/.git/ &&
		ln -s .. deep/one/up && touch deep/.hidden.db deep/rc.db-wal || return
	replay_suite folder -f json; is $? 0 || { cat err; return 1; }
	is "$(traces_of out)" "below/ud.db,rc.db" || return
	replay_suite deep/ -f json; is $? 0 || { cat err; return 1; }
	is "$(traces_of out)" "one/rc.db,one/two/rc.db"
}

# Nothing is left out silently.
a_folder_that_cannot_be_read_is_an_error() {
	local as=()
	a_folder && mkdir folder/closed && cp folder/rc.db folder/closed/ || return
	if [ "$(id -u)" = 0 ]; then
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
		chmod 755 . && "${as[@]}" test -x "$VERBATIM" -a -r folder ||
			{ rm -rf folder/closed; return 0; }
	fi
	chmod 000 folder/closed
	timeout 60 "${as[@]}" "$VERBATIM" replay --suite folder --device soft >out 2>err
	is $? 4 && says "^verbatim: look for traces in folder/closed: Permission denied$" err &&
		is "$(wc -l <err) $(wc -c <out)" "1 0"
	local status=$?
	chmod 755 folder/closed && rm -rf folder/closed
	return $status
}

# Each is reported once.
damaged_traces_are_reported() {
	a_folder && mkdir bad && cp folder/rc.db bad/good.db && head -c 20000 folder/rc.db \
		>bad/short.db && : >bad/empty.db && echo nothing >bad/text.db &&
		ln -s nowhere bad/link.db && cp $suites/soft/senders.db bad/pages.db || return
	dd if=/dev/zero of=bad/pages.db bs=512 count=1 conv=notrunc 2>/dev/null seek=$(($(sqlite3 \
		bad/pages.db "SELECT rootpage FROM sqlite_master WHERE name = 'chunk'") - 1))
	replay_suite bad --device soft; is $? 3 && is "$(cat err)" "" &&
		says "^6 replays: 1 as recorded, 5 not replayed" out &&
		says "pages.db is damaged (database disk image is malformed)" out &&
		says "short.db is truncated: 20000 bytes of " out &&
		says "empty.db is empty" out && says "link.db: No such file" out
}

a_bad_file_of_tolerated_divergences_is_reported_once() {
	a_folder && echo 'ibv_poll_cq only' >bad.txt || return
	replay_suite folder --device soft --tolerate bad.txt
	is $? 2 && is "$(wc -c <out)" 0 && is "$(grep -c 'bad.txt:1' err)" 1 &&
		is "$(wc -l <err)" 1 || return
	replay_suite folder --device soft --tolerate missing.txt
	is $? 4 && is "$(wc -c <out)" 0 && is "$(grep -c missing.txt err)" 1
}

what_is_tolerated_is_reported() {
	a_folder && "$VERBATIM" unpack -o folder/bad.db folder/rc.db && sqlite3 folder/bad.db \
		"UPDATE wc SET byte_len = 7 WHERE thread = 1 AND n = (SELECT max(n) FROM wc
			WHERE thread = 1 AND opcode = 128)" || return
	echo 'ibv_poll_cq wc[*].byte_len * * the cable was pulled' >judged
	replay_suite folder --device soft --tolerate judged
	is $? 0 && says "^3 replays: 3 as recorded$" out &&
		says "^  bad.db *as recorded, 1 tolerated *RC; SEND" out &&
		says "^bad.db on soft: as recorded, 1 tolerated$" out &&
		says "^  tolerated by line 1: 1 x the cable was pulled$" out &&
		is "$(grep -c '^  rc.db.* tolerated' out)" 0 || { cat out; return 1; }
	replay_suite folder --device soft --tolerate judged -f junit; is $? 0
	rm -f folder/bad.db
}

what_differs_is_reported() {
	a_folder && "$VERBATIM" unpack -o folder/bad.db folder/rc.db && sqlite3 folder/bad.db \
		"UPDATE wc SET byte_len = 7 WHERE thread = 1 AND n = (SELECT max(n) FROM wc
			WHERE thread = 1 AND opcode = 128)" &&
		replay_suite folder; is $? 1 && says "^3 replays: 2 as recorded, 1 differ" out &&
		says "^  bad.db *1 divergence *RC; SEND" out &&
		says "^bad.db on soft: 1 divergence" out &&
		says "^  1:[0-9]* ibv_poll_cq: wc.0..byte_len: recorded 7, replayed 4096" out
}

junit_is_valid() {
	local cases failures
	head -c 20000 folder/rc.db >folder/short.db
	replay_suite folder -f junit; is $? 3 &&
		xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" out 2>xml.err ||
		{ cat xml.err; return 1; }
	cases=$(grep -c '<testcase' out) failures=$(grep -c '<failure' out)
	is "$cases $failures" "4 2" && says 'tests="4" failures="2"' out &&
		says 'name="rc.db" time="[0-9]\{1,3\}[.][0-9]*[1-9]' out
}

two_columns_of_one_device() {
	rm -f folder/bad.db folder/short.db
	replay_suite folder --device soft,soft; is $? 0 &&
		says "^4 replays: 4 as recorded" out &&
		says "^  rc.db  *as recorded  *as recorded" out
}

wrong_use_is_refused() {
	local options
	for options in "2 folder rc.db" "2 folder --to 1:7" "2 folder --wait" \
		"2 folder -o x.db" "2 folder --report x" "4 nowhere" \
		"4 folder/rc.db" "4 folder --device soft,nix"; do
		replay_suite ${options#* }; is "$options: $?" "$options: ${options%% *}" &&
			is "$(grep -c . err)" 1 || { cat err; return 1; }
	done
}

# At this pace no replay ends.
start_slowly() {
	a_folder
	"$VERBATIM" replay --suite folder --device soft --pace x0.000001 "$@" >out 2>err &
	pid=$!
	await pgrep -P $pid >/dev/null # from then on it waits for signals
}

a_signal_leaves_the_table() { # NAME STATUS
	start_slowly && kill -$1 $pid && { wait $pid; is $? $2; } && says \
		"^partial, ended by SIG$1 after 0 of 2 replays: .*" out &&
		says "^  rc.db *not " out && says "^  below/ud.db *not " out
}

as_many_at_a_time_as_it_has_processors() {
	local processor
	processor=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
	a_folder
	taskset -c "$processor" "$VERBATIM" replay --suite folder --device soft \
		--pace x0.000001 >out 2>&1 &
	pid=$!
	await pgrep -P $pid >/dev/null && kill $pid && { wait $pid; is $? 143; } &&
		says "^partial, .*: 1 not replayed, 1 not reached" out
}

# As from a terminal: the whole group gets it, and the replays again from the suite.
an_interrupt_leaves_the_table() {
	set -m
	start_slowly && kill -INT -- -$pid && { wait $pid; is $? 130; } &&
		says "^partial, ended by SIGINT after 0 of 2 replays: .*" out
}

a_deadline_leaves_junit() {
	a_folder && replay_suite folder --device soft --pace x0.000001 --deadline 1s -f junit
	is $? 3 && is "$(grep -c '<testcase' out)" 3 && says \
		'<failure message="partial, ended by --deadline after 0 of 2 replays"' out || return
	! command -v xmllint >/dev/null ||
		xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" out
}

needs "$VERBATIM" "$apps/mkey_008"
try that_of_the_software_device_replays
try that_of_Soft-RoCE_replays
try all_is_covered
try it_is_small
try the_table_of_coverage_is_right
try folders_below_are_taken_too
try a_folder_that_cannot_be_read_is_an_error
try damaged_traces_are_reported
try what_is_tolerated_is_reported
try a_bad_file_of_tolerated_divergences_is_reported_once
try what_differs_is_reported
if command -v xmllint >/dev/null; then try junit_is_valid
else skip "junit is valid" "no xmllint"; fi
try two_columns_of_one_device
try wrong_use_is_refused
try "SIGTERM leaves the table" a_signal_leaves_the_table TERM 143
try as_many_at_a_time_as_it_has_processors
try an_interrupt_leaves_the_table
try a_deadline_leaves_junit
if command -v ibv_rc_pingpong >/dev/null; then try some_are_made_again
else skip "some are made again" "no ibv_rc_pingpong"; fi
exit $failed
