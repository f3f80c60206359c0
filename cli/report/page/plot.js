/*
 * A plot on a canvas, over an x axis that can be zoomed and moved
 *
 *	drag, Ctrl or Shift and the wheel, + -		zoom
 *	Shift and drag, horizontal wheel, arrows	move
 *	double click, Escape				as at first
 *	Shift and arrows				point at something
 *
 * Plots that have the same view move together, and their crosshairs, too. Only plots on the screen
 * are drawn.
 */

const ROOM = 1.06; /* above the highest line */
const LEFT = 66;   /* pixels for the labels of a y axis */
const RIGHT = 16, TOP = 6, BOTTOM = 24;
const FONT = '12px system-ui, "DejaVu Sans", sans-serif';
const figures = [];

/* Colours of the theme, which a canvas does not take from the style sheet */

const ink = {};

function readColours() {
	const style = getComputedStyle(document.documentElement);
	for (const name of ['paper', 'ink', 'soft', 'line', 'panel', 'link', 'bad', 'warn', 'good', 'c0',
		'c1', 'c2', 'c3', 'c4', 'c5', 'light'])
		ink[name] = style.getPropertyValue('--' + name).trim();
}

/* The same hue for the same number, with as much difference to its neighbours as there can be. */
const hueColour = (number, alpha) =>
	`hsla(${(205 + number * 137.508) % 360}, 62%, ${ink.light}, ${alpha === undefined ? 1 : alpha})`;

/* A view: the part of an axis that is visible */

function makeView(domain, options) {
	return {domain, home: domain, part: domain.slice(), members: [], pointed: null,
		log: false, changed: null, ...options};
}

function showPart(view, part) {
	const [least, most] = view.domain;
	let [from, to] = [Math.max(least, part[0]), Math.min(most, part[1])];
	if (!(to - from > (view.log ? 0 : (view.least || 0) / 2)))
		[from, to] = view.home;
	view.part = [from, to];
	view.members.forEach(redraw);
	if (view.changed)
		view.changed();
}

const measureOf = view => view.log ? [Math.log, Math.exp] : [v => v, v => v];

/* By a factor, around a value; in the scale's own measure. */
function zoomView(view, factor, at) {
	const [to, from] = measureOf(view);
	const [a, b] = view.part.map(to), centre = at === undefined ? (a + b) / 2 : to(at);
	const least = view.least || 0;
	if (factor < 1 && !view.log && (b - a) * factor < least)
		return;
	showPart(view, [from(centre + (a - centre) * factor), from(centre + (b - centre) * factor)]);
}

function moveView(view, share) {
	const [to, from] = measureOf(view);
	const [a, b] = view.part.map(to), [least, most] = view.domain.map(to);
	const by = Math.max(least - a, Math.min(most - b, (b - a) * share));
	showPart(view, [from(a + by), from(b + by)]);
}

/* Scales and ticks */

function makeScale(log, domain, range) {
	const to = log ? Math.log : v => v, from = log ? Math.exp : v => v;
	const a = to(domain[0]), span = to(domain[1]) - a || 1, wide = range[1] - range[0];
	const scale = v => range[0] + (to(v) - a) / span * wide;
	scale.invert = p => from(a + (p - range[0]) / wide * span);
	scale.domain = domain;
	return scale;
}

function linearTicks(domain, most) {
	const span = domain[1] - domain[0], rough = span / Math.max(1, most);
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = power * [1, 2, 5, 10].find(s => s * power >= rough * .999);
	const values = [];
	for (let v = Math.ceil(domain[0] / step - 1e-9) * step; v <= domain[1] + step * 1e-9; v += step)
		values.push(Math.abs(v) < step * 1e-9 ? 0 : v);
	return values;
}

