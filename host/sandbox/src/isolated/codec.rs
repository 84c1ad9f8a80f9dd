//! Bytes of a frame: whole numbers in little-endian order, and texts and lists with their length before them.
//!
//! Input is not trusted: a length beyond the frame is an error, and no memory is reserved by a length alone.

use bytes::{Buf, Bytes};

/// What a frame begins with: its length without this, its kind, and the run it belongs to.
pub(super) const LENGTH_BYTES: usize = 4;
pub(super) const HEADER_BYTES: usize = LENGTH_BYTES + 1 + 8;

/// The largest frame either side takes: what a run returned may be as large as its memory, and its events come on top.
pub(super) const MAX_FRAME_BYTES: usize = 256 << 20;

/// Bytes that are not what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(super) &'static str);

/// Appends one frame to a buffer. The length is set when it is dropped.
pub(super) struct Encoder<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
}

pub(super) struct Decoder {
    rest: Bytes,
}

// === impl Encoder ===

impl<'a> Encoder<'a> {
    pub(super) fn frame(buffer: &'a mut Vec<u8>, kind: u8, run: u64) -> Self {
        let start = buffer.len();
        buffer.extend_from_slice(&[0; LENGTH_BYTES]);
        let mut frame = Self { buffer, start };
        frame.u8(kind);
        frame.u64(run);
        frame
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.buffer.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.buffer.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn size(&mut self, value: usize) {
        self.u64(value as u64);
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// Longer than a frame may be, its length is cut, and the frame is refused by `Outbox`.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.buffer.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.u32(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            write(self, item);
        }
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        let length = u32::try_from(self.buffer.len() - self.start - LENGTH_BYTES).unwrap_or(u32::MAX);
        if let Some(place) = self.buffer.get_mut(self.start..self.start + LENGTH_BYTES) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }
}

// === impl Decoder ===

impl Decoder {
    pub(super) fn new(rest: Bytes) -> Self {
        Self { rest }
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.rest.try_get_u8().map_err(|_| SHORT)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.rest.try_get_u16_le().map_err(|_| SHORT)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.rest.try_get_u32_le().map_err(|_| SHORT)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.rest.try_get_u64_le().map_err(|_| SHORT)
    }

    pub(super) fn size(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.u64()?).map_err(|_| Malformed("a size of no machine"))
    }

    pub(super) fn f64(&mut self) -> Result<f64, Malformed> {
        Ok(f64::from_bits(self.u64()?))
    }

    pub(super) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a flag that is neither set nor not")),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.u32()? as usize;
        if length > self.rest.len() {
            return Err(SHORT);
        }
        Ok(self.rest.split_to(length))
    }

    pub(super) fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.bytes()?;
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| Malformed("text that is not UTF-8"))
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// At most so many items: an item takes more room in memory than in a frame.
    pub(super) fn list<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let length = self.u32()? as usize;
        if length > most {
            return Err(Malformed("a list that is too long"));
        }
        (0..length).map(|_| read(self)).collect()
    }

    /// Nothing may follow.
    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("a frame with something after its end")) }
    }
}

const SHORT: Malformed = Malformed("a frame that ends too early");
