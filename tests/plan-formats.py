#!/usr/bin/env python3
"""plan-formats.py HELPER: what each format of a plan says, done by what reads it, gives the same tree as applying the plan."""
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

RAN = [b"a b", b"$(id)", b"'", b'"', b"\\", b"*", b"-n", b"", "\u00fc".encode(), b"`id`", b"{{ x }}", b"#", b"~", b"A=b"]


def plant(root):
    """The tree before; links and files that are replaced, removed or left alone."""
    etc = root / "etc"
    etc.mkdir(parents=True)
    (etc / "there").write_text("before\n")
    (etc / "there").chmod(0o640)
    (etc / "gone").write_text("to go\n")
    (etc / "value").write_text("low\n")
    (etc / "old-link").symlink_to("old target")
    (etc / "dead-link").symlink_to("nowhere")
    (root / "sys/module/drm").mkdir(parents=True)


def picture(root):
    """Every name below the root: what it is and holds."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, os.fsencode(root))
            if os.path.islink(path):
                found[key] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[key] = ("folder",)
            else:
                data = Path(os.fsdecode(path)).read_bytes()
                found[key] = ("file", os.stat(path).st_mode & 0o7777, data)
    return found


class Loader(yaml.SafeLoader if yaml else object):
    """What Ansible knows beside plain YAML: a string that is not to be templated."""


if yaml:
    class Unsafe(str):
        pass

    Loader.add_constructor("!unsafe", lambda loader, node: Unsafe(loader.construct_scalar(node)))


def run_argv(argv, **more):
    subprocess.run([a.encode() for a in argv], check=True, stdout=subprocess.DEVNULL, **more)


def no_templates(value):
    """Ansible runs what it finds between braces in any text that is not marked."""
    if isinstance(value, dict):
        return all(no_templates(v) for v in value.values())
    if isinstance(value, list):
        return all(no_templates(v) for v in value)
    return type(value) is not str or not any(mark in value for mark in ("{{", "{%", "{#"))


def do_ansible(text):
    """As ansible.builtin's copy, file and command do it."""
    tasks = yaml.load(text, Loader)[0]["tasks"]
    assert no_templates(tasks), "text that Ansible would run"
    for task in tasks:
        if "ansible.builtin.copy" in task:
            copy = task["ansible.builtin.copy"]
            there = os.path.exists(copy["dest"])
            Path(copy["dest"]).write_bytes(copy["content"].encode())
            if not there:
                os.chmod(copy["dest"], int(copy["mode"], 8))
        elif "ansible.builtin.file" in task:
            file = task["ansible.builtin.file"]
            if file["state"] == "directory":
                Path(file["path"]).mkdir(parents=True, exist_ok=True)
            elif os.path.lexists(file["path"]):
                os.unlink(file["path"])
            if file["state"] == "link":
                os.symlink(file["src"], file["path"])
        else:
            command = task["ansible.builtin.command"]
            argv = command["argv"]
            if command.get("expand_argument_vars", True):
                argv = [os.path.expandvars(os.path.expanduser(word)) for word in argv]
            run_argv(argv, input=(command["stdin"] + "\n").encode() if "stdin" in command else b"")


def do_cloud_init(text):
    """As cloud-init's write_files and runcmd do it."""
    data = yaml.safe_load(text)
    for file in data["write_files"]:
        path = Path(file["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        content = file["content"].encode()
        path.write_bytes(base64.b64decode(content) if file.get("encoding") == "b64" else content)
        path.chmod(int(file["permissions"], 8))
    for argv in data["runcmd"]:
        run_argv(argv)


def do_dockerfile(text):
    """The exec form only: a line that is no JSON would go to a shell."""
    for line in text.splitlines():
        if line.startswith("RUN "):
            run_argv(json.loads(line[4:]))
        else:
            assert not line or line.startswith(("#", "ARG ")), line


def do_sh(text):
    """By bash itself."""
    subprocess.run(["bash"], input=text.encode(errors="surrogateescape"), check=True, stdout=subprocess.DEVNULL)


def say(helper, root, name):
    """A planted tree, and the plan for it in one format."""
    plant(root)
    return subprocess.run([helper, str(root), name], stdout=subprocess.PIPE, check=True).stdout


def wanted(helper, root):
    """The tree as the applier leaves it; it runs no program in a tree, and writes a value as sysfs is written."""
    say(helper, root, "apply")
    (root / "etc/ran").write_bytes(b"".join(b"<" + a + b">" for a in RAN))
    (root / "etc/value").write_bytes(b"$(id) 'high'\n")
    return root


def differences(name, root, wanted_root):
    """How a tree differs from the one wanted, in what the format can say."""
    got, want = picture(root), picture(wanted_root)
    if name == "dockerfile":
        # A value of sysfs belongs to the host and not to an image.
        del got[b"etc/value"], want[b"etc/value"]
    return [f"{os.fsdecode(key)} is {got.get(key)}, wanted {want.get(key)}"
            for key in sorted(set(got) | set(want)) if got.get(key) != want.get(key)]


def main():
    helper, failed = sys.argv[1], 0
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="rocm-doctor-plan-") as scratch:
        scratch = Path(scratch)
        target = wanted(helper, scratch / "apply")
        assert json.loads(say(helper, scratch / "json", "json").decode())["schema"] == "rocm-doctor/plan/1"
        for name, do in (("sh", do_sh), ("dockerfile", do_dockerfile), ("ansible", do_ansible), ("cloud-init", do_cloud_init)):
            if name in ("ansible", "cloud-init") and not yaml:
                print(f"{name}: skipped, no python3-yaml")
                continue
            text = say(helper, scratch / name, name)
            do(text.decode(errors="surrogateescape") if name == "sh" else text.decode())
            wrong = differences(name, scratch / name, target)
            print("".join(f"{name}: {line}\n" for line in wrong), end="")
            print(f"{name}: {'failed' if wrong else 'ok'}")
            failed += bool(wrong)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
