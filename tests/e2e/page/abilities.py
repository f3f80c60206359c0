"""What a page can do: each function tries one thing with an open page (browser.py), and says what
is wrong. They need a page with sends that the peer has received, in two processes."""

from selenium.common.exceptions import WebDriverException

RANGE = 'return document.querySelector("#timebar output").textContent'
TIME_PLOTS = '#timeline figure, #lanes figure, #memory figure, #objects figure'


def ask(page, script, *arguments):
    return page.browser.execute_script(script, *arguments)


def box_of(page, query):
    """Where a plot draws: left, top, width, height in the window, scrolled to the middle."""
    ask(page, 'document.querySelector(arguments[0]).scrollIntoView({block: "center"})', query)
    page.settle()
    return ask(page, '''const plot = document.querySelector(arguments[0]).plot;
        const box = plot.drawing.getBoundingClientRect();
        return [box.left + plot.pen.left, box.top + 6, plot.pen.width, plot.pen.height]''', query)


def mouse(page, kind, x, y, buttons=1, modifiers=0):
    button = 'none' if kind == 'mouseMoved' and not buttons else 'left'
    page.tell('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, buttons=buttons,
              clickCount=1, modifiers=modifiers)


def drag(page, query, start, end, modifiers=0):
    left, top, width, height = box_of(page, query)
    y = top + height / 2
    mouse(page, 'mouseMoved', left + width * start, y, 0, modifiers)
    mouse(page, 'mousePressed', left + width * start, y, 1, modifiers)
    mouse(page, 'mouseMoved', left + width * (start + end) / 2, y, 1, modifiers)
    mouse(page, 'mouseMoved', left + width * end, y, 1, modifiers)
    mouse(page, 'mouseReleased', left + width * end, y, 0, modifiers)
    page.settle()


def home(page):
    ask(page, 'showPart(timeView, timeView.home)')
    page.settle()


def parts(page):
    """The part of the axis that each plot over time shows, as it has drawn it."""
    page.settle()
    return ask(page, '''drawAll();
        return [...document.querySelectorAll(arguments[0])].map(f => f.plot.pen.part.join(" "))''',
               TIME_PLOTS)


def zoom_is_shared(page):
    home(page)
    before = parts(page)
    drag(page, '#timeline figure', .3, .6)
    after = parts(page)
    if len(set(after)) != 1:
        return f'plots show different times: {sorted(set(after))}'
    if after[0] == before[0]:
        return 'dragging does not zoom'
    return ''


def shift_moves(page):
    home(page)
    drag(page, '#timeline figure', .3, .6)
    old = [float(v) for v in parts(page)[0].split()]
    drag(page, '#timeline figure', .5, .4, modifiers=8)
    new = [float(v) for v in parts(page)[0].split()]
    if not new[0] > old[0] or abs((new[1] - new[0]) - (old[1] - old[0])) > 1:
        return f'Shift and dragging moved {old} to {new}'
    return ''


def wheel_zooms(page):
    home(page)
    left, top, width, height = box_of(page, '#timeline figure')
    before = ask(page, RANGE)
    page.tell('Input.dispatchMouseEvent', type='mouseWheel', x=left + width / 2, y=top + height / 2,
              deltaX=0, deltaY=-120, modifiers=2)
    if not page.becomes(lambda: ask(page, RANGE) != before, 30):
        return 'Ctrl and the wheel do not zoom'
    return ''


def crosshair_is_shared(page):
    home(page)
    left, top, width, height = box_of(page, '#timeline figure')
    mouse(page, 'mouseMoved', left + width / 3, top + height / 2, 0)
    page.settle()
    places = ask(page, '''drawAll(); return [...document.querySelectorAll(arguments[0])].map(f => {
        const cross = f.querySelector(".cross");
        return cross.hidden ? null : Math.round(cross.getBoundingClientRect().left); })''',
                 TIME_PLOTS)
    if len(set(places)) != 1 or places[0] is None:
        return f'crosshairs are at {places}'
    return ''


