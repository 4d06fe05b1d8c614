"""The firmware without which a GPU cannot start, by gfx, and firmware that is known to fail."""

# The compute microcode (MEC) is the one that every boot of the driver needs, whatever the SKU and the way it is loaded.
# Several chips share a gfx: any one of their files is enough to say nothing.


def table(facts):
    files = []
    for record in facts["kernel"]["firmware_files"]:
        needed = [name for name in record["files"] if name.endswith("_mec.bin") and "_sjt_" not in name]
        if needed and record["confidence"] == "high":
            files.append({"gfx": record["gfx"], "any_of": needed, "confidence": record["confidence"],
                          "source": "MODULE_FIRMWARE of amdgpu"})
    bad = []
    for record in facts["amdgpu_driver"]["known_bad_firmware"]:
        if record["confidence"] != "high":
            continue
        bad.append({"gfx": record["gfx"], "firmware": record["firmware"].lower(), "version": int(record["version"], 16),
                    "packages": [{"name": "linux-firmware", "version": "20251125"},
                                 {"name": "amd-gpu-firmware", "version": "20251125"},
                                 {"name": "firmware-amd-graphics", "version": "20251125"}],
                    "effect": record["effect"], "good": record["good"], "confidence": record["confidence"],
                    "source": record["source"][0]})
    return {"as_of": facts["amdgpu_driver"]["as_of"], "files": files, "known_bad": bad}
