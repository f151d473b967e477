"""Cell tables: everything that belongs to a tenant, with row security forced on each.

Two runtime roles, neither owner nor able to bypass row security: `socialq_app` sees one tenant at a time, set
per transaction; `socialq_machine` (relay, sweep) sees the outbox and the scheduling columns of all tenants.
The database itself refuses illegal moves and half-states, and records every move.
"""

from migrations.statements import run

revision = "cell_0001"
down_revision = None
branch_labels = None
depends_on = None

# Another server, another timeline (a restore to a point in time, a promotion), another database (a dump that was
# loaded): another identity. The claim compares it, so that nothing goes out of a restored database unseen.
IDENTITY = """
-- PL/pgSQL keeps its plan: 10 microseconds a call, where plain SQL takes 32.
CREATE FUNCTION cell.identity() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT system_identifier FROM pg_control_system())
           || '.' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
           || '.' || (SELECT oid FROM pg_database WHERE datname = current_database());
END
$$;
"""

PEOPLE = """
CREATE TABLE cell.tenant_state (
    tenant_id     uuid PRIMARY KEY,
    name          text NOT NULL,
    status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    suspended_at  timestamptz,
    monthly_limit integer CHECK (monthly_limit >= 0),
    -- Stops of a whole tenant: after a restore (quarantine) or by a person (crisis stop).
    stopped_at    timestamptz,
    stop_reason   text,
    -- Whose stops they are, 'quarantine' or 'person': each lifts its own, and the last one ends it.
    stopped_by    text[] NOT NULL DEFAULT '{}',
    -- The database that these rows were last known to be complete in.
    origin        text NOT NULL DEFAULT cell.identity(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CHECK ((status = 'suspended') = (suspended_at IS NOT NULL)),
    CHECK ((stopped_at IS NULL) = (stopped_by = '{}'))
);

CREATE TABLE cell.clients (
    tenant_id  uuid NOT NULL REFERENCES cell.tenant_state,
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    time_zone  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, name),
    UNIQUE (tenant_id, id)
);

CREATE TABLE cell.accounts (
    tenant_id        uuid NOT NULL,
    id               uuid PRIMARY KEY,
    client_id        uuid NOT NULL,
    platform         text NOT NULL,
    handle           text NOT NULL,
    base_url         text NOT NULL,
    remote_user_id   text NOT NULL,
    display_name     text NOT NULL DEFAULT '',
    provider_app_id  uuid,
    -- The person whose consent the tokens came by, as the platform names them to the application.
    granted_by       text,
    connected_at     timestamptz NOT NULL DEFAULT now(),
    status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'needs_reconnect', 'disabled')),
    status_reason    text,
    -- Encrypted by the vault, bound to this row and field.
    access_token     text NOT NULL,
    refresh_token    text,
    token_expires_at timestamptz,
    refreshed_at     timestamptz,
    -- One refresh in flight: whoever holds this may store a new pair.
    refresh_lease       uuid,
    refresh_lease_until timestamptz,
    -- When a refresh was last begun, whatever became of it: upkeep asks nobody again at once.
    refresh_tried_at    timestamptz,
    scopes           text[] NOT NULL DEFAULT '{}',
    limits           jsonb NOT NULL DEFAULT '{}',
    -- The platform asked to wait: the claim refuses before this.
    hold_until       timestamptz,
    flagged_at       timestamptz,
    flag_reason      text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, platform, handle),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES cell.clients (tenant_id, id)
);

CREATE TABLE cell.media (
    tenant_id   uuid NOT NULL,
    id          uuid PRIMARY KEY,
    client_id   uuid NOT NULL,
    file_name   text NOT NULL,
    storage_key text NOT NULL,
    mime_type   text NOT NULL,
    byte_size   bigint NOT NULL CHECK (byte_size > 0),
    sha256      text NOT NULL,
    width       integer,
    height      integer,
    duration_seconds double precision,
    -- What else its bytes say, as JSON: frames, codecs, whether it carries metadata.
    details     jsonb NOT NULL DEFAULT '{}',
    alt_text    text NOT NULL DEFAULT '',
    status      text NOT NULL CHECK (status IN ('uploaded', 'processing', 'ready', 'rejected')),
    problem     text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES cell.clients (tenant_id, id)
);
CREATE INDEX media_same_file ON cell.media (tenant_id, client_id, sha256);
CREATE INDEX media_newest ON cell.media (tenant_id, created_at DESC, id);

-- Files made of a file for platforms that don't take it as it is, by recipe. Never changed: a version names
-- the checksum that was approved.
CREATE TABLE cell.media_variants (
    tenant_id   uuid NOT NULL,
    media_id    uuid NOT NULL,
    recipe      text NOT NULL,
    storage_key text,
    mime_type   text,
    byte_size   bigint CHECK (byte_size > 0),
    sha256      text,
    width       integer,
    height      integer,
    -- Why there is none, where it can't be made.
    problem     text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (media_id, recipe),
    FOREIGN KEY (tenant_id, media_id) REFERENCES cell.media (tenant_id, id),
    CHECK ((problem IS NULL) = (sha256 IS NOT NULL AND storage_key IS NOT NULL AND mime_type IS NOT NULL
                                AND byte_size IS NOT NULL))
);
"""

