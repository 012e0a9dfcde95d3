"""Before a live mode starts: is there a key, does the endpoint answer, does it know the model?"""

from __future__ import annotations

import difflib
import ipaddress
import os
import sys
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from memory_tutor.errors import TutorError

#: What OpenAI() gets as a key where none is needed; no endpoint but this machine's is ever sent it.
PLACEHOLDER = "not-needed"
#: How long the endpoint may take to list its models, in seconds.
PATIENCE = 10.0


class LiveError(TutorError):
    """A live mode cannot start: no key, a wrong key, or nothing that answers."""


def base_url() -> str:
    """The endpoint that OpenAI() would use."""
    return os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_endpoint(mode: str, model: str) -> list[str]:
    """Refuse to start a live mode that cannot work, before the first request is made.

    Args:
        mode: for the message.
        model: that the notebook will ask for.

    Returns:
        Lines to print: a model that the endpoint does not know, or that is to be shut down.

    Raises:
        LiveError: no key and not this machine; a key that is refused; nothing answers.
    """
    import httpx2
    import openai

    url = base_url()
    key = os.environ.get("OPENAI_API_KEY") or PLACEHOLDER
    if key == PLACEHOLDER and not is_loopback(url):
        raise LiveError(
            f"Mode {mode!r} asks {url}, and OPENAI_API_KEY is not set: nothing was sent.\n"
            'Set the key, or set OPENAI_BASE_URL to a model on this machine, or use mode="replay".'
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        # Said here, since the error of the HTTP client would show the key.
        raise LiveError(
            "OPENAI_API_KEY holds what no key holds: a space, a line break or a typographic quote. "
            "Nothing was sent. Set the key again."
        )
    try:
        client = openai.OpenAI(api_key=key, base_url=url, max_retries=0, timeout=PATIENCE)
        models = list(client.models.list())
    except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
        raise LiveError(
            f"{url} does not accept the key in OPENAI_API_KEY ({error.status_code}). Check both variables."
        ) from None
    except openai.APIStatusError:
        return []  # an endpoint need not list its models
    except (openai.APIConnectionError, httpx2.InvalidURL, ValueError) as error:
        reason = error.__cause__ or error
        if sys.platform == "emscripten":
            raise LiveError(f"{url} does not answer, or does not let this page ask it (CORS): {reason}") from None
        raise LiveError(f"Nothing answers at {url} ({reason}). Check OPENAI_BASE_URL.") from None
    except openai.OpenAIError:
        return []
    return model_lines(model, models)


def model_lines(model: str, models: Iterable[Any]) -> list[str]:
    """What there is to say of a model, in a line: unknown to the endpoint, or to be shut down.

    Args:
        model: that the notebook will ask for.
        models: what the endpoint lists; `shutdown_date` of an entry is None or "YYYY-MM-DD".
    """
    known = {entry.id: getattr(entry, "shutdown_date", None) for entry in models}
    if not known:
        return []
    lasting = sorted(name for name, date in known.items() if not date and name != model)
    others = difflib.get_close_matches(model, lasting, n=5, cutoff=0.3) or lasting[:5]
    names = ", ".join(others) + (f" and {len(lasting) - len(others)} more" if len(lasting) > len(others) else "")
    if model not in known:
        return [f"The endpoint does not list a model {model!r}. Set OPENAI_MODEL to one that it knows: {names}."]
    if known[model]:
        return [f"The model {model!r} is to be shut down on {known[model]}. Others that the endpoint knows: {names}."]
    return []
