/*
 * The life of requests and calls
 *
 *	process 1 (client)
 *	  thread 1	control verbs as slices; below them ticks: posts, and polls
 *	  qp1 sends	a slice for each request, from the post to the poll of its completion
 *	  qp1 receives	how many are posted; a tick for each that has received
 *	process 2 (server)
 *	  ...
 *
 * Arrows go from a send to the receive that it consumed; those of the request that was chosen also
 * from its post and to its completion. A long trace has only some requests one by one (lanes.c): the
 * bar at the top shows where all of them are; elsewhere the lanes show how many are outstanding.
 */

const CALL = 15, TICKS = 8, HEADER = 20, RECEIVE = 22, SUBROWS = 8;
const MOST_QUEUES = 40, MOST_THREADS = 32, MOST_ARROWS = 80;
const isWait = verb => /^(ibv_get_|rdma_get_|ibv_wait)/.test(verb);

/* Requests as objects, each with the one of the other end */

function requestsOf(trace) {
	const {lanes} = trace, origin = originOf(trace);
	const requests = lanes.rows.map(r => ({
		queue: lanes.queues[r[0]] || null, posted: r[1] - origin,
		ended: r[2] < 0 ? null : r[1] + r[2] - origin, send: r[3] >= 0,
		opcode: r[3] >= 0 ? lanes.opcodes[r[3]] || 'request' : 'receive',
		status: r[4] < 0 ? null : lanes.statuses[r[4]] || `status ${r[4]}`, failed: r[4] > 0,
		bytes: r[5], wr_id: r[6], thread: r[7], post: `${r[7]}:${r[8]}`, index: r[9],
		poller: r[10], poll: r[10] ? `${r[10]}:${r[11]}` : null,
		sender: r[12] < 0 ? null : lanes.queues[r[12]], message: r[13], other: null,
	})).filter(r => r.queue);
	linkMessages(requests);
	return requests;
}

function addTo(lists, key, value) {
	const list = lists.get(key);
	if (list)
		list.push(value);
	else
		lists.set(key, [value]);
}

/* A number counts messages since its queue pair was reset: the last one before the completion. */
function linkMessages(requests) {
	const sent = new Map(), key = (queue, message) => `${queue.object}:${message}`;
	for (const r of requests)
		if (r.send && r.message)
			addTo(sent, key(r.queue, r.message), r);
	for (const r of requests) {
		if (r.send || !r.sender || r.ended === null)
			continue;
		const before = (sent.get(key(r.sender, r.message)) || []).filter(s => s.posted <= r.ended);
		const of = before.pop();
		if (of && !of.other) {
			of.other = r;
			r.other = of;
		}
	}
}

/* Which row of its lane each send has: the first that is free. The number of rows. */
function packRequests(requests) {
	const ends = [];
	requests.forEach((r, i) => {
		let row = ends.findIndex(end => end <= r.posted);
		if (row < 0)
			row = ends.length < SUBROWS ? ends.length : i % SUBROWS;
		ends[row] = r.ended === null ? Infinity : r.ended;
		r.row = row;
	});
	return Math.max(1, ends.length);
}

/* Lanes, from above */

function lanesOf(trace) {
	const requests = requestsOf(trace), origin = originOf(trace);
	const calls = rowsOf(trace, 'control').map(c => ({...c, begin: c.begin - origin}));
	const rows = [], byQueue = new Map();
	for (const r of requests)
		addTo(byQueue, `${r.queue.object}:${r.send}`, r);
	const queues = [...byQueue.values()].sort((a, b) => b.length - a.length);
	const shown = queues.slice(0, MOST_QUEUES);
	const threads = trace.lanes.threads.map(t => ({...t,
		calls: calls.filter(c => c.thread === t.id).sort((a, b) => a.begin - b.begin),
		posts: requests.filter(r => r.thread === t.id),
		polls: requests.filter(r => r.poller === t.id)}))
		.filter(t => t.calls.length || t.posts.length || t.polls.length);
	const result = {requests, rows, height: 8, hidden: queues.length - shown.length +
		Math.max(0, threads.length - MOST_THREADS), byThread: new Map()};
	const push = row => {
		row.top = result.height;
		result.height += row.high;
		rows.push(row);
		return row;
	};
	for (const process of rowsOf(trace, 'processes')) {
		const mine = threads.slice(0, MOST_THREADS).filter(t => t.process === process.id);
		const its = shown.filter(q => q[0].queue.process === process.id)
			.sort((a, b) => rankOf(process.id, a[0].queue.name) -
				rankOf(process.id, b[0].queue.name) || b[0].send - a[0].send);
		if (!mine.length && !its.length)
			continue;
		push({kind: 'process', process, high: HEADER, label: nameOfProcess(process)});
		for (const t of mine)
			result.byThread.set(t.id, push({kind: 'thread', thread: t, high: CALL + TICKS,
				label: `thread ${t.id}${t.comm ? ` (${t.comm})` : ''}`}));
		for (const list of its)
			push(laneOfQueue(trace, list));
	}
	return result;
}

