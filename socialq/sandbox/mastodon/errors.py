"""Mastodon's own words for what it refuses."""

from socialq.sandbox.messages import Answer, Refusal, html_answer, json_answer

INVALID_TOKEN = "The access token is invalid"  # noqa: S105 - an error text
REVOKED_TOKEN = "The access token was revoked"  # noqa: S105
OUTSIDE_SCOPES = "This action is outside the authorized scopes"
NOT_FOUND = "Record not found"
PARENT_NOT_FOUND = "The post you are trying to reply to does not appear to exist."
TEMPORARY = "There was a temporary problem serving your request, please try again"
TOO_MANY_REQUESTS = "Too many requests"
NO_USER = "This method requires an authenticated user"
STILL_PROCESSING = "Cannot attach files that have not finished processing. Try again in a moment!"
TOO_MANY_FILES = "Cannot attach more than 4 files"
VIDEO_AND_IMAGES = "Cannot attach a video to a post that already contains images"
INVALID_FILE = "Validation failed: File content type is invalid, File is invalid"
PROCESSING_FAILED = "Error processing thumbnail for uploaded media"

_ERROR_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>We're sorry, but something went wrong (500)</title></head>
<body class="error"><div class="dialog"><div class="dialog__message">
<h1>We're sorry, but something went wrong on our end.</h1>
</div></div></body>
</html>
"""


class Refused(Refusal):
    """A refusal in Mastodon's form: `{"error": message}`."""

    def __init__(self, message: str, *, status: int = 422) -> None:
        super().__init__(error(message, status=status))


def error(message: str, *, status: int) -> Answer:
    return json_answer({"error": message}, status=status)


def unauthorized(message: str) -> Answer:
    answer = error(message, status=401)
    challenge = f'Bearer realm="Doorkeeper", error="invalid_token", error_description="{message}"'
    answer.headers["WWW-Authenticate"] = challenge
    return answer


def something_went_wrong() -> Answer:
    """The static page that a crashed Rails answers with, also for API paths."""
    return html_answer(_ERROR_PAGE, status=500)


def over_character_limit(limit: int) -> str:
    return f"Validation failed: Text character limit of {limit} exceeded"
