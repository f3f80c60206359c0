/*
 * The page of `verbatim report` draws what is in the element "data" (report.c says what that is).
 * The files are one script, in this order:
 *
 *	base.js		elements, tables, numbers
 *	plot.js		a plot: axes, zoom, pointer, keys
 *	verdict.js	verdict, tiles
 *	time.js		the time axis that all plots over time share, rates, depths, memory, states
 *	lanes.js	the life of requests and calls
 *	charts.js	distributions, heat maps
 *	places.js	flame graphs
 *	waits.js	who waits for whom
 *	page.js		the other sections, search, and all of it together
 *
 * Everything of a trace goes into the document as text, never as markup.
 */
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const after = data.after, before = data.before || null;
const page = document.getElementById('page'), hoverBox = document.getElementById('hover');

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

/* A section that can be folded. Returns what goes into it. */
function addSection(id, title) {
	const section = add(page, 'section', null, {id});
	const fold = add(section, 'details', null, {class: 'fold', open: ''});
	add(add(fold, 'summary'), 'h2', title);
	add(document.getElementById('contents'), 'a', title, {href: '#' + id});
	return fold;
}

/* It has nothing to show: its reason is one click away. */
function foldSection(fold, reason) {
	const id = fold.parentElement.id;
	add(fold, 'p', reason, {class: 'note'});
	add(fold.querySelector('summary'), 'span', ' nothing', {class: 'note'});
	fold.open = false;
	document.querySelector(`#contents a[href="#${id}"]`).classList.add('nothing');
}

function addTable(parent, columns, rows, title, of) {
	if (!rows.length)
		return null;
	const details = add(parent, 'details', null, {class: 'table'});
	const more = of > rows.length ? ` of ${formatCount(of)}` : '';
	add(details, 'summary', `${title || 'table'}: ${formatCount(rows.length)}${more} row` +
		(rows.length === 1 ? '' : 's'));
	/* a long table is made when it is looked at */
	if (rows.length < 50)
		fillTable(details, columns, rows);
	else
		details.addEventListener('toggle', () => fillTable(details, columns, rows), {once: true});
	return details;
}

function fillTable(details, columns, rows) {
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

const metaOf = (trace, key) => {
	const row = trace.tables.meta.rows.find(r => r[0] === key);
	return row ? row[1] : null;
};

/* The traces that a plot shows: each with its name, and how its lines are drawn. */
const shownTraces = before ? [
	{trace: after, name: 'after', colour: () => ink.c0, dash: []},
	{trace: before, name: 'before', colour: () => ink.c1, dash: [5, 3]},
] : [{trace: after, name: '', colour: () => ink.c0, dash: []}];

const nameOf = (shown, text) => shown.name ? `${shown.name}: ${text}` : text;

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

/* As in all commands; a whole number has no digits after the point. */
const formatBytes = n => formatScaled(n, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB'])
	.replace(/\.0+ /, ' ');
const formatRate = n => formatScaled(n, 1000, ['', 'k', 'M', 'G']);
const formatShort = n => Math.abs(n) < 1000 ? String(+n.toFixed(2)) : formatRate(n);

function formatTime(ns) {
	if (ns === null || ns === undefined || ns < 0)
		return '?';
	return formatScaled(ns, 1000, ['ns', 'us', 'ms']).replace(/^(\d{4,})(\.\d+)? ms$/,
		(all, ms) => `${(ms / 1000).toFixed(2)} s`);
}

/* A moment of the recording, to a thousandth of @span. */
function formatMoment(ns, span) {
	const [unit, name] = Math.abs(ns) >= 1e9 ? [1e9, 's'] : Math.abs(ns) >= 1e6 ? [1e6, 'ms'] :
		[1e3, 'us'];
	const digits = Math.max(0, Math.min(Math.round(Math.log10(unit)),
		Math.ceil(Math.log10(unit / Math.max(span, 1) * 1000) - .001)));
	return `${(ns / unit).toFixed(digits)} ${name}`;
}

/* Two digits of small shares. */
function formatShare(v) {
	const percent = v * 100;
	const digits = percent >= 9.95 || !percent ? 0 : Math.min(7, 1 - Math.floor(Math.log10(percent)));
	return `${String(+percent.toFixed(digits))} %`;
}

function ratioOf(a, b) {
	return b ? a / b : null;
}

const countOf = classes => classes.reduce((n, c) => n + c[2], 0);
const leastOf = (list, pick) => list.reduce((v, each) => Math.min(v, pick(each)), Infinity);
const mostOf = (list, pick) => list.reduce((v, each) => Math.max(v, pick(each)), -Infinity);

/* The index of the first element of a sorted list for which @isAfter holds. */
function firstIndex(list, isAfter) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (isAfter(list[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}
