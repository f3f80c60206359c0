/*
 * The page of `verbatim report`: draws what is in the element "data" (report.c says what that is).
 * Everything of a trace goes into the document as text, never as markup.
 */
'use strict';
(function () {

const data = JSON.parse(document.getElementById('data').textContent);
const after = data.after, before = data.before || null;
const page = document.getElementById('page'), hoverBox = document.getElementById('hover');
const colour = i => `var(--c${i % 6})`;
const figures = [];
const ROOM = 1.06; /* above the highest line */
const LEFT = 62;   /* pixels for the labels of a y axis */

/* Elements */

function add(parent, name, text, attributes) {
	const element = document.createElement(name);
	if (text !== undefined && text !== null)
		element.textContent = text;
	for (const key of Object.keys(attributes || {}))
		element.setAttribute(key, attributes[key]);
	parent.appendChild(element);
	return element;
}

function addSection(id, title) {
	const section = add(page, 'section', null, {id});
	add(section, 'h2', title);
	add(document.getElementById('contents'), 'a', title, {href: '#' + id});
	return section;
}

function addTable(parent, columns, rows, title, of) {
	if (!rows.length)
		return null;
	const details = add(parent, 'details');
	const more = of > rows.length ? ` of ${formatCount(of)}` : '';
	add(details, 'summary', `${title || 'table'}: ${formatCount(rows.length)}${more} row` +
		(rows.length === 1 ? '' : 's'));
	const box = add(details, 'div', null, {class: 'scroll', tabindex: 0});
	const table = add(box, 'table'), head = add(add(table, 'thead'), 'tr');
	const numeric = columns.map((c, i) => rows.every(r => r[i] === null ||
		/^[-+0-9.,]+( ?[a-zA-Z%/]{1,6})?$/.test(String(r[i]))));
	columns.forEach((c, i) => add(head, 'th', c, numeric[i] ? {class: 'n'} : {}));
	const body = add(table, 'tbody');
	for (const row of rows) {
		const line = add(body, 'tr');
		row.forEach((cell, i) => addCell(line, cell, numeric[i]));
	}
	return details;
}

function addCell(line, cell, numeric) {
	const text = cell === null || cell === undefined ? '' : String(cell);
	const td = add(line, 'td', null,
		numeric ? {class: 'n'} : text.length > 40 ? {class: 'long'} : {});
	addText(td, text);
}

/* Text in which the events that the page has are links. */
function addText(parent, text) {
	for (const piece of String(text).split(/(\b\d+:\d+\b)/))
		if (data.events[piece])
			add(parent, 'a', piece, {href: '#event-' + piece.replace(':', '-')});
		else
			parent.appendChild(document.createTextNode(piece));
}

/* Rows of a table of the trace, as objects. */
function rowsOf(trace, name) {
	const table = trace.tables[name];
	return table.rows.map(row => {
		const object = {};
		table.columns.forEach((c, i) => { object[c] = row[i]; });
		return object;
	});
}

/* Numbers */

function formatCount(n) {
	return n === null || n === undefined ? '' : String(Math.round(n)).replace(
		/\B(?=(\d{3})+$)/g, ',');
}

function formatScaled(n, step, units) {
	if (n === null || n === undefined || !isFinite(n))
		return '?';
	let i = 0;
	for (; Math.abs(n) >= step * .9995 && i < units.length - 1; i++)
		n /= step;
	const digits = i && Math.abs(n) < 99.95 ? (Math.abs(n) < 9.995 ? 2 : 1) : 0;
	return `${n.toFixed(i || Number.isInteger(n) ? digits : 2)}${units[i] ? ' ' + units[i] : ''}`;
}

const formatBytes = n => formatScaled(n, 1000, ['B', 'KB', 'MB', 'GB', 'TB']);
const formatRate = n => formatScaled(n, 1000, ['', 'k', 'M', 'G']);
const formatShort = n => Math.abs(n) < 1000 ? String(+n.toFixed(2)) : formatRate(n);

function formatTime(ns) {
	if (ns === null || ns === undefined || ns < 0)
		return '?';
	return formatScaled(ns, 1000, ['ns', 'us', 'ms']).replace(/^(\d{4,})(\.\d+)? ms$/,
		(all, ms) => `${(ms / 1000).toFixed(2)} s`);
}

/* A moment of the recording: as fine as what is visible asks for. */
function formatMoment(ns, span) {
	const digits = span > 2e10 ? 0 : span > 2e9 ? 1 : span > 2e8 ? 2 : span > 2e6 ? 4 : 6;
	return `${(ns / 1e9).toFixed(digits)} s`;
}

function ratioOf(a, b) {
	return b ? a / b : null;
}

/* What the run was, in a few numbers */

function summarise(trace) {
	const stat = trace.stat, s = stat.summary, send = stat.posting.send;
	const span = s.last_completion_ns - s.first_post_ns;
	const main = mainOpcode(stat);
	const found = stat.posting.completions_of_a_poll.reduce((n, c) => n + c[2], 0);
	return {
		span: s.first_post_ns >= 0 && span > 0 ? span : null,
		requests: send.requests, posts: send.posts, bytes: s.sent_bytes, main,
		rate: span > 0 ? send.requests / span * 1e9 : null,
		bandwidth: span > 0 ? send.bytes / span * 1e9 : null,
		p50: main ? percentile(main.classes, 50) : null,
		p99: main ? percentile(main.classes, 99) : null,
		perPoll: ratioOf(s.completions, found || stat.posting.polls),
		perDoorbell: ratioOf(send.requests, send.posts),
		errors: s.errors, lost: s.lost, waited: stat.waited ? stat.waited.total_ns : null,
	};
}

/* The classes of all sizes of an opcode, which are the same in each. */
function joinClasses(all) {
	const by = new Map();
	for (const classes of all)
		for (const [from, to, n] of classes)
			by.set(from, [from, to, n + (by.has(from) ? by.get(from)[2] : 0)]);
	return [...by.values()].sort((a, b) => a[0] - b[0]);
}

function opcodesOf(stat) {
	const by = new Map();
	for (const row of stat.requests)
		if (row.latency && row.latency.length)
			by.set(row.opcode, [...(by.get(row.opcode) || []), row.latency]);
	return [...by.entries()].map(([opcode, all]) => ({opcode, classes: joinClasses(all)}));
}

const countOf = classes => classes.reduce((n, c) => n + c[2], 0);

function mainOpcode(stat) {
	return opcodesOf(stat).sort((a, b) => countOf(b.classes) - countOf(a.classes))[0] || null;
}

function percentile(classes, percent) {
	const wanted = Math.max(1, Math.ceil(countOf(classes) * percent / 100));
	let n = 0;
	for (const c of classes) {
		n += c[2];
		if (n >= wanted)
			return c[1];
	}
	return null;
}

/* What is pointed at */

function showHover(lines, x, y) {
	hoverBox.textContent = lines.join('\n');
	hoverBox.hidden = !lines.length;
	const box = hoverBox.getBoundingClientRect();
	const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
	hoverBox.style.left = `${Math.max(4, left)}px`;
	hoverBox.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - box.height - 4))}px`;
}

function hideHover() {
	hoverBox.hidden = true;
}

/*
 * A plot over an x axis that can be zoomed: by dragging, the wheel, and keys.
 *
 *	title, note	what it shows, and what must be known to read it
 *	height, left	pixels: of the plot, and left of it
 *	x, y		{domain, format(value, span), log}; y.domain(from, to) is of what is visible
 *	draw(to)	draws: to.x, to.y scales, to.layer the clipped group, to.context() a canvas
 *	hover(x, y)	the lines that say what is there
 *	legend		[[colour, text], ...]
 */
function addFigure(parent, what) {
	const figure = add(parent, 'figure', null, {tabindex: 0, role: 'img', 'aria-label':
		`${what.title}. Arrow keys move, + and - zoom, Escape shows all.`});
	const caption = add(figure, 'figcaption', what.title + ' ');
	if (what.note)
		add(caption, 'span', what.note, {class: 'note'});
	if (what.legend && what.legend.length > 1) {
		const legend = add(figure, 'div', null, {class: 'legend'});
		for (const [c, text] of what.legend) {
			const entry = add(legend, 'span');
			add(entry, 'i').style.background = c;
			entry.appendChild(document.createTextNode(text));
		}
	}
	what.figure = figure;
	what.drawing = add(figure, 'div', null, {class: 'drawing'});
	what.view = what.x.domain.slice();
	what.pointed = null;
	what.level = 10;
	figures.push(what);
	drawFigure(what);
	figure.addEventListener('keydown', event => steerFigure(what, event));
	return figure;
}

function scaleOf(axis, domain, range) {
	const scale = axis.log ? d3.scale.log() : d3.scale.linear();
	return scale.domain(domain).range(range);
}

function drawAxis(to, axis, scale, orient, ticks, format) {
	const made = d3.svg.axis().scale(scale).orient(orient).tickFormat(format);
	if (axis.log)
		made.tickValues(logTicks(scale.domain(), ticks));
	else
		made.ticks(ticks);
	to.call(made);
}

/* Powers of ten, what is between them if there is room, and each second or third if there is not. */
function logTicks(domain, most) {
	const values = [];
	for (const [every, steps] of [[1, [1, 2, 5]], [1, [1, 3]], [1, [1]], [2, [1]], [3, [1]], [6, [1]]]) {
		values.length = 0;
		const first = every * Math.floor(Math.log10(domain[0]) / every);
		for (let power = first; 10 ** power <= domain[1]; power += every)
			for (const step of steps)
				if (step * 10 ** power >= domain[0] && step * 10 ** power <= domain[1])
					values.push(step * 10 ** power);
		if (values.length <= most)
			break;
	}
	return values;
}

function drawFigure(what) {
	const wide = Math.max(260, what.drawing.clientWidth || 260);
	const left = what.left || LEFT, right = 20, top = 8, bottom = 24;
	const height = what.height || 200, width = wide - left - right;
	what.drawing.textContent = '';
	const svg = d3.select(what.drawing).append('svg')
		.attr('viewBox', `0 0 ${wide} ${top + height + bottom}`)
		.attr('height', top + height + bottom);
	const to = svg.append('g').attr('transform', `translate(${left},${top})`);
	const x = scaleOf(what.x, what.view, [0, width]);
	const yDomain = typeof what.y.domain === 'function' ? what.y.domain(...what.view) : what.y.domain;
	const y = scaleOf(what.y, yDomain, [height, 0]);
	const span = what.view[1] - what.view[0], clip = `clip-${figures.indexOf(what)}-${what.title}`
		.replace(/\W+/g, '-');
	if (!what.y.none) {
		drawAxis(to.append('g').attr('class', 'axis'), what.y, y, 'left',
			Math.max(2, height / 45), v => what.y.format(v));
		to.append('g').attr('class', 'grid').selectAll('line')
			.data(what.y.log ? logTicks(yDomain, height / 45) : y.ticks(Math.max(2, height / 45)))
			.enter().append('line').attr({x1: 0, x2: width}).attr('y1', y).attr('y2', y);
	}
	drawAxis(to.append('g').attr('class', 'axis').attr('transform', `translate(0,${height})`),
		what.x, x, 'bottom', Math.max(2, Math.floor(width / 95)), v => what.x.format(v, span));
	svg.append('clipPath').attr('id', clip).append('rect').attr({width, height});
	const layer = to.append('g').attr('clip-path', `url(#${clip})`);
	what.draw({x, y, layer, width, height, context: () => addCanvas(what, left, top, width, height)});
	what.scale = x;
	what.cross = to.append('line').attr({class: 'cross', y1: 0, y2: height}).style('display', 'none');
	attachPointer(what, to, x, y, width, height);
}

