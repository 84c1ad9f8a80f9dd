//! A locked worker tries what it must not be able to do.
//!
//! Each try is made so that a system which allows it does no harm: it fails for another reason, or its effect is undone.

use std::io;

/// Something a worker tried, and what came of it: `None` means that it could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub what: String,
    pub refused: Option<String>,
}

/// All of them, in one order.
#[expect(unsafe_code, reason = "system calls are tried as such, so that no library is in between")]
pub(in crate::isolated) fn probe() -> Vec<Probe> {
    let (root, nothing) = (c"/".as_ptr(), std::ptr::null::<libc::c_char>());
    let nowhere = c"/no/such/program".as_ptr();
    let page = 4096usize;
    let executable = libc::PROT_READ | libc::PROT_EXEC;
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: paths are texts of C that live as long as the process; the calls write to no memory of ours.
    unsafe {
        vec![
            tried("open a file", libc::syscall(libc::SYS_openat, libc::AT_FDCWD, root, libc::O_RDONLY)),
            tried("make a folder", libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, root, 0o700)),
            tried("read the name of a file", libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, root, nothing, 0)),
            tried("make a network socket", libc::syscall(libc::SYS_socket, libc::AF_INET, libc::SOCK_STREAM, 0)),
            tried("make a local socket", libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0)),
            tried("connect", libc::syscall(libc::SYS_connect, 0, nothing, 0)),
            tried("start a program", libc::syscall(libc::SYS_execve, nowhere, nothing, nothing)),
            // No kernel takes this combination of flags.
            tried("make a process", libc::syscall(libc::SYS_clone, libc::CLONE_THREAD, nothing, nothing, nothing, 0)),
            tried("trace a process", libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKDATA, 1, nothing, nothing)),
            tried("read another's memory", libc::syscall(libc::SYS_process_vm_readv, 1, nothing, 0, nothing, 0, 0)),
            tried("signal the host", libc::syscall(libc::SYS_kill, libc::getppid(), 0)),
            tried("direct a signal at another", libc::syscall(libc::SYS_fcntl, 0, libc::F_SETOWN, libc::getpid())),
            tried("make memory executable", libc::syscall(libc::SYS_mmap, nothing, page, executable, private, -1, 0)),
            tried("mount", libc::syscall(libc::SYS_mount, nothing, nothing, nothing, 0, nothing)),
            tried("load a program into the kernel", libc::syscall(libc::SYS_bpf, 0, nothing, 0)),
            tried("submit work to a ring", libc::syscall(libc::SYS_io_uring_setup, 1, nothing)),
            tried("leave a namespace", libc::syscall(libc::SYS_unshare, libc::CLONE_NEWNS)),
        ]
    }
}

/// Only "not permitted" and "permission denied" are refusals; any other error means that the kernel has looked at it.
fn tried(what: &str, returned: libc::c_long) -> Probe {
    let error = io::Error::last_os_error();
    let is_refused = returned == -1 && matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES));
    if returned >= 0 && what.contains("socket") | what.contains("open") {
        close(returned);
    }
    Probe { what: what.to_owned(), refused: is_refused.then(|| error.to_string()) }
}

#[expect(unsafe_code, reason = "as above")]
fn close(descriptor: libc::c_long) {
    // SAFETY: it was opened by the try and nothing else has it.
    unsafe { libc::close(descriptor as libc::c_int) };
}
