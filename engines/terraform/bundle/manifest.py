"""The manifest of a bundle: what a plan was made from, in digests, versions and the state's serial."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from groundplan.engines.terraform.session import Session
from groundplan.engines.terraform.state import Identity, identity
from groundplan.engines.terraform.writer import FILE_NAME

FORMAT = 1


class Basis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan was made from. It fits only as long as nothing of this moved.

    ``blueprint``, ``lock`` and ``configuration`` are digests: of the blueprint, of the lock file with ranges
    for everything in the blueprint, and of the stack's ``main.tf.json``.
    """

    blueprint: str
    lock: str
    configuration: str = msgspec.field(name=FILE_NAME)
    engine: str  #: ``terraform 1.15.5``
    providers: dict[str, str]  #: name → version; offline the release that the facts are of
    offline: bool
    state: Identity | None  #: None: there was no state yet


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``bundle.json``."""

    format: int = FORMAT
    stack: str
    created: str  #: RFC 3339, in UTC
    groundplan: str  #: the version that made it
    changes: bool  #: does the plan change anything?
    made_from: Basis
    files: dict[str, str]  #: name → digest
    seal: str = ""  #: digest of everything above

    def sealed(self) -> Manifest:
        """The same with its seal."""
        return msgspec.structs.replace(self, seal=self._seal())

    @property
    def intact(self) -> bool:
        """Is it as it was written?"""
        return self.seal == self._seal()

    def encode(self) -> bytes:
        """The bytes of ``bundle.json``."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def _seal(self) -> str:
        return digest(msgspec.json.encode(msgspec.structs.replace(self, seal=""), order="deterministic"))


class _Head(msgspec.Struct):
    format: int


def decode(content: bytes) -> Manifest:
    """Read ``bundle.json``; whether it is intact is for the caller to ask.

    Raises:
        ValueError: it is no manifest, or of a format that is not known.
    """
    try:
        found = msgspec.json.decode(content, type=_Head).format
        if found == FORMAT:
            return msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as problem:
        raise ValueError(f"it is not the manifest of a bundle: {problem}") from None
    raise ValueError(f"it has format {found}, and this groundplan knows format {FORMAT}")


def digest(content: bytes) -> str:
    """``sha256:`` and the digest in hexadecimal."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def present_basis(session: Session, stack: str, *, blueprint: bytes, lock: bytes) -> Basis:
    """What a plan of a stack would be made from now, or has just been made from.

    Args:
        session: a session in which the stack has been planned or prepared.
        stack: its name.
        blueprint: the content of the blueprint.
        lock: the content of the lock file, complete.
    """
    root = session.workspace.root(stack)
    offline = session.workspace.offline
    return Basis(
        blueprint=digest(blueprint),
        lock=digest(lock),
        configuration=digest((root.path / FILE_NAME).read_bytes()),
        engine=f"{session.engine.name} {session.engine.version}",
        providers=_providers(session, stack),
        offline=offline,
        state=root.identity() if offline else identity(session.terraform(stack).state()),
    )


def moved(then: Basis, now: Basis, *, blueprint: str, lock: str) -> Iterator[str]:
    """What is not any more as it was when a plan was made; one clause for each.

    Args:
        then: what the plan was made from.
        now: what it would be made from now, in the same mode.
        blueprint: name of the blueprint, for the message.
        lock: name of the lock file, for the message.
    """
    same = then.configuration == now.configuration
    reach = "but nothing that" if same else "and with it what"
    inputs = [blueprint] if then.blueprint != now.blueprint else []
    inputs += [lock] if then.lock != now.lock else []
    if inputs:
        yield f"{' and '.join(inputs)} changed, {reach} this stack consists of"
    elif not same:
        yield f"another groundplan made it, which writes {FILE_NAME} in another way"
    if then.engine != now.engine:
        yield f"{then.engine} made it, and here is {now.engine}"
    for name in sorted(then.providers.keys() | now.providers.keys()):
        before, after = then.providers.get(name, "missing"), now.providers.get(name, "missing")
        if before != after:
            yield f"the provider {name} was {before} then and is {after} now"
    yield from _state_moved(then.state, now.state)


def _state_moved(then: Identity | None, now: Identity | None) -> Iterator[str]:
    if then == now:
        return
    if then is None:
        yield "there was no state then, and there is one now: something was applied since"
    elif now is None:
        yield "the state that it was made from is gone"
    elif then.lineage != now.lineage:
        yield f"the state is another one now: lineage {now.lineage}, the plan was made from {then.lineage}"
    else:
        why = "something was applied" if now.serial > then.serial else "an older state was restored"
        yield f"the state is at serial {now.serial} now, the plan was made from {then.serial}: {why} since"


def _providers(session: Session, stack: str) -> dict[str, str]:
    if session.workspace.offline:
        from groundplan.facts.schema import PROVIDERS, index

        return dict.fromkeys(PROVIDERS, index().provider_version)
    from groundplan.engines.terraform.dependency_lock import selected

    return selected(session.workspace.root(stack).path)
