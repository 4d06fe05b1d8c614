"""Device code in files by a search through their bytes: what `targets` is compared with, and shares no code with."""
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

PLAIN = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED = {1: (20, None), 2: (24, "<I"), 3: (32, "<Q")}
ENTRY = re.compile(rb"^(?:hip|hipv4)-amdgcn-amd-amdhsa--(gfx[0-9a-z]+(?:-[0-9a-z]+)*(?::[a-z]+[+-])*)$")
LISTED = re.compile(r"^hip(?:v4)?-amdgcn-amd-amdhsa--(gfx\S+)$", re.M)
NAMED = re.compile(r"gfx[0-9]+[0-9a-f]*(?:-xnack[+-])?")


def entries(table):
    """Ids of one bundle from its bytes."""
    (count,) = struct.unpack_from("<Q", table, 24)
    at = 32
    for _ in range(count):
        _, _, length = struct.unpack_from("<QQQ", table, at)
        match = ENTRY.match(table[at + 24:at + 24 + length])
        if match:
            yield match.group(1).decode()
        at += 24 + length


def unpack(data, method):
    if method == 0:
        return zlib.decompressobj().decompress(data, 1 << 20)
    return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def table_at(data, at):
    """The bytes of the entry table of the bundle that begins there; None where none does."""
    if data[at:at + 4] != b"CCOB":
        # The name is in tools that read bundles, too: there no count follows.
        good = at + 32 <= len(data) and 0 < struct.unpack_from("<Q", data, at + 24)[0] < 512
        return data[at:at + (1 << 16)] if good else None
    version, method = struct.unpack_from("<HH", data, at + 4)
    if version not in PACKED or method > 1:
        return None
    header, kind = PACKED[version]
    size = struct.unpack_from(kind, data, at + 8)[0] if kind else len(data) - at
    if not header < size <= len(data) - at:
        return None
    table = unpack(data[at + header:at + size], method)
    return table if table.startswith(PLAIN) else None


def search(path):
    """(bundles, targets) by the magics alone, wherever they stand; of a code object on its own, what its name says."""
    bundles, targets = 0, set()
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < 64:
            return bundles, targets
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] == b"\x7fELF" and struct.unpack_from("<H", data, 18)[0] == 224:
                return 1, {name.replace("-", ":", 1) for name in NAMED.findall(path.name)[-1:]}
            for match in re.finditer(re.escape(PLAIN) + rb"|CCOB", data):
                table = table_at(data, match.start())
                try:
                    found = set(entries(table)) if table else set()
                except struct.error:
                    continue
                if found:
                    bundles += 1
                    targets |= found
    return bundles, targets


def ask(binary, path, *more):
    """The entries that `targets` prints for a file or folder."""
    run = subprocess.run([binary, "targets", str(path), "--gfx", "gfx942", "--format", "json", *more], capture_output=True,
                         text=True)
    if run.returncode not in (0, 1, 3) or not run.stdout:
        raise RuntimeError(f"{path}: {run.stderr.strip()}")
    return json.loads(run.stdout)["entries"]


def compare(binary, path):
    """None for a file without device code in either way, else whether both agree; says what differs."""
    want_bundles, want = search(path)
    try:
        entry = ask(binary, path)[0]
    except RuntimeError as problem:
        # What is no ELF file, bundle or archive has nothing to be found in it.
        if not want:
            return None
        print(problem)
        return False
    got, got_bundles = set(entry["targets"]), entry["bundles"]
    if not want and not got:
        return None
    if got == want and got_bundles == want_bundles and not entry["problems"]:
        return True
    print(f"{path.name}: {got_bundles} bundles for {sorted(got)}; the search finds {want_bundles} for {sorted(want)}; "
          f"{entry['problems']}")
    return False


def bundler():
    """LLVM's own reader, the newest that is here; None without."""
    names = ["clang-offload-bundler"] + [f"clang-offload-bundler-{n}" for n in range(30, 13, -1)]
    return next(filter(None, map(shutil.which, names)), None)


def listed(path):
    """What LLVM's own reader lists of a library's section, or None: it reads one bundle, and refuses compressed ones in a row."""
    tool = bundler()
    if not tool or not shutil.which("objcopy"):
        return None
    with tempfile.NamedTemporaryFile(suffix=".hipfb") as section:
        source = str(path)
        with open(path, "rb") as file:
            is_elf = file.read(4) == b"\x7fELF"
        if is_elf:
            source = section.name
            subprocess.run(["objcopy", f"--dump-section=.hip_fatbin={source}", str(path), os.devnull],
                           stderr=subprocess.DEVNULL)
        if not os.path.getsize(source):
            return None
        for option in ("--input", "--inputs"):
            run = subprocess.run([tool, "--list", "--type=o", f"{option}={source}"], capture_output=True, text=True)
            if run.returncode == 0 and LISTED.findall(run.stdout):
                return set(LISTED.findall(run.stdout))
    return None