POSTS = """
CREATE TABLE cell.posts (
    tenant_id           uuid NOT NULL,
    id                  uuid PRIMARY KEY,
    client_id           uuid NOT NULL,
    approved_version_id uuid,
    labels              text[] NOT NULL DEFAULT '{}',
    -- Set by an import: the same row of the same file is not imported twice.
    import_key          text,
    created_by          text NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant_id, id),
    UNIQUE (tenant_id, import_key),
    FOREIGN KEY (tenant_id, client_id) REFERENCES cell.clients (tenant_id, id)
);

CREATE TABLE cell.post_versions (
    tenant_id    uuid NOT NULL,
    id           uuid PRIMARY KEY,
    post_id      uuid NOT NULL,
    number       integer NOT NULL CHECK (number > 0),
    -- {"parts": [{"text": …, "media": [media id, …]}, …], "options": {…}, "files": {account id: {media id: sha256}}}
    content      jsonb NOT NULL,
    content_hash text NOT NULL,
    media_ids    uuid[] NOT NULL DEFAULT '{}',
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (post_id, number),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, post_id) REFERENCES cell.posts (tenant_id, id)
);
ALTER TABLE cell.posts ADD FOREIGN KEY (tenant_id, approved_version_id)
    REFERENCES cell.post_versions (tenant_id, id);

CREATE TABLE cell.approvals (
    tenant_id    uuid NOT NULL,
    version_id   uuid NOT NULL,
    client_id    uuid NOT NULL,
    content_hash text NOT NULL,
    approved_by  text NOT NULL,
    approved_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (version_id, client_id),
    FOREIGN KEY (tenant_id, version_id) REFERENCES cell.post_versions (tenant_id, id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES cell.clients (tenant_id, id)
);
"""

