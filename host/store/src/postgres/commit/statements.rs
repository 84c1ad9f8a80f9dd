//! What a group of commits asks and writes. Each statement takes arrays: one for a group costs little more than one for a batch.

pub(super) const BEGIN: &str = "BEGIN";
/// Under which it can be asked later whether the transaction was committed.
pub(super) const NUMBER: &str = "SELECT pg_current_xact_id()::text";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const FATE: &str = "SELECT pg_xact_status($1::text::xid8)";

pub(super) const MAKE_TENANTS: &str =
    "INSERT INTO tenants (tenant, part) SELECT * FROM unnest($1::text[], $2::integer[]) ON CONFLICT DO NOTHING";
/// In the order of names, as whatever takes several does: then none waits for another in a circle.
pub(super) const LOCK_TENANTS: &str = "SELECT tenant, positions, jobs, job_bytes, earliest_ms FROM tenants WHERE tenant = ANY($1) \
     ORDER BY tenant FOR UPDATE";

// What is asked. `n` is the place of the question in the arrays, counted from one.

pub(super) const RECORDS: &str = "SELECT q.n, r.version, r.position, r.alias \
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) WITH ORDINALITY q(tenant, kind, id, n) JOIN records r USING (tenant, kind, id)";
pub(super) const ALIASES: &str = "SELECT q.n, a.id \
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) WITH ORDINALITY q(tenant, kind, alias, n) JOIN aliases a USING (tenant, kind, alias)";
pub(super) const LISTS: &str = "SELECT q.n, l.newest, l.total FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, kind, n) \
     CROSS JOIN LATERAL (SELECT max(position) AS newest, count(*) AS total FROM records r WHERE r.tenant = q.tenant AND r.kind = q.kind) l";
pub(super) const COUNTERS: &str = "SELECT q.n, c.value \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, name, n) JOIN counters c USING (tenant, name)";
pub(super) const SCOPES: &str = "SELECT q.n, s.bytes \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, scope, n) JOIN scopes s USING (tenant, scope)";
/// The content only of what is compared.
pub(super) const VALUES: &str = "SELECT q.n, octet_length(s.value)::bigint, CASE WHEN q.compared THEN s.value END \
     FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::boolean[]) WITH ORDINALITY q(tenant, scope, key, compared, n) \
     JOIN state s USING (tenant, scope, key)";
pub(super) const LOCKS: &str = "SELECT q.n, l.key, l.owner, l.until_ms \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, scope, n) JOIN locks l USING (tenant, scope)";
pub(super) const JOBS: &str =
    "SELECT id, tenant, lane, token, octet_length(payload)::bigint FROM jobs WHERE id = ANY($1) AND token IS NOT NULL";
/// The first two of each lane: when the first is done, the second is the head.
pub(super) const LANES: &str = "SELECT q.n, l.id, l.due_ms FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, lane, n) \
     CROSS JOIN LATERAL (SELECT id, due_ms FROM jobs j WHERE j.tenant = q.tenant AND j.lane = q.lane ORDER BY id LIMIT 2) l ORDER BY l.id";
/// The same of the lanes of jobs.
pub(super) const LANES_OF_JOBS: &str = "SELECT j.tenant, j.lane, l.id, l.due_ms FROM jobs j \
     CROSS JOIN LATERAL (SELECT id, due_ms FROM jobs b WHERE b.tenant = j.tenant AND b.lane = j.lane ORDER BY id LIMIT 2) l \
     WHERE j.id = ANY($1) AND j.lane IS NOT NULL ORDER BY l.id";
pub(super) const JOB_IDS: &str = "SELECT nextval('job_ids') FROM generate_series(1, $1::bigint)";
/// Locked, because ticks are leased without the lock of their tenant.
pub(super) const TIMERS: &str = "SELECT q.n, t.token, t.schedule \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, timer, n) JOIN timers t USING (tenant, timer) \
     ORDER BY t.tenant, t.timer FOR UPDATE OF t";
