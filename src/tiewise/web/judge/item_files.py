"""Files of what is compared, images and the map: for those who take part, and nobody else."""

from __future__ import annotations

from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tiewise.web.assets import CACHE_PRIVATELY
from tiewise.web.request import Endpoint, check_host
from tiewise.web.site import Site


def for_participants(answer: Callable[[Request, Site], Response]) -> Endpoint:
    """A file for judges and researchers of the study; for others there is none."""

    async def endpoint(request: Request) -> Response:
        site: Site = request.app.state.site
        check_host(request, site)
        if not await run_in_threadpool(_takes_part, request, site):
            raise HTTPException(404)
        return answer(request, site)

    return endpoint


def _takes_part(request: Request, site: Site) -> bool:
    judge, researcher = site.cookies.read_judge(request), site.cookies.read_researcher(request)
    if judge is not None and not judge.away and site.store.judge(judge.secret) is not None:
        return True
    return researcher is not None and site.researcher_store.session(researcher.secret) is not None


def image(request: Request, site: Site) -> Response:
    """The image of an item."""
    item = site.study.items.get(request.path_params["item"])
    file = site.images.get(item.image) if item else None
    if file is None or not file.path.is_file():  # it may have been erased since the site started
        raise HTTPException(404)
    return file.answer(request)


def overview_map(request: Request, site: Site) -> Response:
    """The overview map, the same on every page."""
    if site.maps is None:
        raise HTTPException(404)
    return site.maps.overview.answer(request, cache=CACHE_PRIVATELY)
