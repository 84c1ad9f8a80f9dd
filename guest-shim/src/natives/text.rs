//! Strings to bytes and back, in all the ways the web and Node know.
//!
//! A JavaScript string is UTF-16 and may hold lone surrogates, which Rust's strings cannot; where they must survive, the
//! units are read and written as such.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{CoderResult, DecoderResult, Encoding, UTF_8};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Error, Function, Object, Result, String as JsString, Value, qjs};

use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};

const UNKNOWN_LABEL: Failure = Failure { code: "ERR_ENCODING_NOT_SUPPORTED", message: "The encoding is not supported" };
const MALFORMED: Failure =
    Failure { code: "ERR_ENCODING_INVALID_ENCODED_DATA", message: "The encoded data was not valid for the encoding" };

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("encodeUtf8", Func::from(encode_utf8))?;
    host.set("decodeText", Func::from(decode_text))?;
    host.set("textDecoder", Func::from(text_decoder))?;
    host.set("encodingName", Func::from(encoding_name))?;
    host.set("encodeLatin1", Func::from(encode_latin1))?;
    host.set("decodeLatin1", Func::from(decode_latin1))?;
    host.set("encodeUtf16le", Func::from(encode_utf16le))?;
    host.set("decodeUtf16le", Func::from(decode_utf16le))?;
    host.set("encodeBase64", Func::from(encode_base64))?;
    host.set("decodeBase64", Func::from(|ctx, text: JsString<'_>| give(ctx, Ok(decode_base64(&units(&text)?)))))?;
    host.set("encodeHex", Func::from(encode_hex))?;
    host.set("decodeHex", Func::from(|ctx, text: JsString<'_>| give(ctx, Ok(decode_hex(&units(&text)?)))))
}

fn encoding(label: &str) -> Option<&'static Encoding> {
    // The "replacement" encoding exists to refuse; TextDecoder must not offer it.
    Encoding::for_label_no_replacement(label.as_bytes())
}

fn encoding_name(label: String) -> Option<String> {
    encoding(&label).map(|found| found.name().to_ascii_lowercase())
}

fn decode_text(ctx: Ctx<'_>, label: String, bytes: Bytes<'_>, is_fatal: bool, ignore_bom: bool) -> Result<String> {
    attempt(&ctx, decode(&label, slice(&bytes), is_fatal, ignore_bom))
}

fn decode(label: &str, bytes: &[u8], is_fatal: bool, ignore_bom: bool) -> Outcome<String> {
    let encoding = encoding(label).ok_or(UNKNOWN_LABEL)?;
    if encoding == UTF_8 {
        let bytes = if ignore_bom { bytes } else { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) };
        return match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) if is_fatal => Err(MALFORMED),
            Err(_) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        };
    }
    decode_piece(&mut new_decoder(encoding, ignore_bom), bytes, true, is_fatal)
}

fn new_decoder(encoding: &'static Encoding, ignore_bom: bool) -> encoding_rs::Decoder {
    if ignore_bom { encoding.new_decoder_without_bom_handling() } else { encoding.new_decoder_with_bom_removal() }
}

/// A function `(bytes, isLast, isFatal) => string` that remembers what a piece left unfinished.
fn text_decoder<'js>(ctx: Ctx<'js>, label: String, ignore_bom: bool) -> Result<Function<'js>> {
    let encoding = attempt(&ctx, encoding(&label).ok_or(UNKNOWN_LABEL))?;
    let decoder = std::cell::RefCell::new(new_decoder(encoding, ignore_bom));
    Function::new(ctx, move |ctx: Ctx<'js>, bytes: Bytes<'js>, is_last: bool, is_fatal: bool| {
        let mut decoder = decoder.borrow_mut();
        let text = decode_piece(&mut decoder, slice(&bytes), is_last, is_fatal);
        if is_last || text.is_err() {
            *decoder = new_decoder(encoding, ignore_bom);
        }
        attempt(&ctx, text)
    })
}

