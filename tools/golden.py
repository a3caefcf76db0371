"""Golden files: what Penstock makes of every sample, to the byte.

`tests/golden/<sample>/objects.yaml` holds the objects, `files-<release>/` the configuration files as each Slurm release
gets them; the real Slurm of that release reads them in `tests/real_slurm`. `make golden` writes them anew: look at the
difference before you commit it, for it is a change of behaviour.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from penstock.api.manifest import write
from penstock.cli import sources
from penstock.render.contract import V24_11, V26_05, SlurmVersion
from penstock.render.everything import Rendered, render
from penstock.render.inventory import Inventory, References
from penstock.render.names import Domain

ROOT = Path(__file__).parent.parent / "tests"
SAMPLES = ROOT / "samples"
GOLDEN = ROOT / "golden"
RELEASES = (V24_11, V26_05)


def samples() -> list[Path]:
    """Every sample manifest, sorted."""
    return sorted(SAMPLES.glob("*/*.yaml"))


def rendered(sample: Path, release: SlurmVersion | None = None) -> Rendered:
    """What Penstock makes of a sample; a sample with errors is a mistake here."""
    # The name is relative: notes quote it, and a golden file must not know where the tree lies.
    loaded = sources.load([(sample.name, sample.read_text())], sources.Options(namespace="default"))
    if loaded.errors:
        raise SystemExit("\n".join(str(finding) for finding in loaded.errors))
    references = References(config_maps=loaded.config_maps, secrets=loaded.secrets)
    return render(Inventory.of(loaded.kinds, references=references, domain=Domain(), release=release))


def golden(sample: Path) -> dict[str, str]:
    """The golden files of a sample by their path below its directory."""
    files = {"objects.yaml": write(rendered(sample).manifests)}
    for release in RELEASES:
        for name, text in rendered(sample, release).files.items():
            files[f"files-{release}/{name}"] = text
    return files


def directory(sample: Path) -> Path:
    """Where the golden files of a sample are kept."""
    return GOLDEN / f"{sample.parent.name}-{sample.stem}"


def main() -> int:
    """Write all golden files anew."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for sample in samples():
        for name, text in golden(sample).items():
            path = directory(sample) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    sys.stdout.write(f"{len(samples())} samples -> {GOLDEN}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
