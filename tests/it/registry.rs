//! A package registry on the loopback interface that holds what a test publishes, and serves files beside.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};
use tokio::net::TcpListener;

/// What is served, by path.
pub(crate) struct Registry {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
    served: HashMap<String, Bytes>,
}

// === impl Registry ===

impl Registry {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address, served: HashMap::new() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn file(&mut self, path: &str, content: impl Into<Bytes>) -> &mut Self {
        self.served.insert(path.to_owned(), content.into());
        self
    }

    /// A package of one version, 1.0.0. `paths` are written into its archive as they are.
    pub(crate) fn publish(&mut self, name: &str, dependencies: &Value, paths: &[(&str, &str)]) -> &mut Self {
        let archive = archive(paths);
        let integrity = format!("sha512-{}", STANDARD.encode(Sha512::digest(&archive)));
        self.publish_as(name, dependencies, archive, &integrity)
    }

    pub(crate) fn publish_as(
        &mut self,
        name: &str,
        dependencies: &Value,
        archive: Bytes,
        integrity: &str,
    ) -> &mut Self {
        let path = format!("/{name}/-/{name}-1.0.0.tgz");
        let tarball = format!("http://{}{path}", self.address);
        let version = json!({"dependencies": dependencies, "dist": {"tarball": tarball, "integrity": integrity}});
        let packument = json!({"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}});
        self.file(&format!("/{name}"), packument.to_string()).file(&path, archive)
    }

    /// Until the test ends.
    pub(crate) fn open(self) {
        let served = Arc::new(self.served);
        tokio::spawn(async move {
            while let Ok((stream, _)) = self.listener.accept().await {
                let served = served.clone();
                let service = service_fn(move |request| answer(request, served.clone()));
                let connection = hyper::server::conn::http1::Builder::new();
                let connection = connection.serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { drop(connection.await) });
            }
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    served: Arc<HashMap<String, Bytes>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let found = served.get(request.uri().path()).cloned();
    let status = if found.is_some() { 200 } else { 404 };
    let mut response = Response::new(Full::new(found.unwrap_or_default()));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap();
    Ok(response)
}

pub(crate) fn archive(paths: &[(&str, &str)]) -> Bytes {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in paths {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        // Not `set_path`, which refuses what the tests want to try.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap().into()
}
