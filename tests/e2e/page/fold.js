/*
 * Who waits for whom in made-up jobs, as cli/report/page/waits.js folds it: a line for each box.
 *
 *	node fold.js waits.js ring|star|circle RANKS
 */
const fs = require('fs'), vm = require('vm');

const [source, kind, count] = process.argv.slice(2), n = +count;
const rankText = p => `rank ${p.rank}`, formatCount = String;
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
};

const page = vm.createContext({rankText, formatCount, waits: jobs[kind](), print: console.log});
vm.runInContext(fs.readFileSync(source, 'utf8') + `
	const folded = foldWaits(waits), edges = edgesOf(folded);
	for (const box of folded.boxes)
		print(textOfBox(box, edges).join('; '));
`, page);
