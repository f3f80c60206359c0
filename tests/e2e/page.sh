# The pages of `verbatim report` in a browser, and failures to write one.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/guest" "$apps/ranks" "$VERBATIM"
traces=$root/tests/conformance/soft
data() { # page: its contents, as JSON
	python3 -c 'import re, sys
page = open(sys.argv[1]).read()
print(re.search("<script type=.application/json. id=.data.>(.*?)</script>", page, re.S)[1])' "$1"
}

recorded() { # trace, program...
	local trace=$1
	shift
	"$VERBATIM" record -q -o "$trace" -- "$both" "$@" >out 2>&1 ||
		{ not_ok "$* is recorded" "$(tail -n 80 out)"; exit 1; }
}
recorded bw.db ib_send_bw -F -q 4 -n 500
recorded pingpong.db ibv_rc_pingpong
"$VERBATIM" record -q -o empty.db -- true >out 2>&1

says_what_the_commands_say() {
	"$VERBATIM" report bw.db -o bw.html && data bw.html >bw.json &&
		is "$(jq -cS .after.stat bw.json)" "$("$VERBATIM" stat -f json bw.db | jq -cS .)" &&
		is "$(jq -cS .after.check bw.json)" "$("$VERBATIM" check --format json bw.db |
			jq -cS .)"
}
try says_what_the_commands_say
its_queue_pairs_are_those_of_sql() {
	local each
	jq -c '.after.tables.qps | .columns as $names | .rows[] |
		[range(0; length) as $i | {key: $names[$i], value: .[$i]}] | from_entries' \
		bw.json >got
	"$VERBATIM" sql --json bw.db "SELECT * FROM qps
		ORDER BY sends + recvs DESC, object" | jq -c '.[]' >wanted &&
		is "queue pairs" "$(wc -l <got)" 8 || return
	for each in object state peer_name max_send_wr sends recvs; do
		is "$each" "$(jq -r .$each got)" "$(jq -r .$each wanted)" || return
	done
}
try its_queue_pairs_are_those_of_sql
the_time_line_has_all_that_was_counted() {
	is "$(jq -c '[.after.timeline.bins | (map(.[0]) | add), (map(.[1]) | add),
			(map(.[3]) | add), (map(.[4]) | add)]' bw.json)" \
		"$(jq -c '.after.stat | [.posting.send.requests, .posting.send.bytes,
			.summary.completions, .summary.errors]' bw.json)" &&
		is "$(jq '[.after.timeline.heat[][] | .[2]] | add' bw.json)" \
			"$(jq '[.after.stat.requests[].timed] | add' bw.json)"
}
try the_time_line_has_all_that_was_counted
# nested deeper than readers allow, and invalid JSON
arguments_that_cannot_be_read_are_shown_as_that() {
	local deep
	deep="replace(hex(zeroblob(50000)), '0', '[')"
	deep+=" || replace(hex(zeroblob(50000)), '0', ']')"
	rm -f deep.db
	"$VERBATIM" unpack -o deep.db pingpong.db && sqlite3 deep.db "
		UPDATE call SET args = '{\"x\": ' || $deep || '}' WHERE verb = 'ibv_modify_qp';
		UPDATE call SET args = '{', out = '{' WHERE verb = 'ibv_reg_mr'" &&
		"$VERBATIM" report deep.db -o deep.html 2>err && data deep.html >deep.json &&
		is "$(jq -r '[.after.tables.states.rows[][2]] | unique[]' deep.json)" unreadable &&
		is "$("$VERBATIM" sql deep.db "SELECT count(*) FROM mrs
			WHERE lkey AND addr IS NULL")" 2 &&
		says "arguments of some calls are unreadable" err
}
try arguments_that_cannot_be_read_are_shown_as_that
two_traces_are_compared() {
	"$VERBATIM" report pingpong.db -c bw.db -o two.html && data two.html >two.json &&
		is "$(jq -cS .after.diff two.json)" \
			"$("$VERBATIM" diff --format json bw.db pingpong.db | jq -cS .)" &&
		is "$(jq -r .before.path two.json)" bw.db
}
try two_traces_are_compared
requests_that_are_shown_are_those_of_the_trace() {
	"$VERBATIM" report pingpong.db -o x.html && data x.html >x.json &&
		"$VERBATIM" sql pingpong.db "SELECT event || ' ' || i || ' ' || name || ' ' ||
			(completed - time) || ' ' || retired_thread || ':' || retired_n
			FROM requests WHERE status IS NOT NULL" | sort >wanted &&
		jq -r '.after.lanes | .queues as $q | .rows[] | select(.[11] > 0) |
			["\(.[7]):\(.[8])", .[9], $q[.[0]].name, .[2], "\(.[10]):\(.[11])"] |
			join(" ")' x.json | sort | diff - wanted &&
		is "$(jq '.after.lanes | .requests == .kept' x.json)" true &&
		is "$(jq '[.after.lanes.rows[] | select(.[12] >= 0)] | length > 100' x.json)" true
}
try requests_that_are_shown_are_those_of_the_trace
events_that_are_named_are_there() {
	local each
	"$VERBATIM" report "$traces/first_error.db" -o error.html && data error.html >error.json &&
		is "named" "$(jq '.events | length > 1' error.json)" true || return
	for each in $(jq -r '.events | keys[]' error.json); do
		is "$each" "$(jq -r --arg id $each '.events[$id]' error.json)" \
			"$("$VERBATIM" dump "$traces/first_error.db" $each)" || return
	done
}
try events_that_are_named_are_there

