# The message and exit status of each command for invalid input.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
guest=$PWD/$BUILD/tests/apps/guest
loop=$PWD/$BUILD/tests/apps/loop
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/sessions"
export VERBATIM_SESSIONS=$tmp/sessions VERBATIM_SOFT_FABRIC=$tmp/fabric VERBATIM_DEVICE=soft
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
for need in "$guest" "$loop" "$VERBATIM"; do
	[ -x "$need" ] || { echo "not ok badinput: $need is not built"; exit 1; }
done

# What a message may not end with: it says nothing, or is of another call.
no_reason='Success|Invalid argument|Inappropriate ioctl for device|Bad message|Protocol error'
no_reason+='|File exists|Device or resource busy|No such process'

# expect NAME STATUS COMMAND...: ends with STATUS, one to three lines on stderr, none on stdout
expect() {
	local name=$1 status=$2 got lines
	shift 2
	timeout 60 "$@" >out 2>err </dev/null
	got=$? lines=$(wc -l <err)
	if [ $got -ne "$status" ]; then
		echo "not ok badinput: $name: exit status $got instead of $status:" \
			"$(head -c 300 err)"
	elif [ "$lines" -lt 1 ] || [ "$lines" -gt 3 ] || grep -qv '^verbatim: ' err; then
		echo "not ok badinput: $name: says $(head -c 300 err)"
	elif grep -E ": ($no_reason)\$" err >no_reason; then
		echo "not ok badinput: $name: gives no reason: $(head -c 300 no_reason)"
	elif [ -s out ]; then
		echo "not ok badinput: $name: prints $(head -c 300 out)"
	else
		echo "ok badinput: $name"
	fi
}

# suggests NAME STATUS TEXT COMMAND...: as expect, and the message has TEXT
suggests() {
	local name=$1 status=$2 text=$3
	shift 3
	expect "$name" "$status" "$@"
	grep -qF "$text" err && echo "ok badinput: $name: suggests $text" ||
		echo "not ok badinput: $name: does not suggest $text: $(cat err)"
}

# A command that reads a trace, with its other arguments.
reads() {
	local trace=$1
	case $2 in
	sql) "$VERBATIM" sql "$trace" 'SELECT count(*) FROM call' ;;
	unpack) "$VERBATIM" unpack -o unpacked.db "$trace" ;;
	trim) "$VERBATIM" trim -o trimmed.db "$trace" ;;
	*) "$VERBATIM" "$2" "$trace" ;;
	esac
}
export -f reads
export VERBATIM

"$VERBATIM" record -q -o good.db "$guest" calls 2000 ||
	echo "not ok badinput: record: exit status $?"
: >empty.db
echo 'This is not a trace.' >text.db
sqlite3 other.db 'CREATE TABLE t(x); INSERT INTO t VALUES(1)'
head -c 20000 good.db >short.db
head -c $(($(stat -c %s good.db) / 2)) good.db >half.db
mkdir folder.db
cp good.db closed.db

for command in info dump stat sql unpack trim check replay model emit export report bundle; do
	expect "$command: no such file" 4 bash -c "reads nothing.db $command"
	expect "$command: empty file" 3 bash -c "reads empty.db $command"
	expect "$command: text file" 3 bash -c "reads text.db $command"
	expect "$command: another database" 3 bash -c "reads other.db $command"
	expect "$command: trace cut to its first pages" 3 bash -c "reads short.db $command"
	expect "$command: trace cut in half" 3 bash -c "reads half.db $command"
	expect "$command: directory" 3 bash -c "reads folder.db $command"
	expect "$command: no argument" 2 "$VERBATIM" $command
	expect "$command: unknown option" 2 "$VERBATIM" $command --no-such-option good.db
	[ $command = check ] || [ $command = emit ] || # which take several traces
		expect "$command: too many arguments" 2 "$VERBATIM" $command good.db 1:1 1:1
done
expect "check: a second trace that is not there" 4 "$VERBATIM" check good.db no-such.db
for command in record run; do
	expect "$command: no program" 2 "$VERBATIM" $command
	expect "$command: unknown option" 2 "$VERBATIM" $command --no-such-option true
	expect "$command: program that is not there" 127 "$VERBATIM" $command -- no-such-program
	expect "$command: path that is not there" 127 "$VERBATIM" $command -- ./no-such-program
	expect "$command: program without permission" 126 "$VERBATIM" $command -- ./text.db
	expect "$command: device that is not there" 4 "$VERBATIM" $command --device mlx5_77 true
