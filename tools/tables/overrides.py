"""HSA_OVERRIDE_GFX_VERSION: which other code a GPU can run, and how safely; processors that share a generic target."""


def table(facts):
    rows = []
    for arch in facts["gpus"]["gfx_archs"]:
        override = arch.get("hsa_override")
        if not override:
            continue
        row = {"gfx": arch["gfx"], "values": [{"value": override["value"], "safe": override["safe"]}], "note": override["note"]}
        if "alternative" in override:
            row["values"].append(override["alternative"])
        rows.append(row)
    families = [{"generic": row["generic"], "members": row["members"]} for row in facts["gpus"]["generic_targets"]]
    return {"as_of": facts["gpus"]["as_of"], "overrides": rows, "families": families,
            "source": "LLVM AMDGPUUsage, generic processors; public reports for each override"}
