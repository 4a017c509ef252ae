// SPDX-License-Identifier: Apache-2.0

// Package inferogram marks what a program and its models do, for the profiler Inferogram.
//
//	zone := inferogram.Begin("decode")
//	defer zone.End()
//
// It is a thin layer over libinferogram, by cgo: nothing to initialise and no errors to handle. While nothing records, a call
// costs one load and a branch, and no call of C.
//
// A zone belongs to a thread of the system, and goroutines move between threads. Begin therefore locks its goroutine to its
// thread until End (runtime.LockOSThread); use Span for what may take long or hand its goroutine over.
package inferogram

/*
#cgo pkg-config: inferogram
#include <inferogram/inferogram.h>

static ifg_location *ifg_go_named(const char *name, size_t length, uint32_t kind)
{
    ifg_location_texts texts = { .struct_size = sizeof texts,
                                 .name = length ? name : "",
                                 .name_length = length,
                                 .kind = kind };

    return ifg_location_named(&texts);
}

static ifg_zone ifg_go_begin(const char *name, size_t length)
{
    return ifg_zone_begin(ifg_go_named(name, length, IFG_LOCATION_ZONE));
}

static ifg_model *ifg_go_model(const char *name, const char *path, const char *runtime,
                               const char *devices)
{
    return ifg_model_create(&(ifg_model_options){ .struct_size = sizeof(ifg_model_options),
                                                  .name = name,
                                                  .path = path,
                                                  .runtime = runtime,
                                                  .requested_devices = devices });
}
*/
import "C"

import (
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Category is a phase of a model's life.
type Category int

const (
	PrepareEP      Category = 1
	Specialization Category = 2
	Load           Category = 3
	Setup          Category = 4
	Inference      Category = 5
)

// LoadState tells how a load got its specialized model. Use LoadUnknown rather than guess.
type LoadState int

const (
	LoadUnknown     LoadState = 0
	LoadCold        LoadState = 1
	LoadCached      LoadState = 2
	LoadPrecompiled LoadState = 3
)

// Level is how important a message is.
type Level int

const (
	LevelTrace   Level = 0
	LevelDebug   Level = 1
	LevelInfo    Level = 2
	LevelWarning Level = 3
	LevelError   Level = 4
)

// IsRecording tells whether a recording is on. Use it to skip work that only a recording needs.
func IsRecording() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(C.ifg_recording_word))) != 0
}

func wantsEvents() bool {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(C.ifg_event_word))) != 0
}

// text is what C reads during a call: a pointer and a length.
func text(s string) (*C.char, C.size_t) {
	if s == "" {
		s = "\x00"
		return (*C.char)(unsafe.Pointer(&[]byte(s)[0])), 0
	}
	return (*C.char)(unsafe.Pointer(&[]byte(s)[0])), C.size_t(len(s))
}

// terminated is s up to its first NUL, with one behind it; nil for "".
func terminated(s string) *C.char {
	if end := strings.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	if s == "" {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&append([]byte(s), 0)[0]))
}

func named(name string, kind C.uint32_t) *C.ifg_location {
	pointer, length := text(name)
	return C.ifg_go_named(pointer, length, kind)
}

// Zone is how long something takes. The zero value is not recorded.
type Zone struct {
	zone C.ifg_zone
}

func begun(zone C.ifg_zone) Zone {
	if zone.location != 0 {
		runtime.LockOSThread()
	}
	return Zone{zone}
}

