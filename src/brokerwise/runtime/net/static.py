"""The files of the page, over HTTP."""

from fastapi import Request, Response

from brokerwise.page.assets import HEADERS, asset


def asset_answer(request: Request, name: str) -> Response:
    """A file of the page; 304 and no content if whoever asks has it already."""
    found = asset(name)
    headers = {**HEADERS, "ETag": found.etag}
    if found.etag in _known(request):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)


def _known(request: Request) -> list[str]:
    """What somebody on the way has packed is the same file to us."""
    tags = request.headers.get("if-none-match", "").split(",")
    return [tag.strip().removeprefix("W/") for tag in tags]
