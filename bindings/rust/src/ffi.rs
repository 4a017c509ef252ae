// SPDX-License-Identifier: Apache-2.0
//! What is used of `<inferogram/inferogram.h>`.
use std::os::raw::{c_char, c_int};

#[repr(C)]
pub struct Location {
    pub name: *const c_char,
    pub function: *const c_char,
    pub file: *const c_char,
    pub line: u32,
    pub color: u32,
    pub kind: u32,
    pub id: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Zone {
    pub start: u64,
    pub location: u32,
    pub depth: u32,
}

#[repr(C)]
pub struct LocationTexts {
    pub struct_size: usize,
    pub name: *const c_char,
    pub name_length: usize,
    pub function: *const c_char,
    pub function_length: usize,
    pub file: *const c_char,
    pub file_length: usize,
    pub kind: u32,
    pub line: u32,
    pub color: u32,
}

#[repr(C)]
pub struct ModelOptions {
    pub struct_size: usize,
    pub name: *const c_char,
    pub path: *const c_char,
    pub content_id: *const c_char,
    pub runtime: *const c_char,
    pub requested_devices: *const c_char,
    pub actual_devices: *const c_char,
}

pub enum Model {}

extern "C" {
    pub static ifg_recording_word: *const u32;
    pub static ifg_event_word: *const u32;
    pub fn ifg_zone_begin(location: *mut Location) -> Zone;
    pub fn ifg_zone_end(zone: Zone);
    pub fn ifg_zone_name(zone: Zone, text: *const c_char, length: usize);
    pub fn ifg_zone_text(zone: Zone, text: *const c_char, length: usize);
    pub fn ifg_zone_value(zone: Zone, value: u64);
    pub fn ifg_zone_color(zone: Zone, rgb: u32);
    pub fn ifg_zone_detail_string(zone: Zone, key: *const c_char, text: *const c_char);
    pub fn ifg_zone_detail_int(zone: Zone, key: *const c_char, value: i64);
    pub fn ifg_zone_detail_float(zone: Zone, key: *const c_char, value: f64);
    pub fn ifg_message(level: c_int, text: *const c_char, length: usize);
    pub fn ifg_counter(location: *mut Location, value: f64);
    pub fn ifg_async_begin(location: *mut Location, id: u64);
    pub fn ifg_async_end(location: *mut Location, id: u64);
    pub fn ifg_flow_begin(location: *mut Location, id: u64);
    pub fn ifg_flow_step(location: *mut Location, id: u64);
    pub fn ifg_flow_end(location: *mut Location, id: u64);
    pub fn ifg_frame(location: *mut Location);
    pub fn ifg_thread_name(name: *const c_char);
    pub fn ifg_model_create(options: *const ModelOptions) -> *mut Model;
    pub fn ifg_model_destroy(model: *mut Model);
    pub fn ifg_event_begin(model: *mut Model, function: *const c_char, category: c_int) -> Zone;
    pub fn ifg_event_load_state(event: Zone, state: c_int);
    pub fn ifg_location_named(texts: *const LocationTexts) -> *mut Location;
}