# Names that would be markup if they were not escaped.
odd='</script><script>hostile = 1</script><img src=x onerror="hostile = 1"><!--'
hostile_names() {
	"$VERBATIM" unpack -o odd.db bw.db &&
		sqlite3 odd.db "UPDATE meta SET value = '$odd' WHERE key IN ('command', 'host');
			UPDATE process SET cmdline = '$odd', exe = '$odd';
			UPDATE thread SET comm = '$odd'; UPDATE module SET path = '$odd';
			UPDATE device SET name = '$odd'" && "$VERBATIM" report odd.db -o odd.html &&
		data odd.html | jq -e --arg odd "$odd" \
			'.after.tables.meta.rows | any(. == ["command", $odd])' >out
}
try hostile_names

# Latencies over seven powers of ten, on the screen of a phone.
wide_axes() {
	"$VERBATIM" unpack -o wide.db bw.db &&
		sqlite3 wide.db 'UPDATE wc SET posted = time - iif(i % 2, 15, 90000000)' &&
		"$VERBATIM" report wide.db -o wide.html
}
try wide_axes

"$VERBATIM" report empty.db -o empty.html 2>err || not_ok "an empty trace" "$(cat err)"
"$VERBATIM" report pingpong.db -o pingpong.html 2>err || not_ok "a page" "$(cat err)"
# a job that hangs: the drawing of who waits for whom
"$VERBATIM" record -q -o waits.db -- "$apps/ranks" 8 stopped >out 2>&1
"$VERBATIM" report waits.db -o waits.html 2>err || not_ok "a job" "$(cat err)"
fold() { node "$root/tests/e2e/page/fold.js" "$root/cli/report/page/waits.js" "$1" 1000; }
folds() { is "$1" "$(fold "$1")" "$2"; } # job, boxes that are drawn
a_thousand_ranks_are_a_few_boxes() {
	folds ring "rank 0
rank 1; waits for rank 0: receive
rank 2; waits for rank 1: receive
997 ranks: 3-999; waits for rank 2: receive" && folds star "rank 999
500 ranks: 0-499; 500 wait for rank 999: receive
499 ranks: 500-998; 499 wait for rank 999: send" &&
		says '^993 ranks: 7-999; waits for rank 0: credit$' <(fold circle)
}
threads_of_a_rank_are_boxes() {
	folds threads "rank 0 thread 2
rank 1; waits for rank 0 thread 2: receive
rank 0 thread 1; waits for rank 1: send"
}
if type node >out 2>&1; then try a_thousand_ranks_are_a_few_boxes; try threads_of_a_rank_are_boxes
else skip "a thousand ranks" "no node"; fi
# Debian's python3 has the packages that install-deps installs. Errors of a page are found.
sections=verdict,tiles,timeline,lanes,latency,gaps,doorbells,memory,places,objects,events,environment
sections+=,coverage
cp "$root/tests/e2e/page/faulty.html" .
shown=("pingpong 12" "waits 13")
for each in "bw 12" "two 12" "error 12" "empty 0" "odd 12" "wide 12"; do
	! in_turn || shown+=("$each")
done
pages=$(printf '%s.html ' "${shown[@]% *}")faulty.html
used=$(grep -owE '(error|waits|faulty).html' <<<"$pages" | paste -sd,)
/usr/bin/python3 "$root/tests/e2e/page/browser.py" --text "$odd" \
	--use "$used" --try pingpong.html $sections $pages >found 2>why
status=$?
is_good() { # page, minimum number of plots
	local plots
	plots=$(sed -n "s/^$1.html checked: .* \(.*\) plots, .*/\1/p" found)
	! grep "^$1.html: " found && [ "${plots:-0}" -ge $2 ] ||
		{ echo "${plots:-no} plots"; head -c 500 why; return 1; }
}
faults_are_found() {
	sed -n 's/^faulty.html: //p' found | grep -v '^no section ' | LC_ALL=C sort |
		diff - "$root/tests/e2e/page/faulty.txt"
}
if [ $status = 3 ]; then
	skip "in a browser" "$(head -n 1 found)"
else
	for each in "${shown[@]}"; do
		try "in a browser: ${each% *}" is_good $each
	done
	try faults_are_found
fi

# Pages of traces that never change look as in pictures that scripts/picture made.
. "$root/tests/e2e/page/pages.sh"
looks_as_it_did() { # page
	! grep "^$1.html: " seen && grep -q "^$1.html looked at" seen ||
		{ head -c 500 why; return 1; }
}
if [ $status != 3 ]; then
	verbatim=$VERBATIM
	look_pages || not_ok "pages of traces that never change" "$(tail -n 5 err)"
	pages=$(for each in $pages; do ! in_turn || echo "$each"; done)
	/usr/bin/python3 "$root/tests/e2e/page/browser.py" --looks check $pages >seen 2>why
	for each in $pages; do try "its look: ${each%.html}" looks_as_it_did "${each%.html}"; done
fi

refused() { # status, expected text, arguments...
	local status=$1 says=$2
	shift 2
	rm -f x.html
	"$VERBATIM" report "$@" >out 2>err
	is "exit $?" "exit $status" && says "$says" err && ! [ -e x.html ]
}
head -c 100 /dev/urandom >noise.db
try "a missing trace" refused 4 'none.db' -o x.html none.db
try "a missing base" refused 4 'none.db' -o x.html -c none.db bw.db
try "what is no trace" refused 3 'noise.db' -o x.html noise.db
try "two traces" refused 2 'pingpong.db' -o x.html bw.db pingpong.db
try "over its trace" refused 2 'is an input trace' -o bw.db bw.db
try "over its base" refused 2 'is an input trace' -o pingpong.db -c pingpong.db bw.db
try "no folder" refused 4 'none/x.html' -o none/x.html bw.db
exit $failed
