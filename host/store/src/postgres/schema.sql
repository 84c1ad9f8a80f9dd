-- Everything of an installation, in a schema of its own. Names that tenants choose are bytes: text cannot hold a zero, and bytes sort the
-- same everywhere. Times are milliseconds since 1970.

CREATE TABLE installation (
  schema_version integer NOT NULL,
  partitions integer NOT NULL,
  layout integer NOT NULL DEFAULT 0,
  -- Changes when a host came or went.
  hosts_version bigint NOT NULL DEFAULT 0,
  -- There while a move from another store is unfinished: how many rows are in.
  moving bigint
);

CREATE TABLE directory (key bytea PRIMARY KEY, value bytea NOT NULL);

-- The lock of everything a tenant has: commits and leases take its row first, in the order of names.
CREATE TABLE tenants (
  tenant text COLLATE "C" PRIMARY KEY,
  part integer NOT NULL,
  -- The newest place that was given in its lists.
  positions bigint NOT NULL DEFAULT 0,
  jobs bigint NOT NULL DEFAULT 0,
  job_bytes bigint NOT NULL DEFAULT 0,
  -- The time of its earliest head, or an earlier one: a commit only lowers it, a lease call puts it right.
  earliest_ms bigint,
  -- Its place on the ring of its partition, while it is on it.
  turn bigint
) WITH (fillfactor = 50);
CREATE INDEX ON tenants (part, earliest_ms);
CREATE INDEX ON tenants (part, turn) WHERE turn IS NOT NULL;

-- A lease call takes the rows of its partitions.
CREATE TABLE parts (part integer PRIMARY KEY, turns bigint NOT NULL DEFAULT 0) WITH (fillfactor = 20);

CREATE TABLE records (
  tenant text COLLATE "C", kind bytea, id bytea,
  alias bytea, version bigint NOT NULL, position bigint NOT NULL, value bytea NOT NULL,
  PRIMARY KEY (tenant, kind, id)
);
CREATE UNIQUE INDEX ON records (tenant, kind, position);
CREATE TABLE aliases (tenant text COLLATE "C", kind bytea, alias bytea, id bytea NOT NULL, PRIMARY KEY (tenant, kind, alias));

CREATE TABLE emitters (
  tenant text COLLATE "C", emitter bytea, last_entry bigint NOT NULL, PRIMARY KEY (tenant, emitter)
) WITH (fillfactor = 50);
CREATE TABLE streams (
  tenant text COLLATE "C", emitter bytea, name bytea, stream bigint NOT NULL, entries bigint NOT NULL,
  PRIMARY KEY (tenant, emitter, name)
) WITH (fillfactor = 50);
CREATE TABLE entries (stream bigint, id bigint, value bytea NOT NULL, PRIMARY KEY (stream, id));

CREATE TABLE scopes (tenant text COLLATE "C", scope bytea, bytes bigint NOT NULL, PRIMARY KEY (tenant, scope)) WITH (fillfactor = 50);
CREATE TABLE state (
  tenant text COLLATE "C", scope bytea, key bytea, value bytea NOT NULL, PRIMARY KEY (tenant, scope, key)
);
-- Locks may be forgotten by a crash.
CREATE UNLOGGED TABLE locks (
  tenant text COLLATE "C", scope bytea, key bytea, owner bytea NOT NULL, until_ms bigint NOT NULL, PRIMARY KEY (tenant, scope, key)
);

CREATE TABLE counters (
  tenant text COLLATE "C", name bytea, value bigint NOT NULL, expires_ms bigint, PRIMARY KEY (tenant, name)
) WITH (fillfactor = 50);
CREATE INDEX ON counters (expires_ms) WHERE expires_ms IS NOT NULL;

CREATE SEQUENCE job_ids;
CREATE TABLE jobs (
  id bigint PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  lane bytea,
  due_ms bigint NOT NULL,
  -- From when on it may be leased; nothing while another job of its lane is before it.
  available_ms bigint,
  attempt integer NOT NULL DEFAULT 0,
  entry bigint,
  payload bytea NOT NULL,
  token bigint
) WITH (fillfactor = 70);
CREATE INDEX ON jobs (tenant, available_ms, id) WHERE available_ms IS NOT NULL;
CREATE INDEX ON jobs (tenant, lane, id) WHERE lane IS NOT NULL;

CREATE TABLE timers (
  tenant text COLLATE "C", timer bytea, part integer NOT NULL, due_ms bigint NOT NULL, available_ms bigint NOT NULL,
  schedule bytea NOT NULL, token bigint,
  PRIMARY KEY (tenant, timer)
) WITH (fillfactor = 70);
CREATE INDEX ON timers (part, available_ms, tenant, timer);

-- Emitters that hosts have readers of, and what was appended to them lately. A crash ends the readers' connections as well.
CREATE UNLOGGED TABLE followed (
  tenant text COLLATE "C", emitter bytea, host text, until timestamptz NOT NULL, PRIMARY KEY (tenant, emitter, host)
);
CREATE UNLOGGED TABLE news (
  tenant text COLLATE "C", emitter bytea, entry bigint, stream bytea NOT NULL, value bytea NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant, emitter, entry)
);

CREATE TABLE hosts (host text PRIMARY KEY, seen_ms bigint NOT NULL, about bytea NOT NULL, reads integer NOT NULL);
CREATE UNLOGGED TABLE lent (name text PRIMARY KEY, bytes bytea NOT NULL, until timestamptz NOT NULL);

-- A host says that it is there, and learns which others are, by the clock of this server. The newest layout that all hosts read is what
-- they write; it never falls, so that a host which does not read what is written is refused.
CREATE FUNCTION beat(own text, own_about bytea, known bigint, gone_after_ms bigint, own_reads integer)
RETURNS TABLE (now_us bigint, version bigint, written integer, host text, seen_ms bigint, about bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  us bigint := extract(epoch FROM clock_timestamp()) * 1000000;
  now_ms bigint := us / 1000;
  here installation;
  least_read integer;
  touched bigint;
  has_changed boolean;
BEGIN
  SELECT * INTO here FROM installation FOR UPDATE;
  DELETE FROM hosts WHERE hosts.seen_ms <= now_ms - gone_after_ms AND hosts.host <> own;
  GET DIAGNOSTICS touched = ROW_COUNT;
  has_changed := touched > 0;
  IF here.layout > own_reads THEN
    DELETE FROM hosts WHERE hosts.host = own;
    GET DIAGNOSTICS touched = ROW_COUNT;
    has_changed := has_changed OR touched > 0;
  ELSE
    UPDATE hosts SET seen_ms = now_ms, about = own_about, reads = own_reads WHERE hosts.host = own;
    IF NOT FOUND THEN
      INSERT INTO hosts VALUES (own, now_ms, own_about, own_reads);
      has_changed := true;
    END IF;
    SELECT min(reads) INTO least_read FROM hosts;
    IF least_read > here.layout THEN
      here.layout := least_read;
      UPDATE installation SET layout = least_read;
    END IF;
  END IF;
  IF has_changed THEN
    here.hosts_version := here.hosts_version + 1;
    UPDATE installation SET hosts_version = here.hosts_version;
  END IF;
  IF here.hosts_version <> known THEN
    RETURN QUERY SELECT us, here.hosts_version, here.layout, hosts.host, hosts.seen_ms, hosts.about FROM hosts ORDER BY hosts.host;
  END IF;
  IF NOT FOUND OR here.hosts_version = known THEN
    RETURN QUERY SELECT us, here.hosts_version, here.layout, NULL::text, NULL::bigint, NULL::bytea;
  END IF;
END $$;
