/*
 * The first screen: the verdict, and cards of one value each
 */

/* Verdict: what check and diff report, worst first */

function addVerdict() {
	const section = addSection('verdict', 'Verdict');
	const all = [...verdictsOfCheck(after.check), ...(after.diff ? verdictsOfDiff(after.diff) : [])]
		.sort((a, b) => a.rank - b.rank);
	const worst = all.length ? all[0].rank : 9;
	const box = add(section, 'div', null, {class: 'verdict' + (worst < 2 ? ' bad' :
		worst < 4 ? ' warn' : '')});
	add(box, 'p', headline(all));
	if (all.length) {
		const list = add(box, 'ol');
		all.slice(0, 3).forEach(verdict => addVerdictLine(list, verdict));
	}
	if (all.length > 3) {
		const more = add(section, 'details');
		add(more, 'summary', `${formatCount(all.length - 3)} more`);
		const rest = add(more, 'ol', null, {start: 4});
		all.slice(3).forEach(verdict => addVerdictLine(rest, verdict));
	}
}

function headline(all) {
	const check = after.check, n = kind => all.filter(v => v.kind === kind)
		.reduce((sum, v) => sum + v.n, 0);
	const words = [];
	for (const [kind, one, many] of [['failed', 'failed verb', 'failed verbs'],
			['never', 'call that never returned', 'calls that never returned'],
			['killed', 'process killed', 'processes killed'],
			['stuck', 'process stuck', 'processes stuck'], ['late', 'late rank', 'late ranks'],
			['fatal', 'fatal event', 'fatal events'],
			['first', 'queue pair in error', 'queue pairs in error'],
			['error', 'error', 'errors'], ['warning', 'warning', 'warnings'],
			['hazard', 'hazard', 'hazards'], ['wait', 'wait', 'waits'],
			['regression', 'regression', 'regressions'], ['change', 'change', 'changes']])
		if (n(kind))
			words.push(`${formatCount(n(kind))} ${n(kind) === 1 ? one : many}`);
	const clean = `Nothing found: ${formatCount(check.rules.filter(r => r.checked).length)} of ` +
		`${check.rules.length} rules had what they need.`;
	return words.length ? words.join(', ') : clean;
}

function addVerdictLine(list, verdict) {
	const line = add(list, 'li', null, verdict.rank < 2 ? {class: 'error'} :
		verdict.rank < 4 ? {class: 'warning'} : {});
	add(line, 'b', verdict.title + ' ');
	addText(line, verdict.text);
	if (verdict.time >= 0) {
		const show = add(line, 'button', 'show', {type: 'button', class: 'show'});
		show.addEventListener('click', () => {
			showError(verdict);
			openSection('lanes');
		});
	}
	for (const text of verdict.more || [])
		addText(add(line, 'div', null, {class: 'more'}), text);
}

/* Facts, by their name in the output of check. */
const factKinds = {
	failed_verbs: ['failed', 1, f => `= ${f.error || 'failure'}`],
	hung_calls: ['never', 1, f => `never returned (${formatTime(f.lasted)})`],
	killed_processes: ['killed', 1, f => `process ${f.process} was killed by signal ${f.signal}; ` +
		`${formatCount(f.live_objects)} live objects`],
	fatal_events: ['fatal', 1, () => 'fatal event'],
	failed_exits: ['failed', 1, f => `process ${f.process} ended with status ${f.status}`],
	vain_waits: ['wait', 2, f => `waited in vain (${formatTime(f.lasted)})`],
	long_waits: ['wait', 3, f => `waited ${formatTime(f.lasted)}`],
};

function verdictOfFact(kind, f) {
	const [word, rank, say] = factKinds[kind], reason = f.because || f.waited_for;
	const message = say(f) + (reason ? `: ${reason}` : '');
	return {rank, kind: word, n: f.count || 1, time: f.time, event: f.event,
		title: kind === 'killed_processes' || kind === 'failed_exits' ? '' : f.what || f.verb || '',
		text: message + placeOf({event: f.event, count: f.count, message})};
}

function verdictOfError(e) {
	return {rank: 0, kind: 'first', n: 1, time: e.time, posted_at: e.posted_at, title: e.status,
		text: `${e.object || ''} of process ${e.process}, polled at ${e.event}` +
			(e.request ? `, posted at ${e.request}, ` +
				`${formatTime(e.time - e.posted_at)} before` : '') +
			(e.flushed ? `; ${formatCount(e.flushed)} flushed after it` : ''),
		more: [e.opcode && `${e.opcode} of ${formatBytes(e.length)}, wr_id 0x` +
			BigInt.asUintN(64, BigInt(e.wr_id)).toString(16) + (e.lkey_of ? `, lkey of ${e.lkey_of}` : ''), e.keys,
		e.port_then, e.peer && `peer ${e.peer}${e.peer_then ? `: ${e.peer_then}` : ''}`]
			.filter(Boolean)};
}

/* " (3:51, 4 times)", unless the message names the event. */
function placeOf(finding) {
	const named = new RegExp(`(^|[^0-9:])${finding.event}([^0-9:]|$)`).test(finding.message);
	const words = [!named && finding.event,
		finding.count > 1 && `${formatCount(finding.count)} times`].filter(Boolean);
	return words.length ? ` (${words.join(', ')})` : '';
}

/* "rank 5 (node n1)", or the process of a program that is in no job. */
function rankText(p) {
	return p.rank === undefined ? `process ${p.process}` :
		`rank ${p.rank}` + (p.node ? ` (node ${p.node})` : '');
}