def buttons_move(page):
    """The whole recording may be what the page shows first."""
    home(page)
    for label in 'zoom in', 'later', 'earlier', 'zoom out', 'zoom in', 'the whole recording':
        before = ask(page, RANGE)
        ask(page, 'document.querySelector(`#timebar button[aria-label="${arguments[0]}"]`).click()',
            label)
        if not page.becomes(lambda old=before: ask(page, RANGE) != old):
            return f'button "{label}" does nothing'
    return ''


def request_has_arrows(page):
    """A click on a send names its completion and the receive of the peer."""
    home(page)
    spot = ask(page, '''const {model} = laneFigures[0];
        const r = model.requests.find(r => r.send && r.other && r.lane && r.other.lane && r.poll);
        if (!r) return null;
        showPart(timeView, [r.posted - 3 * (r.ended - r.posted), r.ended + (r.ended - r.posted)]);
        document.querySelector("#lanes figure").scrollIntoView({block: "center"});
        return [(r.posted + r.ended) / 2, yOfRequest(r), r.post, r.other.poll]''')
    if not spot:
        return 'no send has the receive of its peer'
    page.settle()
    left, top, _, _ = box_of(page, '#lanes figure')
    x = ask(page, 'return document.querySelector("#lanes figure").plot.pen.x(arguments[0])',
            spot[0])
    looks = ask(page, 'return document.querySelector("#lanes canvas").toDataURL()')
    for kind, held in ('mouseMoved', 0), ('mousePressed', 1), ('mouseReleased', 0):
        mouse(page, kind, left + x, top + spot[1], held)
    page.settle()
    said = ask(page, 'return document.querySelector("#lanes .panel").innerText')
    if spot[2] not in said or spot[3] not in said:
        return f'a click on {spot[2]} says {said!r}, without {spot[3]}'
    if ask(page, 'return document.querySelector("#lanes canvas").toDataURL()') == looks:
        return 'the chosen request has no arrows'
    ask(page, 'document.querySelector("#lanes figure").focus()')
    page.key('.')
    page.settle()
    if ask(page, 'return document.querySelector("#lanes .panel").innerText') == said:
        return 'the dot does not choose the next request'
    return ''


def search_finds(page):
    home(page)
    ask(page, 'scrollTo(0, 0); document.activeElement.blur()')
    page.key('/')
    page.settle()
    if ask(page, 'return document.activeElement.id') != 'search':
        return '/ does not go to the search'
    name, post = ask(page, '''const r = laneFigures[0].model.requests.filter(r => r.send)[1];
        return [`${r.post} ${r.opcode.slice(0, 4).toLowerCase()}`, r.post]''')
    page.tell('Input.insertText', text=name)
    page.settle()
    found = ask(page, 'return document.getElementById("found").innerText')
    if post not in found:
        return f'a search for {name!r} finds {found!r}'
    page.key('Enter')
    page.settle()
    if post not in ask(page, 'return document.querySelector("#lanes .panel").innerText'):
        return f'the first that was found, {post}, is not chosen'
    page.settle()
    if not ask(page, '''const box = document.getElementById("lanes").getBoundingClientRect();
            return box.top < innerHeight && box.bottom > 0'''):
        return 'what was found is not on the screen'
    ask(page, '''const s = document.getElementById("search"); s.value = "no such thing";
        s.dispatchEvent(new Event("input"))''')
    if 'nothing found' not in ask(page, 'return document.getElementById("found").innerText'):
        return 'a search that finds nothing does not say so'
    ask(page, '''document.getElementById("search").value = "";
        document.getElementById("found").hidden = true''')
    return ''


def sections_fold(page):
    closed = ask(page, '''const fold = document.querySelector("#gaps > .fold");
        fold.querySelector("summary").click(); return !fold.open''')
    ask(page, 'location.hash = ""; location.hash = "gaps"')
    if not closed:
        return 'a section does not fold'
    if not page.becomes(lambda: ask(page, 'return document.querySelector("#gaps > .fold").open')):
        return 'a link to a folded section does not open it'
    return ''


