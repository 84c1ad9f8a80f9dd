//! Names for what the lowered code adds, none of which the author uses.

/// Letters after the stem tell them apart.
pub(super) struct Names {
    stem: String,
}

// === impl Names ===

impl Names {
    /// A stem that occurs nowhere in the source, not even in a comment.
    pub(super) fn unused_in(source: &str) -> Self {
        let stems = std::iter::once("$".to_owned()).chain((0_u32..).map(|number| format!("$w{number}_")));
        let mut free = stems.filter(|stem| !source.contains(stem.as_str()));
        Self { stem: free.next().unwrap_or_default() }
    }

    pub(super) fn for_common_js() -> Self {
        Self { stem: String::new() }
    }

    pub(super) fn module(&self) -> String {
        self.with("m")
    }

    pub(super) fn require(&self) -> String {
        self.with("r")
    }

    pub(super) fn helper(&self) -> String {
        self.with("h")
    }

    pub(super) fn record(&self) -> String {
        self.with("e")
    }

    pub(super) fn default(&self) -> String {
        self.with("d")
    }

    pub(super) fn meta(&self) -> String {
        self.with("u")
    }

    pub(super) fn request(&self, index: usize) -> String {
        self.with(&index.to_string())
    }

    /// What `require` returned for it.
    pub(super) fn required(&self, index: usize) -> String {
        self.with(&format!("v{index}"))
    }

    fn with(&self, tail: &str) -> String {
        format!("{}{tail}", self.stem)
    }
}

/// A JavaScript string.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A property of a namespace. Reserved words are fine after a dot.
pub(super) fn access(variable: &str, name: &str) -> String {
    let is_start = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '$');
    let is_plain = name.starts_with(is_start) && name.chars().all(|letter| is_start(letter) || letter.is_ascii_digit());
    if is_plain { format!("{variable}.{name}") } else { format!("{variable}[{}]", quote(name)) }
}
