# Output on a terminal: colours, a pager; and what all commands have in common.
. tests/e2e/lib/try.sh
needs "$VERBATIM" "$apps/demo_bug"
cd "$tmp" || exit 1
"$VERBATIM" record -q -o t.db "$apps/demo_bug" >/dev/null 2>&1
"$VERBATIM" record -q -o u.db "$apps/marks" >/dev/null 2>&1
[ -s t.db ] && [ -s u.db ] || { echo "not ok terminal: no traces"; exit 1; }

plain() { sed 's/\x1b\[[0-9]*m//g'; }
on_terminal() { # columns, program...
	env -u NO_COLOR TERM=xterm python3 "$root/tests/e2e/lib/on_terminal.py" "$@"
}
# Each command that prints a trace, and what it prints.
printing() {
	cat <<-'LINES'
		check t.db
		info t.db
		stat t.db
		dump t.db
		query t.db state of qp1
		diff t.db u.db
		replay u.db
		sql --tables t.db
		sql t.db SELECT name FROM qps
		merge -o both.db t.db u.db
		doctor
		explain LIFE-001
	LINES
}
# each FUNCTION: with each of these commands
each() {
	local line words
	while read -r line; do
		read -ra words <<<"$line"
		case $line in
		query*) words=(query t.db "${line#query t.db }") ;;
		sql\ t.db*) words=(sql t.db "${line#sql t.db }") ;;
		esac
		"$1" "${words[@]}" </dev/null || { echo "$line"; return 1; }
	done < <(printing)
}

has_colours() { # command...
	local said
	rm -f both.db
	on_terminal 80 "$VERBATIM" "$1" --color always --no-pager "${@:2}" >said 2>&1
	[ "$1" = explain ] && return
	grep -q $'\e\\[[0-9]*m' said || { cat said; return 1; }
	plain <said | grep -q $'\e' && { echo "other sequences"; return 1; }
	return 0
}
all_have_colours_on_a_terminal() { each has_colours; }

# the words are the same with colours
is_otherwise_the_same() {
	[ "$1" != doctor ] && [ "$1" != replay ] || return 0 # they print times and free memory
	rm -f both.db
	"$VERBATIM" "$1" --color always "${@:2}" >coloured 2>/dev/null
	rm -f both.db
	"$VERBATIM" "$@" >bare 2>/dev/null
	! grep -q $'\e' bare && is "$(plain <coloured)" "$(cat bare)"
}
colours_change_no_word() { each is_otherwise_the_same; }

formats_for_programs_have_no_colours() {
	local each
	for each in "check --format json" "check --format sarif" "check --format junit" \
		"info --format json" "stat --format json" "stat --format openmetrics" \
		"dump --format json"; do
		"$VERBATIM" $each --color always t.db 2>/dev/null >out
		! grep -q $'\e' out || { echo "$each"; return 1; }
	done
	! "$VERBATIM" sql --csv --header --color always t.db 'SELECT * FROM qps' | grep -q $'\e'
}

coloured() { grep -c $'\e\\[[0-9]*m' | sed 's/[1-9][0-9]*/yes/;s/^0$/no/'; }
environment_decides_where_no_option_does() {
	local check="$VERBATIM check --no-pager t.db"
	is pipe "$($check | coloured)" no &&
		is terminal "$(on_terminal 80 $check | coloured)" yes &&
		is dumb "$(on_terminal 80 env TERM=dumb $check | coloured)" no &&
		is forced "$(CLICOLOR_FORCE=1 $check | coloured)" yes &&
		is "forced to 0" "$(CLICOLOR_FORCE=0 $check | coloured)" no &&
		is "NO_COLOR wins" "$(NO_COLOR=1 CLICOLOR_FORCE=1 $check | coloured)" no &&
		is "an option wins" "$(NO_COLOR=1 $check --color always | coloured)" yes &&
		is never "$(CLICOLOR_FORCE=1 $check --color never | coloured)" no &&
		is variable "$(VERBATIM_COLOR=always $check | coloured)" yes
}