/* Powers of ten, what is between them if there is room, and each second or third if there is not. */
function logTicks(domain, most) {
	const values = [];
	for (const [every, steps] of [[1, [1, 2, 5]], [1, [1, 3]], [1, [1]], [2, [1]], [3, [1]],
		[6, [1]]]) {
		values.length = 0;
		const first = every * Math.floor(Math.log10(domain[0]) / every);
		for (let power = first; 10 ** power <= domain[1] * 1.0001; power += every)
			for (const step of steps)
				if (step * 10 ** power >= domain[0] * .9999 &&
					step * 10 ** power <= domain[1] * 1.0001)
					values.push(step * 10 ** power);
		if (values.length <= most)
			break;
	}
	return values;
}

/* About @most of them, two at least. */
function ticksOf(log, domain, most) {
	let values = [];
	for (let n = Math.max(1, most); values.length < 2 && n < 16; n *= 1.4)
		values = (log ? logTicks : linearTicks)(domain, n);
	return values;
}

/* Round numbers of bytes are those of KiB, MiB, ... */
function byteTicks(log, domain, most) {
	const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, domain[1])) / 10));
	return ticksOf(log, domain.map(v => v / unit), most).map(v => v * unit);
}

/*
 * A plot.
 *
 *	title, note	what it shows, and what must be known to read it
 *	view		of the x axis; format(value, span) labels it
 *	height		pixels; left: those beside it
 *	y		{domain(from, to) of what is visible, format(value), log, whole, bytes};
 *			none: rows
 *	draw(pen)	pen.c is the canvas' context, clipped; pen.x, pen.y are scales
 *	hover(x, y, at)	the lines that say what is there; at: [pixels right, down]
 *	click(x, y, at)	optional
 *	keys(key)	optional: true if it is one of its own
 *	legend		() => [[colour, text], ...]
 */
function addFigure(parent, what) {
	const figure = add(parent, 'figure', null, {tabindex: 0, role: 'group', 'aria-label':
		`${what.title}. Arrow keys move, + and - zoom, Shift and arrows read, Escape shows all.`});
	const caption = add(figure, 'figcaption', what.title + ' ');
	if (what.note)
		add(caption, 'span', what.note, {class: 'note'});
	what.figure = figure;
	if (what.legend)
		what.legendBox = add(figure, 'div', null, {class: 'legend'});
	what.drawing = add(figure, 'div', null, {class: 'drawing'});
	what.canvas = add(what.drawing, 'canvas', null, {'aria-hidden': 'true'});
	what.cross = add(what.drawing, 'div', null, {class: 'cross', hidden: ''});
	what.extent = add(what.drawing, 'div', null, {class: 'extent', hidden: ''});
	what.pointed = null;
	what.level = 10;
	what.words = figure.words = [];
	figures.push(what);
	what.view.members.push(what);
	redraw(what);
	attachPointer(what);
	figure.addEventListener('keydown', event => steerFigure(what, event));
	watchScreen.observe(figure);
	figure.plot = what;
	return figure;
}

/* Drawing: soon, and only what is on the screen */

const waiting = new Set();
let frame = null;

function redraw(what) {
	what.stale = true;
	what.canvas.style.height = `${TOP + heightOf(what) + BOTTOM}px`;
	waiting.add(what);
	if (!frame)
		frame = requestAnimationFrame(drawWaiting);
}

function drawWaiting() {
	frame = null;
	for (const what of waiting)
		if (what.stale && what.near)
			drawFigure(what);
	waiting.clear();
}

const watchScreen = new IntersectionObserver(entries => {
	for (const entry of entries) {
		const what = entry.target.plot;
		what.near = entry.isIntersecting;
		if (what.near && what.stale)
			drawFigure(what);
	}
}, {rootMargin: '300px 0px'});

function drawAll() {
	readColours();
	for (const what of figures) {
		what.near = true;
		drawFigure(what);
	}
}

const heightOf = what => typeof what.height === 'function' ? what.height() : what.height || 150;

