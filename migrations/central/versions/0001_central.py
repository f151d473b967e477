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
    -- How far the cell's server had counted transactions when it was last asked: a count never goes back, unless
    -- an older state was restored.
    position     bigint,
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
    -- Of an application that registered itself: the one address it may send people back to. NULL: see its owner.
    redirect_uri  text,
    -- What the platform has approved it for; NULL: all that is asked for.
    scopes        text[],
    created_at    timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (tenant_id, platform, base_url, client_id)
);

-- Consents under way: begun here, to be given on the platform's page within minutes. Works once.
CREATE TABLE central.consents (
    id              uuid PRIMARY KEY,
    tenant_id       uuid NOT NULL REFERENCES central.tenants (id),
    client_id       uuid NOT NULL,
    platform        text NOT NULL,
    base_url        text NOT NULL,
    provider_app_id uuid NOT NULL REFERENCES central.provider_apps (id),
    redirect_uri    text NOT NULL,
    -- SHA-256 of the state: what is stored here finishes nobody's consent.
    state_hash      text NOT NULL UNIQUE,
    -- Encrypted by the vault, as are the channels.
    code_verifier   text NOT NULL,
    -- The user that must consent, where an account is connected again.
    expected_user   text,
    begun_by        text NOT NULL,
    begun_at        timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    returned_at     timestamptz,
    -- What the grant serves, until a person has picked.
    pick_hash       text UNIQUE,
    channels        text,
    CHECK ((pick_hash IS NULL) = (channels IS NULL)),
    CHECK (channels IS NULL OR returned_at IS NOT NULL)
);
CREATE INDEX consents_over ON central.consents (expires_at);

-- Deletions that people have asked a platform for, and how they can see that theirs was done.
CREATE TABLE central.deletions (
    code         text PRIMARY KEY,
    client_id    text NOT NULL,
    requested_at timestamptz NOT NULL,
    done_at      timestamptz NOT NULL DEFAULT now(),
    accounts     integer NOT NULL
);
"""

HOLDS_AND_HEALTH = """
CREATE TABLE central.holds (
    scope    text NOT NULL CHECK (scope IN ('account', 'app', 'platform', 'cell', 'tenant')),
    key      text NOT NULL,
    -- Who may lift it: a person's hold is never shortened by what a platform says, nor lifted with a suspension.
    source   text NOT NULL CHECK (source IN (
        'person', 'platform', 'restricted', 'breaker', 'cell_down', 'suspended', 'stopped', 'disabled',
        'monthly_limit')),
    until    timestamptz NOT NULL,
    -- Whether looks wait as well. What a state of the tenant or the account keeps from going out may be looked for,
    -- and so may what was sent before a platform stopped taking posts (`restricted`).
    holds_looks boolean NOT NULL DEFAULT true,
    reason   text NOT NULL,
    set_by   text NOT NULL,
    set_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, key, source)
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

-- A value that each encryption key has encrypted once: what does not decrypt it is another key of the same name.
CREATE TABLE central.key_checks (
    key_id     text PRIMARY KEY,
    value      text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

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
    resolved_at timestamptz,
    -- Whoever sends alarms on takes them for a while first, so that several senders tell of each once.
    telling_until  timestamptz,
    told_at        timestamptz,
    clear_told_at  timestamptz
);
CREATE UNIQUE INDEX alarms_open ON central.alarms (key) WHERE resolved_at IS NULL;
CREATE INDEX alarms_untold ON central.alarms (id)
    WHERE (resolved_at IS NULL) = (told_at IS NULL) AND clear_told_at IS NULL;

-- Failures that get an account banned if they go on: what a circuit breaker counts. Pruned after a day.
CREATE TABLE central.troubles (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id uuid NOT NULL,
    platform   text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('unknown', 'policy')),
    at         timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX troubles_of_account ON central.troubles (account_id, at);
CREATE INDEX troubles_of_platform ON central.troubles (platform, at);
"""

GRANTS = """
GRANT USAGE ON SCHEMA central TO socialq_central;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA central TO socialq_central;
REVOKE INSERT, UPDATE, DELETE ON central.alembic_version FROM socialq_central;
"""

STATISTICS = """
-- Plans of a table that nobody has analysed yet read all of a tenant's rows for one. Autovacuum comes a minute
-- after they were written, and a client's first import is due before. As the owner: only it may ANALYZE.
CREATE FUNCTION central.gather_statistics() RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    grown record;
    analysed integer := 0;
BEGIN
    FOR grown IN
        SELECT s.relname FROM pg_stat_user_tables s
        WHERE s.schemaname = 'central' AND s.n_mod_since_analyze > GREATEST(200, s.n_live_tup / 2)
    LOOP
        EXECUTE format('ANALYZE central.%I', grown.relname);
        analysed := analysed + 1;
    END LOOP;
    RETURN analysed;
END
$$;
REVOKE ALL ON FUNCTION central.gather_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION central.gather_statistics() TO socialq_central;
"""


def upgrade() -> None:
    run(TENANTS)
    run(DISPATCH_INDEX)
    run(PROVIDER_APPS)
    run(HOLDS_AND_HEALTH)
    run(GRANTS)
    run(STATISTICS)