fn decode_piece(decoder: &mut encoding_rs::Decoder, bytes: &[u8], is_last: bool, is_fatal: bool) -> Outcome<String> {
    let bound = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
    let mut text = String::with_capacity(bound);
    if is_fatal {
        let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, is_last);
        return if result == DecoderResult::InputEmpty { Ok(text) } else { Err(MALFORMED) };
    }
    let (result, _, _) = decoder.decode_to_string(bytes, &mut text, is_last);
    debug_assert!(result == CoderResult::InputEmpty, "the buffer has the size the decoder asked for");
    Ok(text)
}

/// UTF-8 as the web encodes: a lone surrogate becomes U+FFFD.
fn encode_utf8<'js>(ctx: Ctx<'js>, text: JsString<'js>) -> Result<Bytes<'js>> {
    let encoded = match text.to_string() {
        Ok(text) => text,
        Err(Error::Utf8(_)) => String::from_utf16_lossy(&units(&text)?),
        Err(error) => return Err(error),
    };
    give(ctx, Ok(encoded.into_bytes()))
}

fn encode_latin1<'js>(ctx: Ctx<'js>, text: JsString<'js>) -> Result<Bytes<'js>> {
    give(ctx, Ok(units(&text)?.into_iter().map(|unit| unit as u8).collect()))
}

fn decode_latin1(bytes: Bytes<'_>) -> String {
    slice(&bytes).iter().map(|&byte| char::from(byte)).collect()
}

fn encode_utf16le<'js>(ctx: Ctx<'js>, text: JsString<'js>) -> Result<Bytes<'js>> {
    give(ctx, Ok(units(&text)?.into_iter().flat_map(u16::to_le_bytes).collect()))
}

fn decode_utf16le<'js>(ctx: Ctx<'js>, bytes: Bytes<'js>) -> Result<Value<'js>> {
    let (pairs, _) = slice(&bytes).as_chunks();
    let units: Vec<u16> = pairs.iter().map(|&pair| u16::from_le_bytes(pair)).collect();
    string_of_units(&ctx, &units)
}

fn encode_base64(bytes: Bytes<'_>, is_url: bool) -> String {
    if is_url { URL_SAFE.encode(slice(&bytes)) } else { STANDARD.encode(slice(&bytes)) }
}

fn encode_hex(bytes: Bytes<'_>) -> String {
    let digits = slice(&bytes).iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The UTF-16 units of a string.
pub(super) fn units(text: &JsString<'_>) -> Result<Vec<u16>> {
    let ctx = text.ctx().as_raw().as_ptr();
    let mut length = std::mem::MaybeUninit::uninit();
    // SAFETY: QuickJS lends `length` units until they are given back; they are copied before.
    unsafe {
        let start = qjs::JS_ToCStringLenUTF16(ctx, length.as_mut_ptr(), text.as_raw());
        if start.is_null() {
            return Err(Error::Exception);
        }
        let units = std::slice::from_raw_parts(start, length.assume_init() as usize).to_vec();
        qjs::JS_FreeCStringUTF16(ctx, start);
        Ok(units)
    }
}

fn string_of_units<'js>(ctx: &Ctx<'js>, units: &[u16]) -> Result<Value<'js>> {
    // SAFETY: the units are copied into a new string, which the context owns.
    unsafe {
        let value = qjs::JS_NewStringUTF16(ctx.as_raw().as_ptr(), units.as_ptr(), units.len() as _);
        if qjs::JS_IsException(value) { Err(Error::Exception) } else { Ok(Value::from_raw(ctx.clone(), value)) }
    }
}

/// As Node decodes: both alphabets, other characters are passed over, padding ends the text.
pub(super) fn decode_base64(text: &[u16]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(text.len());
    for &unit in text {
        match u8::try_from(unit) {
            Ok(b'=') => break,
            Ok(b'-') => digits.push(b'+'),
            Ok(b'_') => digits.push(b'/'),
            Ok(digit) if digit.is_ascii_alphanumeric() || matches!(digit, b'+' | b'/') => digits.push(digit),
            _ => {}
        }
    }
    // A single digit left over holds no whole byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    STANDARD.decode(digits).unwrap_or_default()
}

/// As Node decodes: up to the first pair that is not hexadecimal.
fn decode_hex(text: &[u16]) -> Vec<u8> {
    let digit = |unit: u16| char::from_u32(unit.into()).and_then(|at| at.to_digit(16));
    let (pairs, _) = text.as_chunks();
    pairs.iter().map_while(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8)).collect()
}
