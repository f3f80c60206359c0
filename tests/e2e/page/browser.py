"""Reads pages of verbatim report as a reader would, in one Chromium without a window.

browser.py [--shots DIR] [--text TEXT] [--use PAGE,...] [--try PAGE,...] SECTIONS PAGE...
browser.py --looks check|make PAGE...
    A line for each fault, `NAME: what`, and one for each page, `NAME checked: N sections, N plots,
    N ms`. SECTIONS are the ids that each page must have, with commas between them. TEXT must be
    there as text in a page called odd.html. Plots of the pages named in --use are used, too, by
    mouse and keys, which takes longer; what else a page can do is tried with those in --try
    (abilities.py). With --looks, pages are compared with pictures (looks.py). Exit status 3, and
    the reason: no browser here.
"""
import argparse
import json
import os
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError as error:
    print(error)
    sys.exit(3)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import abilities  # noqa: E402
import looks  # noqa: E402

WIDE, NARROW, HEIGHT, PAPER = 1280, 400, 900, 720
FRAMES = 6  # wait until the effect of a key is visible, however long that takes
LAYOUT = 'overflow', 'clipped', 'overlaps', 'tiny'
# the values that a plot shows at a place in it
READ = '''const said = document.getElementById("hover");
    return said.checkVisibility() && said.innerText'''
SHIFT = 8
KEYS = {'+': 187, '/': 191, '.': 190, 'ArrowRight': 39, 'ArrowUp': 38, 'Enter': 13, 'Escape': 27,
        'Tab': 9}


def open_browser(place):
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for argument in ('headless=new', 'disable-gpu', 'disable-dev-shm-usage', 'no-first-run',
                     'disable-background-networking', 'disable-component-update',
                     'disable-extensions', 'mute-audio', f'user-data-dir={place}/profile',
                     'remote-debugging-pipe', 'window-size=1280,900'):
        options.add_argument(f'--{argument}')
    if os.geteuid() == 0:
        options.add_argument('--no-sandbox')
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    service = Service('/usr/bin/chromedriver', log_path=f'{place}/log')
    return webdriver.Chrome(service=service, options=options)


