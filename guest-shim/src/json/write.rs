//! From a value to a text, in one pass over plain data.

use rquickjs::qjs;

use super::MAX_DEPTH;
use super::read::has_lone_surrogate;

/// Of QuickJS's own list of classes, which begins with these two.
const CLASS_OBJECT: u32 = 1;
const CLASS_ARRAY: u32 = 2;
/// Whole numbers up to here are written as JavaScript writes them.
const MAX_WHOLE: f64 = 9_007_199_254_740_991.0;

/// The JSON of a value: none when QuickJS had better look at it, nothing in it for what JSON does not know.
pub(crate) fn text_of(context: *mut qjs::JSContext, value: qjs::JSValue) -> Option<Option<String>> {
    let mut writer = Writer::new(context);
    let is_written = writer.value(value, 0)?;
    Some(is_written.then(|| writer.into_text()))
}

/// The JSON of an emit's metadata. None when something in it is not of its usual type.
pub(crate) fn metadata(context: *mut qjs::JSContext, given: qjs::JSValue) -> Option<String> {
    let mut writer = Writer::new(context);
    // SAFETY: only the value's own bits are looked at.
    if unsafe { qjs::JS_IsUndefined(given) || qjs::JS_IsNull(given) } {
        return Some("{}".to_owned());
    }
    writer.text.extend_from_slice(b"{\"id\":");
    let id = Property::of(context, given, "id")?;
    match id.kind() {
        Kind::Missing => writer.text.extend_from_slice(b"null"),
        Kind::Text | Kind::Number => drop(writer.value(id.value, 0)?),
        Kind::Other => return None,
    }
    for name in ["name", "summary"] {
        let property = Property::of(context, given, name)?;
        match property.kind() {
            Kind::Missing => {}
            Kind::Text => writer.field(name, &property)?,
            Kind::Number | Kind::Other => return None,
        }
    }
    for name in ["ts", "delivery_ts"] {
        let property = Property::of(context, given, name)?;
        match property.kind() {
            Kind::Missing => {}
            Kind::Number if property.is_instant() => writer.field(name, &property)?,
            Kind::Text | Kind::Number | Kind::Other => return None,
        }
    }
    writer.text.push(b'}');
    Some(writer.into_text())
}

/// Of a `Date`.
const LAST_DATE_MS: f64 = 8.64e15;

struct Writer {
    context: *mut qjs::JSContext,
    to_json: Atom,
    text: Vec<u8>,
}

impl Writer {
    fn new(context: *mut qjs::JSContext) -> Self {
        Self { context, to_json: Atom::new(context, "toJSON"), text: Vec::with_capacity(256) }
    }

    fn into_text(self) -> String {
        // SAFETY: QuickJS gives UTF-8 but for lone surrogates, which are refused; everything else is ASCII.
        unsafe { String::from_utf8_unchecked(self.text) }
    }

