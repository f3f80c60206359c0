"""The kernel and the initial file system of scripts/vm, made from Debian's kernel packages.

prepare() downloads what is missing, once, into ~/.cache/verbatim-vm:

    KERNEL/vmlinux      unpacked once for all machines
    KERNEL/root         its modules that RDMA and the machine need
    KERNEL/initrd-HASH  busybox, scripts/vm-init, and those modules in loading order

Debian's 6.1 has no siw: on request it is built from the kernel's source.
"""
import collections
import fcntl
import glob
import hashlib
import lzma
import os
import platform
import re
import shutil
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = f'{HERE}/vm-init'
BUSYBOX = '/bin/busybox'
NEEDED = {'qemu-system-x86_64': 'qemu-system-x86', 'busybox': 'busybox-static', 'depmod': 'kmod',
          'rdma': 'iproute2', 'xz': 'xz-utils'}

# loaded before the root is mounted, and after it
FIRST = 'virtio_pci 9pnet_virtio 9p overlay'.split()
LATER = '''crc32_generic crc32c_generic dummy veth virtio_net sch_netem ib_uverbs ib_umad rdma_ucm
    rdma_rxe siw'''.split()
MODULES = re.compile(r'''\./lib/modules/[^/]*/(modules\.|kernel/(
    drivers/(infiniband/(core|sw)|virtio|net/[^/]*\.ko)|
    fs/(9p|netfs|fscache|overlayfs|configfs)|crypto|lib|
    net/(9p|sched/sch_netem|core|ipv4|ipv6)))''', re.X)
SIW = 'drivers/infiniband/sw/siw'

Image = collections.namedtuple('Image', 'kernel initrd')


class Unavailable(Exception):
    """The reason why no machine can be started."""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        said = done.stderr.decode(errors='replace').strip().split('\n')[-1]
        raise Unavailable(f'{" ".join(command[:3])} failed: {said}')
    return done.stdout


def check_machine():
    if platform.machine() != 'x86_64':
        raise Unavailable(f'its kernel is for x86_64, this machine is {platform.machine()}')
    missing = [package for program, package in NEEDED.items()
               if not shutil.which(program, path=os.environ['PATH'] + ':/sbin:/usr/sbin')]
    if missing:
        raise Unavailable('not installed: ' + ' '.join(missing))


def kernel_package():
    """The name of a package, or the path of a .deb."""
    named = os.environ.get('VERBATIM_VM_KERNEL')
    if named:
        return named
    depends = run('apt-cache', 'depends', 'linux-image-amd64').decode()
    found = re.search(r'Depends: (linux-image-\S+)', depends)
    if not found:
        raise Unavailable('no linux-image-amd64 among the packages: apt-get update')
    return found[1]


def download(package, folder):
    """The path of a package's .deb, in @folder."""
    if os.path.exists(package):
        return package
    run('apt-get', '-q', 'download', package, cwd=folder)
    return glob.glob(f'{folder}/{package.split("=")[0]}_*.deb')[0]


def unpack(deb, wanted, folder):
    """Those files of a package whose names match."""
    with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE) as pipe:
        with tarfile.open(fileobj=pipe.stdout, mode='r|') as tar:
            for member in tar:
                if wanted.match(member.name):
                    tar.extract(member, folder)


def decompress_kernel(path):
    """The ELF file in a vmlinuz."""
    with open(path, 'rb') as file:
        data = file.read()
    for magic in b'\xfd7zXZ\0', b'\x28\xb5\x2f\xfd':
        at = data.find(magic)
        while at >= 0:
            try:
                kernel = (lzma.LZMADecompressor().decompress(data[at:]) if magic[0] == 0xfd else
                          subprocess.run(['zstd', '-dcq'], input=data[at:], check=False,
                                         capture_output=True).stdout)
                if kernel.startswith(b'\x7fELF'):
                    return kernel
            except lzma.LZMAError:
                pass
            at = data.find(magic, at + 1)
    raise Unavailable(f'no kernel found in {path}')


def build_siw(folder):
    """Build the module from the kernel's own source, and add it to its others."""
    modules, = glob.glob(f'{folder}/root/lib/modules/*')
    version = os.path.basename(modules)
    series = '.'.join(version.split('.')[:2])
    with open(f'{folder}/release') as file:
        release = file.read()
    work = f'{folder}/siw'
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    common = version.rsplit('-', 1)[0] + '-common'
    for package in f'linux-headers-{version}', f'linux-headers-{common}', f'linux-kbuild-{series}':
        run('dpkg', '-x', download(f'{package}={release}', work), work)
    source = download(f'linux-source-{series}={release}', work)
    tar = f'usr/src/linux-source-{series}.tar.xz'
    run('sh', '-c', f'dpkg-deb --fsys-tarfile "$1" | tar -xO ./{tar} | '
        f'tar -xJ -C "$2" linux-source-{series}/{SIW}', 'sh', source, work)
    headers = f'{work}/usr/src/linux-headers-{version}'
    run('sed', '-i', f's|include /usr/src/|include {work}/usr/src/|', f'{headers}/Makefile')
    module = f'{work}/linux-source-{series}/{SIW}'
    with open(f'{module}/Makefile') as file:
        makefile = file.read().replace('$(CONFIG_RDMA_SIW)', 'm')
    with open(f'{module}/Makefile', 'w') as file:
        file.write(makefile)
    run('make', '-s', '-C', headers, f'M={module}', 'modules')
    os.makedirs(f'{modules}/kernel/{SIW}', exist_ok=True)
    run('strip', '-g', '-o', f'{modules}/kernel/{SIW}/siw.ko', f'{module}/siw.ko')
    shutil.rmtree(work)