TARGETS = """
CREATE TABLE cell.post_targets (
    tenant_id        uuid NOT NULL,
    id               uuid PRIMARY KEY,
    post_id          uuid NOT NULL,
    account_id       uuid NOT NULL,
    platform         text NOT NULL,
    version_id       uuid NOT NULL,
    status           text NOT NULL,
    -- Why it is where it is: a code that programs read, a sentence that people read.
    reason           text,
    detail           text,
    -- The change counter: every change that matters to scheduling bumps it and leaves an outbox event.
    seq              bigint NOT NULL DEFAULT 0,
    next_kind        text CHECK (next_kind IN ('publish', 'look')),
    -- Years that every client can read: one row that can't be read would stop the relay of all.
    next_at          timestamptz CHECK (next_at > '1970-01-01' AND next_at < '9999-01-01'),
    publish_at       timestamptz CHECK (publish_at > '1970-01-01' AND publish_at < '9999-01-01'),
    publish_by       timestamptz CHECK (publish_by > '1970-01-01' AND publish_by < '9999-01-01'),
    -- The publication key's instant, frozen at the first mark.
    key_instant      timestamptz CHECK (key_instant > '1970-01-01' AND key_instant < '9999-01-01'),
    attempt_count    integer NOT NULL DEFAULT 0,
    tries_spent      integer NOT NULL DEFAULT 0,
    lease_token      uuid,
    lease_until      timestamptz,
    holds_account    boolean NOT NULL DEFAULT false,
    cancel_requested boolean NOT NULL DEFAULT false,
    -- Of an unknown outcome: the moment from which the lost request can no longer run, and the looks since.
    lost_at          timestamptz,
    looks_done       integer NOT NULL DEFAULT 0,
    looks_failed     integer NOT NULL DEFAULT 0,
    published_at     timestamptz,
    -- The prepare lane: its own lease, which never stands in the way of the publish. Done for a version, or not.
    prepared_version_id uuid,
    prepare_next_at  timestamptz CHECK (prepare_next_at < '9999-01-01'),
    prepare_tries    integer NOT NULL DEFAULT 0,
    prepare_token    uuid,
    prepare_until    timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now(),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    UNIQUE (post_id, account_id),
    UNIQUE (tenant_id, id),
    FOREIGN KEY (tenant_id, post_id) REFERENCES cell.posts (tenant_id, id),
    FOREIGN KEY (tenant_id, account_id) REFERENCES cell.accounts (tenant_id, id),
    FOREIGN KEY (tenant_id, version_id) REFERENCES cell.post_versions (tenant_id, id),
    CONSTRAINT status_known CHECK (status IN (
        'draft', 'invalid', 'ready', 'scheduled', 'publishing', 'retry_scheduled', 'unknown_outcome',
        'needs_attention', 'needs_reconnect', 'failed', 'published', 'cancelled')),
    CONSTRAINT next_work_whole CHECK ((next_kind IS NULL) = (next_at IS NULL)),
    CONSTRAINT lease_while_publishing CHECK (
        (status = 'publishing') = (lease_token IS NOT NULL AND lease_until IS NOT NULL)
        AND (lease_token IS NULL) = (lease_until IS NULL)),
    CONSTRAINT account_held_in_flight CHECK (NOT holds_account OR status IN ('publishing', 'unknown_outcome')),
    CONSTRAINT publishing_holds_account CHECK (status <> 'publishing' OR holds_account),
    CONSTRAINT scheduled_has_work CHECK (
        status NOT IN ('scheduled', 'retry_scheduled')
        OR (next_kind = 'publish' AND publish_at IS NOT NULL AND publish_by IS NOT NULL)),
    CONSTRAINT unknown_is_looked_for CHECK (
        status <> 'unknown_outcome' OR (next_kind = 'look' AND lost_at IS NOT NULL)),
    CONSTRAINT resting_has_no_work CHECK (
        status NOT IN ('draft', 'invalid', 'ready', 'needs_attention', 'needs_reconnect', 'failed', 'cancelled')
        OR next_kind IS NULL),
    CONSTRAINT published_has_instant CHECK ((status = 'published') = (published_at IS NOT NULL)),
    CONSTRAINT published_only_looks CHECK (status <> 'published' OR next_kind IS NULL OR next_kind = 'look')
) WITH (
    fillfactor = 85,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 2000
);
-- One target per account in flight: the guarantee. The dispatcher's predicate only saves work.
CREATE UNIQUE INDEX post_targets_account_held ON cell.post_targets (account_id) WHERE holds_account;
CREATE INDEX post_targets_may_be_live ON cell.post_targets (tenant_id)
    WHERE status IN ('publishing', 'unknown_outcome');
CREATE INDEX post_targets_lease ON cell.post_targets (lease_until) WHERE status = 'publishing';
CREATE INDEX post_targets_expiring ON cell.post_targets (publish_by)
    WHERE status IN ('scheduled', 'retry_scheduled');
CREATE INDEX post_targets_next_work ON cell.post_targets (next_at) WHERE next_kind IS NOT NULL;
CREATE INDEX post_targets_listing ON cell.post_targets (tenant_id, publish_at, id);

CREATE TABLE cell.post_schedules (
    tenant_id      uuid NOT NULL,
    target_id      uuid NOT NULL,
    seq            bigint NOT NULL,
    publish_at     timestamptz NOT NULL,
    -- What the person wrote, in the zone it was read in.
    local_time     timestamp NOT NULL,
    time_zone      text NOT NULL,
    scheduled_by   text NOT NULL,
    scheduled_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (target_id, seq),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id)
);

CREATE TABLE cell.target_parts (
    tenant_id      uuid NOT NULL,
    target_id      uuid NOT NULL,
    part_no        integer NOT NULL CHECK (part_no > 0),
    -- Results of prepare steps by name, stored the moment they exist.
    prepared       jsonb NOT NULL DEFAULT '{}',
    -- The mark: committed right before the request that makes this part public. No mark: certainly not sent.
    marked_at      timestamptz,
    marked_attempt integer,
    -- Set when the marked request is known to have had no effect; a mark without this is unresolved.
    mark_cleared   boolean NOT NULL DEFAULT false,
    first_marked_at timestamptz,
    unknown_count  integer NOT NULL DEFAULT 0,
    remote_id      text,
    remote_ref     jsonb NOT NULL DEFAULT '{}',
    -- Told by the answer, or asked for after the settle; `publications` keeps what was known at the settle.
    permalink      text,
    permalink_tries smallint NOT NULL DEFAULT 0,
    lacks_permalink boolean NOT NULL GENERATED ALWAYS AS (remote_id IS NOT NULL AND permalink IS NULL) STORED,
    accepted_at    timestamptz,
    first_seen_at  timestamptz,
    PRIMARY KEY (target_id, part_no),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id),
    CHECK ((marked_at IS NULL) = (marked_attempt IS NULL)),
    CHECK ((remote_id IS NULL) = (accepted_at IS NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
-- Of columns that a settle leaves as they are, wherever the answer tells the address: its update stays in its page.
CREATE INDEX target_parts_without_link ON cell.target_parts (permalink_tries, target_id) WHERE lacks_permalink;
"""

