/*
 * What a reader of the page that is open would stumble over; each function lists it, a string each.
 *
 * A plot is an svg or a canvas that is larger than an icon; of those in one figure, which lie over
 * one another, the svg that is first. The labels of a canvas are known only to the page, which keeps
 * them in the member `words` of their figure: [left, top, right, bottom, text]. Not here: what needs
 * a mouse, a keyboard or another window (browser.py).
 */
(() => {
	const SMALLEST_TEXT = 10, PLAIN_CONTRAST = 4.5, LARGE_CONTRAST = 3, SLACK = 1.5;

	const list = (query, of = document) => [...of.querySelectorAll(query)];
	const shorten = text => JSON.stringify(text.trim().replace(/\s+/g, ' ').slice(0, 60));

	function is_seen(element) {
		const box = element.getBoundingClientRect();
		return box.width > 1 && box.height > 1 &&
			element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
	}

	function name_of(element) {
		const section = element.closest('section');
		return `${section ? '#' + section.id + ' ' : ''}${element.tagName.toLowerCase()}` +
			`${element.id ? '#' + element.id : ''}`;
	}

	/* elements which have text of their own, and the box of that text */
	function read_texts() {
		const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const node = walker.currentNode, element = node.parentElement;
			if (!node.data.trim() || element.closest('script, style, title, option') ||
				!is_seen(element)) continue;
			const range = document.createRange();
			range.selectNodeContents(node);
			const box = range.getBoundingClientRect();
			if (box.width > 0) texts.push({element, box, text: node.data});
		}
		return texts;
	}

	function find_plots() {
		return list('svg, canvas').filter(plot => {
			const box = plot.getBoundingClientRect(), figure = plot.closest('figure');
			return box.width >= 120 && box.height >= 40 && is_seen(plot) &&
				!plot.parentElement.closest('svg') &&
				(!figure || plot === (figure.querySelector('svg') || figure.querySelector('canvas')));
		});
	}

	/* what a plot belongs together with: what gets the focus may be around it */
	const frame_of = plot => plot.closest('figure') || plot.closest('section') || plot;

	function focus_of(plot) {
		const frame = frame_of(plot);
		for (let element = plot; element; element = element.parentElement) {
			if (element.tabIndex >= 0) return element;
			if (element === frame) break;
		}
		return list('*', plot).find(element => element.tabIndex >= 0);
	}

	function sections(wanted) {
		const faults = wanted.filter(id => !document.querySelector(`section[id="${id}"]`))
			.map(id => `no section ${id}`);
		for (const section of list('section')) {
			const heading = section.querySelector('h1, h2, h3');
			if (!section.id) faults.push('a section has no id');
			else if (!heading || !heading.textContent.trim() || !is_seen(heading))
				faults.push(`#${section.id} has no heading`);
			else if (section.textContent.trim() === heading.textContent.trim() &&
				!section.querySelector('svg, canvas'))
				faults.push(`#${section.id} is empty`);
		}
		return faults;
	}

	function links() {
		const ids = new Map();
		for (const element of list('[id]')) ids.set(element.id, (ids.get(element.id) || 0) + 1);
		const faults = [...ids].filter(([, n]) => n > 1).map(([id]) => `id ${id} is there twice`);
		for (const link of list('a[href]')) {
			const target = link.getAttribute('href');
			if (!target.startsWith('#')) faults.push(`a link leaves the page: ${target}`);
			else if (!ids.has(decodeURIComponent(target.slice(1))))
				faults.push(`nothing is at ${target}`);
		}
		return faults;
	}

	/* words which only a mistake in the page's program shows */
	function slips() {
		return read_texts().filter(({text}) => /\b(NaN|undefined|Infinity)\b|\[object /.test(text))
			.map(({element, text}) => `${name_of(element)} says ${shorten(text)}`);
	}

	const scrolls = style => /auto|scroll/.test(style.overflowX);
	const cuts = style => /hidden|clip/.test(style.overflowX) || /hidden|clip/.test(style.overflowY);

	function ancestors(element) {
		const all = [];
		for (let each = element; each && each !== document.body; each = each.parentElement)
			all.push(each);
		return all;
	}

	function overflow() {
		const root = document.documentElement, width = root.clientWidth;
		if (root.scrollWidth <= width) return [];
		const wide = list('body *').filter(element => is_seen(element) &&
			element.getBoundingClientRect().right > width + SLACK &&
			!ancestors(element).slice(1).some(each => scrolls(getComputedStyle(each))));
		return [`is ${root.scrollWidth} px wide: ${wide.slice(0, 3).map(name_of).join(', ')}`];
	}

	const leaves = (box, frame) => box.left < frame.left - SLACK || box.right > frame.right + SLACK ||
		box.top < frame.top - SLACK || box.bottom > frame.bottom + SLACK;

	/* Text that is cut off and cannot be scrolled to; a title may have the whole of it. */
	function clipped() {
		return read_texts().filter(({element, box}) => {
			for (const each of ancestors(element)) {
				const style = getComputedStyle(each);
				if (scrolls(style)) return false;
				if (!cuts(style)) continue;
				const frame = each.getBoundingClientRect();
				if (frame.width <= 1 || frame.height <= 1) return false; // for screen readers
				if (leaves(box, frame))
					return !element.closest('[title]') && !element.querySelector('title');
			}
			return box.left < -SLACK;
		}).map(({element, text}) => `${name_of(element)} cuts off ${shorten(text)}`)
			.concat(cut_words());
	}

	/* A page draws what is on the screen, when there is a frame for it. */
	const draw = () => {
		if (window.drawAll) window.drawAll();
	};

	function overlapping_words() {
		const faults = [];
		draw();
		for (const figure of list('figure').filter(each => each.words))
			figure.words.forEach((a, i) => figure.words.slice(i + 1).forEach(b => {
				if (a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1])
					faults.push(`${name_of(figure)}: ${shorten(a[4])} and ${shorten(b[4])} overlap`);
			}));
		return faults;
	}

	/* labels that begin or end outside of their canvas */
	function cut_words() {
		const faults = [];
		draw();
		for (const figure of list('figure').filter(each => each.words && each.words.length)) {
			const {left} = figure.plot.pen, wide = figure.plot.canvas.clientWidth;
			for (const [from, , to, , text] of figure.words)
				if (from + left < -3 || to + left > wide + 3)
					faults.push(`${name_of(figure)} cuts off ${shorten(text)}`);
		}
		return faults;
	}

	function overlaps() {
		const faults = overlapping_words(), texts = read_texts().filter(({element}) => {
			const text = element.closest('text');
			if (!text) return false;
			const matrix = text.getScreenCTM();
			return Math.abs(matrix.b) < 0.01; // the box of what is turned is larger than it
		});
		const by_plot = Map.groupBy ? Map.groupBy(texts, ({element}) => element.ownerSVGElement)
			: new Map([[null, texts]]);
		for (const group of by_plot.values())
			group.slice(0, 400).forEach((a, i) => group.slice(i + 1, 400).forEach(b => {
				const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
				const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
				if (x > 1 && y > 3 && a.element.closest('text') !== b.element.closest('text'))
					faults.push(`${name_of(a.element)}: ${shorten(a.text)} and ` +
						`${shorten(b.text)} overlap`);
			}));
		return faults;
	}

	function tiny() {
		return read_texts().filter(({element}) => {
			const text = element.closest('text');
			const scale = text ? Math.abs(text.getScreenCTM().d) || 1 : 1;
			return parseFloat(getComputedStyle(element).fontSize) * scale < SMALLEST_TEXT - 0.1;
		}).map(({element, text}) => `${name_of(element)} is too small to read: ${shorten(text)}`);
	}

	/* any colour that CSS knows, as the screen shows it: red, green, blue, alpha */
	const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
	function read_colour(css) {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = css;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data];
	}

	function luminance(colour) {
		const [red, green, blue] = colour.slice(0, 3).map(each => {
			const part = each / 255;
			return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	}

	/* null where a picture or half a colour is behind it */
	function background_of(element) {
		for (let each = element; each; each = each.parentElement) {
			const style = getComputedStyle(each);
			if (style.backgroundImage !== 'none') return null;
			const colour = read_colour(style.backgroundColor);
			if (colour[3] === 255) return colour;
			if (colour[3] > 0) return null;
		}
		return read_colour(getComputedStyle(document.documentElement).colorScheme === 'dark' ?
			'black' : 'white');
	}

	/* of HTML's text: what is behind that of a plot is the plot's own business */
	function faint() {
		return read_texts().filter(({element}) => {
			if (element.closest('svg, button:disabled')) return false;
			const style = getComputedStyle(element), behind = background_of(element);
			if (!behind) return false;
			const [low, high] = [luminance(read_colour(style.color)), luminance(behind)]
				.sort((a, b) => a - b);
			const size = parseFloat(style.fontSize);
			const large = size >= 24 || size >= 18.6 && style.fontWeight >= 700;
			return (high + 0.05) / (low + 0.05) < (large ? LARGE_CONTRAST : PLAIN_CONTRAST);
		}).map(({element, text}) => `${name_of(element)} is too faint: ${shorten(text)}`);
	}

	function is_named(plot) {
		const caption = plot.closest('figure')?.querySelector('figcaption');
		return plot.getAttribute('aria-label') || plot.getAttribute('aria-labelledby') ||
			plot.querySelector(':scope > title') || focus_of(plot)?.getAttribute('aria-label') ||
			caption?.textContent.trim();
	}

	/* with two rows, or one that is filled when it is opened */
	const has_table = section => list('details', section).some(details =>
		list('table', details).some(table => table.rows.length > 1) ||
		/: [0-9,]+( of [0-9,]+)? rows$/.test(details.firstElementChild.textContent));

	/* of plots: what can be seen, can be read and reached without eyes or a mouse */
	function plots() {
		const faults = [];
		for (const plot of find_plots()) {
			const section = plot.closest('section'), name = name_of(plot);
			if (!is_named(plot)) faults.push(`${name} has no name`);
			if (!focus_of(plot)) faults.push(`${name} cannot be reached by keys`);
			if (!section) faults.push(`${name} is in no section`);
			else if (!has_table(section))
				faults.push(`${name} has no table`);
		}
		return faults;
	}

	/* what is to be seen of it, however it is written */
	function look(plot) {
		if (plot.tagName === 'CANVAS') return plot.toDataURL();
		const frame = plot.getBoundingClientRect();
		return list('*', plot).filter(is_seen).map(element => {
			const box = element.getBoundingClientRect();
			const place = [box.left - frame.left, box.top - frame.top, box.width, box.height];
			return [element.tagName, element.textContent, ...place.map(Math.round)].join(' ');
		}).join('\n');
	}

	/* where a mouse may find something: the middle of what is drawn, then anywhere */
	function points_of(plot) {
		const frame = plot.getBoundingClientRect(), points = [];
		const shapes = list('rect, circle, path, line', plot)
			.map(shape => shape.getBoundingClientRect()).filter(box => box.width > 1 && box.height > 1);
		const step = Math.max(1, Math.floor(shapes.length / 6));
		for (let i = 0; i < shapes.length; i += step)
			points.push([shapes[i].left + shapes[i].width / 2, shapes[i].top + shapes[i].height / 2]);
		for (const x of [0.5, 0.25, 0.75]) for (const y of [0.5, 0.8])
			points.push([frame.left + frame.width * x, frame.top + frame.height * y]);
		return points.filter(([x, y]) => plot.contains(document.elementFromPoint(x, y)));
	}

	/* of a copy, since a canvas that is read often is drawn more slowly */
	function pixels(of, x, y, width, height) {
		const copy = new OffscreenCanvas(of.width, of.height)
			.getContext('2d', {willReadFrequently: true});
		copy.drawImage(of, 0, 0);
		return [...copy.getImageData(x, y, width, height).data];
	}

	window.probe = {
		pixels, sections, links, slips, overflow, clipped, overlaps, tiny, faint, plots,
		count: () => [list('section').length, find_plots().length],
		names: () => find_plots().map(name_of),
		show: i => find_plots()[i].scrollIntoView({block: 'center', behavior: 'instant'}),
		points: i => points_of(find_plots()[i]),
		focus: i => focus_of(find_plots()[i])?.focus({preventScroll: true}),
		looks: i => look(find_plots()[i]),
		says: i => look(find_plots()[i]) + frame_of(find_plots()[i]).innerText,
		brightness: () => luminance(background_of(document.body)),
	};
})();
