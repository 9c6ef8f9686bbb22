"""The types of what stands in the paths of the API: what does not fit leads nowhere, before anything is looked up."""

from typing import Annotated

from fastapi import Path

_VISIBLE = r"^[^\x00-\x1f\x7f]+$"

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""The id of a run, a review or a question."""
Name = Annotated[str, Path(max_length=200, pattern=_VISIBLE)]
"""The type of a trigger."""
StepPath = Annotated[str, Path(max_length=1000, pattern=_VISIBLE)]
"""The path of a step within its run."""
