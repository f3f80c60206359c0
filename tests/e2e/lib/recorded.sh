# Sourced by lists of clients: run the whole list once more, in one recording.
#
#	recorded_again LIST TRUE-FINDING...
#
# runs `bash LIST recorded`, where each process inherits the recorder and the software device; its
# results count like those of any other mode. Then the trace must be complete, and each finding
# ("RULE verb program") must match one that is known to be true; each hazard one of those that are
# judged in the table beside this file.
: "${VERBATIM:=$PWD/${BUILD:-build}/verbatim}"

recorded_sql() { "$VERBATIM" sql "$recorded_tmp/t.db" "$1"; }

recorded_is() { [ "$2" = "$3" ] || { echo "$1: ${2:0:600} instead of $3"; return 1; }; }

# Empty polls of a thread with more than 64 CQs are only counted, and libraries call a provider's
# own functions to find its devices. Killed programs have requests that were never polled; all
# completions of the others have a request.
recorded_whole() {
	recorded_is lost "$(recorded_sql 'select coalesce(sum(events), 0) from loss')" 0 &&
		recorded_is "not seen" \
			"$(recorded_sql "select group_concat(what) from coverage
				where what not in ('polls', 'direct')")" "" &&
		recorded_is "completions without their request" \
			"$(recorded_sql "select count(*) from wc join process p on p.id = wc.process
				where wr_n is null and p.ending = 'exit'")" 0 &&
		recorded_is "requests completed twice" \
			"$(recorded_sql 'select count(*) from (select 1 from wc
				group by wr_thread, wr_n, wr_i having count(*) > 1)')" 0
}

# RULE verb program, once each; performance and information are not mistakes
recorded_found() { # severities
	join <(jq -r --arg of "$1" '.findings[] | select(.severity | inside($of)) |
		"\(.process) \(.rule) \(.where)"' "$recorded_tmp/found" |
		sed 's/():.*//; s/()$//' | sort) \
		<(recorded_sql 'select id, cmdline from process' |
		sed 's/|\([^ ]*\).*/ \1/; s, .*/, ,' | sort) | cut -d' ' -f2- | sort -u
}

recorded_findings() {
	"$VERBATIM" check --format json "$recorded_tmp/t.db" >"$recorded_tmp/found" \
		2>"$recorded_tmp/notes"
	# some clients are killed, or refused
	[ $? -le 1 ] || { echo "check failed: $(cat "$recorded_tmp/notes")"; return 1; }
	recorded_is "findings that are not known to be true" \
		"$(recorded_found "error warning" | grep -vxE "$(printf '%s\n' "$@")")" "" ||
		{ jq -c '.findings[] | [.rule, .event, .message]' "$recorded_tmp/found"; false; }
}

# Those of a list, as patterns; some depend on the time, and are not always found.
judged_hazards() { # list
	awk -F ' [|] ' -v list="$1" '$1 == list { print $2 }' tests/e2e/lib/hazards
}

recorded_hazards() {
	recorded_is "hazards that are not judged" "$(recorded_found hazard |
		grep -vxE "$(judged_hazards "$recorded_list"; echo none)")" "" ||
		{ jq -c '.findings[] | select(.severity == "hazard") |
			[.rule, .event, .message]' "$recorded_tmp/found"; false; }
}

recorded_again() { # list, true findings...
	local list=$1 out name
	shift
	name=$(basename "$list" .sh)
	recorded_list=$name
	recorded_tmp=$(mktemp -d) || return
	mkdir "$recorded_tmp/sessions"
	VERBATIM_SESSIONS=$recorded_tmp/sessions "$VERBATIM" record -q --device soft -o \
		"$recorded_tmp/t.db" -- bash "$list" recorded
	for each in recorded_whole recorded_findings recorded_hazards; do
		if out=$($each "$@" 2>&1); then echo "ok $name ${each/_/: }"
		else echo "not ok $name ${each/_/: }: ${out//$'\n'/; }"; fi
	done
	rm -rf "$recorded_tmp"
}
