//! Makes the tables of a new installation, and refuses those of a newer version.

use super::link::{Connection, Question};
use super::rows::Fields;
use crate::{Error, PARTITIONS};

const SCHEMA: &str = include_str!("schema.sql");
const VERSION: i32 = 1;

const HAS_TABLES: &str = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'installation'";
const INSTALLATION: &str = "SELECT schema_version, partitions FROM installation";

/// How many partitions there are. Hosts that start at once on an empty server wait for the first of them.
pub(super) async fn settle(connection: &Connection, schema: &str) -> Result<u16, Error> {
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock(hashtext('wellspring {schema}'))");
    connection.run(&lock).await?;
    if connection.ask(&Question::of(HAS_TABLES).with(schema)).await?.is_empty() {
        let parts = format!("INSERT INTO parts (part) SELECT * FROM generate_series(0, {})", PARTITIONS - 1);
        let row = format!("INSERT INTO installation (schema_version, partitions) VALUES ({VERSION}, {PARTITIONS})");
        connection.run(&format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\"; {SCHEMA}; {parts}; {row}")).await?;
    }
    connection.run("COMMIT").await?;
    let rows = connection.ask(&Question::of(INSTALLATION)).await?;
    let row = rows.first().ok_or(Error::PostgresAnswer)?;
    let found: i32 = row.field(0)?;
    if found > VERSION {
        return Err(Error::NewerSchema { found: found.into(), known: VERSION.into() });
    }
    u16::try_from(row.field::<i32>(1)?).map_err(|_| Error::PostgresAnswer)
}
