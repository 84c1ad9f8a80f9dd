//! Protocol Buffers on the wire, as far as OTLP needs them: fields are written one by one, and an answer is read the same way.

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

/// A message that is being written. A field with the value that an absent one has is left out.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// The fields of a message: the number of each, and its value. Ends where the bytes are no message.
pub(super) struct Fields<'a>(&'a [u8]);

#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

// === impl Message ===

impl Message {
    pub(super) fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.chosen_number(field, number);
        }
    }

    /// One of several alternatives: that it is there says which, also with the value zero.
    pub(super) fn chosen_number(&mut self, field: u64, number: u64) {
        self.tag(field, VARINT);
        self.varint(number);
    }

    pub(super) fn chosen_text(&mut self, field: u64, text: &str) {
        self.whole(field, text.as_bytes());
    }

    pub(super) fn fixed64(&mut self, field: u64, number: u64) {
        self.tag(field, FIXED64);
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn fixed32(&mut self, field: u64, number: u32) {
        self.tag(field, FIXED32);
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.whole(field, bytes);
        }
    }

    pub(super) fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.whole(field, &inner.0);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn whole(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

// === impl Fields ===

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn taken(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            VARINT => Value::Number(self.varint()?),
            FIXED64 => Value::Bytes(self.taken(8)?),
            FIXED32 => Value::Bytes(self.taken(4)?),
            LENGTH => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.taken(length)?)
            }
            _ => return None,
        };
        Some((tag >> 3, value))
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, Message, Value};

    #[test]
    fn what_is_written_is_read_back_and_defaults_are_left_out() {
        let mut message = Message::default();
        message.number(1, 300);
        message.number(2, 0);
        message.text(3, "");
        message.text(16, "text");
        message.fixed32(5, 7);
        message.message(6, |inner| inner.number(1, u64::MAX));
        let bytes = message.into_bytes();

        assert!(bytes.starts_with(&[0x08, 0xac, 0x02]), "as the specification's own example: {bytes:?}");
        let fields: Vec<_> = Fields::of(&bytes).collect();
        assert_eq!(
            fields[..3],
            [(1, Value::Number(300)), (16, Value::Bytes(b"text")), (5, Value::Bytes(&[7, 0, 0, 0]))]
        );
        let (6, Value::Bytes(inner)) = &fields[3] else { panic!("{fields:?}") };
        assert_eq!(Fields::of(inner).collect::<Vec<_>>(), [(1, Value::Number(u64::MAX))]);
    }

    #[test]
    fn bytes_that_are_no_message_end_where_they_stop_being_one() {
        for bytes in [&[0x80][..], &[0x0a, 5, 1], &[0x0b], &[0xff; 11], &[0x09, 1, 2]] {
            assert_eq!(Fields::of(bytes).next(), None, "{bytes:?}");
        }
    }
}
