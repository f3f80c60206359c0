# verbatim check: each rule finds the mistake of its program and is silent about the correct twin.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

has() { case $1 in *"$2"*) ;; *) echo "no '$2' in '$1'"; return 1 ;; esac }
record() { "$VERBATIM" record --memory --strict -q -o t.db -- "$@" >/dev/null 2>&1; }
record_live() {
	"$VERBATIM" record --memory --strict --check -q -o t.db -- "$@" >/dev/null 2>&1
}
report() { "$VERBATIM" check --format json t.db >t.json; }
# report, and the expected exit status
ends() { local want=$1; report; is "exit $?" "exit $want"; }
ask() { jq -r "$1" t.json; }

program_of() { tr 'A-Z-' 'a-z_' <<<"$1"; }
severity_of() { "$VERBATIM" explain | awk -v id="$1" '$1 == id { print $3 }'; }

# A rule's program breaks that rule, and no other of its severity, in live and later checks.
finds() {
	local severity=$(severity_of "$1")
	local status=1
	case $severity in hazard | performance | information) status=0 ;; esac
	record_live "$apps/$(program_of "$1")" bad
	ends $status && is "$(ask "[.findings[] | select(.severity == \"$severity\") | .rule] |
		unique[]")" "$1" || return
	"$VERBATIM" check --format sarif t.db >"$1.sarif"
	same_as_live t.db
}

# The reports of all rules, at once: starting the check takes longer than checking one.
reports_are_valid_sarif() {
	is "reports" "$(ls ./*.sarif | wc -l)" "$(wc -w <<<"$rules")" &&
		"$root/tests/e2e/lib/sarif.py" ./*.sarif
}

# The same program without the mistake has no finding, and all rules were checked.
is_silent_about_the_twin() {
	record_live "$apps/$(program_of "$1")" good || { echo "the twin failed"; return 1; }
	ends 0 && is "$(ask '.findings | length')" 0 && is "$(ask '.not_checked[].because')" ""
}

# name, event, verb and innermost functions of each step
steps() {
	ask '.findings[0].steps[] | "\(.what) \(.verb) " + ([.stack[].function // "?"] | join("<"))'
}

# dump prints the same events as the steps
events_are_what_they_are_called() {
	local id verb
	while read -r id verb; do
		is "$("$VERBATIM" sql t.db "SELECT verb FROM call
			WHERE thread || ':' || n = '$id'")" "$verb" || return
	done < <(ask '.findings[0].steps[] | select(.verb) | "\(.event) \(.verb)"')
	is "$(ask '.findings[0].event')" "$(ask '.findings[0].steps[-1].event')"
}

demo_has_three_stacks_with_names() {
	local acked_by="acknowledge_events<heartbeat_timer<timers_fire<main"
	record "$apps/demo_bug" && ends 1 || return
	is "$(ask '.findings[0].where')" "ibv_ack_cq_events(): cq" &&
		is "$(ask '.findings[0].steps | length')" 3 &&
		has "$(steps)" "created ibv_create_cq connection_open<main" &&
		has "$(steps)" "destroyed ibv_destroy_cq connection_close<main" &&
		has "$(steps)" "used ibv_ack_cq_events $acked_by" &&
		is "$(ask '.findings[0].steps[] | .stack[0].file' | sort -u)" demo_bug.c &&
		events_are_what_they_are_called
}

demo_lines_are_those_of_the_source() {
	record "$apps/demo_bug" && ends 1 || return
	local line
	line=$(ask '.findings[0].steps[1].stack[0].line')
	has "$(sed -n "${line}p" "$root/tests/apps/demo_bug.c")" "ibv_destroy_cq("
}

a_file_that_was_changed_gives_no_names() {
	local told='[.findings[0].steps[].stack[0] | .function, .problem]'
	cp "$apps/demo_bug" ./app && record ./app && cp "$apps/life_001" ./app && ends 1 &&
		is "$(ask "$told | unique | map(tostring) | join(\" \")")" \
			"null binary changed"
	local status=$?
	rm -f app
	return $status
}

# the first line of the report ends with this
verdict() { "$VERBATIM" check t.db | sed -n '1s/.* lost  *//p'; }

text_report_starts_with_the_first_error() {
	local error='\(.status) \(.opcode) \(.wr_id) \(.length) \(.flushed)'
	record "$apps/first_error" bad && ends 1 &&
		is "$(ask '.first_errors | length')" 1 &&
		is "$(ask ".first_errors[0] | \"$error\"")" \
			"IBV_WC_REM_ACCESS_ERR IBV_WR_RDMA_WRITE 101 64 1" &&
		has "$("$VERBATIM" dump t.db "$(ask '.first_errors[0].request')")" "wr_id=0x65" &&
		is "$(verdict)" "BAD: 1 queue pair in error, 1 error" &&
		has "$("$VERBATIM" check t.db | sed -n 3,4p)" "IBV_WC_REM_ACCESS_ERR" &&
		has "$("$VERBATIM" check t.db | sed -n 3,6p)" "IBV_WR_RDMA_WRITE of 64 bytes at"
}

the_poll_of_an_error_has_its_stack() {
	local errors="SELECT thread || ':' || n FROM poll WHERE stack IS NOT NULL" poll
	record "$apps/first_error" bad && poll=$("$VERBATIM" sql t.db "$errors") &&
		is "$(echo "$poll" | wc -w)" 1 &&
		has "$("$VERBATIM" dump t.db "$poll")" "poll_all (first_error.c:" || return
	ends 1 && has "$(ask '[.first_errors[0].polled[].function] | join(" ")')" poll_all &&
		"$VERBATIM" unpack t.db -o plain.db &&
		is "$("$VERBATIM" sql plain.db "$errors")" "$poll" &&
		has "$("$VERBATIM" dump plain.db "$poll")" "poll_all (first_error.c:" || return
	rm -f plain.db
	record "$apps/first_error" good && is "$("$VERBATIM" sql t.db "$errors")" ""
}

# for a program with more mistakes than fit into it
the_first_screen_has_24_lines() {
	record "$apps/model_run" 1 60
	"$VERBATIM" check t.db | sed '/^$/q' >screen
	[ "$(wc -l <screen)" -le 25 ] && says '^failed verbs' screen && says '^findings' screen &&
		says '^queue pairs in error' screen && says '^  and .* below$' screen
}

facts_are_muted_by_name() {
	record "$apps/first_error" bad
	"$VERBATIM" check --mute error-completion,MKEY-004 t.db >muted
	is "exit $?" "exit 0" && has "$(sed -n 2p muted)" "queue pairs in error (1), muted" &&
		is "$(sed -n '1s/.* lost  *//p' muted)" "1 queue pair in error"
}

no_error_is_reported_too() { record "$apps/first_error" good && is "$(verdict)" "nothing failed"; }

nothing_is_no_success() {
	rm -f t.db # which would stay
	record true
	is "$(verdict)" "EMPTY: no verb was recorded"
}

leaks_of_one_place_are_one_finding() {
	record "$apps/life_004" && ends 1 && is "$(ask '.findings | length')" 1 &&
		has "$(ask '.findings[0].message')" "and with it 1 pd, 20 mrs." &&
		has "$(steps)" "the tenth ibv_reg_mr serve_request<main"
}

ranks_with_one_mistake_are_one_finding() {
	record sh -c "for i in 1 2 3; do '$apps/life_002' bad & done; wait" && ends 1 &&
		is "$(ask '[.findings[] | select(.rule == "LIFE-002")] | length')" 1 &&
		is "$(ask '.findings[] | select(.rule == "LIFE-002") | .also_in | length')" 2 &&
		has "$("$VERBATIM" check t.db)" "in 3 processes: "
}

an_event_acknowledged_twice_is_as_bad() {
	record "$apps/compl_003" over
	ends 1 && is "$(ask '.findings[].rule')" COMPL-003 &&
		has "$(ask '.findings[].message')" "1 more event was acknowledged"
}

a_hung_destroy_says_how_it_ended() {
	record "$apps/compl_003"
	ends 1 && has "$(ask '.findings[0].message')" "had not returned" &&
		has "$(ask '.not_checked[].because')" "killed by signal 14"
}

muting_is_per_rule_and_counts_for_the_status() {
	record "$apps/demo_bug" || return
	"$VERBATIM" check --mute LIFE-001 t.db >/dev/null; is "exit $?" "exit 0" || return
	"$VERBATIM" check --mute LIFE-002 --mute LIFE-004,use-after-destroy t.db >/dev/null
	is "exit $?" "exit 0" || return
	"$VERBATIM" check --mute LIFE-002 t.db >/dev/null; is "exit $?" "exit 1" || return
	"$VERBATIM" check --mute LIFE-999 t.db >/dev/null 2>&1; is "exit $?" "exit 2"
}

what_is_no_trace_is_refused() {
	echo nonsense >x.db
	"$VERBATIM" check x.db >/dev/null 2>&1; is "exit $?" "exit 3" || return
	"$VERBATIM" check none.db >/dev/null 2>&1; is "exit $?" "exit 4" || return
	"$VERBATIM" check >/dev/null 2>&1; is "exit $?" "exit 2"
}

explain_knows_every_rule() {
	local id
	for id in $rules; do
		has "$("$VERBATIM" explain "$id")" "to do" || return
	done
	"$VERBATIM" explain LIFE-999 >/dev/null 2>&1; is "exit $?" "exit 2"
}

docs_are_made_from_the_list() {
	"$VERBATIM" explain --markdown >made.md
	sed '1,/^<!-- from here on/d' "$root/docs/RULES.md" | diff - made.md
}

is_clean() {
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 1; }
	record "$both" "$@" || { echo "it failed"; return 1; }
	ends 0 && is "$(ask '.findings[] | select(.severity != "hazard") | .rule')" "" &&
		is "$(ask '.first_errors | length')" 0
}

