CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- The rowid is the place in the list; AUTOINCREMENT because a cursor must not meet a reused one.
CREATE TABLE records (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
  alias TEXT, version INTEGER NOT NULL, value BLOB NOT NULL
);
CREATE UNIQUE INDEX records_by_id ON records (tenant, kind, id);
CREATE UNIQUE INDEX records_by_alias ON records (tenant, kind, alias) WHERE alias IS NOT NULL;
CREATE INDEX records_by_position ON records (tenant, kind, position);

-- `last` is the newest id ever given in the stream; the greatest of an emitter's rows is its sequence.
CREATE TABLE streams (
  stream INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, emitter TEXT NOT NULL, name TEXT NOT NULL,
  count INTEGER NOT NULL, last INTEGER NOT NULL
);
CREATE UNIQUE INDEX streams_by_name ON streams (tenant, emitter, name);
CREATE TABLE entries (
  stream INTEGER NOT NULL, id INTEGER NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY (stream, id)
) WITHOUT ROWID;

CREATE TABLE scopes (
  scope INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, name TEXT NOT NULL, size_bytes INTEGER NOT NULL
);
CREATE UNIQUE INDEX scopes_by_name ON scopes (tenant, name);
CREATE TABLE state (
  scope INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;

CREATE TABLE counters (
  tenant TEXT NOT NULL, name TEXT NOT NULL, value INTEGER NOT NULL, expires_ms INTEGER,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX counters_by_expiry ON counters (expires_ms) WHERE expires_ms IS NOT NULL;

-- No index on the due time: the order of work is kept in memory and rebuilt from these rows.
CREATE TABLE jobs (
  job INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, lane TEXT, due_ms INTEGER NOT NULL, attempt INTEGER NOT NULL,
  entry INTEGER, payload BLOB NOT NULL
);
CREATE TABLE timers (
  tenant TEXT NOT NULL, timer TEXT NOT NULL, due_ms INTEGER NOT NULL, schedule BLOB NOT NULL,
  PRIMARY KEY (tenant, timer)
) WITHOUT ROWID;

CREATE TABLE directory (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