/* A canvas below the drawing, in its pixels. */
function addCanvas(what, left, top, width, height) {
	const canvas = document.createElement('canvas'), dense = window.devicePixelRatio || 1;
	canvas.width = width * dense;
	canvas.height = height * dense;
	canvas.style.cssText = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
	what.drawing.insertBefore(canvas, what.drawing.firstChild);
	const context = canvas.getContext('2d');
	context.scale(dense, dense);
	return context;
}

function attachPointer(what, to, x, y, width, height) {
	const brush = d3.svg.brush().x(x).on('brushend', () => {
		if (!brush.empty() && x(brush.extent()[1]) - x(brush.extent()[0]) > 4)
			showPart(what, brush.extent());
	});
	const area = to.append('g').call(brush);
	area.selectAll('rect').attr({y: 0, height});
	area.on('mousemove.hover', () => {
		const [px, py] = d3.mouse(area.node());
		pointAt(what, px, py, y, d3.event.clientX, d3.event.clientY);
	}).on('mouseleave.hover', () => {
		hideHover();
		what.cross.style('display', 'none');
	}).on('dblclick.hover', () => showPart(what, what.x.domain));
	what.drawing.onwheel = event => {
		if (!event.ctrlKey && !event.shiftKey)
			return; /* the page scrolls */
		event.preventDefault();
		const box = what.drawing.getBoundingClientRect();
		const at = x.invert(event.clientX - box.left - (what.left || LEFT));
		zoomFigure(what, event.deltaY > 0 ? 1.4 : 1 / 1.4, at);
	};
	what.yScale = y;
	what.wide = width;
	what.high = height;
}

