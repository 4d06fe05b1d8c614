"""The amdgpu driver by the version of its module: what it belongs to, the newest ROCm and kernel it goes with, known faults."""

import re

# The newest kernel series a module is built for: AMD's operating system tables, and builds that public logs show to work.
# Above it AMD has not built it, and reports show that the build mostly fails.
KERNEL_MAX = {
    "5.18.13": "5.17", "6.0.5": "5.19", "6.1.5": "5.19", "6.2.4": "6.2", "6.3.6": "6.5", "6.7.0": "6.8", "6.7.8": "6.8",
    "6.8.5": "6.8", "6.10.5": "6.11", "6.12.12": "6.11", "6.14.14": "6.14", "6.16.6": "6.17", "6.16.13": "6.17",
    "6.19.14": "7.0", "7.1.3": "7.0",
}

# Kernels of kernel.org whose own amdgpu the runtime refuses for a gfx; earlier ones are not on record.
IN_TREE = [{"gfx": ["gfx906"], "rocm_from": "4.1.0", "kernel_from": "5.10", "kernel_before": "5.13", "confidence": "high",
            "effect": "the runtime turns Vega 20 off: that kernel's driver does not say whether memory has ECC",
            "source": "ROCm issues 1423, 1431"}]

# code: the fourth part of the package's version, 6.8.5.60201 or 6.16.6.30200000
KNOWN_BAD = [
    {"device_ids": ["0x74a1", "0x74b5"], "module": "6.8.5", "and_older": True, "code_before": 60202, "vf_only": False,
     "effect": "after an uncorrectable memory error the GPU does not recover and the host stays in an undefined state",
     "fixed": "the driver of ROCm 6.2.2", "confidence": "high", "source": "release notes of ROCm 6.2.2"},
    {"device_ids": ["0x74a5", "0x74b9"], "module": "6.16.6", "and_older": False, "code_before": 30200100, "vf_only": True,
     "effect": "virtual functions of MI325X under KVM do not work", "fixed": "driver 30.20.1", "confidence": "high",
     "source": "compatibility matrix of ROCm 7.2"},
]


def release_of(code):
    """The driver's own number in its package's version: 30300300 -> 30.30.3, 60403 -> 6.4.3."""
    if len(code) == 8:
        parts = [code[:2], code[2:4], code[4:6]]
    else:
        parts = [code[:-4], code[-4:-2], code[-2:]]
    return [int(part) for part in parts]


def packages(driver):
    """
    Versions of amdgpu-dkms that are known to the last digit. That of a system has its release behind: 1:...-2327507.24.04. For
    Ubuntu 26.04 the builds have numbers of their own, and none is on record.
    """
    rows = {}
    for record in driver["drivers"]:
        seen = [record.get("package_version_example"), *record.get("package_versions_seen", [])]
        if record["confidence"] == "low" or "preview" in record["naming"] or record["driver_version"].startswith("5."):
            continue
        for version in filter(None, seen):
            match = re.fullmatch(r"(?:1:)?(\d+\.\d+\.\d+)\.(\d{5,8})-(\d+)(?:\.2[24]\.04)?", version)
            if not match:
                continue
            module, code, number = match.groups()
            release = release_of(code)
            name = ".".join(map(str, release))
            rows[name] = {"driver": name, "module": module, "version": f"1:{module}.{code}-{number}",
                          "folder": name.removesuffix(".0"), "systems": ["22.04", "24.04"],
                          "kernel_max": KERNEL_MAX.get(module, ""), "pairs_with": record.get("pairs_with_rocm", ""),
                          "confidence": record["confidence"], "source": source_of(record)}
    return sorted(rows.values(), key=lambda row: [int(part) for part in row["driver"].split(".")])


def source_of(record):
    source = record["source"]
    return source if isinstance(source, str) else source[-1]


def order(release):
    """ROCm's releases as they followed each other: "7.2.x" < "7.14.x" < "10.x"."""
    return [int(part) for part in release.split(".") if part != "x"]


def table(facts):
    driver = facts["amdgpu_driver"]
    series = {row["series"]: row["user_space"] for row in driver["driver_series"] if row["confidence"] != "low"}
    rows = {}
    for record in driver["drivers"]:
        number = ".".join(record["driver_version"].split(".")[:2])
        user_space = record.get("user_space") or series.get(number)
        if not record["module_version"] or record["confidence"] == "low":
            continue
        for module in record["module_version"].split(" / "):
            row = rows.setdefault(module, {"module": module, "driver": number, "confidence": record["confidence"]})
            newest = max((item for item in user_space or []), key=order, default=None)
            if newest and order(newest) > order(row.get("rocm_max", "0")):
                row["rocm_max"] = newest.removesuffix(".x")
    for module, row in rows.items():
        if module in KERNEL_MAX:
            row["kernel_max"] = KERNEL_MAX[module]
        row["source"] = "AMD's user and kernel space matrix, change logs, public logs"
    return {"as_of": driver["as_of"], "rocm_newest": "10", "drivers": list(rows.values()), "packages": packages(driver),
            "in_tree": IN_TREE, "known_bad": KNOWN_BAD}
