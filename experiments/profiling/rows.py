"""Rows of a profile that are to be made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ...benchmarks.measuring import has_digest
from .folder import GeneratedDispatch, NamedSpec
from .log import IREE, NOT_RUN, Key, Row

# A configuration's name, and who runs it.
Part = tuple[str, str]


@dataclass(frozen=True)
class PlannedRows:
    """The rows of a dispatch that are to be there.

    Attributes:
        digests: of what each row is made of, by the names of its configuration and its provider.
    """

    generated: GeneratedDispatch
    digests: Mapping[Part, str]

    @property
    def names(self) -> list[str]:
        """Of configurations to run here."""
        return [name for name, provider in self.digests if provider == IREE]

    @property
    def libraries(self) -> list[str]:
        return [provider for _, provider in self.digests if provider != IREE]

    def rows(self) -> Iterator[tuple[Key, str]]:
        """The key of each row, and what it is made of."""
        for (name, provider), digest in self.digests.items():
            yield (self.generated.name, name, provider), digest

    def only(self, libraries: Collection[str]) -> PlannedRows:
        """The rows of this dispatch here, and in some of the libraries."""
        kept = {IREE, *libraries}
        return replace(self, digests={p: d for p, d in self.digests.items() if p[1] in kept})

    def without(self, rows: Mapping[Key, Row], *, keep_vmfb: bool = False) -> PlannedRows:
        """What is left to do, given what there is.

        Args:
            keep_vmfb: whether a row is made again if what it was compiled to is not kept, or what
                the compiler said where it failed.
        """

        def there(part: Part) -> bool:
            row = rows.get((self.generated.name, *part))
            if row is None or row.digest != self.digests[part] or not row.is_final:
                return False
            name, provider = part
            if not keep_vmfb or provider != IREE:
                return True
            module = self.generated.module(name)
            if row.executable:  # with other flags, another one may be there
                return has_digest(module, row.executable)
            return module.with_suffix(".log").exists()

        return replace(self, digests={p: d for p, d in self.digests.items() if not there(p)})

    def parts(self, most: int) -> Iterator[PlannedRows]:
        """The same rows, so many at a time."""
        left = iter(self.digests.items())
        while some := dict(islice(left, most)):
            yield replace(self, digests=some)

    def spec(self, name: str) -> str | None:
        """The text of a configuration's spec; None for the compiler's default."""
        configuration = self._configuration(name)
        if configuration is None:
            return None
        return self.generated.read_spec(configuration).decode(errors="replace")

    def row(self, name: str, provider: str, **found: Any) -> Row:
        """A row, with what is known without running anything."""
        operation, configuration = self.generated.operation, self._configuration(name)
        return Row(
            operation=self.generated.name,
            kind=operation.kind if operation else "",
            configuration=name,
            provider=provider,
            digest=self.digests[name, provider],
            verification=NOT_RUN,
            types=operation.type_text if operation else "",
            fused="+".join(operation.fused) if operation else "",
            sizes=operation.sizes if operation else {},
            knobs=configuration.knobs if configuration else {},
            **found,
        )

    def _configuration(self, name: str) -> NamedSpec | None:
        return next((c for c in self.generated.configurations if c.name == name), None)
