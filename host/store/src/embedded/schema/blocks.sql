-- Several entries in one row (`block.rs`): `id` is that of the newest, and `members` says which there are; NULL when there is one.
ALTER TABLE entries ADD COLUMN members BLOB;
-- Entries before it are gone, also where their row is not.
ALTER TABLE streams ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