function nameOfProcess(process) {
	const name = String(process.command || '').split(' ')[0].split('/').pop();
	return `process ${process.id}${name ? ` (${name})` : ''}` +
		(process.ending === 'killed' ? ', killed' : '');
}

function laneOfQueue(trace, list) {
	const {queue, send} = list[0], subrows = send ? packRequests(list) : 1;
	const of = trace.timeline.queues.find(q => q.queue === queue.name &&
		q.process === queue.process && q.send === send);
	const each = subrows <= 2 ? 14 : subrows <= 4 ? 10 : 6;
	const lane = {kind: 'queue', queue, send, list, each, high: send ? subrows * each + 6 : RECEIVE,
		label: `${queue.name} ${send ? 'sends' : 'receives'}`, depth: of ? depthsOf(of, trace) : []};
	list.forEach(r => { r.lane = lane; });
	return lane;
}

const yOfRequest = r => r.lane.top + (r.send ? 3 + (r.row + .5) * r.lane.each : r.lane.high / 2);

/* Drawing */

function drawLanes(pen, model, runs, chosen) {
	runs.forEach(([from, to]) => {
		pen.c.fillStyle = ink.soft;
		pen.c.fillRect(pen.x(from), 0, Math.max(2, pen.x(to) - pen.x(from)), 3);
	});
	for (const row of model.rows) {
		if (row.kind === 'process') {
			pen.c.fillStyle = ink.panel;
			pen.c.fillRect(0, row.top, pen.width, row.high);
		}
		if (row.kind === 'thread')
			drawThread(pen, row);
		if (row.kind === 'queue') {
			drawDepthOf(pen, row);
			(row.send ? drawSends : drawReceives)(pen, row);
		}
		drawLine(pen, 0, row.top + row.high - .5, pen.width, row.top + row.high - .5, ink.line);
	}
	drawArrows(pen, model, chosen);
}

function drawThread(pen, row) {
	for (const c of row.thread.calls) {
		const x = Math.max(-1, pen.x(c.begin));
		const right = Math.min(pen.width + 1, pen.x(c.begin + c.duration));
		if (right < 0 || x > pen.width)
			continue;
		pen.c.fillStyle = c.failed ? ink.bad : isWait(c.verb) ? ink.line : ink.c4;
		pen.c.fillRect(x, row.top + 2, Math.max(1.5, right - x), CALL - 4);
		drawInside(pen, c.verb.replace(/^ibv_/, ''), x, right, row.top + CALL / 2,
			isWait(c.verb) ? ink.ink : ink.paper);
	}
	drawTicks(pen, row.thread.posts.map(r => r.posted), row.top + CALL - 1, ink.c0);
	drawTicks(pen, row.thread.polls.map(r => r.ended), row.top + CALL + 3, ink.c2);
}

/* Text in a slice, if there is room for it. */
function drawInside(pen, text, x, right, y, colour) {
	const from = Math.max(0, x), wide = Math.min(pen.width, right) - from;
	if (wide < 34 || pen.c.measureText(text).width > wide - 6)
		return;
	drawWord(pen, text, from + 3, y, 'left', colour);
}

