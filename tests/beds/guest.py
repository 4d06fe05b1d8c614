"""A QEMU guest: a real kernel with its real amdgpu module around a rocm-doctor, in software emulation.

The guest is an initramfs of busybox, kmod and the doctor. Its /init (guest-init) plays the scenarios that the kernel command
line names, and prints what the doctor says after each between marker lines; they are judged outside.
"""
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
APPLETS = "sh mount mkdir cat echo ln ls chmod chown mknod sleep poweroff dmesg rm sed tr grep setsid true false".split()
MODULES = ["amdgpu", "pci-stub"]
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command, **more):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, check=True, **more).stdout.decode()


def program(name):
    """Where a program is, those of root's PATH included."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def need(*names):
    for name in names:
        if not program(name):
            skip(f"no {name}")


def is_dynamic(path):
    return subprocess.run(["ldd", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def unpack_kernel(debs, folder):
    """Unpack kernel packages: (the folder that has lib/modules, release, vmlinuz)."""
    folder.mkdir(parents=True, exist_ok=True)
    for deb in debs:
        run("dpkg", "-x", deb, folder)
    if (folder / "usr/lib/modules").exists() and not (folder / "lib").exists():
        (folder / "lib").symlink_to("usr/lib")
    release = next((folder / "lib/modules").iterdir()).name
    image = next(path for path in (folder / f"boot/vmlinuz-{release}", folder / f"lib/modules/{release}/vmlinuz")
                 if path.exists())
    run(program("depmod"), "-b", folder, release)
    return folder, release, image


def closure(folder, release):
    """The modules asked for with all that they depend on, as paths below lib/modules/RELEASE."""
    home, wanted = folder / "lib/modules" / release, set()
    table = dict(line.split(":", 1) for line in (home / "modules.dep").read_text().splitlines())
    for path, needs in table.items():
        if re.sub(r"\.ko(\.\w+)?$", "", Path(path).name) in MODULES:
            wanted |= {path, *needs.split()}
    return sorted(wanted)


def copy_modules(folder, release, root):
    """Modules go in uncompressed: in an emulated guest that halves the time to load them."""
    home, target = folder / "lib/modules" / release, root / "usr/lib/modules" / release
    for path in closure(folder, release):
        place = target / re.sub(r"\.(xz|zst)$", "", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".xz"):
            place.write_bytes(lzma.decompress((home / path).read_bytes()))
        elif path.endswith(".zst"):
            run("zstd", "-dqf", home / path, "-o", place)
        else:
            shutil.copy(home / path, place)
    for index in ("modules.order", "modules.builtin", "modules.builtin.modinfo", "config"):     # config: newer Debian
        if (home / index).exists():
            shutil.copy(home / index, target / index)
    run(program("depmod"), "-b", root, release)


def copy_program(path, root, name=None):
    """A program and every library that it loads."""
    place = root / (name or str(path).lstrip("/"))
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)
    for library in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", run("ldd", path), re.M):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            shutil.copy(os.path.realpath(library), place)


def build(kernel, binary, work):
    """The initramfs for one kernel: (vmlinuz, initramfs)."""
    folder, release, image = kernel
    root = work / "root"
    for name in "usr/bin usr/sbin usr/lib usr/lib64 proc sys dev run tmp etc/modprobe.d boot".split():
        (root / name).mkdir(parents=True)
    for name in "bin sbin lib lib64".split():
        (root / name).symlink_to(f"usr/{name}")
    root.chmod(0o755)
    shutil.copy(program("busybox"), root / "usr/bin/busybox")
    for applet in APPLETS:
        (root / "usr/bin" / applet).symlink_to("busybox")
    copy_program(os.path.realpath(program("modprobe")), root, "usr/bin/kmod")
    for name in ("modprobe", "rmmod"):
        (root / "usr/sbin" / name).symlink_to("../bin/kmod")
    copy_program(binary, root, "usr/bin/rocm-doctor")
    copy_modules(folder, release, root)
    config = folder / f"boot/config-{release}"
    if config.exists():
        shutil.copy(config, root / "boot")
    shutil.copy(os.path.realpath("/etc/os-release"), root / "etc/os-release")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nllm:x:1000:1000::/home/llm:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nvideo:x:44:\nrender:x:104:\nllm:x:1000:\n")
    shutil.copy(HERE / "guest-init", root / "init")
    (root / "init").chmod(0o755)
    initrd = work / "initrd"
    with open(initrd, "wb") as out:
        names = run("find", ".", "-print0", cwd=root)
        subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet", "-R", "0:0"], input=names.encode(), stdout=out,
                       cwd=root, check=True)
    shutil.rmtree(root)
    return image, initrd


def boot(image, initrd, scenarios, cmdline="", devices=(), timeout=150, qemu=("qemu-system-x86_64",)):
    """Run the guest to its end: (all that it printed, {scenario: {"check": report, "facts": facts, "status": status}})."""
    command = [*qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024", "-nodefaults",
               "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", str(image), "-initrd", str(initrd),
               "-append", f"console=ttyS0 panic=-1 quiet no_timer_check rd.scenarios={','.join(scenarios)} {cmdline}", *devices]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout)
        text = done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode(errors="replace") + f"\nno end within {timeout} s\n"
    return text, dict(said(text))


def said(text):
    for name, body in re.findall(r"^=== begin (\S+)\r?$(.*?)^=== end \1\r?$", text, re.M | re.S):
        parts = dict(re.findall(r"^--- (\w+)\r?$(.*?)(?=^--- )", body, re.M | re.S))
        status = re.search(r"^--- status (\d+)", body, re.M)
        try:
            yield name, {"check": json.loads(parts["check"]), "facts": json.loads(parts["facts"])["facts"],
                         "status": int(status.group(1))}
        except (KeyError, ValueError, AttributeError) as error:
            yield name, {"broken": f"{type(error).__name__} {error}"}


def look_up(facts, path):
    for step in path.split("."):
        facts = facts[int(step)] if isinstance(facts, list) else facts.get(step)
        if facts is None:
            return None
    return facts


def judge(results, wanted):
    """Hold what was said against {scenario: {"root": [ids, one of them], "find": [ids], "not": [ids], "facts": {}}}."""
    failed = 0
    for name, want in wanted.items():
        got = results.get(name, {"broken": "the guest did not get there"})
        wrong = [got["broken"]] if "broken" in got else list(differences(got, want))
        failed += bool(wrong)
        print(f"{name}: {'; '.join(wrong) or 'ok'}", flush=True)
    return failed


def differences(got, want):
    findings = got["check"]["findings"]
    leading = {f["id"] for f in findings if f["role"] != "consequence"}
    found = {f["id"] for f in findings}
    if want.get("root") and not leading & set(want["root"]):
        yield f"root causes {', '.join(sorted(leading)) or 'none'}, wanted {' or '.join(want['root'])}"
    missing = set(want.get("find", [])) - found
    if missing:
        yield f"missing {', '.join(sorted(missing))}"
    extra = set(want.get("not", [])) & found
    if extra:
        yield f"false alarm {', '.join(sorted(extra))}"
    for path, value in want.get("facts", {}).items():
        seen = look_up(got["facts"], path)
        if seen != value:
            yield f"{path} is {json.dumps(seen)}, wanted {json.dumps(value)}"
