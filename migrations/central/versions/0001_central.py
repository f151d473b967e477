"""Central tables: tenants, cells, the dispatch index, holds, heartbeats, alarms.

The dispatch index mirrors the next work of every target; it can be thrown away and rebuilt from the cells.
"""

from migrations.statements import run

revision = "central_0001"
down_revision = None
branch_labels = None
depends_on = None

TENANTS = """
CREATE TABLE central.cells (
    name         text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9_-]{0,39}$'),
    -- An encrypted URL; NULL means: the central database itself is this cell.
    database_url text,
    created_at   timestamptz NOT NULL DEFAULT now()
);
INSERT INTO central.cells (name) VALUES ('default');

CREATE TABLE central.tenants (
    id                     uuid PRIMARY KEY,
    name                   text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
    cell                   text NOT NULL REFERENCES central.cells (name),
    status                 text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    suspended_at           timestamptz,
    monthly_limit          integer CHECK (monthly_limit >= 0),
    created_at             timestamptz NOT NULL DEFAULT now(),
    CHECK ((status = 'suspended') = (suspended_at IS NOT NULL))
);
"""

DISPATCH_INDEX = """
CREATE TABLE central.publish_dispatch_index (
    target_id         uuid NOT NULL,
    lane              text NOT NULL DEFAULT 'main' CHECK (lane IN ('main', 'prepare')),
    tenant_id         uuid NOT NULL,
    cell              text NOT NULL,
    account_id        uuid NOT NULL,
    platform          text NOT NULL,
    provider_app_id   uuid,
    seq               bigint NOT NULL,
    kind              text NOT NULL CHECK (kind IN ('publish', 'look', 'prepare')),
    due_at            timestamptz NOT NULL CHECK (isfinite(due_at)),
    -- greatest(due_at, the holds that apply): what the dispatcher compares with its clock.
    ready_at          timestamptz NOT NULL,
    publish_by        timestamptz,
    status            text NOT NULL CHECK (status IN ('pending', 'enqueued', 'done')),
    -- Put back because another target holds the account; freed by that target's settle.
    waits_for_account boolean NOT NULL DEFAULT false,
    sends             integer NOT NULL DEFAULT 0,
    enqueued_at       timestamptz,
    resend_at         timestamptz,
    updated_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target_id, lane),
    CHECK ((status = 'enqueued') = (enqueued_at IS NOT NULL AND resend_at IS NOT NULL)),
    CHECK (NOT waits_for_account OR status = 'pending')
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 2000
);
CREATE INDEX dispatch_index_ready ON central.publish_dispatch_index (lane, ready_at, target_id)
    WHERE status = 'pending';
CREATE INDEX dispatch_index_enqueued_account ON central.publish_dispatch_index (account_id, lane)
    WHERE status = 'enqueued';
CREATE INDEX dispatch_index_resend ON central.publish_dispatch_index (lane, resend_at)
    WHERE status = 'enqueued';
CREATE INDEX dispatch_index_tenant_ready ON central.publish_dispatch_index (lane, tenant_id, ready_at)
    WHERE status = 'pending';
CREATE INDEX dispatch_index_held ON central.publish_dispatch_index (ready_at)
    WHERE status = 'pending' AND ready_at > due_at;
CREATE INDEX dispatch_index_pending_account ON central.publish_dispatch_index (account_id, ready_at)
    WHERE status = 'pending';
-- What pruning looks for; appended to in the order of time, so it costs a finish next to nothing.
CREATE INDEX dispatch_index_done ON central.publish_dispatch_index (updated_at) WHERE status = 'done';
"""

PROVIDER_APPS = """
-- OAuth applications that accounts are connected through; without a tenant: everybody's.
CREATE TABLE central.provider_apps (
    id            uuid PRIMARY KEY,
    tenant_id     uuid REFERENCES central.tenants (id),
    platform      text NOT NULL,
    name          text NOT NULL,
    base_url      text NOT NULL,
    client_id     text NOT NULL,
    -- Encrypted by the vault; NULL for a public client.
    client_secret text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (tenant_id, platform, base_url, client_id)
);
"""

HOLDS_AND_HEALTH = """
CREATE TABLE central.holds (
    scope    text NOT NULL CHECK (scope IN ('account', 'app', 'platform', 'cell', 'tenant')),
    key      text NOT NULL,
    until    timestamptz NOT NULL,
    reason   text NOT NULL,
    set_by   text NOT NULL,
    set_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, key)
);

-- Acceptances whose cell could not be reached: read before any unknown outcome of the target is resolved.
CREATE TABLE central.late_evidence (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id       uuid NOT NULL,
    cell            text NOT NULL,
    target_id       uuid NOT NULL,
    part_no         integer NOT NULL,
    attempt_no      integer NOT NULL,
    publication_key text NOT NULL,
    remote_id       text NOT NULL,
    permalink       text,
    remote_ref      jsonb NOT NULL DEFAULT '{}',
    seen_at         timestamptz NOT NULL DEFAULT now(),
    applied_at      timestamptz,
    UNIQUE (target_id, part_no, remote_id)
);
CREATE INDEX late_evidence_waiting ON central.late_evidence (cell, id) WHERE applied_at IS NULL;

CREATE TABLE central.heartbeats (
    name    text PRIMARY KEY,
    beat_at timestamptz NOT NULL,
    detail  jsonb NOT NULL DEFAULT '{}'
) WITH (
    -- Few rows, each written every second: room for versions on the page, and vacuumed by count, not by share.
    fillfactor = 30,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500
);

CREATE TABLE central.alarms (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key         text NOT NULL,
    tenant_id   uuid,
    message     text NOT NULL,
    raised_at   timestamptz NOT NULL DEFAULT now(),
    last_at     timestamptz NOT NULL DEFAULT now(),
    times       integer NOT NULL DEFAULT 1,
    resolved_at timestamptz
);
CREATE UNIQUE INDEX alarms_open ON central.alarms (key) WHERE resolved_at IS NULL;
"""

GRANTS = """
GRANT USAGE ON SCHEMA central TO socialq_central;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA central TO socialq_central;
REVOKE INSERT, UPDATE, DELETE ON central.alembic_version FROM socialq_central;
"""


def upgrade() -> None:
    run(TENANTS)
    run(DISPATCH_INDEX)
    run(PROVIDER_APPS)
    run(HOLDS_AND_HEALTH)
    run(GRANTS)
