//! Who is measured: this server on each of its stores, and what others would build the same thing with.
//!
//! All do what `contenders/component.js` does. A contender whose program is not on this machine is left out, with a notice.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use super::http::{call_api, get};
use super::process::{Process, free_port};
use wellspring::default_cache;

pub(crate) const COMPONENT: &str = include_str!("contenders/component.js");
const WORKER: &str = include_str!("contenders/worker.js");
const NODE_SERVER: &str = include_str!("contenders/server.mjs");
/// The newest when this was written; one version, so that figures can be compared.
const WORKERD: &str = "workerd@1.20261104.1";
/// How long a server may take from listening to being ready, and how often it is asked.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(2);
const API_KEY: &str = "bench-key-of-a-server-that-lives-for-a-minute";

/// A server of this binary with a data folder of its own.
pub(crate) struct Wellspring {
    pub(crate) process: Process,
    url: String,
}

/// A server that is measured.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) process: Process,
}

// === impl Wellspring ===

impl Wellspring {
    pub(crate) async fn start(data: &Path, store: Option<&str>) -> Result<Self> {
        Self::start_program(&crate::server()?, data, store, &[]).await
    }

    pub(crate) async fn start_with(data: &Path, store: Option<&str>, options: &[&str]) -> Result<Self> {
        Self::start_program(&crate::server()?, data, store, options).await
    }

