/*
 * The time axis that all plots over time share, and these plots
 *
 * Where two traces are compared, both begin with their first post; else with the recording.
 */

/* The axis */

const originOf = trace => before && trace.timeline.begin > 0 ? trace.timeline.begin : 0;

/* The time between its first post and its last completion; null: there is none. */
function activePart(trace) {
	const t = trace.timeline, from = t.begin - originOf(trace);
	return t.begin < 0 || !t.bins.length ? null : [from, from + t.bins.length * t.width];
}

/* All that has a time in it. */
function wholePart(trace) {
	const origin = originOf(trace), calls = rowsOf(trace, 'control');
	const active = activePart(trace);
	const end = Math.max(trace.stat.summary.to_ns || 0, active ? active[1] + origin : 0,
		mostOf(calls, c => c.begin + c.duration), mostOf(rowsOf(trace, 'processes'), p => p.end));
	return [-origin, Math.max(end, 1000) - origin];
}

const joinParts = parts => [leastOf(parts, p => p[0]), mostOf(parts, p => p[1])];

/* The first error of a trace, as check has it; null: none. */
function firstError(trace) {
	const check = trace.check, all = [].concat(check.first_errors || [], check.failed_verbs || [],
		check.killed_processes || [], check.fatal_events || []).filter(e => e.time >= 0);
	return all.length ? all.reduce((a, b) => b.time < a.time ? b : a) : null;
}

const textOfError = e => `first error: ${e.status || e.what || e.verb || 'killed'}, ${e.event}`;

const timeWhole = joinParts(shownTraces.map(s => wholePart(s.trace)));

/* What is seen at first: posts and completions, and the first error. */
function homePart() {
	const parts = shownTraces.map(s => activePart(s.trace)).filter(Boolean);
	if (!parts.length)
		return timeWhole;
	const error = firstError(after);
	if (error)
		parts.push([error.time - originOf(after), error.time - originOf(after)]);
	const [from, to] = joinParts(parts), edge = (to - from) / 40 || 1000;
	return [Math.max(timeWhole[0], from - edge), Math.min(timeWhole[1], to + edge)];
}

const timeView = makeView(timeWhole, {home: homePart(), least: 20, changed: drawTimeBar,
	marks: drawMarks});
timeView.part = timeView.home.slice();

/* The first error, and marks and phases of the program, in each plot over time. */
function drawMarks(pen) {
	const origin = originOf(after), error = firstError(after);
	for (const mark of rowsOf(after, 'marks'))
		drawLine(pen, pen.x(mark.time - origin), 0, pen.x(mark.time - origin), pen.height, ink.soft,
			[4, 3]);
	if (!error)
		return;
	const x = Math.round(pen.x(error.time - origin)) + .5;
	drawLine(pen, x, 0, x, pen.height, ink.bad);
	pen.c.fillStyle = ink.bad;
	pen.c.beginPath();
	pen.c.moveTo(x - 5, 0);
	pen.c.lineTo(x + 5, 0);
	pen.c.lineTo(x, 7);
	pen.c.fill();
}

/* What is near x, in words, for each plot over time. */
function marksAt(x) {
	const origin = originOf(after), near = (timeView.part[1] - timeView.part[0]) / 150;
	const error = firstError(after), lines = rowsOf(after, 'marks')
		.filter(m => Math.abs(m.time - origin - x) < near).map(m => `${m.kind} ${m.text}`);
	if (error && Math.abs(error.time - origin - x) < near)
		lines.push(textOfError(error));
	return lines;
}

const momentAt = x => formatMoment(x, (timeView.part[1] - timeView.part[0]) / 10);

/* What is left of all of them, so that one time is at one place. */
const timeLeft = () => innerWidth < 640 ? 98 : 150;

/* A figure on the time axis. */
function addTimeFigure(parent, what) {
	const hover = what.hover;
	return addFigure(parent, Object.assign(what, {view: timeView, format: formatMoment,
		left: timeLeft, hover: (x, y, at) => [momentAt(x), ...hover(x, y, at), ...marksAt(x)]}));
}

