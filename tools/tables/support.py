"""What AMD lists as supported, release by release."""


def table(knowledge):
    rows = []
    for release in knowledge["rocm_releases"]["releases"]:
        official = release.get("official_gfx")
        if official:
            rows.append({"rocm": release["version"], "official": sorted(official),
                         "deprecated": sorted(release.get("deprecated_gfx") or []), "confidence": release["confidence"]})
    return {"as_of": knowledge["rocm_releases"]["as_of"], "releases": rows,
            "source": "ROCm/rocm-docs docs/compatibility, docs/release/gpu_os_support.md of each release"}
