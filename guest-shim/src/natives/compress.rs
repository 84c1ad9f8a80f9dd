//! gzip, zlib, raw deflate and Brotli, whole bodies at a time.

use std::io::{ErrorKind, Read, Write};

use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};

use super::failure::{Bytes, Failure, Outcome, give, slice};

const UNKNOWN_FORMAT: Failure = Failure { code: "ERR_INVALID_ARG_VALUE", message: "Unsupported compression format" };
const TRUNCATED: Failure = Failure { code: "Z_BUF_ERROR", message: "unexpected end of file" };
const CORRUPT: Failure = Failure { code: "Z_DATA_ERROR", message: "incorrect header check" };

const BROTLI_WINDOW: i32 = 22;
const BUFFER_BYTES: usize = 16 << 10;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("compress", Func::from(recode))
}

fn recode<'js>(ctx: Ctx<'js>, format: String, is_compress: bool, data: Bytes<'js>, level: i32) -> Result<Bytes<'js>> {
    let data = slice(&data);
    give(ctx, if is_compress { compress(&format, data, level) } else { decompress(&format, data) })
}

fn compress(format: &str, data: &[u8], level: i32) -> Outcome<Vec<u8>> {
    // -1 is zlib's way of saying "the usual".
    let compression =
        u32::try_from(level).map_or_else(|_| Compression::default(), |level| Compression::new(level.min(9)));
    let written = match format {
        "gzip" => finish(GzEncoder::new(Vec::new(), compression), data, GzEncoder::finish),
        "zlib" | "deflate" => finish(ZlibEncoder::new(Vec::new(), compression), data, ZlibEncoder::finish),
        "deflate-raw" => finish(DeflateEncoder::new(Vec::new(), compression), data, DeflateEncoder::finish),
        "brotli" => compress_brotli(data, level),
        _ => return Err(UNKNOWN_FORMAT),
    };
    written.map_err(|_| CORRUPT)
}

fn finish<W: Write>(
    mut encoder: W,
    data: &[u8],
    end: impl FnOnce(W) -> std::io::Result<Vec<u8>>,
) -> std::io::Result<Vec<u8>> {
    encoder.write_all(data)?;
    end(encoder)
}

fn compress_brotli(data: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let quality = if (0..=11).contains(&level) { level } else { 6 };
    let parameters = brotli::enc::BrotliEncoderParams { quality, lgwin: BROTLI_WINDOW, ..Default::default() };
    let mut written = Vec::new();
    brotli::BrotliCompress(&mut &*data, &mut written, &parameters)?;
    Ok(written)
}

fn decompress(format: &str, data: &[u8]) -> Outcome<Vec<u8>> {
    let mut plain = Vec::new();
    let read = match format {
        "gzip" => MultiGzDecoder::new(data).read_to_end(&mut plain),
        "zlib" | "deflate" => ZlibDecoder::new(data).read_to_end(&mut plain),
        "deflate-raw" => DeflateDecoder::new(data).read_to_end(&mut plain),
        "brotli" => brotli::Decompressor::new(data, BUFFER_BYTES).read_to_end(&mut plain),
        _ => return Err(UNKNOWN_FORMAT),
    };
    match read {
        Ok(_) => Ok(plain),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(TRUNCATED),
        Err(_) => Err(CORRUPT),
    }
}