roles_have_their_colours() {
	"$VERBATIM" check --color always t.db >out
	says $'\e\\[31mBAD: 1' out &&
		says $'\e\\[31mE LIFE-001 use-after-destroy\e\\[0m' out &&
		says $'^        \e\\[2m.*(demo_bug.c:[0-9]*)\e\\[0m$' out &&
		says $'\e\\[36m[0-9]*:[0-9]*\e\\[0m' out &&
		says $'^\e\\[1mfindings (.*)\e\\[0m$' out || return
	"$VERBATIM" check --color always u.db >out
	says $'\e\\[32mnothing failed' out && "$VERBATIM" info --color always t.db >out &&
		says $'^\e\\[1mprocesses\e\\[0m$' out &&
		"$VERBATIM" doctor --color always >out
	says $'^\e\\[32mok' out && "$VERBATIM" replay --color always u.db >out 2>&1 &&
		says $'^\e\\[32mno divergence\e\\[0m$' out
}

# a pager ends each line's colour with the line
no_colour_goes_past_its_line() {
	local command open
	for command in check info stat dump; do
		"$VERBATIM" $command --color always t.db 2>/dev/null >out
		open=$(awk '{
			n = split($0, part, "\033\\[")
			on = 0
			for (i = 2; i <= n; i++) on = part[i] !~ /^0m/
			if (on) print
		}' out)
		[ -z "$open" ] || { echo "$command: $open"; return 1; }
	done
}

lines_fit_with_colours() {
	local columns
	for columns in 80 120; do
		on_terminal $columns "$VERBATIM" check --no-pager t.db 2>/dev/null | plain |
			sed /^$/q | awk -v most=$columns 'length > most' >long
		[ ! -s long ] || { echo "$columns:"; cat long; return 1; }
	done
}

paged_on_terminal() { # variables... -- command...: on a terminal of 24 rows, without notes
	local variables=()
	while [ "$1" != -- ]; do variables+=("$1"); shift; done
	on_terminal 100 env "${variables[@]}" bash -c 'exec "$0" "$@" 2>/dev/null' \
		"$VERBATIM" "${@:2}"
}
# a line more is for the prompt of the shell
is_paged_if_long() { # command...
	local long paged
	rm -f both.db
	paged_on_terminal VERBATIM_PAGER='sed s/^/P/' -- "$1" --color never "${@:2}" >said
	long=$(awk 'END { print (NR >= 24) ? "yes" : "no" }' said)
	paged=$(grep -c ^P said)
	[ "$long" = no ] || echo "$1" >>long
	[ "$long" = no ] || long=$(wc -l <said)
	is "paged" "$paged" "${long/no/0}"
}
long_output_has_a_pager_in_every_command() {
	rm -f long
	each is_paged_if_long &&
		is "long" "$(grep -c '^check$\|^dump$\|^info$\|^sql$' long)" 4
}

first_pager_that_is_set_is_used() {
	local mark='sed s/^/V/' other='sed s/^/P/'
	is VERBATIM_PAGER "$(paged_on_terminal VERBATIM_PAGER="$mark" PAGER="$other" -- dump t.db |
		cut -c1 | uniq)" V &&
		is PAGER "$(paged_on_terminal PAGER="$other" -- dump t.db | cut -c1 | uniq)" P &&
		is empty "$(paged_on_terminal VERBATIM_PAGER= PAGER="$other" -- dump t.db |
			grep -c ^P)" 0 &&
		is option "$(paged_on_terminal PAGER="$other" -- dump --no-pager t.db |
			grep -c ^P)" 0 &&
		is variable "$(paged_on_terminal PAGER="$other" VERBATIM_NO_PAGER=1 -- dump t.db |
			grep -c ^P)" 0 &&
		is pipe "$(PAGER="$other" "$VERBATIM" dump t.db | grep -c ^P)" 0
}
status_is_that_without_a_pager() {
	paged_on_terminal PAGER='sed s/^/P/' -- check t.db >said
	is "status" $? 1 && says ^P said
}
less_begins_with_the_first_screen() {
	LESS= on_terminal 100 --keys q env -u LESS "$VERBATIM" dump --color never t.db >said
	head -1 said | grep -q '  1:1  ' && [ "$(wc -l <said)" -lt 40 ] || { cat said; return 1; }
}

