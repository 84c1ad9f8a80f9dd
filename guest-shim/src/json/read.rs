//! From a text to a value, in one pass over its bytes.

use rquickjs::qjs;

use super::MAX_DEPTH;

/// Fields of objects that are not at their end yet, for which there is room at once.
const OPEN_FIELDS: usize = 64;

unsafe extern "C" {
    /// Of patches/quickjs-shapes.patch.
    fn JS_NewObjectOf(
        context: *mut qjs::JSContext,
        count: i32,
        names: *const qjs::JSAtom,
        values: *const qjs::JSValue,
    ) -> qjs::JSValue;
}

/// The value, or none when QuickJS had better look at it.
pub(super) fn parse(context: *mut qjs::JSContext, text: &[u8]) -> Option<qjs::JSValue> {
    let mut reader = Reader {
        context,
        text,
        at: 0,
        unescaped: Vec::new(),
        names: Vec::with_capacity(OPEN_FIELDS),
        values: Vec::with_capacity(OPEN_FIELDS),
    };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at == text.len() {
        return Some(value);
    }
    free(context, value);
    None
}

fn free(context: *mut qjs::JSContext, value: qjs::JSValue) {
    // SAFETY: only values made here, and not yet given away, are freed.
    unsafe { qjs::JS_FreeValue(context, value) }
}

struct Reader<'a> {
    context: *mut qjs::JSContext,
    text: &'a [u8],
    at: usize,
    /// The last string that had an escape in it.
    unescaped: Vec<u8>,
    /// Of objects that are not at their end yet: each is made of all its fields at once.
    names: Vec<qjs::JSAtom>,
    /// Of objects and arrays.
    values: Vec<qjs::JSValue>,
}

/// What objects and arrays around one have read so far.
#[derive(Clone, Copy)]
struct Before {
    names: usize,
    values: usize,
}

