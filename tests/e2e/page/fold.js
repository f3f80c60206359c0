/*
 * Who waits for whom in made-up jobs, as cli/report/page/waits.js folds it: a line for each box.
 *
 *	node fold.js waits.js ring|star|circle|threads RANKS
 */
const fs = require('fs'), vm = require('vm');

const [source, kind, count] = process.argv.slice(2), n = +count;
const nodeText = p => `rank ${p.rank}` + (p.thread ? ` thread ${p.thread}` : '');
const formatCount = String;
const rank = i => ({process: i + 1, rank: i});
const wait = (from, to, why) => ({...rank(from), why, for: rank(to)});

const jobs = {
	/* each waits for the one before it, and all for rank 0 in the end */
	ring: () => ({blamed: [{processes: [rank(0)]}],
		links: [...Array(n - 1).keys()].map(i => wait(i + 1, i, 'receive'))}),
	/* half of them wait for a message of the last one, half for it to receive theirs */
	star: () => ({blamed: [{processes: [rank(n - 1)]}],
		links: [...Array(n - 1).keys()].map(i => wait(i, n - 1, i < n / 2 ? 'receive' : 'send'))}),
	/* all are to blame */
	circle: () => ({blamed: [{processes: [...Array(n).keys()].map(rank)}],
		links: [...Array(n).keys()].map(i => wait(i, (i + 1) % n, 'credit'))}),
	/* a thread of rank 0 waits for rank 1, which waits for another thread of rank 0 */
	threads: () => ({blamed: [{processes: [{...rank(0), thread: 2}]}],
		links: [{...wait(1, 0, 'receive'), for: {...rank(0), thread: 2}},
			{...wait(0, 1, 'send'), thread: 1}]}),
};

const page = vm.createContext({nodeText, formatCount, waits: jobs[kind](), print: console.log});
vm.runInContext(fs.readFileSync(source, 'utf8') + `
	const folded = foldWaits(waits), edges = edgesOf(folded);
	for (const box of folded.boxes)
		print(textOfBox(box, edges).join('; '));
`, page);
