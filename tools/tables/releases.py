"""ROCm releases: stream, systems they are listed for, drivers that go with them."""


def series(version):
    """30.10.x and 31.40.1 are of the series 30.10 and 31.40."""
    return ".".join(version.split(".")[:2])


def systems(release):
    """{id: [versions]}, Ubuntu and Debian without the point release."""
    listed = {}
    for row in release["supported_os"] or []:
        version = ".".join(row["version"].split(".")[:2 if row["id"] in ("ubuntu", "rhel", "sles", "azurelinux") else 1])
        versions = listed.setdefault(row["id"], [])
        if version not in versions:
            versions.append(version)
    return listed


# The build behind the release in AMD's packages from 7.14 on, where public pins name it, and the Ubuntus they are for. The
# repository moves on, but keeps a package name a series (amdrocm10.0-gfx942).
CORE = {"10.0.0": ("10.0.0-4", ["24.04", "26.04"], "https://stable.repo.amd.com/rocm/core/packages/ubuntu",
                   "Azure AgentBaker components, public package lists")}


def core(release):
    """What apt needs for a release of the newer layout; nothing for the others."""
    if release["version"] not in CORE:
        return {}
    version, systems, uri, source = CORE[release["version"]]
    return {"core": {"build": version, "systems": systems, "uri": uri, "gfx": release["official_gfx"], "source": source}}


def build(release):
    """The number behind the release in the versions of AMD's packages, the same for every system: 7.2.4.70204-93."""
    if release["apt_version_confidence"] not in ("high", "medium"):
        return ""
    return release["apt_version_example"].split("~")[0]


def table(facts):
    rows = []
    for release in facts["rocm_releases"]["releases"]:
        rows.append({"version": release["version"], "date": release["date"] or "", "stream": release["stream"],
                     "systems": systems(release),
                     "drivers": list(dict.fromkeys(series(v) for v in release["compatible_kmd"] or [])),
                     "build": build(release), "folder": release["repo_dir_version"] or "",
                     **core(release), "confidence": release["confidence"], "source": release["source"][0]})
    return {"as_of": facts["rocm_releases"]["as_of"], "releases": rows}
