//! The socket between host and worker: bytes in both directions, and open files from the host to the worker.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use tokio::io::unix::AsyncFd;

use super::codec::{HEADER_BYTES, LENGTH_BYTES, MAX_FRAME_BYTES, Malformed};
use super::protocol::Frame;

/// What is read at once, unless a frame is known to be larger.
const READ_BYTES: usize = 32 << 10;
/// Most files that come with one frame.
const MOST_FILES: usize = 4;
/// Room for the control message with that many files, in words so that it is aligned.
const CONTROL_WORDS: usize = 8;

/// A pair of connected sockets that do not block.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (host, worker) = UnixStream::pair()?;
    host.set_nonblocking(true)?;
    worker.set_nonblocking(true)?;
    Ok((host.into(), worker.into()))
}

/// Lets the current runtime wait for a socket.
pub(super) fn register(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(unsafe_code, reason = "a descriptor that changed while it is registered would be mistaken for another")]
    // SAFETY: an owned descriptor is the same for as long as it lives, and is closed only when it is dropped.
    let registered = unsafe { AsyncFd::register(socket) };
    registered.map_err(Into::into)
}

/// What came and is not yet a whole frame.
#[derive(Default)]
pub(super) struct Inbox {
    buffer: BytesMut,
    files: VecDeque<OwnedFd>,
}

/// What one read brought.
pub(super) enum Received {
    /// There may be more.
    More,
    /// There is no more for now.
    Drained,
    Closed,
}

// === impl Inbox ===

impl Inbox {
    /// Reads once. With `takes_files`, descriptors that came along are kept for the frames they belong to; without, the
    /// kernel closes them.
    pub(super) fn receive(&mut self, socket: RawFd, takes_files: bool) -> io::Result<Received> {
        let wanted = self.missing_bytes().clamp(READ_BYTES, 4 << 20);
        self.buffer.reserve(wanted);
        let room = self.buffer.spare_capacity_mut();
        let room_bytes = room.len();
        let (pointer, length) = (room.as_mut_ptr().cast(), room_bytes);
        let (read, files) = receive(socket, pointer, length, takes_files)?;
        if read == 0 {
            return Ok(Received::Closed);
        }
        #[expect(unsafe_code, reason = "the system has written these bytes")]
        // SAFETY: `receive` wrote so many bytes to the room after the buffer's length.
        unsafe {
            self.buffer.set_len(self.buffer.len() + read);
        }
        // A read ends where files came along, also when there is more.
        let is_drained = read < room_bytes && files.is_empty();
        self.files.extend(files);
        Ok(if is_drained { Received::Drained } else { Received::More })
    }

    /// The next whole frame.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, Malformed> {
        let Some(length) = self.frame_bytes() else { return Ok(None) };
        if !(HEADER_BYTES..=MAX_FRAME_BYTES).contains(&length) {
            return Err(Malformed("a frame of an impossible length"));
        }
        if self.buffer.len() < length {
            return Ok(None);
        }
        let mut frame = self.buffer.split_to(length).freeze();
        let header = frame.split_to(HEADER_BYTES);
        let (Some(kind), Some(run)) = (header.get(LENGTH_BYTES), header.get(LENGTH_BYTES + 1..)) else {
            return Err(Malformed("a frame without a header"));
        };
        let run = run.try_into().map(u64::from_le_bytes).map_err(|_| Malformed("a frame without a header"))?;
        Ok(Some(Frame { kind: *kind, run, body: frame }))
    }

    /// The next of the files that came along.
    pub(super) fn take_file(&mut self) -> Result<File, Malformed> {
        self.files.pop_front().map(File::from).ok_or(Malformed("a frame without its files"))
    }

    /// With its header.
    fn frame_bytes(&self) -> Option<usize> {
        let length = self.buffer.first_chunk::<LENGTH_BYTES>()?;
        Some((u32::from_le_bytes(*length) as usize).saturating_add(LENGTH_BYTES))
    }

    fn missing_bytes(&self) -> usize {
        self.frame_bytes().map_or(0, |length| length.saturating_sub(self.buffer.len()))
    }
}

/// A file without a name, which only memory holds.
pub(super) fn memory_file(name: &'static str) -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?))
}

/// The same with content, to be read from its start and never written.
pub(super) fn memory_file_of(name: &'static str, content: &[u8]) -> io::Result<File> {
    let mut file = memory_file(name)?;
    file.write_all(content)?;
    file.rewind()?;
    read_only(&file)
}

/// The same file, opened again to be read only: whatever receives it cannot write to it.
pub(super) fn read_only(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Sends what the socket takes.
#[expect(unsafe_code, reason = "files are passed by a control message, which is a structure of C")]
pub(super) fn send(socket: RawFd, bytes: &[u8], files: &[OwnedFd]) -> io::Result<usize> {
    if files.len() > MOST_FILES {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = [0u64; CONTROL_WORDS];
    // SAFETY: a message of zeros is an empty one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !files.is_empty() {
        let length = size_of_val(files) as u32;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: `control` has room for the header and `MOST_FILES` descriptors, and is aligned for the header.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(length) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(length) as _;
            let data = libc::CMSG_DATA(header).cast::<RawFd>();
            for (index, file) in files.iter().enumerate() {
                data.add(index).write_unaligned(file.as_raw_fd());
            }
        }
    }
    // SAFETY: the message points to `part` and `control`, which live until the call returns; `bytes` is only read.
    let sent = unsafe { libc::sendmsg(socket, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Reads into `room`, of which `length` bytes may be written.
#[expect(unsafe_code, reason = "as above")]
fn receive(socket: RawFd, room: *mut u8, length: usize, takes_files: bool) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: room.cast(), iov_len: length };
    let mut control = [0u64; CONTROL_WORDS];
    // SAFETY: a message of zeros is an empty one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if takes_files {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message points to `part` and `control`; the caller vouches for the room.
    let read = unsafe { libc::recvmsg(socket, &raw mut message, flags) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let mut files = Vec::new();
    // SAFETY: the system has filled in the control messages, whose lengths say how many descriptors there are; each is new
    // and nothing else has it.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for index in 0..bytes / size_of::<RawFd>() {
                    files.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((read, files))
}

#[cfg(test)]
mod tests;
