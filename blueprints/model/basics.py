"""What all models of the language share: their base classes and the kinds of text they hold."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from groundplan.blueprints.quantities import Integer, Matching

#: Marks a key that is understood but not provisioned yet.
LATER: dict[str, Any] = {"x-groundplan-later": True}

Name = Annotated[
    str,
    Matching(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a name has lower-case letters, digits and hyphens, at most 63, and begins with a letter: ml-dev",
    ),
]
ProjectId = Annotated[
    str,
    Matching(
        r"([a-z][-a-z0-9.]*:)?[a-z][-a-z0-9]{4,28}[a-z0-9]",
        "a project id has 6 to 30 lower-case letters, digits, hyphens, and begins with a letter: llm-ml-dev",
    ),
]
Region = Annotated[str, Matching(r"[a-z]+-[a-z]+[0-9]+", "a region is written us-central1")]
Zone = Annotated[
    str,
    Matching(
        r"([a-z]+-[a-z]+[0-9]+-)?[a-z]+[0-9]*[a-z]?",
        "a zone is what follows the region's name (a), or the whole name: us-central1-a",
    ),
]
Principal = Annotated[
    str,
    Matching(
        r"(user|group|domain|serviceAccount|principal|principalSet):\S+|all(Authenticated)?Users",
        "a principal is a kind and a name: group:ml-ops@example.com",
    ),
]
Role = Annotated[
    str,
    Matching(
        r"((organizations|projects)/[^/]+/)?roles/[A-Za-z0-9_.]+",
        "a role is written roles/storage.objectViewer",
    ),
]
Number = Annotated[str, Matching(r"[0-9]{1,30}", "a number of digits only: 123456789012")]
BucketName = Annotated[
    str,
    Matching(
        r"[a-z0-9][-a-z0-9_.]{1,220}[a-z0-9]",
        "a bucket's name has lower-case letters, digits, hyphens, underscores and dots: acme-raw",
    ),
]
Version = Annotated[
    str,
    Matching(
        r"[0-9]+\.[0-9]+(\.[0-9]+(-gke\.[0-9]+)?)?", "a version is written 1.34, 1.34.1 or 1.34.1-gke.1829001"
    ),
]
Text = Annotated[str, Field(min_length=1)]


class Model(BaseModel):
    """What all models share: frozen, strict about keys, filled by the names that people write.

    Default values that are models are made by ``model_construct``: it needs no validators of their own, which
    would be built at every start.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True, defer_build=True
    )

    #: Whether it may also be written as one scalar: ``nodes: 4``.
    short_form: ClassVar[bool] = False


class Whole(Model):
    """A value that is one decision: an environment's replaces that of the defaults, never mixes with it."""

    #: The keys that may be written, where they are not simply the fields.
    written: ClassVar[tuple[str, ...]] = ()


class Former(NamedTuple):
    """A key that an item had before it was renamed.

    Attributes:
        rename: number of the rename that ended it; what is renamed together has one number.
        key: the key.
        taken: another item has, or had later, the address that follows from it.
    """

    rename: int
    key: str
    taken: bool = False


class Renamable(Model):
    """Something that may have had another key before."""

    if TYPE_CHECKING:
        renamed_from: str | None

    _former: tuple[Former, ...] = PrivateAttr(())

    @property
    def former(self) -> tuple[Former, ...]:
        """The keys it had before, newest first: what the lock file remembers, else ``renamed_from``."""
        if self._former or not self.renamed_from:
            return self._former
        return (Former(0, self.renamed_from),)


class Item(Renamable):
    """Something that gets a name in the cloud."""

    name: Name | None = Field(
        None, description="Name in the cloud, instead of the one that follows from the key."
    )
    renamed_from: Name | None = Field(
        None, description="The key this item had before: it is moved instead of replaced."
    )
    generation: Integer = Field(
        1,
        ge=1,
        description="Raise it where Google Cloud keeps the old name reserved: the item gets a new name.",
    )