/* The bar above: the whole run, the part that is seen, and what moves it */

let timeBar = null;

function addTimeBar(parent) {
	const box = add(parent, 'div', null, {id: 'timebar', role: 'group', 'aria-label': 'time axis'});
	const button = (text, label, act) => {
		const made = add(box, 'button', text, {type: 'button', 'aria-label': label, title: label});
		made.addEventListener('click', act);
		return made;
	};
	button('\u2212', 'zoom out', () => zoomView(timeView, 1.8));
	button('+', 'zoom in', () => zoomView(timeView, 1 / 1.8));
	button('\u25c0', 'earlier', () => moveView(timeView, -.4));
	button('\u25b6', 'later', () => moveView(timeView, .4));
	button('posts', 'from the first post to the last completion',
		() => showPart(timeView, timeView.home));
	button('all', 'the whole recording', () => showPart(timeView, timeWhole));
	const error = firstError(after);
	if (error)
		button('first error', textOfError(error), () => showError(error)).classList.add('error');
	timeBar = {range: add(box, 'output'), canvas: add(box, 'canvas', null, {'aria-hidden': 'true'})};
	timeBar.canvas.addEventListener('pointerdown', event => {
		timeBar.canvas.setPointerCapture(event.pointerId);
		centreTime(event);
	});
	timeBar.canvas.addEventListener('pointermove', event => {
		if (event.buttons)
			centreTime(event);
	});
	drawTimeBar();
}

function showError(error) {
	const at = error.time - originOf(after), posted = error.posted_at >= 0 ?
		error.time - error.posted_at : 0;
	const wide = Math.max(posted * 1.5, 20000);
	showPart(timeView, [at - wide, at + wide / 2]);
}

function centreTime(event) {
	const box = timeBar.canvas.getBoundingClientRect(), [a, b] = timeView.part;
	const at = timeWhole[0] + (event.clientX - box.left) / box.width * (timeWhole[1] - timeWhole[0]);
	const from = Math.max(timeWhole[0], Math.min(timeWhole[1] - (b - a), at - (b - a) / 2));
	showPart(timeView, [from, from + b - a]);
}

function drawTimeBar() {
	if (!timeBar)
		return;
	const [a, b] = timeView.part, {canvas} = timeBar, wide = canvas.clientWidth, high = 22;
	timeBar.range.textContent = `${momentAt(a)} to ${momentAt(b)}: ${formatTime(b - a)}`;
	if (!wide)
		return;
	const c = prepareCanvas({canvas}, wide, high), x = makeScale(false, timeWhole, [0, wide]);
	c.fillStyle = ink.panel;
	c.fillRect(0, 0, wide, high);
	for (const s of shownTraces) {
		const bins = binsOf(s.trace), most = mostOf(bins, i => Math.max(i.requests, i.completions));
		c.fillStyle = s.colour();
		c.globalAlpha = .6;
		for (const bin of bins) {
			const h = Math.max(bin.requests, bin.completions) / most * (high - 4);
			if (h > 0)
				c.fillRect(x(bin.from), high - Math.max(1, h), Math.max(1, x(bin.to) - x(bin.from)),
					Math.max(1, h));
		}
		c.globalAlpha = 1;
	}
	const error = firstError(after);
	if (error) {
		c.fillStyle = ink.bad;
		c.fillRect(x(error.time - originOf(after)) - 1, 0, 2, high);
	}
	c.globalAlpha = .3;
	c.fillStyle = ink.soft;
	c.fillRect(0, 0, x(a), high);
	c.fillRect(x(b), 0, wide, high);
	c.globalAlpha = 1;
	c.strokeStyle = ink.ink;
	c.lineWidth = 1.5;
	c.strokeRect(Math.max(1, x(a)), 1, Math.max(2, Math.min(wide - 1, x(b)) - Math.max(1, x(a))),
		high - 2);
}

/* A colour for each queue pair or other queue, which it has in all plots */

const queueRanks = new Map();

function rankOf(process, name) {
	const key = `${process} ${name}`;
	if (!queueRanks.has(key))
		queueRanks.set(key, queueRanks.size);
	return queueRanks.get(key);
}

