# Findings that do not count: suppressions, baselines, presets; with check and record --check.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o "$t" -- "$@" >/dev/null 2>&1; }
# options: the report in `out`, notes in `err` except that of a slow recorder, the exit status in
# $status
check() {
	"$VERBATIM" check "$@" "$t" >out 2>notes
	status=$?
	sed '/made the program wait/d' notes >err
}
ends() { is "exit $status: $(tail -3 out)" "exit $1: $(tail -3 out)"; }
suppress() { printf '%s\n' "$@" >supp; check --suppress supp; }
build() { cc -O0 -g "$@" -I"$root" -o app -libverbs -lpthread; }

matches() { # a line of the file that matches life_001's finding
	suppress "$1"; ends 0 && says "; 1 suppressed by supp" out && is "$(cat err)" "" &&
		[ "$(grep -c '^E ' out)" = 0 ]
}
matches_nothing() {
	suppress "$1"; ends 1 && says "; 0 suppressed by supp" out &&
		says "supp:1: '.*' matched nothing" err
}
each_pattern_matches() {
	record "$apps/life_001" bad
	matches LIFE-001 && matches use-after-destroy && matches "LIFE-*" &&
		matches "  LIFE-001	*  * # as of the library" &&
		matches "LIFE-001 main" && matches "LIFE-001 ma?n" && matches "LIFE-001 life_00*" &&
		matches "LIFE-001 * life_001" && matches "* * */tests/apps/life_001"
}
other_patterns_do_not_match() {
	record "$apps/life_001" bad
	matches_nothing LIFE-002 && matches_nothing "LIFE-001 mai" &&
		matches_nothing "LIFE-001 * life_002" && matches_nothing "LIFE-001 main life"
}
# of a stack other than the last step's
any_step_counts() {
	record "$apps/demo_bug"
	suppress "LIFE-001 connection_open"; ends 0 &&
		suppress "LIFE-001 heartbeat_timer"; ends 0
}
lines_without_rules_are_skipped() {
	record "$apps/life_001" bad
	suppress "# all of it" "" "   " "LIFE-001 # why"; ends 0
}
# expected text, exit status 2
is_refused() { check "${@:2}"; ends 2 && says "$1" err && is "$(wc -l <err)" 1; }
bad_files_are_refused() {
	record "$apps/life_001" bad
	printf 'LIFE-001\n\nLIFE-999 main\n' >supp
	is_refused "supp:3: unknown rule 'LIFE-999'" --suppress supp || return
	printf 'LIFE-001 main life_001 because\n' >supp
	is_refused "supp:1: too many words: a line is RULE" --suppress supp || return
	is_refused "supp:1: not a baseline" --baseline supp || return
	printf '# verbatim baseline 1\nLIFE-001\n' >base
	is_refused "base:2: expected a fingerprint" --baseline base || return
	printf '# verbatim baseline 1\n0123456789abcdef0 LIFE-001\n' >base
	is_refused "base:2: expected a fingerprint" --baseline base || return
	is_refused "unknown rule 'LIFE-0O1' (did you mean 'LIFE-001'" --mute LIFE-0O1 || return
	check --suppress absent; ends 4 && says "read absent: No such file" err || return
	check --baseline .; ends 4
}