function drawTicks(pen, times, y, colour) {
	let last = -1;
	pen.c.fillStyle = colour;
	for (const time of times) {
		const x = Math.round(pen.x(time));
		if (x !== last && x >= 0 && x <= pen.width)
			pen.c.fillRect(x, y, 1, 3);
		last = x;
	}
}

function drawDepthOf(pen, row) {
	const most = mostOf(row.depth, p => p[1]);
	if (!(most > 0))
		return;
	const y = makeScale(false, [0, most * ROOM], [row.top + row.high - 1, row.top + 1]);
	pen.c.fillStyle = queueColour(row.queue.process, row.queue.name, row.send ? .13 : .22);
	for (let i = 0; i + 1 < row.depth.length; i++) {
		const x = pen.x(row.depth[i][0]), right = pen.x(row.depth[i + 1][0]);
		if (right >= 0 && x <= pen.width && row.depth[i][1] > 0)
			pen.c.fillRect(x, y(row.depth[i][1]), Math.max(.6, right - x),
				row.top + row.high - 1 - y(row.depth[i][1]));
	}
}

function drawSends(pen, row) {
	const colour = queueColour(row.queue.process, row.queue.name);
	const quiet = queueColour(row.queue.process, row.queue.name, .5), last = [];
	for (const r of row.list) {
		const x = Math.max(-2, pen.x(r.posted));
		const right = Math.min(pen.width + 2, r.ended === null ? pen.width + 2 : pen.x(r.ended));
		if (right < 0 || x > pen.width || right <= last[r.row] && !r.failed)
			continue;
		last[r.row] = Math.ceil(right);
		pen.c.fillStyle = r.failed ? ink.bad : r.status ? colour : quiet;
		pen.c.fillRect(x, row.top + 3 + r.row * row.each, Math.max(1, right - x - .5), row.each - 1);
		if (row.each > 12)
			drawInside(pen, `${r.opcode} ${formatBytes(r.bytes)}`, x, right, yOfRequest(r),
				r.status ? ink.paper : ink.ink);
	}
}

function drawReceives(pen, row) {
	const colour = queueColour(row.queue.process, row.queue.name);
	let last = -1;
	for (const r of row.list) {
		const x = r.ended === null ? -1 : Math.round(pen.x(r.ended));
		if (x < 0 || x > pen.width || x === last && !r.failed)
			continue;
		last = x;
		pen.c.fillStyle = r.failed ? ink.bad : colour;
		pen.c.fillRect(x - .5, row.top + 4, 1.5, row.high - 8);
	}
}

/* Arrows */

function drawArrow(pen, x1, y1, x2, y2, colour, strong) {
	const {c} = pen, bend = Math.max(12, Math.min(80, Math.abs(x2 - x1) / 2));
	if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > pen.width)
		return;
	c.strokeStyle = c.fillStyle = colour;
	c.lineWidth = strong ? 2 : 1;
	c.beginPath();
	c.moveTo(x1, y1);
	c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2 - 4, y2);
	c.stroke();
	c.beginPath();
	c.moveTo(x2, y2);
	c.lineTo(x2 - 7, y2 - 3.5);
	c.lineTo(x2 - 7, y2 + 3.5);
	c.fill();
}

function drawArrows(pen, model, chosen) {
	const [from, to] = pen.part;
	const linked = model.requests.filter(r => r.send && r.other && r.lane && r.other.lane &&
		r.posted <= to && r.other.ended >= from);
	if (linked.length <= MOST_ARROWS)
		linked.forEach(r => drawArrow(pen, pen.x(r.posted), yOfRequest(r), pen.x(r.other.ended),
			yOfRequest(r.other), ink.soft));
	if (chosen)
		drawChosen(pen, model, chosen.send || !chosen.other ? chosen : chosen.other);
}