# A device that lacks some fields of completions.
record_refused() {
	echo 'verb=create_cq errno=EOPNOTSUPP' >faults
	VERBATIM_SOFT_FAULTS=faults record "$apps/no_fallback"
}

# With so few descriptors a process cannot open the programs, or start the reader of their symbols.
too_few_descriptors_are_called_so() {
	local few told=0
	record_refused
	for few in 5 6 7 8; do
		(ulimit -n $few && "$VERBATIM" check t.db >out 2>err)
		! says "take too long" out >/dev/null && ! says "file not found" out >/dev/null ||
			{ echo "ulimit -n $few"; return 1; }
		! says "too few descriptors: ulimit -n" out >/dev/null || told=1
	done
	is "told" $told 1
}

a_failure_that_programs_expect_may_be_the_end() {
	record_refused
	is "exit $?" "exit 1" && "$VERBATIM" check t.db | head -24 | tr -s ' \n' ' ' >out &&
		says "its last failed verb: ibv_create_cq_ex(context1) = EOPNOTSUPP" out &&
		says "wc_flags has .*IBV_WC_EX_WITH_TM_INFO.* beyond IBV_WC_STANDARD_FLAGS" out
}

# min_rnr_timer 0 is 655.36 ms; receives are posted before each message.
a_slow_way_is_no_rnr_stall() {
	echo "opcode=SEND every=2 delay=650ms" >slow.faults
	VERBATIM_SOFT_FAULTS=$PWD/slow.faults record "$apps/slow_way" send ||
		{ echo "it failed"; return 1; }
	ends 0 && is "$(ask '.findings[] | "\(.severity) \(.rule)"' | grep -v STATE-010)" \
		"hazard STATE-007" &&
		is "$("$VERBATIM" sql t.db "SELECT count(*) FROM requests WHERE side = 'send' AND
			latency BETWEEN 650e6 AND 675e6" | sed 's/^[3-8]$/enough/')" enough
}

