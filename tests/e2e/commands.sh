# Output of the commands for a known trace.
. tests/e2e/lib/try.sh
guest=$apps/guest
cd "$tmp" || exit 1
needs "$guest" "$VERBATIM"

# These need twenty more libraries, which take longer to load than most commands run.
libraries_that_few_commands_need_are_not_loaded() {
	is "$(ldd "$VERBATIM" | grep -E 'gnutls|archive|babeltrace|glib|libxml')" ""
}

query() { "$VERBATIM" sql "$@"; }
dump() { "$VERBATIM" dump "$@"; }

record_traces() {
	"$VERBATIM" record -q -o guest.db "$guest" calls 100 child calls 50 &&
		record_both_sides -n 200
}

info_counts_what_happened() {
	"$VERBATIM" info guest.db >out || return
	grep -q '^ *pd  *150  *150  *0$' out && grep -q '^ *ibv_alloc_pd  *150  *0  *0$' out
}
info_has_sizes_as_all_commands_do() {
	"$VERBATIM" unpack -o limits.db guest.db && sqlite3 limits.db "UPDATE process
		SET memlock = 8 << 20, memlock_most = -1, page_size = 65536" || return
	"$VERBATIM" info limits.db >out && says '^ *1  8 MiB    unlimited .* 64 KiB$' out &&
		is "json" "$("$VERBATIM" info --json limits.db |
			jq -c '.limits[0] | [.memlock, .hard, .page_size]')" \
			'["8388608","unlimited",65536]'
}
info_in_json_is_the_same() {
	"$VERBATIM" info --format json guest.db >out || return
	is "$(jq -r '.processes | length' out)" 2 &&
		is "$(jq -r '.control_verbs[] | select(.verb == "ibv_alloc_pd") | .calls' out)" \
			150 &&
		is "$(jq -r .trace.lost out)" 0
}
info_takes_its_format_from_the_environment() {
	VERBATIM_FORMAT=json "$VERBATIM" info t.db | jq -e .trace >/dev/null
}

