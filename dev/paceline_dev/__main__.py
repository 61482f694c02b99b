"""`python -m paceline_dev`: one subcommand for each development tool, each imported only when it is called."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from paceline_dev.errors import DevError

Rate = Annotated[float, typer.Option(min=4, max=40, help="So many jobs are enqueued each second.")]
app = typer.Typer(name="paceline_dev", no_args_is_help=True, add_completion=False, help=__doc__)


@app.callback()
def tools() -> None:
    """Development tools of Paceline."""


@app.command()
def binaries() -> None:
    """Find or build the five programs of a control plane, and print their folder."""
    from paceline_dev.binaries import find_binaries
    from paceline_dev.progress import stderr_reporter

    print(find_binaries(stderr_reporter()).folder)


@app.command()
def helm() -> None:
    """Find or build helm, and print where it is."""
    from paceline_dev.helm.program import find_helm
    from paceline_dev.progress import stderr_reporter

    print(find_helm(stderr_reporter()))


@app.command()
def control_plane(
    port: Annotated[int | None, typer.Option(help="Port of the API server; a free one if not given.")] = None,
) -> None:
    """Run a control plane until Ctrl-C, always from an empty state; its kubeconfig stays at one place."""
    from paceline_dev.serve import serve

    serve(port)


@app.command()
def node(
    kubeconfig: Annotated[
        Path | None, typer.Option(help="The cluster to join; that of `control-plane` if not given.", dir_okay=False)
    ] = None,
    name: Annotated[str, typer.Option(help="The name of the Node.")] = "local-1",
    image: Annotated[
        list[str] | None, typer.Option(help='NAME=COMMAND: what an image name stands for, as runner="paceline run".')
    ] = None,
    pods: Annotated[int, typer.Option(min=1, help="How many pods it takes.")] = 110,
    cpu: Annotated[str, typer.Option(help="CPUs for the scheduler; the machine's own if not given.")] = "",
    memory: Annotated[str, typer.Option(help="Memory for the scheduler; the machine's own if not given.")] = "",
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE for the Node.")] = None,
    taint: Annotated[list[str] | None, typer.Option(help="KEY=VALUE:EFFECT for the Node.")] = None,
    port: Annotated[int, typer.Option(help="For `kubectl logs`; another one is taken if it is in use.")] = 10250,
    back_off: Annotated[float, typer.Option(help="Seconds before the second restart of a container.")] = 10.0,
    back_off_max: Annotated[float, typer.Option(help="The longest such wait.")] = 300.0,
    leave_objects: Annotated[bool, typer.Option(help="At the end leave the Node and its pods as they are.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Events as JSON lines on stdout.")] = False,
) -> None:
    """Run pods as processes of this machine until Ctrl-C: a node without containers."""
    from paceline_dev.node.command import Options, serve

    serve(
        Options(
            kubeconfig, name, image or [], pods, cpu, memory, label or [], taint or [], port, back_off, back_off_max,
            leave_objects, json,
        )
    )  # fmt: skip


@app.command()
def engine() -> None:
    """Find a Docker engine that works, or start one in a closed network; it runs until `cluster-delete`."""
    from paceline_dev.kind.commands import serve_engine

    serve_engine()


@app.command()
def cluster(
    name: Annotated[str, typer.Option(help="The name of the cluster.")] = "paceline",
    workers: Annotated[int, typer.Option(min=0, max=9, help="Nodes beside the control plane.")] = 0,
) -> None:
    """Make a kind cluster, on Docker if there is one, else on an engine of our own in a closed network."""
    from paceline_dev.kind.commands import make_cluster

    make_cluster(name, workers)


@app.command()
def cluster_delete(name: Annotated[str, typer.Option(help="The name of the cluster.")] = "paceline") -> None:
    """Remove a kind cluster, and with the last one the engine; caches stay."""
    from paceline_dev.kind.commands import remove_cluster

    remove_cluster(name)


@app.command()
def images(
    tag: Annotated[str, typer.Option(help="Of all of them; the release that this tree becomes, if not given.")] = "",
) -> None:
    """Build the images of operator, runner and examples, and print their names and sizes."""
    from paceline_dev.images.build import build_images
    from paceline_dev.kind.engine import find_engine
    from paceline_dev.progress import stderr_reporter

    report = stderr_reporter()
    for image in build_images(find_engine(report), report, tag):
        print(f"{image.reference} {image.size / 10**6:.0f} MB")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def e2e(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="The name of the cluster.")] = "paceline",
    smoke: Annotated[bool, typer.Option("--smoke", help="One node and the first stories only.")] = False,
    keep: Annotated[bool, typer.Option("--keep-cluster", help="Keep a cluster that was made for this.")] = False,
) -> None:
    """Run the end-to-end stories on a kind cluster; what else is given goes to pytest."""
    from paceline_dev.e2e import play

    play(name, smoke=smoke, keep=keep, arguments=context.args)


@app.command()
def demo(
    rate: Rate = 24,
    cluster: Annotated[
        str, typer.Option(help="A kind cluster to play on, or `kind` for that of `make cluster`; none if not given.")
    ] = "",
) -> None:
    """Tell the story of a runner pool and measure it: with processes of this machine, or on a kind cluster."""
    from paceline_dev.demo.play import play

    if cluster:
        from paceline_dev.demo.kind import enter

        enter(cluster, rate)
    from paceline_dev.demo.local import THIS_MACHINE

    play(THIS_MACHINE, rate)


@app.command(hidden=True)
def demo_inside(
    cluster: str,
    machine: Annotated[str, typer.Option(help="The address by which pods reach this machine.")],
    rate: Rate = 24,
) -> None:
    """The demo on a kind cluster, started within its network."""
    from paceline_dev.demo.kind import inside
    from paceline_dev.demo.play import play

    play(inside(cluster, machine), rate)


@app.command()
def mutate(
    sample: Annotated[int | None, typer.Option(help="Only so many, drawn at random.")] = None,
    seed: Annotated[int | None, typer.Option(help="Draw the same ones again.")] = None,
    name: Annotated[str, typer.Option(help="Only those whose name contains this.")] = "",
) -> None:
    """Break each guard in a copy of the tree, and fail if the test that watches it stays green."""
    from paceline_dev import mutate as tool
    from paceline_dev.progress import stderr_reporter

    report = stderr_reporter()
    wanted = [mutation for mutation in tool.load() if name in mutation.name]
    outcomes = tool.run(tool.choose(wanted, sample, seed, report), report)
    bad = [outcome for outcome in outcomes if outcome.verdict is not tool.Verdict.RED]
    report.line(f"mutations: {len(outcomes) - len(bad)} red, {len(bad)} not")
    if bad or not outcomes:
        raise DevError("a test did not notice its broken guard (above)" if bad else f'no mutation matches "{name}"')


@app.command()
def hpa_golden() -> None:
    """Ask the HPA of the pinned Kubernetes for the answers that scaling is tested against."""
    from paceline_dev import REPOSITORY
    from paceline_dev.hpa.cases import write_golden
    from paceline_dev.progress import stderr_reporter

    write_golden(REPOSITORY / "tests" / "unit" / "scaling" / "hpa.jsonl", stderr_reporter())


@app.command()
def manifests() -> None:
    """Validate every manifest in manifests/ and crds/ without a cluster."""
    from paceline_dev.manifests import validate

    validate()


@app.command()
def version(
    wanted: Annotated[str, typer.Argument(metavar="[NEXT]", help="Make this tree that of another version.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Fail if a place names another release.")] = False,
) -> None:
    """Print the version of this tree, or set it in pyproject.toml and wherever the release is named."""
    from paceline_dev import REPOSITORY
    from paceline_dev import version as tool
    from paceline_dev.images.recipe import project_version

    if wanted:
        for path in tool.change(wanted):
            print(path.relative_to(REPOSITORY))
    elif check:
        if strays := tool.strays():
            raise DevError("\n".join(strays))
    else:
        print(project_version())


@app.command()
def release(
    snapshot: Annotated[bool, typer.Option("--snapshot", help="Of a tree that is no release: to look at.")] = False,
    images: Annotated[bool, typer.Option(help="Build the images too, which needs a Docker engine.")] = True,
) -> None:
    """Make a release in dist/, and try what was made."""
    from paceline_dev.progress import stderr_reporter
    from paceline_dev.release.make import make

    print(make(stderr_reporter(), snapshot=snapshot, images=images))


@app.command()
def audit() -> None:
    """Ask an advisory source about every pinned dependency; where none can be reached, say so."""
    from paceline_dev import advisories
    from paceline_dev.progress import stderr_reporter

    advisories.audit(stderr_reporter())


@app.command()
def real_parts(
    counts: Annotated[Path, typer.Argument(help="The file that the tests wrote.")],
    require: Annotated[list[str], typer.Option(help="A part that must have been used.")],
) -> None:
    """Say how many tests ran against each real thing; fail when a required one was never used."""
    import json

    found: dict[str, int] = json.loads(counts.read_text())
    print("tests against the real thing: " + ", ".join(f"{part} {count}" for part, count in found.items()))
    if unused := [part for part in require if not found.get(part)]:
        raise DevError(f"no test ran against the real {', '.join(unused)}: see what was skipped or deselected")


@app.command()
def crds(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a file differs.")] = False,
) -> None:
    """Write the CRDs and the reference page of the API from the models."""
    from paceline_dev import REPOSITORY, api_docs, crds

    folders = ((crds, REPOSITORY / "crds"), (api_docs, REPOSITORY / "docs" / "reference"))
    if not check:
        for generator, folder in folders:
            generator.write(folder)
    elif differences := [line for generator, folder in folders for line in generator.drift(folder)]:
        raise DevError("\n".join(differences))


@app.command()
def install(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a file differs.")] = False,
) -> None:
    """Write install.yaml, the CRDs as a chart and the reference page of the chart from manifests and models."""
    from paceline_dev.binaries import find_kubectl
    from paceline_dev.install import everything
    from paceline_dev.progress import stderr_reporter

    made = everything(find_kubectl(stderr_reporter()))
    if not check:
        for each in made:
            each.write()
    elif differences := [line for each in made for line in each.drift()]:
        raise DevError("\n".join(differences))


@app.command()
def reference(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if a page differs.")] = False,
) -> None:
    """Write the reference pages of commands, conditions, events, metrics, variables, SQL functions and routes."""
    from paceline_dev import REPOSITORY, cli_docs
    from paceline_dev.reference import pages

    folder = REPOSITORY / "docs" / "reference"
    if not check:
        cli_docs.write(folder)
        pages.write(folder)
    elif differences := cli_docs.drift(folder) + pages.drift(folder):
        raise DevError("\n".join(differences))


@app.command()
def site() -> None:
    """Lay out the pages of the docs site in build/pages, with every link as it is there."""
    from paceline_dev.site.lay_out import PAGES, lay_out

    print(f"{len(lay_out(PAGES))} pages in {PAGES}")


@app.command()
def site_check() -> None:
    """Fail if a page of the built site would load anything from elsewhere."""
    from paceline_dev.site.loads import SITE, fetched

    if found := fetched(SITE):
        raise DevError("\n".join(found))
    print(f"{SITE}: nothing is loaded from elsewhere")


def main() -> None:
    """Run a tool; what is missing on this machine is one line, not a traceback."""
    try:
        app()
    except DevError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
