# Exports for other programs: each is read by the program that it is made for.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/depth" "$VERBATIM"
rows() { python3 "$root/tests/e2e/export_rows.py" "$1" "$VERBATIM" "$2"; }

"$VERBATIM" record -q -o t.db -- "$apps/depth" rc 11 >out || exit 1

try "rows: values that are hard to write down are read back" rows hostile t.db
try "rows: each table is read back" rows tables t.db
short_names_go_before_the_format() {
	is "$("$VERBATIM" sql --csv --format jsonl t.db 'SELECT 1, 2')" 1,2 &&
		is "$(VERBATIM_FORMAT=jsonl "$VERBATIM" sql --json t.db 'SELECT 1 AS x')" \
			'[{"x": 1}]' &&
		is "$(VERBATIM_FORMAT=jsonl "$VERBATIM" sql t.db 'SELECT 1 AS x; SELECT 2 AS x')" \
			$'{"x": 1}\n{"x": 2}'
}
try short_names_go_before_the_format

# Debian's python3 has the packages that install-deps installs.
metrics() { # trace, command
	/usr/bin/python3 "$root/tests/e2e/export_metrics.py" "$VERBATIM" "$1" \
		"$root/docs/man/verbatim-stat.1" "$2" >counted ||
		return
	[[ $(cat counted) =~ ^[1-9][0-9]*\ [1-9].*\ [1-9] ]] || { cat counted; return 1; }
}
metrics_are_those_of_json() { metrics t.db "$apps/depth rc 11"; }
try metrics_are_those_of_json
labels_are_whatever_a_program_is_called() {
	local odd=$'a"b\\c\nd{e="f"} 1\e'
	cp t.db odd.db && sqlite3 odd.db "UPDATE meta SET value = '$odd' WHERE key = 'command'" &&
		metrics odd.db "$odd"
}
try labels_are_whatever_a_program_is_called
metrics_of_a_part_are_of_that() {
	"$VERBATIM" stat -f openmetrics --to 1:20 t.db >part &&
		is "$(grep -c '^verbatim_events_total [1-9]' part)" 1 &&
		! "$VERBATIM" stat -f openmetrics --process 7 t.db >part 2>err && ! [ -s part ]
}
try metrics_of_a_part_are_of_that

