//! A route: its method and path, the scope it needs, its handler, and its documentation.

use std::future::Future;
use std::sync::Arc;

use domain::keys::Scope;
use futures_util::future::BoxFuture;
use hyper::Method;
use platform::{Error, Noun};
use serde_json::Value;

use crate::api::{Answer, Context};

/// What a caller needs to use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Public,
    /// A key with this scope.
    Key(Scope),
}

pub(crate) type Handler = Arc<dyn Fn(Context) -> BoxFuture<'static, Result<Answer, Error>> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    /// With the version, and `{names}` for parameters.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) handler: Handler,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: Vec<Parameter>,
    pub(crate) headers: Vec<Parameter>,
    pub(crate) body: RequestBody,
    /// Run before a large body is read: it fails when what the path names is not there.
    pub(crate) first: Option<Handler>,
    pub(crate) answer: Documented,
    /// Statuses besides those that follow from access and body.
    pub(crate) refusals: Vec<u16>,
    pub(crate) example: Option<Value>,
    /// Whether calls are recorded in the audit log.
    pub(crate) is_audited: bool,
    /// Not part of the API: health, metrics, the reference itself.
    pub(crate) is_internal: bool,
    /// Served by a plugin, which is asked before this table: the row is what the document says about it.
    pub(crate) is_plugged: bool,
}

/// What a request's body holds.
#[derive(Clone)]
pub(crate) enum RequestBody {
    None,
    /// An object of these; each may stand in the query string instead.
    Parameters {
        parameters: Vec<Parameter>,
        /// One of these is required.
        one_of: &'static [&'static str],
    },
    /// Any JSON, such as an event.
    Any,
}