EVIDENCE = """
CREATE TABLE cell.publishing_attempts (
    tenant_id       uuid NOT NULL,
    target_id       uuid NOT NULL,
    attempt_no      integer NOT NULL CHECK (attempt_no > 0),
    idempotency_key text NOT NULL,
    token           uuid NOT NULL,
    state           text NOT NULL CHECK (state IN (
        'in_flight', 'accepted', 'transient', 'rate_limited', 'auth_lost', 'permission_lost', 'rejected',
        'duplicate', 'unknown', 'ours', 'cancelled', 'expired', 'found', 'absent')),
    worker          text NOT NULL,
    part_no         integer NOT NULL,
    due_at          timestamptz NOT NULL,
    claimed_at      timestamptz NOT NULL,
    marked_at       timestamptz,
    finished_at     timestamptz,
    http_status     integer,
    code            text,
    message         text,
    request_id      text,
    PRIMARY KEY (target_id, attempt_no),
    UNIQUE (idempotency_key),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id),
    CHECK ((state = 'in_flight') = (finished_at IS NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
-- For "the last minutes" of the metrics: rows come in the order of time, so a summary of blocks is enough.
CREATE INDEX publishing_attempts_time ON cell.publishing_attempts USING brin (claimed_at)
    WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE cell.publications (
    tenant_id       uuid NOT NULL,
    publication_key text PRIMARY KEY,
    target_id       uuid NOT NULL,
    version_id      uuid NOT NULL,
    key_instant     timestamptz NOT NULL,
    remote_id       text NOT NULL,
    permalink       text,
    published_at    timestamptz NOT NULL,
    UNIQUE (target_id, key_instant, version_id),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id)
);
CREATE INDEX publications_monthly ON cell.publications (tenant_id, published_at);

CREATE TABLE cell.sightings (
    tenant_id     uuid NOT NULL,
    account_id    uuid NOT NULL,
    remote_id     text NOT NULL,
    target_id     uuid NOT NULL,
    part_no       integer NOT NULL,
    source        text NOT NULL CHECK (source IN ('answer', 'look', 'late_answer', 'person', 'duplicate_error')),
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, remote_id),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id)
);
CREATE INDEX sightings_of_part ON cell.sightings (target_id, part_no);

-- Each try to take a live part down, by a person: its row is committed before the platform is asked.
CREATE TABLE cell.takedowns (
    tenant_id   uuid NOT NULL,
    id          uuid PRIMARY KEY,
    target_id   uuid NOT NULL,
    part_no     integer NOT NULL,
    remote_id   text NOT NULL,
    state       text NOT NULL DEFAULT 'in_flight' CHECK (state IN ('in_flight', 'taken_down', 'unknown', 'failed')),
    asked_by    text NOT NULL,
    reason      text NOT NULL,
    began_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    http_status integer,
    code        text,
    message     text,
    request_id  text,
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id),
    CHECK ((state = 'in_flight') = (finished_at IS NULL))
);
CREATE INDEX takedowns_of_target ON cell.takedowns (target_id, began_at);
CREATE INDEX sightings_of_account ON cell.sightings (account_id, first_seen_at);
-- For "two ids of one part, lately": rows come in the order of time.
CREATE INDEX sightings_time ON cell.sightings USING brin (first_seen_at)
    WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE cell.target_history (
    tenant_id   uuid NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    target_id   uuid NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor       text NOT NULL,
    from_status text,
    to_status   text NOT NULL,
    reason      text,
    detail      text,
    -- The transaction that wrote it. Ids are given in another order than they commit in; once no transaction as old
    -- as this one runs any more, nothing can appear before it: that is what consumers of events go by.
    xact        bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX target_history_of_target ON cell.target_history (target_id, id);
-- What others are told of: most moves are not, and cost this index nothing.
CREATE INDEX target_history_events ON cell.target_history (xact, id)
    WHERE to_status IN ('published', 'unknown_outcome', 'needs_attention', 'needs_reconnect', 'failed', 'cancelled')
      AND from_status IS DISTINCT FROM to_status;

-- Who wants to be told of a tenant's events, and each telling, tried on its own until it works.
CREATE TABLE cell.webhooks (
    tenant_id   uuid NOT NULL REFERENCES cell.tenant_state,
    id          uuid PRIMARY KEY,
    -- Encrypted by the vault, both: an address often holds a token.
    url         text NOT NULL,
    secret      text NOT NULL,
    -- For people: the address's host.
    host        text NOT NULL,
    -- Names of events; empty: all.
    events      text[] NOT NULL DEFAULT '{}',
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz,
    UNIQUE (tenant_id, id)
);

CREATE TABLE cell.webhook_deliveries (
    tenant_id    uuid NOT NULL,
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    webhook_id   uuid NOT NULL,
    event        text NOT NULL,
    -- One telling of each event: the name, and the move or the post that it is of.
    event_key    text NOT NULL,
    history_id   bigint NOT NULL,
    target_id    uuid NOT NULL,
    post_id      uuid NOT NULL,
    happened_at  timestamptz NOT NULL,
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
    tries        integer NOT NULL DEFAULT 0,
    next_try_at  timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    http_status  integer,
    failure      text,
    UNIQUE (webhook_id, event_key),
    FOREIGN KEY (tenant_id, webhook_id) REFERENCES cell.webhooks (tenant_id, id),
    FOREIGN KEY (tenant_id, target_id) REFERENCES cell.post_targets (tenant_id, id),
    CHECK ((state = 'waiting') = (finished_at IS NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
-- A few of each webhook are read, however many wait for one of them.
CREATE INDEX webhook_deliveries_waiting ON cell.webhook_deliveries (webhook_id, next_try_at, history_id, event DESC)
    WHERE state = 'waiting';
-- What was told long ago and may go. That a whole post was told of is told once for all time, so that stays known.
CREATE INDEX webhook_deliveries_over ON cell.webhook_deliveries (finished_at)
    WHERE state <> 'waiting' AND event <> 'post.published';
CREATE INDEX webhook_deliveries_of_webhook ON cell.webhook_deliveries (webhook_id, happened_at);

CREATE TABLE cell.outbox_events (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id  uuid NOT NULL,
    target_id  uuid NOT NULL,
    seq        bigint NOT NULL,
    kind       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    relayed_at timestamptz,
    parked_at  timestamptz,
    failure    text,
    -- The event's idempotency key: one event per change of a target.
    UNIQUE (target_id, seq)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
CREATE INDEX outbox_events_unrelayed ON cell.outbox_events (id) WHERE relayed_at IS NULL AND parked_at IS NULL;
CREATE INDEX outbox_events_parked ON cell.outbox_events (id) WHERE relayed_at IS NULL AND parked_at IS NOT NULL;
"""

