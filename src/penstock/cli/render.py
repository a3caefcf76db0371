"""`penstock render`: every object and every file that Penstock makes of manifests, without a cluster."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from penstock.api.manifest import write
from penstock.api.objects import Json
from penstock.cli import sources
from penstock.render.contract import SlurmVersion
from penstock.render.everything import Rendered, render
from penstock.render.inventory import Inventory, References
from penstock.render.names import Domain
from penstock.render.secrets import hidden
from penstock.slurm.conf import ConfError

_EXAMPLES = """\
examples:
  penstock render --sample                        a whole small cluster
  penstock render cluster.yaml                    all objects, as YAML
  penstock render cluster.yaml --directory out    one file each, and the configuration files
  penstock render new/ --diff old/                what a change does
  penstock render values.yaml                     NodeSets of chart values

Exit code 0: rendered, or no difference; 1: manifests are wrong, or --diff found a difference; 2: the call was wrong.
"""


class _Unusable(Exception):
    """Manifests that cannot be rendered; the report is for standard error."""


def run(argv: Sequence[str]) -> int:
    """Render files and show, write or compare the result."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if not arguments.files and not arguments.sample:
        parser.error("name a manifest to render, or --sample")
    try:
        rendered = _rendered(arguments.files, arguments, sample=arguments.sample)
        if arguments.diff:
            return _show_difference(_rendered(arguments.diff, arguments), rendered)
    except (sources.UnreadableSource, _Unusable, ConfError) as problem:
        sys.stderr.write(f"penstock render: {problem}\n")
        return 2 if isinstance(problem, sources.UnreadableSource) else 1
    for note in rendered.notes:
        sys.stderr.write(f"note: {note}\n")
    _emit(rendered, arguments)
    return 0


def _rendered(paths: Sequence[str], arguments: argparse.Namespace, *, sample: bool = False) -> Rendered:
    texts = [*([sources.sample()] if sample else []), *sources.texts(paths)]
    loaded = sources.load(texts, sources.Options(namespace=arguments.namespace, release=arguments.release))
    if loaded.errors:
        report = "".join(f"\n{finding}" for finding in loaded.errors)
        raise _Unusable(f"these manifests cannot be used:{report}")
    references = References(config_maps=loaded.config_maps, secrets=loaded.secrets)
    domain = Domain(arguments.cluster_domain)
    for finding in loaded.warnings:
        sys.stderr.write(f"{finding}\n")
    rendered = render(Inventory.of(loaded.kinds, references=references, domain=domain, release=arguments.slurm))
    return rendered if arguments.show_secrets else hidden(rendered)


def _emit(rendered: Rendered, arguments: argparse.Namespace) -> None:
    if arguments.directory:
        _write(rendered, Path(arguments.directory), private=arguments.show_secrets)
    elif arguments.output == "json":
        sys.stdout.write(json.dumps(rendered.manifests, indent=2) + "\n")
    else:
        sys.stdout.write(write(rendered.manifests))


def _write(rendered: Rendered, directory: Path, *, private: bool) -> None:
    units = {
        **dict(_units(rendered.manifests)),
        **{f"{name.partition('/')[0]}/files/{name.partition('/')[2]}": text for name, text in rendered.files.items()},
    }
    for name, text in units.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if private:
            path.chmod(0o600)  # also where an earlier rendering left a file that everybody reads
        path.write_text(text, "utf-8")
    sys.stdout.write(f"{directory}: {len(rendered.manifests)} objects, {len(rendered.files)} configuration files\n")


def _units(manifests: Iterable[Json]) -> Iterator[tuple[str, str]]:
    """Each object as a file of its own: `<namespace>/<kind>-<name>.yaml`."""
    for one in manifests:
        metadata = one["metadata"]
        name = metadata.get("name") or f"{metadata['generateName']}machine"
        yield f"{metadata['namespace']}/{one['kind'].lower()}-{name}.yaml", write([one])


def _show_difference(old: Rendered, new: Rendered) -> int:
    before, after = dict(_units(old.manifests)), dict(_units(new.manifests))
    changed = [name for name in sorted(before | after) if before.get(name) != after.get(name)]
    for name in changed:
        sys.stdout.writelines(_difference(name, before.get(name), after.get(name)))
    sys.stderr.write(f"{len(changed)} of {len(before | after)} objects differ\n" if changed else "no difference\n")
    return 1 if changed else 0


def _difference(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = ("/dev/null" if text is None else f"{side}/{name}" for side, text in (("a", before), ("b", after)))
    return difflib.unified_diff((before or "").splitlines(True), (after or "").splitlines(True), old, new)


def _slurm_version(text: str) -> SlurmVersion:
    try:
        return SlurmVersion.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock render",
        description="Show every object and file that Penstock makes of manifests, without a cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "files",
        nargs="*",
        metavar="FILE",
        help="manifest, directory of manifests, chart values, or - for standard input",
    )
    add("--sample", action="store_true", help="render the sample cluster that comes with Penstock")
    add("-d", "--directory", metavar="DIR", help="write one file per object, and the configuration files, here")
    add("--diff", nargs="+", metavar="OTHER", help="show what changes from OTHER to FILE")
    add("-o", "--output", choices=("yaml", "json"), default="yaml", help="format when printing (default: %(default)s)")
    add("-n", "--namespace", default="default", help="namespace of objects that name none (default: %(default)s)")
    add("--release", default="slurm", help="release name for chart values (default: %(default)s)")
    add(
        "--cluster-domain",
        default="cluster.local",
        metavar="DOMAIN",
        help="DNS domain of the cluster (default: %(default)s)",
    )
    add(
        "--slurm",
        metavar="RELEASE",
        type=_slurm_version,
        help="write for this Slurm release (24.11, 26.05, ...) instead of the images' own",
    )
    add("--show-secrets", action="store_true", help="show passwords and keys instead of hiding them")
    return parser
