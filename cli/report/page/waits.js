/*
 * Who waits for whom, as a drawing: on the left what all wait for in the end, then those that wait
 * for it, then those that wait for these. Processes that wait for the same and alike are one box, so
 * that a job of a thousand ranks has a dozen.
 */

const WAIT_ROW = 50, WAIT_BOX = 38; /* pixels */
const WAIT_COLUMNS = 4, WAIT_ROWS = 8; /* at most: what is further away, or more, is one box */

/* A process, or one of its threads where they are told apart. */
const keyOfNode = p => `${p.process}:${p.thread || 0}`;

/* The links to each node. */
function linksByTarget(links) {
	const by = new Map();
	for (const link of links)
		by.set(keyOfNode(link.for), [...(by.get(keyOfNode(link.for)) || []), link]);
	return by;
}

/* How many waits away each node is from one that is to blame: nodes, nearest first. */
function distancesOf(waits) {
	const by = linksByTarget(waits.links), found = new Map();
	let front = waits.blamed.flatMap(b => b.processes);
	front.forEach(p => found.set(keyOfNode(p), {who: p, level: 0}));
	for (let level = 1; front.length; level++) {
		front = front.flatMap(p => by.get(keyOfNode(p)) || []).filter(link => {
			const isNew = !found.has(keyOfNode(link));
			if (isNew)
				found.set(keyOfNode(link), {who: link, level});
			return isNew;
		});
	}
	return found;
}

/* Boxes by their keys, in the order of columns; each is noted at its members, as `box`. */
function foldWaits(waits) {
	const found = distancesOf(waits), boxes = new Map(), rows = [];
	const links = new Map();
	for (const link of waits.links)
		links.set(keyOfNode(link), [...(links.get(keyOfNode(link)) || []), link]);
	const isNearer = (link, level) => found.has(keyOfNode(link.for)) &&
		found.get(keyOfNode(link.for)).level < level;
	for (const node of found.values()) {
		const column = Math.min(node.level, WAIT_COLUMNS - 1);
		node.links = (links.get(keyOfNode(node.who)) || []).filter(
			link => !node.level ? found.has(keyOfNode(link.for)) : isNearer(link, node.level));
		let key = !column ? keyOfNode(node.who) : node.level >= WAIT_COLUMNS - 1 ? 'further' :
			[...new Set(node.links.map(l => found.get(keyOfNode(l.for)).box.key + ' ' + l.why))]
				.sort().join();
		key = `${column} ${key}`;
		if (!boxes.has(key) && (rows[column] || 0) >= WAIT_ROWS - 1)
			key = `${column} more`;
		if (!boxes.has(key)) {
			boxes.set(key, {key, column, row: rows[column] || 0, nodes: []});
			rows[column] = (rows[column] || 0) + 1;
		}
		node.box = boxes.get(key);
		node.box.nodes.push(node);
	}
	return {found, boxes: [...boxes.values()], rows};
}

/* "0-4, 6-61" */
function textOfRanges(numbers) {
	const ranges = [];
	for (const n of [...numbers].sort((a, b) => a - b))
		if (ranges.length && ranges[ranges.length - 1][1] === n - 1)
			ranges[ranges.length - 1][1] = n;
		else
			ranges.push([n, n]);
	return ranges.map(([a, b]) => a === b ? a : b === a + 1 ? `${a}, ${b}` : `${a}-${b}`).join(', ');
}

function nameOfBox(box) {
	const who = box.nodes.map(n => n.who);
	if (who.length === 1)
		return nodeText(who[0]);
	const ranked = who.every(p => p.rank !== undefined);
	return `${formatCount(new Set(who.map(p => p.process)).size)} ${ranked ? 'ranks' : 'processes'}: ` +
		textOfRanges(new Set(who.map(p => ranked ? p.rank : p.process)));
}

/* To each other box: how many wait for it, and how. */
function edgesOf({found, boxes}) {
	const edges = new Map();
	for (const box of boxes)
		for (const node of box.nodes)
			for (const link of node.links) {
				const to = found.get(keyOfNode(link.for)).box, key = `${box.key} > ${to.key}`;
				if (to === box)
					continue;
				if (!edges.has(key))
					edges.set(key, {from: box, to, who: new Set(), whys: new Set()});
				edges.get(key).who.add(keyOfNode(node.who));
				edges.get(key).whys.add(link.why);
			}
	return [...edges.values()];
}