MOVES = """
CREATE FUNCTION cell.move_allowed(from_status text, to_status text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT from_status || '>' || to_status = ANY (ARRAY[
        'draft>cancelled', 'draft>invalid', 'draft>published', 'draft>ready', 'invalid>draft',
        'invalid>published', 'ready>cancelled', 'ready>draft', 'ready>published', 'ready>scheduled',
        'scheduled>cancelled', 'scheduled>draft', 'scheduled>failed', 'scheduled>needs_reconnect',
        'scheduled>published', 'scheduled>publishing', 'scheduled>ready', 'scheduled>retry_scheduled',
        'scheduled>unknown_outcome', 'retry_scheduled>unknown_outcome',
        'retry_scheduled>cancelled', 'retry_scheduled>draft', 'retry_scheduled>failed',
        'retry_scheduled>needs_reconnect', 'retry_scheduled>published', 'retry_scheduled>publishing',
        'retry_scheduled>retry_scheduled',
        'publishing>cancelled', 'publishing>failed', 'publishing>needs_attention', 'publishing>needs_reconnect',
        'publishing>published', 'publishing>retry_scheduled', 'publishing>unknown_outcome',
        'unknown_outcome>cancelled', 'unknown_outcome>failed', 'unknown_outcome>needs_attention',
        'unknown_outcome>published', 'unknown_outcome>retry_scheduled', 'needs_attention>cancelled',
        'needs_attention>draft', 'needs_attention>published', 'needs_attention>scheduled',
        'needs_reconnect>cancelled', 'needs_reconnect>draft', 'needs_reconnect>published',
        'needs_reconnect>scheduled', 'failed>cancelled', 'failed>draft', 'failed>published',
        'failed>scheduled', 'failed>unknown_outcome', 'needs_attention>unknown_outcome',
        'needs_reconnect>unknown_outcome', 'cancelled>published'
    ])
$$;

CREATE FUNCTION cell.record_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        -- The same wait again, or one more look, is no move: only another reason is worth a line.
        IF NEW.status = OLD.status AND NEW.reason IS NOT DISTINCT FROM OLD.reason THEN
            RETURN NEW;
        END IF;
        IF NEW.status <> OLD.status AND NOT cell.move_allowed(OLD.status, NEW.status) THEN
            RAISE EXCEPTION 'a target can''t go from % to %', OLD.status, NEW.status
                USING ERRCODE = 'check_violation', CONSTRAINT = 'legal_move', TABLE = 'post_targets';
        END IF;
    END IF;
    INSERT INTO cell.target_history (tenant_id, target_id, actor, from_status, to_status, reason, detail)
    VALUES (NEW.tenant_id, NEW.id, COALESCE(NULLIF(current_setting('socialq.actor', true), ''), 'system'),
            CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END, NEW.status, NEW.reason, NEW.detail);
    RETURN NEW;
END
$$;
CREATE TRIGGER record_move BEFORE INSERT OR UPDATE OF status ON cell.post_targets
    FOR EACH ROW EXECUTE FUNCTION cell.record_move();

CREATE VIEW cell.post_statuses WITH (security_invoker = true) AS
SELECT p.tenant_id, p.id AS post_id, count(t.id) AS targets,
       count(*) FILTER (WHERE t.status = 'published') AS published,
       CASE
           WHEN count(t.id) = 0 THEN 'draft'
           WHEN bool_and(t.status = 'cancelled') THEN 'cancelled'
           WHEN bool_or(t.status IN ('needs_attention', 'needs_reconnect')) THEN 'needs_attention'
           WHEN bool_or(t.status IN ('publishing', 'unknown_outcome')) THEN 'publishing'
           WHEN bool_or(t.status IN ('scheduled', 'retry_scheduled')) THEN
               CASE WHEN bool_or(t.status <> 'cancelled' AND (t.status = 'published' OR l.live))
                    THEN 'publishing' ELSE 'scheduled' END
           WHEN bool_and(t.status IN ('published', 'cancelled')) THEN 'published'
           WHEN bool_or(t.status IN ('draft', 'invalid', 'ready')) THEN
               CASE WHEN p.approved_version_id IS NULL THEN 'pending_approval' ELSE 'draft' END
           WHEN bool_or(t.status <> 'cancelled' AND (t.status = 'published' OR l.live)) THEN 'partially_failed'
           ELSE 'failed'
       END AS status
FROM cell.posts p
LEFT JOIN cell.post_targets t ON t.post_id = p.id
LEFT JOIN LATERAL (
    SELECT true AS live FROM cell.target_parts tp
    WHERE tp.target_id = t.id AND tp.remote_id IS NOT NULL LIMIT 1
) l ON true
GROUP BY p.tenant_id, p.id;

-- Four instants of a target: its slot, the first claim, the platform's acceptance of its last part, and when that was
-- first seen live. Between them lie three gaps, each another one's to mend.
CREATE VIEW cell.target_instants WITH (security_invoker = true) AS
SELECT t.tenant_id, t.id AS target_id, t.post_id, t.account_id, t.platform,
       COALESCE(t.key_instant, t.publish_at) AS slot_at, a.claimed_at, p.accepted_at, p.first_seen_at, t.published_at
FROM cell.post_targets t
LEFT JOIN LATERAL (
    SELECT min(pa.claimed_at) AS claimed_at FROM cell.publishing_attempts pa WHERE pa.target_id = t.id) a ON true
LEFT JOIN LATERAL (
    SELECT max(tp.accepted_at) AS accepted_at, max(tp.first_seen_at) AS first_seen_at FROM cell.target_parts tp
    WHERE tp.target_id = t.id AND t.status = 'published') p ON true;

-- Events, named as the states they tell of. Derived: the move's own line of history is the event.
CREATE VIEW cell.events WITH (security_invoker = true) AS
SELECT h.tenant_id, h.xact, h.id, 'post_target.' || h.to_status AS name, h.target_id, h.at, h.from_status, h.to_status,
       h.reason
FROM cell.target_history h
WHERE h.to_status IN ('published', 'unknown_outcome', 'needs_attention', 'needs_reconnect', 'failed', 'cancelled')
  AND h.from_status IS DISTINCT FROM h.to_status;
"""