for (const shown of shownTraces)
	for (const qp of rowsOf(shown.trace, 'qps').sort((a, b) => a.object - b.object))
		rankOf(qp.process, qp.name);

const queueColour = (process, name, alpha) => hueColour(rankOf(process, name), alpha);

/* Rates */

const madeBins = new Map();

function binsOf(trace) {
	const t = trace.timeline, origin = originOf(trace);
	if (!madeBins.has(trace))
		madeBins.set(trace, t.bins.map((bin, i) => ({from: t.begin - origin + i * t.width,
			to: t.begin - origin + (i + 1) * t.width, requests: bin[0], bytes: bin[1],
			receives: bin[2], completions: bin[3], errors: bin[4], doorbells: bin[5]})));
	return madeBins.get(trace);
}

const binAt = (bins, x) => {
	const bin = bins[firstIndex(bins, b => b.to > x)];
	return bin && x >= bin.from ? bin : null;
};

function addRate(section, title, key, format) {
	const perSecond = bin => bin[key] / (bin.to - bin.from) * 1e9;
	const sets = shownTraces.map(s => {
		const bins = binsOf(s.trace), end = bins.length ? [[bins[bins.length - 1].to, 0]] : [];
		return {...s, bins, points: bins.map(b => [b.from, perSecond(b)]).concat(end)};
	});
	addTimeFigure(section, {title, height: 80, legend: () => sets.map(s => [s.colour(), s.name]),
		y: {format, bytes: format === formatBytes, domain: (from, to) => [0, Math.max(0, mostOf(sets, s => mostOf(s.bins.filter(
			b => b.to > from && b.from < to), perSecond))) * ROOM || 1]},
		draw: pen => sets.forEach(s => drawSteps(pen, s.points, s.colour(), s.dash, true)),
		hover: x => sets.map(s => {
			const bin = binAt(s.bins, x);
			return bin ? nameOf(s, `${format(perSecond(bin))}/s: ${formatCount(bin.requests)} ` +
				`requests, ${formatCount(bin.completions)} completions, ` +
				`${formatCount(bin.errors)} errors in ${formatTime(bin.to - bin.from)}`) : '';
		})});
}

/* Of both rates. */
function addRateTable(section) {
	addTable(section, ['', 'from', 'requests', 'bytes', 'receives', 'completions', 'errors'],
		[].concat(...shownTraces.map(s => binsOf(s.trace).filter(b => b.requests || b.completions ||
			b.receives).map(b => [s.name, formatMoment(b.from, b.to - b.from),
			formatCount(b.requests), formatBytes(b.bytes), formatCount(b.receives),
			formatCount(b.completions), formatCount(b.errors)]))), 'as numbers');
}

/* Depths */

const shownQueues = 6;

/* The depth at x: [time, least, most] of each bin in which it changed. */
function depthsOf(queue, trace) {
	const t = trace.timeline, from = t.begin - originOf(trace);
	const points = queue.depth.map(([bin, least, most]) => [from + bin * t.width,
		queue.send ? most : least]);
	if (points.length)
		points.push([from + t.bins.length * t.width, points[points.length - 1][1]]);
	return points;
}

const nameOfQueue = q => `${q.queue} of process ${q.process}` +
	(q.room ? ` (room for ${formatCount(q.room)})` : '') + (q.unsure ? ' ?' : '');

const valueAt = (points, x) => {
	const i = firstIndex(points, p => p[0] > x) - 1;
	return i < 0 ? null : points[i][1];
};

