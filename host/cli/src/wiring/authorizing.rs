//! A component's `fetch` when the run uses accounts: requests leave with the credentials that belong to them, once more when
//! a token was refused, and what comes back holds none that the component must not see.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use outbound::Outbound;
use platform::ports::{Carrying, Denied, Outgoing, Passage, Reply, RunServices};
use sandbox::{FetchBody, FetchError, FetchRequest, FetchRequestBody, FetchResponse};

use super::fetching;

const UNAUTHORIZED: u16 = 401;

/// Performs one request of a component.
pub(crate) async fn fetch(
    services: &dyn RunServices,
    outbound: &Outbound,
    request: FetchRequest,
) -> Result<FetchResponse, FetchError> {
    let asked = Outgoing {
        method: request.method.clone(),
        url: request.url.clone(),
        headers: request.headers.clone(),
        body: match &request.body {
            FetchRequestBody::Whole(body) => Some(body.clone()),
            FetchRequestBody::Stream(_) => None,
        },
    };
    match services.authorize(&asked).await {
        Ok(Passage::Plain) => fetching::fetch(outbound, request).await,
        Ok(Passage::Answered(reply)) => Ok(answered(reply, &asked.url)),
        Ok(Passage::Carrying(carrying)) => carry(services, outbound, request, &asked, &carrying).await,
        Err(Denied { code, message }) => Err(FetchError { code: code.to_owned(), message }),
    }
}

async fn carry(
    services: &dyn RunServices,
    outbound: &Outbound,
    request: FetchRequest,
    asked: &Outgoing,
    carrying: &Carrying,
) -> Result<FetchResponse, FetchError> {
    let again = |body: Bytes, with: &FetchRequest| FetchRequest {
        method: with.method.clone(),
        url: asked.url.clone(),
        headers: Vec::new(),
        redirect: with.redirect.clone(),
        decompress: with.decompress,
        timeout_ms: with.timeout_ms,
        body: FetchRequestBody::Whole(body),
    };
    // A body that is streamed is gone once it was sent.
    let second = asked.body.clone().map(|body| again(body, &request));
    let response = send(outbound, request, carrying).await;
    let is_refused = response.as_ref().is_ok_and(|response| response.status == UNAUTHORIZED);
    if let Some(second) = second.filter(|_| is_refused)
        && let Some(renewed) = services.reauthorize(asked, carrying).await
    {
        return concealed(send(outbound, second, &renewed).await, &renewed);
    }
    concealed(response, carrying)
}

async fn send(outbound: &Outbound, request: FetchRequest, carrying: &Carrying) -> Result<FetchResponse, FetchError> {
    let request = FetchRequest { url: carrying.url.clone(), headers: carrying.headers.clone(), ..request };
    fetching::fetch_with(outbound, request, &carrying.confidential).await
}

fn answered(Reply { status, headers, body }: Reply, url: &str) -> FetchResponse {
    let body = stream::iter([Ok::<_, FetchError>(body)]).boxed();
    FetchResponse { status, status_text: String::new(), headers, url: url.to_owned(), redirected: false, body }
}

/// The answer with stand-ins where the service repeats what it was sent.
fn concealed(response: Result<FetchResponse, FetchError>, carrying: &Carrying) -> Result<FetchResponse, FetchError> {
    let pairs = &carrying.concealed;
    if pairs.is_empty() {
        return response;
    }
    let hide = |text: String| pairs.iter().fold(text, |text, (real, shown)| text.replace(real.as_str(), shown));
    let response = response.map_err(|error| FetchError { message: hide(error.message), ..error })?;
    let headers = response.headers.into_iter().map(|(name, value)| (name, hide(value))).collect();
    let url = hide(response.url);
    Ok(FetchResponse { headers, url, body: concealed_body(response.body, pairs.clone()), ..response })
}

/// A body in which the credentials do not occur, also not across two chunks.
fn concealed_body(body: FetchBody, pairs: Vec<(String, String)>) -> FetchBody {
    let longest = pairs.iter().map(|(real, _)| real.len()).max().unwrap_or(1);
    let held = BytesMut::new();
    stream::unfold((body, held, pairs, false), move |(mut body, mut held, pairs, is_over)| async move {
        if is_over {
            return None;
        }
        match body.next().await {
            Some(Ok(chunk)) => {
                held.extend_from_slice(&chunk);
                hide_in(&mut held, &pairs);
                // The end may be the beginning of what must not be seen.
                let ready = held.split_to(held.len().saturating_sub(longest - 1)).freeze();
                Some((Ok(ready), (body, held, pairs, false)))
            }
            Some(Err(error)) => Some((Err(error), (body, held, pairs, true))),
            None if held.is_empty() => None,
            None => {
                let rest = held.split().freeze();
                Some((Ok(rest), (body, held, pairs, true)))
            }
        }
    })
    .boxed()
}

fn hide_in(held: &mut BytesMut, pairs: &[(String, String)]) {
    for (real, shown) in pairs {
        while let Some(at) = held.windows(real.len().max(1)).position(|window| window == real.as_bytes()) {
            let rest = held.split_off(at);
            held.extend_from_slice(shown.as_bytes());
            held.extend_from_slice(rest.get(real.len()..).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(chunks: &[&'static str]) -> String {
        let chunks: Vec<Result<Bytes, FetchError>> =
            chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))).collect();
        let pairs = vec![("s3cret-token".to_owned(), "[x]".to_owned())];
        let body = concealed_body(stream::iter(chunks).boxed(), pairs);
        let read: Vec<Bytes> = body.map(|chunk| chunk.unwrap()).collect().await;
        String::from_utf8(read.concat()).unwrap()
    }

    #[tokio::test]
    async fn a_body_holds_no_credentials_also_not_across_chunks() {
        assert_eq!(read(&["a s3cret-token b"]).await, "a [x] b");
        assert_eq!(read(&["a s3cr", "et-tok", "en b s3cret-token"]).await, "a [x] b [x]");
        assert_eq!(read(&["s3cret-toke", "s3cret-token"]).await, "s3cret-toke[x]");
        assert_eq!(read(&["", "plain"]).await, "plain");
        assert_eq!(read(&[]).await, "");
    }
}