    /// Whether there was anything to write.
    fn value(&mut self, value: qjs::JSValue, depth: usize) -> Option<bool> {
        // SAFETY: the value is alive, and its tag is looked at before what it stands for.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_NULL => self.text.extend_from_slice(b"null"),
                qjs::JS_TAG_BOOL if qjs::JS_VALUE_GET_BOOL(value) => self.text.extend_from_slice(b"true"),
                qjs::JS_TAG_BOOL => self.text.extend_from_slice(b"false"),
                qjs::JS_TAG_INT => self.whole(i64::from(qjs::JS_VALUE_GET_INT(value))),
                qjs::JS_TAG_FLOAT64 => self.float(value, qjs::JS_VALUE_GET_FLOAT64(value))?,
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => self.quoted(Chars::of_value(self.context, value)?)?,
                qjs::JS_TAG_OBJECT => self.container(value, depth)?,
                qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_SYMBOL => return Some(false),
                _ => return None,
            }
        }
        Some(true)
    }

    fn container(&mut self, value: qjs::JSValue, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        // SAFETY: the value is an object, and alive.
        let class = unsafe { qjs::JS_GetClassID(value) };
        if class != CLASS_OBJECT && class != CLASS_ARRAY {
            return None;
        }
        if !matches!(Property::of_atom(self.context, value, &self.to_json)?.kind(), Kind::Missing) {
            return None;
        }
        if class == CLASS_ARRAY { self.array(value, depth) } else { self.object(value, depth) }
    }

    fn array(&mut self, array: qjs::JSValue, depth: usize) -> Option<()> {
        let mut length = 0;
        // SAFETY: the array is alive; its length is a plain number.
        if unsafe { qjs::JS_GetLength(self.context, array, &mut length) } < 0 {
            return None;
        }
        self.text.push(b'[');
        for index in 0..u32::try_from(length).ok()? {
            if index > 0 {
                self.text.push(b',');
            }
            // SAFETY: the context is alive.
            let name = Atom { context: self.context, atom: unsafe { qjs::JS_NewAtomUInt32(self.context, index) } };
            let item = Property::own(self.context, array, name.atom)?;
            if !self.value(item.value, depth + 1)? {
                self.text.extend_from_slice(b"null");
            }
        }
        self.text.push(b']');
        Some(())
    }

    fn object(&mut self, object: qjs::JSValue, depth: usize) -> Option<()> {
        let names = Names::of(self.context, object)?;
        self.text.push(b'{');
        let mut is_first = true;
        for name in names.as_slice() {
            let field = Property::own(self.context, object, name.atom)?;
            let before = self.text.len();
            if !is_first {
                self.text.push(b',');
            }
            self.quoted(Chars::of_atom(self.context, name.atom)?)?;
            self.text.push(b':');
            if self.value(field.value, depth + 1)? {
                is_first = false;
            } else {
                self.text.truncate(before);
            }
        }
        self.text.push(b'}');
        Some(())
    }

    /// One more field of an object that has one already.
    fn field(&mut self, name: &str, property: &Property) -> Option<()> {
        self.text.extend_from_slice(b",\"");
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
        self.value(property.value, 0).map(drop)
    }

    fn whole(&mut self, number: i64) {
        const DIGITS: usize = 16;
        let mut digits = [0; DIGITS];
        let (mut at, mut size) = (DIGITS, number.unsigned_abs());
        loop {
            at -= 1;
            digits[at] = b'0' + (size % 10) as u8;
            size /= 10;
            if size == 0 {
                break;
            }
        }
        if number < 0 {
            self.text.push(b'-');
        }
        self.text.extend_from_slice(&digits[at..]);
    }

    fn float(&mut self, value: qjs::JSValue, number: f64) -> Option<()> {
        if !number.is_finite() {
            self.text.extend_from_slice(b"null");
        } else if number.trunc() == number && number.abs() <= MAX_WHOLE {
            self.whole(number as i64);
        } else {
            let chars = Chars::of_value(self.context, value)?;
            self.text.extend_from_slice(chars.bytes());
        }
        Some(())
    }

    fn quoted(&mut self, chars: Chars) -> Option<()> {
        let bytes = chars.bytes();
        self.text.reserve(bytes.len() + 2);
        self.text.push(b'"');
        let (mut plain_from, mut all) = (0, 0);
        for (at, &byte) in bytes.iter().enumerate() {
            all |= byte;
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.text.extend_from_slice(&bytes[plain_from..at]);
            self.escape(byte);
            plain_from = at + 1;
        }
        self.text.extend_from_slice(&bytes[plain_from..]);
        self.text.push(b'"');
        (all < 0x80 || !has_lone_surrogate(bytes)).then_some(())
    }

    fn escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' | b'\\' => byte,
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                self.text.extend_from_slice(b"\\u00");
                return self.text.extend_from_slice(&digits);
            }
        };
        self.text.extend_from_slice(&[b'\\', short]);
    }
}

/// What a property holds, as far as it matters here.
enum Kind {
    Missing,
    Text,
    Number,
    Other,
}

/// The value of a property, given back when dropped.
struct Property {
    context: *mut qjs::JSContext,
    value: qjs::JSValue,
}

impl Property {
    fn of(context: *mut qjs::JSContext, object: qjs::JSValue, name: &str) -> Option<Self> {
        Self::of_atom(context, object, &Atom::new(context, name))
    }

    /// Its own or inherited.
    fn of_atom(context: *mut qjs::JSContext, object: qjs::JSValue, name: &Atom) -> Option<Self> {
        // SAFETY: object and name are alive; the value is owned from here on.
        let value = unsafe { qjs::JS_GetProperty(context, object, name.atom) };
        // SAFETY: only the value's own bits are looked at.
        (!unsafe { qjs::JS_IsException(value) }).then_some(Self { context, value })
    }