/* From the post to the completion of the request and of the receive that it consumed. */
function drawChosen(pen, model, r) {
	const colour = ink.ink, tick = (id, low) => model.byThread.get(id) ?
		model.byThread.get(id).top + CALL + (low ? 4 : 0) : null;
	for (const each of [r, r.other].filter(e => e && e.lane)) {
		const post = tick(each.thread), poll = tick(each.poller, true), y = yOfRequest(each);
		const right = each.ended === null ? pen.width : pen.x(each.ended);
		pen.c.strokeStyle = colour;
		pen.c.lineWidth = 2;
		if (each.send)
			pen.c.strokeRect(pen.x(each.posted), y - each.lane.each / 2,
				Math.max(3, right - pen.x(each.posted)), each.lane.each);
		if (post !== null && each.send)
			drawArrow(pen, pen.x(each.posted), post, pen.x(each.posted) + 5, y, colour);
		if (poll !== null && each.ended !== null)
			drawArrow(pen, right, y, right + 5, poll, colour);
	}
	if (r.other && r.lane && r.other.lane)
		drawArrow(pen, pen.x(r.posted), yOfRequest(r), pen.x(r.other.ended), yOfRequest(r.other),
			colour, true);
}

function drawLaneLabels(pen, model) {
	for (const row of model.rows) {
		if (row.kind !== 'process') {
			drawRowLabel(pen, row.label, row.top, row.high, row.queue ?
				queueColour(row.queue.process, row.queue.name) : null);
			continue;
		}
		pen.c.fillStyle = ink.panel;
		pen.c.fillRect(-pen.left, row.top, pen.left, row.high);
		pen.c.font = `600 ${FONT}`;
		drawWord(pen, row.label, -pen.left + 6, row.top + row.high / 2, 'left');
		pen.c.font = FONT;
	}
}

/* What is where */

const rowAt = (model, y) => model.rows.find(row => y >= row.top && y < row.top + row.high);

/* The request or the call that is drawn there, or near it. */
function findThing(model, pen, x, y) {
	const row = rowAt(model, y), near = (pen.part[1] - pen.part[0]) / pen.width * 4;
	if (!row || row.kind === 'process')
		return null;
	if (row.kind === 'thread') {
		const inTicks = y > row.top + CALL - 2;
		const ticks = [...row.thread.posts.map(r => [r.posted, r]),
			...row.thread.polls.map(r => [r.ended, r])];
		const calls = row.thread.calls.map(c => [x < c.begin ? c.begin :
			Math.min(x, c.begin + c.duration), c]);
		return nearest(inTicks ? ticks : calls, x, near) || nearest(calls, x, near);
	}
	if (!row.send)
		return nearest(row.list.filter(r => r.ended !== null).map(r => [r.ended, r]), x, near * 2);
	const sub = Math.floor((y - row.top - 3) / row.each);
	return nearest(row.list.filter(r => r.row === sub).map(r => [x < r.posted ? r.posted :
		r.ended === null ? x : Math.min(x, r.ended), r]), x, near);
}

function nearest(list, x, most) {
	let best = null, least = most;
	for (const [time, thing] of list)
		if (Math.abs(time - x) <= least) {
			least = Math.abs(time - x);
			best = thing;
		}
	return best;
}

const queueText = q => `${q.name} of process ${q.process}`;

function textOfThing(thing) {
	if (thing.verb)
		return [`${thing.event} ${thing.verb}(${thing.name || ''})` +
			(thing.failed ? ` failed: ${thing.why || thing.error || thing.ret}` : ''),
		`took ${formatTime(thing.duration)}, from ${formatMoment(thing.begin, 1e6)} on`];
	const r = thing, lines = [`${r.post} ${r.opcode}` + (r.send ? ` ${formatBytes(r.bytes)}` : '') +
		`, wr_id ${r.wr_id}, ${queueText(r.queue)}`];
	lines.push(r.ended === null ? `posted at ${formatMoment(r.posted, 1e6)}; no completion` :
		`posted at ${formatMoment(r.posted, 1e6)}, ` + (r.status ?
			`completed ${formatTime(r.ended - r.posted)} later, ${r.poll}: ${r.status}` :
			`ended by a later completion, ${formatTime(r.ended - r.posted)} later`));
	if (r.other && r.send)
		lines.push(`received by ${queueText(r.other.queue)} at ${r.other.poll}, ` +
			`${formatTime(r.other.ended - r.posted)} after the post`);
	else if (r.other)
		lines.push(`sent by ${queueText(r.other.queue)} at ${r.other.post}, ` +
			`${formatTime(r.ended - r.other.posted)} before`);
	return lines;
}

