# A trace that is truncated, or lacks events, gives fewer findings and never wrong ones: programs
# are tried with the one and the other in turn. CUTS_EACH=20 cuts each recording that often, SEED=N
# at other places; LONG=1 does both to each, twice.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
count=${CUTS_EACH:-$(share 1 2)}
seed=${SEED:-1}
guest=$libs/libverbatim.so:$libs/libverbatim-soft.so

checked() { # directory with a recording
	"$VERBATIM" collect -q -o t.db "$1" 2>err && { "$VERBATIM" check --format json t.db >t.json
		[ $? -le 1 ]; } 2>>err || { echo "failed: $(cat err)"; return 1; }
}

# The mistakes and their objects, and the facts that make the exit status 1; with "lost", without
# objects whose creation is missing and errors that are now the first.
told() { # output of check, end|lost
	jq -r --arg how "$2" '(.findings[] |
			select(.severity == "error" or .severity == "warning") |
			"\(.rule) \(.process) \(.object)"),
		(.failed_verbs[], .fatal_events[] | "\(.verb) \(.process) \(.type) \(.errno)"),
		if $how == "end" then
			.first_errors[] | "error \(.process) \(.qp_num) \(.status)"
		else empty end' "$1" | sort -u
}

says_what_is_known() { rm -rf cut && cp -r whole cut && checked cut && mv t.json whole.json; }

# A truncated process may have been in a call, and counts as killed.
says_nothing_new() { # end|lost
	local i new
	told whole.json "$1" >known || return
	for ((i = seed; i < seed + count; i++)); do
		rm -rf cut && cp -r whole cut && "$root/tests/e2e/lib/cut.py" cut "$1" $i || return
		checked cut && told t.json "$1" >said || { echo "seed $i"; return 1; }
		new=$(comm -23 said known)
		[ -z "$new" ] || { echo "seed $i: $new"; return 1; }
	done
}

record() { rm -rf whole; VERBATIM_DIR=$tmp/whole LD_PRELOAD=$guest "$@" >out 2>&1; }

programs=$("$VERBATIM" explain | awk '$1 ~ /^[A-Z]+-[0-9]+$/ { print $1 }' | tr A-Z- a-z_)
needs $(printf "$apps/%s\n" $programs)
how=lost
for program in $programs $(cd "$apps" && echo incident_[0-9][0-9]); do
	in_turn || continue
	record "$apps/$program" bad
	rm -f whole.json
	says_what_is_known >why || { not_ok "$program" "$(cat why)"; continue; }
	[ $how = end ] && how=lost || how=end
	for each in $(share $how "end lost"); do
		case $each in
		end) try "$program cut short" says_nothing_new end ;;
		lost) try "$program with gaps" says_nothing_new lost ;;
		esac
	done
done
