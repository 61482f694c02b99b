"""Which build of an image a node has. kind asks `crictl`, which our nodes do not have, and else copies it each time."""

from paceline_dev.kind.engine import Engine

BUILD = "dev.paceline/build"
"""A label on the node's own record of an image. Whoever loads another build under its name removes it."""
CTR = ("ctr", "--namespace", "k8s.io", "images")


def build_of(engine: Engine, image: str) -> str:
    """What tells one build of an image from another: the id that the engine has for it."""
    return engine.docker("image", "inspect", "--format", "{{.Id}}", image).stdout.strip()


def has_build(engine: Engine, node: str, image: str, build: str) -> bool:
    """Whether it was loaded into a node."""
    wanted = f'name=={full_name(image)},labels."{BUILD}"=={build}'
    return bool(engine.docker("exec", node, *CTR, "ls", "--quiet", wanted, check=False).stdout.strip())


def note_build(engine: Engine, node: str, image: str, build: str) -> None:
    """Remember it, where the image is."""
    engine.docker("exec", node, *CTR, "label", full_name(image), f"{BUILD}={build}")


def full_name(image: str) -> str:
    """As a node spells it, where docker leaves out its own registry."""
    first, slash, _ = image.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        return image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"