function pointAt(what, px, py, y, clientX, clientY) {
	what.pointed = px;
	what.level = py;
	what.cross.style('display', null).attr({x1: px, x2: px});
	const lines = what.hover ? what.hover(what.scale.invert(px), y.invert(py)) : [];
	showHover(lines, clientX, clientY);
}

function showPart(what, part) {
	const [least, most] = what.x.domain;
	what.view = [Math.max(least, part[0]), Math.min(most, part[1])];
	if (!(what.view[1] > what.view[0]))
		what.view = what.x.domain.slice();
	drawFigure(what);
}

/* By a factor, around a value; in the scale's own measure. */
function zoomFigure(what, factor, at) {
	const to = what.x.log ? Math.log : v => v, from = what.x.log ? Math.exp : v => v;
	const centre = to(at === undefined ? from((to(what.view[0]) + to(what.view[1])) / 2) : at);
	showPart(what, what.view.map(v => from(centre + (to(v) - centre) * factor)));
}

function moveFigure(what, share) {
	const to = what.x.log ? Math.log : v => v, from = what.x.log ? Math.exp : v => v;
	const [a, b] = what.view.map(to), [least, most] = what.x.domain.map(to);
	const by = Math.max(least - a, Math.min(most - b, (b - a) * share));
	showPart(what, [from(a + by), from(b + by)]);
}

/* By a fiftieth of the width, and by half a row. */
function pointBeside(what, side, rise) {
	const within = (value, least, most) => Math.max(least, Math.min(most, value));
	const from = what.pointed === null ? what.wide / 2 : what.pointed;
	const px = within(from + side * what.wide / 50, 0, what.wide);
	const py = within(what.level + rise * 10, 1, what.high - 1);
	const box = what.drawing.getBoundingClientRect();
	pointAt(what, px, py, what.yScale, box.left + px + (what.left || LEFT), box.top + py);
}

/* Shift and an arrow point at what is there, which is said. */
function steerFigure(what, event) {
	const side = {ArrowLeft: -1, ArrowRight: 1}[event.key] || 0;
	const rise = {ArrowUp: -1, ArrowDown: 1}[event.key] || 0;
	if ((side || rise) && event.shiftKey) {
		pointBeside(what, side, rise);
	} else if (side) {
		moveFigure(what, side / 4);
	} else if (event.key === '+' || event.key === '=') {
		zoomFigure(what, 1 / 1.6);
	} else if (event.key === '-') {
		zoomFigure(what, 1.6);
	} else if (event.key === 'Escape') {
		hideHover();
		showPart(what, what.x.domain);
	} else {
		return;
	}
	event.preventDefault();
}

/* Line of steps: [x, y] holds until the next. */
function drawSteps(to, points, stroke, dash) {
	to.layer.append('path').attr({fill: 'none', 'stroke-width': 1.6, 'stroke-dasharray': dash || null,
		d: d3.svg.line().x(p => to.x(p[0])).y(p => to.y(p[1])).interpolate('step-after')(points)})
		.style('stroke', stroke);
}

/* The traces that a plot shows: each with its name, and how its lines are drawn. */
function tracesShown() {
	return before ? [{trace: after, name: 'after', dash: null}, {trace: before, name: 'before',
		dash: '5 3'}] : [{trace: after, name: '', dash: null}];
}

const nameOf = (shown, text) => shown.name ? `${shown.name}: ${text}` : text;

/* Verdict */

function addVerdict() {
	const section = addSection('verdict', 'Verdict');
	const all = [...verdictsOfCheck(after.check), ...(after.diff ? verdictsOfDiff(after.diff) : [])]
		.sort((a, b) => a.rank - b.rank);
	const worst = all.length ? all[0].rank : 9;
	const box = add(section, 'div', null, {class: 'verdict' + (worst < 2 ? ' bad' :
		worst < 4 ? ' warn' : '')});
	add(box, 'p', headline(all));
	const list = add(box, 'ol');
	for (const verdict of all.slice(0, 3))
		addVerdictLine(list, verdict);
	if (all.length > 3) {
		const more = add(section, 'details');
		add(more, 'summary', `${formatCount(all.length - 3)} more`);
		const rest = add(more, 'ol', null, {start: 4});
		for (const verdict of all.slice(3))
			addVerdictLine(rest, verdict);
	}
	if (!all.length)
		list.remove();
}

function headline(all) {
	const check = after.check, n = kind => all.filter(v => v.kind === kind)
		.reduce((sum, v) => sum + v.n, 0);
	const words = [];
	for (const [kind, text] of [['failed', 'failed verb'], ['first', 'first error'],
			['error', 'error'], ['warning', 'warning'], ['hazard', 'hazard'],
			['regression', 'regression'], ['change', 'change']])
		if (n(kind))
			words.push(`${formatCount(n(kind))} ${text}${n(kind) === 1 ? '' : 's'}`);
	const clean = `Nothing found: ${formatCount(check.rules.filter(r => r.checked).length)} of ` +
		`${check.rules.length} rules had what they need.`;
	return words.length ? words.join(', ') : clean;
}

function addVerdictLine(list, verdict) {
	const line = add(list, 'li', null, verdict.rank < 2 ? {class: 'error'} :
		verdict.rank < 4 ? {class: 'warning'} : {});
	add(line, 'b', verdict.title + ' ');
	addText(line, verdict.text);
}

function verdictsOfCheck(check) {
	const found = [];
	for (const fact of check.failed_verbs || [])
		found.push({rank: 1, kind: 'failed', n: fact.times || 1, title: fact.verb,
			text: `failed: ${fact.errno || fact.ret || ''} at ${fact.event}` +
				(fact.cause ? `: ${fact.cause}` : '')});
	for (const error of check.first_errors || [])
		found.push({rank: 0, kind: 'first', n: 1, title: error.status, text:
			`${error.object || ''} of process ${error.process}, polled at ${error.event}` +
			(error.request ? `, posted at ${error.request}` : '') +
			[error.keys, error.lkey_of && `lkey of ${error.lkey_of}`, error.peer_then,
				error.peer && `peer ${error.peer}`].filter(Boolean).map(t => `; ${t}`).join('') +
			(error.flushed ? `; ${formatCount(error.flushed)} flushed after it` : '')});
	for (const process of check.killed_processes || [])
		found.push({rank: 1, kind: 'failed', n: 1, title: 'killed',
			text: `process ${process.process}: ${process.signal || process.how || ''}`});
	for (const f of check.findings || [])
		found.push({rank: f.severity === 'error' ? 1 : f.severity === 'warning' ? 2 :
			f.severity === 'hazard' ? 3 : 5,
			kind: f.severity, n: f.count, title: `${f.rule} ${f.name}`,
			text: `${f.message} (${f.event}` + (f.count > 1 ? `, ${formatCount(f.count)} times` :
				'') + ')'});
	return found;
}

