// SPDX-License-Identifier: Apache-2.0
//! Marks what a program and its models do, for the profiler Inferogram.
//!
//! ```no_run
//! fn decode(name: &str) {
//!     let zone = inferogram::zone!("decode"); // until it is dropped
//!     zone.text(name).detail("attempt", 2);
//! }
//! let ocr = inferogram::Model::new("ocr");
//! let run = ocr.event(inferogram::Category::Inference, "main");
//! drop(run);
//! inferogram::counter("queue", 3.0);
//! ```
//!
//! A thin layer over libinferogram: nothing to initialise, no errors to handle, one load and a branch
//! while nothing records. Zones and events stay on their thread (they are not `Send`) and must not be
//! held across an `.await`; use [`AsyncSpan`] there. The feature `disable` compiles all of it away.

#[cfg(not(feature = "disable"))]
mod ffi;

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Trace = 0,
    Debug = 1,
    Info = 2,
    Warning = 3,
    Error = 4,
}

/// The phases of a model's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    PrepareEp = 1,
    Specialization = 2,
    Load = 3,
    Setup = 4,
    Inference = 5,
}

/// How a load got its specialized model. Use `Unknown` rather than guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    Unknown = 0,
    Cold = 1,
    Cached = 2,
    Precompiled = 3,
}

/// What is known of a model; leave the rest empty.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions<'a> {
    pub name: &'a str,
    pub path: &'a str,
    pub runtime: &'a str,
    pub requested_devices: &'a str,
    pub actual_devices: &'a str,
}