# Objects and their dependencies: graphviz draws them, and the drawing matches the tables.
"$VERBATIM" record -q -o every.db -- "$apps/every_verb" >out 2>&1
"$VERBATIM" record -q -o both.db -- "$both" ibv_rc_pingpong -n 100 >out 2>&1 || exit 1
graph() { python3 "$root/tests/e2e/export_dot.py" "$VERBATIM" "$@"; }
call() { # trace, verb, its index from 0
	"$VERBATIM" sql "$1" "SELECT event FROM calls WHERE verb = '$2' ORDER BY begin
		LIMIT 1 OFFSET ${3:-0}"
}
peers() { # trace: each pair once
	"$VERBATIM" sql "$1" "SELECT object || '-' || peer FROM peers WHERE object <= peer
		ORDER BY object" | paste -sd' '
}
graph_is_of_all_objects() {
	local each
	for each in every.db t.db both.db; do is "$each" "$(graph $each)" "$(peers $each)"; done
}
graph_is_of_a_moment() {
	local each
	for each in "ibv_alloc_pd 0" "ibv_create_qp 0" "ibv_destroy_qp 0" "ibv_dereg_mr 2"; do
		graph every.db "$(call every.db ${each% *} ${each#* })" >out ||
			{ echo "$each: $(cat out)"; return 1; }
	done
}
peers_are_joined() {
	local qps last
	qps=$("$VERBATIM" sql both.db "SELECT group_concat(object, '-') FROM qps") &&
		is "ever" "$(peers both.db)" "$qps" &&
		last=$("$VERBATIM" sql both.db "SELECT event FROM calls WHERE verb =
			'ibv_modify_qp' ORDER BY begin DESC LIMIT 1") &&
		is "then" "$(graph both.db "$last")" "$qps" &&
		is "before" "$(graph both.db "$(call both.db ibv_create_qp)")" ""
}
only_what_is_alive() {
	local event
	event=$(call every.db ibv_dereg_mr 3) &&
		"$VERBATIM" export --alive --at "$event" every.db >some &&
		"$VERBATIM" export --at "$event" every.db >all &&
		is "$(grep -c 'class=alive' some)" "$(grep -c 'class=alive' all)" &&
		is "$(grep -c 'class=destroyed' some)" 0 && ! grep -c 'class=destroyed' all |
		grep -x 0 && dot -Tsvg some >out
}
state_is_that_of_the_moment() {
	"$VERBATIM" export --at "$(call t.db ibv_modify_qp 0)" t.db >out &&
		says 'qp1.*RC INIT' out &&
		"$VERBATIM" export --at "$(call t.db ibv_modify_qp 1)" t.db >out &&
		says 'qp1.*RC RTR' out
}
# Objects of a kind in one state have the same colour, which the label names.
states_have_colours() {
	local each states=(INIT:f8f0b8 RTR:c8ecc8 RTS:c8ecc8) wanted
	for each in 0 1 2; do
		wanted=${states[each]}
		"$VERBATIM" export --at "$(call t.db ibv_modify_qp $each)" t.db >out &&
			says "qp1.*RC ${wanted%:*}.*fillcolor=\"#${wanted#*:}\"" out || return
	done
	"$VERBATIM" record -q -o err.db "$apps/incident_06" bad >out 2>&1
	"$VERBATIM" export --at "$("$VERBATIM" sql err.db "SELECT event FROM calls WHERE verb =
		'ibv_modify_qp' ORDER BY begin DESC LIMIT 1")" err.db >out &&
		says 'RC ERR.*fillcolor="#f8b0a8"' out && says "red in SQE and ERR" out &&
		dot -Tsvg out >svg && says "#f8b0a8" svg
}
graph_quotes_what_a_program_is_called() {
	cp t.db odd.db && sqlite3 odd.db "UPDATE process SET cmdline = 'a\"]; \\N' || char(10, 27)
		|| '}'; UPDATE object SET name = 'q\"p\\' WHERE kind = 'qp'" &&
		"$VERBATIM" export odd.db | dot -Tdot_json >out &&
		is "$(jq -r '.objects[] | select(.nodes).label' out)" \
			'process 1: a"]; \\N\\x0a\\x1b}' &&
		is "$(jq '[.objects[] | select(.nodes == null)] | length' out)" 6
}
for each in graph_is_of_all_objects graph_is_of_a_moment peers_are_joined only_what_is_alive \
	state_is_that_of_the_moment states_have_colours graph_quotes_what_a_program_is_called; do
	try $each
done

# Folded stacks: flamegraph.pl accepts each line, and the sums are those of the tables.
folded() { # trace, value, expected sum
	"$VERBATIM" export -f folded --value $2 $1 >out || return
	! grep -vP '^[^;]+(;[^;]+)*;ibv_\w+ [1-9]\d*$' out || return
	is "$2: lines" "$(sed 's/ [0-9]*$//' out | sort | uniq -d)" "" &&
		is "$2" "$(awk '{ n += $NF } END { printf "%d", n }' out)" "$3"
}
stacks_add_up() {
	local taken="FROM wr WHERE NOT bad" own="FROM call WHERE NOT ours AND depth = 0"
	folded t.db requests "$("$VERBATIM" stat -f json t.db |
		jq '.posting | .send.requests + .receive.requests')" &&
		says '^main;run_steps;post_sends;send_list (depth.c:[0-9]*);ibv_post_send ' out &&
		folded t.db time "$("$VERBATIM" sql t.db "SELECT sum(end - begin) $own")" &&
		says '^main;close_all (depth.c:[0-9]*);ibv_destroy_cq ' out &&
		folded t.db calls "$("$VERBATIM" stat -f json t.db | jq '[.places[].calls] | add')"
}
# With several processes each stack starts with the process, with separate sums.
stacks_begin_with_their_process() {
	local process
	"$VERBATIM" export -f folded --value calls both.db >all || return
	for process in 1 2; do
		"$VERBATIM" export -f folded --value calls --process $process both.db >one &&
			is "$(grep "^process $process (ibv_rc_pingpong);" all)" "$(cat one)" &&
			is "calls" "$(awk '{ n += $NF } END { print n }' one)" \
				"$("$VERBATIM" stat -f json --process $process both.db |
				jq '[.places[].calls] | add')" || return
	done
	! grep -v "^process [12] (ibv_rc_pingpong);" all
}
stacks_of_a_part_are_of_that() {
	is "$("$VERBATIM" export -f folded --value calls --to 1:20 t.db | grep -c ibv_post)" 0 &&
		"$VERBATIM" export -f folded --process 7 t.db 2>err; is $? 2
}
what_goes_with_another_format_is_refused() {
	local each
	for each in "--from 1ms" "--phase x" "--at 9:9" "--at soon" "--process 7" \
		"-f folded --at 1ms" "-f folded --alive" "-o t.db"; do
		"$VERBATIM" export $each t.db >out 2>err
		is "$each" "$? $(wc -l <err) $(wc -c <out)" "2 1 0" || return
	done
}
a_file_is_made_whole_or_not() {
	"$VERBATIM" export -o all.dot t.db && "$VERBATIM" export t.db | cmp - all.dot &&
		{ "$VERBATIM" export -o missing/all.dot t.db 2>err; is $? 4; } &&
		mkfifo pipe || return
	"$VERBATIM" export -o pipe t.db &
	cmp all.dot <pipe && [ -p pipe ]
}
for each in stacks_add_up stacks_begin_with_their_process stacks_of_a_part_are_of_that \
	what_goes_with_another_format_is_refused a_file_is_made_whole_or_not; do try $each; done

