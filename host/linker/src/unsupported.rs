//! Packages whose purpose needs what a sandbox does not have. They would load, and fail whatever is asked of them: their
//! author is better told when the component is deployed.

/// What a package needs and a component does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Need {
    #[error("it speaks its own protocol over TCP, and components reach the outside over HTTP alone")]
    Sockets,
    #[error("it starts other programs, and there are none in the sandbox")]
    Processes,
    #[error("it is compiled C or C++, which cannot run inside the sandbox")]
    NativeCode,
}

const SOCKETS: [&str; 25] = [
    "amqplib",
    "basic-ftp",
    "cassandra-driver",
    "ftp",
    "imap",
    "imapflow",
    "ioredis",
    "kafkajs",
    "ldapjs",
    "mariadb",
    "mongodb",
    "mongoose",
    "mssql",
    "mysql",
    "mysql2",
    "nats",
    "oracledb",
    "pg",
    "pg-promise",
    "promise-ftp",
    "redis",
    "ssh2",
    "ssh2-sftp-client",
    "tedious",
    "ws",
];

const PROCESSES: [&str; 8] = [
    "@sparticuz/chromium",
    "chrome-aws-lambda",
    "fluent-ffmpeg",
    "playwright",
    "playwright-core",
    "puppeteer",
    "puppeteer-core",
    "simple-git",
];

/// Those without a build file, by which others are told.
const NATIVE: [&str; 6] = ["@tensorflow/tfjs-node", "argon2", "better-sqlite3", "canvas", "isolated-vm", "sharp"];

/// Why a package can do nothing here, if so.
pub(crate) fn need_of(package: &str) -> Option<Need> {
    let lists: [(&[&str], Need); 3] =
        [(&SOCKETS, Need::Sockets), (&PROCESSES, Need::Processes), (&NATIVE, Need::NativeCode)];
    lists.into_iter().find(|(names, _)| names.contains(&package)).map(|(_, need)| need)
}
