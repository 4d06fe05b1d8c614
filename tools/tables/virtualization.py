"""Which GPUs AMD lists as passed to a guest, whole or as a virtual function."""


def ids(knowledge, gpu):
    wanted = gpu.lower().replace("radeon ", "")
    return sorted({row["pci_device_id"] for row in knowledge["gpus"]["gpus"] if wanted in
                   (row["marketing_name"] or "").lower().replace("radeon ", "")} |
                  {row["pci_device_id"] for row in knowledge["gpus"]["sriov_vf_ids"] if wanted in
                   row["of"].lower().replace("radeon ", "")})


def table(knowledge):
    rows = []
    for row in knowledge["rocm_releases"]["virtualization"]:
        devices = sorted({ident for gpu in row["gpus"] for ident in ids(knowledge, gpu)})
        rows.append({"gpus": row["gpus"], "devices": devices, "technology": row["technology"],
                     "hypervisor": row["hypervisor"], "rocm": row["rocm"], "confidence": row["confidence"]})
    return {"as_of": knowledge["rocm_releases"]["as_of"], "pairs": rows,
            "source": "ROCm/rocm-docs docs/data/virtualization-support.yaml"}
