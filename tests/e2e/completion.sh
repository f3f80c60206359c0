# Files generated from the rows of the options: completion for bash, zsh and fish, lists in the
# manual pages; and the files that `make install` installs.
. tests/e2e/lib/try.sh
needs "$VERBATIM"
repository=$PWD
mkdir "$tmp/here" && cd "$tmp/here" || exit 1
touch one.db two.db notes.txt 'with space.db'
mkdir traces
. "$libs/completion/verbatim"

# completes WORDS... : the completions of the last word, in one line, sorted
completes() {
	COMP_WORDS=(verbatim "$@") COMP_CWORD=$# COMPREPLY=()
	_verbatim
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

commands() { "$VERBATIM" --help | awk '/^  [a-z]/ { print $1 }'; }
options_of() { "$VERBATIM" help "$1" | grep -o '^  [^[]*--[a-z-]*' | grep -o -- '--[a-z-]*'; }
whole_word() { tr ' ' '\n' | grep -x "$1" | sort -u; }

completion_is_registered() { is "$(complete -p verbatim)" "complete -F _verbatim verbatim"; }
commands_are_completed() {
	is "$(completes re)" 'record reduce replay report' && is "$(completes help do)" doctor &&
		is "$(completes no-such '')" '' &&
		is "$(completes '' | tr ' ' '\n' | grep -v '^-\|^help$')" "$(commands | sort)"
}
options_are_completed() {
	is "$(completes record --r)" \
		"--redact --ring-budget --ring-size --rotate-size --rotate-time" &&
		is "$(completes record -o t.db --sto)" --stop-on &&
		is "$(completes info --)" '--color --deadline --format --help --json --no-pager'\
' --quiet --verbose'
}
every_option_is_completed() {
	local c
	for c in $(commands); do
		is "$c" "$(completes "$c" --)" "$(options_of "$c" | sort -u | paste -sd' ')" ||
			return
	done
}
choices_are_completed() {
	is "$(completes info --format '')" 'json text' && is "$(completes info -f j)" json &&
		is "$(completes info --format = j)" json &&
		is "$(completes record --on-full d)" drop &&
		is "$(completes dump --payload '')" 'full hash none' &&
		is "$(completes record --stop-on '')" 'error finding'
}
verbs_are_completed_in_a_list() {
	is "$(completes dump --verb post_srq)" 'post_srq_ops post_srq_recv' &&
		is "$(completes dump --verb ibv_reg_mr,ibv_dealloc_p)" ibv_reg_mr,ibv_dealloc_pd
}
rules_are_completed() {
	is "$(completes check --mute LIFE-001,LIFE-002)" LIFE-001,LIFE-002 &&
		is "$(completes explain LIFE-00 | wc -w)" \
			"$("$VERBATIM" explain | grep -c '^ *LIFE-00')"
}
traces_are_completed() {
	is "$(completes info '')" 'one.db traces two.db with space.db' &&
		is "$(completes dump --failed t)" 'traces two.db' &&
		is "$(completes sql one.db '')" '' && is "$(completes unpack -o n)" notes.txt &&
		is "$(completes collect t)" traces
}
programs_are_completed() {
	is "$(completes record -- ba | whole_word bash)" bash &&
		is "$(completes run -d soft bas | whole_word bash)" bash &&
		is "$(completes record -- cat no)" notes.txt &&
		is "$(completes record cat --out)" ''
}

# the completions of the last word by fish, in one line, sorted
fish_completes() {
	HOME=$PWD fish --no-config -c "source '$libs/completion/verbatim.fish'
		complete -C 'verbatim $*'" | cut -f1 | sort | paste -sd' '
}
fish_completes_as_bash_does() {
	local c
	is "$(fish_completes re)" "$(completes re)" && is "$(fish_completes help do)" doctor &&
		is "$(fish_completes no-such --)" '' &&
		is "$(fish_completes info --format '')" 'json text' &&
		is "$(fish_completes check --mute LIFE-001,LIFE-002)" LIFE-001,LIFE-002 &&
		is "$(fish_completes dump --verb post_srq)" 'post_srq_ops post_srq_recv' &&
		is "$(fish_completes record -- cat no)" notes.txt &&
		is "$(fish_completes record --device so)" soft &&
		is "$(fish_completes collect tr)" traces/ || return
	for each in one two; do
		[[ " $(fish_completes info '') " = *" $each.db "* ]] || return
	done
	for c in $(commands); do
		is "$c" "$(fish_completes "$c" --)" "$(completes "$c" --)" || return
	done
}

# The words that zsh makes of each argument, words with a tab after each that it is to complete; in
# one shell, since its start takes longer than all of them. On a terminal that is wide enough for
# one line.
zsh_completes() {
	mkdir -p zsh && cat >zsh/.zshrc <<-RC
		fpath=('$libs/completion' \$fpath)
		autoload -Uz compinit && compinit -u -D
		verbatim() { print -r -- "\$*" >>$PWD/completed }
		PROMPT='> '
	RC
	: >completed
	ZDOTDIR=$PWD/zsh TERM=dumb python3 "$root/tests/e2e/lib/on_terminal.py" 500 \
		--keys "$(printf 'verbatim %s\n' "$@")"$'\nexit\n' zsh -i >screen 2>&1
	cat completed
}
zsh_completes_words() {
	local typed=() wanted=() words result
	while IFS='|' read -r words result; do
		typed+=("${words//@/$'\t'}") wanted+=("$result")
	done <<-'END'
		chec@|check
		help docto@|help doctor
		check --fail-o@|check --fail-on
		info --format js@|info --format json
		info --format=te@|info --format=text
		info -f js@|info -f json
		info on@|info one.db
		dump --fail@on@|dump --failed one.db
		check --mute LIFE-001,LIFE-002@|check --mute LIFE-001,LIFE-002
		record cat note@|record cat notes.txt
		record -o t.db --stop-o@fin@|record -o t.db --stop-on=finding
		collect tr@|collect traces
	END
	is "$(zsh_completes "${typed[@]}")" "$(printf '%s\n' "${wanted[@]}")"
}
# of each command: zsh complains of a wrong specification
zsh_knows_every_option() {
	local c o typed=() wanted=()
	for c in $(commands); do
		for o in $(options_of "$c"); do
			sed -n "/^\t$c)\$/,/;;/p" "$libs/completion/_verbatim" |
				grep -qF -e "$o[" -e "$o=[" || { echo "$c $o"; return 1; }
		done
		o=$(options_of "$c" | grep -v -- --help | awk 'NR == 1')
		typed+=("$c $o"$'\t') wanted+=("$c $o")
	done
	zsh_completes "${typed[@]}" | sed 's/=$//' >lines
	is "$(cat lines)" "$(printf '%s\n' "${wanted[@]}")" &&
		! grep -i '_arguments\|error\|not found\|invalid' screen
}

lists_of_the_pages_are_those_of_the_rows() {
	"$repository/scripts/man-options" --check "$VERBATIM"
}

mistyped_word_is_answered_with_the_nearest() {
	"$VERBATIM" recrod true 2>err; is $? 2 && says "did you mean 'record'" err || return
	"$VERBATIM" dump --verbb x one.db 2>err; is $? 2 && says "did you mean '--verb'" err ||
		return
	"$VERBATIM" dump --verb post_sned one.db 2>err
	is $? 2 && says "did you mean 'post_send'" err
}
help_says_limits_and_default() {
	"$VERBATIM" record --help | tr -s ' \n' ' ' >out
	says '--ring-size SIZE maximum .* (256k to 1G; default: 4M) \[VERBATIM_RING_SIZE\]' out
}

installed_files_are_where_the_pages_say() {
	local file share=root/usr/share
	make -s -C "$repository" install DESTDIR="$tmp/here/root" PREFIX=/usr >out 2>&1 ||
		{ tail -3 out; return 1; }
	for file in root/usr/bin/verbatim root/usr/lib/verbatim/libverbatim.so \
		$share/man/man1/verbatim-dump.1 $share/bash-completion/completions/verbatim \
		$share/zsh/vendor-completions/_verbatim \
		$share/fish/vendor_completions.d/verbatim.fish \
		$(sed -n "s,^\.Pa \([A-Z-]*\.md\).*,$share/doc/verbatim/\1,p" \
			"$repository"/docs/man/*.1); do
		[ -s "$file" ] || { echo "no $file"; return 1; }
	done
	! grep -n 'docs/' "$repository"/docs/man/*.1
}

try completion_is_registered
try commands_are_completed
try options_are_completed
try every_option_is_completed
try choices_are_completed
try verbs_are_completed_in_a_list
try rules_are_completed
try traces_are_completed
try programs_are_completed
for each in fish zsh; do
	command -v $each >/dev/null || skip "completion for $each" "it is not installed"
done
! command -v fish >/dev/null || try_in_turn fish_completes_as_bash_does
! command -v zsh >/dev/null || try zsh_completes_words
! command -v zsh >/dev/null || try_in_turn zsh_knows_every_option
try lists_of_the_pages_are_those_of_the_rows
try mistyped_word_is_answered_with_the_nearest
try help_says_limits_and_default
if [ -z "${SAN:-}" ]; then
	try installed_files_are_where_the_pages_say
else
	echo "skip completion: installed files are where the pages say: not with sanitizers"
fi
