# Opening traces of another user, or with planted files beside them.
. tests/e2e/lib/try.sh
lay() { python3 "$root/tests/e2e/lib/journal.py" "$@"; }
guest=$apps/guest
needs "$guest"
commands="info dump stat sql unpack trim check replay emit export report bundle"
cd "$tmp" || exit 1

# a command that reads the trace $1, with its other arguments
reads() { # trace command
	case $2 in
	sql) "$VERBATIM" sql "$1" 'SELECT count(*) FROM call' ;;
	unpack) "$VERBATIM" unpack -o "$tmp/unpacked.db" "$1" ;;
	trim) "$VERBATIM" trim -o "$tmp/trimmed.db" "$1" ;;
	*) "$VERBATIM" "$2" "$1" ;;
	esac
}

# Every command ends with 3 and one sentence that names the bad file, and changes nothing.
refused() { # trace pattern file...
	local trace=$1 pattern=$2 each before status
	shift 2
	before=$(sha256sum "$trace" "$@")
	for each in $commands; do
		timeout 20 bash -c 'reads "$@"' - "$trace" "$each" >out 2>err; status=$?
		is "$each" $status 3 || { cat err; return 1; }
		is "$each: lines" "$(wc -l <err)" 1 && says "$pattern" err || { cat err; return 1; }
		is "$each: files" "$(sha256sum "$trace" "$@" 2>&1)" "$before" || return
	done
}
export -f reads; export tmp