/// A string of the text: as it stands there, or in `unescaped`.
struct Found<'a> {
    plain: Option<&'a [u8]>,
    is_ascii: bool,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<qjs::JSValue> {
        self.skip_space();
        match *self.text.get(self.at)? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string_value(),
            b't' => self.literal(b"true", qjs::JS_TRUE),
            b'f' => self.literal(b"false", qjs::JS_FALSE),
            b'n' => self.literal(b"null", qjs::JS_NULL),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<qjs::JSValue> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        if self.take(b'}') {
            // SAFETY: the context is alive.
            return made(unsafe { qjs::JS_NewObject(self.context) });
        }
        let before = self.before();
        let object = self.fields(depth).and_then(|()| self.object_of(before));
        self.go_back(before);
        object
    }

    fn fields(&mut self, depth: usize) -> Option<()> {
        loop {
            self.skip_space();
            let name = self.name()?;
            self.names.push(name);
            if !self.take(b':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            self.values.push(value);
            if self.take(b'}') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    /// Takes the values over.
    fn object_of(&mut self, before: Before) -> Option<qjs::JSValue> {
        let (names, values) = (&self.names[before.names..], &self.values[before.values..]);
        // SAFETY: there are as many of both; the values are taken over unless the object is undefined, the names are not.
        let object = unsafe { JS_NewObjectOf(self.context, names.len() as i32, names.as_ptr(), values.as_ptr()) };
        // SAFETY: only the value's own bits are looked at.
        let object = match unsafe { qjs::JS_IsUndefined(object) } {
            true => one_by_one(self.context, names, values),
            false => object,
        };
        self.values.truncate(before.values);
        made(object)
    }

    fn array(&mut self, depth: usize) -> Option<qjs::JSValue> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.at += 1;
        let before = self.before();
        let array = if self.take(b']') || self.items(depth).is_some() { self.array_of(before) } else { None };
        self.go_back(before);
        array
    }

    fn items(&mut self, depth: usize) -> Option<()> {
        loop {
            let item = self.value(depth + 1)?;
            self.values.push(item);
            if self.take(b']') {
                return Some(());
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    /// Takes the values over.
    fn array_of(&mut self, before: Before) -> Option<qjs::JSValue> {
        let items = &self.values[before.values..];
        // SAFETY: the values are taken over, also when it fails.
        let array = unsafe { qjs::JS_NewArrayFrom(self.context, items.len() as i32, items.as_ptr()) };
        self.values.truncate(before.values);
        made(array)
    }

    fn before(&self) -> Before {
        Before { names: self.names.len(), values: self.values.len() }
    }

    /// Frees what was read since and not taken over.
    fn go_back(&mut self, before: Before) {
        self.values.drain(before.values..).for_each(|value| free(self.context, value));
        // SAFETY: the names were made here.
        self.names.drain(before.names..).for_each(|name| unsafe { qjs::JS_FreeAtom(self.context, name) });
    }

    fn string_value(&mut self) -> Option<qjs::JSValue> {
        let found = self.string()?;
        let bytes = found.plain.unwrap_or(&self.unescaped);
        // SAFETY: the bytes are copied.
        made(unsafe { qjs::JS_NewStringLen(self.context, bytes.as_ptr().cast(), bytes.len() as _) })
    }

    /// The name of a field.
    fn name(&mut self) -> Option<qjs::JSAtom> {
        let found = self.string()?;
        let bytes = found.plain.unwrap_or(&self.unescaped);
        // SAFETY: the bytes are copied. QuickJS finds names by their bytes only when they are ASCII.
        let atom = unsafe {
            if found.is_ascii {
                qjs::JS_NewAtomLen(self.context, bytes.as_ptr().cast(), bytes.len() as _)
            } else {
                let text = made(qjs::JS_NewStringLen(self.context, bytes.as_ptr().cast(), bytes.len() as _))?;
                let atom = qjs::JS_ValueToAtom(self.context, text);
                qjs::JS_FreeValue(self.context, text);
                atom
            }
        };
        (atom != qjs::JS_ATOM_NULL).then_some(atom)
    }

    fn string(&mut self) -> Option<Found<'a>> {
        if *self.text.get(self.at)? != b'"' {
            return None;
        }
        let begin = self.at + 1;
        let (mut at, mut all) = skip_plain(self.text, begin);
        loop {
            let byte = *self.text.get(at)?;
            match byte {
                b'"' => break,
                b'\\' => return self.escaped_string(begin, at),
                0..0x20 => return None,
                _ => all |= byte,
            }
            at += 1;
        }
        self.at = at + 1;
        self.found(Some(&self.text[begin..at]), all)
    }

    /// A string that stands as it is from `begin`, and has its first escape at `at`.
    fn escaped_string(&mut self, begin: usize, mut at: usize) -> Option<Found<'a>> {
        self.unescaped.clear();
        let (mut plain_from, mut all) = (begin, 0);
        loop {
            let byte = *self.text.get(at)?;
            match byte {
                b'"' => break,
                b'\\' => {
                    self.unescaped.extend_from_slice(&self.text[plain_from..at]);
                    at = self.escape(at + 1)?;
                    plain_from = at;
                    continue;
                }
                0..0x20 => return None,
                _ => all |= byte,
            }
            at += 1;
        }
        self.unescaped.extend_from_slice(&self.text[plain_from..at]);
        self.at = at + 1;
        all |= if self.unescaped.is_ascii() { 0 } else { 0x80 };
        self.found(None, all)
    }

    /// Adds what an escape stands for, and returns where it ends.
    fn escape(&mut self, at: usize) -> Option<usize> {
        let byte = match *self.text.get(at)? {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                // Beyond ASCII escapes come in pairs, or alone where they should not: not the usual case.
                let digits = std::str::from_utf8(self.text.get(at + 1..at + 5)?).ok()?;
                let code = digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)?;
                let code = u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)?;
                self.unescaped.push(code);
                return Some(at + 5);
            }
            _ => return None,
        };
        self.unescaped.push(byte);
        Some(at + 1)
    }

    /// `all` is the union of the bits of all bytes.
    fn found(&self, plain: Option<&'a [u8]>, all: u8) -> Option<Found<'a>> {
        let is_ascii = all < 0x80;
        let bytes = plain.unwrap_or(&self.unescaped);
        (is_ascii || !has_lone_surrogate(bytes)).then_some(Found { plain, is_ascii })
    }

    fn number(&mut self) -> Option<qjs::JSValue> {
        let begin = self.at;
        let is_negative = self.text[begin] == b'-';
        let digits_from = begin + usize::from(is_negative);
        let digits_to = self.skip_digits(digits_from);
        let digits = &self.text[digits_from..digits_to];
        if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
            return None;
        }
        let is_whole = !matches!(self.text.get(digits_to), Some(b'.' | b'e' | b'E'));
        // Up to here a float holds every whole number.
        if is_whole && digits.len() <= 15 && !(is_negative && digits == b"0") {
            self.at = digits_to;
            let size = digits.iter().fold(0_i64, |size, digit| size * 10 + i64::from(digit - b'0'));
            let number = if is_negative { -size } else { size };
            return Some(match i32::try_from(number) {
                Ok(small) => qjs::JS_MKVAL(qjs::JS_TAG_INT, small),
                Err(_) => qjs::JS_NewFloat64(number as f64),
            });
        }
        self.at = self.skip_fraction(digits_to)?;
        let text = std::str::from_utf8(&self.text[begin..self.at]).ok()?;
        Some(qjs::JS_NewFloat64(text.parse().ok()?))
    }

    fn skip_fraction(&self, mut at: usize) -> Option<usize> {
        if self.text.get(at) == Some(&b'.') {
            let end = self.skip_digits(at + 1);
            at = (end > at + 1).then_some(end)?;
        }
        if matches!(self.text.get(at), Some(b'e' | b'E')) {
            let begin = at + 1 + usize::from(matches!(self.text.get(at + 1), Some(b'+' | b'-')));
            let end = self.skip_digits(begin);
            at = (end > begin).then_some(end)?;
        }
        Some(at)
    }

    fn skip_digits(&self, mut at: usize) -> usize {
        while self.text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    }

    fn literal(&mut self, text: &[u8], value: qjs::JSValue) -> Option<qjs::JSValue> {
        let end = self.at + text.len();
        let is_there = self.text.get(self.at..end) == Some(text);
        self.at = end;
        is_there.then_some(value)
    }

    /// Steps over `byte` when it comes next.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_there = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