    /// Its own, and plain data.
    fn own(context: *mut qjs::JSContext, object: qjs::JSValue, name: qjs::JSAtom) -> Option<Self> {
        let undefined = qjs::JS_UNDEFINED;
        let mut found = qjs::JSPropertyDescriptor { flags: 0, value: undefined, getter: undefined, setter: undefined };
        // SAFETY: object and name are alive; what is found is owned from here on.
        unsafe {
            if qjs::JS_GetOwnProperty(context, &mut found, object, name) != 1 {
                return None;
            }
            let property = Self { context, value: found.value };
            if found.flags & qjs::JS_PROP_GETSET as i32 == 0 {
                return Some(property);
            }
            qjs::JS_FreeValue(context, found.getter);
            qjs::JS_FreeValue(context, found.setter);
            None
        }
    }

    fn kind(&self) -> Kind {
        // SAFETY: only the value's own bits are looked at.
        match unsafe { qjs::JS_VALUE_GET_NORM_TAG(self.value) } {
            qjs::JS_TAG_UNDEFINED | qjs::JS_TAG_NULL => Kind::Missing,
            qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => Kind::Text,
            qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => Kind::Number,
            _ => Kind::Other,
        }
    }

    /// A number of milliseconds that a date can have.
    fn is_instant(&self) -> bool {
        // SAFETY: the tag is looked at before what it stands for.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(self.value) {
                qjs::JS_TAG_INT => true,
                qjs::JS_TAG_FLOAT64 => qjs::JS_VALUE_GET_FLOAT64(self.value).abs() <= LAST_DATE_MS,
                _ => false,
            }
        }
    }
}

impl Drop for Property {
    fn drop(&mut self) {
        // SAFETY: it is owned.
        unsafe { qjs::JS_FreeValue(self.context, self.value) }
    }
}

/// A name, given back when dropped.
struct Atom {
    context: *mut qjs::JSContext,
    atom: qjs::JSAtom,
}

impl Atom {
    fn new(context: *mut qjs::JSContext, name: &str) -> Self {
        // SAFETY: the name is copied.
        Self { context, atom: unsafe { qjs::JS_NewAtomLen(context, name.as_ptr().cast(), name.len() as _) } }
    }
}

impl Drop for Atom {
    fn drop(&mut self) {
        // SAFETY: it is owned.
        unsafe { qjs::JS_FreeAtom(self.context, self.atom) }
    }
}

/// The names of an object's enumerable fields, in their order.
struct Names {
    context: *mut qjs::JSContext,
    table: *mut qjs::JSPropertyEnum,
    length: u32,
}

impl Names {
    fn of(context: *mut qjs::JSContext, object: qjs::JSValue) -> Option<Self> {
        let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as i32;
        let mut names = Self { context, table: std::ptr::null_mut(), length: 0 };
        // SAFETY: the object is alive; the table is owned from here on.
        let listed =
            unsafe { qjs::JS_GetOwnPropertyNames(context, &mut names.table, &mut names.length, object, flags) };
        (listed == 0).then_some(names)
    }

    fn as_slice(&self) -> &[qjs::JSPropertyEnum] {
        if self.table.is_null() {
            return &[];
        }
        // SAFETY: QuickJS filled in so many.
        unsafe { std::slice::from_raw_parts(self.table, self.length as usize) }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: it is owned; QuickJS takes a null table for an empty one.
        unsafe { qjs::JS_FreePropertyEnum(self.context, self.table, self.length) }
    }
}

/// The UTF-8 of a string, lent by QuickJS.
struct Chars {
    context: *mut qjs::JSContext,
    start: *const std::ffi::c_char,
    length: usize,
}

impl Chars {
    fn of_value(context: *mut qjs::JSContext, value: qjs::JSValue) -> Option<Self> {
        let mut length = 0;
        // SAFETY: the value is alive, a string or a number: no code of the component runs.
        let start = unsafe { qjs::JS_ToCStringLen2(context, &mut length, value, false) };
        (!start.is_null()).then_some(Self { context, start, length: length as usize })
    }

    fn of_atom(context: *mut qjs::JSContext, atom: qjs::JSAtom) -> Option<Self> {
        let mut length = 0;
        // SAFETY: the atom is alive.
        let start = unsafe { qjs::JS_AtomToCStringLen(context, &mut length, atom) };
        (!start.is_null()).then_some(Self { context, start, length: length as usize })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: QuickJS lent so many, until they are given back.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for Chars {
    fn drop(&mut self) {
        // SAFETY: it was lent.
        unsafe { qjs::JS_FreeCString(self.context, self.start) }
    }
}
