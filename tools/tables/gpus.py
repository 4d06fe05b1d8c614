"""Device ids of AMD GPUs: gfx, kind, and the marketing name by revision."""

# What the radeon driver knew before GCN (R100 to Northern Islands): amdgpu and KFD never ran these.
BEFORE_GCN = [("0x3000", "0x65ff"), ("0x6700", "0x677f"), ("0x6840", "0x685f"), ("0x6880", "0x68ff"), ("0x7100", "0x72ff"),
              ("0x7834", "0x7835"), ("0x791e", "0x791f"), ("0x793f", "0x7942"), ("0x796c", "0x796f"), ("0x9400", "0x95ff"),
              ("0x9610", "0x964f"), ("0x9710", "0x9715"), ("0x9802", "0x980a"), ("0x9900", "0x99a4")]
RANK = {"high": 2, "medium": 1, "low": 0}


def sku(record):
    """One revision; without a list of AMD's that names it, or with one that is only hearsay, nothing is said of lists."""
    row = {"revision": record["pci_revision"] or "", "name": record["marketing_name"]}
    if record["first_official_rocm"] and record["support_confidence"] != "low":
        row["listed_since"] = record["first_official_rocm"]
        if record["last_official_rocm"]:
            row["listed_until"] = record["last_official_rocm"]
    return row


def devices(records):
    byid = {}
    for record in records:
        device = byid.setdefault(record["pci_device_id"], {
            "id": record["pci_device_id"], "gfx": record["gfx"], "kind": record["kind"], "codename": record["codename"],
            "skus": [], "confidence": record["confidence"], "source": record["source"][0]})
        if RANK[record["confidence"]] < RANK[device["confidence"]]:
            device["confidence"] = record["confidence"]
        device["skus"].append(sku(record))
    return [byid[key] for key in sorted(byid)]


def legacy(records, known):
    rows = []
    for record in records:
        for ident in record["pci_device_ids"]:
            if ident not in known:
                rows.append({"id": ident, "gfx": record["gfx"], "codename": record["asic"].capitalize(),
                             "kfd_refuses": record["kfd"] == "refused", "confidence": record["confidence"]})
    return sorted(rows, key=lambda row: row["id"])


def table(knowledge):
    source = knowledge["gpus"]
    rows = devices(source["gpus"])
    known = {row["id"] for row in rows}
    for row in rows:
        number = int(row["id"], 16)
        assert not any(int(low, 16) <= number <= int(high, 16) for low, high in BEFORE_GCN), row["id"]
    return {
        "as_of": knowledge["gpus"]["as_of"],
        "devices": rows,
        "legacy": legacy(source["legacy_gcn_ids"], known),
        "legacy_source": "Linux amdgpu_drv.c (ids), amdkfd kfd_device.c (which KFD takes)",
        "before_gcn": [{"from": low, "to": high} for low, high in BEFORE_GCN],
        "before_gcn_source": "Linux include/drm/drm_pciids.h, chips before SI; confidence medium",
    }
