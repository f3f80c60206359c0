"""What the plots over time of pages look like, against pictures that somebody has looked at.

The folder looks/ has a picture of the sections #timeline and #lanes of each page in looks.txt, in
both themes. scripts/picture makes them. Fonts and versions of browsers differ, so that only coarse
cells are compared: a picture fails if a tenth of them has another colour.
"""
import base64
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'looks')
SCALE, CELL, FAR, MOST = .4, 12, 48, .1
WIDTH = 1280

# the share of cells that differ, and the heights of both pictures
COMPARE = '''const [one, two, cell, far] = arguments, done = arguments[arguments.length - 1];
    const load = text => new Promise((good, bad) => {
        const image = new Image();
        image.onload = () => good(image);
        image.onerror = () => bad(new Error("no picture"));
        image.src = "data:image/webp;base64," + text;
    });
    Promise.all([load(one), load(two)]).then(images => {
        const wide = Math.floor(images[0].width / cell);
        const high = Math.floor(Math.min(images[0].height, images[1].height) / cell);
        const [a, b] = images.map(image => {
            const c = new OffscreenCanvas(wide, high).getContext("2d", {willReadFrequently: true});
            c.imageSmoothingQuality = "high";
            c.drawImage(image, 0, 0, wide * cell, high * cell, 0, 0, wide, high);
            return c.getImageData(0, 0, wide, high).data;
        });
        let n = 0;
        for (let i = 0; i < a.length; i += 4)
            n += Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]) > far;
        done([n / (wide * high), images[0].height, images[1].height]);
    }, error => done(String(error)));'''


def take(page, scheme):
    """A picture of the page's two sections, as base64."""
    page.media(scheme=scheme)
    page.open()
    box = page.browser.execute_script('''drawAll();
        document.querySelectorAll(".table").forEach(table => { table.open = false; });
        document.getElementById("timebar").style.position = "static";
        const a = document.getElementById("timeline").getBoundingClientRect();
        const b = document.getElementById("lanes").getBoundingClientRect();
        return [a.top + scrollY, b.bottom + scrollY]''')
    page.settle()
    clip = {'x': 0, 'y': box[0], 'width': WIDTH, 'height': box[1] - box[0], 'scale': SCALE}
    return page.tell('Page.captureScreenshot', format='webp', quality=60, clip=clip,
                     captureBeyondViewport=True)['data']


def path_of(page, scheme):
    return os.path.join(FOLDER, page.name.replace('.html', f'-{scheme}.webp'))


def make(page):
    os.makedirs(FOLDER, exist_ok=True)
    for scheme in 'light', 'dark':
        with open(path_of(page, scheme), 'wb') as file:
            file.write(base64.b64decode(take(page, scheme)))


def check(page):
    for scheme in 'light', 'dark':
        seen = take(page, scheme)
        try:
            with open(path_of(page, scheme), 'rb') as file:
                wanted = base64.b64encode(file.read()).decode()
        except OSError as error:
            page.say([str(error)])
            continue
        found = page.browser.execute_async_script(COMPARE, seen, wanted, CELL, FAR)
        if isinstance(found, str):
            page.say([found])
        elif found[0] > MOST or abs(found[1] - found[2]) > .1 * found[2]:
            page.say([f'{scheme}: {found[0]:.0%} differs from {path_of(page, scheme)}; '
                      f'{found[1]} pixels high, {found[2]} there'])