/// A fact about a zone: an integer, a real or a text.
pub enum Value<'a> {
    Int(i64),
    Float(f64),
    Text(&'a str),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<i32> for Value<'_> {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

/// A zone that lasts until the value is dropped. The name is a literal.
#[macro_export]
macro_rules! zone {
    ($name:literal) => {{
        static LOCATION: $crate::Location = $crate::Location::new(
            concat!($name, "\0"),
            concat!(module_path!(), "\0"),
            concat!(file!(), "\0"),
            line!(),
        );
        $crate::Zone::at(&LOCATION)
    }};
}

#[cfg(not(feature = "disable"))]
mod imp {
    use super::{ffi, Category, Level, LoadState, ModelOptions, Value};
    use std::cell::UnsafeCell;
    use std::ffi::CString;
    use std::marker::PhantomData;
    use std::os::raw::{c_char, c_int};
    use std::ptr;
    use std::sync::atomic::{AtomicU32, Ordering};

    const ZONE: u32 = 1;
    const COUNTER: u32 = 5;
    const FRAME: u32 = 7;
    const ASYNC: u32 = 8;
    const FLOW: u32 = 9;
    const NOT_RECORDED: ffi::Zone = ffi::Zone {
        start: 0,
        location: 0,
        depth: 0,
    };

    /// A location in a program; `zone!` makes one. The library owns what is in it.
    pub struct Location(UnsafeCell<ffi::Location>);

    // SAFETY: the library is the only one that changes it, and is made for all threads.
    unsafe impl Sync for Location {}

    impl Location {
        /// The texts end with a NUL.
        #[doc(hidden)]
        pub const fn new(
            name: &'static str,
            function: &'static str,
            file: &'static str,
            line: u32,
        ) -> Self {
            Location(UnsafeCell::new(ffi::Location {
                name: name.as_ptr() as *const c_char,
                function: function.as_ptr() as *const c_char,
                file: file.as_ptr() as *const c_char,
                line,
                color: 0,
                kind: ZONE,
                id: 0,
            }))
        }
    }

    /// SAFETY: `word` is one of the library's, which always point to a word.
    unsafe fn is_set(word: *const *const u32) -> bool {
        let word = ptr::read_volatile(word);
        (*(word as *const AtomicU32)).load(Ordering::Relaxed) != 0
    }

    /// During a recording. Use it to skip work that only a recording needs.
    pub fn is_recording() -> bool {
        // SAFETY: see is_set.
        unsafe { is_set(ptr::addr_of!(ffi::ifg_recording_word)) }
    }

    fn wants_events() -> bool {
        // SAFETY: see is_set.
        unsafe { is_set(ptr::addr_of!(ffi::ifg_event_word)) }
    }

    /// The location with this name. Strings are copied before a call returns, here and everywhere.
    fn named(name: &str, kind: u32) -> *mut ffi::Location {
        let texts = ffi::LocationTexts {
            struct_size: std::mem::size_of::<ffi::LocationTexts>(),
            name: name.as_ptr() as *const c_char,
            name_length: name.len(),
            function: ptr::null(),
            function_length: 0,
            file: ptr::null(),
            file_length: 0,
            kind,
            line: 0,
            color: 0,
        };
        // SAFETY: the texts live until it returns; it never returns NULL.
        unsafe { ffi::ifg_location_named(&texts) }
    }

    /// Up to the first NUL, which C cannot have in a text.
    fn c_text(text: &str) -> CString {
        let end = text.find('\0').unwrap_or(text.len());
        CString::new(&text[..end]).unwrap_or_default()
    }

    /// How long something takes: from where it is made to where it is dropped. Zones nest.
    #[must_use = "a zone ends when it is dropped: bind it to a name"]
    pub struct Zone {
        zone: ffi::Zone,
        stays: PhantomData<*const ()>,
    }

    impl Zone {
        #[doc(hidden)]
        pub fn at(location: &'static Location) -> Zone {
            // SAFETY: the location is static.
            Zone::of(if is_recording() {
                unsafe { ffi::ifg_zone_begin(location.0.get()) }
            } else {
                NOT_RECORDED
            })
        }

        /// A zone whose name is known only at run time.
        pub fn named(name: &str) -> Zone {
            // SAFETY: named locations stay for the life of the process.
            Zone::of(if is_recording() {
                unsafe { ffi::ifg_zone_begin(named(name, ZONE)) }
            } else {
                NOT_RECORDED
            })
        }

        fn of(zone: ffi::Zone) -> Zone {
            Zone {
                zone,
                stays: PhantomData,
            }
        }

        /// Whether it is recorded.
        pub fn is_recorded(&self) -> bool {
            self.zone.location != 0
        }

        /// A name of its own.
        pub fn name(&self, text: &str) -> &Self {
            if self.is_recorded() {
                // SAFETY: pointer and length of one text.
                unsafe { ffi::ifg_zone_name(self.zone, text.as_ptr() as *const c_char, text.len()) }
            }
            self
        }

        pub fn text(&self, text: &str) -> &Self {
            if self.is_recorded() {
                // SAFETY: pointer and length of one text.
                unsafe { ffi::ifg_zone_text(self.zone, text.as_ptr() as *const c_char, text.len()) }
            }
            self
        }

        pub fn value(&self, value: u64) -> &Self {
            if self.is_recorded() {
                // SAFETY: an open zone of this thread.
                unsafe { ffi::ifg_zone_value(self.zone, value) }
            }
            self
        }

        /// 0xRRGGBB
        pub fn color(&self, rgb: u32) -> &Self {
            if self.is_recorded() {
                // SAFETY: an open zone of this thread.
                unsafe { ffi::ifg_zone_color(self.zone, rgb) }
            }
            self
        }

        /// A fact with a name of its own.
        pub fn detail<'a>(&self, key: &str, value: impl Into<Value<'a>>) -> &Self {
            if self.is_recorded() {
                let key = c_text(key);
                // SAFETY: an open zone of this thread; both texts live until it returns.
                unsafe {
                    match value.into() {
                        Value::Int(value) => {
                            ffi::ifg_zone_detail_int(self.zone, key.as_ptr(), value)
                        }
                        Value::Float(value) => {
                            ffi::ifg_zone_detail_float(self.zone, key.as_ptr(), value)
                        }
                        Value::Text(text) => ffi::ifg_zone_detail_string(
                            self.zone,
                            key.as_ptr(),
                            c_text(text).as_ptr(),
                        ),
                    }
                }
            }
            self
        }

        /// Of a load: how it got its model.
        pub fn load_state(&self, state: LoadState) -> &Self {
            if self.is_recorded() {
                // SAFETY: an open event of this thread.
                unsafe { ffi::ifg_event_load_state(self.zone, state as c_int) }
            }
            self
        }
    }

    impl Drop for Zone {
        fn drop(&mut self) {
            if self.is_recorded() {
                // SAFETY: it ends once, and on its thread: it is not Send.
                unsafe { ffi::ifg_zone_end(self.zone) }
            }
        }
    }

    /// A model and what it does.
    pub struct Model(*mut ffi::Model);

    // SAFETY: every function of the library may be called from any thread.
    unsafe impl Send for Model {}
    unsafe impl Sync for Model {}

    impl Model {
        pub fn new(name: &str) -> Model {
            Model::with(&ModelOptions {
                name,
                ..Default::default()
            })
        }

        pub fn with(options: &ModelOptions) -> Model {
            let texts = [
                options.name,
                options.path,
                options.runtime,
                options.requested_devices,
                options.actual_devices,
            ]
            .map(c_text);
            let at = |index: usize| {
                if texts[index].as_bytes().is_empty() {
                    ptr::null()
                } else {
                    texts[index].as_ptr()
                }
            };
            // SAFETY: the texts live until it returns; NULL is a model, too.
            Model(unsafe {
                ffi::ifg_model_create(&ffi::ModelOptions {
                    struct_size: std::mem::size_of::<ffi::ModelOptions>(),
                    name: at(0),
                    path: at(1),
                    content_id: ptr::null(),
                    runtime: at(2),
                    requested_devices: at(3),
                    actual_devices: at(4),
                })
            })
        }

        /// A phase of its life, until it is dropped.
        pub fn event(&self, category: Category, function: &str) -> Zone {
            // SAFETY: the model lives as long as this.
            Zone::of(if wants_events() {
                unsafe {
                    ffi::ifg_event_begin(self.0, c_text(function).as_ptr(), category as c_int)
                }
            } else {
                NOT_RECORDED
            })
        }
    }

    impl Drop for Model {
        fn drop(&mut self) {
            // SAFETY: our reference, once.
            unsafe { ffi::ifg_model_destroy(self.0) }
        }
    }

    /// A span that may end on another thread, or after an `.await`.
    #[must_use = "a span ends when it is dropped: bind it to a name"]
    pub struct AsyncSpan {
        location: *mut ffi::Location,
        id: u64,
    }

    // SAFETY: a span may end on any thread, and named locations stay.
    unsafe impl Send for AsyncSpan {}

    impl AsyncSpan {
        pub fn new(name: &str, id: u64) -> AsyncSpan {
            let mut location = ptr::null_mut();
            if is_recording() {
                location = named(name, ASYNC);
                // SAFETY: named locations stay for the life of the process.
                unsafe { ffi::ifg_async_begin(location, id) }
            }
            AsyncSpan { location, id }
        }
    }

    impl Drop for AsyncSpan {
        fn drop(&mut self) {
            if !self.location.is_null() {
                // SAFETY: as above.
                unsafe { ffi::ifg_async_end(self.location, self.id) }
            }
        }
    }

    /// Work that is handed on: points of one name and id, each in the zone around it.
    #[derive(Clone, Copy)]
    pub struct Flow {
        location: *mut ffi::Location,
        id: u64,
    }

    // SAFETY: named locations stay, and the library is made for all threads.
    unsafe impl Send for Flow {}
    unsafe impl Sync for Flow {}

    impl Flow {
        pub fn new(name: &str, id: u64) -> Flow {
            Flow {
                location: named(name, FLOW),
                id,
            }
        }

        pub fn begin(&self) {
            if is_recording() {
                // SAFETY: named locations stay for the life of the process.
                unsafe { ffi::ifg_flow_begin(self.location, self.id) }
            }
        }

        pub fn step(&self) {
            if is_recording() {
                // SAFETY: as above.
                unsafe { ffi::ifg_flow_step(self.location, self.id) }
            }
        }

        pub fn end(&self) {
            if is_recording() {
                // SAFETY: as above.
                unsafe { ffi::ifg_flow_end(self.location, self.id) }
            }
        }
    }

    /// The new value of a quantity.
    pub fn counter(name: &str, value: f64) {
        if is_recording() {
            // SAFETY: named locations stay for the life of the process.
            unsafe { ffi::ifg_counter(named(name, COUNTER), value) }
        }
    }

    /// A mark on this thread's timeline.
    pub fn message(text: &str, level: Level) {
        if is_recording() {
            // SAFETY: pointer and length of one text.
            unsafe { ffi::ifg_message(level as c_int, text.as_ptr() as *const c_char, text.len()) }
        }
    }

    /// The end of one frame, step or iteration.
    pub fn frame(name: &str) {
        if is_recording() {
            // SAFETY: named locations stay for the life of the process.
            unsafe { ffi::ifg_frame(named(name, FRAME)) }
        }
    }

    /// Names the calling thread, recording or not.
    pub fn thread_name(name: &str) {
        // SAFETY: the text lives until it returns.
        unsafe { ffi::ifg_thread_name(c_text(name).as_ptr()) }
    }
}

#[cfg(feature = "disable")]
mod imp {
    use super::{Category, Level, LoadState, ModelOptions, Value};

    pub struct Location;

    impl Location {
        #[doc(hidden)]
        pub const fn new(_: &'static str, _: &'static str, _: &'static str, _: u32) -> Self {
            Location
        }
    }

    pub struct Zone;

    impl Zone {
        #[doc(hidden)]
        pub fn at(_: &'static Location) -> Zone {
            Zone
        }
        pub fn named(_: &str) -> Zone {
            Zone
        }
        pub fn is_recorded(&self) -> bool {
            false
        }
        pub fn name(&self, _: &str) -> &Self {
            self
        }
        pub fn text(&self, _: &str) -> &Self {
            self
        }
        pub fn value(&self, _: u64) -> &Self {
            self
        }
        pub fn color(&self, _: u32) -> &Self {
            self
        }
        pub fn detail<'a>(&self, _: &str, _: impl Into<Value<'a>>) -> &Self {
            self
        }
        pub fn load_state(&self, _: LoadState) -> &Self {
            self
        }
    }

    impl Drop for Zone {
        fn drop(&mut self) {}
    }

    pub struct Model;

    impl Model {
        pub fn new(_: &str) -> Model {
            Model
        }
        pub fn with(_: &ModelOptions) -> Model {
            Model
        }
        pub fn event(&self, _: Category, _: &str) -> Zone {
            Zone
        }
    }

    pub struct AsyncSpan;

    impl AsyncSpan {
        pub fn new(_: &str, _: u64) -> AsyncSpan {
            AsyncSpan
        }
    }

    impl Drop for AsyncSpan {
        fn drop(&mut self) {}
    }

    #[derive(Clone, Copy)]
    pub struct Flow;

    impl Flow {
        pub fn new(_: &str, _: u64) -> Flow {
            Flow
        }
        pub fn begin(&self) {}
        pub fn step(&self) {}
        pub fn end(&self) {}
    }

    pub fn is_recording() -> bool {
        false
    }
    pub fn counter(_: &str, _: f64) {}
    pub fn message(_: &str, _: Level) {}
    pub fn frame(_: &str) {}
    pub fn thread_name(_: &str) {}
}

pub use imp::{
    counter, frame, is_recording, message, thread_name, AsyncSpan, Flow, Location, Model, Zone,
};
