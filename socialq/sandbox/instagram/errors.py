"""Instagram's refusals, in its own words.

Source: developers.facebook.com/docs/instagram-platform/instagram-graph-api/reference/error-codes.
"""

from socialq.sandbox.graph.errors import Fault

MISSING = Fault(
    24,
    "The requested resource does not exist",
    subcode=2207008,
    title="Media builder not found",
    text="The media builder with creation id = {id} does not exist or has been expired.",
)
LOST = Fault(
    24,
    "The requested resource does not exist",
    subcode=2207006,
    title="Media not found",
    text="The media with {id} cannot be found.",
)
NOT_READY = Fault(
    9007,
    "The media is not ready to be published",
    subcode=2207027,
    title="Media ID is not available",
    text="The media is not ready for publishing, please wait for a moment",
)
USED_UP = Fault(
    9,
    "Application request limit reached",
    subcode=2207042,
    status=403,
    title="Application request limit reached",
    text="You reached maximum number of posts that is allowed to be published by Content Publishing API.",
)
SPAM = Fault(
    4,
    "Application request limit reached",
    subcode=2207051,
    status=403,
    title="Action is blocked",
    text="We restrict certain activity to protect our community. Tell us if you think we made a mistake.",
)
NOT_FETCHED = Fault(
    9004,
    "Only photo or video can be accepted as media type.",
    subcode=2207052,
    title="Media download has failed",
    text="The media could not be fetched from this URI.",
)
TOO_LARGE = Fault(
    36000,
    "The image size is too large.",
    subcode=2207004,
    title="Image size too large",
    text="The image is too large to download. It should be less than 8 MiB.",
)
BAD_FORMAT = Fault(
    36001,
    "The image format is not supported.",
    subcode=2207005,
    title="Unsupported image format",
    text="The image format is not supported. Please check spec for supported formats.",
)
BAD_RATIO = Fault(
    36003,
    "The submitted image with aspect ratio is not supported.",
    subcode=2207009,
    title="Invalid aspect ratio",
    text="The image's aspect ratio is not supported. It should be between 4:5 and 1.91:1.",
)
LONG_CAPTION = Fault(
    36004,
    "The caption was too long.",
    subcode=2207010,
    title="Caption too long",
    text="The caption must be no more than 2,200 characters, with up to 30 hashtags and 20 @-tags.",
)
UNKNOWN_TYPE = Fault(
    100, "Invalid parameter", subcode=2207023, title="Unknown media type", text="The media type is unknown."
)
CAROUSEL_COUNT = Fault(
    100,
    "Invalid parameter",
    subcode=2207028,
    title="Invalid carousel",
    text="Carousels need between 2 and 10 photos/videos.",
)
# What stands in the state of a container that failed: a sentence that ends with the number.
FAILED_FETCH = "Error: Media upload has failed with error code 2207003"
FAILED_FORMAT = "Error: Media upload has failed with error code 2207026"
