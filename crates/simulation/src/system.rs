//! The C library's functions for waiting, time, threads and random numbers, replaced by those of [`scheduler`](super::scheduler).
//!
//! The standard library and `parking_lot` wait on futexes, which they reach through `syscall`. A definition of that name in
//! the program takes the place of the C library's, for everything that is linked into it; so the engine needs no change to run
//! under the scheduler. Threads that take no part in it get the real thing.

use super::scheduler;
use libc::{c_int, c_long, c_void, clockid_t, size_t, ssize_t, timespec};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

const FUTEX_COMMAND: c_int = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
/// What the real-time clock shows when the run begins, in seconds.
const EPOCH: u64 = 1_750_000_000;

/// The kernel, without the C library. Returns a result or a negative error number.
///
/// # Safety
/// As the system call.
#[cfg(target_arch = "x86_64")]
unsafe fn kernel(number: c_long, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's own convention; what it touches beyond is the caller's business.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// The kernel, without the C library. Returns a result or a negative error number.
///
/// # Safety
/// As the system call.
#[cfg(target_arch = "aarch64")]
unsafe fn kernel(number: c_long, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's own convention; what it touches beyond is the caller's business.
    unsafe {
        std::arch::asm!("svc 0", in("x8") number, inlateout("x0") a[0] as isize => result, in("x1") a[1], in("x2") a[2],
            in("x3") a[3], in("x4") a[4], in("x5") a[5], options(nostack));
    }
    result
}

fn failed(error: c_int) -> c_int {
    // SAFETY: the address of this thread's own error number.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Sleeps while the word holds this value.
pub fn real_wait(word: &AtomicU32, value: u32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the word outlives the call.
    unsafe { kernel(libc::SYS_futex, [address, operation, value as usize, 0, 0, 0]) };
}

/// Wakes threads that sleep on the word.
pub fn real_wake(word: &AtomicU32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let address = std::ptr::from_ref(word) as usize;
    // SAFETY: the kernel only compares the address.
    unsafe { kernel(libc::SYS_futex, [address, operation, 1, 0, 0, 0]) };
}

/// Sleeps so many real nanoseconds.
pub fn real_sleep(nanoseconds: u64) {
    let time = to_timespec(nanoseconds);
    // SAFETY: the time outlives the call.
    unsafe {
        kernel(
            libc::SYS_nanosleep,
            [std::ptr::from_ref(&time) as usize, 0, 0, 0, 0, 0],
        )
    };
}

/// Ends the process at once.
pub fn exit(status: c_int) -> ! {
    // SAFETY: nothing is to be cleaned up.
    unsafe { libc::_exit(status) }
}

fn to_timespec(nanoseconds: u64) -> timespec {
    timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec as u64)
}

/// A function of the C library that this program has replaced.
fn original(cache: &AtomicPtr<c_void>, name: &std::ffi::CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a name that ends in zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!found.is_null(), "the C library has no {name:?}");
    cache.store(found, Ordering::Relaxed);
    found
}

/// # Safety
/// As `syscall(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if number == libc::SYS_futex && scheduler::is_active() {
        // SAFETY: the caller's futex and time.
        return unsafe { futex(a, b as c_int, c as u32, d as *const timespec) } as c_long;
    }
    // SAFETY: handed on as it came.
    match unsafe { kernel(number, [a, b, c, d, e, f]) } {
        error @ -4095..=-1 => failed(-error as c_int) as c_long,
        result => result as c_long,
    }
}

/// # Safety
/// `time` is null or points to a time, and `address` to a word.
unsafe fn futex(address: usize, operation: c_int, value: u32, time: *const timespec) -> c_int {
    let command = operation & FUTEX_COMMAND;
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller's word.
            let word = unsafe { &*(address as *const AtomicU32) };
            if word.load(Ordering::SeqCst) != value {
                return failed(libc::EAGAIN);
            }
            // SAFETY: null or a time.
            let time = unsafe { time.as_ref() }.map(nanoseconds);
            let woken = match (time, command) {
                (Some(until), libc::FUTEX_WAIT_BITSET) => scheduler::wait_until(address, until),
                (most, _) => scheduler::wait(address, most),
            };
            if woken { 0 } else { failed(libc::ETIMEDOUT) }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => scheduler::wake(address, value as usize) as c_int,
        _ => failed(libc::ENOSYS),
    }
}

/// # Safety
/// As `clock_gettime(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if let Some(now) = scheduler::now() {
        let is_time_of_day = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE);
        let epoch = if is_time_of_day { EPOCH } else { 0 };
        // SAFETY: the caller's time.
        unsafe { *time = to_timespec(now + epoch * 1_000_000_000) };
        return 0;
    }
    // SAFETY: handed on as it came.
    match unsafe {
        kernel(
            libc::SYS_clock_gettime,
            [clock as usize, time as usize, 0, 0, 0, 0],
        )
    } {
        0 => 0,
        error => failed(-error as c_int),
    }
}