/* The section */

const laneFigures = [];

function addLanes() {
	const section = addSection('lanes', 'Requests and calls');
	const any = shownTraces.map(s => addLaneFigure(section, s)).some(Boolean);
	if (!any)
		foldSection(section, 'Nothing was called in this trace.');
}

function noteOfLanes(lanes, hidden) {
	const notes = [];
	if (lanes.kept < lanes.requests)
		notes.push(`${formatCount(lanes.kept)} of ${formatCount(lanes.requests)} requests one by ` +
			'one, where the bar at the top is: stretches at equal distances, the slowest, the ' +
			'first errors; elsewhere how many are outstanding');
	if (hidden)
		notes.push(`${hidden} quieter lanes are left out`);
	return notes.join('; ');
}

function addLaneFigure(section, shown) {
	const {trace} = shown, {lanes} = trace, model = lanesOf(trace), origin = originOf(trace);
	if (!model.rows.length)
		return false;
	for (const f of trace.check.failed_verbs || [])
		for (const row of model.rows)
			if (row.thread)
				row.thread.calls.filter(c => c.event === f.event).forEach(c => {
					c.why = `${f.error}${f.because ? `: ${f.because}` : ''}`;
				});
	const runs = lanes.kept === lanes.requests ? [] :
		lanes.runs.map(r => [r[0] - origin, r[1] - origin]);
	let chosen = null;
	const what = {title: nameOf(shown, 'Lives of requests, and calls'),
		note: noteOfLanes(lanes, model.hidden), height: () => model.height, y: {none: true},
		draw: pen => drawLanes(pen, model, runs, chosen),
		drawLabels: pen => drawLaneLabels(pen, model),
		hover: (x, y) => {
			const row = rowAt(model, y), thing = what.pen && findThing(model, what.pen, x, y);
			return thing ? textOfThing(thing) : row ? [row.label, row.kind === 'queue' &&
				valueAt(row.depth, x) !== null ? `${formatCount(valueAt(row.depth, x))} outstanding` :
				''] : [];
		},
		click: (x, y) => choose(findThing(model, what.pen, x, y)),
		keys: key => key === '.' || key === ',' ? step(key === '.' ? 1 : -1) : key === 'Enter' &&
			timeView.pointed !== null ? choose(findThing(model, what.pen, timeView.pointed,
				what.level)) : false};
	const choose = thing => {
		chosen = thing && thing.post ? thing : null;
		panel.textContent = '';
		(thing ? textOfThing(thing) : []).forEach(line => addText(add(panel, 'div'), line));
		redraw(what);
		return true;
	};
	/* to the next request of the same lane */
	const step = by => {
		const list = chosen ? chosen.lane.list : model.requests;
		const next = chosen ? list[list.indexOf(chosen) + by] : list[0];
		if (next)
			show(next);
		return true;
	};
	const show = r => {
		const [a, b] = timeView.part, took = (r.ended === null ? r.posted : r.ended) - r.posted;
		if (r.posted < a || r.posted + took > b || took < (b - a) / 200)
			showPart(timeView, [r.posted - Math.max(took, 1000) * 2,
				r.posted + Math.max(took, 1000) * 3]);
		choose(r);
	};
	addTimeFigure(section, what);
	laneFigures.push({model, show, choose});
	const panel = add(section, 'div', null, {class: 'panel', role: 'status'});
	add(section, 'p', 'Click a request, or Enter, for its arrows; , and . choose the one before ' +
		'and after it.', {class: 'note keys'});
	addTable(section, ['event', 'queue', 'process', 'opcode', 'bytes', 'wr_id', 'posted', 'took',
		'status'], model.requests.slice(0, 1000).map(r => [r.post, r.queue.name, r.queue.process,
		r.opcode, r.send ? formatCount(r.bytes) : '', r.wr_id, formatMoment(r.posted, 1),
		r.ended === null ? '' : formatTime(r.ended - r.posted), r.status]),
	'requests one by one', lanes.requests);
	return true;
}