const whysOf = (box, edges) => [...new Set(edges.filter(e => e.from === box)
	.flatMap(e => [...e.whys]))].sort().join(', ');

function textOfBox(box, edges) {
	const lines = [nameOfBox(box)];
	for (const node of box.column ? [] : box.nodes.slice(0, 3))
		lines.push(node.who.message || '');
	for (const e of edges.filter(each => each.from === box))
		lines.push(`${e.who.size > 1 ? formatCount(e.who.size) + ' wait' : 'waits'} for ` +
			`${nameOfBox(e.to)}: ${[...e.whys].sort().join(', ')}`);
	return lines.filter(Boolean);
}

function addWaitGraph(section, waits) {
	const folded = foldWaits(waits), edges = edgesOf(folded), {boxes, rows} = folded;
	const columns = rows.length, most = Math.max(...rows);
	const from = box => (box.column + .12) / columns, to = box => (box.column + .9) / columns;
	const top = box => (box.row + (most - rows[box.column]) / 2) * WAIT_ROW + 8;
	/* the nearest one of the column */
	const boxAt = (x, y) => boxes.filter(b => b.column === Math.min(columns - 1, Math.floor(x * columns)))
		.sort((a, b) => Math.abs(top(a) + WAIT_BOX / 2 - y) - Math.abs(top(b) + WAIT_BOX / 2 - y))[0];
	const place = (pen, box) => ({box, left: pen.x(from(box)), right: pen.x(to(box)), top: top(box)});
	addFigure(section, {title: 'Who waits for whom', height: () => most * WAIT_ROW + 16, left: 16,
		plain: true, view: makeView([0, 1], {least: .2}), format: () => '', ticks: () => [],
		note: 'each waits for what is on its left; red: what all wait for',
		y: {none: true},
		draw: pen => {
			edges.forEach(e => drawWait(pen, place(pen, e.from), place(pen, e.to)));
			boxes.forEach(b => drawWaiter(pen, place(pen, b), whysOf(b, edges)));
		},
		hover: (x, y) => textOfBox(boxAt(x, y), edges)});
}

/* Of a circle both are in one column: then the line is at their right. */
function drawWait(pen, waiter, target) {
	const y1 = waiter.top + WAIT_BOX / 2, y2 = target.top + WAIT_BOX / 2;
	const circle = waiter.box.column === target.box.column, x2 = target.right;
	const x1 = circle ? waiter.right : waiter.left, bend = circle ? x2 + 14 : x2 + 5;
	drawLine(pen, x1, y1, bend, circle ? y1 + (y2 - y1) * .3 : y2, ink.soft);
	if (circle)
		drawLine(pen, bend, y1 + (y2 - y1) * .3, bend, y2, ink.soft);
	drawLine(pen, bend, y2, x2, y2, ink.soft);
	drawLine(pen, x2 + 6, y2 - 4, x2, y2, ink.soft);
	drawLine(pen, x2 + 6, y2 + 4, x2, y2, ink.soft);
}

function drawWaiter(pen, {box, left, right, top}, whys) {
	const room = Math.floor((right - left - 10) / 7);
	const word = (text, y, colour) => {
		if (room > 3 && text)
			drawWord(pen, text.length > room ? text.slice(0, room - 1) + '\u2026' : text, left + 6, y,
				'left', colour);
	};
	pen.c.fillStyle = ink.panel;
	pen.c.fillRect(left, top, right - left, WAIT_BOX);
	pen.c.strokeStyle = box.column ? ink.line : ink.bad;
	pen.c.lineWidth = box.column ? 1 : 2;
	pen.c.strokeRect(left, top, right - left, WAIT_BOX);
	word(nameOfBox(box), top + 11, box.column ? ink.ink : ink.bad);
	word(box.column ? `waits: ${whys}` : whys ? `waits: ${whys}` : 'waits for none', top + 27, ink.soft);
}