# @program with @argument, and what is reported about it, the only finding.
warns() { # program argument rule message
	record "$apps/$1" "$2" || { echo "it failed"; return 1; }
	ends 0 && is "$(ask '.findings[] | "\(.severity) \(.rule)"')" "hazard $3" &&
		has "$(ask '.findings[0].message')" "$4"
}

# rule -> its negative program, its twin, its stored-trace tests
table() {
	local id program tests status=0
	printf '%-10s %-14s %-20s %s\n' rule program twin "stored-trace tests"
	for id in $rules; do
		program=$(program_of "$id")
		tests=$(grep -l "RULE_$(tr a-z- A-Z_ <<<"$id")" "$root"/tests/analyzer/*_test.c |
			xargs -rn1 basename | tr '\n' ' ')
		[ -x "$apps/$program" ] && [ -n "$tests" ] || status=1
		printf '%-10s %-14s %-20s %s\n' "$id" "$program" "$program good" "${tests:-MISSING}"
	done
	return $status
}

rules=$("$VERBATIM" explain | awk '$1 ~ /^[A-Z]+-[0-9]+$/ { print $1 }')
[ -n "$rules" ] || not_ok rules "explain lists none"
for id in $rules; do
	try finds "$id"
	try_in_turn is_silent_about_the_twin "$id"
done
try_in_turn reports_are_valid_sarif
for t in demo_has_three_stacks_with_names demo_lines_are_those_of_the_source \
	 a_file_that_was_changed_gives_no_names text_report_starts_with_the_first_error \
	 the_poll_of_an_error_has_its_stack \
	 the_first_screen_has_24_lines \
	 facts_are_muted_by_name no_error_is_reported_too nothing_is_no_success \
	 leaks_of_one_place_are_one_finding \
	 ranks_with_one_mistake_are_one_finding a_hung_destroy_says_how_it_ended \
	 an_event_acknowledged_twice_is_as_bad \
	 muting_is_per_rule_and_counts_for_the_status what_is_no_trace_is_refused \
	 explain_knows_every_rule docs_are_made_from_the_list; do
	try $t
done
try a_failure_that_programs_expect_may_be_the_end
try_in_turn too_few_descriptors_are_called_so
try_in_turn a_slow_way_is_no_rnr_stall
try "the longest RNR timer is a hazard" warns state_007 timer STATE-007 \
	"min_rnr_timer 0: 655.36 ms, the longest"
try "RoCE v1 is a hazard where v2 is there" warns state_008 v1 STATE-008 \
	"(RoCE v1, sgid_index 2 of port 1)"
try is_clean ibv_rc_pingpong
try is_clean ibv_rc_pingpong -e -n 200
try is_clean ibv_srq_pingpong
table >rows
listed=$?
cat rows
is_listed() { return $listed; }
try "each rule has a program and tests" is_listed
