"""Probes: every hostile value in every place of the site, one place at a time, in shuffled order.

What Hypothesis draws combines freely and meets few of the many places; probes meet them all, given
time, and combine nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from urllib.parse import quote, urlencode

from support.fuzz_requests import (
    AREAS,
    CALLERS,
    FORM_TYPE,
    HEADER_NAMES,
    HEADER_VALUES,
    HOSTILE,
    METHODS,
    RAW_GAPS,
    FormSkeleton,
    FuzzCatalogue,
    FuzzRequest,
    FuzzRoute,
    field_names,
)

FORM_HEADERS = (("content-type", FORM_TYPE),)


def plain_request(caller: str, method: str, path: str) -> FuzzRequest:
    """A request with no more than it needs."""
    if method != "POST":
        return FuzzRequest(caller, method, path)
    return FuzzRequest(caller, method, path, headers=FORM_HEADERS, body=b"token=_TOKEN_")


def sweep(catalogue: FuzzCatalogue) -> Iterator[FuzzRequest]:
    """Every route with each of its methods, by every caller, as plainly as can be."""
    for route in catalogue.routes:
        for method in route.methods:
            for caller in CALLERS:
                yield plain_request(caller, method, route.filled("_SHARE_"))


def shuffled_probes(catalogue: FuzzCatalogue, rng: Random) -> list[FuzzRequest]:
    """All probes of a site, in the order in which they are to be sent."""
    probes = [
        *(probe for route in catalogue.routes for probe in _of_route(route, catalogue, rng)),
        *(probe for form in catalogue.forms for probe in _of_form(form, catalogue)),
    ]
    rng.shuffle(probes)
    return probes


def _of_route(route: FuzzRoute, catalogue: FuzzCatalogue, rng: Random) -> Iterator[FuzzRequest]:
    area = next(start for start in AREAS if route.path.startswith(start))
    # Now and then by somebody else, for whom the same page is another one.
    callers = [AREAS[area]] * 3 + list(CALLERS)
    method, path = route.methods[0], route.filled("_SHARE_")
    for value in HOSTILE:
        yield with_values(plain_request(rng.choice(callers), method, path), field_names(), value)
    for value in HEADER_VALUES:
        header = (rng.choice(HEADER_NAMES), value)
        plain = plain_request(rng.choice(callers), method, path)
        yield plain._replace(headers=(*plain.headers, header))
    for other in METHODS:
        yield plain_request(rng.choice(callers), other, path)
    if route.gap:
        words = [quote(word, safe="", errors="surrogatepass") for word in HOSTILE + catalogue.words]
        for gap in [*words, *RAW_GAPS]:
            yield plain_request(AREAS[area], method, route.filled(gap))


def with_values(request: FuzzRequest, names: tuple[str, ...], value: str) -> FuzzRequest:
    """A request with one value for all of these names, in the address or in the form."""
    encoded = urlencode([(name, value) for name in names], errors="surrogatepass")
    if request.method == "POST":
        return request._replace(body=b"token=_TOKEN_&" + encoded.encode())
    return request._replace(query=encoded)


def smaller(request: FuzzRequest) -> Iterator[FuzzRequest]:
    """The same request with one of its parameters or fields alone, or without a header."""
    yield request._replace(query="")
    for pair in request.query.split("&"):
        yield request._replace(query=pair)
    first, *others = request.body.split(b"&")
    for field in others:
        yield request._replace(body=first + b"&" + field)


def _of_form(form: FormSkeleton, catalogue: FuzzCatalogue) -> Iterator[FuzzRequest]:
    values = dict.fromkeys(HOSTILE + catalogue.words)
    for place, (name, _) in enumerate(form.fields):
        for value in values:
            fields = [*form.fields[:place], (name, value), *form.fields[place + 1 :]]
            body = urlencode(fields, errors="surrogatepass").encode()
            yield FuzzRequest(form.caller, "POST", form.action, "", FORM_HEADERS, body)
