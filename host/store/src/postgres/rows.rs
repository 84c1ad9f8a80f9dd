//! What is read from rows. A field of another type than expected is an answer that this version does not understand.

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::{Error, Tenant};

pub(super) trait Fields {
    fn field<'row, Field: FromSql<'row>>(&'row self, place: usize) -> Result<Field, Error>;
}

impl Fields for Row {
    fn field<'row, Field: FromSql<'row>>(&'row self, place: usize) -> Result<Field, Error> {
        self.try_get(place).map_err(|_| Error::PostgresAnswer)
    }
}

/// A name, which is kept as bytes.
pub(super) fn name(row: &Row, place: usize) -> Result<String, Error> {
    String::from_utf8(row.field(place)?).map_err(|_| Error::PostgresAnswer)
}

pub(super) fn optional_name(row: &Row, place: usize) -> Result<Option<String>, Error> {
    let bytes: Option<Vec<u8>> = row.field(place)?;
    bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| Error::PostgresAnswer)).transpose()
}

pub(super) fn tenant(row: &Row, place: usize) -> Result<Tenant, Error> {
    Tenant::parse(row.field(place)?).map_err(|_| Error::PostgresAnswer)
}

pub(super) fn bytes(row: &Row, place: usize) -> Result<Bytes, Error> {
    Ok(row.field::<Vec<u8>>(place)?.into())
}

/// A number that is never below zero.
pub(super) fn count(row: &Row, place: usize) -> Result<u64, Error> {
    Ok(u64::try_from(row.field::<i64>(place)?).unwrap_or_default())
}

pub(super) fn optional_count(row: &Row, place: usize) -> Result<Option<u64>, Error> {
    Ok(row.field::<Option<i64>>(place)?.and_then(|number| u64::try_from(number).ok()))
}

pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
