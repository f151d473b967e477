"""Which permission each endpoint needs, for a person as author and for an organisation, and what it is called.

Arrives: an endpoint and a bearer. Leaves: whether it may. None in the place of a scope: closed, as reading a
member's posts is to all but LinkedIn's own partners.
"""

from dataclasses import dataclass

from socialq.sandbox.linkedin.grants import Bearer

Endpoint = tuple[str, str]

_POST, _ONE_POST = "/rest/posts", "/rest/posts/:urn"
_COMMENTS = "/rest/socialActions/:urn/comments"
_W_MEMBER, _W_ORG, _R_ORG = "w_member_social", "w_organization_social", "r_organization_social"


@dataclass(frozen=True, slots=True)
class Need:
    """What a refusal calls the permission, and the scope for each kind of author."""

    resource: str
    person: str | None
    organization: str | None


NEEDS: dict[Endpoint, Need] = {
    ("POST", _POST): Need("partnerApiPostsExternal.CREATE", _W_MEMBER, _W_ORG),
    ("GET", _POST): Need("partnerApiPostsExternal.FINDER-author", None, _R_ORG),
    ("GET", _ONE_POST): Need("partnerApiPostsExternal.GET", None, _R_ORG),
    ("DELETE", _ONE_POST): Need("partnerApiPostsExternal.DELETE", _W_MEMBER, _W_ORG),
    ("POST", _COMMENTS): Need("partnerApiSocialActions.CREATE", _W_MEMBER, _W_ORG),
    ("GET", _COMMENTS): Need("partnerApiSocialActions.GET_ALL", None, _R_ORG),
    ("DELETE", f"{_COMMENTS}/:id"): Need("partnerApiSocialActions.DELETE", _W_MEMBER, _W_ORG),
    ("POST", "/rest/images"): Need("partnerApiImages.ACTION-initializeUpload", _W_MEMBER, _W_ORG),
    ("GET", "/rest/images/:urn"): Need("partnerApiImages.GET", None, _W_ORG),
    ("POST", "/rest/documents"): Need("partnerApiDocuments.ACTION-initializeUpload", _W_MEMBER, _W_ORG),
    ("GET", "/rest/documents/:urn"): Need("partnerApiDocuments.GET", None, _W_ORG),
    ("POST", "/rest/videos"): Need("partnerApiVideos.ACTION-initializeUpload", _W_MEMBER, _W_ORG),
    ("GET", "/rest/videos/:urn"): Need("partnerApiVideos.GET", _W_MEMBER, _W_ORG),
    ("GET", "/v2/userinfo"): Need("userinfo.GET", "profile", "profile"),
    ("GET", "/rest/organizationAcls"): Need(
        "organizationAcls.FINDER-roleAssignee", "rw_organization_admin", "rw_organization_admin"
    ),
    ("GET", "/rest/organizations"): Need(
        "organizations.BATCH_GET", "rw_organization_admin", "rw_organization_admin"
    ),
    ("GET", "/rest/organizations/:id"): Need(
        "organizations.GET", "rw_organization_admin", "rw_organization_admin"
    ),
}
OF_MEMBER = frozenset(
    {"/v2/userinfo", "/rest/organizationAcls", "/rest/organizations", "/rest/organizations/:id"}
)
"""These are about the member behind the token, whoever else the account is."""


def is_covered(need: Need, bearer: Bearer, *, is_organization: bool) -> bool:
    scope = need.organization if is_organization else need.person
    return scope is not None and scope in bearer.scopes