/* The same of one of its threads, where they are told apart. */
function nodeText(p) {
	return rankText(p) + (p.thread ? ` thread ${p.thread}` : '') +
		(p.thread_name ? ` (${p.thread_name})` : '');
}

/* Who is to blame for a hang, and who was late. */
function verdictsOfWaits(waits) {
	const found = waits.blamed.map(b => ({rank: 0, kind: 'stuck', n: b.all, time: b.processes[0].time,
		title: b.circle ? 'a circle of waits:' : nodeText(b.processes[0]),
		text: (b.circle ? b.processes.map(nodeText).join(', ') : b.processes[0].message) +
			` (${b.processes[0].event})`,
		more: [`${formatCount(b.all)} wait for ${b.circle ? 'them' : 'it'}, ` +
			`${formatCount(b.direct)} directly`]}));
	const late = waits.late;
	if (late)
		found.push({rank: 2, kind: 'late', n: 1, time: -1, title: rankText(late),
			text: `was late ${formatCount(late.times)} times, for ${formatTime(late.late)}: the ` +
				`cause of ${formatTime(late.caused)} of ${formatTime(late.waited)} of waiting ` +
				`(${late.event})`});
	return found;
}

function verdictsOfCheck(check) {
	const found = verdictsOfWaits(check.waits);
	for (const kind of Object.keys(factKinds))
		for (const fact of check[kind] || [])
			found.push(verdictOfFact(kind, fact));
	for (const error of check.first_errors || [])
		found.push(verdictOfError(error));
	for (const f of check.findings || [])
		found.push({rank: f.severity === 'error' ? 1 : f.severity === 'warning' ? 2 :
			f.severity === 'hazard' ? 3 : 5, time: f.time,
			kind: f.severity, n: f.count, title: `${f.rule} ${f.name}`,
			text: f.message + placeOf(f),
			more: [f.breaks_when && `breaks when ${f.breaks_when}`, f.advice && `to do: ${f.advice}`]
				.filter(Boolean)});
	return found;
}

function verdictsOfDiff(diff) {
	const ranks = {regression: 1, worse: 1, changed: 4};
	const formats = {ns: formatTime, percent: v => `${formatShort(v)} %`};
	const shown = (v, unit) => v === null ? 'none' : typeof v !== 'number' ? v :
		(formats[unit] || formatShort)(v);
	return diff.changes.filter(c => c.verdict in ranks).map(c => ({
		rank: ranks[c.verdict], kind: ranks[c.verdict] === 1 ? 'regression' : 'change', n: 1,
		title: `${c.section}: ${c.what}`,
		text: `${shown(c.before, c.unit)} \u2192 ${shown(c.after, c.unit)}: ${c.verdict}` +
			(c.place ? ` at ${c.place}` : '') + (c.note ? ` (${c.note})` : ''),
	}));
}

/* What the run was, in a few numbers */

function summarise(trace) {
	const stat = trace.stat, s = stat.summary, send = stat.posting.send;
	const span = s.last_completion_ns - s.first_post_ns;
	const main = mainOpcode(stat);
	const found = stat.posting.completions_of_a_poll.reduce((n, c) => n + c[2], 0);
	return {
		requests: send.requests,
		rate: span > 0 ? send.requests / span * 1e9 : null,
		bandwidth: span > 0 ? send.bytes / span * 1e9 : null,
		p50: main ? percentile(main.classes, 50) : null,
		p99: main ? percentile(main.classes, 99) : null, main,
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

/*
 * Cards. A change has no colour: whether a time has changed is diff's verdict, and says nothing with
 * one run a side.
 */
function addTiles() {
	const section = addSection('tiles', 'At a glance');
	const now = summarise(after), then = before && summarise(before);
	const box = add(section, 'div', null, {class: 'tiles'});
	const tile = (name, key, format, bad) => {
		const value = now[key], old = then && then[key];
		const known = v => v !== null && v !== undefined;
		const element = add(box, 'div', null, {class: 'tile' + (bad && value ? ' bad' : '')});
		add(element, 'b', known(value) ? format(value) : '-');
		add(element, 'span', name);
		if (then)
			add(element, 'span', known(old) ? changeOf(value, old, format) : 'before: -',
				{class: 'change'});
	};
	const main = now.main ? now.main.opcode : 'latency';
	tile('requests a second', 'rate', formatRate);
	tile('bytes a second', 'bandwidth', n => `${formatBytes(n)}/s`);
	tile(`${main} p50`, 'p50', formatTime);
	tile(`${main} p99`, 'p99', formatTime);
	tile('completions a poll that found any', 'perPoll', n => n.toFixed(2));
	tile('requests a doorbell', 'perDoorbell', n => n.toFixed(2));
	tile('errors', 'errors', formatCount, true);
	tile('lost events', 'lost', formatCount, true);
	tile('waited for the recorder', 'waited', formatTime);
	if (!now.requests)
		add(section, 'p', 'Nothing was posted to a send queue in this trace.', {class: 'note'});
}

function changeOf(now, then, format) {
	if (now === null || now === undefined || now === then)
		return now === then ? 'as before' : `before: ${format(then)}`;
	const arrow = now > then ? '\u25b2' : '\u25bc';
	const share = then ? `${now > then ? '+' : ''}${((now / then - 1) * 100).toFixed(
		Math.abs(now / then - 1) < .1 ? 1 : 0)} %` : '';
	return `${arrow} ${Math.abs(now / then) > 20 ? `\u00d7 ${(now / then).toFixed(0)}` : share}` +
		`, before:\u00a0${format(then).replaceAll(' ', '\u00a0')}`;
}