function drawFigure(what) {
	const wide = what.drawing.clientWidth;
	if (!wide)
		return; /* it is folded */
	what.stale = false;
	const left = what.left === undefined ? LEFT : typeof what.left === 'function' ? what.left() :
		what.left;
	const height = heightOf(what), width = Math.max(60, wide - left - RIGHT);
	const c = prepareCanvas(what, wide, TOP + height + BOTTOM);
	const part = what.view.part, x = makeScale(what.view.log, part, [0, width]);
	const domain = what.y.none ? [0, height] : what.y.domain(...part);
	const y = makeScale(what.y.log, domain, what.y.none ? [0, height] : [height, 0]);
	const pen = {c, x, y, width, height, part, what, left};
	what.pen = pen;
	what.words.length = 0;
	drawLegend(what);
	c.save();
	c.translate(left, TOP);
	drawAxes(pen);
	c.save();
	c.beginPath();
	c.rect(0, 0, width, height);
	c.clip();
	what.draw(pen);
	if (what.view.marks)
		what.view.marks(pen);
	c.restore();
	if (what.drawLabels)
		what.drawLabels(pen);
	c.restore();
	placeCross(what);
}

function prepareCanvas(what, wide, high) {
	const dense = Math.max(window.devicePixelRatio || 1, what.printed ? 2 : 1);
	const canvas = what.canvas;
	canvas.width = Math.round(wide * dense);
	canvas.height = Math.round(high * dense);
	canvas.style.height = `${high}px`;
	const c = canvas.getContext('2d');
	c.setTransform(dense, 0, 0, dense, 0, 0);
	c.font = FONT;
	c.textBaseline = 'middle';
	return c;
}

function drawLegend(what) {
	if (!what.legendBox)
		return;
	const entries = what.legend();
	const key = JSON.stringify(entries);
	if (what.legendKey === key)
		return;
	what.legendKey = key;
	what.legendBox.textContent = '';
	for (const [c, text] of entries.length > 1 || what.legendAlways ? entries : []) {
		const entry = add(what.legendBox, 'span');
		add(entry, 'i').style.background = c;
		entry.appendChild(document.createTextNode(text));
	}
}

/* A label, unless it would lie over another one; a test reads where they are. */
function drawWord(pen, text, x, y, align, colour) {
	const wide = pen.c.measureText(text).width;
	const left = align === 'right' ? x - wide : align === 'center' ? x - wide / 2 : x;
	const box = [left - 2, y - 7, left + wide + 2, y + 7];
	if (pen.what.words.some(w => w[0] < box[2] && w[2] > box[0] && w[1] < box[3] && w[3] > box[1]))
		return false;
	pen.what.words.push([...box, text]);
	pen.c.fillStyle = colour || ink.ink;
	pen.c.textAlign = 'left';
	pen.c.fillText(text, left, y);
	return true;
}

function drawLine(pen, x1, y1, x2, y2, colour, dash) {
	pen.c.beginPath();
	pen.c.setLineDash(dash || []);
	pen.c.strokeStyle = colour;
	pen.c.lineWidth = 1;
	pen.c.moveTo(x1, y1);
	pen.c.lineTo(x2, y2);
	pen.c.stroke();
	pen.c.setLineDash([]);
}

function drawAxes(pen) {
	const {what, width, height, part} = pen;
	if (!what.y.none)
		for (const v of (what.y.bytes ? byteTicks : ticksOf)(what.y.log, pen.y.domain, height / 38)) {
			if (what.y.whole && v % 1)
				continue;
			const y = Math.round(pen.y(v)) + .5;
			drawLine(pen, 0, y, width, y, ink.line);
			drawWord(pen, what.y.format(v), -6, y, 'right');
		}
	drawLine(pen, 0, height + .5, width, height + .5, ink.line);
	const ticks = what.ticks ? what.ticks(pen) : ticksOf(what.view.log, part, width / 100);
	const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : part[1] - part[0];
	for (const v of ticks) {
		const x = Math.round(pen.x(v)) + .5, text = what.format(v, step * 1000);
		const half = pen.c.measureText(text).width / 2;
		if (what.y.none && !what.plain)
			drawLine(pen, x, 0, x, height, ink.line, [1, 3]);
		drawLine(pen, x, height, x, height + 4, ink.soft);
		drawWord(pen, text, Math.max(half - pen.left, Math.min(width + RIGHT - half, x)),
			height + 15, 'center');
	}
}