dump_decodes_arguments() {
	local hex='0x[0-9a-f]*' rtr send sge recv
	rtr="{qp_state=IBV_QPS_RTR, path_mtu=IBV_MTU_1024, .*dest_qp_num=$hex"
	rtr+=", ah_attr={grh={dgid=::, .*}"
	send="{wr_id=0x2, opcode=IBV_WR_SEND, send_flags=IBV_SEND_SIGNALED"
	sge="{addr=$hex, length=4096, lkey=$hex<mr1 of pd1>}"
	recv="{wr_id=0x1, status=IBV_WC_SUCCESS, opcode=IBV_WC_RECV, byte_len=4096"
	dump t.db >all || return
	grep -q "ibv_modify_qp(qp1, $rtr, IBV_QP_STATE|IBV_QP_AV|.*) = 0 <" all &&
		grep -q 'ibv_reg_mr(pd1, 0x[0-9a-f]*, 4096, IBV_ACCESS_LOCAL_WRITE.*) = mr1 <' \
			all &&
		grep -q "ibv_post_send(qp1, \[$send, sge=\[$sge\]}\]) = 0" all &&
		grep -q "ibv_poll_cq(cq1) = 1 \[$recv, qp_num=$hex (qp1), of 1:[0-9]*\[0\]" all
}
dump_names_keys_of_regions_that_are_gone() {
	"$VERBATIM" record -q --device soft -o keys.db "$apps/mkey_004" bad || return
	dump keys.db | grep -qE 'rkey=0x[0-9a-f]+<mr2, deregistered [0-9.]+ [mun]s earlier>'
}
# If it is installed, unpacking it takes ten times as long as everything else.
debug_information_of_libc_is_left_alone_for_the_start_of_main() {
	dump --stacks t.db >stacks && grep -q main stacks || return
	! grep -m 3 '__libc_start[^<]*\.[ch]:' stacks
}
dump_is_in_the_order_of_time() { sort -s -n -k1,1 all | cmp - all; }
dump_has_each_event_once() {
	is "$(awk '{ print $2 }' all | grep -v '^1:1$' | sort | uniq -d)" "" &&
		is "$(grep -c ibv_post_ all)" "$(query t.db 'SELECT count(DISTINCT n) FROM wr')"
}
dump_of_a_thread() { is "$(dump -t 2 guest.db | awk '{ print $2 }' | cut -d: -f1 | sort -u)" 2; }
dump_of_a_process() { is "$(dump -p 2 --verb alloc_pd guest.db | wc -l)" 50; }
dump_of_a_verb() { is "$(dump --verb ibv_dealloc_pd guest.db | wc -l)" 150; }
dump_of_an_object() {
	dump --object mr1 t.db >out
	is "$(wc -l <out)" 2 && grep -q ibv_reg_mr out && grep -q 'ibv_dereg_mr(mr1) = 0' out
}
dump_of_a_time() {
	local mid n
	mid=$(awk 'NR == 100 { print $1 }' all)
	n=$(($(dump --to "$mid" t.db | wc -l) + $(dump --from "$mid" t.db | wc -l)))
	is "$n" "$(wc -l <all)"
}
# both ends are included, as in every command
dump_between_two_events() {
	local from to
	read -r from to <<<"$(awk 'NR == 90 || NR == 100 { print $2 }' all | paste -sd' ')"
	dump --from $from --to $to t.db >out
	is "$(sed -n '90,100p' all)" "$(cat out)" || return
	from=$(awk 'NR == 90 { print $1 * 1000 }' OFMT=%.9g all)
	dump --from "$from ms" --until $to t.db | cmp - out
}
dump_before_the_beginning_is_empty() {
	is "$(dump --to 0 t.db | wc -l)" 0 && is "$(dump --to 0.000000001 t.db | wc -l)" 0
}
# as long as a dump of everything, whatever the number of objects
dump_of_an_object_among_many_is_quick() {
	"$VERBATIM" record -q --device soft -o many.db "$guest" calls 20000 &&
		is "$(timeout 20 "$VERBATIM" dump --object pd7 many.db | wc -l)" 2
}
dump_of_failures_is_empty_where_nothing_failed() { is "$(dump --failed t.db)" ""; }
# the second of eight writes fails, and six are flushed, each polled alone
dump_of_a_run_of_flushes_is_one_line() {
	local flush=IBV_WC_WR_FLUSH_ERR
	"$VERBATIM" record -q --device soft -o many.db "$apps/first_error" bad 8
	dump --verb poll_cq many.db >out
	is "$(wc -l <out)" 3 && says "$flush.* and 5 more flushed, the last at 1:[0-9]*, " out &&
		is "$(dump --all --verb poll_cq many.db | grep -c "$flush")" 6 &&
		says "$flush" <(dump many.db "$(sed -n 's/.*last at \([0-9:]*\),.*/\1/p' out)")
}
dump_of_one_event_has_its_stack() {
	local id
	id=$(dump --verb create_qp t.db | awk '{ print $2 }')
	dump t.db "$id" >out || return
	grep -q 'ibv_create_qp(pd1' out && grep -q '^qp1: object' out &&
		grep -q '^called from' out && grep -q 'ibv_rc_pingpong' out
}
dump_has_the_sender_of_a_datagram() {
	"$VERBATIM" record -q -o ud.db -- "$both" ibv_ud_pingpong -n 5 >out 2>&1 &&
		dump ud.db >lines && grep -o '{[^}]*}' lines >ud && # each completion
		is "$(grep -c 'opcode=IBV_WC_RECV, .*src_qp=0x[1-9a-f]' ud)" \
			"$(query ud.db 'SELECT count(*) FROM wc WHERE opcode & 128' 2>/dev/null)" &&
		is "$(grep -c 'opcode=IBV_WC_SEND.*src_qp' ud)" 0
}
dump_to_a_closed_pipe_ends_quietly() { is "$(dump t.db 2>&1 | head -1 | wc -l)" 1; }
full_disk_is_reported_once() {
	local command
	for command in dump info stat check; do
		"$VERBATIM" $command t.db 2>err >/dev/full
		is "$command $? $(grep -v 'made the program wait' err)" \
			"$command 4 verbatim: write to standard output: No space left on device" ||
			return
	done
}

stat_counts_what_happened() {
	"$VERBATIM" stat --format json t.db >out || return
	is "$(jq -c '.queues[] |
		[.queue, .sends, .completions, .errors, .sent_bytes, .received_bytes]' out)" \
		'["qp1",200,400,0,819200,819200]' &&
		is "$(jq '.completion_queues[0] | .polls - .empty_polls' out)" \
			"$(query t.db 'SELECT count(DISTINCT n) FROM wc')" &&
		jq -e '.queues[0] | .p50_ns > 0 and .p50_ns <= .p90_ns and
			.p90_ns <= .p99_ns and .p99_ns <= .max_ns' out >/dev/null
}
stat_in_text_has_the_same_queues() {
	"$VERBATIM" stat t.db | grep -q '^  qp1  *1  *200 .* 800 KiB  *800 KiB '
}

