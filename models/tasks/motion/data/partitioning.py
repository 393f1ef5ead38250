"""Re-partitioning of a data set by tags: other in-domain and shifted places, in the same official layout."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from models.provenance import PROVENANCE
from models.tasks.motion.data import canonical, folders, messages, official, tags
from models.tasks.motion.data.canonical import Partition
from models.tasks.motion.data.folders import RENDERED, SCENES, TAGS, Split, rendered_name
from models.tasks.motion.data.official import SceneFile
from models.workbench import Progress

How = Literal["link", "copy", "list"]


def divide(
    source: Path, out: Path, partition: Partition, how: How = "link", progress: Progress | None = None
) -> list[Path]:
    """Write the scenes of a data set that a partition selects as another data set, and return the written paths.

    Each split gets the scenes of both parts. The rules are written beside them, so that readers of the folder can tell
    in-domain from shifted scenes.

    Args:
        how: ``link`` to the scenes and maps, ``copy`` them, or only ``list`` the paths of the scenes of each part, in
            files such as ``dev_shifted.txt``.

    Raises:
        BadFile: see ``official.scene_files``.
        ValueError: the folder has such files already, or the partition has no scene.
    """
    splits = [candidate for candidate in folders.splits(source) if candidate.name]
    if not splits:
        raise ValueError(f"{source} has no splits by the released names, such as train_pb; nothing can be divided")
    taken = [out / (named.name + suffix[0]) for named in splits for suffix in (SCENES, TAGS, RENDERED)]
    for path in [*taken, out / canonical.FILE]:
        if path.exists():
            raise ValueError(f"{path} is there already; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    written, total = [out / canonical.FILE], 0
    for done, split in enumerate(splits):
        if progress is not None:
            progress(done / len(splits), split.scenes.name)
        files = official.scene_files(split, official.CANONICAL, partition)
        count, paths = _list(files, out, split.name) if how == "list" else _place(files, split, out, how == "copy")
        total, written = total + count, written + paths
    if not total:
        raise ValueError(f"{source} has no scene of the partition; its tags are in files such as train_tags.txt")
    written[0].write_text(canonical.written(partition))
    _provenance(source, out)
    if progress is not None:
        progress(1.0, out.name)
    return written


def _list(files: Iterator[SceneFile], out: Path, name: str) -> tuple[int, list[Path]]:
    """Write the paths of scenes, one per line, a file for each part with scenes."""
    written: dict[str, Path] = {}
    count = 0
    with ExitStack() as stack:
        lists = {}
        for count, file in enumerate(files, 1):  # noqa: B007  the number is what is returned
            part = f"{name}_shifted" if file.shifted else f"{name}_in"
            if part not in lists:
                written[part] = out / f"{part}.txt"
                lists[part] = stack.enter_context(written[part].open("w", encoding="utf-8"))
            lists[part].write(f"{file.path}\n")
    return count, list(written.values())


def _place(files: Iterator[SceneFile], split: Split, out: Path, copied: bool) -> tuple[int, list[Path]]:
    """Write the scenes in their folders, their tags line by line, and their maps."""
    scenes, lines = out / (split.name + SCENES[0]), out / (split.name + TAGS[0])
    rendered = out / (split.name + RENDERED[0])
    count = 0
    with lines.open("w", encoding="utf-8") as file_of_tags:
        for count, file in enumerate(files, 1):  # noqa: B007  the number is what is returned
            target = scenes / file.path.parent.name / file.path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if copied:
                shutil.copyfile(file.path, target)
                _copy_maps(file, rendered)
            else:
                target.symlink_to(file.path.resolve())
            file_of_tags.write(tags.line(file.tags) + "\n")
    if not count:
        lines.unlink()
        return 0, []
    if split.rendered is not None and not copied:
        rendered.symlink_to(split.rendered.resolve())  # the whole folder: maps are found by scene and track
    return count, [lines]


def _copy_maps(file: SceneFile, rendered: Path) -> None:
    if file.split.rendered is None:
        return
    scene = messages.scene(file.path)
    for request in scene.prediction_requests:
        drawn = file.split.map(file.path, scene.id, request.track_id)
        if drawn is not None and drawn.exists():
            target = rendered / file.path.parent.name / rendered_name(scene.id, request.track_id)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(drawn, target)


def _provenance(source: Path, out: Path) -> None:
    path = source / PROVENANCE
    if path.exists():
        record = json.loads(path.read_text())
        record["description"] = f"{record.get('description', '')}; divided anew by tags ({canonical.FILE})"
        (out / PROVENANCE).write_text(json.dumps(record, indent=1))
