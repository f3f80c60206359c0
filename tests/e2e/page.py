"""Pages of `verbatim report`, in a browser: page.py PAGE...

Each is opened from disk at 1280 and at 400 pixels. It has all sections; nothing is wider than the
window, the console is empty, nothing was asked of a network; each plot can be moved by keys, and
what a trace calls itself is text. What is wrong is printed, a line each.
"""
import os
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SECTIONS = ['verdict', 'tiles', 'timeline', 'latency', 'gaps', 'doorbells', 'memory', 'places',
            'objects', 'events', 'environment', 'coverage']
WIDTHS = 1280, 400
# what is cut off: text of its own that is wider than its element, which does not scroll
CLIPPED = '''return [...document.querySelectorAll('p, li, b, span, h1, h2, h3, td, th, figcaption')]
    .filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && e.clientWidth
        && getComputedStyle(e).display !== 'inline').map(e => e.textContent.slice(0, 60))'''
# labels of axes that lie over one another
OVERLAPS = '''return [...document.querySelectorAll('svg .axis')].flatMap(axis => {
    const boxes = [...axis.querySelectorAll('text')].filter(t => t.textContent)
        .map(t => [t.getBoundingClientRect(), t.textContent]);
    return boxes.slice(1).filter(([b], i) => { const [a] = boxes[i];
        return b.left < a.right && b.right > a.left && b.top < a.bottom - 2 && b.bottom > a.top + 2;
    }).map(([b, text]) => text)})'''
HOSTILE = 'return window.hostile !== undefined || document.querySelectorAll("main img").length > 0'
REQUESTS = '''return performance.getEntriesByType('resource')
    .map(e => e.name).filter(name => !name.startsWith('data:'))'''


def open_browser():
    options = webdriver.ChromeOptions()
    for word in '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage':
        options.add_argument(word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(options=options, service=Service('/usr/bin/chromedriver'))


def find_faults(browser, width):
    wide = browser.execute_script('return document.documentElement.scrollWidth')
    if wide > browser.execute_script('return innerWidth'):
        yield f'is {wide} pixels wide in a window of {width}'
    missing = [s for s in SECTIONS if not browser.find_elements(By.CSS_SELECTOR, f'#{s} h2')]
    if missing:
        yield f'has no section {missing}'
    for name, script in ('clipped', CLIPPED), ('labels over one another', OVERLAPS), (
            'asked for', REQUESTS), ('markup of a trace', HOSTILE):
        found = browser.execute_script(script)
        if found:
            yield f'{name}: {found}'
    for line in browser.get_log('browser'):
        yield f"console: {line['message']}"


def find_dead_keys(browser):
    """A plot that zooms by + is drawn anew, with other labels, and comes back by Escape."""
    for figure in browser.find_elements(By.TAG_NAME, 'figure'):
        def labels():
            return [t.text for t in figure.find_elements(By.CSS_SELECTOR, 'svg .axis text')]
        before = labels()
        figure.send_keys('+', '+', '+', Keys.ARROW_RIGHT)
        zoomed = labels()
        figure.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
        pointed = browser.find_element(By.ID, 'hover').text
        figure.send_keys(Keys.ESCAPE)
        name = figure.get_attribute('aria-label').split('.')[0]
        if zoomed == before or labels() != before:
            yield f'keys do nothing in {name}'
        if not pointed:
            yield f'Shift and an arrow tell nothing in {name}'


def check_theme(browser):
    paper = 'return getComputedStyle(document.body).backgroundColor'
    before = browser.execute_script(paper)
    browser.find_element(By.ID, 'theme').click()
    if browser.execute_script(paper) == before:
        yield 'the button does not change the theme'


def check_page(browser, path):
    for width in WIDTHS:
        browser.set_window_size(width, 900)
        browser.get('file://' + os.path.abspath(path))
        yield from find_faults(browser, width)
    yield from check_theme(browser)


def main():
    browser, wrong = open_browser(), 0
    try:
        for i, path in enumerate(sys.argv[1:]):
            faults = list(check_page(browser, path))
            if not i:  # one has all kinds of plots
                faults += find_dead_keys(browser)
            for fault in faults:
                print(f'{path}: {fault}'[:400])
            wrong += len(faults)
    finally:
        browser.quit()
    sys.exit(wrong > 0)


main()