    async fn start_program(program: &Path, data: &Path, store: Option<&str>, options: &[&str]) -> Result<Self> {
        let port = free_port()?;
        std::fs::create_dir_all(data)?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]).arg("--data").arg(data);
        command.args(store.map(|url| format!("--store={url}"))).args(options);
        command.env("WELLSPRING_API_KEY", API_KEY);
        let process = Process::start(&mut command, port, &data.join("server.log")).await?;
        let server = Self { process, url: format!("http://127.0.0.1:{port}") };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// It listens before it is ready, and refuses requests until it is.
    async fn wait_until_ready(&self) -> Result<()> {
        let (url, begun) = (format!("{}/readyz", self.url), Instant::now());
        loop {
            match get(&url).await {
                Err(error) if begun.elapsed() > READY_WITHIN => {
                    return Err(error.context("the server does not get ready"));
                }
                Err(_) => tokio::time::sleep(LOOK).await,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// A benchmark makes more invocations in minutes than a day's quota has.
    pub(crate) async fn raise_quotas(&self) -> Result<()> {
        let user = self.call(Method::GET, "users/me", &json!({})).await?;
        let id = user.get("id").and_then(Value::as_str).context("a user without an id")?;
        let most = u32::MAX;
        let quotas = json!({"daily_invocations_quota": most, "daily_compute_time_quota": most});
        self.call(Method::PUT, &format!("admin/users/{id}"), &quotas).await?;
        Ok(())
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        self.call_as(API_KEY, method, path, body).await
    }

    /// The same with the key of another user.
    pub(crate) async fn call_as(&self, key: &str, method: Method, path: &str, body: &Value) -> Result<Value> {
        call_api(method, &format!("{}/v1/{path}", self.url), key, body).await
    }

    /// A user of its own, whose quotas a benchmark does not reach; its API key.
    pub(crate) async fn new_user(&self, number: usize) -> Result<String> {
        // A folder may be used by several benchmarks, one after the other.
        let (name, most) = (format!("tenant{number}of{}", std::process::id()), u32::MAX);
        let user = json!({
            "username": name, "email": format!("{name}@example.com"),
            "daily_invocations_quota": most, "daily_compute_time_quota": most,
        });
        let user = self.call(Method::POST, "admin/users", &user).await?;
        Ok(user.get("api_key").and_then(Value::as_str).context("a user without a key")?.to_owned())
    }

    /// Saves a component and returns its id.
    pub(crate) async fn save(&self, code: &str) -> Result<String> {
        self.save_as(API_KEY, code).await
    }

    pub(crate) async fn save_as(&self, key: &str, code: &str) -> Result<String> {
        let saved = self.call_as(key, Method::POST, "components", &json!({"component_code": code})).await?;
        Ok(saved.get("id").and_then(Value::as_str).context("a component without an id")?.to_owned())
    }

    /// Deploys a source of a saved component and returns the key of its endpoint.
    pub(crate) async fn deploy(&self, component: &str) -> Result<String> {
        self.deploy_as(API_KEY, component).await
    }

    pub(crate) async fn deploy_as(&self, key: &str, component: &str) -> Result<String> {
        endpoint_key(&self.call_as(key, Method::POST, "sources", &json!({"component_id": component})).await?)
    }

    pub(crate) fn endpoint(&self, key: &str) -> String {
        format!("{}/e/{key}", self.url)
    }
}

/// The key of a source's endpoint.
pub(crate) fn endpoint_key(source: &Value) -> Result<String> {
    let endpoint = source.pointer("/configured_props/http/endpoint_url").and_then(Value::as_str);
    let key = endpoint.and_then(|url| url.rsplit('/').next()).context("a source without an endpoint")?;
    Ok(key.to_owned())
}

pub(crate) async fn wellspring(name: &'static str, folder: &Path, store: Option<&str>) -> Result<Contender> {
    of_program(&crate::server()?, name, COMPONENT, &folder.join(name.replace(' ', "-")), store).await
}

/// Another version of this server, on SQLite.
pub(crate) async fn other_version(name: &'static str, program: &Path, folder: &Path) -> Result<Contender> {
    of_program(program, name, COMPONENT, &folder.join("other"), None).await
}

/// A source that also reads and writes `db`, on SQLite: each request another key, or all the same one.
pub(crate) async fn with_db(name: &'static str, shares_key: bool, folder: &Path) -> Result<Contender> {
    let key = if shares_key { "\"all\"" } else { "`${Math.floor(Math.random() * 1e5)}`" };
    let code = COMPONENT
        .replace(r#"props: {http: "$.interface.http"}"#, r#"props: {http: "$.interface.http", db: "$.service.db"}"#)
        .replace(
            "run({body}) {",
            &format!("run({{body}}) {{ const key = {key}; this.db.set(key, (this.db.get(key) || 0) + 1);"),
        );
    of_program(&crate::server()?, name, &code, &folder.join(format!("db-{shares_key}")), None).await
}

/// This server on SQLite with other options; `recorded` are its runs, as the API names it.
pub(crate) async fn with_records(
    name: &'static str,
    folder: &Path,
    options: &[&str],
    recorded: Option<&str>,
) -> Result<Contender> {
    let data = folder.join(name.replace(' ', "-"));
    let server = Wellspring::start_program(&crate::server()?, &data, None, options).await?;
    server.raise_quotas().await?;
    let url = server.endpoint(&server.deploy(&server.save(COMPONENT).await?).await?);
    if let Some(recorded) = recorded {
        let sources = server.call(Method::GET, "users/me/sources", &json!({})).await?;
        let id = sources.pointer("/0/id").and_then(Value::as_str).context("a source without an id")?;
        server.call(Method::PUT, &format!("sources/{id}/recording"), &json!({"mode": recorded})).await?;
    }
    Ok(Contender { name, url, process: server.process })
}

async fn of_program(
    program: &Path,
    name: &'static str,
    code: &str,
    data: &Path,
    store: Option<&str>,
) -> Result<Contender> {
    let server = Wellspring::start_program(program, data, store, &[]).await?;
    server.raise_quotas().await?;
    let url = server.endpoint(&server.deploy(&server.save(code).await?).await?);
    Ok(Contender { name, url, process: server.process })
}

/// A Redis that has what it acknowledged on disk, in a folder of its own.
pub(crate) async fn redis(folder: &Path) -> Result<Process> {
    let port = free_port()?;
    let data = folder.join(format!("redis-{port}"));
    std::fs::create_dir_all(&data)?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always"]).arg("--dir").arg(&data);
    // The log is not rewritten in the middle of a measurement: on whose side that falls is chance.
    command.args(["--auto-aof-rewrite-percentage", "0"]);
    Process::start(&mut command, port, &data.join("redis.log")).await
}

/// A PostgreSQL that has what it acknowledged on disk. It does not run as root, and Debian keeps it out of the path.
pub(crate) async fn postgres(folder: &Path) -> Result<Process> {
    const START: &str = r#"
        PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1):$PATH"
        as=; [ "$(id -u)" != 0 ] || { as='setpriv --reuid postgres --regid postgres --init-groups'; chown postgres "$1"; }
        cd "$1" && $as initdb -D "$1/data" -A trust -U bench >/dev/null &&
        exec $as postgres -D "$1/data" -p "$2" -k "$1" -h 127.0.0.1 -c max_wal_size=4GB -c checkpoint_timeout=30min"#;
    // Apart from the folder of the bench, which its user alone can enter.
    let data = tempfile::Builder::new().prefix("postgres").permissions(PermissionsExt::from_mode(0o755)).tempdir()?;
    let port = free_port()?;
    let mut command = Command::new("sh");
    command.args(["-c", START, "sh"]).arg(data.path()).arg(port.to_string());
    let process = Process::start(&mut command, port, &folder.join("postgres.log")).await?;
    Ok(process.with_folder(data))
}

/// A warm isolate of workerd that stores nothing.
pub(crate) async fn workerd(folder: &Path) -> Result<Contender> {
    let (port, program) = (free_port()?, install_workerd(folder).await?);
    let folder = folder.join("workerd");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("worker.js"), WORKER)?;
    let config = format!(
        "using Workerd = import \"/workerd/workerd.capnp\";\n\
         const config :Workerd.Config = (\n  \
           services = [(name = \"main\", worker = (modules = [(name = \"worker.js\", esModule = embed \"worker.js\")], \
             compatibilityDate = \"2026-01-01\"))],\n  \
           sockets = [(name = \"http\", address = \"127.0.0.1:{port}\", http = (), service = \"main\")],\n);\n"
    );
    let path = folder.join("config.capnp");
    std::fs::write(&path, config)?;
    let process =
        Process::start(Command::new(program).arg("serve").arg(path), port, &folder.join("workerd.log")).await?;
    Ok(Contender { name: "workerd", url: format!("http://127.0.0.1:{port}/"), process })
}

/// From npm, into the user's cache, once.
async fn install_workerd(folder: &Path) -> Result<PathBuf> {
    let folder = default_cache().unwrap_or_else(|| folder.to_owned()).join("bench");
    let program = folder.join("node_modules/.bin/workerd");
    if !program.exists() {
        std::fs::create_dir_all(&folder)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent", WORKERD, "--prefix"]).arg(&folder);
        let output = npm.output().await.context("npm is needed to install workerd")?;
        ensure!(output.status.success(), "npm cannot install {WORKERD}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(program)
}

/// A plain Node server that appends to Redis.
pub(crate) async fn node(folder: &Path, redis: &Process) -> Result<Contender> {
    let (port, script) = (free_port()?, folder.join("server.mjs"));
    std::fs::write(&script, NODE_SERVER)?;
    let mut command = Command::new("node");
    command.arg(script).args([port.to_string(), redis.port.to_string()]);
    let process = Process::start(&mut command, port, &folder.join("node.log")).await?;
    Ok(Contender { name: "Node + Redis", url: format!("http://127.0.0.1:{port}/"), process })
}
