# The commands of README.md and of docs/TUTORIALS.md, literally and in their order: those of
# indented blocks, and those after "$ " in fenced ones. A line ends with 0, unless its comment says
# otherwise.
. tests/e2e/lib/try.sh
unset VERBATIM VERBATIM_DEVICE VERBATIM_THREADS # as a reader has them

# the blocks without the commands that install
commands_of() {
	awk '/^```/ { fenced = !fenced; next }
		fenced { if (sub(/^\$ /, "")) print; next }
		/^    / { sub(/^ +/, ""); print }' "$1" | grep -Ev '^make (demo|test) '
}

# What a comment says of the status; "exit status 1 for ..." may also be 0.
is_expected() { # line status
	local want=0
	[[ ! $1 =~ 'exit status '([0-9]+) ]] || want=${BASH_REMATCH[1]}
	[ "$2" -eq $want ] || [[ $1 == *"exit status $want for "* && $2 -eq 0 ]]
}

run_all() { # page
	local line status n=0 dir
	dir=$tmp/$(basename "$1")
	mkdir "$dir" && ln -s "$libs" "$dir/build" && cd "$dir" || return
	export TMPDIR=$dir PATH=$libs:$libs/tests/apps:$PATH
	while read -r line; do
		status=0
		eval "$line" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
		is_expected "$line" $status || {
			echo "$line: exit status $status: $(tail -n 3 "$dir/err")"
			return 1
		}
		n=$((n + 1))
	done < <(commands_of "$root/$1")
	is "commands, more than ten" $((n > 10)) 1
}

README_has_at_most_200_lines() {
	is lines "$(($(wc -l <README.md) <= 200))" 1
}

# a page, and a picture
names_what_is_there() { # page
	local name
	[ -s "$1" ] || return
	for name in $(grep -o '](\([^)#]*\)' "$1" | sed 's/^](//'); do
		[[ $name == http* ]] || [ -e "$(dirname "$1")/$name" ] ||
			{ echo "$name: not there"; return 1; }
	done
}

try README_has_at_most_200_lines
for page in README.md docs/TUTORIALS.md docs/GUIDE.md docs/CI.md docs/FAQ.md; do
	try "$page names what is there" names_what_is_there $page
done
for page in README.md docs/TUTORIALS.md; do try "$page runs" run_all $page; done
exit $failed
