/*
 * Distributions, heat maps, and the sections that consist of them
 */

const heatColours = [[122, 91, 181], [63, 127, 192], [31, 154, 148], [88, 192, 92], [240, 180, 0]];

/* Of a share from 0 to 1. */
function heatColour(share) {
	const at = Math.max(0, Math.min(.9999, share)) * (heatColours.length - 1), i = Math.floor(at);
	const mix = k => Math.round(heatColours[i][k] + (heatColours[i + 1][k] - heatColours[i][k]) *
		(at - i));
	return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
}

/* Latency over time: before and after on the same scales */

function addHeats(section, opcode) {
	const sets = shownTraces.filter(s => (s.trace.timeline.heat[opcode] || []).length);
	if (!sets.length)
		return;
	const cells = s => s.trace.timeline.heat[opcode], classes = sets[0].trace.timeline.classes;
	const range = {most: mostOf(sets, s => mostOf(cells(s), c => c[2])), classes,
		least: Math.max(0, leastOf(sets, s => leastOf(cells(s), c => c[1])) - 2),
		last: Math.min(classes.length - 1, mostOf(sets, s => mostOf(cells(s), c => c[1])) + 2)};
	sets.forEach(s => addHeat(section, s, opcode, cells(s), range));
}

function addHeat(section, shown, opcode, cells, range) {
	const t = shown.trace.timeline, begin = t.begin - originOf(shown.trace), width = 2 * t.width;
	const from = i => Math.max(64, range.classes[i]);
	const to = i => range.classes[i + 1] || range.classes[i] * 1.2;
	const tint = n => heatColour(Math.log(n) / Math.log(Math.max(2, range.most)));
	const lines = constantsOf(shown.trace, opcode).filter(
		c => c.ns >= from(range.least) && c.ns <= to(range.last));
	addTimeFigure(section, {title: nameOf(shown, `${opcode} by time`), height: 160,
		note: lines.length ? 'dashed: multiples of an RNR timer' : '',
		legend: () => range.most > 1 ? [[tint(1), '1 request'], [tint(Math.sqrt(range.most)),
			formatCount(Math.sqrt(range.most))], [tint(range.most), formatCount(range.most)]] : [],
		y: {log: true, domain: () => [from(range.least), to(range.last)], format: formatTime},
		draw: pen => {
			for (const [bin, c, n] of cells) {
				const x = pen.x(begin + bin * width), y = pen.y(to(c));
				const wide = pen.x(begin + (bin + 1) * width) - x;
				if (x + wide < 0 || x > pen.width)
					continue;
				pen.c.fillStyle = tint(n);
				pen.c.fillRect(x, y, Math.max(1.5, wide + .3), pen.y(from(c)) - y + .3);
			}
			lines.forEach(c => drawLine(pen, 0, pen.y(c.ns), pen.width, pen.y(c.ns), ink.soft,
				[4, 3]));
		},
		hover: (x, y) => {
			const bin = Math.floor((x - begin) / width);
			const cell = cells.find(c => c[0] === bin && y >= from(c[1]) && y < to(c[1]));
			const near = lines.filter(c => Math.abs(Math.log(c.ns / y)) < .05).map(c => c.text);
			return [formatTime(y), cell ? `${formatCount(cell[2])} requests` : 'none', ...near];
		}});
}

/* Multiples of RNR timers that requests waited for; those of RDMA without immediate never do. */
function constantsOf(trace, opcode) {
	if (!/^SEND|_WITH_IMM$/.test(opcode))
		return [];
	return (trace.stat.clusters || []).map(c => ({ns: c.constant_ns * c.times,
		text: `${c.times} x RNR timer ${c.value}: no receive was posted`}));
}

/*
 * Distributions of times, in classes of a width of 1/32. Both axes are logarithmic, so that the one
 * request of a million that took long is visible.
 */
function addDistribution(section, title, pick) {
	const sets = shownTraces.map(s => ({...s, classes: pick(s.trace)})).filter(s => s.classes.length);
	if (!sets.length)
		return false;
	const first = Math.max(1, leastOf(sets, s => s.classes[0][0]));
	const last = mostOf(sets, s => s.classes[s.classes.length - 1][1]) + 1;
	const widen = last / first < 10 ? 3 : 1.05; /* a single class is no wall */
	sets.forEach(s => { s.n = countOf(s.classes); });
	const floor = leastOf(sets, s => leastOf(s.classes, c => c[2] / s.n)) / 1.6;
	const top = mostOf(sets, s => mostOf(s.classes, c => c[2] / s.n)) * 1.2;
	addFigure(section, {title, height: 130, note: 'share of all in each class; both axes logarithmic',
		legend: () => sets.map(s => [s.colour(), s.name]),
		view: makeView([first / widen, last * widen], {log: true}), format: v => formatTime(v),
		y: {log: true, format: formatShare, domain: () => [Math.min(floor, top / 10), top]},
		draw: pen => sets.forEach((s, i) => drawClasses(pen, s, i)),
		hover: x => [formatTime(x), ...sets.map(s => {
			const c = s.classes.find(k => x >= k[0] && x < k[1] + 1);
			const below = countOf(s.classes.filter(k => k[1] < x));
			return nameOf(s, `${formatCount(c ? c[2] : 0)} here, ` +
				`${formatShare(below / s.n)} are below`);
		})]});
	addTable(section, ['', 'from', 'to', 'n'], [].concat(...sets.map(s => s.classes.map(
		c => [s.name, formatTime(c[0]), formatTime(c[1]), formatCount(c[2])]))),
	`${title}: as numbers`);
	return true;
}

