/*
 * The rest of the page: events, environment, coverage, search; and all of it together
 */

/* Events, environment, coverage */

function addEvents() {
	const section = addSection('events', 'Events');
	const names = Object.keys(data.events);
	if (!names.length)
		return foldSection(section, 'No event is named above; verbatim dump shows any.');
	add(section, 'p', 'Those that are named above; verbatim dump shows any.', {class: 'note'});
	for (const name of names) {
		const details = add(section, 'details', null, {id: 'event-' + name.replace(':', '-')});
		const [time, , ...line] = data.events[name].split('\n')[0].trim().split(/\s+/);
		add(details, 'summary', `${name} at ${time} s: ${line.join(' ').slice(0, 110)}`);
		add(details, 'pre', data.events[name], {tabindex: 0});
	}
	return undefined;
}

/* Unfold what a link goes to, and what it is in. */
function openTarget() {
	const target = location.hash.length > 1 &&
		document.getElementById(decodeURIComponent(location.hash.slice(1)));
	if (!target)
		return;
	if (target.tagName === 'DETAILS')
		target.open = true;
	openFolds(target);
}

function openFolds(element) {
	for (let each = element; each; each = each.parentElement)
		if (each.tagName === 'DETAILS')
			each.open = true;
	const fold = element.querySelector(':scope > .fold');
	if (fold)
		fold.open = true;
}

function openSection(id) {
	const section = document.getElementById(id);
	openFolds(section);
	section.scrollIntoView({block: 'start'});
}

function addEnvironment() {
	const section = addSection('environment', 'Environment');
	const facts = [['trace', t => t.path], ['host', t => metaOf(t, 'host')],
		['kernel', t => `${metaOf(t, 'kernel') || '?'} ${metaOf(t, 'machine') || ''}`],
		['device', t => metaOf(t, 'device')], ['command', t => metaOf(t, 'command')],
		['began', t => metaOf(t, 'realtime') ? new Date(metaOf(t, 'realtime') / 1e6).toISOString() :
			null],
		['duration', t => formatTime(metaOf(t, 'duration'))],
		['recorded by', t => `verbatim ${metaOf(t, 'version') || '?'}`]];
	const table = addTable(section, ['', ...shownTraces.map(s => s.name || 'this trace')],
		facts.map(([name, show]) => [name, ...shownTraces.map(s => show(s.trace))]), 'facts');
	table.open = true;
	for (const [name, title] of [['processes', 'processes'], ['devices', 'devices'],
			['counters', 'counters of devices, while they changed'],
			['environ', 'variables that RDMA libraries read'], ['merged', 'merged of'],
			['modules', 'object files']]) {
		const t = after.tables[name];
		if (t && (t.rows.length || name != 'counters'))
			addTable(section, t.columns, t.rows, title, t.of);
	}
	if (after.diff)
		addTable(section, ['section', 'what', 'verdict', 'before', 'after', 'place', 'note'],
			after.diff.changes.map(c => [c.section, c.what, c.verdict, c.before, c.after, c.place,
				c.note]), 'all that was compared');
}

/* How a rank was late: what it did late, or instead. */
const lateHows = {send: 'late send', receive: 'late receive', poll: 'late poll',
	register: 'registration'};