pub(super) const EMITTERS: &str = "SELECT q.n, e.last_entry \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, emitter, n) JOIN emitters e USING (tenant, emitter)";
pub(super) const STREAMS: &str = "SELECT q.n, s.stream, s.entries FROM unnest($1::text[], $2::bytea[], $3::bytea[]) \
     WITH ORDINALITY q(tenant, emitter, name, n) JOIN streams s USING (tenant, emitter, name)";
pub(super) const FOLLOWED: &str = "SELECT DISTINCT q.n \
     FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY q(tenant, emitter, n) JOIN followed f USING (tenant, emitter)";

// What is written.

pub(super) const WRITE_TENANTS: &str = "UPDATE tenants t SET positions = q.positions, jobs = q.jobs, job_bytes = q.job_bytes, earliest_ms = q.earliest_ms \
     FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) q(tenant, positions, jobs, job_bytes, earliest_ms) \
     WHERE t.tenant = q.tenant";
pub(super) const WRITE_RECORDS: &str = "INSERT INTO records (tenant, kind, id, alias, version, position, value) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bytea[]) \
     ON CONFLICT (tenant, kind, id) DO UPDATE \
     SET alias = excluded.alias, version = excluded.version, position = excluded.position, value = excluded.value";
pub(super) const DELETE_RECORDS: &str = "DELETE FROM records r USING unnest($1::text[], $2::bytea[], $3::bytea[]) q(tenant, kind, id) \
     WHERE r.tenant = q.tenant AND r.kind = q.kind AND r.id = q.id";
pub(super) const WRITE_ALIASES: &str = "INSERT INTO aliases (tenant, kind, alias, id) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[]) \
     ON CONFLICT (tenant, kind, alias) DO UPDATE SET id = excluded.id";
pub(super) const DELETE_ALIASES: &str = "DELETE FROM aliases a USING unnest($1::text[], $2::bytea[], $3::bytea[]) q(tenant, kind, alias) \
     WHERE a.tenant = q.tenant AND a.kind = q.kind AND a.alias = q.alias";
pub(super) const WRITE_COUNTERS: &str = "INSERT INTO counters (tenant, name, value, expires_ms) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[]) \
     ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value, expires_ms = excluded.expires_ms";
pub(super) const WRITE_SCOPES: &str = "INSERT INTO scopes (tenant, scope, bytes) SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[]) \
     ON CONFLICT (tenant, scope) DO UPDATE SET bytes = excluded.bytes";
pub(super) const DELETE_SCOPES: &str = "DELETE FROM scopes s USING unnest($1::text[], $2::bytea[]) q(tenant, scope) \
     WHERE s.tenant = q.tenant AND s.scope = q.scope";
pub(super) const WRITE_VALUES: &str = "INSERT INTO state (tenant, scope, key, value) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[]) \
     ON CONFLICT (tenant, scope, key) DO UPDATE SET value = excluded.value";
pub(super) const DELETE_VALUES: &str = "DELETE FROM state s USING unnest($1::text[], $2::bytea[], $3::bytea[]) q(tenant, scope, key) \
     WHERE s.tenant = q.tenant AND s.scope = q.scope AND s.key = q.key";
pub(super) const WRITE_LOCKS: &str = "INSERT INTO locks (tenant, scope, key, owner, until_ms) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[]) \
     ON CONFLICT (tenant, scope, key) DO UPDATE SET owner = excluded.owner, until_ms = excluded.until_ms";
pub(super) const DELETE_LOCKS: &str = "DELETE FROM locks l USING unnest($1::text[], $2::bytea[], $3::bytea[]) q(tenant, scope, key) \
     WHERE l.tenant = q.tenant AND l.scope = q.scope AND l.key = q.key";
pub(super) const DELETE_JOBS: &str = "DELETE FROM jobs WHERE id = ANY($1)";
pub(super) const RESCHEDULE_JOBS: &str = "UPDATE jobs j SET due_ms = q.due_ms, available_ms = q.due_ms, attempt = j.attempt + 1, token = NULL, \
     lane = CASE WHEN q.leaves THEN NULL ELSE j.lane END, payload = coalesce(q.payload, j.payload) \
     FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::bytea[]) q(id, due_ms, leaves, payload) WHERE j.id = q.id";