/// # Safety
/// As `clock_nanosleep(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    if scheduler::is_active() {
        // SAFETY: the caller's time.
        let time = nanoseconds(unsafe { &*time });
        match flags & libc::TIMER_ABSTIME != 0 {
            true => scheduler::wait_until(0, time),
            false => scheduler::wait(0, Some(time)),
        };
        return 0;
    }
    let arguments = [clock as usize, flags as usize, time as usize, left as usize, 0, 0];
    // SAFETY: handed on as it came.
    -unsafe { kernel(libc::SYS_clock_nanosleep, arguments) } as c_int
}

/// # Safety
/// As `nanosleep(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: handed on as it came.
    match unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left) } {
        0 => 0,
        error => failed(error),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn sched_yield() -> c_int {
    scheduler::step_aside();
    0
}

/// # Safety
/// As `getrandom(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(out: *mut c_void, len: size_t, flags: u32) -> ssize_t {
    if !scheduler::is_active() {
        // SAFETY: handed on as it came.
        return unsafe { kernel(libc::SYS_getrandom, [out as usize, len, flags as usize, 0, 0, 0]) };
    }
    // SAFETY: the caller's buffer.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), len) };
    for chunk in out.chunks_mut(8) {
        let bytes = scheduler::draw().unwrap_or(0).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
    len as ssize_t
}

/// Threads that are still to be had, and how many are refused after them.
static THREADS_LEFT: AtomicU64 = AtomicU64::new(0);
static THREADS_REFUSED: AtomicU64 = AtomicU64::new(0);

/// After `given` more threads, `refused` are not to be had, as if the system had too many.
pub fn refuse_threads(given: u64, refused: u64) {
    THREADS_LEFT.store(given, Ordering::Relaxed);
    THREADS_REFUSED.store(refused, Ordering::Relaxed);
}

fn is_refused() -> bool {
    let less = |count: u64| count.checked_sub(1);
    let gives = |count: &AtomicU64| {
        count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    };
    THREADS_REFUSED.load(Ordering::Relaxed) > 0 && !gives(&THREADS_LEFT) && gives(&THREADS_REFUSED)
}

type Body = extern "C" fn(*mut c_void) -> *mut c_void;

/// What a new thread is told.
struct Start {
    task: usize,
    baton: usize,
    body: Body,
    argument: *mut c_void,
}

/// Tells when a thread's own data has been destroyed: its destructor runs after those of the standard library.
static LAST_WORD: AtomicU32 = AtomicU32::new(0);
/// Rounds of destructors that the C library makes, of which ours wants a late one.
const LATE: usize = 3;
const FIRST: usize = 1;

extern "C" fn last_word(round: *mut c_void) {
    let round = round as usize;
    if round < LATE {
        let key = LAST_WORD.load(Ordering::Relaxed) - 1;
        // SAFETY: the key was made, and the value is a number.
        unsafe { libc::pthread_setspecific(key, (round + 1) as *const c_void) };
    } else {
        scheduler::end();
    }
}

extern "C" fn first_word(start: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for this thread.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    scheduler::begin(start.task, start.baton);
    let key = LAST_WORD.load(Ordering::Relaxed) - 1;
    // SAFETY: the key was made, and the value is a number.
    unsafe { libc::pthread_setspecific(key, FIRST as *const c_void) };
    let (body, argument) = (start.body, start.argument);
    drop(start);
    body(argument)
}

fn prepare_last_word() {
    if LAST_WORD.load(Ordering::Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the key is ours.
        unsafe {
            libc::pthread_key_create(
                &mut key,
                Some(std::mem::transmute::<
                    extern "C" fn(*mut c_void),
                    unsafe extern "C" fn(*mut c_void),
                >(last_word)),
            )
        };
        LAST_WORD.store(key + 1, Ordering::Relaxed);
    }
}

/// # Safety
/// As `pthread_create(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    body: Body,
    argument: *mut c_void,
) -> c_int {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    type Create =
        unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Body, *mut c_void) -> c_int;
    // SAFETY: the C library's function has this type.
    let create: Create = unsafe { std::mem::transmute(original(&REAL, c"pthread_create")) };
    if !scheduler::is_active() {
        // SAFETY: handed on as it came.
        return unsafe { create(thread, attributes, body, argument) };
    }
    if is_refused() {
        return libc::EAGAIN;
    }
    let Some(task) = scheduler::new_task() else {
        return libc::EAGAIN;
    };
    prepare_last_word();
    let start = Box::into_raw(Box::new(Start {
        task,
        baton: scheduler::baton(task),
        body,
        argument,
    }));
    // SAFETY: `first_word` takes what it is given.
    let error = unsafe { create(thread, attributes, first_word, start.cast()) };
    if error == 0 {
        // SAFETY: just written.
        scheduler::set_thread(task, unsafe { *thread } as usize);
    } else {
        scheduler::forget(task);
        // SAFETY: it has not been taken.
        drop(unsafe { Box::from_raw(start) });
    }
    error
}

/// # Safety
/// As `pthread_join(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    // SAFETY: the C library's function has this type.
    let join: Join = unsafe { std::mem::transmute(original(&REAL, c"pthread_join")) };
    scheduler::join(thread as usize);
    // SAFETY: handed on as it came.
    unsafe { join(thread, result) }
}