// Begin begins a zone; End it in the same goroutine.
func Begin(name string) Zone {
	if !IsRecording() {
		return Zone{}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pointer, length := text(name)
	return begun(C.ifg_go_begin(pointer, length))
}

// End ends it, once.
func (z *Zone) End() {
	if z.zone.location == 0 {
		return
	}
	C.ifg_zone_end(z.zone)
	z.zone = C.ifg_zone{}
	runtime.UnlockOSThread()
}

// Text, Value, Int, Float and String add facts to an open zone or event.
func (z *Zone) Text(s string) *Zone {
	if z.zone.location != 0 {
		pointer, length := text(s)
		C.ifg_zone_text(z.zone, pointer, length)
	}
	return z
}

func (z *Zone) Value(value uint64) *Zone {
	if z.zone.location != 0 {
		C.ifg_zone_value(z.zone, C.uint64_t(value))
	}
	return z
}

func (z *Zone) Int(key string, value int64) *Zone {
	if z.zone.location != 0 && key != "" {
		C.ifg_zone_detail_int(z.zone, terminated(key), C.int64_t(value))
	}
	return z
}

func (z *Zone) Float(key string, value float64) *Zone {
	if z.zone.location != 0 && key != "" {
		C.ifg_zone_detail_float(z.zone, terminated(key), C.double(value))
	}
	return z
}

func (z *Zone) String(key, value string) *Zone {
	if z.zone.location != 0 && key != "" && value != "" {
		C.ifg_zone_detail_string(z.zone, terminated(key), terminated(value))
	}
	return z
}

// LoadState tells how the load got its model.
func (z *Zone) LoadState(state LoadState) *Zone {
	if z.zone.location != 0 {
		C.ifg_event_load_state(z.zone, C.enum_ifg_load_state(state))
	}
	return z
}

// Model is a model; Close it when it is not used any more. What was recorded stays.
type Model struct {
	model *C.ifg_model
}

// ModelOptions has what is known of a model.
type ModelOptions struct {
	Name, Path, Runtime, Devices string
}

func NewModel(options ModelOptions) *Model {
	return &Model{C.ifg_go_model(terminated(options.Name), terminated(options.Path),
		terminated(options.Runtime), terminated(options.Devices))}
}

func (m *Model) Close() {
	C.ifg_model_destroy(m.model)
	m.model = nil
}

// Event begins an event of the model; it ends as a zone does.
func (m *Model) Event(category Category, function string) Zone {
	if !wantsEvents() {
		return Zone{}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return begun(C.ifg_event_begin(m.model, terminated(function), C.enum_ifg_category(category)))
}

// Span may end in another goroutine and on another thread.
type Span struct {
	location *C.ifg_location
	id       uint64
}

func BeginSpan(name string, id uint64) *Span {
	span := &Span{id: id}
	if IsRecording() {
		span.location = named(name, C.IFG_LOCATION_ASYNC)
		C.ifg_async_begin(span.location, C.uint64_t(id))
	}
	return span
}

// End ends it, once.
func (s *Span) End() {
	if s.location != nil {
		C.ifg_async_end(s.location, C.uint64_t(s.id))
		s.location = nil
	}
}

// Flow is work that is handed on: each point belongs to the zone around it.
type Flow struct {
	location *C.ifg_location
	id       uint64
}

func NewFlow(name string, id uint64) Flow {
	return Flow{named(name, C.IFG_LOCATION_FLOW), id}
}

func (f Flow) Begin() {
	if IsRecording() {
		C.ifg_flow_begin(f.location, C.uint64_t(f.id))
	}
}

func (f Flow) Step() {
	if IsRecording() {
		C.ifg_flow_step(f.location, C.uint64_t(f.id))
	}
}

func (f Flow) End() {
	if IsRecording() {
		C.ifg_flow_end(f.location, C.uint64_t(f.id))
	}
}

// Counter records the new value of a quantity.
func Counter(name string, value float64) {
	if IsRecording() {
		C.ifg_counter(named(name, C.IFG_LOCATION_COUNTER), C.double(value))
	}
}

// Message is a mark on the timeline.
func Message(s string, level Level) {
	if IsRecording() {
		pointer, length := text(s)
		C.ifg_message(C.enum_ifg_level(level), pointer, length)
	}
}

// Frame is the end of one frame, step or iteration.
func Frame(name string) {
	if IsRecording() {
		C.ifg_frame(named(name, C.IFG_LOCATION_FRAME))
	}
}
