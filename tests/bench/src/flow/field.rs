//! Which servers are measured.

use std::path::Path;

use anyhow::Result;

use super::{NO_RECORDS, POSTGRES, RECORDINGS, RECORDS, REDIS};
use crate::contenders::{self, Contender};
use crate::process::Process;

/// The contenders that take part, and those that could not be started.
#[derive(Default)]
pub(super) struct Field {
    pub(super) contenders: Vec<Contender>,
    pub(super) missing: Vec<String>,
    /// They end with the field.
    helpers: Vec<Process>,
}

// === impl Field ===

impl Field {
    pub(super) fn enter(&mut self, name: &str, contender: Result<Contender>) {
        match contender {
            Ok(contender) => self.contenders.push(contender),
            Err(error) => self.leave_out(name, &error),
        }
    }

    pub(super) async fn enter_records(&mut self, folder: &Path) {
        self.enter(NO_RECORDS, contenders::with_records(NO_RECORDS, folder, &["--keep-runs=0"], None).await);
        self.enter(RECORDS, contenders::with_records(RECORDS, folder, &[], None).await);
        self.enter(RECORDINGS, contenders::with_records(RECORDINGS, folder, &[], Some("all")).await);
    }

    pub(super) async fn enter_others(&mut self, folder: &Path) {
        self.enter("workerd", contenders::workerd(folder).await);
        match contenders::redis(folder).await {
            Ok(redis) => {
                self.enter("Node + Redis", contenders::node(folder, &redis).await);
                self.helpers.push(redis);
            }
            Err(error) => self.leave_out("Node + Redis", &error),
        }
    }

    pub(super) async fn enter_stores(&mut self, folder: &Path) {
        match contenders::redis(folder).await {
            Ok(redis) => {
                let url = format!("redis://127.0.0.1:{}", redis.port);
                self.enter(REDIS, contenders::wellspring(REDIS, folder, Some(&url)).await);
                self.helpers.push(redis);
            }
            Err(error) => self.leave_out("Redis", &error),
        }
        match contenders::postgres(folder).await {
            Ok(postgres) => {
                let url = format!("postgres://bench@127.0.0.1:{}/postgres", postgres.port);
                self.enter(POSTGRES, contenders::wellspring(POSTGRES, folder, Some(&url)).await);
                self.helpers.push(postgres);
            }
            Err(error) => self.leave_out("PostgreSQL", &error),
        }
    }

    fn leave_out(&mut self, name: &str, error: &anyhow::Error) {
        eprintln!("{name} is left out: {error:#}");
        self.missing.push(name.to_owned());
    }
}
