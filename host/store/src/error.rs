//! What can go wrong, by who can act on it: the caller of a commit, or the operator.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Invalid;

/// Where in a batch a conflict was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Precondition(usize),
    Operation(usize),
}

/// Nothing of the batch was applied, except that after `Unavailable` it is unknown: the caller
/// reads before it tries again.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("the state has changed: {at:?} does not hold")]
    Conflict { at: At },
    #[error("the lease was lost: its job was leased again or is gone")]
    LeaseLost,
    /// A value that the batch writes or locks is locked by another owner: try again when it is free.
    #[error("operation {operation} is about a value that is locked")]
    Locked { operation: usize },
    #[error("operation {operation} would make its scope {size_bytes} bytes, {cap_bytes} are allowed")]
    OverCap { operation: usize, size_bytes: u64, cap_bytes: u64 },
    #[error("not a batch: {0}")]
    Invalid(#[source] Invalid),
    #[error("the store is unavailable")]
    Unavailable(#[from] Error),
}

/// The engine failed. Nothing a tenant did; the operator can act on it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the store is closed")]
    Closed,
    #[error("{path} is in use by another process")]
    InUse { path: PathBuf },
    #[error("cannot use the folder of {path}")]
    Folder { path: PathBuf, source: io::Error },
    #[error("the store was written by a newer version (schema {found}, this version knows {known})")]
    NewerSchema { found: i64, known: i64 },
    #[error(
        "the store was written by a newer version (layout {written}, this version reads up to {reads}): start that version, or \
         restore a backup of this one"
    )]
    NewerLayout { written: u32, reads: u32 },
    #[error("{path} is not an intact copy of a store")]
    NotAStore { path: PathBuf },
    #[error("the disk is full: make room on it")]
    DiskFull(#[source] rusqlite::Error),
    #[error("the database or its folder is read-only")]
    ReadOnly(#[source] rusqlite::Error),
    #[error("the database file is damaged or is not a database; restore it from a backup")]
    Corrupt(#[source] rusqlite::Error),
    #[error("the database failed")]
    Sqlite(#[source] rusqlite::Error),
    #[error(
        "not an address of Redis: redis://host:port/db, redis+sentinel://host:port,host:port/service or \
         redis+cluster://host:port,host:port; with TLS they begin with rediss"
    )]
    Address(#[source] Option<redis::RedisError>),
    #[error(
        "certificates are given, and the address is one without TLS: it must begin with rediss, or have ?sslmode=require"
    )]
    PlainAddress,
    #[error("a prefix has 1 to 64 letters, digits, dots, dashes or underscores")]
    Prefix,
    #[error("this server was started with --read-only: it changes nothing")]
    WritesRefused,
    #[error("the store has data already: a move goes into an empty one, or one with another prefix")]
    NotEmpty,
    #[error("{what} are not the same on both sides: did a host run meanwhile? Stop all, and begin anew")]
    MovedOtherwise { what: &'static str },
    #[error("Redis does not answer")]
    NotAnswering,
    #[error("Redis failed")]
    Redis(#[from] redis::RedisError),
    #[error("Redis answered something this version does not understand")]
    Answer(#[from] redis::ParsingError),
    #[error("not an address of PostgreSQL: postgres://user:password@host:port/database, with ?sslmode=require for TLS")]
    PostgresAddress,
    #[error("a prefix is the name of a schema in PostgreSQL, which has at most 63 bytes")]
    PostgresPrefix,
    #[error(
        "PostgreSQL decides itself which commits wait for a standby: set synchronous_standby_names there, and leave --durability"
    )]
    PostgresReplica,
    #[error("PostgreSQL does not answer")]
    PostgresSilent,
    #[error("PostgreSQL answered something this version does not understand")]
    PostgresAnswer,
    #[error("PostgreSQL failed")]
    Postgres(#[source] Arc<tokio_postgres::Error>),
    #[error("a certificate or its key cannot be read: both are in PEM")]
    Certificate,
    #[error("the system's random number generator failed")]
    Entropy(#[from] getrandom::Error),
    #[error("the parts of an entry could not be made into one")]
    Join(#[source] crate::JoinError),
    #[error("a worker of the store ended unexpectedly")]
    Worker(#[from] tokio::task::JoinError),
}

impl Error {
    /// For every caller of a failed group; not every error is `Clone`.
    pub(crate) fn same_again(&self) -> Self {
        match self {
            Self::Redis(error) => Self::Redis(error.clone()),
            Self::Answer(error) => Self::Answer(error.clone()),
            Self::NotAnswering => Self::NotAnswering,
            Self::Postgres(error) => Self::Postgres(error.clone()),
            Self::PostgresSilent => Self::PostgresSilent,
            Self::PostgresAnswer => Self::PostgresAnswer,
            _ => Self::Closed,
        }
    }

    /// The connection to PostgreSQL ended, and with it what it had begun and not committed.
    pub(crate) fn is_broken_connection(&self) -> bool {
        use tokio_postgres::error::SqlState;
        let Self::Postgres(error) = self else { return false };
        let ends = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
        error.is_closed() || error.code().is_none_or(|code| ends.contains(code))
    }

    /// Another try may end better: PostgreSQL was not there, or let others go first.
    pub(crate) fn is_passing(&self) -> bool {
        use tokio_postgres::error::SqlState;
        let Self::Postgres(error) = self else { return false };
        let passing = [
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
        ];
        self.is_broken_connection() || error.code().is_some_and(|code| passing.contains(code))
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        // Without room for its index of the log the database cannot even be read.
        let extended = error.sqlite_error().map(|error| error.extended_code);
        if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return Self::DiskFull(error);
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull(error),
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(error),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error),
            _ => Self::Sqlite(error),
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}
