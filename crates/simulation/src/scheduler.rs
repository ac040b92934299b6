//! One thread at a time, and a seed that says which.
//!
//! The engine runs as it is, with threads of the operating system. But what threads wait with (futexes, sleeps, joins), the
//! clock and the random numbers are taken over (`system.rs` puts this module in the C library's place), and one *token* goes
//! round: the thread that has it runs, and all others sleep. Where the holder waits, and at every *pause* (a call of the
//! disk, a look at the clock, every so many allocations), the seed says which thread runs next. So the same seed makes the same run,
//! races included, and a failure is repeated by its number.
//!
//! *Time is made up.* Each pause takes a little, and when all threads wait, the clock goes on to the first deadline. So a
//! second of waiting costs nothing, and a wait for what never comes is noticed at once: no thread can run, and no deadline is left.
//!
//! *What this does not show:* orders of single loads and stores between two pauses, and of a weak memory model. Those are
//! for the models in `crates/engine/tests/interleavings.rs`.

use crate::system;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How the threads of one run are to take turns.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The seed of all choices.
    pub seed: u64,
    /// In how many of 100 pauses the running thread goes on.
    pub stays: u64,
    /// A pause at every n-th allocation, about; 0: at none.
    pub allocations: u64,
    /// In one of so many pauses the clock goes on to the next deadline although threads could run.
    pub jumps: u64,
}

impl Style {
    /// A style that follows from the seed.
    pub fn of(seed: u64) -> Style {
        let mut random = Random(seed ^ 0x5eed);
        Style {
            seed,
            stays: [0, 50, 90, 98][random.below(4) as usize],
            allocations: [0, 20, 100, 1000][random.below(4) as usize],
            jumps: [100, 1000, 10_000][random.below(3) as usize],
        }
    }
}

/// splitmix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }

    /// True once in `n` times, on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Until woken by this key, or until then.
    Waits {
        key: usize,
        deadline: u64,
    },
    Gone,
}

struct Task {
    state: State,
    timed_out: bool,
    /// What the C library calls its thread, while no later one has the same name.
    thread: usize,
    baton: &'static Baton,
}

/// What a thread sleeps on until it gets the token.
struct Baton(AtomicU32);

const NOTHING: u32 = 0;
const TOKEN: u32 = 1;
/// Say where you are.
const REPORT: u32 = 2;

const NONE: usize = usize::MAX;
/// What the C library calls no thread.
const NO_THREAD: usize = 0;
const NEVER: u64 = u64::MAX;
/// What is never woken.
const UNBORN: usize = usize::MAX;
/// Virtual nanoseconds: when the run begins, and when it must be over.
const BEGINS: u64 = 1_000_000_000_000;
const MOST: u64 = 4 * 3600 * 1_000_000_000;

struct World {
    tasks: Vec<Task>,
    random: Random,
    style: Style,
    now: u64,
    pauses: u64,
    until_pause: u64,
}

struct Shared(UnsafeCell<Option<World>>);

// SAFETY: only the thread that has the token looks inside, and the token is handed over with release and acquire.
unsafe impl Sync for Shared {}

