"""Processors: name, architecture, IP versions, PCIe atomics, and the ROCm releases with code for them."""
import re

NEVER = {"gfx600", "gfx601", "gfx602", "gfx703", "gfx704", "gfx810"}    # KFD refuses each device of these


def atomics(knowledge):
    """gfx -> what the MEC firmware must be to do without PCIe atomics; 0: nothing helps. (gfx1036 is an APU: never refused.)"""
    return {rule["gfx"]: rule["min_mec_fw_without_atomics"] or 0 for rule in knowledge["kernel"]["pcie_atomics"]["rules"]
            if rule["needs_pcie_atomics"] and "(GC" not in rule["gfx"]}


def needs_atomics(gfx, needs):
    for key, mec in needs.items():
        if key.startswith(gfx + " ") or gfx in key.split(", "):
            return mec
        low_high = re.fullmatch(r"(gfx\d+)-(gfx\d+)", key)
        if low_high and low_high.group(1) <= gfx <= low_high.group(2) and len(gfx) == 7:
            return mec
        if key.endswith("xx") and re.fullmatch(key[:-2] + "..", gfx):
            return mec
    return None


def first_release(gfx, lists):
    """The first release whose rocBLAS sources name it; "" where it is in the oldest list (older than all we know)."""
    ordered = [row for row in lists if row["origin"].startswith("default list")]
    for position, row in enumerate(ordered):
        if gfx in row["gfx"]:
            return (re.match(r"[\d.]+", row["range"]) or [""])[0] if position else ""
    return None


def table(knowledge):
    source, lists = knowledge["gpus"], knowledge["rocm_releases"]["rocblas_targets"]
    dropped = {row["gfx"]: row for row in source["dropped_gfx"]}
    needs, rows = atomics(knowledge), []
    for arch in source["gfx_archs"]:
        gfx = arch["gfx"]
        first = first_release(gfx, lists)
        row = {"gfx": gfx, "architecture": arch["architecture"],
               "gc": re.findall(r"\d+\.\d+\.\d+", arch["gc_ip_versions"] or ""), "kfd_refuses": gfx in NEVER}
        mec = needs_atomics(gfx, needs)
        if mec is not None:
            row["atomics_unless_mec"] = mec
        if first:
            row["first_rocm"] = first
        row["built"] = first is not None or bool(arch["therock_family"])
        if gfx in dropped:
            row["last_rocm"] = re.match(r"[\d.]+", dropped[gfx]["last_with_amd_rocblas_kernels"]).group()
            row["last_confidence"] = dropped[gfx]["confidence"]
        row["confidence"] = arch["confidence"]
        rows.append(row)
    return {
        "as_of": knowledge["gpus"]["as_of"],
        "gfx": sorted(rows, key=lambda row: row["gfx"]),
        "source": "LLVM AMDGPUUsage; amdkfd kfd_device.c; rocBLAS CMakeLists.txt (TARGET_LIST_ROCM_*); build_rocblas.sh",
    }