sql_prints_rows() {
	is "$(query guest.db "SELECT verb, count(*) FROM call WHERE verb LIKE '%loc_pd'
		GROUP BY 1 ORDER BY 1")" $'ibv_alloc_pd|150\nibv_dealloc_pd|150'
}
sql_prints_csv() {
	is "$(query --csv --header t.db "SELECT 'a\"b,c' AS x, NULL AS y, 1")" $'x,y,1\n"a""b,c",,1'
}
sql_prints_json() {
	is "$(query --json t.db "SELECT 'a\"' AS x, NULL AS y, 2 AS z 
		UNION ALL SELECT 'b', 1.5, 3" | jq -c .)" \
		'[{"x":"a\"","y":null,"z":2},{"x":"b","y":1.5,"z":3}]'
}
sql_has_the_data_plane() {
	is "$(query t.db "SELECT count(*), sum(length)
		FROM sge JOIN wr USING(thread, n, i) WHERE verb = 'ibv_post_send'")" '200|819200'
}
sql_prints_all_of_a_blob_and_of_a_text() {
	is "$(query t.db "SELECT x'00ff41', 1")" '00FF41|1' &&
		is "$(query --csv t.db "SELECT x'00ff41'")" 00FF41 &&
		is "$(query t.db "SELECT 'a' || char(0) || 'b'" | od -An -c | tr -d ' ')" \
			'a\x00b\n' &&
		is "$(query --json t.db "SELECT x'00ff41' AS x, cast(x'61ff62' AS text) AS y,
			'a' || char(0) || 'b' AS z, 1e999 AS i, -1e999 AS j")" \
			'[{"x": "00FF41", "y": "a\u00ffb", "z": "a\ufffdb",'\
' "i": 9e999, "j": -9e999}]'
}

# a program may give itself any name
texts_of_a_program_stay_on_their_line() {
	local odd=$'x\ny\e[31mz\xff' command
	"$VERBATIM" record -q --device soft -o odd.db bash -c \
		"exec -a '$odd' $guest say 1 calls 1" >out || return
	for command in info dump stat; do
		"$VERBATIM" $command odd.db >out || return
		! LC_ALL=C grep -n "^y\|"$'\e' out || return
	done
	"$VERBATIM" dump odd.db | LC_ALL=C grep -qaF 'x\x0ay\x1b[31mz' &&
		for command in info stat check; do "$VERBATIM" $command --format json odd.db |
		iconv -f UTF-8 -t UTF-8 | jq -e . >/dev/null ||
		{ echo "$command: no JSON"; return 1; }; done &&
		"$VERBATIM" sql --json odd.db 'SELECT * FROM process' | iconv -f UTF-8 -t UTF-8 |
		jq -e '.[0].cmdline == "x\ny\u001b[31mz\u00ff say 1 calls 1"' >/dev/null
}
reason_of_a_loss_is_the_true_one() {
	"$VERBATIM" unpack -o lost.db guest.db &&
		sqlite3 lost.db "INSERT INTO loss(thread, process, events) VALUES(1, 1, 5);
			INSERT INTO coverage(process, thread, n, time, what, times, detail)
			VALUES(1, 1, 1, 1, 'handlers', 5, 'of verbs in signal handlers')" || return
	for command in info dump stat; do
		"$VERBATIM" $command lost.db 2>&1 | grep -i lost >out
		grep -q '5 events.*signal handlers' out && ! grep -q 'full\|room' out ||
			{ echo "$command: $(cat out)"; return 1; }
	done
}
info_shows_columns_only() { ! "$VERBATIM" info t.db | grep SELECT; }

unpacked_trace_reads_the_same() {
	rm -f u.db
	"$VERBATIM" unpack -o u.db t.db && dump u.db | cmp - all &&
		is "$("$VERBATIM" stat u.db | md5sum)" "$("$VERBATIM" stat t.db | md5sum)"
}
unpacked_trace_is_read_by_any_sqlite() { is "$(sqlite3 u.db 'SELECT count(*) FROM wc')" 400; }