finished_trace_is_read_without_a_change_to_its_directory() {
	local each before
	mkdir -p kept && cp t.db kept/ || return
	before=$(find kept -printf '%p %i %s %m %T@ %C@\n' | sort; sha256sum kept/*)
	for each in $commands; do
		reads kept/t.db "$each" >out 2>err; [ $? -le 1 ] ||
			{ echo "$each: $(cat err)"; return 1; }
		is "$each" "$(find kept -printf '%p %i %s %m %T@ %C@\n' | sort; sha256sum kept/*)" \
			"$before" || return
	done
}

journal_that_names_a_super_journal_is_refused() {
	cp t.db super.db && echo precious >victim && lay super super.db victim || return
	refused super.db 'super.db-journal names other files to be deleted.*remove it' \
		super.db-journal victim
}

journal_that_is_a_link_is_refused() {
	cp t.db link.db && echo precious >victim && ln -s victim link.db-journal || return
	refused link.db 'link.db-journal is a link' victim
}

journal_that_is_another_file_is_refused() {
	cp t.db two.db && echo precious >victim && ln victim two.db-journal || return
	refused two.db 'two.db-journal has a second hard link' victim
}

journal_that_is_a_fifo_is_refused() {
	cp t.db fifo.db && mkfifo fifo.db-journal || return
	refused fifo.db 'fifo.db-journal is not a file'
}

wal_that_others_can_write_to_is_refused() {
	cp t.db open.db && lay wal open.db 'DELETE FROM call' && chmod 666 open.db-wal || return
	refused open.db 'open.db-wal can be written to by other users' open.db-wal
}

own_interrupted_change_is_undone() {
	cp u.db hot.db && lay hot hot.db 'UPDATE call SET ret = 7' && [ -s hot.db-journal ] ||
		return
	is "$("$VERBATIM" sql hot.db 'SELECT count(*) FROM call WHERE ret = 7')" \
		"$("$VERBATIM" sql u.db 'SELECT count(*) FROM call WHERE ret = 7')" &&
		[ ! -e hot.db-journal ]
}

own_wal_is_read() {
	cp u.db wal.db && lay wal wal.db "DELETE FROM call" &&
		sqlite3 wal.db 'PRAGMA user_version' >out &&
		is "$("$VERBATIM" sql wal.db 'SELECT count(*) FROM call')" 0
}

link_to_a_trace_is_followed_to_what_lies_beside_it() {
	mkdir -p there && cp u.db there/hot.db && lay hot there/hot.db 'UPDATE call SET ret = 7' &&
		ln -sf there/hot.db here.db || return
	is "$("$VERBATIM" sql here.db 'SELECT count(*) FROM call WHERE ret = 7')" \
		"$("$VERBATIM" sql u.db 'SELECT count(*) FROM call WHERE ret = 7')" &&
		[ ! -e there/hot.db-journal ]
}

trigger_is_refused_and_not_run() {
	cp t.db trigger.db && sqlite3 trigger.db \
		"CREATE TRIGGER bite AFTER UPDATE ON meta BEGIN DELETE FROM call; END" || return
	refused trigger.db "the trigger 'bite'.*record again" || return
	sqlite3 trigger.db "UPDATE meta SET value = 'recording' WHERE key = 'state';
		DELETE FROM meta WHERE key = 'recorder'" &&
		sqlite3 trigger.db "DROP TRIGGER bite" \
			"CREATE TRIGGER bite AFTER UPDATE ON process BEGIN DELETE FROM mark; END" ||
		return
	refused trigger.db "the trigger 'bite'"
}

view_over_a_table_that_never_ends_is_refused() {
	cp u.db view.db && sqlite3 view.db \
		"DROP TABLE loss; CREATE VIEW loss AS WITH RECURSIVE r(events, overwritten, last) AS
		(SELECT 1, 1, 1 UNION ALL SELECT events, 1, 1 FROM r) SELECT * FROM r" &&
		refused view.db "the view 'loss'"
}

# Each ends with 2 and one sentence, and changes nothing.
query_cannot_write_or_leave_the_trace() {
	local query before status n=0
	rm -rf asked && mkdir asked && cp u.db t.db asked/ && echo precious >asked/precious &&
		cd asked || return
	sqlite3 other.db 'CREATE TABLE t(x)' && before=$(sha256sum -- *) || return
	while read -r query; do
		for each in t.db u.db; do
			timeout 20 "$VERBATIM" sql $each "$query" >../out 2>../err; status=$?
			is "$query" $status 2 &&
				is "$query: $(cat ../err): lines" "$(wc -l <../err)" 1 &&
				says "^verbatim: sql: " ../err || return
			is "$query: files" "$(sha256sum -- *)" "$before" || return
			n=$((n + 1))
		done
	done <<-'END'
		DELETE FROM call
		UPDATE call SET ret = 7
		INSERT INTO meta VALUES('x', 1)
		REPLACE INTO meta VALUES('state', 'recording')
		WITH x AS (SELECT 1) DELETE FROM thread WHERE id IN x
		INSERT INTO wc(thread) VALUES(1)
		DELETE FROM wr
		DROP TABLE call
		ALTER TABLE call RENAME TO y
		CREATE TABLE x(y)
		CREATE TEMP TABLE x AS SELECT * FROM call
		CREATE TEMP VIEW x AS SELECT 1
		CREATE TEMP TRIGGER x AFTER INSERT ON meta BEGIN SELECT 1; END
		CREATE VIRTUAL TABLE temp.x USING fts5(y)
		CREATE INDEX x ON call(ret)
		REINDEX
		ANALYZE
		VACUUM
		VACUUM INTO 'copy.db'
		ATTACH 'other.db' AS other
		ATTACH 'file:other.db?mode=rwc' AS other
		ATTACH ':memory:' AS other
		ATTACH 'precious' AS other
		DETACH main
		BEGIN IMMEDIATE
		SAVEPOINT x
		PRAGMA writable_schema = ON
		PRAGMA journal_mode = WAL
		PRAGMA journal_mode = OFF
		PRAGMA locking_mode = EXCLUSIVE
		PRAGMA user_version = 7
		PRAGMA temp_store_directory = '.'
		PRAGMA data_store_directory = '.'
		PRAGMA trusted_schema = ON
		PRAGMA query_only = OFF
		PRAGMA wal_checkpoint
		PRAGMA optimize
		PRAGMA incremental_vacuum
		SELECT load_extension('./x.so')
		SELECT readfile('precious')
		SELECT writefile('precious', 'x')
		SELECT edit('x', 'touch x')
		SELECT fts3_tokenizer('x', x'00')
		SELECT * FROM fsdir('.')
		SELECT * FROM csv('precious')
		SELECT * FROM other.t
		UPDATE sqlite_dbpage SET data = x'00' WHERE pgno = 1
		UPDATE sqlite_master SET sql = 'x'
		SELECT hex(zeroblob(1000000000))
		SELECT 1; DELETE FROM call
		EXPLAIN DELETE FROM call
	END
	cd .. && [ $n -ge 50 ]
}

query_may_ask_what_is_there() {
	local query
	for query in "PRAGMA table_info(wc)" "PRAGMA integrity_check" \
		"PRAGMA user_version" "PRAGMA data_version" \
		"SELECT * FROM pragma_table_info('wr')" "SELECT name FROM sqlite_master" \
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 5)
			SELECT n FROM r" \
		"SELECT json_extract(args, '$.attr_mask') IS NULL,
			json_group_array(verb) OVER () FROM call LIMIT 1" \
		"EXPLAIN QUERY PLAN SELECT * FROM wc"; do
		"$VERBATIM" sql t.db "$query" >out 2>err && [ -s out ] ||
			{ echo "$query: $(cat err)"; return 1; }
	done
}

extension_refuses_a_schema_that_is_not_ours() {
	cp t.db ext.db && sqlite3 ext.db "CREATE VIEW strange AS SELECT 1" || return
	sqlite3 ext.db ".load $libs/libverbatim-sqlite" "SELECT count(*) FROM wc" >out 2>err &&
		{ echo "it reads it"; return 1; }
	says "the view 'strange'" err &&
		sqlite3 t.db ".load $libs/libverbatim-sqlite" "SELECT count(*) FROM wc" >out
}

# Rows that no recorder writes: status 3, and one sentence of ours.
unpack_refuses_rows_that_cannot_be() {
	local sql
	for sql in "INSERT INTO chunk
		SELECT NULL, thread, first_n, last_n, begin, end, events, data FROM chunk" \
		"UPDATE chunk SET data = zeroblob(300000000)"; do
		cp data.db twice.db && sqlite3 twice.db "$sql" || return
		timeout 60 "$VERBATIM" unpack -o twice-plain.db twice.db 2>err; is "$sql" $? 3 &&
			is "lines" "$(wc -l <err)" 1 && says 'twice.db is damaged' err &&
			[ ! -e twice-plain.db ] || return
	done
}

# Status 3 and one sentence, beside that of a slow recorder; the output goes to $to.
ends_by_its_deadline() { # command...
	timeout 60 "$VERBATIM" "$@" 2>err >&"${to:-1}"; is $? 3 && says '--deadline' err &&
		is "lines" "$(grep -vc 'made the program wait' err)" 1
}

query_that_never_ends_has_a_deadline() {
	ends_by_its_deadline sql --deadline 1s t.db \
		'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r)
			SELECT count(*) FROM r' &&
		VERBATIM_DEADLINE=1s ends_by_its_deadline sql t.db \
			'SELECT count(*)
				FROM call a, call b, call c, call d, call e, call f, call g, call h'
}

# the reader of its output does not read
waiting_has_a_deadline() {
	mkfifo full && exec 9<>full && head -c 65536 /dev/zero >&9 &&
		to=9 ends_by_its_deadline dump --deadline 1s t.db
}

deadline_that_is_no_time_is_misuse() {
	local each
	for each in $commands; do
		VERBATIM_DEADLINE=soon reads t.db "$each" >out 2>err; is "$each" $? 2 &&
			says '--deadline is a time' err || return
	done
}

# two users: ours, and another with write access to the same directory
other=(setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all)

shared() { # name
	mkdir -p shared && chmod 755 . && chmod 1777 shared && cp t.db "shared/$1.db" &&
		chmod 600 "shared/$1.db" &&
		mkdir -p -m 700 private && echo precious >private/victim
}

foreign_journal_deletes_nothing() {
	shared journal && lay super shared/journal.db private/victim &&
		mv shared/journal.db-journal laid &&
		"${other[@]}" sh -c 'umask 0; cat >shared/journal.db-journal' <laid || return
	is "$(stat -c '%u %a' shared/journal.db-journal)" '65533 666' || return
	refused shared/journal.db 'journal.db-journal belongs to another user.*remove it' \
		private/victim shared/journal.db-journal
}

foreign_wal_changes_nothing() {
	shared wal && cp shared/wal.db w.db && lay wal w.db 'DELETE FROM call' &&
		"${other[@]}" sh -c 'umask 0; cat >shared/wal.db-wal' <w.db-wal || return
	refused shared/wal.db 'wal.db-wal belongs to another user' shared/wal.db-wal
}

# planted at the name of a future trace: root removes it, others choose another name
recorder_writes_into_nothing_that_was_laid() {
	shared other && mkdir -p -m 777 anybody && "${other[@]}" sh -c \
		"umask 0; cd shared && echo laid >n.db-journal && echo laid >n.db-wal &&
		ln -s '$tmp/private/victim' m.db-wal" || return
	VERBATIM_SESSIONS=$tmp/anybody setpriv --reuid 65532 --regid 65532 --clear-groups \
		--inh-caps=-all "$VERBATIM" record -q -o shared/n.db true 2>err
	is $? 4 && is "$(wc -l <err)" 1 && says 'already exists and cannot be removed' err &&
		is "$(cat shared/n.db-wal)" laid || { cat err; return 1; }
	for each in n m; do
		"$VERBATIM" record -q -o shared/$each.db "$guest" calls 5 &&
			"$VERBATIM" info shared/$each.db >out &&
			is "$(ls shared/$each.db*)" shared/$each.db || return
	done
	is "$(cat private/victim)" precious
}

trace_of_somebody_else_is_read_but_not_completed() {
	mkdir -p theirs && cp t.db theirs/whole.db && cp t.db theirs/half.db &&
		chmod 644 theirs/*.db || return
	sqlite3 theirs/half.db "UPDATE meta SET value = 'recording' WHERE key = 'state'" &&
		chown -R 65533 theirs || return
	"$VERBATIM" info theirs/whole.db >out && before=$(sha256sum theirs/half.db) || return
	"$VERBATIM" info theirs/half.db >out 2>err; is $? 4 && says 'once as its owner' err &&
		is "$(sha256sum theirs/half.db)" "$before"
}

"$VERBATIM" record -q -o data.db -- "$both" ibv_rc_pingpong -n 20 >out &&
	"$VERBATIM" record -q -o t.db "$guest" calls 200 && "$VERBATIM" unpack -o u.db t.db ||
	{ echo "not ok attack_open: no trace"; exit 1; }
for each in finished_trace_is_read_without_a_change_to_its_directory \
	journal_that_names_a_super_journal_is_refused \
	journal_that_is_a_link_is_refused journal_that_is_another_file_is_refused \
		journal_that_is_a_fifo_is_refused \
	wal_that_others_can_write_to_is_refused own_interrupted_change_is_undone own_wal_is_read \
	link_to_a_trace_is_followed_to_what_lies_beside_it trigger_is_refused_and_not_run \
	view_over_a_table_that_never_ends_is_refused query_cannot_write_or_leave_the_trace \
		query_may_ask_what_is_there \
	query_that_never_ends_has_a_deadline waiting_has_a_deadline \
		deadline_that_is_no_time_is_misuse unpack_refuses_rows_that_cannot_be \
	extension_refuses_a_schema_that_is_not_ours; do try $each; done
for each in foreign_journal_deletes_nothing foreign_wal_changes_nothing \
	recorder_writes_into_nothing_that_was_laid \
	trace_of_somebody_else_is_read_but_not_completed; do
	if [ "$(id -u)" -eq 0 ] && "${other[@]}" test -x "$VERBATIM" 2>/dev/null; then try $each
	else echo "skip attack_open: ${each//_/ }: needs root," \
		"to be two users who reach the command"; fi
done
