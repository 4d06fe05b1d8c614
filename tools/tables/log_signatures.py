"""Lines of the kernel log that mean something, as POSIX extended regular expressions."""
import re

# One of these has to be in a line before its expression is tried: matching thousands of lines must cost next to nothing.
NEEDS = {
    "kfd-added": ["added device 1002:"], "kfd-atomics": ["rejects atomics"], "pcie-atomics-off": ["atomic ops"],
    "kfd-not-supported": ["not supported in kfd", "missing in supported_devices", "kgd2kfd_probe failed", "kfd not supported"],
    "kfd-not-added": ["NOT added"], "kfd-nodes": ["KFD nodes"], "fw-missing": ["firmware"],
    "fatal-init": ["Fatal error"], "psp-fw": ["PSP firmware"], "discovery": ["iscovery"], "bar-resize": ["PCI address space"],
    "bar-problem": ["resizing BAR"], "page-fault": ["page fault"], "ring-timeout": ["timeout"],
    "gpu-reset": ["GPU reset", "GPU jobs"], "vram-lost": ["VRAM is lost"], "gpu-lost": ["lost from bus"],
    "ras": ["uncorrectable", "ATHUB", "RAS", "oison"], "vram-size": ["VRAM memory"], "gtt-size": ["GTT memory"],
    "exp-hw": ["experimental hardware"], "secure-boot": ["rejected", "restricted"], "raven-sme": ["RAVEN"],
    "iommu-fault": ["AMD-Vi", "DMAR"], "pcie-aer": ["AER:"], "module-tainted": ["verification failed"],
    "mes-hang": ["MES", "hardware queue"], "evict-queue": ["evict queue"], "bar-no-space": ["BAR"],
    "probe-failed": ["failed with error"], "unknown-symbol": ["symbol"], "nomodeset": ["odeset"],
    "crash": ["BUG", "Oops", "general protection"], "crash-in-amdgpu": ["RIP:"],
}

# Lines that any device prints: they count only where they name a GPU.
OF_GPU = {"iommu-fault", "bar-no-space"}

# Expressions that are wider or narrower here, with the reason.
REGEX = {
    # "discovery failed: -2" is what 6.12 and later print behind the reason.
    "discovery": r"invalid ip discovery (binary|data table) (signature|checksum)|failed to read (ip discovery binary|"
                 r"discovery info from memory)|amdgpu_discovery_init failed|[^a-z]discovery failed: -",
    # The reset itself; "MODE1 reset" alone also stands in the log of a healthy boot or wake-up.
    "gpu-reset": r"amdgpu.*GPU (reset|jobs stop)( begin|\([0-9]+\) (succeeded|failed)| end with ret)",
    # ERREVENT_ATHUB_INTERRUPT: an uncorrectable error that stops the driver while it starts.
    "ras": r"amdgpu.*(uncorrectable hardware errors? *(detected|\(ERREVENT)|ERREVENT_ATHUB_INTERRUPT|RAS Intr triggered|"
           r"[Pp]oison (is created|detected)|RAS poison (is consumed|consumption))",
    # Debian's kernels say so in place of the file's name.
    "fw-missing": r"amdgpu.*(Direct firmware load for amdgpu/[^ ]+ failed|[Ff]ail(ed)? to load [a-z_ ]*firmware \"?amdgpu/[^ ]+|"
                  r"can.t load firmware \"?amdgpu/[^ ]+|amdgpu requires firmware installed)",
}

MORE = [
    {"id": "crash", "regex": r"BUG: (kernel NULL pointer|unable to handle|soft lockup)|kernel BUG at|Oops: |general protection fault",
     "severity": "info", "confidence": "high", "meaning": "the kernel crashed somewhere; amdgpu only where crash-in-amdgpu follows"},
    {"id": "crash-in-amdgpu", "regex": r"RIP: [0-9a-f]+:.*\[amdgpu\]", "severity": "error", "confidence": "high",
     "meaning": "with a crash before it: the kernel crashed in amdgpu"},
]
SKIP = {"poison-message"}       # low, and its words stand in harmless set-up lines


def posix(regex):
    """PCRE as the facts have it -> POSIX extended."""
    regex = regex.replace("(?:", "(").replace(r"\d", "[0-9]").replace(r"\S", "[^ ]").replace(r"\w", "[[:alnum:]_]")
    return re.sub(r"\\b", "", regex).replace(r"[^\]]", "[^]]")


def table(facts):
    rows = []
    for record in facts["kernel"]["dmesg_signatures"] + MORE:
        if record["id"] in SKIP:
            continue
        rows.append({"id": record["id"], "regex": (REGEX.get(record["id"]) or posix(record["regex"])).replace(r'\"', '"'),
                     "needs": NEEDS[record["id"]], "of_gpu": record["id"] in OF_GPU, "severity": record["severity"], "meaning": record["meaning"],
                     "confidence": record["confidence"], "source": "Linux drivers, kernel log of reports"})
    return {"as_of": facts["kernel"]["as_of"], "signatures": rows}
