//! Undoes escapes, and remembers where everything stood in the text that was escaped.

/// A byte, and what stands for it in the original.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    pub(super) byte: u8,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// None when there is nothing to undo.
type Decode = fn(&[Unit]) -> Option<Vec<Unit>>;

pub(super) const DECODERS: [Decode; 4] = [json, percent, form, html];

/// The longest name or number of a letter in HTML.
const ENTITY_BYTES_MAXIMUM: usize = 10;

// === impl Unit ===

impl Unit {
    /// Bodies are far smaller than 4 GiB.
    pub(super) fn all(bytes: &[u8]) -> Vec<Self> {
        (0_u32..).zip(bytes).map(|(at, byte)| Self { byte: *byte, start: at, end: at + 1 }).collect()
    }
}

/// `\"`, `\/`, `\n`, `\u0041`
fn json(units: &[Unit]) -> Option<Vec<Unit>> {
    decode(units, b'\\', |rest| {
        let letter = match rest.get(1)?.byte {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return unicode(rest),
            byte @ (b'"' | b'\'' | b'\\' | b'/') => char::from(byte),
            _ => return None,
        };
        Some((letter.to_string().into_bytes(), 2))
    })
}

/// `\u00e9`, or two of them for one letter.
fn unicode(rest: &[Unit]) -> Option<(Vec<u8>, usize)> {
    let unit_at = |at: usize| {
        let is_escape = (rest.get(at)?.byte, rest.get(at + 1)?.byte) == (b'\\', b'u');
        is_escape.then(|| number(rest.get(at + 2..at + 6)?, 16)).flatten()
    };
    let first = u16::try_from(unit_at(0)?).ok()?;
    if let Some(letter) = char::from_u32(first.into()) {
        return Some((letter.to_string().into_bytes(), 6));
    }
    let second = u16::try_from(unit_at(6)?).ok()?;
    String::from_utf16(&[first, second]).ok().map(|letter| (letter.into_bytes(), 12))
}

/// `%2F`
fn percent(units: &[Unit]) -> Option<Vec<Unit>> {
    decode(units, b'%', |rest| Some((vec![u8::try_from(number(rest.get(1..3)?, 16)?).ok()?], 3)))
}

/// `+` for a space.
fn form(units: &[Unit]) -> Option<Vec<Unit>> {
    decode(units, b'+', |_| Some((vec![b' '], 1)))
}

/// `&amp;`, `&#47;`, `&#x2F;`
fn html(units: &[Unit]) -> Option<Vec<Unit>> {
    decode(units, b'&', |rest| {
        let length = rest.iter().take(ENTITY_BYTES_MAXIMUM).position(|unit| unit.byte == b';')?;
        let inner = rest.get(1..length)?;
        let name: Vec<u8> = inner.iter().map(|unit| unit.byte).collect();
        let letter = match name.as_slice() {
            b"amp" => '&',
            b"lt" => '<',
            b"gt" => '>',
            b"quot" => '"',
            b"apos" => '\'',
            [b'#', b'x' | b'X', ..] => char::from_u32(number(inner.get(2..)?, 16)?)?,
            [b'#', ..] => char::from_u32(number(inner.get(1..)?, 10)?)?,
            _ => return None,
        };
        Some((letter.to_string().into_bytes(), length + 1))
    })
}

/// `undo` gives, for an escape that begins here, the bytes that it stands for and its length.
fn decode(units: &[Unit], sign: u8, undo: impl Fn(&[Unit]) -> Option<(Vec<u8>, usize)>) -> Option<Vec<Unit>> {
    let first = units.iter().position(|unit| unit.byte == sign)?;
    let mut decoded: Vec<Unit> = units.get(..first)?.to_vec();
    let (mut at, mut is_changed) = (first, false);
    while let Some(unit) = units.get(at) {
        let rest = units.get(at..).unwrap_or_default();
        let undone = (unit.byte == sign).then(|| undo(rest)).flatten();
        let Some((bytes, length)) = undone else {
            decoded.push(*unit);
            at += 1;
            continue;
        };
        let end = rest.get(length - 1).map_or(unit.end, |last| last.end);
        decoded.extend(bytes.into_iter().map(|byte| Unit { byte, start: unit.start, end }));
        at += length;
        is_changed = true;
    }
    is_changed.then_some(decoded)
}

fn number(digits: &[Unit], radix: u32) -> Option<u32> {
    let text: String = digits.iter().map(|unit| char::from(unit.byte)).collect();
    // A sign is no digit.
    u32::from_str_radix(&text, radix).ok().filter(|_| text.chars().all(|letter| letter.is_ascii_hexdigit()))
}