# Descriptions of options begin in one column, and no line is wider than a page.
help_is_in_columns() {
	local c
	for c in $("$VERBATIM" --help | awk '/^  [a-z]/ { print $1 }'); do
		is "$c" "$("$VERBATIM" "$c" --help | awk '
			/^options/ { options = 1; next }
			/^$/ { options = 0 }
			length > 100 { print }
			options && length >= 34 && !/^ .*--[^ ]+ [^ ]+$/ &&
			(substr($0, 34, 1) != " " || substr($0, 35, 1) == " ")')" "" || return
	done
}
every_command_has_help_and_a_page() {
	local c
	for c in $("$VERBATIM" --help | awk '/^  [a-z]/ { print $1 }'); do
		"$VERBATIM" help "$c" | grep -q "^usage: verbatim $c " ||
			{ echo "help $c"; return 1; }
		"$VERBATIM" "$c" --help | grep -q "^usage: verbatim $c " ||
			{ echo "$c --help"; return 1; }
		[ -s "$root/docs/man/verbatim-$c.1" ] || { echo "no page of $c"; return 1; }
	done
}
# verbatim(1) has those of every command.
pages_name_every_option() {
	local c o all
	all=$(sed -n '/options: made/,/^\.El/p' "$root/docs/man/verbatim.1")
	for c in $("$VERBATIM" --help | awk '/^  [a-z]/ { print $1 }'); do
		for o in $("$VERBATIM" help "$c" | grep -o '^  [^[]*--[a-z-]*' | grep -o -- \
			'--[a-z-]*'); do
			[ "$o" = --help ] ||
				grep -q -- "Fl -${o#--}\|, -${o#--}" <<<"$all" ||
				grep -q -- "Fl -${o#--}\|, -${o#--}" \
					"$root/docs/man/verbatim-$c.1" ||
				{ echo "verbatim-$c.1 lacks $o"; return 1; }
		done
	done
}
pages_are_clean() {
	local out
	out=$(mandoc -T lint -W warning "$root"/docs/man/*.1 2>&1)
	[ -z "$out" ] || { echo "$out"; return 1; }
}
version_is_reported() { "$VERBATIM" --version | grep -q '^verbatim [0-9]'; }

software_device_without_recording() {
	"$VERBATIM" run --device soft -- ibv_devinfo | grep -q 'hca_id:'
}
run_keeps_the_exit_status() { "$VERBATIM" run --device soft -- sh -c 'exit 9'; is $? 9; }
machine_without_device_is_reported() {
	[ ! -d /sys/class/infiniband ] || [ -z "$(ls /sys/class/infiniband)" ] || return 0
	is "$(env -u VERBATIM_DEVICE "$VERBATIM" run true 2>&1)" \
		"verbatim: this machine has no RDMA device: using the software device"
}

try libraries_that_few_commands_need_are_not_loaded
try record_traces
try info_counts_what_happened
try info_has_sizes_as_all_commands_do
try info_in_json_is_the_same
try info_takes_its_format_from_the_environment
try dump_decodes_arguments
try dump_names_keys_of_regions_that_are_gone
try debug_information_of_libc_is_left_alone_for_the_start_of_main
try dump_is_in_the_order_of_time
try dump_has_each_event_once
try dump_of_a_thread
try dump_of_a_process
try dump_of_a_verb
try dump_of_an_object
try dump_of_a_time
try dump_between_two_events
try dump_before_the_beginning_is_empty
try dump_of_an_object_among_many_is_quick
try dump_of_failures_is_empty_where_nothing_failed
try dump_of_a_run_of_flushes_is_one_line
try dump_of_one_event_has_its_stack
try dump_has_the_sender_of_a_datagram
try dump_to_a_closed_pipe_ends_quietly
try full_disk_is_reported_once
try stat_counts_what_happened
try stat_in_text_has_the_same_queues
try sql_prints_rows
try sql_prints_csv
try sql_prints_json
try sql_prints_all_of_a_blob_and_of_a_text
try sql_has_the_data_plane
try texts_of_a_program_stay_on_their_line
try reason_of_a_loss_is_the_true_one
try info_shows_columns_only
try unpacked_trace_reads_the_same
try unpacked_trace_is_read_by_any_sqlite
try every_command_has_help_and_a_page
try help_is_in_columns
if command -v mandoc >/dev/null; then try pages_are_clean
else echo "skip commands: pages are clean: no mandoc"; fi
try pages_name_every_option
try version_is_reported
try software_device_without_recording
try run_keeps_the_exit_status
try machine_without_device_is_reported
