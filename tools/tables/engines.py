"""What inference engines can do with which GPU and ROCm, by their release."""

import re


def flash_attention(component):
    """Releases of the compiled (CK) back end in ascending order: each row holds up to "to", the last is open."""
    rows = []
    for record in component["supported_gfx"]["ck_by_version"]:
        numbers = re.findall(r"\d+\.\d+\.\d+", record["versions"])
        rows.append({"from": numbers[0] if numbers else "2.8.4", "gfx": record["gfx"], "confidence": component["confidence"],
                     "source": "Dao-AILab/flash-attention setup.py"})
    return rows


def table(facts):
    components = {record["name"]: record for record in facts["llm_stack"]["components"]}
    bitsandbytes = components["bitsandbytes"]
    fixed = next(record["fixed_in"] for record in bitsandbytes["misreads"] if record["fixed_in"])
    return {
        "as_of": facts["llm_stack"]["as_of"],
        "flash_attention_ck": flash_attention(components["flash-attention"]),
        # The newest release with ROCm wheels on its own index: for one Python, and with a PyTorch of their own.
        "vllm": {"version": "0.31.0+rocm723", "url": "https://wheels.vllm.ai/rocm/0.31.0/rocm723", "rocm": "7.2.3",
                 "python": ["3.12"], "gfx": components["vLLM"]["supported_gfx"], "confidence": "high",
                 "source": "vLLM 0.31.0 release notes, installation/gpu.rocm"},
        # The ROCm back end of current releases. Others of a family they take by an override of the user.
        "ollama": {"gfx": components["Ollama"]["supported_gfx"], "confidence": components["Ollama"]["confidence"],
                   "source": "ollama/ollama docs/gpu.mdx, cmake/local.cmake"},
        # Before this the library's name is HIP's major * 10 + minor, and only that one file is tried.
        "bitsandbytes": {"fixed": fixed, "confidence": "high", "source": "bitsandbytes/cextension.py, cuda_specs.py"},
    }
