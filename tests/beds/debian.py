"""Small Debian systems of other releases, unpacked into a folder by debootstrap, with packages of their own."""
import os
import re
import subprocess
from pathlib import Path

from guest import need, run, skip

ENVIRONMENT = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
# Mirrors may be snapshots whose Release files have expired.
APT = 'Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\nAPT::Sandbox::User "root";\n'


def mirror():
    """The archive that this machine's apt uses for Debian itself."""
    need("apt-get", "debootstrap")
    lines = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(LABEL)").splitlines()
    found = [line.split()[1] for line in lines if re.fullmatch(r"Debian \S+ Debian", line)]
    return found[0] if found else skip("apt knows no Debian archive here")


class System:
    def __init__(self, suite, folder, extra=()):
        """debootstrap @suite into @folder (kept where it is there already); @extra: more suites of the archive."""
        self.root = Path(folder)
        marker = self.root / "etc/apt/apt.conf.d/90bed"
        if not marker.exists():
            done = subprocess.run(["debootstrap", "--variant=minbase", suite, str(self.root), mirror()],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            if done.returncode:
                skip(f"debootstrap {suite}: exit status {done.returncode}")
            (self.root / "etc/apt/sources.list.d/extra.list").write_text(
                "".join(f"deb {mirror()} {name} main\n" for name in extra))
            marker.write_text(APT)
            self.run("apt-get", "-q", "update")

    def run(self, *command, check=True, **more):
        """(exit status, standard output and error) of a command inside."""
        done = subprocess.run(["chroot", str(self.root), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=ENVIRONMENT, **more)
        text = done.stdout.decode(errors="replace")
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {text[-800:]}")
        return done.returncode, text

    def install(self, *packages):
        self.run("apt-get", "-qy", "install", *packages)

    def download(self, *packages):
        """Fetch packages without installing them: their files."""
        folder = self.root / "var/tmp/debs" / packages[0]
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.glob("*.deb")):
            self.run("sh", "-c", f"cd /var/tmp/debs/{packages[0]} && apt-get -qq download {' '.join(packages)}")
        return sorted(folder.glob("*.deb"))

    def depends(self, package, pattern):
        _, text = self.run("apt-cache", "depends", package)
        return re.findall(rf"^ +Depends: ({pattern})$", text, re.M)

    def newest_kernel(self):
        """The packages that hold the kernel and its modules: one until Linux 6.x, three later."""
        image = self.depends("linux-image-amd64", r"linux-image-\S+")[0]
        parts = self.depends(image, r"linux-(?:binary|modules|base)-\d\S+")
        return parts or [image]
