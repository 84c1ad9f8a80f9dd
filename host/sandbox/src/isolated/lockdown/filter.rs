//! The system calls a worker may make. Every other returns "not permitted".
//!
//! An error and not the end of the process: libraries ask for more than they need (the name of a thread, the number of
//! processors) and go on without it.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// Asks which pages of a mapping were written: `PAGEMAP_SCAN` of linux/fs.h.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// Calls without a condition.
const ALLOWED: &[libc::c_long] = &[
    // The socket, and waiting for it.
    libc::SYS_recvmsg,
    libc::SYS_sendmsg,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_ctl,
    // Waking a thread that waits there.
    libc::SYS_write,
    // Files that came through the socket.
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fstat,
    libc::SYS_close,
    // Memory. Making it executable is below.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // Threads that exist.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Traps of compiled code are signals.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    // Time and randomness.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
];

/// For all threads, for good.
pub(super) fn apply() -> io::Result<()> {
    let program = program().map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<libc::c_long, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let is_not_executable = || argument(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
    rules.insert(libc::SYS_mmap, vec![is_not_executable()?]);
    rules.insert(libc::SYS_mprotect, vec![is_not_executable()?]);
    // Not its other commands: a descriptor can be told to send a signal to any process of the same user.
    let commands = [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_GETFL];
    let commands = commands.map(|command| argument(1, SeccompCmpOp::Eq, command as u64));
    rules.insert(libc::SYS_fcntl, commands.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, vec![argument(1, SeccompCmpOp::Eq, PAGEMAP_SCAN)?]);
    rules.insert(libc::SYS_prctl, vec![argument(0, SeccompCmpOp::Eq, libc::PR_SET_NAME as u64)?]);
    // A process that gives up sends itself a signal.
    rules.insert(libc::SYS_tgkill, vec![argument(0, SeccompCmpOp::Eq, u64::from(std::process::id()))?]);
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, denied, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)?])
}
