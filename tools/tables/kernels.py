"""Which kernel of kernel.org first drives a gfx with its own amdgpu."""
import re

# "in the 6.7 tag, not in 6.6": the release that is sure not to have it decides, the one that has it says what to install.
ABSENT = re.compile(r"(?:not in|absent from) (?:the )?(\d+\.\d+)")
# Found by IP discovery alone, with which amdgpu came in Linux 5.16.
DISCOVERED = {"gfx1036", "gfx1100", "gfx1102", "gfx1103"}


def table(facts):
    rows = []
    for record in facts["kernel"]["minimum_upstream_kernel"]:
        words = f"{record['seen_in'] or ''}; {record.get('note', '')}"
        absent = ABSENT.search(words)
        first = re.search(r"(\d+\.\d+)$", record["first_seen_in_kernel"])
        sure = record["confidence"] in ("high", "medium") or (absent and "absent from" in absent.group())
        if not sure or "GC 12.1" in words:
            continue
        for gfx in record["gfx"]:
            row = {"gfx": gfx}
            if absent:
                row["absent_up_to"] = absent.group(1)
            elif gfx in DISCOVERED:
                row["absent_up_to"] = "5.15"
            if first and not record["first_seen_in_kernel"].startswith(">"):
                row["first"] = first.group(1)
            row.update(confidence=record["confidence"] if record["confidence"] != "low" else "medium",
                       source="amdgpu's device and IP tables in Linux " + (record["first_seen_in_kernel"]))
            rows.append(row)
    return {"as_of": facts["kernel"]["as_of"], "rows": sorted(rows, key=lambda row: row["gfx"])}
