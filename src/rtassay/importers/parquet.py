"""Parquet with one latency a row, in a named column with a unit (a duration column has its own). Streaming by row group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.columns import bad, unreadable
from rtassay.importers.samples import NamedColumn, SampleLanes, column_unit, unit_ns
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event
from rtassay.model.files import open_regular

_BATCH = 1 << 16
_MAGIC = b"PAR1"


class ParquetImporter(NamedColumn):
    """Options and lanes are those of `table`; errors name the row (from 1) and the column."""

    name = "parquet"
    summary = "Parquet with one latency a row; --column, --unit, --lane-column, --measure"

    def recognises(self, head: bytes) -> bool:
        return head.startswith(_MAGIC) and len(head) > 12

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with the row and the column."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with open_regular(path) as raw, pq.ParquetFile(raw) as file:
                yield from self._events(path, file)
        except OSError as error:
            if isinstance(error.errno, int):
                raise unreadable(path, error) from error
            raise _damaged(path, error) from error
        except (pa.ArrowException, ValueError, LookupError, ArithmeticError, MemoryError) as error:
            # The place of the damage decides which error pyarrow raises.
            raise _damaged(path, error) from error

    def _events(self, path: Path, file: Any) -> Iterator[Event]:
        schema = file.schema_arrow
        name = self._choose(path, schema)
        scale, decimals = self._scale(path, name, schema.field(name).type)
        wanted = [name]
        if self.lane_column is not None:
            if self.lane_column not in schema.names:
                raise bad(
                    path,
                    f"there is no column '{self.lane_column}'",
                    hint=f"its columns: {', '.join(schema.names[:20])}",
                )
            wanted += [self.lane_column] if self.lane_column != name else []
        lanes, row = SampleLanes(self.name, self.measure), 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=wanted):
            values = _latencies(path, name, batch.column(batch.schema.get_field_index(name)), scale, row)
            for lane, part in self._by_lane(path, batch, values, row):
                lanes.add_block(path, lane, part, None)
            yield from lanes.flush()
            row += batch.num_rows
        yield from lanes.finish(path, decimals, {"column": name, "unit": self.unit or column_unit(name)})

    def _choose(self, path: Path, schema: Any) -> str:
        known = f"its columns: {', '.join(schema.names[:20])}"
        if len(set(schema.names)) != len(schema.names):
            raise bad(path, "two columns have one name", hint=known)
        if self.column is not None:
            if self.column not in schema.names:
                raise bad(path, f"there is no column '{self.column}'", hint=known)
            return self.column
        fitting = [name for name in schema.names if column_unit(name) is not None]
        if len(fitting) != 1:
            raise bad(
                path,
                f"{len(fitting) or 'no'} columns with a name such as latency_us",
                hint=f"name one with --column; {known}",
            )
        return str(fitting[0])

    def _scale(self, path: Path, name: str, kind: Any) -> tuple[int, int]:
        """(ns in a unit, ns that the last digit stands for)."""
        import pyarrow.types as of

        if of.is_duration(kind):
            own = unit_ns(str(kind.unit))
            if self.unit is not None and unit_ns(self.unit) != own:
                raise bad(path, f"column '{name}' is a duration in {kind.unit}", hint="leave --unit out")
            return own, own
        unit = self.unit or column_unit(name)
        if unit is None:
            raise bad(path, f"the unit of column '{name}' is not known", hint="say it with --unit us (ns, us, ms, s)")
        if of.is_integer(kind):
            return unit_ns(unit), unit_ns(unit)
        if of.is_floating(kind):
            return unit_ns(unit), 1
        raise bad(path, f"column '{name}' holds {kind}, not numbers", hint="name another with --column")

    def _by_lane(self, path: Path, batch: Any, values: Any, row: int) -> Iterator[tuple[str, Any]]:
        if self.lane_column is None:
            yield "all", values
            return
        import numpy as np

        names = batch.column(batch.schema.get_field_index(self.lane_column))
        if names.null_count:
            first = names.is_null().to_pylist().index(True)
            raise bad(path, f"row {row + first + 1}: no value in the lane column '{self.lane_column}'")
        coded = names.cast("string").dictionary_encode()
        codes = np.asarray(coded.indices)
        for code, lane in enumerate(coded.dictionary.to_pylist()):
            yield str(lane), values[codes == code]


def _damaged(path: Path, error: Exception) -> InputFileError:
    return bad(path, f"not a whole Parquet file: {' '.join(str(error).split())[:200]}")


def _latencies(path: Path, name: str, column: Any, scale: int, row: int) -> Any:
    """int64 ns of a batch. Raises InputFileError with the row of the first value that is no latency."""
    import numpy as np
    import pyarrow.types as of

    if column.null_count:
        first = column.is_null().to_pylist().index(True)
        raise bad(path, f"row {row + first + 1}, column '{name}': the latency is missing")
    if of.is_duration(column.type):
        column = column.cast("int64")
    raw = column.to_numpy(zero_copy_only=False)
    fits = np.abs(raw.astype(np.float64)) < 2**62 / scale
    if not fits.all():  # NaN compares false
        first = int(np.flatnonzero(~fits)[0])
        raise bad(path, f"row {row + first + 1}, column '{name}': {raw[first]} is not a latency")
    if raw.dtype.kind == "f":
        return np.rint(raw.astype(np.float64) * scale).astype(np.int64)
    return raw.astype(np.int64) * scale