function verdictsOfDiff(diff) {
	const ranks = {regression: 1, worse: 1, changed: 4};
	const shown = v => typeof v === 'number' ? formatShort(v) : v === null ? 'none' : v;
	return diff.changes.filter(c => c.verdict in ranks).map(c => ({
		rank: ranks[c.verdict], kind: ranks[c.verdict] === 1 ? 'regression' : 'change', n: 1,
		title: `${c.section}: ${c.what}`, text: `${shown(c.before)} -> ${shown(c.after)} ` +
			`${c.verdict}${c.place ? ` at ${c.place}` : ''}${c.note ? ` (${c.note})` : ''}`,
	}));
}

/* Tiles */

function addTiles() {
	const section = addSection('tiles', 'At a glance');
	const now = summarise(after), then = before && summarise(before);
	const box = add(section, 'div', null, {class: 'tiles'});
	const tile = (name, show) => {
		const element = add(box, 'div', null, {class: 'tile'});
		add(element, 'b', show(now));
		add(element, 'span', name + (then ? ` (before: ${show(then)})` : ''));
	};
	const main = now.main ? now.main.opcode : null;
	const or = (value, format) => value === null || value === undefined ? '-' : format(value);
	tile('requests a second', s => or(s.rate, formatRate));
	tile('bytes a second', s => or(s.bandwidth, n => `${formatBytes(n)}/s`));
	tile(main ? `${main}: p50, p99` : 'latency: p50, p99',
		s => or(s.p50, n => `${formatTime(n)}, ${formatTime(s.p99)}`));
	tile('completions a poll that found any', s => or(s.perPoll, n => n.toFixed(2)));
	tile('requests a doorbell', s => or(s.perDoorbell, n => n.toFixed(2)));
	tile('errors, lost events, waited for the recorder',
		s => `${formatCount(s.errors)}, ${formatCount(s.lost)}, ${or(s.waited, formatTime)}`);
	if (!now.requests)
		add(section, 'p', 'Nothing was posted to a send queue in this trace.', {class: 'note'});
}

/* Time line */

/* Times of a trace begin with its first post where two are compared. */
const originOf = trace => before && trace.timeline.begin > 0 ? trace.timeline.begin : 0;

function binsOf(trace) {
	const t = trace.timeline, origin = originOf(trace);
	return t.bins.map((bin, i) => ({from: t.begin - origin + i * t.width,
		to: t.begin - origin + (i + 1) * t.width, requests: bin[0], bytes: bin[1],
		receives: bin[2], completions: bin[3], errors: bin[4], doorbells: bin[5]}));
}

/* From where to where something was posted or completed. */
function activeSpan(traces) {
	let least = Infinity, most = -Infinity;
	for (const trace of traces) {
		const t = trace.timeline;
		if (t.begin < 0 || !t.bins.length)
			continue;
		least = Math.min(least, t.begin - originOf(trace));
		most = Math.max(most, t.begin - originOf(trace) + t.bins.length * t.width);
	}
	return most > least ? [least, most] : null;
}

function atBin(bins, x) {
	return bins.find(bin => x >= bin.from && x < bin.to);
}

function addRate(section, span, title, key, format) {
	const shown = tracesShown().map((s, i) => ({...s, bins: binsOf(s.trace), colour: colour(i)}));
	const perSecond = bin => bin[key] / (bin.to - bin.from) * 1e9;
	addFigure(section, {title, height: 150, x: {domain: span, format: formatMoment},
		legend: shown.map(s => [s.colour, s.name]),
		y: {format, domain: (from, to) => [0, d3.max(shown, s => d3.max(s.bins.filter(
			b => b.to > from && b.from < to), perSecond)) * ROOM || 1]},
		draw: to => shown.forEach(s => drawSteps(to, s.bins.map(b => [b.from, perSecond(b)])
			.concat(s.bins.length ? [[s.bins[s.bins.length - 1].to, 0]] : []), s.colour, s.dash)),
		hover: x => [formatMoment(x, 1), ...shown.map(s => {
			const bin = atBin(s.bins, x);
			return bin ? nameOf(s, `${format(perSecond(bin))}/s: ${formatCount(bin.requests)} ` +
				`requests, ${formatCount(bin.completions)} completions, ` +
				`${formatCount(bin.errors)} errors in ${formatTime(bin.to - bin.from)}`) : '';
		}).filter(Boolean)]});
	addTable(section, ['', 'from', 'requests', 'bytes', 'receives', 'completions', 'errors'],
		[].concat(...shown.map(s => s.bins.filter(b => b.requests || b.completions || b.receives)
			.map(b => [s.name, formatMoment(b.from, 1), formatCount(b.requests),
				formatBytes(b.bytes), formatCount(b.receives), formatCount(b.completions),
				formatCount(b.errors)]))), `${title}: as numbers`);
}

/* The depth at x: [bin, least, most] holds from its bin on. */
function depthsOf(queue, t, origin) {
	const points = [];
	for (const [bin, least, most] of queue.depth)
		points.push([t.begin - origin + bin * t.width, queue.send ? most : least]);
	return points;
}

function addDepth(section, span, trace, send) {
	const queues = trace.timeline.queues.filter(q => q.send === send).slice(0, 6);
	if (!queues.length)
		return;
	const shown = queues.map((q, i) => ({q, colour: colour(i),
		points: depthsOf(q, trace.timeline, originOf(trace))}));
	const name = q => `${q.queue} of process ${q.process}` + (q.room ? ` (room for ${q.room})` : '') +
		(q.unsure ? ' ?' : '');
	const title = send ? 'Outstanding sends' : 'Receives that are posted';
	addFigure(section, {title, height: 120,
		note: (send ? 'the most of each bin' : 'the least of each bin; at 0 a message has nowhere ' +
			'to go') + (trace.timeline.more_queues ? '; the busiest queues' : ''),
		legend: shown.map(s => [s.colour, name(s.q)]).concat(shown.length === 1 ? [['', '']] : []),
		x: {domain: span, format: formatMoment},
		y: {format: formatShort, domain: () => [0, d3.max(shown, s => d3.max(s.points, p => p[1])) *
			ROOM || 1]},
		draw: to => {
			shown.forEach(s => drawSteps(to, s.points, s.colour));
			if (!send)
				shown.forEach(s => s.points.filter(p => p[1] === 0).forEach(p =>
					to.layer.append('circle').attr({cx: to.x(p[0]), cy: to.y(0), r: 2.5})
						.style('fill', 'var(--bad)')));
		},
		hover: x => [formatMoment(x, 1), ...shown.map(s => {
			const at = s.points.filter(p => p[0] <= x).pop();
			return at ? `${name(s.q)}: ${formatCount(at[1])}` : '';
		}).filter(Boolean)]});
}

