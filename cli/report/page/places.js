/*
 * Flame graphs, from folded stacks. Of two traces one graph shows both: a frame is as wide as the
 * mean of its shares in the two, so that what is new and what is gone are both there; red has grown,
 * blue has shrunk.
 */

const FRAME = 19; /* pixels of a row */

/* node.values: of each trace. */
function addStacks(root, folded, which) {
	for (const line of folded.split('\n')) {
		const at = line.lastIndexOf(' '), value = +line.slice(at + 1);
		if (at < 1 || !value)
			continue;
		let node = root;
		root.values[which] += value;
		for (const name of line.slice(0, at).split(';')) {
			if (!node.children.has(name))
				node.children.set(name, {name, values: [0, 0], children: new Map()});
			node = node.children.get(name);
			node.values[which] += value;
		}
	}
}

/* Processes of two runs have numbers of their own. */
const withoutNumber = folded => before ? folded.replace(/^process \d+ /gm, 'process ') : folded;

function boxesOf(root) {
	const boxes = [], totals = root.values, n = totals.filter(Boolean).length;
	const shareOf = node => totals.reduce((sum, t, i) => sum + (t ? node.values[i] / t : 0), 0) / n;
	let depth = 0;
	const place = (node, from, level) => {
		boxes.push({node, from, to: from + shareOf(node), level});
		depth = Math.max(depth, level);
		let at = from;
		for (const child of [...node.children.values()].sort((a, b) => shareOf(b) - shareOf(a))) {
			if (shareOf(child) > .0005)
				place(child, at, level + 1);
			at += shareOf(child);
		}
	};
	place(root, 0, 0);
	return {boxes, depth: depth + 1};
}

const hueOf = name => [...name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 64, 0);

/* -1: only before; 1: only after; by the shares of the two. */
function changeOfNode(node, totals) {
	const [now, then] = node.values.map((v, i) => totals[i] ? v / totals[i] : 0);
	return now + then ? (now - then) / (now + then) : 0;
}

function frameColour(node, totals) {
	if (!before)
		return hueColour(hueOf(node.name), .32);
	const change = changeOfNode(node, totals), hue = change > 0 ? 6 : 212;
	const strength = .08 + .5 * Math.min(1, Math.abs(change) * 2);
	return `hsla(${hue}, ${Math.abs(change) < .02 ? 0 : 75}%, ${ink.light}, ${strength})`;
}

function textOfFrame(box, totals, format) {
	const {node} = box, share = i => totals[i] ? node.values[i] / totals[i] : 0;
	if (!before)
		return [`${node.name}: ${format(node.values[0])}, ${formatShare(share(0))}`];
	return [node.name, `after: ${format(node.values[0])}, ${formatShare(share(0))}`,
		`before: ${format(node.values[1])}, ${formatShare(share(1))}`];
}

function addFlame(section, title, key, format) {
	const root = {name: 'all', values: [0, 0], children: new Map()};
	shownTraces.forEach((s, i) => addStacks(root, withoutNumber(s.trace[key]), i));
	if (!root.values[0] && !root.values[1])
		return false;
	const {boxes, depth} = boxesOf(root), totals = root.values;
	const boxAt = (x, y) => boxes.find(b => b.level === Math.floor(y / FRAME) && x >= b.from &&
		x < b.to);
	const view = makeView([0, 1], {least: .0005});
	addFigure(section, {title, height: () => depth * FRAME, left: 16, plain: true, view,
		note: 'outermost functions above; click to zoom into one' + (before ?
			'; red: a larger share than before, blue: a smaller one' : ''),
		format: v => `${(v * 100).toFixed(view.part[1] - view.part[0] < .1 ? 1 : 0)} %`,
		y: {none: true},
		draw: pen => boxes.forEach(b => drawFrame(pen, b, totals)),
		hover: (x, y) => {
			const box = boxAt(x, y);
			return box ? textOfFrame(box, totals, format) : [];
		},
		click: (x, y) => {
			const box = boxAt(x, y);
			if (box)
				showPart(view, [box.from, box.to]);
		}});
	addTable(section, ['stack', ...shownTraces.map(s => s.name || 'value')],
		rowsOfStacks(key, format), `${title}: as numbers`);
	return true;
}

function drawFrame(pen, box, totals) {
	const x = Math.max(0, pen.x(box.from)), right = Math.min(pen.width, pen.x(box.to));
	const wide = right - x, y = box.level * FRAME;
	if (wide < .4)
		return;
	pen.c.fillStyle = frameColour(box.node, totals);
	pen.c.fillRect(x, y, Math.max(.5, wide - .8), FRAME - 1);
	const room = Math.floor((wide - 6) / 7);
	if (room > 3) {
		const name = box.node.name;
		drawWord(pen, name.length > room ? name.slice(0, room - 1) + '\u2026' : name, x + 4,
			y + FRAME / 2, 'left');
	}
}

function rowsOfStacks(key, format) {
	const by = new Map();
	shownTraces.forEach((s, i) => {
		for (const line of withoutNumber(s.trace[key]).split('\n').filter(Boolean)) {
			const at = line.lastIndexOf(' '), stack = line.slice(0, at);
			if (!by.has(stack))
				by.set(stack, shownTraces.map(() => 0));
			by.get(stack)[i] += +line.slice(at + 1);
		}
	});
	return [...by].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1])).slice(0, 200)
		.map(([stack, values]) => [stack, ...values.map(v => format(v))]);
}

function addPlaces() {
	const section = addSection('places', 'Places');
	const any = [addFlame(section, 'Requests by stack', 'requests', formatCount),
		addFlame(section, 'Time in control verbs by stack', 'time', formatTime),
		addFlame(section, 'Bytes by stack', 'bytes', formatBytes)].some(Boolean);
	if (!any)
		foldSection(section, 'No call has a stack in this trace.');
}
