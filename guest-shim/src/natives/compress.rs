//! gzip, zlib, raw deflate and Brotli, piece by piece.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result as IoResult, Write};
use std::rc::Rc;

use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rquickjs::prelude::Func;
use rquickjs::{Class, Ctx, Object, Result};

use super::failure::{Failure, Outcome};
use super::machine::{Handle, Machine, hand_over};

const UNKNOWN_FORMAT: Failure = Failure { code: "ERR_INVALID_ARG_VALUE", message: "Unsupported compression format" };
const TRUNCATED: Failure = Failure { code: "Z_BUF_ERROR", message: "unexpected end of file" };
const CORRUPT: Failure = Failure { code: "Z_DATA_ERROR", message: "incorrect header check" };

const BROTLI_WINDOW: u32 = 22;
const BUFFER_BYTES: usize = 16 << 10;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("coderStart", Func::from(coder_start))
}

fn coder_start<'js>(ctx: Ctx<'js>, format: String, is_compress: bool, level: i32) -> Result<Class<'js, Handle>> {
    hand_over(ctx, if is_compress { compressor(&format, level) } else { expander(&format) })
}

fn compressor(format: &str, level: i32) -> Outcome<Box<dyn Machine>> {
    // -1 is zlib's way of saying "the usual".
    let compression =
        u32::try_from(level).map_or_else(|_| Compression::default(), |level| Compression::new(level.min(9)));
    Ok(match format {
        "gzip" => Coder::boxed(GzEncoder::new(Vec::new(), compression)),
        "zlib" | "deflate" => Coder::boxed(ZlibEncoder::new(Vec::new(), compression)),
        "deflate-raw" => Coder::boxed(DeflateEncoder::new(Vec::new(), compression)),
        "brotli" => {
            let quality = u32::try_from(level).ok().filter(|level| *level <= 11).unwrap_or(6);
            let writer = brotli::CompressorWriter::new(Vec::new(), BUFFER_BYTES, quality, BROTLI_WINDOW);
            Coder::boxed(BrotliEncoder { writer: Some(writer), rest: Vec::new() })
        }
        _ => return Err(UNKNOWN_FORMAT),
    })
}

fn expander(format: &str) -> Outcome<Box<dyn Machine>> {
    let feed = Feed::default();
    let reader: Box<dyn Read> = match format {
        "gzip" => Box::new(MultiGzDecoder::new(feed.clone())),
        "zlib" | "deflate" => Box::new(ZlibDecoder::new(feed.clone())),
        "deflate-raw" => Box::new(DeflateDecoder::new(feed.clone())),
        "brotli" => Box::new(brotli::Decompressor::new(feed.clone(), BUFFER_BYTES)),
        _ => return Err(UNKNOWN_FORMAT),
    };
    Ok(Box::new(Expander { feed, reader }))
}

/// Compressed bytes that came so far. Reading more than that would block, until it is known that no more will come.
#[derive(Clone, Default)]
struct Feed(Rc<RefCell<Fed>>);

#[derive(Default)]
struct Fed {
    bytes: VecDeque<u8>,
    is_complete: bool,
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let mut fed = self.0.borrow_mut();
        if fed.bytes.is_empty() && !fed.is_complete {
            return Err(ErrorKind::WouldBlock.into());
        }
        fed.bytes.read(buffer)
    }
}

struct Expander {
    feed: Feed,
    reader: Box<dyn Read>,
}

impl Expander {
    /// All there is now.
    fn read(&mut self) -> Outcome<Vec<u8>> {
        let mut plain = Vec::new();
        let read = self.reader.read_to_end(&mut plain);
        match read {
            Ok(_) => Ok(plain),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(plain),
            Err(_) => Err(CORRUPT),
        }
    }
}

impl Machine for Expander {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>> {
        self.feed.0.borrow_mut().bytes.extend(data);
        self.read()
    }

    fn finish(&mut self, _: &[u8]) -> Outcome<Vec<u8>> {
        self.feed.0.borrow_mut().is_complete = true;
        // What was wrong with the bytes was found when they came; now only some can be missing.
        self.read().map_err(|_| TRUNCATED)
    }
}

/// A writer whose output is taken out after every piece.
trait Code: Write {
    fn output(&mut self) -> &mut Vec<u8>;

    fn end(&mut self) -> IoResult<()>;
}

struct Coder<W> {
    writer: W,
    /// The writers of `flate2` panic when they are used after their end.
    is_done: bool,
}

impl<W: Code + 'static> Coder<W> {
    fn boxed(writer: W) -> Box<dyn Machine> {
        Box::new(Self { writer, is_done: false })
    }

    fn write(&mut self, work: impl FnOnce(&mut W) -> IoResult<()>) -> Outcome<Vec<u8>> {
        if self.is_done {
            return Ok(Vec::new());
        }
        let written = work(&mut self.writer);
        match written {
            Ok(()) => Ok(std::mem::take(self.writer.output())),
            Err(_) => Err(CORRUPT),
        }
    }
}

impl<W: Code + 'static> Machine for Coder<W> {
    fn update(&mut self, data: &[u8]) -> Outcome<Vec<u8>> {
        self.write(|writer| writer.write_all(data))
    }

    fn flush(&mut self) -> Outcome<Vec<u8>> {
        self.write(Write::flush)
    }

    fn finish(&mut self, _: &[u8]) -> Outcome<Vec<u8>> {
        let rest = self.write(Code::end);
        self.is_done = rest.is_ok();
        rest
    }
}

macro_rules! code_with_flate2 {
    ($($writer:ident),*) => {$(
        impl Code for $writer<Vec<u8>> {
            fn output(&mut self) -> &mut Vec<u8> {
                self.get_mut()
            }

            fn end(&mut self) -> IoResult<()> {
                self.try_finish()
            }
        }
    )*};
}
code_with_flate2!(GzEncoder, ZlibEncoder, DeflateEncoder);

/// Brotli ends its stream when the writer is given up.
struct BrotliEncoder {
    writer: Option<brotli::CompressorWriter<Vec<u8>>>,
    rest: Vec<u8>,
}

impl Write for BrotliEncoder {
    fn write(&mut self, data: &[u8]) -> IoResult<usize> {
        self.writer.as_mut().map_or(Ok(data.len()), |writer| writer.write(data))
    }

    fn flush(&mut self) -> IoResult<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Code for BrotliEncoder {
    fn output(&mut self) -> &mut Vec<u8> {
        match &mut self.writer {
            Some(writer) => writer.get_mut(),
            None => &mut self.rest,
        }
    }

    fn end(&mut self) -> IoResult<()> {
        if let Some(writer) = self.writer.take() {
            self.rest = writer.into_inner();
        }
        Ok(())
    }
}