function addControl(section, trace) {
	const calls = rowsOf(trace, 'control'), marks = rowsOf(trace, 'marks');
	if (!calls.length)
		return;
	const end = Math.max(...calls.map(c => c.begin + c.duration), ...marks.map(m => m.time));
	const threads = [...new Set(calls.map(c => c.thread))].sort((a, b) => a - b).slice(0, 24);
	const start = Math.min(...calls.map(c => c.begin), ...marks.map(m => m.time));
	const row = c => threads.indexOf(c.thread);
	const span = [start, end > start ? end : start + 1];
	addFigure(section, {title: 'Control verbs', height: Math.max(40, threads.length * 18), left: 76,
		note: 'each as long as it took; red: failed; dashed: marks and phases',
		x: {domain: span, format: formatMoment},
		y: {domain: [threads.length, 0], none: true, format: String},
		draw: to => {
			const labels = d3.select(to.layer.node().parentNode); /* beside what is clipped */
			threads.forEach((t, i) => labels.append('text').attr({x: -8, y: to.y(i + .75),
				'text-anchor': 'end'}).text(`thread ${t}`));
			calls.filter(c => row(c) >= 0).forEach(c => to.layer.append('rect')
				.attr({x: to.x(c.begin), y: to.y(row(c) + .1), height: 14,
					width: Math.max(1.5, to.x(c.begin + c.duration) - to.x(c.begin))})
				.style('fill', c.failed ? 'var(--bad)' : 'var(--c0)'));
			marks.forEach(m => to.layer.append('line').attr({class: 'mark', x1: to.x(m.time),
				x2: to.x(m.time), y1: 0, y2: to.height}));
		},
		hover: (x, y) => {
			const near = calls.filter(c => row(c) === Math.floor(y)).sort((a, b) =>
				distance(a, x) - distance(b, x)).slice(0, 3);
			const marked = marks.filter(m => Math.abs(m.time - x) < (span[1] - span[0]) / 100);
			return [formatMoment(x, 1), ...near.map(c => `${c.event} ${c.verb}(${c.name || ''}) ` +
				`${formatTime(c.duration)}${c.failed ? ' failed' : ''}`),
				...marked.map(m => `${m.kind} ${m.text}`)];
		}});
	addTable(section, ['event', 'verb', 'object', 'begin', 'took', 'failed'], calls.map(c =>
		[c.event, c.verb, c.name, formatMoment(c.begin, 1), formatTime(c.duration),
			c.failed ? 'failed' : '']), 'the longest control verbs', trace.tables.control.of);
}

const distance = (c, x) => x < c.begin ? c.begin - x : Math.max(0, x - c.begin - c.duration);

function addTimeline() {
	const section = addSection('timeline', 'Time line');
	const span = activeSpan(tracesShown().map(s => s.trace));
	if (before)
		add(section, 'p', 'Both begin with their first post.', {class: 'note'});
	if (span) {
		addRate(section, span, 'Requests a second', 'requests', formatShort);
		addRate(section, span, 'Bytes a second', 'bytes', formatBytes);
		addDepth(section, span, after, true);
		addDepth(section, span, after, false);
	} else {
		add(section, 'p', 'Nothing was posted or completed in this trace.', {class: 'note'});
	}
	addControl(section, after);
}

/* Latency */

const heatColours = ['#7a5bb5', '#3f7fc0', '#1f9a94', '#58c05c', '#f0b400'];

function addHeat(section, shown, opcode) {
	const t = shown.trace.timeline, cells = t.heat[opcode], origin = originOf(shown.trace);
	if (!cells || !cells.length)
		return;
	const width = 2 * t.width, most = d3.max(cells, c => c[2]);
	const least = Math.max(0, d3.min(cells, c => c[1]) - 2);
	const last = Math.min(t.classes.length - 1, d3.max(cells, c => c[1]) + 2);
	const from = i => Math.max(64, t.classes[i]), to = i => t.classes[i + 1] || t.classes[i] * 1.2;
	const tint = d3.scale.log().domain([1, Math.max(2, most)]).range([0, 1]).clamp(true);
	const shade = d3.scale.linear().domain([0, .25, .5, .75, 1]).range(heatColours);
	const begin = t.begin - origin, end = begin + t.bins.length * t.width;
	const lines = constantsOf(shown.trace, opcode).filter(
		c => c.ns >= from(least) && c.ns <= to(last));
	addFigure(section, {title: nameOf(shown, `${opcode} by time`), height: 190,
		note: 'bright: many requests' + (lines.length ? '; dashed: multiples of an RNR timer' : ''),
		x: {domain: [begin, end], format: formatMoment},
		y: {log: true, domain: [from(least), to(last)], format: formatTime},
		draw: drawn => {
			const context = drawn.context();
			for (const [bin, c, n] of cells) {
				const x = drawn.x(begin + bin * width), y = drawn.y(to(c));
				context.fillStyle = shade(tint(n));
				context.fillRect(x, y, Math.max(1.5, drawn.x(begin + (bin + 1) * width) - x + .3),
					drawn.y(from(c)) - y + .3);
			}
			lines.forEach(c => drawn.layer.append('line').attr({class: 'mark', x1: 0,
				x2: drawn.width, y1: drawn.y(c.ns), y2: drawn.y(c.ns)}));
		},
		hover: (x, y) => {
			const bin = Math.floor((x - begin) / width);
			const cell = cells.find(c => c[0] === bin && y >= from(c[1]) && y < to(c[1]));
			const near = lines.filter(c => Math.abs(Math.log(c.ns / y)) < .05).map(c => c.text);
			return [`${formatMoment(x, 1)}, ${formatTime(y)}`, cell ? `${formatCount(cell[2])} ` +
				'requests' : 'none', ...near];
		}});
}

/* Multiples of RNR timers that requests waited for; those of RDMA without immediate never do. */
function constantsOf(trace, opcode) {
	if (!/^SEND|_WITH_IMM$/.test(opcode))
		return [];
	return (trace.stat.clusters || []).map(c => ({ns: c.constant_ns * c.times,
		text: `${c.times} x RNR timer ${c.value}: no receive was posted`}));
}