function addDepth(section, send) {
	const queuesOf = s => s.trace.timeline.queues.filter(q => q.send === send);
	const most = before ? shownQueues / 2 : shownQueues;
	const sets = [].concat(...shownTraces.map(s => queuesOf(s).slice(0, most).map(q => ({q,
		name: nameOf(s, nameOfQueue(q)), dash: s.dash, points: depthsOf(q, s.trace),
		colour: () => queueColour(q.process, q.queue)}))));
	if (!sets.length)
		return;
	const more = shownTraces.some(s => s.trace.timeline.more_queues || queuesOf(s).length > most);
	addTimeFigure(section, {title: send ? 'Outstanding sends' : 'Receives that are posted',
		height: 76, note: (send ? 'the most of each bin' :
			'the least of each bin; red: at 0 a message has nowhere to go') +
			(more ? '; the busiest queues' : '') + (before ? '; dashed: before' : ''),
		legend: () => sets.map(s => [s.colour(), s.name]), legendAlways: true,
		y: {format: formatShort, whole: true, domain: () => [0, mostOf(sets, s => mostOf(s.points,
			p => p[1])) * ROOM || 1]},
		draw: pen => {
			sets.forEach(s => drawSteps(pen, s.points, s.colour(), s.dash, sets.length === 1));
			if (!send)
				sets.filter(s => !s.dash.length).forEach(s => drawStarved(pen, s.points));
		},
		hover: x => sets.map(s => {
			const value = valueAt(s.points, x);
			return value === null ? '' : `${s.name}: ${formatCount(value)}`;
		})});
}

function drawStarved(pen, points) {
	pen.c.fillStyle = ink.bad;
	points.forEach((p, i) => {
		if (p[1] === 0 && i + 1 < points.length)
			pen.c.fillRect(pen.x(p[0]), pen.height - 3,
				Math.max(2, pen.x(points[i + 1][0]) - pen.x(p[0])), 3);
	});
}

function addTimeline() {
	const section = addSection('timeline', 'Time line');
	add(section, 'p', 'Drag to zoom, Shift and drag to move, double-click or Escape for all that ' +
		'was posted' + (firstError(after) ? '; red: the first error' : '') + (before ?
		'. Both begin with their first post.' : '.'), {class: 'note'});
	addTimeBar(page);
	page.insertBefore(document.getElementById('timebar'), section.parentElement);
	if (shownTraces.some(s => activePart(s.trace))) {
		addRate(section, 'Requests a second', 'requests', formatShort);
		addRate(section, 'Bytes a second', 'bytes', formatBytes);
		addDepth(section, true);
		addDepth(section, false);
		addRateTable(section);
	} else {
		add(section, 'p', 'Nothing was posted or completed in this trace.', {class: 'note'});
	}
	addTable(section, ['event', 'verb', 'object', 'begin', 'took', 'failed'],
		rowsOf(after, 'control').map(c => [c.event, c.verb, c.name,
			formatMoment(c.begin - originOf(after), 1), formatTime(c.duration),
			c.failed ? 'failed' : '']), 'the longest control verbs', after.tables.control.of);
}

/* Memory */

function pinnedOf(trace) {
	const changes = [], origin = originOf(trace);
	for (const region of rowsOf(trace, 'regions')) {
		if (region.since === null)
			continue;
		changes.push([region.since - origin, region.length]);
		if (region.until !== null && region.until >= 0)
			changes.push([region.until - origin, -region.length]);
	}
	changes.sort((a, b) => a[0] - b[0]);
	let sum = 0;
	const points = changes.map(([time, by]) => [time, sum += by]);
	return points.length ? points.concat([[timeWhole[1], sum]]) : points;
}