/// What a success looks like.
#[derive(Clone, Copy)]
pub(crate) enum Documented {
    /// `{data: <schema>}`
    One(&'static str),
    /// The same, or 202 with it when it is not waited for.
    Started(&'static str),
    /// `{page_info, data: [<schema>]}`
    Page(&'static str),
    /// `{data: [<schema>]}`
    List(&'static str),
    Accepted,
    NoContent,
    /// Server-sent events, each with this in its `data`.
    Events(&'static str),
    /// What a component replied.
    Anything,
}

#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: ParameterKind,
    pub(crate) is_required: bool,
    /// An empty text says something, and is not a value that a client forgot to fill in.
    pub(crate) may_be_empty: bool,
    pub(crate) says: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) enum ParameterKind {
    Text,
    /// A text of this shape, as a regular expression.
    Pattern(&'static str),
    /// At least 0.
    Integer,
    /// The size of a page.
    Limit,
    Boolean,
    /// Whatever JSON there is.
    Any,
    Object,
    /// An object of strings.
    Texts,
    OneOf(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A list of scopes of keys, or their names separated by commas.
    Scopes,
}

/// One row of the table.
pub(crate) fn route<Running>(
    method: Method,
    path: &'static str,
    access: Access,
    handler: impl Fn(Context) -> Running + Send + Sync + 'static,
) -> Route
where
    Running: Future<Output = Result<Answer, Error>> + Send + 'static,
{
    let is_audited = !method.is_safe();
    Route {
        is_audited,
        method,
        path,
        access,
        handler: Arc::new(move |context| Box::pin(handler(context))),
        tag: "",
        summary: "",
        query: Vec::new(),
        headers: Vec::new(),
        body: RequestBody::None,
        first: None,
        answer: Documented::NoContent,
        refusals: Vec::new(),
        example: None,
        is_internal: false,
        is_plugged: false,
    }
}

/// A row about what a plugin serves.
pub(crate) fn plugged(method: Method, path: &'static str, access: Access) -> Route {
    // Reached when no plugin claimed the request, such as HEAD of a stream.
    let unplugged = |context: Context| {
        let named = context.path.first().map_or("", |(_, value)| value);
        std::future::ready(Err(Error::not_found(Noun::Source, named)))
    };
    let row = route(method, path, access, unplugged);
    Route { is_plugged: true, is_audited: false, ..row }
}

pub(crate) const fn optional(name: &'static str, kind: ParameterKind, says: &'static str) -> Parameter {
    Parameter { name, kind, is_required: false, may_be_empty: false, says }
}

pub(crate) const fn required(name: &'static str, kind: ParameterKind, says: &'static str) -> Parameter {
    Parameter { name, kind, is_required: true, may_be_empty: false, says }
}

// === impl Parameter ===

impl Parameter {
    pub(crate) const fn or_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }
}

// === impl Route ===

impl Route {
    pub(crate) fn says(mut self, tag: &'static str, summary: &'static str) -> Self {
        (self.tag, self.summary) = (tag, summary);
        self
    }

    pub(crate) fn query(mut self, parameters: &[Parameter]) -> Self {
        self.query.extend_from_slice(parameters);
        self
    }

    pub(crate) fn headers(mut self, parameters: &[Parameter]) -> Self {
        self.headers.extend_from_slice(parameters);
        self
    }

    pub(crate) fn body(mut self, parameters: &[Parameter]) -> Self {
        self.body = RequestBody::Parameters { parameters: parameters.to_vec(), one_of: &[] };
        self
    }

    /// A body of which one of `names` must be there.
    pub(crate) fn body_with(mut self, names: &'static [&'static str], parameters: &[Parameter]) -> Self {
        self.body = RequestBody::Parameters { parameters: parameters.to_vec(), one_of: names };
        self
    }

    pub(crate) fn any_body(mut self) -> Self {
        self.body = RequestBody::Any;
        self
    }

    /// What must succeed before a large body is read: reading what the path names.
    pub(crate) fn after<Running>(mut self, handler: impl Fn(Context) -> Running + Send + Sync + 'static) -> Self
    where
        Running: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        self.first = Some(Arc::new(move |context| Box::pin(handler(context))));
        self
    }

    /// The largest body it takes: code and events are large, parameters are not.
    pub(crate) fn body_bytes(&self, large_bytes: usize) -> usize {
        const PARAMETERS_BYTES: usize = 1 << 20;
        let is_large = match &self.body {
            RequestBody::None => false,
            RequestBody::Parameters { parameters, .. } => {
                parameters.iter().any(|one| ["component_code", "steps", "event"].contains(&one.name))
            }
            RequestBody::Any => true,
        };
        if is_large { large_bytes } else { PARAMETERS_BYTES.min(large_bytes) }
    }

    pub(crate) fn answers(mut self, answer: Documented) -> Self {
        self.answer = answer;
        self
    }

    pub(crate) fn refuses(mut self, statuses: &[u16]) -> Self {
        self.refusals.extend_from_slice(statuses);
        self
    }

    pub(crate) fn example(mut self, example: Value) -> Self {
        self.example = Some(example);
        self
    }

    /// Whether every parameter must be known and filled in. A deletion whose `start_id` is misspelled or empty would
    /// otherwise delete everything.
    pub(crate) fn is_strict(&self) -> bool {
        self.method == Method::DELETE
    }

    pub(crate) fn is_list(&self) -> bool {
        self.method == Method::GET && matches!(self.answer, Documented::Page(_) | Documented::List(_))
    }

    /// It has another method than GET, and changes nothing that is managed.
    pub(crate) fn unaudited(mut self) -> Self {
        self.is_audited = false;
        self
    }

    pub(crate) fn internal(mut self) -> Self {
        self.is_internal = true;
        self
    }

    /// The parameters of a path that this route is for; none when it is for another.
    pub(crate) fn matches(&self, segments: &[String]) -> Option<Vec<(&'static str, String)>> {
        let pattern = self.path.trim_start_matches('/').split('/');
        let mut found = Vec::new();
        let mut given = segments.iter();
        for wanted in pattern {
            let segment = given.next()?;
            match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => found.push((name, segment.clone())),
                None if wanted == segment => {}
                _ => return None,
            }
        }
        given.next().is_none().then_some(found)
    }
}