/* A line of steps: [x, y] holds until the next, to the last; with the area below it. */
function drawSteps(pen, points, colour, dash, filled) {
	const {c, part} = pen;
	const first = Math.max(0, firstIndex(points, p => p[0] > part[0]) - 1);
	const last = firstIndex(points, p => p[0] > part[1]);
	if (first >= last)
		return;
	c.beginPath();
	let y = pen.y(points[first][1]);
	c.moveTo(pen.x(points[first][0]), y);
	for (let i = first + 1; i < Math.min(points.length, last + 1); i++) {
		const x = pen.x(points[i][0]);
		c.lineTo(x, y);
		y = pen.y(points[i][1]);
		c.lineTo(x, y);
	}
	c.setLineDash(dash || []);
	c.strokeStyle = colour;
	c.lineWidth = 1.5;
	c.stroke();
	c.setLineDash([]);
	if (filled) {
		c.lineTo(pen.x(points[Math.min(points.length - 1, last)][0]), pen.height);
		c.lineTo(pen.x(points[first][0]), pen.height);
		c.globalAlpha = .14;
		c.fillStyle = colour;
		c.fill();
		c.globalAlpha = 1;
	}
}

/* What is pointed at */

function showHover(lines, x, y) {
	hoverBox.textContent = lines.filter(Boolean).join('\n');
	hoverBox.hidden = !lines.length;
	const box = hoverBox.getBoundingClientRect();
	const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
	hoverBox.style.left = `${Math.max(4, left)}px`;
	hoverBox.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - box.height - 4))}px`;
}

function hideHover(view) {
	hoverBox.hidden = true;
	if (!view)
		return;
	view.pointed = null;
	view.members.forEach(placeCross);
}

/* The crosshair is at the same value in all plots of a view. */
function placeCross(what) {
	const value = what.view.pointed, pen = what.pen;
	const x = value === null || !pen ? -1 : pen.x(value);
	what.cross.hidden = !(x >= 0 && pen && x <= pen.width);
	if (what.cross.hidden)
		return;
	what.cross.style.left = `${pen.left + x}px`;
	what.cross.style.height = `${pen.height}px`;
}

function pointAt(what, px, py, clientX, clientY) {
	if (!what.pen)
		return;
	what.pointed = px;
	what.level = py;
	what.view.pointed = what.pen.x.invert(px);
	what.view.members.forEach(placeCross);
	const lines = what.hover ? what.hover(what.view.pointed, what.pen.y.invert(py), [px, py]) : [];
	showHover(lines, clientX, clientY);
}

/* Mouse and fingers */

function placeIn(what, event) {
	const box = what.drawing.getBoundingClientRect();
	return [event.clientX - box.left - what.pen.left, event.clientY - box.top - TOP];
}

function attachPointer(what) {
	const held = new Map(); /* pointers that are down */
	let start = null;
	const area = what.drawing;
	area.addEventListener('pointerdown', event => {
		if (event.button || !what.pen)
			return;
		held.set(event.pointerId, event);
		const [px, py] = placeIn(what, event);
		start = {px, py, part: what.view.part, pan: event.shiftKey || event.pointerType === 'touch',
			apart: held.size === 2 ? fingerSpan(held) : 0, moved: held.size > 1};
		area.setPointerCapture(event.pointerId);
	});
	area.addEventListener('pointermove', event => {
		if (!what.pen)
			return;
		if (held.has(event.pointerId))
			held.set(event.pointerId, event);
		const [px, py] = placeIn(what, event);
		if (start && (start.moved || Math.abs(px - start.px) > 4)) {
			start.moved = true;
			dragTo(what, start, held, px);
		} else if (!start) {
			pointAt(what, Math.max(0, Math.min(what.pen.width, px)), py, event.clientX,
				event.clientY);
		}
	});
	const release = event => {
		held.delete(event.pointerId);
		if (!start || held.size)
			return;
		const ended = start;
		start = null;
		what.extent.hidden = true;
		if (event.type === 'pointerup')
			endDrag(what, ended, event);
	};
	area.addEventListener('pointerup', release);
	area.addEventListener('pointercancel', release);
	area.addEventListener('pointerleave', () => hideHover(what.view));
	area.addEventListener('dblclick', () => showPart(what.view, what.view.home));
	area.addEventListener('wheel', event => turnWheel(what, event), {passive: false});
}

function fingerSpan(held) {
	const [a, b] = [...held.values()];
	return Math.max(10, Math.abs(a.clientX - b.clientX));
}

/* Two fingers zoom, one finger or Shift moves, a mouse marks a part. */
function dragTo(what, start, held, px) {
	const [to, from] = measureOf(what.view), [a, b] = start.part.map(to);
	const perPixel = (b - a) / what.pen.width;
	hideHover(what.view);
	if (start.apart && held.size === 2) {
		const factor = start.apart / fingerSpan(held), centre = a + start.px * perPixel;
		showPart(what.view, [from(centre + (a - centre) * factor),
			from(centre + (b - centre) * factor)]);
	} else if (start.pan) {
		const [least, most] = what.view.domain.map(to);
		const by = Math.max(least - a, Math.min(most - b, (start.px - px) * perPixel));
		showPart(what.view, [from(a + by), from(b + by)]);
	} else {
		const left = Math.max(0, Math.min(px, start.px));
		const right = Math.min(what.pen.width, Math.max(px, start.px));
		what.extent.hidden = false;
		what.extent.style.left = `${what.pen.left + left}px`;
		what.extent.style.width = `${right - left}px`;
		what.extent.style.height = `${what.pen.height}px`;
	}
}

function endDrag(what, start, event) {
	const [px, py] = placeIn(what, event), {x, y} = what.pen;
	if (!start.moved) {
		pointAt(what, Math.max(0, Math.min(what.pen.width, px)), py, event.clientX, event.clientY);
		if (what.click)
			what.click(x.invert(px), y.invert(py), [px, py]);
	} else if (!start.pan) {
		showPart(what.view, [Math.min(px, start.px), Math.max(px, start.px)].map(x.invert));
	}
}

function turnWheel(what, event) {
	const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
	if (!what.pen || !(event.ctrlKey || event.shiftKey || event.metaKey || sideways))
		return; /* the page scrolls */
	event.preventDefault();
	if (sideways && !event.ctrlKey && !event.shiftKey)
		moveView(what.view, event.deltaX / what.pen.width);
	else
		zoomView(what.view, (event.deltaY || event.deltaX) > 0 ? 1.3 : 1 / 1.3,
			what.pen.x.invert(placeIn(what, event)[0]));
}

/* Keys */

/* By a fiftieth of the width, and by half a row. */
function pointBeside(what, side, rise) {
	const {width, height, left} = what.pen;
	const within = (value, least, most) => Math.max(least, Math.min(most, value));
	const from = what.pointed === null ? width / 2 : what.pointed;
	const px = within(from + side * width / 50, 0, width);
	const py = within(what.level + rise * 8, 1, height - 1);
	const box = what.drawing.getBoundingClientRect();
	pointAt(what, px, py, box.left + px + left, box.top + py);
}

function steerFigure(what, event) {
	const side = {ArrowLeft: -1, ArrowRight: 1, a: -1, d: 1}[event.key] || 0;
	const rise = {ArrowUp: -1, ArrowDown: 1}[event.key] || 0;
	if (event.ctrlKey || event.metaKey || event.altKey || !what.pen)
		return;
	if (what.keys && what.keys(event.key)) {
		/* its own */
	} else if ((side || rise) && event.shiftKey) {
		pointBeside(what, side, rise);
	} else if (side) {
		moveView(what.view, side / 4);
	} else if (event.key === '+' || event.key === '=' || event.key === 'w') {
		zoomView(what.view, 1 / 1.6, what.view.pointed === null ? undefined : what.view.pointed);
	} else if (event.key === '-' || event.key === 's') {
		zoomView(what.view, 1.6, what.view.pointed === null ? undefined : what.view.pointed);
	} else if (event.key === 'Escape') {
		what.pointed = null;
		hideHover(what.view);
		showPart(what.view, what.view.home);
	} else {
		return;
	}
	event.preventDefault();
}
