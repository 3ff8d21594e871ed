"""Stacks on an engine: plan several at once, apply them in order, and tell what happens."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from groundplan.engines.terraform import (
    bootstrap,
    dependency_lock,
    environment,
    plugin_cache,
    state_bucket,
    state_lock,
    state_owner,
    unsaved_state,
)
from groundplan.engines.terraform.engine import Engine
from groundplan.engines.terraform.events import Diagnostic, Event, Message, Phase
from groundplan.engines.terraform.process import Interrupt
from groundplan.engines.terraform.runner import RunError, Terraform
from groundplan.engines.terraform.state import Identity, check_kind, identity
from groundplan.engines.terraform.workspace import Root, Workspace
from groundplan.engines.terraform.writer import document
from groundplan.errors import EngineError, GroundplanError
from groundplan.modules.graph import Stack

T = TypeVar("T")
Step = Literal["init", "validate", "plan", "show", "apply"]

#: Called with a stack's name and an event; from several threads, but never from two at a time.
OnEvent = Callable[[str, Event], None]

#: For state that a colleague or CI works on just now, or an engine that outlived its groundplan.
LOCK_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class StackPlan:
    """The plan of one stack."""

    name: str
    path: Path  #: Terraform's plan file
    json: bytes  #: ``terraform show -json`` of it; sensitive values in clear
    changes: bool
    seconds: float
    state: Identity | None  #: the state it was made from; None if there is none yet
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """How far an apply came. ``error`` is what stopped it, at the stack ``failed``; None if nothing did."""

    done: tuple[str, ...]
    failed: str | None = None
    error: GroundplanError | None = None
    left: tuple[str, ...] = ()


class StacksFailed(EngineError):
    """Some stacks failed, the others went on. ``errors`` holds what each one said."""

    def __init__(self, errors: Mapping[str, GroundplanError]) -> None:
        super().__init__(
            "; ".join(f"{name}: {error.message}" for name, error in errors.items()),
            hint="\n".join(dict.fromkeys(error.hint for error in errors.values() if error.hint)),
            detail="\n".join(error.detail for error in errors.values() if error.detail),
        )
        self.errors = dict(errors)


@dataclass(slots=True)
class Session:
    """An engine in a workspace, for as long as one command runs. Made by ``session``."""

    workspace: Workspace
    engine: Engine
    environment: Mapping[str, str]
    on_event: OnEvent
    interrupt: Interrupt
    lock_timeout_seconds: int = LOCK_TIMEOUT_SECONDS
    locked_versions: Path | None = None  #: the dependency lock file that real stacks share
    founded: bool = False  #: a foundation was applied before, by whomever
    named_buckets: frozenset[str] = frozenset()  #: stacks whose bucket somebody else made
    _telling: threading.Lock = field(default_factory=threading.Lock)
    _initializing: threading.Lock = field(default_factory=threading.Lock)

    def plan(
        self,
        stacks: Sequence[Stack],
        *,
        destroy: bool = False,
        refresh_only: bool = False,
        targets: Sequence[str] = (),
    ) -> list[StackPlan]:
        """Plan the stacks, several at a time; the plans come in the order of ``stacks``.

        Args:
            stacks: what to plan.
            destroy: plan to destroy everything in them.
            refresh_only: only compare their states with the cloud.
            targets: addresses to limit the plans to.

        Raises:
            StacksFailed: one or more could not be planned; the others were.
            Interrupted: the person asked to stop.
        """

        def one(stack: Stack) -> StackPlan:
            began = time.monotonic()
            terraform, warnings, state = self._prepared(stack)
            path = self.workspace.root(stack.name).plan
            plan = functools.partial(
                terraform.plan, path, destroy=destroy, refresh_only=refresh_only, targets=targets
            )
            with self._phase(stack.name, "plan"):
                try:
                    changes = plan(lock_timeout_seconds=self.lock_timeout_seconds)
                except RunError as error:
                    if not state_lock.is_forbidden(error):
                        raise
                    # One read of an object is consistent, and an apply refuses a plan whose state moved on.
                    self._tell(stack.name, Message(kind="news", text="no lock: this identity may only read"))
                    changes = plan(lock_timeout_seconds=None)
            with self._phase(stack.name, "show"):
                content = terraform.show_plan(path)
            if stack.name in self.named_buckets:
                state_bucket.check_versioned(content, stack)
            seconds = time.monotonic() - began
            return StackPlan(stack.name, path, content, changes, seconds, state, tuple(warnings))

        return self._each(stacks, one)

    def prepare(self, stacks: Sequence[Stack], *, migrate_state: bool = False) -> None:
        """Write the stacks and initialize their roots, so that a saved plan can be applied.

        Args:
            stacks: what to prepare.
            migrate_state: copy each state from where it was to where the stack says it is now.
        """
        self._each(stacks, lambda stack: self._prepared(stack, migrate_state=migrate_state))

    def validate(self, stacks: Sequence[Stack]) -> dict[str, list[Diagnostic]]:
        """Let the engine check the stacks against the provider's schema; warnings by stack.

        Raises:
            StacksFailed: one or more are not valid.
        """

        def one(stack: Stack) -> list[Diagnostic]:
            terraform, _, _ = self._prepared(stack)
            with self._phase(stack.name, "validate"):
                return terraform.validate()

        return dict(zip([s.name for s in stacks], self._each(stacks, one), strict=True))

    def apply(self, plans: Sequence[StackPlan]) -> Applied:
        """Apply plans one after the other, in the order given; the first failure stops it.

        The roots must be prepared, which ``plan`` does. A plan that changes nothing is applied too: it
        brings the recorded outputs up to date.
        """
        names = [plan.name for plan in plans]
        for index, plan in enumerate(plans):
            try:
                terraform, _ = self._terraform(plan.name)
                with self._phase(plan.name, "apply"):
                    self._apply(terraform, plan.path)
                with contextlib.suppress(OSError):  # on a full disk: what was applied is applied
                    self.workspace.root(plan.name).keep_applied()
            except GroundplanError as error:
                return Applied(tuple(names[:index]), names[index], error, tuple(names[index + 1 :]))
        return Applied(tuple(names))

    def _apply(self, terraform: Terraform, plan: Path) -> None:
        try:
            terraform.apply(plan, lock_timeout_seconds=self.lock_timeout_seconds)
        except RunError as error:
            if self.workspace.offline or not unsaved_state.saved(error, terraform):
                raise

    def terraform(self, stack: str) -> Terraform:
        """The command line in a stack's root, for everything that is not planned and applied."""
        return self._terraform(stack)[0]

    def _terraform(self, name: str) -> tuple[Terraform, list[Diagnostic]]:
        """The runner of a stack, and the list that its warnings go to."""
        warnings: list[Diagnostic] = []

        def on_event(event: Event) -> None:
            if isinstance(event, Diagnostic) and event.severity == "warning":
                warnings.append(event)
            self._tell(name, event)

        root = self.workspace.root(name)
        runner = Terraform(self.engine, root.path, self.environment, root.logs, on_event, self.interrupt)
        return runner, warnings

    def _prepared(
        self, stack: Stack, *, migrate_state: bool = False
    ) -> tuple[Terraform, list[Diagnostic], Identity | None]:
        """Write ``main.tf.json``, run ``init``, and look at the state: is it ours?"""
        root, offline = self.workspace.root(stack.name), self.workspace.offline
        terraform, warnings = self._terraform(stack.name)
        if offline:
            self._init_offline(stack, terraform)
            state = root.identity()
        else:
            self._init_real(stack, terraform, migrate_state=migrate_state)
            unsaved_state.settle(terraform, stack.name)
            warnings += dependency_lock.unknown_facts(root.path)
            stored = terraform.state()
            state_owner.check(stored, stack)
            state = identity(stored)
        check_kind(state, offline=offline, where=f"the backend of {stack.name}")
        return terraform, warnings, state

    def _init_offline(self, stack: Stack, terraform: Terraform) -> None:
        """``init`` is only needed when what it reads changed."""
        root = self.workspace.root(stack.name)
        content = document(stack, offline=True, guarded=False)
        root.write(content)
        stamp = f"{self.engine}\n{msgspec.json.encode(content['terraform']).decode()}\n"
        if not root.is_initialized(stamp):
            with self._initializing, self._phase(stack.name, "init"):
                terraform.init()
            root.set_initialized(stamp)

    def _init_real(self, stack: Stack, terraform: Terraform, *, migrate_state: bool) -> None:
        """``init`` every time: it also finds out whether backend and providers are still there.

        One stack at a time: a plugin cache that they share is not safe for concurrent use.

        Raises:
            EngineError: the bucket for the state has to exist and does not.
        """
        root = self.workspace.root(stack.name)

        def write(stack: Stack) -> None:
            content = state_owner.marked(document(stack, guarded=False), stack)
            named = stack.name in self.named_buckets
            root.write(state_bucket.watched(content, stack) if named else content)

        write(stack)
        with self._initializing, self._phase(stack.name, "init"), self._installing(root):
            if bootstrap.makes_own_bucket(stack):
                news = bootstrap.initialize(stack, root, terraform.init, write, known=self.founded)
                if news:
                    self._tell(stack.name, Message(kind="news", text=news))
                return
            try:
                terraform.init(migrate_state=migrate_state)
            except RunError as error:
                if state_bucket.is_missing(error):
                    raise state_bucket.missing(stack) from None
                if state_lock.is_forbidden(error):
                    raise state_bucket.never_applied(stack) from None
                raise

    @contextlib.contextmanager
    def _installing(self, root: Root) -> Iterator[None]:
        """For ``init`` of a real root: the shared plugin cache to itself, the shared choice of versions."""
        with contextlib.ExitStack() as held:
            held.enter_context(plugin_cache.exclusive(self.workspace.path))
            if self.locked_versions is not None:
                held.enter_context(dependency_lock.lent(self.locked_versions, root.path))
            yield

    def _each(self, stacks: Sequence[Stack], work: Callable[[Stack], T]) -> list[T]:
        """``work`` for every stack, several at a time. A stack's failure does not stop the others."""
        results: list[T] = []
        errors: dict[str, GroundplanError] = {}
        with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
            futures = [(stack.name, pool.submit(work, stack)) for stack in stacks]
            try:
                for name, future in futures:
                    try:
                        results.append(future.result())
                    except EngineError as error:
                        errors[name] = error
            except BaseException:
                self.interrupt.trigger()  # or leaving the pool would wait for engines that nobody stops
                raise
        if errors:
            raise StacksFailed(errors)
        return results

    @contextlib.contextmanager
    def _phase(self, stack: str, step: Step) -> Iterator[None]:
        began = time.monotonic()
        self._tell(stack, Phase(step=step, state="started"))
        try:
            yield
        except BaseException as error:
            self._tell(stack, Phase(step=step, state="failed", seconds=time.monotonic() - began))
            if isinstance(error, RunError):
                # Not workspace.root: it looks at the state, which may be what is broken.
                raise state_lock.translated(error, stack, self.engine, self.workspace.path / stack) from None
            raise
        self._tell(stack, Phase(step=step, state="done", seconds=time.monotonic() - began))

    def _tell(self, stack: str, event: Event) -> None:
        with self._telling:
            self.on_event(stack, event)