function addDistribution(section, title, sets, format) {
	const shown = sets.filter(s => s.classes.length);
	if (!shown.length)
		return false;
	const first = Math.max(1, d3.min(shown, s => s.classes[0][0]));
	const last = d3.max(shown, s => s.classes[s.classes.length - 1][1]) + 1;
	const widen = last / first < 10 ? 3 : 1.05; /* a single class is no wall */
	const least = first / widen, most = last * widen;
	const share = s => c => c[2] / s.n;
	shown.forEach((s, i) => {
		s.n = countOf(s.classes);
		s.colour = colour(i);
	});
	addFigure(section, {title, height: 150, note: 'share of all in each class, 1/32 wide',
		legend: shown.map(s => [s.colour, s.name]),
		x: {log: true, domain: [least, most], format},
		y: {format: v => `${(v * 100).toFixed(v < .01 ? 2 : v < .1 ? 1 : 0)} %`,
			domain: (from, to) => [0, d3.max(shown, s => d3.max(s.classes.filter(
				c => c[1] >= from && c[0] <= to), share(s))) || 1]},
		draw: to => shown.forEach((s, i) => s.classes.forEach(c => to.layer.append('rect').attr({
			x: to.x(Math.max(c[0], .5)), y: to.y(share(s)(c)), height: to.y(0) - to.y(share(s)(c)),
			width: Math.max(1.5, to.x(c[1] + 1) - to.x(Math.max(c[0], .5)))})
			.style(i ? {fill: 'none', stroke: s.colour} : {fill: s.colour}))),
		hover: x => [format(x), ...shown.map(s => {
			const c = s.classes.find(k => x >= k[0] && x < k[1] + 1);
			const below = countOf(s.classes.filter(k => k[1] < x));
			return `${s.name ? s.name + ': ' : ''}${formatCount(c ? c[2] : 0)} here, ` +
				`${(below / s.n * 100).toFixed(1)} % are below`;
		})]});
	addTable(section, ['', 'from', 'to', 'n'], [].concat(...shown.map(s => s.classes.map(
		c => [s.name, format(c[0]), format(c[1]), formatCount(c[2])]))), `${title}: as numbers`);
	return true;
}

