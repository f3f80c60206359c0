# What commands print about stored traces, to the letter.
. tests/e2e/lib/stored.sh

asks check "*.db" check --format json {}
asks stat "soft*.db rxe_[a-r]*.db perf*.db mkey*.db [d-f]*.db" stat --format json {}
asks check_text "incident*.db mutant_[p-w]*.db" check {}
asks check_full "[c-q]*_0*.db rxe*.db" check --preset all {}
asks stat_text "rxe*.db soft*.db perf*.db" stat {}
asks dump "soft_[c-x]*.db marks.db fork*.db" dump --names --stacks {}
asks requests "soft_e[ar]*.db soft_s[rt]*.db soft_[ux]*.db [d-l]*.db" sql {} \
	"SELECT * FROM requests; SELECT * FROM qps; SELECT * FROM queue_depth"
asks check_both "ud rc srq" check --format json {}_client.db {}_server.db
asks dump_both "ud rc srq" dump {}_client.db {}_server.db
asks diff "rc ud srq write atomic senders" diff soft_{}.db rxe_{}.db
asks diff_runs "soft rxe" diff --format json {}_rc.db {}_rc_events.db soft_rc_builders.db \
	-- soft_uc.db soft_rc_timestamps.db {}_uc.db
asks folded "soft_[e-r]*.db" export --format folded --value bytes {}
asks perfetto "soft_[e-p]*.db" export --format perfetto --output /dev/stdout {}
finish