@contextlib.contextmanager
def session(
    workspace: Workspace,
    engine: Engine,
    stacks: Iterable[Stack] | None = None,
    *,
    locked_versions: Path | None = None,
    founded: bool = False,
    named_buckets: Iterable[str] = (),
    on_event: OnEvent = lambda stack, event: None,
    interrupt: Interrupt | None = None,
) -> Iterator[Session]:
    """A session in an open workspace. Offline, the stand-in for Google Cloud runs as long as it does.

    Args:
        workspace: where to work.
        engine: what to work with.
        stacks: all stacks that it may be asked to work on. The stand-in then serves no types that neither
            they nor the states have, which halves the engine's CPU time. None: it serves every type.
        locked_versions: the dependency lock file beside the blueprint, for a real run; None: each root
            keeps its own.
        founded: a stack that makes its own bucket was applied before, by whomever. If that bucket is not
            there any more, a real run does not begin anew.
        named_buckets: stacks whose bucket somebody else made; a real run sees that it is versioned.
        on_event: told what happens.
        interrupt: how a person stops it.
    """
    interrupt = interrupt or Interrupt()
    if not workspace.offline:
        cache = plugin_cache.environment(os.environ, plugin_cache.directory(workspace.path))
        variables = environment.real({**os.environ, **cache})
        yield Session(
            workspace,
            engine,
            variables,
            on_event,
            interrupt,
            locked_versions=locked_versions,
            founded=founded,
            named_buckets=frozenset(named_buckets),
        )
        return
    from groundplan.engines.terraform.offline.session import Standin  # loads grpc, which takes its time

    types = None
    if stacks is not None:
        types = workspace.resource_types().union(
            r.type for s in stacks for r in s.graph if r.mode == "managed"
        )
    with Standin(workspace.cloud, workspace.path / "standin.log", types=types) as standin:
        variables = environment.offline(os.environ, workspace.cli_config, standin.environment)
        yield Session(workspace, engine, variables, on_event, interrupt)
