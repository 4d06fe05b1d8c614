"""The amdgpu driver by the version of its module: what it belongs to, the newest ROCm and kernel it goes with, known faults."""

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
    return {"as_of": driver["as_of"], "rocm_newest": "10", "drivers": list(rows.values()), "in_tree": IN_TREE,
            "known_bad": KNOWN_BAD}
