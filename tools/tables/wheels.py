"""Which PyTorch wheels of pytorch.org exist for which ROCm, GPU and Python, and what else is known of wheels."""

import re


# Releases whose facts name the series alone, and the version that public requirement files pin on the same index.
SERIES = {"2.13.x": ["2.13.0"]}

# torchvision and torchaudio that go with a torch, where neither follows from its number (2.1 to 2.9: 0.(minor + 15).patch and
# the same number). torchaudio stays at 2.11 from then on: it no longer links with one torch.
COMPANIONS = {
    "1.13.0": ("0.14.0", "0.13.0"), "1.13.1": ("0.14.1", "0.13.1"), "2.0.0": ("0.15.1", "2.0.1"), "2.0.1": ("0.15.2", "2.0.2"),
    "2.10.0": ("0.25.0", "2.10.0"), "2.11.0": ("0.26.0", "2.11.0"), "2.12.0": ("0.27.0", "2.11.0"),
    "2.12.1": ("0.27.1", "2.11.0"), "2.13.0": ("0.28.0", "2.11.0"), "2.14.0": ("0.29.0", "2.11.0"),
    "2.14.1": ("0.29.1", "2.11.0"),
}

# AMD's own wheels take their code from one package a GPU, an extra of torch: device-gfx1151. The newest first.
LISTED = ["gfx950", "gfx942", "gfx90a", "gfx1200", "gfx1201", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1151", "gfx1152",
          "gfx1153"]
OTHERS = ["gfx1010", "gfx1011", "gfx1012", "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "gfx908",
          "gfx1150"]
NEXT = "https://stable.repo.amd.com/rocm/whl-next/"
MULTI = "https://repo.amd.com/rocm/whl-multi-arch/"
PAGE = "rocm-docs ai-ecosystem, PyTorch install page"
AMD = [
    ("2.14.0", "0.29.0a0", "2.11.0.3", "10.1.0", NEXT, LISTED, "high", PAGE),
    ("2.13.0", "0.28.0", "2.11.0.2", "10.1.0", NEXT, LISTED, "high", PAGE),
    ("2.12.0", "0.27.0", "2.11.0", "10.1.0", NEXT, LISTED + ["gfx1150"], "high", PAGE),
    ("2.13.0", "0.28.0", "2.11.0.2", "10.0.0", NEXT, LISTED + OTHERS, "medium", "public image builds that install each device"),
    ("2.12.0", "0.27.0", "2.11.0", "7.14.1", MULTI, LISTED + ["gfx1030", "gfx908", "gfx1150"], "medium",
     "TheRock RELEASES.md, public constraints files"),
]


# The index of a GPU in the previews 7.9 to 7.13, https://repo.amd.com/rocm/whl/FAMILY/.
FAMILIES = {"gfx942": "gfx94X-dcgpu", "gfx950": "gfx950-dcgpu", "gfx1100": "gfx110X-all", "gfx1101": "gfx110X-all",
            "gfx1102": "gfx110X-all", "gfx1103": "gfx110X-all", "gfx1151": "gfx1151", "gfx1200": "gfx120X-all",
            "gfx1201": "gfx120X-all"}


def families():
    return [{"gfx": gfx, "family": family, "confidence": "high", "source": "TheRock legacy_per_family_releases.md"}
            for gfx, family in FAMILIES.items()]


def versions(text):
    """"2.9.0/2.9.1" -> both; "2.7.x" -> none named."""
    return SERIES.get(text) or [part for part in text.split("/") if not part.endswith("x")]


def companions():
    return [{"torch": torch, "torchvision": vision, "torchaudio": audio, "confidence": "medium",
             "source": "pytorch.org previous versions; public requirement files"}
            for torch, (vision, audio) in COMPANIONS.items()]


def amd():
    return [{"torch": torch, "torchvision": vision, "torchaudio": audio, "rocm": rocm, "url": url, "gfx": gfx,
             "python": ["3.11", "3.12", "3.13", "3.14"], "confidence": confidence, "source": source}
            for torch, vision, audio, rocm, url, gfx, confidence, source in AMD]


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
        "companions": companions(),
        "amd": amd(),
        "families": families(),
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
