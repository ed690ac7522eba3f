"""A run in a process of its own, to be killed: prints its phases, one a line, and exits as rtassay would."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from flow_support import PLAN

from rtassay.boards.local import LocalBoard
from rtassay.model.errors import RtassayError
from rtassay.session.control import StopRequest
from rtassay.session.run import run


async def main(home: str, fields: str) -> None:
    stop = StopRequest()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.request)
    result = await run(
        LocalBoard(),
        replace(PLAN, **json.loads(fields)),
        home=Path(home),
        labels={},
        on_event=lambda progress: print(progress.phase, flush=True),
        stop=stop,
    )
    print(result.path, flush=True)


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1], sys.argv[2]))
    except RtassayError as error:
        print(json.dumps({"what": error.what, "why": error.why, "hint": error.hint}), file=sys.stderr)
        sys.exit(error.exit_code)