function addMemory() {
	const section = addSection('memory', 'Memory');
	const sets = shownTraces.map(s => ({...s, points: pinnedOf(s.trace)}))
		.filter(s => s.points.length);
	if (!sets.length)
		return foldSection(section, 'No memory region was registered in this trace.');
	addTimeFigure(section, {title: 'Registered bytes', height: 80,
		note: 'the sum of all regions; those that overlap count twice',
		legend: () => sets.map(s => [s.colour(), s.name]),
		y: {format: formatBytes, bytes: true, domain: () => [0, mostOf(sets, s => mostOf(s.points, p => p[1])) *
			ROOM || 1]},
		draw: pen => sets.forEach(s => drawSteps(pen, s.points, s.colour(), s.dash, true)),
		hover: x => sets.map(s => nameOf(s, formatBytes(valueAt(s.points, x) || 0)))});
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

/* States of queue pairs */

const stateColours = {RESET: () => ink.line, INIT: () => ink.c5, RTR: () => ink.c4, RTS: () => ink.c2,
	SQD: () => ink.c3, SQE: () => ink.c1, ERR: () => ink.bad};
const stateColour = state => (stateColours[state] || (() => ink.soft))();

/* [from, to, state] of a queue pair. */
function statesOf(qp, changes, trace) {
	const origin = originOf(trace);
	const until = qp.destroyed_at === null || qp.destroyed_at < 0 ? timeWhole[1] :
		qp.destroyed_at - origin;
	const points = [[qp.created_at - origin, 'RESET'], ...changes
		.filter(c => c.object === qp.object)
		.map(c => [c.time - origin, String(c.state).replace('IBV_QPS_', '')])];
	return points.map((p, i) => [p[0], i + 1 < points.length ? points[i + 1][0] : until, p[1]]);
}

function addObjects() {
	const section = addSection('objects', 'Queue pairs');
	const qps = rowsOf(after, 'qps').slice(0, 60), changes = rowsOf(after, 'states');
	if (!qps.length)
		return foldSection(section, 'No queue pair was made in this trace.');
	const rows = qps.map(qp => ({qp, spans: statesOf(qp, changes, after)}));
	const name = q => `${q.name} (process ${q.process})`;
	const HIGH = 20;
	addTimeFigure(section, {title: 'Lives and states', height: () => rows.length * HIGH,
		note: 'as ibv_modify_qp() set them' + (after.tables.qps.of > rows.length ?
			`; the busiest ${rows.length}` : ''),
		legend: () => Object.keys(stateColours).filter(s => rows.some(r => r.spans.some(
			p => p[2] === s))).map(s => [stateColour(s), s]), legendAlways: true,
		y: {none: true},
		draw: pen => rows.forEach((row, i) => drawLife(pen, row, i * HIGH, HIGH)),
		drawLabels: pen => rows.forEach((row, i) => drawRowLabel(pen, name(row.qp), i * HIGH, HIGH,
			queueColour(row.qp.process, row.qp.name))),
		hover: (x, y) => {
			const row = rows[Math.floor(y / HIGH)];
			const span = row && row.spans.find(s => x >= s[0] && x < s[1]);
			return row ? [name(row.qp), `${row.qp.type}, ${span ? span[2] : 'not there'}`,
				row.qp.peer_name ? `peer ${row.qp.peer_name} of process ${row.qp.peer_process}` :
					'its peer is not in this trace'] : [];
		}});
	const columns = after.tables.qps.columns.filter(c => c !== 'object');
	addTable(section, columns, rowsOf(after, 'qps').map(q => columns.map(c => /_at$/.test(c) &&
		q[c] !== null ? formatMoment(q[c], 1) : q[c])), 'queue pairs', after.tables.qps.of);
}

/* Beside the row, as much of it as there is room for. */
function drawRowLabel(pen, label, y, high, colour) {
	const room = pen.left - 14;
	let text = label;
	while (text.length > 2 && pen.c.measureText(text).width > room)
		text = `${text.replace(/\u2026$/, '').slice(0, -1)}\u2026`;
	if (colour) {
		pen.c.fillStyle = colour;
		pen.c.fillRect(-pen.left + 1, y + 3, 4, high - 6);
	}
	drawWord(pen, text, -pen.left + 9, y + Math.min(high, 24) / 2, 'left');
}

function drawLife(pen, row, y, high) {
	for (const [from, until, state] of row.spans) {
		pen.c.globalAlpha = .35;
		pen.c.fillStyle = stateColour(state);
		pen.c.fillRect(pen.x(from), y + 2, Math.max(1, pen.x(until) - pen.x(from)), high - 4);
		pen.c.globalAlpha = 1;
		pen.c.fillRect(pen.x(from), y + high - 4, Math.max(1, pen.x(until) - pen.x(from)), 2);
	}
	if (row.qp.peer_name)
		drawWord(pen, `peer ${row.qp.peer_name} (process ${row.qp.peer_process})`, 8, y + high / 2 - 1,
			'left');
}
