#!/usr/bin/env python3
"""host-fixtures.py BINARY [HOST...]: do the facts of recorded hosts equal what their SOURCE.json expects?

The hosts lie beside the repository (../shared/fixtures/hosts, or $RD_HOST_FIXTURES); without them the test is skipped (77).
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def restore_links(root):
    """A copy without symbolic links keeps each as a file that holds its target."""
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 300:
            continue
        text = path.read_bytes()
        if text.startswith(b"../") and b"\n" not in text and b"\0" not in text:
            path.unlink()
            path.symlink_to(text.decode())


def unpack(host, into):
    archive = host / "root.tar.xz"
    if archive.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(into)
    else:
        shutil.copytree(host / "root", into / "root", symlinks=True)
        subprocess.run(["chmod", "-R", "u+w", str(into / "root")], check=True)
        restore_links(into / "root")
    return into / "root"


def number(text):
    """What a sysfs file holds: some recorded ones have zero bytes behind the line."""
    return str(text).split("\n")[0].strip("\0")


def speed(text):
    return float(number(text).split()[0])


# key of SOURCE.json: (path in a GPU, or None where a partition has it too; how to turn the expected value)
SIMPLE = {
    "gfx": ("gfx", str), "card": ("drm.card", lambda n: f"card{n}"), "numa_node": ("numa_node", int), "gtt_bytes": ("gtt_bytes", int),
    "mem_info_vram_total": ("vram_bytes", lambda t: int(number(t))), "mem_info_gtt_total": ("gtt_bytes", lambda t: int(number(t))),
    "current_link_speed": ("pci.link_speed_gts", speed), "max_link_speed": ("pci.max_link_speed_gts", speed),
    "current_link_width": ("pci.link_width", lambda t: int(number(t))),
    "max_link_width": ("pci.max_link_width", lambda t: int(number(t))),
    "integrated": ("kind", lambda yes: "apu" if yes else "dgpu"),
}
OF_PARTITION = {"render_minor": ("render", lambda n: f"renderD{n}"), "compute_units": ("cu_count", int), "xcc": ("num_xcc", int),
                "kfd_node": ("kfd_node", int), "partition_id": ("number", int), "vram_bytes": ("vram_bytes", int)}
OF_GPU = {"render_minor": "drm.render", "vram_bytes": "vram_bytes"}


def get(item, path):
    for key in path.split("."):
        item = item.get(key) if isinstance(item, dict) else None
    return item


def compare_gpu(gpus, wanted, say):
    gpu = next((g for g in gpus if g["pci"]["address"] == wanted["bdf"]), None)
    if not gpu:
        say(f"no GPU {wanted['bdf']}")
        return
    node = wanted.get("kfd_node")
    part = next((p for p in gpu["partitions"] or [] if p["kfd_node"] == node), None)
    many = len(gpu["partitions"] or []) > 1
    if node is None and "kfd_node" in wanted and gpu["kfd"]["present"]:
        say(f"{wanted['bdf']} has KFD node {gpu['kfd']['node']}")
    for key, value in wanted.items():
        if key in SIMPLE:
            path, turn = SIMPLE[key]
            found, value = get(gpu, path), turn(value)
        elif key in OF_PARTITION and value is not None:
            path, turn = OF_PARTITION[key]
            value = turn(value)
            found = get(gpu, OF_GPU[key]) if key in OF_GPU and not many else (part or {}).get(path)
        else:
            continue
        if found != value:
            say(f"{wanted['bdf']} node {node}: {key} is {found!r}, not {value!r}")


def compare_hives(gpus, wanted, say):
    """GPUs of one ordinal share a hive, those of another do not."""
    hive = {g["pci"]["address"]: g["kfd"]["hive_id"] for g in gpus}
    for one in wanted:
        for other in wanted:
            same = hive[one["bdf"]] == hive[other["bdf"]]
            if same != (one["hive"] == other["hive"]):
                say(f"hives of {one['bdf']} and {other['bdf']}: {same}")


def compare(facts, expected, say):
    gpus, wanted = facts["gpus"], expected["gpus"]
    cards = {g["bdf"] for g in wanted}
    if {g["pci"]["address"] for g in gpus} != cards:
        say(f"GPUs are {sorted(g['pci']['address'] for g in gpus)}, not {sorted(cards)}")
    if [g["index"] for g in gpus] != list(range(len(gpus))) or sorted(cards) != [g["pci"]["address"] for g in gpus]:
        say("GPUs are not in the order of their addresses")
    for gpu in wanted:
        compare_gpu(gpus, gpu, say)
    nodes = sum(g.get("kfd_node") is not None for g in wanted)
    if sum(len(g["partitions"] or []) for g in gpus) != nodes:
        say(f"{sum(len(g['partitions'] or []) for g in gpus)} partitions, not {nodes}")
    if all("hive" in g for g in wanted):
        compare_hives(gpus, wanted, say)
    for key, path in (("partition", "partition.compute"), ("memory_partition", "partition.memory")):
        if expected.get(key) and any(get(g, path) != expected[key] for g in gpus):
            say(f"{path} is not {expected[key]} everywhere")
    if expected.get("apu") and any(g["kind"] != "apu" for g in gpus):
        say("an APU is not one")
    compare_kernel(facts, expected, nodes, say)


def compare_kernel(facts, expected, nodes, say):
    kfd = get(facts, "kernel.kfd") or {}
    if "cpu_nodes" in expected and kfd.get("topology_nodes") is not None:
        if kfd["gpu_nodes"] != nodes or kfd["topology_nodes"] != nodes + expected["cpu_nodes"]:
            say(f"kernel.kfd is {kfd}, not {nodes} of {nodes + expected['cpu_nodes']}")


def check(binary, host):
    expected = json.loads((host / "SOURCE.json").read_text())["expected"]
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        root = unpack(host, pathlib.Path(scratch))
        run = subprocess.run([binary, "facts", "--root", str(root), "--format", "json"], capture_output=True, text=True)
    if run.returncode:
        return [f"facts ended with {run.returncode}: {run.stderr.strip()}"]
    compare(json.loads(run.stdout)["facts"], expected, problems.append)
    return problems


def main():
    binary, names = sys.argv[1], sys.argv[2:]
    home = pathlib.Path(os.environ.get("RD_HOST_FIXTURES", HERE.parent.parent / "shared/fixtures/hosts"))
    hosts = sorted(path.parent for path in home.glob("*/SOURCE.json") if not names or path.parent.name in names)
    if not hosts:
        print("SKIP: no recorded hosts beside the repository")
        return SKIPPED
    failed = 0
    for host in hosts:
        problems = check(binary, host)
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok'} {host.name}")
        for problem in problems:
            print(f"  {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