# The machine's own books, without anything of a tenant: how far each consumer of events has come, and the counts
# that one of them keeps.
MACHINE = """
CREATE SCHEMA machine;
CREATE TABLE machine.event_cursors (
    consumer    text PRIMARY KEY,
    -- Everything up to here is dealt with: the place of the last event, in the order of transactions.
    xact        bigint NOT NULL DEFAULT 0,
    history_id  bigint NOT NULL DEFAULT 0,
    last_at     timestamptz NOT NULL DEFAULT '1970-01-01+00',
    -- Only what is later: in a database that was loaded from a dump, transactions are counted from the beginning again.
    since       timestamptz NOT NULL DEFAULT '1970-01-01+00',
    failures    integer NOT NULL DEFAULT 0,
    failure     text,
    next_try_at timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 30);
CREATE TABLE machine.lateness_counts (
    platform text NOT NULL,
    gap      text NOT NULL,
    -- Values up to this many seconds, and above the bound before.
    le       float8 NOT NULL,
    count    bigint NOT NULL,
    sum      float8 NOT NULL,
    PRIMARY KEY (platform, gap, le)
) WITH (fillfactor = 30);
GRANT USAGE ON SCHEMA machine TO socialq_machine;
GRANT SELECT, INSERT, UPDATE ON machine.event_cursors, machine.lateness_counts TO socialq_machine;
"""

