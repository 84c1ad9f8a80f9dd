//! A request that takes a while and says how far it is: packages are resolved, fetched and linked before the answer.
//!
//! The server is asked for a stream; one that does not know how to gives the answer alone, which is as good.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ANSWER_TIMEOUT, Client, Envelope, Frames, answer};
use crate::error::Error;

/// How far the server is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
pub enum Stage {
    Resolving {
        packages: u64,
    },
    Downloading {
        packages: u64,
        of: u64,
        bytes: u64,
    },
    Linking {
        modules: u64,
    },
    /// The component is evaluated, or something that this client does not know.
    #[serde(other)]
    Loading,
}

#[derive(Deserialize)]
struct Answered {
    status: u16,
    body: Value,
}

// === impl Stage ===

impl std::fmt::Display for Stage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resolving { packages } => write!(formatter, "resolving packages: {packages} so far"),
            Self::Downloading { packages, of, bytes } => {
                write!(formatter, "fetching packages: {packages} of {of}, {} KB", bytes.div_ceil(1000))
            }
            Self::Linking { modules } => write!(formatter, "linking {modules} modules"),
            Self::Loading => formatter.write_str("loading the component"),
        }
    }
}

// === impl Client ===

impl Client {
    /// Posts, and tells `on_progress` how far the server is until it answers.
    pub async fn post_followed<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        on_progress: impl Fn(&Stage),
    ) -> Result<T, Error> {
        let request = self.request(Method::POST, path, &[])?.json(body).timeout(ANSWER_TIMEOUT);
        let mut response = self.send(request.header(ACCEPT, "text/event-stream, application/json;q=0.9")).await?;
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !content_type.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let bytes = response.bytes().await.map_err(|error| self.failed(&error))?;
            return Ok(self.understand::<Envelope<T>>(&bytes).await?.data);
        }
        let mut frames = Frames::default();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(&error))? {
            frames.push(&chunk);
            while let Some(frame) = frames.next() {
                match frame.event.as_str() {
                    "answer" => return self.answer(&frame.data).await,
                    "progress" => serde_json::from_str::<Stage>(&frame.data).iter().for_each(&on_progress),
                    _ => {}
                }
            }
        }
        Err(Error::Unreachable { url: self.url().to_owned(), cause: "the connection broke off".to_owned() })
    }

    async fn answer<T: DeserializeOwned>(&self, json: &str) -> Result<T, Error> {
        let Answered { status, body } = self.understand(json.as_bytes()).await?;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if !status.is_success() {
            return Err(answer::of_body(self.url(), status, Some(body)));
        }
        Ok(self.understand::<Envelope<T>>(body.to_string().as_bytes()).await?.data)
    }
}

#[cfg(test)]
mod tests {
    use super::Stage;

    #[test]
    fn stages_are_told_in_words_and_unknown_ones_as_loading() {
        let told = |json: &str| serde_json::from_str::<Stage>(json).unwrap().to_string();

        assert_eq!(told(r#"{"stage":"resolving","packages":3}"#), "resolving packages: 3 so far");
        let downloading = r#"{"stage":"downloading","packages":12,"of":30,"bytes":481213}"#;
        assert_eq!(told(downloading), "fetching packages: 12 of 30, 482 KB");
        assert_eq!(told(r#"{"stage":"linking","modules":7}"#), "linking 7 modules");
        assert_eq!(told(r#"{"stage":"loading","packages":3,"modules":7}"#), "loading the component");
        assert_eq!(told(r#"{"stage":"something new"}"#), "loading the component");
    }
}