function drawClasses(pen, set, i) {
	pen.c.fillStyle = pen.c.strokeStyle = set.colour();
	pen.c.lineWidth = 1.2;
	for (const c of set.classes) {
		const x = pen.x(Math.max(c[0], .5)), y = pen.y(c[2] / set.n);
		const box = [x, y, Math.max(1.5, pen.x(c[1] + 1) - x), pen.height - y + 2];
		if (i)
			pen.c.strokeRect(...box);
		else
			pen.c.fillRect(...box);
	}
}

/* Small numbers: a bar for each, the traces side by side */

function addBars(section, title, pick) {
	const sets = shownTraces.map(s => ({...s, classes: pick(s.trace) || []}))
		.filter(s => s.classes.length);
	if (!sets.length)
		return false;
	const labels = [...new Map([].concat(...sets.map(s => s.classes)).map(c => [c[0], c[1]]))]
		.sort((a, b) => a[0] - b[0]);
	const name = ([from, to]) => from === to ? formatCount(from) :
		`${formatCount(from)}\u2013${formatCount(to)}`;
	sets.forEach(s => {
		s.n = countOf(s.classes);
		s.by = new Map(s.classes.map(c => [c[0], c[2]]));
	});
	if (labels.length === 1) {
		add(section, 'p', `${title}: ${name(labels[0])} (${sets.map(s => nameOf(s,
			`all ${formatCount(s.n)}`)).join(', ')})`);
		return true;
	}
	addFigure(section, {title, height: 90, note: 'share of all', plain: true,
		legend: () => sets.map(s => [s.colour(), s.name]),
		view: makeView([-.5, Math.max(labels.length, 8) - .5], {least: 1}),
		format: v => labels[v] ? name(labels[v]) : '',
		ticks: pen => labels.map((l, i) => i).filter(i => i >= pen.part[0] && i <= pen.part[1]),
		y: {format: formatShare, domain: () => [0, 1]},
		draw: pen => labels.forEach((label, i) => {
			const wide = (pen.x(1) - pen.x(0)) * .7, each = wide / sets.length;
			sets.forEach((s, k) => {
				const y = pen.y((s.by.get(label[0]) || 0) / s.n);
				pen.c.fillStyle = s.colour();
				pen.c.fillRect(pen.x(i) - wide / 2 + k * each, y, each - 1, pen.height - y);
			});
		}),
		hover: x => {
			const label = labels[Math.round(x)];
			return label ? [name(label), ...sets.map(s => {
				const n = s.by.get(label[0]) || 0;
				return nameOf(s, `${formatCount(n)} of ${formatCount(s.n)}, ${formatShare(n / s.n)}`);
			})] : ['none'];
		}});
	return true;
}

/* Latency */

const FEW = 20;

function addLatency() {
	const section = addSection('latency', 'Latency');
	const opcodes = [...new Set([].concat(...shownTraces.map(s => opcodesOf(s.trace.stat)
		.map(o => o.opcode))))].slice(0, 8);
	if (!opcodes.length)
		return foldSection(section, 'No request of a send queue has a completion in this trace.');
	add(section, 'p', 'From the post to the end of the poll that returned the completion, of ' +
		'successful requests. Percentiles are at most 3.2 % too high.', {class: 'note'});
	/* what a few requests took is in the table */
	const timed = (trace, opcode) => countOf((opcodesOf(trace.stat).find(o => o.opcode === opcode) ||
		{classes: []}).classes);
	const often = opcodes.filter(o => shownTraces.some(s => timed(s.trace, o) >= FEW));
	for (const opcode of often.length ? often : opcodes.slice(0, 1)) {
		addHeats(section, opcode);
		addDistribution(section, `${opcode}: distribution`, trace => (opcodesOf(trace.stat)
			.find(o => o.opcode === opcode) || {classes: []}).classes);
	}
	addLatencyTables(section);
	return undefined;
}