TENANT_TABLES = (
    "tenant_state",
    "clients",
    "accounts",
    "media",
    "media_variants",
    "posts",
    "post_versions",
    "approvals",
    "post_targets",
    "post_schedules",
    "target_parts",
    "publishing_attempts",
    "publications",
    "sightings",
    "takedowns",
    "target_history",
    "webhooks",
    "webhook_deliveries",
    "outbox_events",
)

ROW_SECURITY = """
ALTER TABLE cell.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE cell.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON cell.{table} TO socialq_app
    USING (tenant_id = (SELECT NULLIF(current_setting('socialq.tenant', true), '')::uuid))
    WITH CHECK (tenant_id = (SELECT NULLIF(current_setting('socialq.tenant', true), '')::uuid));
"""

APP_GRANTS = """
GRANT USAGE ON SCHEMA cell TO socialq_app, socialq_machine;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA cell TO socialq_app;
-- A tenant that has nothing yet may leave for another cell; foreign keys keep one that has.
GRANT DELETE ON cell.tenant_state TO socialq_app;
REVOKE INSERT, UPDATE ON cell.alembic_version, cell.post_statuses, cell.target_instants, cell.events FROM socialq_app;
REVOKE UPDATE ON cell.target_history, cell.post_versions, cell.approvals, cell.publications, cell.media_variants
    FROM socialq_app;
"""

# Relay and sweep see the outbox and the scheduling columns of all tenants, nothing else: no text, no token.
MACHINE_GRANTS = """
CREATE POLICY all_tenants ON cell.outbox_events TO socialq_machine USING (true) WITH CHECK (true);
CREATE POLICY all_tenants ON cell.post_targets TO socialq_machine USING (true) WITH CHECK (true);
CREATE POLICY all_tenants ON cell.target_parts TO socialq_machine USING (true) WITH CHECK (true);
CREATE POLICY all_tenants ON cell.publishing_attempts TO socialq_machine USING (true) WITH CHECK (true);
CREATE POLICY all_tenants ON cell.accounts TO socialq_machine USING (true);
CREATE POLICY all_tenants ON cell.tenant_state TO socialq_machine USING (true);
CREATE POLICY all_tenants ON cell.target_history TO socialq_machine USING (true) WITH CHECK (true);
CREATE POLICY all_tenants ON cell.sightings TO socialq_machine USING (true);
CREATE POLICY all_tenants ON cell.webhooks TO socialq_machine USING (true);
CREATE POLICY all_tenants ON cell.webhook_deliveries TO socialq_machine USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON cell.outbox_events TO socialq_machine;
-- What nobody has relayed is work to come: pruning can't reach it. (A policy holds for the members of its role,
-- too; whoever is not acting as the machine is none of this one's business.)
CREATE POLICY only_relayed_are_pruned ON cell.outbox_events AS RESTRICTIVE FOR DELETE TO socialq_machine
    USING (relayed_at IS NOT NULL OR current_user <> 'socialq_machine');
GRANT SELECT (tenant_id, id, post_id, account_id, platform, version_id, status, reason, detail, seq, next_kind,
              next_at, publish_at, publish_by, key_instant, attempt_count, tries_spent, lease_token, lease_until,
              holds_account, cancel_requested, lost_at, looks_done, looks_failed, published_at, updated_at,
              prepared_version_id, prepare_next_at),
      UPDATE (status, reason, detail, seq, next_kind, next_at, tries_spent, lease_token, lease_until, holds_account,
              cancel_requested, lost_at, looks_done, looks_failed, updated_at)
    ON cell.post_targets TO socialq_machine;
GRANT SELECT (tenant_id, target_id, part_no, marked_at, marked_attempt, mark_cleared, first_marked_at,
              unknown_count, accepted_at, first_seen_at, lacks_permalink, permalink_tries),
      UPDATE (mark_cleared, unknown_count)
    ON cell.target_parts TO socialq_machine;
GRANT SELECT (tenant_id, target_id, attempt_no, token, state, part_no, due_at, claimed_at, marked_at,
              finished_at),
      UPDATE (state, finished_at, code, message)
    ON cell.publishing_attempts TO socialq_machine;
GRANT SELECT (tenant_id, id, platform, provider_app_id, status, hold_until, token_expires_at, refreshed_at,
              refresh_tried_at, created_at, connected_at, granted_by, remote_user_id)
    ON cell.accounts TO socialq_machine;
-- Which targets have files to prepare; not what is in a version.
CREATE POLICY all_tenants ON cell.post_versions TO socialq_machine USING (true);
GRANT SELECT (tenant_id, id, media_ids) ON cell.post_versions TO socialq_machine;
GRANT SELECT (tenant_id, status, suspended_at, stopped_at, stop_reason, stopped_by, origin),
      UPDATE (stopped_at, stop_reason, stopped_by, origin, updated_at)
    ON cell.tenant_state TO socialq_machine;
GRANT INSERT, SELECT (tenant_id, id, xact, target_id, at, from_status, to_status, reason)
    ON cell.target_history TO socialq_machine;
GRANT SELECT ON cell.target_instants, cell.events TO socialq_machine;
-- That there are two ids of one part. Which ones, a tenant's session reads.
GRANT SELECT (tenant_id, target_id, part_no, first_seen_at, source) ON cell.sightings TO socialq_machine;
-- Who is to be told; neither where nor with which secret.
GRANT SELECT (tenant_id, id, events, created_at, disabled_at) ON cell.webhooks TO socialq_machine;
GRANT SELECT, INSERT, UPDATE (state, tries, next_try_at, finished_at, http_status, failure), DELETE
    ON cell.webhook_deliveries TO socialq_machine;
CREATE POLICY only_finished_are_pruned ON cell.webhook_deliveries AS RESTRICTIVE FOR DELETE TO socialq_machine
    USING (state <> 'waiting' AND event <> 'post.published' OR current_user <> 'socialq_machine');
"""