def fingers_move(page):
    """One finger moves, two zoom."""
    home(page)
    ask(page, 'zoomView(timeView, .3)')
    left, top, width, height = box_of(page, '#timeline figure')
    y, old = top + height / 2, parts(page)[0]
    touch(page, [(left + width * .6, y)], [(left + width * .4, y)])
    moved = parts(page)[0]
    if moved == old:
        return 'a finger does not move'
    touch(page, [(left + width * .4, y), (left + width * .6, y)],
          [(left + width * .2, y), (left + width * .8, y)])
    spans = [float(part.split()[1]) - float(part.split()[0]) for part in (moved, parts(page)[0])]
    if not spans[1] < spans[0] * .7:
        return f'two fingers zoom from {spans[0]} to {spans[1]}'
    return ''


def touch(page, start, end):
    def points(at):
        return [{'x': x, 'y': y, 'id': i} for i, (x, y) in enumerate(at)]
    middle = [((a[0] + b[0]) / 2, a[1]) for a, b in zip(start, end)]
    page.tell('Input.dispatchTouchEvent', type='touchStart', touchPoints=points(start))
    for at in middle, end:
        page.tell('Input.dispatchTouchEvent', type='touchMove', touchPoints=points(at))
    page.tell('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])
    page.settle()


def colours_stay(page):
    """A queue has one colour, in all plots and whatever is visible."""
    home(page)
    seen = '''return [...document.querySelectorAll("#timeline .legend span")].map(s =>
        [s.textContent.replace(/.*?(qp[0-9]+ of process [0-9]+).*/, "$1"),
            s.querySelector("i").style.background])'''
    first = ask(page, seen)
    ask(page, 'zoomView(timeView, .1)')
    page.settle()
    of = {}
    for name, colour in first + ask(page, seen):
        if name.startswith('qp'):
            of.setdefault(name, set()).add(colour)
    if not of or any(len(colours) != 1 for colours in of.values()):
        return f'colours of queues: {of}'
    return ''


def tables_fill(page):
    """A long table is made when it is opened."""
    rows = ask(page, '''const long = [...document.querySelectorAll("details.table")].find(d =>
        !d.querySelector("table"));
        if (!long) return -1;
        long.querySelector("summary").click();
        return new Promise(done => setTimeout(() =>
            done(long.querySelectorAll("tr").length), 0))''')
    return 'a table stays empty' if rows == 0 else ''


def facts_have_reasons(page):
    """Failed verbs and first errors are there as check has them, with the reason and the peer."""
    missing = ask(page, '''const text = document.querySelector("#verdict").textContent;
        const facts = [].concat(after.check.failed_verbs, after.check.first_errors);
        return facts.flatMap(f => [f.what, f.because, f.error, f.status, f.keys, f.peer,
            f.peer_then]).filter(words => words && !text.includes(words))''')
    return f'the verdict lacks {missing}' if missing else ''


def first_error_is_red(page):
    """In each plot over time, at the time of the first error that check has."""
    time = ask(page, '''const c = after.check, all = [].concat(c.first_errors, c.failed_verbs);
        return all.length ? Math.min(...all.map(e => e.time)) - originOf(after) : null''')
    if time is None:
        return ''
    ask(page, 'document.querySelector("#timebar .error").click()')
    page.settle()
    part = [float(v) for v in parts(page)[0].split()]
    if not part[0] < time < part[1]:
        return f'"first error" shows {part}, without {time}'
    grey = ask(page, '''drawAll();
        return [...document.querySelectorAll(arguments[0])].filter(figure => {
            const {pen, canvas} = figure.plot;
            const x = (Math.round(pen.x(arguments[1])) + pen.left + .5) *
                canvas.width / canvas.clientWidth;
            const [r, g, b] = probe.pixels(canvas, x, 10, 1, 1);
            return !(r > g + 60 && r > b + 60);
        }).map(figure => figure.plot.title)''', TIME_PLOTS, time)
    return f'no red line in {grey}' if grey else ''


def runs_are_compared(page):
    """Both runs are in one flame graph, on one scale, and in each card."""
    if not ask(page, 'return before !== null'):
        return ''
    cards = ask(page, 'return document.querySelectorAll(".tile").length -'
                      'document.querySelectorAll(".tile .change").length')
    if cards:
        return f'{cards} cards have no change'
    if ask(page, '''const titles = figures.filter(w => w.figure.closest("#places"))
            .map(w => w.title); return titles.some(t => /^(before|after)/.test(t))'''):
        return 'each run has its own flame graph'
    heats = ask(page, '''drawAll(); return figures.filter(w => / by time$/.test(w.title))
        .map(w => [w.title.replace(/^.*: /, ""), w.pen.y.domain.join(" "),
            w.pen.part.join(" ")])''')
    if len({tuple(heat) for heat in heats}) != len({heat[0] for heat in heats}):
        return f'heat maps of one opcode have different scales: {heats}'
    return ''


def lines_are_plain(page):
    """An event is named once in a line, shares have a unit, and bars have the theme's colour."""
    twice = ask(page, '''return [...document.querySelectorAll("#verdict li, #events summary")]
        .map(line => [...line.childNodes].filter(n => n.nodeName !== "DIV")
            .map(n => n.textContent).join(""))
        .filter(text => { const ids = text.match(/\\b\\d+:\\d+\\b/g) || [];
            return ids.length > new Set(ids).size; })''')
    if twice:
        return f'names an event twice: {twice}'
    bare = ask(page, '''const lines = [...document.querySelectorAll("#verdict li")]
            .map(line => line.textContent);
        return (after.diff ? after.diff.changes : []).filter(c => c.unit === "percent" &&
            ["regression", "worse", "changed"].includes(c.verdict) && !lines.some(line =>
                line.includes(c.what) && / % \\u2192 .* %: /.test(line))).map(c => c.what)''')
    if bare:
        return f'no unit for {bare}'
    scheme, theme = ask(page, '''const root = document.documentElement;
        return [getComputedStyle(root).colorScheme, root.getAttribute("data-theme")]''')
    return f'{scheme} bars in the {theme} theme' if scheme != theme else ''


def paper_is_drawn(page):
    """All plots, in the colours of paper, also where dark pages are preferred."""
    page.media(scheme='dark')
    page.media('print', 'dark')
    page.settle()
    bad = ask(page, '''return figures.filter(w => w.drawing.clientWidth).filter(w => {
        const pixels = probe.pixels(w.canvas, 0, 0, w.canvas.width, w.canvas.height);
        for (let i = 0; i < pixels.length; i += 4)
            if (pixels[i + 3] > 200 && pixels[i] + pixels[i + 1] + pixels[i + 2] < 30)
                return false; /* a word */
        return true;
    }).map(w => w.title)''')
    page.media()
    page.settle()
    return f'on paper without black words: {bad}' if bad else ''


def nothing_is_folded(page):
    """Sections with nothing to show are folded, others are open."""
    wrong = ask(page, '''return [...document.querySelectorAll("section > .fold")].filter(f =>
        f.open === Boolean(f.querySelector("summary .note"))).map(f => f.parentElement.id)''')
    return f'sections {wrong}' if wrong else ''


ANY = (facts_have_reasons, first_error_is_red, runs_are_compared, nothing_is_folded,
       lines_are_plain, paper_is_drawn)
ALL = (zoom_is_shared, shift_moves, wheel_zooms, crosshair_is_shared, buttons_move,
       request_has_arrows, search_finds, sections_fold, fingers_move, colours_stay, tables_fill)


def try_all(page, functions):
    for each in functions:
        try:
            fault = each(page)
        except (TypeError, IndexError, WebDriverException) as error:
            fault = str(error).split('\n')[0]
        if fault:
            page.say([f'{each.__name__}: {fault}'])
    home(page)