/* Who waits for whom: only of a job that hangs, or has a rank that is late. */
function addWaits() {
	const {links, late} = after.check.waits;
	if (!links.length && !late)
		return;
	const section = addSection('waits', 'Waits');
	if (after.check.waits.blamed.length)
		addWaitGraph(section, after.check.waits);
	addTable(section, ['who', 'queue pair', 'waits for', 'its queue pair', 'what', 'since',
		'requests', 'received'], links.map(l => [nodeText(l), l.object, nodeText(l.for),
		l.for.object, l.request ? `${l.why} ${l.request}` : l.why, formatTime(l.since),
		formatCount(l.outstanding), formatCount(l.received)]), 'who waits for whom');
	if (late)
		addTable(section, ['who', `waited for ${rankText(late)}`, 'times', ...Object.values(lateHows)],
			[...late.waiters].sort((a, b) => b.ns - a.ns).map(w => [rankText(w), formatTime(w.ns),
				formatCount(w.times), ...Object.keys(lateHows).map(how => formatTime(w.how[how]))]),
			`who waited for ${rankText(late)}`);
	section.querySelectorAll('details').forEach(d => { d.open = true; });
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
		lines.push('The recorder made the program wait ' +
			`${formatTime(after.stat.waited.total_ns)} in ${formatCount(after.stat.waited.times)} wait` +
			`${after.stat.waited.times === 1 ? '' : 's'}.`);
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

/* Search: over all that the page has a place for */

const MOST_FOUND = 12;
let searchIndex = null;

function makeIndex() {
	const entries = [], push = (kind, text, go) => entries.push({kind, text,
		key: text.toLowerCase(), go});
	document.querySelectorAll('section').forEach(section => push('section',
		section.querySelector('h2').textContent, () => openSection(section.id)));
	for (const name of Object.keys(data.events))
		push('event', `${name} ${data.events[name].split('\n')[0].trim().slice(0, 90)}`, () => {
			location.hash = 'event-' + name.replace(':', '-');
			openTarget();
		});
	for (const f of after.check.findings || [])
		push('finding', `${f.rule} ${f.name}: ${f.message}`, () => openSection('verdict'));
	for (const q of rowsOf(after, 'qps'))
		push('queue pair', `${q.name} of process ${q.process}, number ${q.number}` +
			(q.peer_name ? `, peer ${q.peer_name} of process ${q.peer_process}` : ''),
		() => openSection('objects'));
	for (const p of after.stat.places)
		if (p.place)
			push('place', `${p.place} ${p.verb}`, () => openSection('places'));
	for (const {model, show, choose} of laneFigures) {
		for (const row of model.rows)
			for (const c of row.kind === 'thread' ? row.thread.calls : [])
				push('call', `${c.event} ${c.verb}(${c.name || ''})${c.failed ? ' failed' : ''}`,
					() => {
						openSection('lanes');
						showPart(timeView, [c.begin - c.duration, c.begin + 2 * c.duration + 1000]);
						choose(c);
					});
		for (const r of model.requests)
			push('request', `${r.post} ${r.opcode} wr_id ${r.wr_id} ${queueText(r.queue)} ` +
				`${r.status || ''}${r.poll ? ` polled ${r.poll}` : ''}`, () => {
				openSection('lanes');
				show(r);
			});
	}
	return entries;
}

/* Entries in which all words occur; those that begin with the text first. */
function findEntries(text) {
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	searchIndex = searchIndex || makeIndex();
	const found = words.length ? searchIndex.filter(e => words.every(w => e.key.includes(w))) : [];
	const rank = e => e.key.split(' ')[0] === words[0] ? 0 : e.key.startsWith(words[0]) ? 1 : 2;
	return found.sort((a, b) => rank(a) - rank(b));
}

function addSearch() {
	const input = document.getElementById('search'), list = document.getElementById('found');
	const close = () => {
		list.hidden = true;
		list.textContent = '';
	};
	const open = () => {
		const found = findEntries(input.value);
		close();
		list.hidden = !input.value.trim();
		for (const entry of found.slice(0, MOST_FOUND)) {
			const button = add(add(list, 'li'), 'button', null, {type: 'button'});
			add(button, 'b', entry.kind + ' ');
			button.appendChild(document.createTextNode(entry.text.slice(0, 140)));
			button.addEventListener('click', () => {
				close();
				entry.go();
			});
		}
		add(list, 'li', found.length ? `${formatCount(found.length)} found` : 'nothing found here; ' +
			'verbatim dump and verbatim sql have the whole trace', {class: 'note'});
	};
	input.addEventListener('input', open);
	input.addEventListener('keydown', event => {
		const first = list.querySelector('button');
		if (event.key === 'Enter' && first)
			first.click();
		else if (event.key === 'ArrowDown' && first)
			first.focus();
		else if (event.key === 'Escape')
			close();
		else
			return;
		event.preventDefault();
	});
	list.addEventListener('keydown', event => {
		const item = event.target.closest('li');
		const next = {ArrowDown: item && item.nextSibling, ArrowUp: item && item.previousSibling};
		if (event.key === 'Escape') {
			close();
			input.focus();
		} else if (event.key in next) {
			const button = next[event.key] && next[event.key].querySelector('button');
			(button || input).focus();
		} else {
			return;
		}
		event.preventDefault();
	});
	addEventListener('keydown', event => {
		if (event.key !== '/' || /INPUT|TEXTAREA/.test(document.activeElement.tagName))
			return;
		event.preventDefault();
		input.focus();
	});
	addEventListener('pointerdown', event => {
		if (!event.target.closest('#finder'))
			close();
	});
}

/* Theme, paper */

const wantsDark = matchMedia('(prefers-color-scheme: dark)'), onPaper = matchMedia('print');

function setTheme(theme) {
	document.documentElement.setAttribute('data-theme', theme);
	readColours();
	figures.forEach(redraw);
	drawTimeBar();
}

setTheme(wantsDark.matches ? 'dark' : 'light');
wantsDark.addEventListener('change', () => setTheme(wantsDark.matches ? 'dark' : 'light'));
document.getElementById('theme').addEventListener('click', () =>
	setTheme(document.documentElement.getAttribute('data-theme') === 'dark' ? 'light' : 'dark'));

/* On paper all is drawn, in its colours, and finer. */
onPaper.addEventListener('change', () => {
	figures.forEach(what => { what.printed = onPaper.matches; });
	drawAll();
	drawTimeBar();
});
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(d => {
	if (!d.classList.contains('fold') && d.querySelectorAll('tr').length < 40 &&
		!d.closest('#events'))
		d.open = true;
}));

/* All */

document.getElementById('about').textContent = `${after.path}${before ? ` compared with ` +
	before.path : ''}: ${metaOf(after, 'command') || ''}, ` +
	`${formatTime(metaOf(after, 'duration'))}, ${formatCount(after.check.events)} events`;
document.title = `${after.path} - Verbatim report`;

addVerdict();
addTiles();
addTimeline();
addLanes();
addLatency();
addGaps();
addDoorbells();
addMemory();
addPlaces();
addObjects();
addEvents();
addWaits();
addEnvironment();
addCoverage();
add(page, 'footer', 'Keys: / searches, Tab goes to a plot, arrows or a and d move, + and - or w and ' +
	's zoom, Shift and arrows read values, Enter chooses, Escape shows all. On a phone: one finger ' +
	`moves, two zoom. Made by verbatim ${data.version}.`, {class: 'keys'});
addSearch();
addEventListener('hashchange', openTarget);
openTarget();

addEventListener('resize', () => {
	figures.forEach(redraw);
	drawTimeBar();
});
document.querySelectorAll('.fold').forEach(fold => fold.addEventListener('toggle', () =>
	figures.filter(what => fold.contains(what.figure)).forEach(redraw)));
