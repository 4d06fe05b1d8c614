"""Which PyTorch wheels of pytorch.org exist for which ROCm, GPU and Python, and what else is known of wheels."""

import re


def versions(text):
    """"2.9.0/2.9.1" -> both; "2.7.x" -> none named."""
    return [part for part in text.split("/") if not part.endswith("x")]


def runs(gfx, rocm):
    """The torch code of gfx900 and gfx906 outlived its rocBLAS kernels, without which the first GEMM aborts."""
    series = tuple(int(part) for part in rocm.split(".")[:2])
    return [name for name in gfx if series < (6, 4) or name not in ("gfx900", "gfx906")]


def torch(record):
    """One row an index: the same release is built for more than one ROCm."""
    series = ".".join(re.split(r"[./]", record["torch"])[:2])
    for url in record["rocm_indexes"]:
        rocm = url.rsplit("rocm", 1)[1]
        gfx, bundled = record["rocm_arch"], record["bundles_rocm_libs"]
        confidence = [record["confidence"], record.get("archs_confidence", "high")]
        yield {"torch": series, "versions": versions(record["torch"]), "rocm": rocm, "url": url,
               "gfx": runs(gfx[f"rocm{rocm}"] if isinstance(gfx, dict) else gfx, rocm), "python": record["python"],
               "bundled": bundled[f"rocm{rocm}"] if isinstance(bundled, dict) else bundled,
               "confidence": "low" if "low" in confidence else record["confidence"],
               "source": "pytorch.org get-started/previous-versions"}


def driver_windows(facts):
    """The oldest driver module that a ROCm release is documented to work with."""
    modules = {}
    for driver in facts["amdgpu_driver"]["drivers"]:
        if driver.get("module_version"):
            series = driver["driver_version"].removesuffix(".x")
            modules.setdefault(series, driver["module_version"].split(" /")[0])
    windows = {}
    for release in facts["rocm_releases"]["releases"]:
        known = release["compatible_kmd"]
        if not known or release["confidence"] == "low" or release["version"].startswith("5."):
            continue
        oldest = known[-1].removesuffix(".x")
        module = modules.get(oldest) or modules.get(f"{oldest}.0")
        series = ".".join(release["version"].split(".")[:2])
        if module:
            windows.setdefault(series, {"rocm": series, "driver": oldest, "module": module, "confidence": release["confidence"],
                                        "source": "rocm-install-on-linux user-kernel-space-compat-matrix"})
    return list(windows.values())


def table(facts):
    wheels = facts["pytorch_wheels"]
    return {
        "as_of": wheels["as_of"],
        "torch": [row for record in wheels["upstream_releases"] for row in torch(record)],
        "driver_windows": driver_windows(facts),
        # Nightlies that took hipBLASLt without asking whether the GPU has it.
        "hipblaslt_forced": [{"from": "2.6.0.dev20241011", "to": "2.6.0.dev20241020", "confidence": "high",
                              "source": "pytorch/pytorch issue 138067"}],
        # The newest Python that a TensorFlow release has wheels for; tensorflow-rocm follows it.
        "tensorflow_python": [
            {"before": "2.12", "python": "3.10", "confidence": "high", "source": "tensorflow.org install/source, tested builds"},
            {"before": "2.16", "python": "3.11", "confidence": "high", "source": "tensorflow.org install/source, tested builds"},
            {"before": "2.20", "python": "3.12", "confidence": "high", "source": "tensorflow.org install/source, tested builds"},
            {"before": "2.21", "python": "3.13", "confidence": "high", "source": "tensorflow.org install/source, tested builds"}],
        # Before the release stood in the version (2.12.1.570 is for ROCm 5.7). Wheels of the 4.x days have the folder of
        # exactly their release in RPATH.
        "tensorflow_rocm": [
            {"tensorflow": "2.5", "rocm": "4.2", "exact": True, "confidence": "medium", "source": "public reports"},
            {"tensorflow": "2.6", "rocm": "4.3", "exact": True, "confidence": "medium", "source": "public reports"},
            {"tensorflow": "2.8", "rocm": "5.0", "exact": False, "confidence": "medium", "source": "public reports"}],
    }