# Packets: tshark decodes them, and they match the tables.
packets_are_those_of_the_trace() {
	local each traces=()
	for each in rc read write atomic not_ready errors ud uc two_ends payload; do
		traces+=("$root/tests/conformance/soft/$each.db")
	done
	python3 "$root/tests/e2e/export_pcapng.py" "$VERBATIM" "${traces[@]}"
}
packets_of_a_part_are_of_that() {
	local of=$root/tests/conformance/soft/rc.db posted
	posted=$("$VERBATIM" sql "$of" "SELECT DISTINCT time FROM wr WHERE opcode >= 0 ORDER BY
		time LIMIT 1 OFFSET 1") &&
		"$VERBATIM" export -f pcapng --to "${posted}ns" "$of" >part.pcapng &&
		is "$(tshark -r part.pcapng -Y 'infiniband.bth.opcode == 0' 2>/dev/null | wc -l)" 1
}
packets_are_made_whole_or_not() {
	"$VERBATIM" export -f pcapng -o t.pcapng t.db && "$VERBATIM" export -f pcapng t.db |
		cmp - t.pcapng &&
		{ "$VERBATIM" export -f pcapng -o missing/t.pcapng t.db 2>err; is $? 4; } &&
		{ "$VERBATIM" export -f pcapng t.db >/dev/full 2>err; is $? 4; } &&
		{ "$VERBATIM" export -f pcapng --phase x t.db 2>err; is $? 2; } &&
		is "$(echo t.pcapng*)" t.pcapng
}
try_in_turn packets_are_those_of_the_trace
try packets_of_a_part_are_of_that
try packets_are_made_whole_or_not

# Perfetto: protoc decodes it, and each request is a slice.
tracks_have_each_request() {
	local each traces=()
	for each in rc errors two_ends srq rping limits; do
		traces+=("$root/tests/conformance/soft/$each.db")
	done
	python3 "$root/tests/e2e/export_perfetto.py" "$VERBATIM" "${traces[@]}" >out ||
		{ cat out; return 1; }
	is "$(head -n 1 out)" "1040 requests, 36 calls, 40 received by the peer"
}
tracks_are_made_whole_or_not() {
	"$VERBATIM" export -f perfetto -o t.perfetto-trace t.db &&
		"$VERBATIM" export -f perfetto t.db | cmp - t.perfetto-trace &&
		{ "$VERBATIM" export -f perfetto t.db >/dev/full 2>err; is $? 4; } &&
		{ "$VERBATIM" export -f perfetto --alive t.db 2>err; is $? 2; }
}
for each in tracks_have_each_request tracks_are_made_whole_or_not; do try $each; done