a_baseline_takes_what_was_there() {
	record "$apps/life_001" bad
	check --write-baseline base; ends 1 || return
	is "$(head -1 base)" "# verbatim baseline 1" && is "$(wc -l <base)" 2 || return
	record "$apps/life_001" bad
	check --baseline base; ends 0 && says "; 1 in the baseline base" out &&
		is "$(cat err)" "" || return
	# a new one counts
	record "$apps/life_002" bad
	check --baseline base; ends 1 && says "; 0 in the baseline base" out &&
		says "in the baseline base, but no longer found: .* LIFE-001 ibv_" err
}
a_baseline_can_be_brought_up_to_date() {
	record "$apps/model_run" 1 60
	check --write-baseline base
	local n=$(wc -l <base)
	[ "$n" -gt 2 ] || { cat base; return 1; }
	sed -i '0,/ MKEY-004 /{/ MKEY-004 /d}' base # an error
	check --baseline base --write-baseline base
	ends 1 && is "$(wc -l <base)" "$n" || return
	check --baseline base; ends 0
}
what_was_not_checked_is_not_gone() {
	record "$apps/life_001" bad
	check --write-baseline base
	record "$apps/life_001" good
	check --baseline base --mute LIFE-001; ends 0 && is "$(cat err)" "" || return
	check --baseline base; ends 0 && says "but no longer found" err
}
other_files_are_not_overwritten() {
	record "$apps/life_001" bad
	cp "$t" copy; echo mine >mine
	check --write-baseline mine; ends 4 && is "$(cat mine)" mine &&
		says "mine is not a baseline and will not be overwritten" err || return
	check --write-baseline "$t"; ends 2 && cmp "$t" copy || return
	: >empty; check --write-baseline empty; ends 1 && is "$(wc -l <empty)" 2
}
a_baseline_outlives_a_change_of_lines() {
	cp "$root/tests/apps/demo_bug.c" app.c
	build app.c && record ./app && check --write-baseline base && ends 1 || return
	{ echo; echo; cat app.c; } >more.c
	mv more.c app.c && build app.c && record ./app && check --baseline base; ends 0
}
formats_tell_what_is_known() {
	record "$apps/life_001" bad
	check --write-baseline base; echo "LIFE-001" >supp
	"$VERBATIM" check -f json --baseline base "$t" >json
	is "$(jq -c '[.errors, .suppressed, .in_baseline, (.findings | length)]' json)" \
		"[0,0,1,0]" || return
	"$VERBATIM" check -f sarif --baseline base --suppress supp "$t" >sarif &&
		"$root/tests/e2e/lib/sarif.py" sarif &&
		is "$(jq -c '.runs[0] | [.invocations[0].exitCode, (.results[0] |
			.baselineState, .suppressions[0].kind)]' sarif)" \
			'[0,"unchanged","external"]' || return
	"$VERBATIM" check -f sarif --baseline base "$t" >sarif &&
		is "$(jq -r '.runs[0].results[0].baselineState' sarif)" unchanged || return
	"$VERBATIM" check -f junit --suppress supp "$t" >junit &&
		is "$(xmllint --xpath 'string(//testsuite/@failures)' junit)" 0
}
# a known fact is printed, and does not count
facts_are_known_too() {
	record "$apps/first_error" bad
	check --write-baseline base; ends 1 &&
		says "^[0-9a-f]* error-completion IBV_WC_REM_" base &&
		says "^[0-9a-f]* MKEY-004 " base || return
	check --baseline base; ends 0 && says "queue pairs in error (1)" out &&
		says "2 in the baseline base" out || return
	suppress MKEY-004; ends 1 || return
	suppress MKEY-004 "error-completion post_writes first_error"; ends 0 || return
	suppress MKEY-004 "error-completion elsewhere"; ends 1 &&
		says "supp:2: 'error-completion elsewhere \*' matched nothing" err || return
	"$VERBATIM" check -f sarif --baseline base "$t" >sarif &&
		"$root/tests/e2e/lib/sarif.py" sarif &&
		is "$(jq -r '.runs[0].results[].baselineState' sarif | sort -u)" unchanged || return
	"$VERBATIM" check -f junit --baseline base "$t" >junit &&
		is "$(xmllint --xpath 'string(//testsuite/@failures)' junit)" 0 || return
	live first_error --baseline base; ends 0 || return
	record "$apps/first_error" good
	check --baseline base; ends 0 &&
		says "in the baseline base, but no longer found: .* error-completion IBV_WC_REM" err
}
presets_choose_by_severity() {
	record "$apps/life_004" bad
	check; ends 1 || return
	check --preset errors; ends 0 || return
	check --preset all; ends 1 || return
	check --preset performance; ends 0 &&
		says ", $("$VERBATIM" explain | grep '^[A-Z]*-[0-9]' |
			grep -cv ' performance$') muted" out || return
	check --preset none; ends 2
}