done
expect "command that is not there" 2 "$VERBATIM" no-such-command
expect "option that is not there" 2 "$VERBATIM" --no-such-option
expect "help: command that is not there" 2 "$VERBATIM" help no-such-command
expect "explain: rule that is not there" 2 "$VERBATIM" explain NO-SUCH-RULE
expect "record: --on-full" 2 "$VERBATIM" record --on-full explode true
expect "record: --ring-size is not a number" 2 "$VERBATIM" record --ring-size big true
expect "record: --ring-size is too small" 2 "$VERBATIM" record --ring-size 1k true
expect "info: --format" 2 "$VERBATIM" info --format xml good.db
expect "dump: no such verb" 2 "$VERBATIM" dump --verb ibv_fly good.db
expect "dump: no such object" 2 "$VERBATIM" dump --object qp99 good.db
suggests "info: a file with a similar name" 4 "(did you mean 'good.db'?)" \
	"$VERBATIM" info god.db
suggests "check: a file without its suffix, in a folder" 4 "(did you mean './good.db'?)" \
	"$VERBATIM" check ./good
suggests "diff: a file with a similar name" 4 "(did you mean 'good.db'?)" \
	"$VERBATIM" diff good.db goood.db
for each in "unpack -o x.db god.db" "merge -o x.db good.db god.db" \
	"report -o x.html -c god.db good.db" "unbundle god.db" "import god.db" "collect god.db" \
	"top god.db" "snapshot god.db" "replay --suite god.db" "sql --file god.db good.db" \
	"check --baseline god.db good.db" "check --suppress god.db good.db"; do
	suggests "${each%% *}: no such file, but a similar one" 4 "(did you mean 'good.db'?)" \
		"$VERBATIM" $each
done
suggests "sql: a similar table" 2 "such table: request (did you mean 'requests'?)" \
	"$VERBATIM" sql good.db 'SELECT * FROM request'
suggests "sql: a similar column" 2 "such column: w.opcod (did you mean 'opcode'?)" \
	"$VERBATIM" sql good.db 'SELECT w.opcod FROM wr w'
suggests "record: a queue pair of a process" 2 "write qp3," \
	"$VERBATIM" record --filter qp=rc+qp3/1 true
suggests "reduce: a similar rule" 2 "unknown rule 'LIFE-01' (did you mean 'LIFE-001'?)" \
	"$VERBATIM" reduce --keep LIFE-01 -o x.db good.db
suggests "explain: a similar errno" 2 "'EINVL' (did you mean 'EINVAL'?)" "$VERBATIM" explain EINVL
mkdir folder.path && cp "$guest" folder.path/program_of_ours
for command in record run; do
	suggests "$command: a similar program" 127 "(did you mean 'program_of_ours'?)" \
		env PATH="folder.path:$PATH" "$VERBATIM" $command -- program_of_our
	suggests "$command: a similar file" 127 "(did you mean './folder.path/program_of_ours'?)" \
		"$VERBATIM" $command -- ./folder.path/progam_of_ours
done
suggests "stat: an option without its dashes" 2 "'proces' (did you mean '--process'?)" \
	"$VERBATIM" stat good.db proces
suggests "dump: a similar object" 2 "(did you mean 'pd1'?)" "$VERBATIM" dump --object dp1 good.db
expect "dump: no such event" 2 "$VERBATIM" dump good.db 77:1
expect "dump: no name of an event" 2 "$VERBATIM" dump good.db one
expect "dump: --thread is not a number" 2 "$VERBATIM" dump --thread main good.db
expect "dump: --from is not a number" 2 "$VERBATIM" dump --from noon good.db
expect "dump: no such thread" 2 "$VERBATIM" dump --thread 99 good.db
expect "dump: no such process" 2 "$VERBATIM" dump --process 99 good.db
for id in 4294967297:23 1:18446744073709551639 1:-1 1:+1 +1:1 '1: 23'; do expect \
	"dump: '$id' is not an event id" 2 "$VERBATIM" dump good.db "$id"; done
expect "sql: empty query" 2 "$VERBATIM" sql good.db ''
expect "sql: nothing but a comment" 2 "$VERBATIM" sql --json good.db '/* nothing */ ;'
expect "sql: wrong query" 2 "$VERBATIM" sql good.db 'SELEKT'
expect "sql: no such table" 2 "$VERBATIM" sql good.db 'SELECT * FROM no_such_table'
expect "sql: a trace is not written to" 2 "$VERBATIM" sql good.db 'DELETE FROM call'
expect "sql: no query" 2 "$VERBATIM" sql good.db
expect "sql: two formats" 2 "$VERBATIM" sql --csv --json good.db 'SELECT 1'
expect "unpack: no output" 2 "$VERBATIM" unpack good.db
expect "unpack: into itself" 2 "$VERBATIM" unpack -o good.db good.db

# a key that is NULL: from another table, whose index has the same shape
cp good.db null.db
sqlite3 null.db "CREATE TABLE s(a, b, c, d, e, f); INSERT INTO s VALUES(NULL, 1, 'qp', 'qp', 1, 1);
	CREATE INDEX i ON s(a, b, c, d, e, f); PRAGMA writable_schema = ON;
	UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'i')
		WHERE name = 'ref';
	DELETE FROM sqlite_master WHERE name IN ('s', 'i')"