function addLatencyTables(section) {
	const rows = [].concat(...shownTraces.map(s => s.trace.stat.requests.filter(r => r.timed)
		.map(r => [...(s.name ? [s.name] : []), r.opcode, r.least === r.most ?
			formatBytes(r.most) : `${formatBytes(r.least)} to ${formatBytes(r.most)}`,
			formatCount(r.posted), ...[r.p50_ns, r.p90_ns, r.p99_ns, r.p999_ns, r.max_ns]
				.map(formatTime)])));
	const table = addTable(section, [...(before ? [''] : []), 'opcode', 'size', 'n', 'p50', 'p90',
		'p99', 'p99.9', 'max'], rows, 'by opcode and size');
	if (table)
		table.open = true;
	addTable(section, ['queue', 'process', 'sends', 'receives', 'errors', 'sent', 'received', 'p50',
		'p99', 'max', 'most outstanding', 'mean', 'room', 'time without a receive'],
	after.stat.queues.map(q => [q.queue, q.process,
		formatCount(q.sends), formatCount(q.receives), formatCount(q.errors),
		formatBytes(q.sent_bytes), formatBytes(q.received_bytes), ...[q.p50_ns, q.p99_ns, q.max_ns]
			.map(ns => ns === null || ns < 0 ? '' : formatTime(ns)), q.sq_high, q.sq_mean, q.sq_room,
		q.rq_empty_ns === null || q.rq_empty_ns < 0 ? '' : formatTime(q.rq_empty_ns)]).slice(0, 500),
	'by queue', after.stat.queues.length);
	addTable(section, ['min_rnr_timer', 'times', 'took', 'requests', 'stalls', 'of'],
		(after.stat.clusters || []).map(c => [c.value, c.times,
			`${formatTime(c.from_ns)} to ${formatTime(c.to_ns)}`, formatCount(c.requests),
			formatCount(c.stalls), formatCount(c.of)]), 'requests that waited for a receive');
	addStarved(section);
}

/* Messages that were posted before the receive that they consumed. */
function addStarved(section) {
	const shown = shownTraces.filter(s => s.trace.stat.starved && s.trace.stat.starved.messages);
	addTable(section, [...(before ? [''] : []), 'messages', 'stalls', 'in all', 'longest'],
		shown.map(({name, trace: {stat: {starved}}}) => [...(before ? [name] : []),
			formatCount(starved.messages), formatCount(starved.stalls),
			formatTime(starved.total_ns), formatTime(starved.longest_ns)]),
		'messages that were posted before a receive');
}

/* Gaps, doorbells, polls */

function addGaps() {
	const section = addSection('gaps', 'Gaps');
	const posts = addDistribution(section, 'Between two posts to one send queue',
		trace => trace.stat.posting.send.gap_ns || []);
	const polls = addDistribution(section, 'Between two polls of a CQ (mean from one that found ' +
		'completions to the next)', trace => trace.stat.posting.poll_gap_ns || []);
	if (!posts && !polls)
		foldSection(section, 'No queue was posted to twice.');
}

function addDoorbells() {
	const section = addSection('doorbells', 'Doorbells and polls');
	const any = [['Requests of a post', p => p.send.requests_of_a_post],
		['Requests from a signalled one to the next', p => p.send.signal_distance],
		['Completions of a poll that found any', p => p.completions_of_a_poll]]
		.map(([title, pick]) => addBars(section, title, trace => pick(trace.stat.posting)))
		.some(Boolean);
	if (!any)
		return foldSection(section, 'Nothing was posted or polled in this trace.');
	const share = (a, b) => b ? `${(a / b * 100).toFixed(1)} %` : '-';
	const lines = [['posts', p => formatCount(p.send.posts)],
		['signalled', p => share(p.send.signalled, p.send.judged)],
		['inline, of those that would fit', p => share(p.send.fit_and_inline, p.send.fit_inline)],
		['polls that found any', p => formatCount(p.polls)],
		['polls that found nothing', p => formatCount(p.empty_polls)],
		['posts that were refused', p => formatCount(p.send.refused)]];
	const table = addTable(section, ['', ...shownTraces.map(s => s.name || 'this trace')],
		lines.map(([name, show]) => [name, ...shownTraces.map(s => show(s.trace.stat.posting))]),
		'posting and polling');
	table.open = true;
	addTable(section, ['cq', 'process', 'polls', 'empty', 'completions', 'a poll', 'could lie there',
		'room'], after.stat.completion_queues.map(c => [c.cq, c.process, formatCount(c.polls),
		formatCount(c.empty_polls), formatCount(c.completions), c.completions_per_poll, c.could_lie,
		c.room]), 'completion queues');
	return undefined;
}