# an option that a command has, by help --table: "command option"
options() {
	"$VERBATIM" help --table | awk '$1 == "command" { c = $2 } $1 == "common" { exit }
		$1 == "option" { print c, $2 }'
}
json_is_a_short_form_wherever_json_is() {
	local having
	having=$("$VERBATIM" help --table | awk '$1 == "command" { c = $2 }
		$1 == "arg" && $2 ~ /(^|[|])json([|]|$)/ { print c }' | sort)
	# those that write a file print a line of it
	having=$(printf '%s\n' $having bundle emit export merge reduce report trim unbundle unpack |
		sort -u)
	is "having it" "$(options | awk '$2 == "json" { print $1 }' | sort)" "$having" || return
	for each in check info stat dump "diff u.db"; do
		is "$each" "$("$VERBATIM" $each --json t.db 2>&1)" \
			"$("$VERBATIM" $each --format json t.db 2>&1)" || return
	done
	"$VERBATIM" query --json t.db state of qp1 | jq -e .answers >/dev/null &&
		"$VERBATIM" doctor --json | jq -e .findings >/dev/null &&
		"$VERBATIM" sql --json t.db 'SELECT 1' | jq -e '.[0]' >/dev/null
}

quiet_leaves_out_notes_and_changes_no_result() {
	echo 'LIFE-009 no_such_function' >suppressed
	"$VERBATIM" check --suppress suppressed t.db >out 2>notes
	is "status" $? 1 && says 'matched nothing' notes || return
	"$VERBATIM" check -q --suppress suppressed t.db >quiet 2>notes
	is "status" $? 1 && is "notes" "$(cat notes)" "" &&
		is "result" "$(cat quiet)" "$(cat out)" || return
	"$VERBATIM" check -q no-such.db 2>notes
	is "status" $? 4 && says 'no-such.db' notes && "$VERBATIM" record -o v.db "$apps/marks" \
		>out 2>notes && says ' 1 process, ' notes &&
		"$VERBATIM" record --quiet -o v.db "$apps/marks" >out 2>notes &&
		! says . notes >said
}
verbose_notes_what_is_done() {
	VERBATIM_FAIL_ON=hazard VERBATIM_COLOR=never "$VERBATIM" check -v t.db >out 2>notes
	says 'default of --fail-on: hazard (VERBATIM_FAIL_ON)' notes &&
		says 'default of --color: never (VERBATIM_COLOR)' notes &&
		says 't.db: [0-9,]* events, recorded by verbatim' notes &&
		says 'check: status 1 after .*, CPU time .*, peak memory .*' \
			notes || return
	"$VERBATIM" check t.db 2>notes >normal
	is "result" "$(cat out)" "$(cat normal)" && ! says . notes >said || return
	"$VERBATIM" check -v -q t.db 2>notes
	is "status" $? 2 && says 'quiet or --verbose, not both' notes
}

configured() { # lines, command...
	printf "$1" >config
	VERBATIM_CONFIG=config "$VERBATIM" "${@:2}"
}
configuration_has_defaults() {
	local all='color = always\n' check='[check]\nformat = json\n[info]\nformat = text\n'
	is "json" "$(configured "$all$check" check t.db)" "$("$VERBATIM" check --json t.db)" &&
		is "colour" "$(configured "$all$check" info t.db | coloured)" yes &&
		is "option" "$(configured "$all$check" info --color never t.db | coloured)" no &&
		is "variable" "$(VERBATIM_COLOR=never configured "$all" info t.db | coloured)" no &&
		is "option" "$(configured "$check" check --format text t.db)" \
			"$("$VERBATIM" check t.db)" &&
		is "flag" "$(configured '[dump]\nstacks = yes\n' dump t.db)" \
			"$("$VERBATIM" dump --stacks t.db)" &&
		is "flag, off" "$(configured '[dump]\nstacks = yes\n' dump --stacks=no t.db)" \
			"$("$VERBATIM" dump t.db)" &&
		is "verbosity" "$(configured 'verbose = yes\n' info -q t.db 2>&1 >out)" ""
}
configuration_is_where_xdg_says() {
	mkdir -p home/.config/verbatim && echo 'color = always' >home/.config/verbatim/config
	is HOME "$(env -u VERBATIM_CONFIG -u XDG_CONFIG_HOME HOME="$PWD/home" "$VERBATIM" \
		info t.db | coloured)" yes &&
		is XDG "$(env -u VERBATIM_CONFIG XDG_CONFIG_HOME="$PWD/home/.config" HOME=/ \
			"$VERBATIM" info t.db | coloured)" yes &&
		is none "$(HOME="$PWD/home" VERBATIM_CONFIG= "$VERBATIM" info t.db | coloured)" no
}
wrong_configuration_names_its_line() {
	configured '\n[check]\nfail-no = error\n' info t.db 2>notes
	is "name" $? 2 && says "config:3: check has no option 'fail-no' (did you mean" notes &&
		is "lines" "$(wc -l <notes)" 1 || return
	configured '[check]\nfail-on = never\n' check t.db 2>notes
	is "value" $? 2 &&
		says "fail-on is error, warning or hazard, not 'never' (config:2)" notes &&
		is "of another command" "$(configured '[check]\nfail-on = never\n' info t.db |
			head -1)" "$("$VERBATIM" info t.db | head -1)" || return
	VERBATIM_CONFIG=no-such "$VERBATIM" info t.db 2>notes
	is "missing" $? 4 && says 'no-such: No such file' notes
}
# the program and the library in it see nothing of it
recorded_program_reads_no_configuration() {
	printf 'color = always\n[record]\nfilter = plane=control\n' >config
	VERBATIM_CONFIG=$PWD/config "$VERBATIM" record -q -o v.db -- strace -f -qq -e openat -o \
		opened "$apps/marks" >out 2>&1 && [ -s opened ] && ! grep -q '/config"' opened &&
		is "filter" "$("$VERBATIM" sql v.db "SELECT value FROM meta
			WHERE key = 'filter'")" plane=control
}