/// Eight bytes at a time: where a string of the text may end, have an escape, or be wrong, and the union of the bits of the bytes
/// before that.
fn skip_plain(text: &[u8], mut at: usize) -> (usize, u8) {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Not zero when some byte is less than `bound`, which is at most 128.
    let has_less = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGHS;
    let has = |word: u64, byte: u8| has_less(word ^ (ONES * u64::from(byte)), 1);
    let mut all = 0;
    while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*bytes);
        if has(word, b'"') | has(word, b'\\') | has_less(word, 0x20) != 0 {
            break;
        }
        all |= word;
        at += size_of::<u64>();
    }
    (at, if all & HIGHS == 0 { 0 } else { 0x80 })
}

/// An object in which a name comes more than once: the last one counts. Takes the values over.
fn one_by_one(context: *mut qjs::JSContext, names: &[qjs::JSAtom], values: &[qjs::JSValue]) -> qjs::JSValue {
    const FLAGS: i32 = qjs::JS_PROP_C_W_E as i32;
    // SAFETY: the context is alive; each value is taken over where it is defined, or freed.
    unsafe {
        let object = qjs::JS_NewObject(context);
        let mut is_whole = !qjs::JS_IsException(object);
        for (name, value) in names.iter().zip(values) {
            match is_whole {
                true => is_whole = qjs::JS_DefinePropertyValue(context, object, *name, *value, FLAGS) >= 0,
                false => qjs::JS_FreeValue(context, *value),
            }
        }
        if is_whole {
            return object;
        }
        qjs::JS_FreeValue(context, object);
        qjs::JS_EXCEPTION
    }
}

/// Half of a pair has no UTF-8; QuickJS writes it as if it had.
pub(super) fn has_lone_surrogate(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[0] == 0xed && pair[1] >= 0xa0)
}

/// None when QuickJS has thrown, which it does when memory is over.
fn made(value: qjs::JSValue) -> Option<qjs::JSValue> {
    // SAFETY: only the value's own bits are looked at.
    (!unsafe { qjs::JS_IsException(value) }).then_some(value)
}