static WORLD: Shared = Shared(UnsafeCell::new(None));
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// No more switches: the process is ending.
static FROZEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ME: Cell<usize> = const { Cell::new(NONE) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` on the world, if this thread takes part in it and is not in here already.
fn with<R>(f: impl FnOnce(&mut World, usize) -> R) -> Option<R> {
    if !ACTIVE.load(Ordering::Relaxed) || FROZEN.load(Ordering::Relaxed) {
        return None;
    }
    let me = ME.get();
    if me == NONE || INSIDE.replace(true) {
        return None;
    }
    // SAFETY: this thread has the token, for it takes part and runs; and `INSIDE` keeps it from coming here twice.
    let world = unsafe { (*WORLD.0.get()).as_mut().expect("a world") };
    let result = f(world, me);
    INSIDE.set(false);
    Some(result)
}

/// Makes this thread the first of a world. To be called once.
pub fn start(style: Style) {
    let world = World {
        tasks: vec![Task::new(State::Ready)],
        random: Random(style.seed),
        style,
        now: BEGINS,
        pauses: 0,
        until_pause: style.allocations,
    };
    // SAFETY: no other thread takes part yet.
    unsafe { *WORLD.0.get() = Some(world) };
    ME.set(0);
    ACTIVE.store(true, Ordering::SeqCst);
}

/// From here on this thread runs alone; for the end of the process.
pub fn freeze() {
    FROZEN.store(true, Ordering::SeqCst);
}

/// True while this thread takes part in a world.
pub fn is_active() -> bool {
    ME.get() != NONE && ACTIVE.load(Ordering::Relaxed) && !FROZEN.load(Ordering::Relaxed)
}

/// The time, in nanoseconds since an arbitrary moment; looking takes some. No pause: `parking_lot` looks while it holds one of
/// its own locks, which are shared by what has the same hash of its address.
pub fn now() -> Option<u64> {
    with(|world, _| {
        world.now += 200;
        world.now
    })
}

/// The time in seconds, and how many pauses there were: the same in two runs of a seed.
pub fn progress() -> (f64, u64) {
    with(|world, _| ((world.now - BEGINS) as f64 / 1e9, world.pauses)).unwrap_or_default()
}

/// The next random number of the world.
pub fn draw() -> Option<u64> {
    with(|world, _| world.random.draw())
}

/// A moment at which another thread may go on. Takes about so many nanoseconds.
pub fn pause(takes: u64) {
    let next = with(|world, me| {
        world.now += takes / 2 + world.random.below(takes + 1);
        world.after_pause(me)
    });
    hand_over(next);
}

/// A pause, for a thread that does not want to go on before others have run.
pub fn step_aside() {
    let next = with(|world, me| {
        world.now += 1000;
        world.pauses += 1;
        world.pick(Some(me))
    });
    hand_over(next);
}

/// A pause at some of the calls.
pub fn allocates() {
    let is_due = with(|world, _| {
        if world.style.allocations == 0 {
            return false;
        }
        world.until_pause -= 1;
        if world.until_pause == 0 {
            world.until_pause = 1 + world.random.below(2 * world.style.allocations);
            return true;
        }
        false
    });
    if is_due == Some(true) {
        pause(50);
    }
}

/// Sleeps until woken by this key (true), or for so many nanoseconds.
pub fn wait(key: usize, most: Option<u64>) -> bool {
    let next = with(|world, me| {
        let deadline = most.map_or(NEVER, |most| world.now.saturating_add(most));
        world.wait(me, key, deadline)
    });
    hand_over(next);
    with(|world, me| !world.tasks[me].timed_out).unwrap_or(true)
}

/// The same, until a moment.
pub fn wait_until(key: usize, deadline: u64) -> bool {
    let next = with(|world, me| world.wait(me, key, deadline));
    hand_over(next);
    with(|world, me| !world.tasks[me].timed_out).unwrap_or(true)
}

/// Wakes so many of those that wait for this key, and says how many that were.
pub fn wake(key: usize, most: usize) -> usize {
    let woken = with(|world, _| world.wake(key, most)).unwrap_or(0);
    pause(100);
    woken
}

/// A place for a new thread; `None` if this thread takes no part.
pub fn new_task() -> Option<usize> {
    with(|world, _| {
        // It can be chosen once there is a thread for it.
        let deadline = NEVER;
        world.tasks.push(Task::new(State::Waits {
            key: UNBORN,
            deadline,
        }));
        world.tasks.len() - 1
    })
}

/// The thread of a task, as the C library calls it.
pub fn set_thread(task: usize, thread: usize) {
    with(|world, _| {
        // The C library gives the names of threads that have ended again; a task made later may have had this one before.
        let before = world.tasks.iter_mut().filter(|other| other.thread == thread);
        before.for_each(|other| other.thread = NO_THREAD);
        (world.tasks[task].thread, world.tasks[task].state) = (thread, State::Ready);
    });
    pause(5000);
}

/// A task that never came to be.
pub fn forget(task: usize) {
    with(|world, _| world.tasks[task].state = State::Gone);
}

/// What a new thread does first: it waits for the token.
pub fn begin(task: usize, baton: usize) {
    ME.set(task);
    // SAFETY: batons are never freed.
    wait_for(unsafe { &*(baton as *const Baton) });
}

/// The address that `begin` is to be given.
pub fn baton(task: usize) -> usize {
    with(|world, _| std::ptr::from_ref(world.tasks[task].baton) as usize).unwrap_or(0)
}

/// The last thing that a thread does: the token goes to another.
pub fn end() {
    let next = with(|world, me| {
        world.tasks[me].state = State::Gone;
        world.wake(join_key(me), usize::MAX);
        (world.pick(None), me)
    });
    ME.set(NONE);
    if let Some(((next, _), _)) = next {
        next.give(TOKEN);
    }
}

/// Waits until that thread has ended, if it takes part.
pub fn join(thread: usize) {
    loop {
        let running = with(|world, _| {
            let task = world.tasks.iter().rposition(|task| task.thread == thread)?;
            (world.tasks[task].state != State::Gone).then_some(task)
        });
        match running.flatten() {
            Some(task) => wait(join_key(task), None),
            None => return,
        };
    }
}

fn join_key(task: usize) -> usize {
    // No address has the lowest bit set.
    task * 2 + 1
}

type Next = (&'static Baton, Option<&'static Baton>);

/// Gives the token to the next, if that is another thread, and waits until it comes back.
fn hand_over(next: Option<Next>) {
    if let Some((next, Some(mine))) = next {
        next.give(TOKEN);
        wait_for(mine);
    }
}

fn wait_for(mine: &Baton) {
    loop {
        match mine.0.swap(NOTHING, Ordering::Acquire) {
            TOKEN => return,
            REPORT => {
                report_self();
                mine.0.store(NOTHING, Ordering::Release);
                REPORTED.store(true, Ordering::Release);
            }
            _ => system::real_wait(&mine.0, NOTHING),
        }
    }
}

impl Baton {
    fn give(&self, what: u32) {
        self.0.store(what, Ordering::Release);
        system::real_wake(&self.0);
    }
}

impl Task {
    fn new(state: State) -> Task {
        Task {
            state,
            timed_out: false,
            thread: NO_THREAD,
            baton: Box::leak(Box::new(Baton(AtomicU32::new(NOTHING)))),
        }
    }
}

impl World {
    fn after_pause(&mut self, me: usize) -> Next {
        self.pauses += 1;
        if self.now > BEGINS + MOST {
            die("the run has taken hours of its own time");
        }
        if self.random.one_in(self.style.jumps)
            && let Some(deadline) = self.first_deadline()
        {
            self.now = self.now.max(deadline);
        }
        if self.random.below(100) < self.style.stays {
            return (self.tasks[me].baton, None);
        }
        self.pick(None)
    }

    fn first_deadline(&self) -> Option<u64> {
        let deadlines = self.tasks.iter().filter_map(|task| match task.state {
            State::Waits { deadline, .. } if deadline != NEVER => Some(deadline),
            _ => None,
        });
        deadlines.min()
    }

    /// The next thread to run: another than `but`, if one can.
    fn pick(&mut self, but: Option<usize>) -> Next {
        loop {
            let mut ready = 0;
            for task in &mut self.tasks {
                if let State::Waits { deadline, .. } = task.state
                    && deadline <= self.now
                {
                    (task.state, task.timed_out) = (State::Ready, true);
                }
                ready += u64::from(task.state == State::Ready);
            }
            let others = ready - u64::from(but.is_some() && ready > 1);
            if ready > 0 {
                let but = but.filter(|_| ready > 1);
                let nth = self.random.below(others) as usize;
                let candidates = self.tasks.iter().enumerate();
                let mut candidates =
                    candidates.filter(|(n, task)| task.state == State::Ready && Some(*n) != but);
                let next = candidates.nth(nth).expect("it was counted").1.baton;
                let mine = self.tasks[ME.get()].baton;
                return (next, (!std::ptr::eq(next, mine)).then_some(mine));
            }
            match self.first_deadline() {
                Some(deadline) => self.now = deadline,
                None => die("no thread can go on"),
            }
        }
    }

    fn wait(&mut self, me: usize, key: usize, deadline: u64) -> Next {
        self.pauses += 1;
        self.tasks[me].timed_out = false;
        self.tasks[me].state = State::Waits { key, deadline };
        self.pick(None)
    }

    fn wake(&mut self, key: usize, most: usize) -> usize {
        let waits = |task: &Task| matches!(task.state, State::Waits { key: of, .. } if of == key);
        let mut woken = 0;
        while woken < most {
            let waiting = self.tasks.iter().filter(|task| waits(task)).count() as u64;
            if waiting == 0 {
                break;
            }
            let nth = self.random.below(waiting) as usize;
            let task = self.tasks.iter_mut().filter(|task| waits(task)).nth(nth);
            task.expect("it was counted").state = State::Ready;
            woken += 1;
        }
        woken
    }
}

static REPORTED: AtomicBool = AtomicBool::new(false);

fn report_self() {
    let thread = std::thread::current();
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    eprintln!("--- {}", thread.name().unwrap_or("a thread without name"));
    // Frames that say where it waits, without those of the standard library.
    for line in trace.lines().filter(|line| line.contains("tidemark_")) {
        eprintln!("{line}");
    }
}

/// Ends the process, after every thread has said where it is.
pub fn die(why: &str) -> ! {
    freeze();
    eprintln!("FAILED: {why}");
    report_self();
    // SAFETY: no other thread runs any more.
    let world = unsafe { (*WORLD.0.get()).as_ref() };
    for (n, task) in world.iter().flat_map(|world| world.tasks.iter().enumerate()) {
        if n != ME.get() && task.state != State::Gone {
            REPORTED.store(false, Ordering::Release);
            task.baton.give(REPORT);
            for _ in 0..2000 {
                if REPORTED.load(Ordering::Acquire) {
                    break;
                }
                system::real_sleep(1_000_000);
            }
        }
    }
    system::exit(3)
}