def make_kernel(package, folder):
    """Create vmlinux and root, completely or not at all."""
    deb = download(package, folder)
    unpack(deb, re.compile(MODULES.pattern + r'|\./boot/vmlinuz-', re.X), f'{folder}/root')
    vmlinuz, = glob.glob(f'{folder}/root/boot/vmlinuz-*')
    version = vmlinuz.split('vmlinuz-')[1]
    modules = f'{folder}/root/lib/modules/{version}'
    with open(f'{folder}/vmlinux', 'wb') as file:
        file.write(decompress_kernel(vmlinuz))
    packed = glob.glob(f'{modules}/**/*.ko.xz', recursive=True)
    if packed:
        run('xz', '-d', *packed)
    with open(f'{folder}/release', 'w') as file:
        file.write(run('dpkg-deb', '-f', deb, 'Version').decode().strip())
    os.remove(vmlinuz)
    if deb.startswith(folder):
        os.remove(deb)


def load_order(modules, names):
    """The files of modules, each after its dependencies; without those built into the kernel."""
    with open(f'{modules}/modules.dep') as file:
        needs = dict(line.rstrip('\n').split(':') for line in file)
    files = {os.path.basename(path).replace('-', '_').partition('.')[0]: path for path in needs}
    order = []
    for name in names:
        if name in files:
            order += list(reversed(needs[files[name]].split())) + [files[name]]
    return [f'{modules}/{path}' for path in dict.fromkeys(order)]


def make_initrd(root, path):
    modules, = glob.glob(f'{root}/lib/modules/*')
    run('depmod', '-b', root, os.path.basename(modules),
        env=dict(os.environ, PATH='/sbin:/usr/sbin:/bin'))
    first = load_order(modules, FIRST)
    later = [module for module in load_order(modules, FIRST + LATER) if module not in first]
    tree = f'{path}.tree'
    shutil.rmtree(tree, ignore_errors=True)
    for folder in 'bin', 'modules', 'proc', 'sys', 'dev', 'lower', 'upper', 'guest', 'job':
        os.makedirs(f'{tree}/{folder}')
    shutil.copy(BUSYBOX, f'{tree}/bin/')
    shutil.copy(INIT, f'{tree}/init')
    os.chmod(f'{tree}/init', 0o755)
    for name in run(BUSYBOX, '--list').decode().split():
        if name != 'busybox':
            os.symlink('busybox', f'{tree}/bin/{name}')
    for name, files in ('first', first), ('later', later):
        with open(f'{tree}/modules/{name}', 'w') as file:
            file.writelines(f'/modules/{os.path.basename(module)}\n' for module in files)
        for module in files:
            shutil.copy(module, f'{tree}/modules/')
    run('sh', '-c', 'find . | "$2" cpio -o -H newc >"$1"', 'sh', f'{path}.new', BUSYBOX, cwd=tree)
    shutil.rmtree(tree)
    os.rename(f'{path}.new', path)


def has_siw(folder):
    return bool(glob.glob(f'{folder}/root/**/siw.ko', recursive=True))


def initrd_name(folder):
    with open(INIT, 'rb') as init, open(__file__, 'rb') as image:
        made_of = hashlib.sha256(init.read() + image.read()).hexdigest()[:12]
    return f'initrd-{made_of}' + '-siw' * has_siw(folder)


def prepare(links):
    """The Image of a machine with these links; Unavailable if there is none."""
    check_machine()
    package = kernel_package()
    cache = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                         'verbatim-vm')
    folder = os.path.join(cache, os.path.basename(package))
    os.makedirs(cache, exist_ok=True)
    with open(f'{cache}/lock', 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            shutil.rmtree(f'{folder}.new', ignore_errors=True)
            os.makedirs(f'{folder}.new')
            make_kernel(package, f'{folder}.new')
            os.rename(f'{folder}.new', folder)
        if links in ('siw', 'both') and not has_siw(folder):
            build_siw(folder)
        initrd = f'{folder}/{initrd_name(folder)}'
        if not os.path.exists(initrd):
            make_initrd(f'{folder}/root', initrd)
    return Image(f'{folder}/vmlinux', initrd)
