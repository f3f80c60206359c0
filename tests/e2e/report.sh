# verbatim check --format sarif and junit: valid, with the same findings as JSON.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o "$t" -- "$@" >/dev/null 2>&1; }
# a format, options: the report in a file of that name, the exit status in $status
report() { "$VERBATIM" check --format "$1" "${@:2}" "$t" >"$1"; status=$?; }
# Keeps the report, for are_valid_sarif: starting that check takes longer than checking one.
keep_sarif() { cp sarif "$(mktemp kept.XXXXXX.sarif)"; }
are_valid_sarif() { "$root/tests/e2e/lib/sarif.py" ./*.sarif; }
valid_junit() { xmllint --noout --schema "$root/tests/e2e/lib/junit.xsd" junit; }
sarif() { jq -r ".runs[0] | $1" sarif; }
build() { cc -O0 "$@" -I"$root" -o app -libverbs -lpthread; }
junit() { xmllint --xpath "string($1)" junit; }

sarif_has_what_json_has() {
	report json; report sarif
	keep_sarif || return
	is "$(sarif '.results[] | select(.ruleId | test("^[A-Z]")) |
			"\(.ruleId) \(.message.text) \(.occurrenceCount) " +
			"\(.properties.event) \(.properties.object) " +
			"\(.codeFlows[].threadFlows | map(.locations | length) | add)"')" \
		"$(jq -r '.findings[] | "\(.rule) \(.message) \(.count) \(.event) \(.object) " +
			"\(.steps | length)"' json)" &&
		is "$(sarif '.invocations[0].exitCode')" $status &&
		is "$(sarif '.invocations[0].toolExecutionNotifications | length')" \
			"$(jq '.not_checked | length' json)"
}
junit_has_what_json_has() {
	report json; report junit
	valid_junit || return
	is "$(junit 'count(//testcase[@classname != "verbatim.facts"])')" \
		"$(jq '.rules | length' json)" &&
		is "$(junit 'count(//testcase[@classname = "verbatim.facts"])')" 8 &&
		is "$(junit '//testsuite/@tests')" "$(junit 'count(//testcase)')" &&
		is "$(junit '//testsuite/@failures') $(junit '//testsuite/@skipped')" \
			"$(junit 'count(//failure)') $(junit 'count(//skipped)')" &&
		is "$(junit 'count(//testcase[@classname != "verbatim.facts"]/failure)')" \
			"$(jq '[.findings[] | select(.severity | . == "error" or . == "warning") |
				.rule] | unique | length' json)" &&
		is "$(junit '//property[@name="exit-status"]/@value')" $status
}
both_have_what_json_has_of() { record "$apps/$1" bad; sarif_has_what_json_has &&
	junit_has_what_json_has; }

each_level_is_that_of_the_severity() {
	record "$apps/life_001" bad; report sarif
	is "$(sarif '.tool.driver.rules[] | select(.properties) | .properties.severity + " " +
			.defaultConfiguration.level' |
		grep -v '^E error$\|^W warning$\|^[HPI] note$')" "" &&
		is "$(sarif '.results[] | .ruleId + " " + .level' | sort -u)" "LIFE-001 error" &&
		is "$(sarif '.tool.driver.rules[] | select(.id == "LIFE-004") |
			.defaultConfiguration.level')" warning
}
steps_have_places() {
	record "$apps/demo_bug"; report sarif
	is "$(sarif '.results[0].codeFlows[0].threadFlows[0].locations[] |
			.location | (.message.text | sub("[0-9:]+"; "T:N")) + " " +
			.logicalLocations[0].fullyQualifiedName + " " +
			(.physicalLocation.artifactLocation.uri | sub(".*/"; ""))')" \
"created at T:N by ibv_create_cq() connection_open demo_bug.c
destroyed at T:N by ibv_destroy_cq() connection_close demo_bug.c
used at T:N by ibv_ack_cq_events() acknowledge_events demo_bug.c" &&
		is "$(sarif '.results[0].codeFlows[0].threadFlows[0].locations[2].stack.frames |
			map(.location.logicalLocations[0].fullyQualifiedName) | join(" ")')" \
			"acknowledge_events heartbeat_timer timers_fire main"
}
# below the current directory, or absolute if the compiler got an absolute path
sources_are_found() {
	local file
	build -g "$root/tests/apps/demo_bug.c" && record ./app &&
		report sarif; keep_sarif || return
	file=$(sarif '.results[0].locations[0].physicalLocation.artifactLocation.uri')
	is "$file" "file://$root/tests/apps/demo_bug.c" || return
	mkdir -p "src dir" && cp "$root/tests/apps/demo_bug.c" "src dir/" &&
		build -g "$PWD/src dir/demo_bug.c" && record ./app &&
		report sarif; keep_sarif || return
	is "$(sarif '.results[0].locations[0].physicalLocation.artifactLocation |
		.uri + " " + .uriBaseId')" "src%20dir/demo_bug.c SRCROOT" &&
		is "$(sarif .originalUriBaseIds.SRCROOT.uri)" "file://$PWD/"
}
# The caller of main() is in libc, and files of libc are not looked up: it may be any.
main_is_the_end_of_a_stack() {
	record "$apps/life_001" bad && "$VERBATIM" check "$t" >as_it_was
	"$VERBATIM" unpack -o other.db "$t" && sqlite3 other.db "UPDATE module
		SET path = '/nowhere/libc.so.6' WHERE path LIKE '%/libc.so.6'" || return
	"$VERBATIM" check other.db >other
	says "main+0x.* (life_001.c:" other && is "stacks" \
		"$(tail -n +2 other)" "$(tail -n +2 as_it_was)"
}
without_lines_there_are_modules() {
	build -s "$root/tests/apps/demo_bug.c" && record ./app &&
		report sarif; keep_sarif || return
	is "$(sarif '.results[0].locations[0].physicalLocation |
		"\(.artifactLocation.uri) \(.region) \(.address.relativeAddress > 0)"')" \
		"app null true"
}
fingerprint() { report sarif; sarif '.results[].partialFingerprints["verbatim/v1"]' | sort -u; }
fingerprints_last() {
	local first second
	cp "$root/tests/apps/demo_bug.c" app.c
	build -g app.c && record ./app && first=$(fingerprint) &&
		[ ${#first} = 16 ] || { echo "first: $first"; return 1; }
	# other lines, addresses, times
	{ echo "/* more */"; echo; echo "int more[4096] = { 1 };"; cat app.c; } >more.c
	mv more.c app.c
	build -g app.c && record ./app && second=$(fingerprint) &&
		is "$second" "$first" || return
	# another function uses it
	sed -i 's/heartbeat_timer/another_timer/g' app.c
	build -g app.c && record ./app && second=$(fingerprint) &&
		[ "$second" != "$first" ] || { echo "the same of another place"; return 1; }
}
places_have_fingerprints_of_their_own() {
	record "$apps/model_run" 1 60
	local places=$(fingerprint | wc -l) findings=$(sarif '.results | length')
	[ $places -gt 3 ] && [ $places -lt $findings ] ||
		{ echo "$places places of $findings findings"; return 1; }
}
facts_are_results() {
	record "$apps/first_error" bad; report sarif; report junit
	keep_sarif && valid_junit && is $status 1 &&
		is "$(sarif '.results[] | select(.ruleId == "error-completion") | .level + " " +
			(.message.text | sub(":.*"; "")) + " " +
			.locations[0].physicalLocation.artifactLocation.uri')" \
			"error IBV_WC_REM_ACCESS_ERR tests/apps/first_error.c" &&
		is "$(junit '//testcase[@name="error-completion"]/failure/@message')" \
			"queue pairs in error: 1" || return
	report sarif --mute error-completion; report junit --mute error-completion
	keep_sarif && valid_junit &&
		is "$(sarif '[.results[] | select(.ruleId == "error-completion")] | length')" 0 &&
		is "$(sarif '.invocations[0].ruleConfigurationOverrides[].descriptor.id')" \
			error-completion &&
		is "$(junit '//testcase[@name="error-completion"]/skipped/@message')" muted
}
muted_rules_are_reported() {
	record "$apps/life_001" bad; report sarif --mute LIFE-001; report junit --mute LIFE-001
	keep_sarif && valid_junit &&
		is "$(sarif '[.results[] | select(.ruleId == "LIFE-001")] | length')" 0 &&
		is "$(sarif '.invocations[0] | "\(.exitCode) " +
			"\(.ruleConfigurationOverrides[].descriptor.id)"')" "0 LIFE-001" &&
		is "$(junit '//skipped[1]/@message')" muted
}
unchecked_rules_are_reported() {
	"$VERBATIM" record -q --filter plane=control -o "$t" -- "$apps/life_001" good 2>/dev/null
	report sarif; report junit
	keep_sarif && valid_junit &&
		[ "$(sarif '[.invocations[0].toolExecutionNotifications[] |
			select(.associatedRule.id == "LIFE-001" and .level == "note" and
				(.message.text | test("--filter")))] | length')" -ge 1 ] &&
		[ "$(junit 'count(//system-out[contains(., "checked in part")])')" -ge 1 ]
}
names_of_others_do_no_harm() {
	local name=$'a"<&b>\x01\xff.db'
	record "$apps/life_001" bad; mv "$t" "$name"
	t=$name report sarif; keep_sarif && t=$name report junit; valid_junit
}
every_name_is_text() { # of C++, in a directory with a name of unusual bytes
	local dir=$'\xc3\xbc \xff%41' found
	mkdir -p "$dir" && cat >"$dir/app.cc" <<-'END' || return
		#include <infiniband/verbs.h>
		namespace rdma { template <class T> struct owner {
			T *of;
			int drop() { return ibv_dealloc_pd(of); }
		}; }
		int main()
		{
			ibv_context *context = ibv_open_device(*ibv_get_device_list(0));
			rdma::owner<ibv_pd> owner = { ibv_alloc_pd(context) };
			return owner.drop() + !owner.drop();
		}
	END
	g++ -O0 -g "$dir/app.cc" -o app -libverbs || return
	record ./app; report sarif
	keep_sarif || return
	found='rdma::owner<ibv_pd>::drop'
	is "$(sarif '.results[] | select(.ruleId == "LIFE-002") |
			.locations[0].logicalLocations[0].fullyQualifiedName')" "$found" &&
		is "$(sarif '.results[] | select(.ruleId == "LIFE-002") |
			.locations[0].physicalLocation.artifactLocation.uri')" \
			"%C3%BC%20%FF%2541/app.cc"
}
many_results_are_valid() {
	record "$apps/model_run" 1 $(share 60 600); report sarif
	[ "$(sarif '.results | length')" -ge $(share 100 1000) ] ||
		{ sarif '.results | length'; return 1; }
	keep_sarif
}
nothing_found_is_valid() {
	rm -f "$t"; record true; report sarif; keep_sarif &&
		is "$(sarif '.results | length')" 0 || return
	record "$apps/life_001" good; report sarif; keep_sarif &&
		is "$(sarif '.results | length')" 0
}
# invalid SARIF must be reported
change_sarif() { # CHANGE...
	local change n=0
	record "$apps/life_001" bad; report sarif
	for change; do
		n=$((n + 1))
		jq "$change" sarif >changed.$n || return
	done
	"$root/tests/e2e/lib/sarif.py" changed.* >told
	is status $? 1
}
the_check_of_sarif_sees() { # a change, its number
	grep -q "^changed\.$2: ." told || { echo "it is taken"; return 1; }
}

for app in life_001 life_002 life_003 life_004 fork_003 compl_003 demo_bug first_error; do
	try_in_turn both_have_what_json_has_of $app
done
for each in each_level_is_that_of_the_severity steps_have_places sources_are_found \
	    main_is_the_end_of_a_stack without_lines_there_are_modules fingerprints_last \
	    places_have_fingerprints_of_their_own facts_are_results muted_rules_are_reported \
	    unchecked_rules_are_reported names_of_others_do_no_harm every_name_is_text \
	    many_results_are_valid nothing_found_is_valid; do
	try $each
done
try "the reports are valid SARIF" are_valid_sarif
changes=('del(.version)' 'del(.runs[0].tool.driver.name)' '.runs[0].results[0].level="fatal"'
	'.runs[0].results[0].ruleIndex+=1' '.runs[0].results[0].ruleIndex=1000'
	'.runs[0].results[0].color="red"' 'del(.runs[0].results[0].message)'
	'del(.runs[0].originalUriBaseIds)'
	'.runs[0].tool.driver.rules[1]=.runs[0].tool.driver.rules[0]'
	'.runs[0].results[0].codeFlows[0].threadFlows[0].locations=[]'
	'.runs[0].results[0].codeFlows[0].threadFlows[0].locations|=reverse'
	'(.. | .region? | objects | .startLine)=0' '(.. | .uri? | strings)|=(. + " x")')
try "invalid SARIF is told" change_sarif "${changes[@]}"
for i in "${!changes[@]}"; do
	try the_check_of_sarif_sees "${changes[$i]}" $((i + 1))
done