class Page:
    def __init__(self, browser, path, probe):
        self.browser, self.path, self.probe = browser, path, probe
        self.name, self.faults = os.path.basename(path), []
        self.folder = 'file://' + os.path.dirname(os.path.abspath(path)) + '/'

    def say(self, faults, where=''):
        for fault in faults:
            line = f'{self.name}: {where}{fault}'.replace(self.folder, '')
            if line not in self.faults:
                self.faults.append(line)

    def ask(self, function, *arguments):
        return self.browser.execute_script(
            f'return probe.{function}(...arguments)', *arguments)

    def tell(self, command, **arguments):
        return self.browser.execute_cdp_cmd(command, arguments)

    def resize(self, width):
        self.tell('Emulation.setDeviceMetricsOverride', width=width, height=HEIGHT,
                  deviceScaleFactor=1, mobile=False)
        self.settle()

    def media(self, kind='', scheme='light'):
        self.tell('Emulation.setEmulatedMedia', media=kind, features=[
            {'name': 'prefers-color-scheme', 'value': scheme},
            {'name': 'prefers-reduced-motion', 'value': 'reduce'}])
        self.settle()

    def settle(self):
        """Until what has been asked for is drawn: a frame, and the one after."""
        self.browser.execute_async_script(
            'requestAnimationFrame(() => requestAnimationFrame(arguments[0]))')

    def key(self, name, modifiers=0):
        text = {'text': name} if len(name) == 1 else {}
        for kind in ('keyDown', 'keyUp'):
            self.tell('Input.dispatchKeyEvent', type=kind, key=name, code=name, modifiers=modifiers,
                      windowsVirtualKeyCode=KEYS[name], **(text if kind == 'keyDown' else {}))

    def becomes(self, condition, frames=FRAMES):
        for _ in range(frames):
            if condition():
                return True
            self.settle()
        return condition()

    def open(self):
        self.browser.get_log('performance')
        self.browser.get_log('browser')
        self.resize(WIDE)
        self.browser.get('file://' + os.path.abspath(self.path))
        self.browser.execute_script(self.probe)
        self.settle()
        return self.browser.execute_script(
            'return performance.getEntriesByType("navigation")[0].duration')

    def go(self):
        """As it is where dark pages are preferred, then, to stay, where light ones are."""
        for scheme in 'dark', 'light':
            self.media(scheme=scheme)
            duration = self.open()
            self.check_scheme(scheme)
        return duration

    def check_layout(self):
        for width in WIDE, NARROW:
            self.resize(width)
            for each in LAYOUT:
                self.say(self.ask(each), f'{width} px: ')
        self.resize(PAPER)
        self.media('print')
        for each in 'overflow', 'clipped':
            self.say(self.ask(each), 'on paper: ')
        if self.ask('brightness') < 0.7:
            self.say(['paper is printed dark'])
        self.media()
        self.resize(WIDE)

    def check_scheme(self, scheme):
        self.say(self.ask('faint'), f'{scheme}: ')
        if (self.ask('brightness') < 0.3) != (scheme == 'dark'):
            self.say([f'is not {scheme} where that is preferred'])

    def use_plot(self, i, name):
        """What it shows for a mouse over it, and for keys."""
        self.ask('show', i)
        self.settle()
        if not any(self.hovers(i, x, y) for x, y in self.ask('points', i)):
            self.say([f'{name} has no values where the mouse is'])
        self.tell('Input.dispatchMouseEvent', type='mouseMoved', x=0, y=0)
        self.ask('focus', i)
        self.settle()
        focus, shape = self.focus(), self.ask('looks', i)
        if not any(self.turns(i, key) for key in ('+', 'ArrowRight', 'ArrowUp')):
            self.say([f'{name} does nothing when keys are pressed'])
        self.key('ArrowRight', SHIFT)
        if not self.becomes(lambda: self.browser.execute_script(READ), 1):
            self.say([f'{name} has no values for who has no mouse'])
        self.key('Escape')
        if not self.becomes(lambda: self.ask('looks', i) == shape):
            self.say([f'{name} is not as it was after Escape'])
        self.key('Tab')
        if self.focus() == focus:
            self.say([f'{name} keeps the focus'])

    def check_theme(self):
        before = self.ask('brightness') < 0.3
        self.browser.find_element(By.ID, 'theme').click()
        if (self.ask('brightness') < 0.3) == before:
            self.say(['its button does not change the theme'])

    def focus(self):
        return self.browser.switch_to.active_element.id

    def turns(self, i, key):
        before = self.ask('says', i)
        self.key(key)
        return self.becomes(lambda: self.ask('says', i) != before, 1)

    def hovers(self, i, x, y):
        script = 'return document.body.innerText'
        before = self.browser.execute_script(script)
        self.tell('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)
        return self.becomes(lambda: self.browser.execute_script(script) != before, 1)

    def use_plots(self):
        for i, name in enumerate(self.ask('names')):
            self.use_plot(i, name)

    def check_safety(self, text):
        """Nothing but the page was read, and text of the trace stayed text."""
        own = 'file://' + os.path.abspath(self.path)
        for entry in self.browser.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] != 'Network.requestWillBeSent':
                continue
            url = message['params']['request']['url']
            if message['params']['documentURL'].split('#')[0] == own != url.split('#')[0] and \
                    not url.startswith(('data:', 'blob:')):
                self.say([f'asks for {url[:100]}'])
        for entry in self.browser.get_log('browser'):
            if entry['level'] in ('SEVERE', 'WARNING'):
                self.say(['console: ' + entry['message'][:200]])
        policy = self.browser.execute_script(
            'return document.querySelector(\'[http-equiv="Content-Security-Policy"]\')?.content')
        if "default-src 'none'" not in (policy or ''):
            self.say(['lets in what is not its own'])
        if self.browser.execute_script('return document.querySelector("img, iframe, object, embed")'
                                       ' !== null'):
            self.say(['has an element that is not its own'])
        if self.browser.execute_script('return window.hostile !== undefined'):
            self.say(['runs what the trace says'])
        if text and self.name == 'odd.html' and not self.browser.execute_script(
                'return document.body.innerText.includes(arguments[0])', text):
            self.say(['does not show the hostile text'])

    def shoot(self, place):
        for scheme in 'light', 'dark':
            self.media(scheme=scheme)
            self.open()
            for width in WIDE, NARROW:
                self.resize(width)
                height = self.browser.execute_script('return document.body.scrollHeight')
                self.tell('Emulation.setDeviceMetricsOverride', width=width, height=height + 40,
                          deviceScaleFactor=1, mobile=False)
                self.browser.save_screenshot(
                    f'{place}/{self.name}-{width}-{scheme}.png')


def look_at(page, options):
    (looks.make if options.looks == 'make' else looks.check)(page)
    for line in page.faults:
        print(line)
    print(f'{page.name} looked at', flush=True)


def check_page(page, options):
    duration = page.go()
    page.say(page.ask('sections', options.sections.split(',')))
    for each in 'links', 'slips', 'plots':
        page.say(page.ask(each))
    page.check_layout()
    if page.name in options.use.split(','):
        page.use_plots()
        page.check_theme()
    if page.name != 'faulty.html':
        abilities.try_all(page, abilities.ANY)
    if page.name in options.abilities.split(','):
        abilities.try_all(page, abilities.ALL)
    page.check_safety(options.text)
    for line in page.faults:
        print(line)
    print('%s checked: %d sections, %d plots, %d ms' % (page.name, *page.ask('count'), duration),
          flush=True)
    if options.shots:
        page.shoot(options.shots)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--shots')
    parser.add_argument('--text')
    parser.add_argument('--use', default='')
    parser.add_argument('--try', default='', dest='abilities')
    parser.add_argument('--looks', choices=('check', 'make'))
    parser.add_argument('pages', nargs='+')
    options = parser.parse_args()
    options.sections = '' if options.looks else options.pages.pop(0)
    with open(os.path.join(os.path.dirname(__file__), 'probe.js')) as file:
        probe = file.read()
    with tempfile.TemporaryDirectory() as place:
        try:
            browser = open_browser(place)
        except (WebDriverException, OSError) as error:
            print(str(error).split('\n')[0])
            sys.exit(3)
        try:
            for path in options.pages:
                page = Page(browser, path, probe)
                (look_at if options.looks else check_page)(page, options)
        finally:
            browser.quit()


if __name__ == '__main__':
    main()
