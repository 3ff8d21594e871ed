"""What was renamed, and under which keys things were made.

Almost no name in Google Cloud can change. An item that was renamed in the blueprint therefore keeps the name
that follows from its first key, and Terraform moves its resources to the addresses of the present one.
``renamed_from`` says so only as long as it is written. Taking it out, or renaming once more, must not change
a name either, so the lock file remembers every rename of an environment: present path → path before, oldest
first; what was renamed at once stands together. The addresses an item had follow from walking back.

Two items never have one first key: the second would get the names that the first one keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from groundplan.blueprints import naming
from groundplan.blueprints.model import Blueprint, Environment, Former, Model, Renamable
from groundplan.errors import InputError

#: Field names and keys from the environment down to an item: ``("clusters", "main", "node_pools", "l4")``.
Path = tuple[str, ...]
#: What was renamed at once, by present path, as text: ``clusters/core: clusters/main``.
Renames = Sequence[Mapping[str, str]]

M = TypeVar("M", bound=Model)


def items(model: Model, path: Path = ()) -> Iterator[tuple[Path, Renamable]]:
    """Everything below ``model`` that can be renamed, what holds something before what it holds."""
    for inner, value in _parts(model, path):
        if isinstance(value, Renamable):
            yield inner, value
        yield from items(value, inner)


def recorded(environment: Environment, renames: Renames) -> tuple[Mapping[str, str], ...]:
    """The renames with those that the blueprint asks for and that are not among them yet.

    Args:
        environment: as it is written.
        renames: what the lock file holds.

    Raises:
        InputError: two items would get the same names in the cloud.
    """
    new: dict[str, str] = {}
    found = dict(items(environment))
    for path, item in found.items():
        if item.renamed_from and not _is_known(path, item.renamed_from, (*renames, new)):
            new["/".join(path)] = "/".join((*_before(path[:-1], new), item.renamed_from))
    result = (*renames, new) if new else tuple(renames)
    _refuse_same_names(environment.name, found, result)
    return result


def relevant(environment: Environment, renames: Renames) -> tuple[Mapping[str, str], ...]:
    """The renames without those of items that are gone."""
    used = {index for path, _ in items(environment) for index, _ in _history(path, renames)}
    return tuple(batch for index, batch in enumerate(renames) if index in used)


def remembered(blueprint: Blueprint, environment: Environment, renames: Renames) -> Environment:
    """The environment, each item with the keys it had before, and names that follow from the first ones.

    Args:
        blueprint: where it belongs.
        environment: one of its environments.
        renames: what the lock file holds.

    Raises:
        InputError: two items would get the same names in the cloud.
    """
    known = recorded(environment, renames)
    former = _former([path for path, _ in items(environment)], known)
    if not former:
        return environment
    result = _with_former(environment, (), former)
    names = {
        key: naming.bucket_of(
            blueprint.name, environment.name, environment.project_id, key, blueprint.names, bucket
        )
        for key, bucket in result.storage.buckets.items()
    }
    return result.model_copy(update={"bucket_names": names})


def _parts(model: Model, path: Path) -> Iterator[tuple[Path, Model]]:
    """The models that a model holds, directly or in maps."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, Model):
            yield (*path, name), value
        elif isinstance(value, dict):
            yield from (((*path, name, key), one) for key, one in value.items() if isinstance(one, Model))


def _before(path: Path, batch: Mapping[str, str]) -> Path:
    """The path that ``path`` had before what stands in ``batch`` was renamed."""
    for length in range(len(path), 0, -1):
        before = batch.get("/".join(path[:length]))
        if before is not None:
            return (*before.split("/"), *path[length:])
    return path


def _history(path: Path, renames: Renames) -> Iterator[tuple[int, Path]]:
    """The paths that an item had, newest first, each with the number of the rename that ended it.

    Where something was renamed *from* the path, what is there now came later.
    """
    for index in reversed(range(len(renames))):
        before = _before(path, renames[index])
        if before != path:
            yield index, before
            path = before
        elif _heads(path) & set(renames[index].values()):
            return


def _heads(path: Path) -> set[str]:
    """The path and those of what holds it, as text."""
    return {"/".join(path[:length]) for length in range(1, len(path) + 1)}


def _is_known(path: Path, renamed_from: str, renames: Renames) -> bool:
    """Whether the newest rename of the item itself, not of what holds it, is the one that is written."""
    keys = [before[-1] for _, before in _history(path, renames)]
    return next((key for key in keys if key != path[-1]), None) == renamed_from


def _former(paths: Sequence[Path], renames: Renames) -> dict[Path, tuple[Former, ...]]:
    """Path → the keys that the item at it had before.

    Of several items that had one key in one place, the address that follows from it is that of the present
    one, else of the one that gave it up last.
    """
    found: list[tuple[int, Path, str]] = []
    for path in paths:
        key = path[-1]
        for index, before in _history(path, renames):
            if before[-1] != key:
                key = before[-1]
                found.append((index, path, key))
    claimed = set(paths)
    result: dict[Path, tuple[Former, ...]] = {}
    for index, path, key in sorted(found, reverse=True):
        address = (*path[:-1], key)
        result[path] = (*result.get(path, ()), Former(index, key, address in claimed))
        claimed.add(address)
    return result


def _with_former(model: M, path: Path, former: Mapping[Path, tuple[Former, ...]]) -> M:
    """A copy of ``model`` in which every item knows its former keys."""
    update: dict[str, Any] = {}
    for inner, value in _parts(model, path):
        if not any(where[: len(inner)] == inner for where in former):
            continue
        name, changed = inner[len(path)], _with_former(value, inner, former)
        if len(inner) > len(path) + 1:
            update[name] = {**update.get(name, getattr(model, name)), inner[-1]: changed}
        else:
            update[name] = changed
    copy = model.model_copy(update=update)
    if isinstance(copy, Renamable):
        copy._former = former.get(path, ())
    return copy


def _refuse_same_names(environment: str, found: Mapping[Path, Renamable], renames: Renames) -> None:
    """Refuse an item whose key is the first key of another one beside it."""
    former = _former(list(found), renames)
    first: dict[Path, Path] = {}
    for path in found:
        key = former[path][-1].key if path in former else path[-1]
        other = first.setdefault((*path[:-1], key), path)
        if other != path:
            holder, new = sorted((other, path), key=lambda one: one not in former)
            raise InputError(
                f"{environment}: `{'/'.join(new)}` and `{'/'.join(holder)}` would have the same names in the "
                "cloud",
                hint=f"`{holder[-1]}` was called `{key}` when it was made, and its names cannot change. Give "
                f"`{new[-1]}` another key.",
            )
