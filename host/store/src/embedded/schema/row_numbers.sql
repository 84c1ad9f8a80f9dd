-- Rows by number, and found by an index of short keys. In a tree by these keys, looking for a place compared with whole rows: of one
-- that has flowed over to other pages, SQLite reads everything before it compares.
ALTER TABLE entries RENAME TO entries_by_key;
CREATE TABLE entries (
  row INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL, id INTEGER NOT NULL, members BLOB, value BLOB NOT NULL
);
INSERT INTO entries (stream, id, members, value) SELECT stream, id, members, value FROM entries_by_key ORDER BY stream, id;
DROP TABLE entries_by_key;
CREATE UNIQUE INDEX entries_by_id ON entries (stream, id);

ALTER TABLE state RENAME TO state_by_key;
CREATE TABLE state (
  row INTEGER PRIMARY KEY,
  scope INTEGER NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL
);
INSERT INTO state (scope, key, value) SELECT scope, key, value FROM state_by_key ORDER BY scope, key;
DROP TABLE state_by_key;
CREATE UNIQUE INDEX state_by_name ON state (scope, key);