# Who keeps vacuum from removing old row versions of this database. As its owner, because a session's
# transaction is shown to that session's login and to members of pg_read_all_stats only. No query texts.
VACUUM = """
CREATE FUNCTION cell.vacuum_holders()
RETURNS TABLE (kind text, name text, seconds float8, xmin_position bigint) LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'transaction', format('process %s of %s (%s)', a.pid, a.usename, a.application_name),
           extract(epoch FROM clock_timestamp() - a.xact_start)::float8,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint - age(COALESCE(a.backend_xmin, a.backend_xid))
    FROM pg_stat_activity a
    WHERE (a.datname = current_database() OR a.backend_type = 'walsender')
      AND COALESCE(a.backend_xmin, a.backend_xid) IS NOT NULL AND a.pid <> pg_backend_pid()
      AND a.pid NOT IN (SELECT v.pid FROM pg_stat_progress_vacuum v)
    UNION ALL
    SELECT 'prepared transaction', format('%s of %s', p.gid, p.owner),
           extract(epoch FROM clock_timestamp() - p.prepared)::float8, NULL::bigint
    FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    -- A slot, and a standby's feedback, have no clock: xmin's place in the count of transactions must tell.
    SELECT 'replication slot', s.slot_name::text, NULL::float8,
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint
           - GREATEST(age(s.xmin), CASE WHEN s.database = current_database() THEN age(s.catalog_xmin) END)
    FROM pg_replication_slots s
    WHERE s.xmin IS NOT NULL OR (s.catalog_xmin IS NOT NULL AND s.database = current_database())
$$;
REVOKE ALL ON FUNCTION cell.vacuum_holders() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cell.vacuum_holders() TO socialq_machine;
"""

STATISTICS = """
-- Plans of a table that nobody has analysed yet read all of a tenant's rows for one. Autovacuum comes a minute
-- after they were written, and a client's first import is due before. As the owner: only it may ANALYZE.
CREATE FUNCTION cell.gather_statistics() RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    grown record;
    analysed integer := 0;
BEGIN
    FOR grown IN
        SELECT s.relname FROM pg_stat_user_tables s
        WHERE s.schemaname = 'cell' AND s.n_mod_since_analyze > GREATEST(200, s.n_live_tup / 2)
    LOOP
        EXECUTE format('ANALYZE cell.%I', grown.relname);
        analysed := analysed + 1;
    END LOOP;
    RETURN analysed;
END
$$;
REVOKE ALL ON FUNCTION cell.gather_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cell.gather_statistics() TO socialq_machine;
"""


def upgrade() -> None:
    for statements in (IDENTITY, PEOPLE, POSTS, TARGETS, EVIDENCE, MOVES):
        run(statements)
    for table in TENANT_TABLES:
        run(ROW_SECURITY.format(table=table))
    run(APP_GRANTS)
    run(MACHINE_GRANTS)
    run(VACUUM)
    run(STATISTICS)
    run(MACHINE)