the_least_severity_that_fails_is_chosen() {
	record "$apps/life_004" bad
	check --fail-on error; ends 0 && says "1 warning" out || return
	check --fail-on warning; ends 1 || return
	record "$apps/mkey_009" bad
	check; ends 0 && says "nothing failed, 1 hazard" out && says "  H MKEY-009" out || return
	check --fail-on hazard; ends 1 && says "BAD: 1 hazard" out || return
	check --fail-on hazard --format junit; ends 1 &&
		says '<failure message="1 hazard"' out || return
	check --format json; is "$(jq -r '.findings[] | .severity, .breaks_when != null' out)" \
		"hazard"$'\n'"true" || return
	check --fail-on hazard --preset errors; ends 0 && says "findings (0; " out || return
	check --fail-on hazard --write-baseline hazards; ends 1 || return
	check --fail-on hazard --baseline hazards; ends 0 &&
		says "; 1 in the baseline" out || return
	check --fail-on nothing; ends 2
}

# the same while the program runs
live() { "$VERBATIM" record -q --check "${@:2}" -o "$t" -- "$apps/$1" bad >out 2>err; status=$?; }
recording_knows_them_too() {
	local row="select count(*) from finding where rule = 'LIFE-001'"
	live life_001; ends 1 && is "$(sql "$row")" 1 || return
	echo "LIFE-001 main" >supp
	live life_001 --suppress supp; ends 0 && says "; 1 suppressed by supp" err &&
		is "$(sql "$row") $(grep -c '^E ' err)" "0 0" || return
	live life_001 --write-baseline base; ends 1 || return
	live life_001 --baseline base; ends 0 && says "; 1 in the baseline base" err || return
	check --baseline base; ends 0 || return
	live life_001 --mute LIFE-001; ends 0 || return
	live life_004 --preset errors; ends 0 || return
	live life_001 --suppress none; ends 4 || return
	echo "NONE" >supp; live life_001 --suppress supp; ends 2
}

rows() { sql "select rule, thread || ':' || n, time, process, place, object, message, fingerprint
	from finding where rule glob '*-[0-9]*' order by id"; }
in_json() { check --format json; jq -r '.findings[] | [.rule, .event, .time, .process, .where,
	.object, .message, .fingerprint] | map(tostring) | join("|")' out; }
rest() { "$VERBATIM" dump "$t"; sql "select * from meta order by key"; }
saving_puts_findings_into_the_trace() {
	record "$apps/model_run" 1 60
	rm -f "$t.old"
	cp "$t" copy; rest >before
	check; cmp "$t" copy && is "$(rows)" "" || return
	check --save; ends 1 && is "$(rows)" "$(in_json)" || return
	[ "$(rows | wc -l)" -gt 5 ] || { rows; return 1; }
	is "$(sql "select rule, sum(count) from finding where not rule glob '*-[0-9]*'
		group by rule")" "$(check --format sarif; jq -r '[.runs[0].results[] |
			select(.ruleId | test("-[0-9]") | not)] | group_by(.ruleId)[] |
			"\(.[0].ruleId)|\(map(.occurrenceCount) | add)"' out)" || return
	rest | diff before - || return
	# the last one counts
	local rule=$(rows | head -1 | cut -d'|' -f1)
	check --save --mute "$rule"; is "$(rows | grep -c "^$rule")" 0 || return
	echo '*' >supp; check --save --suppress supp
	ends 0 && is "$(sql 'select count(*) from finding')" 0 || return
	is "$(ls "$t"*)" "$t"
}
what_is_not_ours_is_not_saved_into() {
	record "$apps/life_001" bad
	ln -sf /etc/passwd "$t-journal"; check --save; [ $status -ge 3 ] || { ends 3; return 1; }
	rm "$t-journal"; is "$(rows)" "" && check --save; ends 1 && is "$(rows | wc -l)" 1
}

for each in each_pattern_matches other_patterns_do_not_match any_step_counts \
	    lines_without_rules_are_skipped bad_files_are_refused \
	    a_baseline_takes_what_was_there a_baseline_can_be_brought_up_to_date \
	    what_was_not_checked_is_not_gone other_files_are_not_overwritten \
	    a_baseline_outlives_a_change_of_lines formats_tell_what_is_known facts_are_known_too \
	    presets_choose_by_severity the_least_severity_that_fails_is_chosen \
	    recording_knows_them_too \
	    saving_puts_findings_into_the_trace what_is_not_ours_is_not_saved_into; do
	try $each
done