# the script still runs, and the pictures in docs are small
pictures_of_terminals_can_be_made() {
	mkdir -p copy/tests/e2e/lib copy/scripts copy/docs &&
		cp "$root/tests/e2e/lib/on_terminal.py" copy/tests/e2e/lib/ &&
		cp "$root/scripts/screens" copy/scripts/ && copy/scripts/screens "$libs" || return
	is "pictures" "$(ls copy/docs)" "$(cd "$root/docs" && ls terminal-*.svg)" &&
		xmllint --noout copy/docs/*.svg &&
		says 'LIFE-001' copy/docs/terminal-check-80-light.svg &&
		is "large" "$(find "$root/docs" -name '*.svg' -size +60k)" ""
}

try all_have_colours_on_a_terminal
try colours_change_no_word
try formats_for_programs_have_no_colours
try environment_decides_where_no_option_does
try roles_have_their_colours
try no_colour_goes_past_its_line
try lines_fit_with_colours
try long_output_has_a_pager_in_every_command
try first_pager_that_is_set_is_used
try status_is_that_without_a_pager
try less_begins_with_the_first_screen
try json_is_a_short_form_wherever_json_is
try quiet_leaves_out_notes_and_changes_no_result
try verbose_notes_what_is_done
try configuration_has_defaults
try configuration_is_where_xdg_says
try wrong_configuration_names_its_line
try recorded_program_reads_no_configuration
try pictures_of_terminals_can_be_made