pub(super) const MAKE_HEADS: &str = "UPDATE jobs SET available_ms = due_ms WHERE id = ANY($1)";
pub(super) const WRITE_JOBS: &str = "INSERT INTO jobs (id, tenant, lane, due_ms, available_ms, entry, payload) \
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[])";
pub(super) const WRITE_TIMERS: &str = "INSERT INTO timers (tenant, timer, part, due_ms, available_ms, schedule) \
     SELECT tenant, timer, part, due_ms, due_ms, schedule \
     FROM unnest($1::text[], $2::bytea[], $3::integer[], $4::bigint[], $5::bytea[]) q(tenant, timer, part, due_ms, schedule) \
     ON CONFLICT (tenant, timer) DO UPDATE \
     SET due_ms = excluded.due_ms, available_ms = excluded.due_ms, schedule = excluded.schedule, token = NULL";
pub(super) const DELETE_TIMERS: &str = "DELETE FROM timers t USING unnest($1::text[], $2::bytea[]) q(tenant, timer) \
     WHERE t.tenant = q.tenant AND t.timer = q.timer";
pub(super) const WRITE_EMITTERS: &str = "INSERT INTO emitters (tenant, emitter, last_entry) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[]) \
     ON CONFLICT (tenant, emitter) DO UPDATE SET last_entry = excluded.last_entry";
pub(super) const WRITE_STREAMS: &str = "INSERT INTO streams (tenant, emitter, name, stream, entries) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (tenant, emitter, name) DO UPDATE SET entries = excluded.entries";
/// The oldest so many of each stream.
pub(super) const TRIM_STREAMS: &str = "DELETE FROM entries e USING ( \
     SELECT q.stream, l.id FROM unnest($1::bigint[], $2::bigint[]) q(stream, excess) \
     CROSS JOIN LATERAL (SELECT id FROM entries o WHERE o.stream = q.stream ORDER BY id LIMIT q.excess) l) old \
     WHERE e.stream = old.stream AND e.id = old.id";
pub(super) const WRITE_ENTRIES: &str =
    "INSERT INTO entries (stream, id, value) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";
pub(super) const WRITE_NEWS: &str = "INSERT INTO news (tenant, emitter, entry, stream, value) \
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[]) ON CONFLICT DO NOTHING";
pub(super) const NOTIFY: &str = "SELECT pg_notify($1, message) FROM unnest($2::text[]) message";

// What is not known before it is done: only in groups of one batch.

pub(super) const DELETE_ENTRIES: &str = "WITH gone AS (DELETE FROM entries e USING ( \
     SELECT s.stream, l.id FROM streams s CROSS JOIN LATERAL (SELECT id FROM entries o WHERE o.stream = s.stream \
     AND o.id BETWEEN $4 AND $5 ORDER BY id LIMIT $6) l WHERE s.tenant = $1 AND s.emitter = $2 AND s.name = $3) old \
     WHERE e.stream = old.stream AND e.id = old.id RETURNING 1) \
     UPDATE streams SET entries = entries - (SELECT count(*) FROM gone) WHERE tenant = $1 AND emitter = $2 AND name = $3 \
     RETURNING (SELECT count(*) FROM gone), entries";
pub(super) const STREAMS_OF: &str =
    "SELECT name, stream, entries FROM streams WHERE tenant = $1 AND emitter = $2 ORDER BY name";
pub(super) const DROP_STREAMS: &str = "DELETE FROM streams WHERE tenant = $1 AND emitter = $2";
pub(super) const DROP_EMITTER: &str = "DELETE FROM emitters WHERE tenant = $1 AND emitter = $2";
pub(super) const CLEAR_SCOPE: &str = "DELETE FROM state WHERE tenant = $1 AND scope = $2 AND key IN \
     (SELECT key FROM state WHERE tenant = $1 AND scope = $2 LIMIT $3) RETURNING (octet_length(key) + octet_length(value))::bigint";
