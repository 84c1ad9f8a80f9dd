//! Changes to a source text that leave every line where it is.

/// Replacements of pieces that do not overlap, in any order.
#[derive(Debug, Default)]
pub(super) struct Edits {
    pieces: Vec<(usize, usize, String)>,
}

// === impl Edits ===

impl Edits {
    /// Replaces a piece. The line breaks it held follow the new text.
    pub(super) fn replace(&mut self, source: &str, (start, end): (u32, u32), text: impl Into<String>) {
        let (start, end) = (start as usize, end as usize);
        let removed = source.get(start..end).unwrap_or_default();
        let mut text = text.into();
        text.extend(removed.chars().filter(|letter| is_line_break(*letter)));
        self.pieces.push((start, end, text));
    }

    pub(super) fn insert(&mut self, at: u32, text: impl Into<String>) {
        self.pieces.push((at as usize, at as usize, text.into()));
    }

    pub(super) fn apply(mut self, source: &str) -> String {
        // Stable, so that insertions at one place stay in order; an insertion goes before a replacement.
        self.pieces.sort_by_key(|(start, end, _)| (*start, *end));
        let mut result = String::with_capacity(source.len() + source.len() / 4);
        let mut done = 0;
        for (start, end, text) in &self.pieces {
            if *start < done {
                continue;
            }
            result.push_str(source.get(done..*start).unwrap_or_default());
            result.push_str(text);
            done = *end;
        }
        result.push_str(source.get(done..).unwrap_or_default());
        result
    }
}

/// Without `\r`: it comes with `\n`, and files with `\r` alone are too rare to count their lines.
fn is_line_break(letter: char) -> bool {
    matches!(letter, '\n' | '\u{2028}' | '\u{2029}')
}