function addLatency() {
	const section = addSection('latency', 'Latency');
	add(section, 'p', 'From the post to the end of the poll that returned the completion, of ' +
		'successful requests. Percentiles are at most 3.2 % too high.', {class: 'note'});
	const opcodes = [...new Set([].concat(...tracesShown().map(s => opcodesOf(s.trace.stat)
		.map(o => o.opcode))))].slice(0, 8);
	for (const opcode of opcodes) {
		add(section, 'h3', opcode);
		tracesShown().forEach(s => addHeat(section, s, opcode));
		addDistribution(section, `${opcode}: distribution`, tracesShown().map(s => ({name: s.name,
			classes: (opcodesOf(s.trace.stat).find(o => o.opcode === opcode) || {classes: []})
				.classes})), formatTime);
	}
	if (!opcodes.length)
		add(section, 'p', 'No request of a send queue has a completion in this trace.',
			{class: 'note'});
	const rows = [].concat(...tracesShown().map(s => s.trace.stat.requests.filter(r => r.timed)
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
	const shown = tracesShown().filter(s => s.trace.stat.starved && s.trace.stat.starved.messages);
	addTable(section, [...(before ? [''] : []), 'messages', 'stalls', 'in all', 'longest'],
		shown.map(({name, trace: {stat: {starved}}}) => [...(before ? [name] : []),
			formatCount(starved.messages), formatCount(starved.stalls),
			formatTime(starved.total_ns), formatTime(starved.longest_ns)]),
		'messages that were posted before a receive');
}

/* Gaps, doorbells, polls */

function addGaps() {
	const section = addSection('gaps', 'Gaps');
	if (!addDistribution(section, 'Between two posts to one send queue', tracesShown().map(s => (
		{name: s.name, classes: s.trace.stat.posting.send.gap_ns || []})), formatTime))
		add(section, 'p', 'No queue was posted to twice.', {class: 'note'});
	addDistribution(section, 'Between two polls of a CQ (mean from one that found completions to ' +
		'the next)', tracesShown().map(s => ({name: s.name,
		classes: s.trace.stat.posting.poll_gap_ns || []})), formatTime);
}

const formatSmall = n => formatCount(n);

function addDoorbells() {
	const section = addSection('doorbells', 'Doorbells and polls');
	const of = pick => tracesShown().map(s => ({name: s.name, classes: pick(s.trace.stat.posting) ||
		[]}));
	const any = [addDistribution(section, 'Requests of a post', of(p => p.send.requests_of_a_post),
		formatSmall),
	addDistribution(section, 'Requests from a signalled one to the next',
		of(p => p.send.signal_distance), formatSmall),
	addDistribution(section, 'Completions of a poll that found any',
		of(p => p.completions_of_a_poll), formatSmall)].some(Boolean);
	if (!any)
		add(section, 'p', 'Nothing was posted or polled in this trace.', {class: 'note'});
	const share = (a, b) => b ? `${(a / b * 100).toFixed(1)} %` : '-';
	const lines = [['posts', p => formatCount(p.send.posts)],
		['signalled', p => share(p.send.signalled, p.send.judged)],
		['inline, of those that would fit', p => share(p.send.fit_and_inline, p.send.fit_inline)],
		['polls that found any', p => formatCount(p.polls)],
		['polls that found nothing', p => formatCount(p.empty_polls)],
		['posts that were refused', p => formatCount(p.send.refused)]];
	const table = addTable(section, ['', ...tracesShown().map(s => s.name || 'this trace')],
		lines.map(([name, show]) => [name, ...tracesShown().map(s => show(s.trace.stat.posting))]),
		'posting and polling');
	table.open = true;
	addTable(section, ['cq', 'process', 'polls', 'empty', 'completions', 'a poll', 'could lie there',
		'room'], after.stat.completion_queues.map(c => [c.cq, c.process, formatCount(c.polls),
		formatCount(c.empty_polls), formatCount(c.completions), c.completions_per_poll, c.could_lie,
		c.room]), 'completion queues');
}

/* Memory */

function pinnedOf(trace) {
	const changes = [];
	for (const region of rowsOf(trace, 'regions')) {
		changes.push([region.since, region.length]);
		if (region.until !== null && region.until >= 0)
			changes.push([region.until, -region.length]);
	}
	changes.sort((a, b) => a[0] - b[0]);
	let sum = 0;
	return changes.map(([time, by]) => [time, sum += by]);
}

function addMemory() {
	const section = addSection('memory', 'Memory');
	const shown = tracesShown().map((s, i) => ({...s, colour: colour(i), points: pinnedOf(s.trace)}))
		.filter(s => s.points.length);
	if (!shown.length) {
		add(section, 'p', 'No memory region was registered in this trace.', {class: 'note'});
		return;
	}
	const end = Math.max(...shown.map(s => Math.max(s.trace.stat.summary.to_ns || 0,
		s.points[s.points.length - 1][0])));
	addFigure(section, {title: 'Registered bytes', height: 140,
		note: 'the sum of all regions; those that overlap count twice',
		legend: shown.map(s => [s.colour, s.name]),
		x: {domain: [Math.min(...shown.map(s => s.points[0][0])), end], format: formatMoment},
		y: {format: formatBytes, domain: () => [0, d3.max(shown, s => d3.max(s.points, p => p[1])) *
			ROOM || 1]},
		draw: to => shown.forEach(s => drawSteps(to, s.points.concat([[end,
			s.points[s.points.length - 1][1]]]), s.colour, s.dash)),
		hover: x => [formatMoment(x, 1), ...shown.map(s => {
			const at = s.points.filter(p => p[0] <= x).pop();
			return nameOf(s, formatBytes(at ? at[1] : 0));
		})]});
	addTable(section, ['region', 'process', 'length', 'registered', 'until', 'event'],
		rowsOf(after, 'regions').map(r => [r.name, r.process, formatBytes(r.length),
			formatMoment(r.since, 1), r.until === null || r.until < 0 ? 'the end' :
				formatMoment(r.until, 1), r.event]).slice(0, 500), 'memory regions',
		after.tables.regions.of);
	addTable(section, ['verb', 'place', 'calls', 'bytes', 'took', 'while posting'],
		after.stat.places.filter(p => /reg_mr/.test(p.verb)).map(p => [p.verb, p.place,
			formatCount(p.calls), formatBytes(p.bytes), formatTime(p.total_ns),
			formatCount(p.while_posting)]), 'registrations by place');
}

/* Places: a flame graph, from folded stacks */

function treeOf(folded) {
	const root = {name: 'all', value: 0, children: new Map()};
	for (const line of folded.split('\n')) {
		const at = line.lastIndexOf(' '), value = +line.slice(at + 1);
		if (at < 1 || !value)
			continue;
		let node = root;
		root.value += value;
		for (const name of line.slice(0, at).split(';')) {
			if (!node.children.has(name))
				node.children.set(name, {name, value: 0, children: new Map()});
			node = node.children.get(name);
			node.value += value;
		}
	}
	return root;
}

function boxesOf(root) {
	const boxes = [];
	let depth = 0;
	const place = (node, from, level) => {
		boxes.push({node, from, to: from + node.value / root.value, level});
		depth = Math.max(depth, level);
		let at = from;
		for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
			if (child.value / root.value > .0005)
				place(child, at, level + 1);
			at += child.value / root.value;
		}
	};
	place(root, 0, 0);
	return {boxes, depth: depth + 1};
}

const hueOf = name => [...name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 6, 0);

function addFlame(section, title, folded, format) {
	const root = treeOf(folded);
	if (!root.value)
		return false;
	const {boxes, depth} = boxesOf(root);
	const text = b => `${b.node.name}: ${format(b.node.value)}, ` +
		`${((b.to - b.from) * 100).toFixed(1)} %`;
	addFigure(section, {title, height: depth * 19, left: 16, note: 'outermost functions above',
		x: {domain: [0, 1], format: v => `${(v * 100).toFixed(0)} %`},
		y: {domain: [depth, 0], none: true, format: String},
		draw: to => boxes.forEach(b => {
			const x = to.x(b.from), width = to.x(b.to) - x, y = b.level * 19;
			if (width < .4 || x > to.width || x + width < 0)
				return;
			to.layer.append('rect').attr({x, y, width: Math.max(.5, width - .6), height: 18})
				.style({fill: colour(hueOf(b.node.name)), 'fill-opacity': .3});
			const room = Math.floor((Math.min(to.width, x + width) - Math.max(0, x) - 6) / 7);
			if (room > 3)
				to.layer.append('text').attr({x: Math.max(0, x) + 3, y: y + 13}).text(
					b.node.name.length > room ? b.node.name.slice(0, room - 2) + '..' : b.node.name);
		}),
		hover: (x, y) => boxes.filter(b => b.level === Math.floor(y) && x >= b.from && x < b.to)
			.map(text)});
	addTable(section, ['stack', 'value'], folded.split('\n').filter(Boolean).slice(0, 200).map(l =>
		[l.slice(0, l.lastIndexOf(' ')), format(+l.slice(l.lastIndexOf(' ') + 1))]),
	`${title}: as numbers`);
	return true;
}

function addPlaces() {
	const section = addSection('places', 'Places');
	const any = [].concat(...tracesShown().map(s => [
		addFlame(section, nameOf(s, 'Requests by stack'), s.trace.requests, formatCount),
		addFlame(section, nameOf(s, 'Time in control verbs by stack'), s.trace.time, formatTime),
		addFlame(section, nameOf(s, 'Bytes by stack'), s.trace.bytes, formatBytes)])).some(Boolean);
	if (!any)
		add(section, 'p', 'No call has a stack in this trace.', {class: 'note'});
}

/* Objects */

const stateColours = {RESET: 'var(--line)', INIT: 'var(--c5)', RTR: 'var(--c4)', RTS: 'var(--c2)',
	SQD: 'var(--c3)', SQE: 'var(--c1)', ERR: 'var(--bad)'};

/* [from, to, state] of a queue pair. */
function statesOf(qp, changes, end) {
	const until = qp.destroyed_at === null || qp.destroyed_at < 0 ? end : qp.destroyed_at;
	const points = [[qp.created_at, 'RESET'], ...changes.filter(c => c.object === qp.object)
		.map(c => [c.time, String(c.state).replace('IBV_QPS_', '')])];
	return points.map((p, i) => [p[0], i + 1 < points.length ? points[i + 1][0] : until, p[1]]);
}

function addObjects() {
	const section = addSection('objects', 'Queue pairs');
	const qps = rowsOf(after, 'qps').slice(0, 60), changes = rowsOf(after, 'states');
	if (!qps.length) {
		add(section, 'p', 'No queue pair was made in this trace.', {class: 'note'});
		return;
	}
	const end = Math.max(after.stat.summary.to_ns || 0, ...qps.map(q => q.destroyed_at || 0));
	const rows = qps.map(qp => ({qp, spans: statesOf(qp, changes, end)}));
	const name = q => `${q.name} (process ${q.process})`;
	addFigure(section, {title: 'Lives and states', height: rows.length * 20, left: 16,
		note: 'as ibv_modify_qp() set them' + (after.tables.qps.of > rows.length ?
			`; the busiest ${rows.length}` : ''),
		legend: Object.keys(stateColours).filter(s => rows.some(r => r.spans.some(p => p[2] === s)))
			.map(s => [stateColours[s], s]),
		x: {domain: [Math.min(...qps.map(q => q.created_at)), end], format: formatMoment},
		y: {domain: [rows.length, 0], none: true, format: String},
		draw: to => rows.forEach((row, i) => {
			row.spans.forEach(([from, until, state]) => to.layer.append('rect').attr({
				x: to.x(from), y: i * 20 + 2, height: 16,
				width: Math.max(1, to.x(until) - to.x(from))})
				.style({fill: stateColours[state] || 'var(--soft)', 'fill-opacity': .75}));
			to.layer.append('text').attr({x: 4, y: i * 20 + 14}).text(name(row.qp) +
				(row.qp.peer_name ? ` - ${row.qp.peer_name} (process ${row.qp.peer_process})` : ''))
				.style('font-weight', 600);
		}),
		hover: (x, y) => {
			const row = rows[Math.floor(y)];
			const span = row && row.spans.find(s => x >= s[0] && x < s[1]);
			return row ? [name(row.qp), `${row.qp.type}, ${span ? span[2] : 'not there'} at ` +
				formatMoment(x, 1), row.qp.peer_name ? `peer ${row.qp.peer_name} of process ` +
				row.qp.peer_process : 'its peer is not in this trace'] : [];
		}});
	const columns = after.tables.qps.columns.filter(c => c !== 'object');
	addTable(section, columns, rowsOf(after, 'qps').map(q => columns.map(c => /_at$/.test(c) &&
		q[c] !== null ? formatMoment(q[c], 1) : q[c])), 'queue pairs', after.tables.qps.of);
}

/* Events, environment, coverage */

function addEvents() {
	const section = addSection('events', 'Events');
	const names = Object.keys(data.events);
	add(section, 'p', names.length ? 'Those that are named above; verbatim dump shows any.' :
		'None is named above.', {class: 'note'});
	for (const name of names) {
		const details = add(section, 'details', null, {id: 'event-' + name.replace(':', '-')});
		add(details, 'summary', `${name}  ${data.events[name].split('\n')[0].trim().slice(0, 110)}`);
		add(details, 'pre', data.events[name], {tabindex: 0});
	}
	addEventListener('hashchange', openEvent);
	openEvent();
}

function openEvent() {
	const target = /^#event-/.test(location.hash) && document.getElementById(location.hash.slice(1));
	if (target)
		target.open = true;
}

const metaOf = (trace, key) => {
	const row = trace.tables.meta.rows.find(r => r[0] === key);
	return row ? row[1] : null;
};

function addEnvironment() {
	const section = addSection('environment', 'Environment');
	const facts = [['trace', t => t.path], ['host', t => metaOf(t, 'host')],
		['kernel', t => `${metaOf(t, 'kernel') || '?'} ${metaOf(t, 'machine') || ''}`],
		['device', t => metaOf(t, 'device')], ['command', t => metaOf(t, 'command')],
		['began', t => metaOf(t, 'realtime') ? new Date(metaOf(t, 'realtime') / 1e6).toISOString() :
			null],
		['duration', t => formatTime(metaOf(t, 'duration'))],
		['recorded by', t => `verbatim ${metaOf(t, 'version') || '?'}`]];
	const table = addTable(section, ['', ...tracesShown().map(s => s.name || 'this trace')],
		facts.map(([name, show]) => [name, ...tracesShown().map(s => show(s.trace))]), 'facts');
	table.open = true;
	for (const [name, title] of [['processes', 'processes'], ['devices', 'devices'],
			['environ', 'variables that RDMA libraries read'], ['merged', 'merged of'],
			['modules', 'object files']]) {
		const t = after.tables[name];
		if (t)
			addTable(section, t.columns, t.rows, title, t.of);
	}
	if (after.diff)
		addTable(section, ['section', 'what', 'verdict', 'before', 'after', 'place', 'note'],
			after.diff.changes.map(c => [c.section, c.what, c.verdict, c.before, c.after, c.place,
				c.note]), 'all that was compared');
}

function addCoverage() {
	const section = addSection('coverage', 'Coverage'), s = after.stat.summary;
	const lines = [s.lost ? `${formatCount(s.lost)} events were lost.` : 'No event was lost.'];
	if (after.stat.one_of > 1)
		lines.push(`Of ${after.stat.one_of} data verbs one was recorded: counts are estimates.`);
	if (metaOf(after, 'filter'))
		lines.push(`Recorded with --filter ${metaOf(after, 'filter')}: events were left out.`);
	if (s.interrupted)
		lines.push('The recording was interrupted.');
	if (after.stat.waited && after.stat.waited.times)
		lines.push(`The recorder made the program wait ${formatTime(after.stat.waited.total_ns)} in ` +
			`${formatCount(after.stat.waited.times)} waits.`);
	if (s.unmatched)
		lines.push(`${formatCount(s.unmatched)} completions have no request in the trace.`);
	const list = add(section, 'ul');
	lines.forEach(line => add(list, 'li', line));
	for (const [name, title] of [['coverage', 'what could not be seen'], ['loss', 'lost events']]) {
		const t = after.tables[name];
		addTable(section, t.columns, t.rows, title, t.of);
	}
	addTable(section, ['rule', 'partly', 'because'], after.check.not_checked.map(r => [r.rule,
		r.partly ? 'partly' : '', r.because]), 'rules that lack what they need');
}

/* All */

function setTheme(theme) {
	document.documentElement.setAttribute('data-theme', theme);
}

const wantsDark = matchMedia('(prefers-color-scheme: dark)');
setTheme(wantsDark.matches ? 'dark' : 'light');
document.getElementById('theme').addEventListener('click', () =>
	setTheme(document.documentElement.getAttribute('data-theme') === 'dark' ? 'light' : 'dark'));

const duration = metaOf(after, 'duration');
document.getElementById('about').textContent = `${after.path}${before ? ` compared with ` +
	before.path : ''}: ${metaOf(after, 'command') || ''}, ${formatTime(duration)}, ` +
	`${formatCount(after.check.events)} events`;
document.title = `${after.path} - Verbatim report`;

addVerdict();
addTiles();
addTimeline();
addLatency();
addGaps();
addDoorbells();
addMemory();
addPlaces();
addObjects();
addEvents();
addEnvironment();
addCoverage();
add(page, 'footer', 'Drag in a plot to zoom, or Ctrl and the wheel; double-click shows all. With the ' +
	'keyboard: Tab to a plot, arrows move, + and - zoom, Shift and arrows read values, Escape shows ' +
	`all. Made by verbatim ${data.version}.`, {class: 'keys'});

let resized = null;
addEventListener('resize', () => {
	cancelAnimationFrame(resized);
	resized = requestAnimationFrame(() => figures.forEach(drawFigure));
});
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => {
	if (d.querySelectorAll('tr').length < 40)
		d.open = true;
}));
}());