expect "unpack: a row that no table takes" 3 "$VERBATIM" unpack -o unpacked.db null.db

# obstacles for a new trace
intact() {
	if [ "$(cat precious)" = precious ] && [ -L link.db ] &&
		[ -d folder.db ]; then echo "ok badinput: $1 leaves what is in its way"
	else echo "not ok badinput: $1 leaves what is in its way: $(ls -l)"; fi
}
echo precious >precious
ln -s precious link.db
for way in precious link.db folder.db no/such/folder/t.db; do
	expect "record: $way in the way" 4 "$VERBATIM" record -q -o $way true
	expect "unpack: $way in the way" 4 "$VERBATIM" unpack -o $way good.db
done
intact "record, unpack"
if "$VERBATIM" record -q -o good.db "$guest" calls 1 && "$VERBATIM" unpack -o good2.db good.db &&
	"$VERBATIM" unpack -o good2.db good.db; then echo "ok badinput: an older trace is replaced"
else echo "not ok badinput: an older trace is replaced: exit status $?"; fi

# names that mean something else to SQLite
for name in :memory: file:t.db 'file:t.db?mode=memory' 't?mode=ro#%41.db'; do
	if "$VERBATIM" record -q -o "${name//%/%%}" "$guest" calls 1 &&
		"$VERBATIM" info "$name" >out &&
		[ -s "./$name" ] && "$VERBATIM" unpack -o "$name.u" "$name" &&
		"$VERBATIM" info "$name.u" >out; then \
			echo "ok badinput: '$name' is the name of a file"
	else echo "not ok badinput: '$name' is the name of a file: $(ls -l)"; fi
done
deep=$tmp/$(printf 'a%.0s' {1..200})/$(printf 'b%.0s' {1..200})/$(printf 'c%.0s' {1..100})
mkdir -p "$deep"
expect "record: a path longer than SQLite's" 4 "$VERBATIM" record -q -o "$deep/t.db" true
if grep -q 'File name too long' err &&
	[ -z "$(ls "$deep")" ]; then \
	echo "ok badinput: a path longer than SQLite's is said to be too long"
else echo "not ok badinput: a path longer than SQLite's is said to be too long:" \
	"$(cat err; ls "$deep")"; fi

# killed in the middle: the name does not exist, and the remains are not a trace, even if SQLite
# opened them first
"$VERBATIM" record -q -o loop.db "$loop" counts 50000
"$VERBATIM" unpack -o killed.db loop.db & pid=$!
until [ "$(stat -c %s killed.db.part 2>/dev/null || echo 0)" -gt 1000000 ] ||
	! kill -0 $pid 2>/dev/null; do :; done
kill -KILL $pid
wait $pid 2>/dev/null
if [ ! -e killed.db ]; then echo "ok badinput: unpack was killed: nothing has the name"
else echo "not ok badinput: unpack was killed: nothing has the name"; fi
expect "info: unpack was killed" 3 "$VERBATIM" info killed.db.part
expect "info: unpack was killed, and somebody has looked at it" 3 bash -c \
	"sqlite3 killed.db.part 'SELECT count(*) FROM call' >/dev/null 2>&1
	'$VERBATIM' info killed.db.part"
if "$VERBATIM" unpack -o killed.db good.db && [ ! -e killed.db.part ] &&
	"$VERBATIM" info killed.db >out; then \
	echo "ok badinput: what a killed unpack left is replaced"
else echo "not ok badinput: what a killed unpack left is replaced: exit status $?"; fi

# as an unprivileged user
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
if [ "$(id -u)" -ne 0 ] || ! "${as_nobody[@]}" true 2>/dev/null; then
	echo "skip badinput: no permission: needs root to give up its rights"
	exit 0
fi
chmod 755 "$tmp"
chmod 777 sessions
chmod 600 closed.db
mkdir readonly && cp good.db readonly/ && chmod 644 readonly/good.db && chmod 555 readonly
if ! "${as_nobody[@]}" test -x "$VERBATIM"; then
	echo "skip badinput: no permission: somebody else cannot reach $VERBATIM"
	exit 0
fi
expect "info: no permission to read" 4 "${as_nobody[@]}" "$VERBATIM" info closed.db
expect "record: no permission to write" 4 "${as_nobody[@]}" "$VERBATIM" record -q -o readonly/t.db \
	true
expect "record: no permission to make a session" 4 "${as_nobody[@]}" env \
	VERBATIM_SESSIONS="$tmp/readonly" "$VERBATIM" record -q -o /dev/null/t.db true
if "${as_nobody[@]}" "$VERBATIM" info readonly/good.db >out 2>err; then \
	echo "ok badinput: a whole trace is read in a read-only folder"
else echo "not ok badinput: a whole trace is read in a read-only folder: $(cat err)"; fi
