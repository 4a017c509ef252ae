// SPDX-License-Identifier: Apache-2.0
/**
 * Inferogram for C++17: zones, model events, spans and flows that end with their scope.
 *
 *     #include <inferogram/inferogram.hpp>    // c++ $(pkg-config --cflags --libs inferogram)
 *
 *     void decode(const frame &f)
 *     {
 *         inferogram::zone zone{"decode"};    // until the scope ends
 *         zone.text(f.name).value(f.bytes);
 *         inferogram::counter("queue", depth);
 *     }
 *
 *     inferogram::model ocr{{.name = "ocr", .path = "ocr.onnx"}};   // C++20; or set the members
 *     inferogram::event run{ocr, IFG_INFERENCE};
 *
 * Header-only over <inferogram/inferogram.h>, which says what holds for all of it: threads, cost,
 * fork. Nothing here throws or allocates. Names may be known only at run time; for a literal in a
 * hot loop, IFG_ZONE("name") of the C header is cheaper, because it does not look the name up.
 *
 * Zones, events and stages belong to the thread that began them: they can be neither copied nor
 * moved, end in reverse order, and must not live across a co_await. Use async_span for that.
 *
 * -DIFG_DISABLE compiles it away; you then need not link the library.
 */
#ifndef INFEROGRAM_HPP
#define INFEROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <inferogram/inferogram.h>

namespace inferogram
{

/** During a recording. Use it to skip work that only a recording needs. */
inline bool is_recording() noexcept
{
    return ifg_is_recording() != 0;
}

/** A place with a name; the same texts give the same one. Keep it, where a name comes often. */
class location
{
  public:
    location() noexcept = default;

    /** kind: IFG_LOCATION_ZONE, _COUNTER, _FRAME, _ASYNC, _FLOW ... */
    explicit location(std::string_view name, std::uint32_t kind = IFG_LOCATION_ZONE,
                      const char *function = __builtin_FUNCTION(),
                      const char *file = __builtin_FILE(),
                      std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE())) noexcept
    {
        ifg_location_texts texts{};

        texts.struct_size = sizeof texts;
        texts.name = name.data() ? name.data() : "";
        texts.name_length = name.size();
        texts.function = function;
        texts.function_length = SIZE_MAX;
        texts.file = file;
        texts.file_length = SIZE_MAX;
        texts.kind = kind;
        texts.line = line;
        location_ = ifg_location_named(&texts);
    }

    ifg_location *get() const noexcept
    {
        return location_;
    }

  private:
    ifg_location *location_ = nullptr;
};

/** What zones, events and stages have in common: details, and an end. */
class scope
{
  public:
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    ~scope()
    {
        end();
    }

    /** Ends it before its scope does. */
    void end() noexcept
    {
        if (zone_.location)
            ifg_zone_end(zone_);
        zone_ = ifg_zone{};
    }

    /** Whether it is recorded. */
    explicit operator bool() const noexcept
    {
        return zone_.location != 0;
    }

    scope &name(std::string_view text) noexcept
    {
        if (zone_.location)
            ifg_zone_name(zone_, text.data(), text.size());
        return *this;
    }

    scope &text(std::string_view text) noexcept
    {
        if (zone_.location)
            ifg_zone_text(zone_, text.data(), text.size());
        return *this;
    }

    scope &value(std::uint64_t value) noexcept
    {
        if (zone_.location)
            ifg_zone_value(zone_, value);
        return *this;
    }

    /** 0xRRGGBB */
    scope &color(std::uint32_t rgb) noexcept
    {
        if (zone_.location)
            ifg_zone_color(zone_, rgb);
        return *this;
    }

    /** A fact with a name of its own: text, integer or real. */
    template <typename Value> scope &detail(const char *key, const Value &value) noexcept
    {
        if (!zone_.location)
            return *this;
        if constexpr (std::is_floating_point_v<Value>)
            ifg_zone_detail_float(zone_, key, static_cast<double>(value));
        else if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>)
            ifg_zone_detail_int(zone_, key, static_cast<std::int64_t>(value));
        else if constexpr (std::is_convertible_v<const Value &, const char *>)
            ifg_zone_detail_string(zone_, key, value);
        else
            ifg_zone_detail_string(zone_, key, value.c_str());
        return *this;
    }

  protected:
    explicit scope(ifg_zone zone) noexcept : zone_(zone)
    {
    }

    ifg_zone zone_;
};

/** How long something takes; zones nest. */
class zone : public scope
{
  public:
    explicit zone(std::string_view name, const char *function = __builtin_FUNCTION(),
                  const char *file = __builtin_FILE(),
                  std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE())) noexcept
        : scope(is_recording()
                    ? ifg_zone_begin(location(name, IFG_LOCATION_ZONE, function, file, line).get())
                    : ifg_zone{})
    {
    }

    explicit zone(const location &at) noexcept
        : scope(is_recording() && at.get() ? ifg_zone_begin(at.get()) : ifg_zone{})
    {
    }
};

/** What is known of a model; leave the rest nullptr. */
struct model_options {
    const char *name = nullptr;
    const char *path = nullptr;
    const char *content_id = nullptr;
    const char *runtime = nullptr;
    const char *requested_devices = nullptr;
    const char *actual_devices = nullptr;
};

class model
{
  public:
    explicit model(const model_options &options) noexcept
    {
        ifg_model_options texts{};

        texts.struct_size = sizeof texts;
        texts.name = options.name;
        texts.path = options.path;
        texts.content_id = options.content_id;
        texts.runtime = options.runtime;
        texts.requested_devices = options.requested_devices;
        texts.actual_devices = options.actual_devices;
        model_ = ifg_model_create(&texts);
    }

    explicit model(const char *name) noexcept : model(named(name))
    {
    }

    model(model &&other) noexcept : model_(other.model_)
    {
        other.model_ = nullptr;
    }

    model &operator=(model &&other) noexcept
    {
        ifg_model *mine = model_;

        model_ = other.model_;
        other.model_ = mine;
        return *this;
    }

    ~model()
    {
        ifg_model_destroy(model_);
    }

    /** A fact that became known later. */
    void property(const char *key, const char *value) const noexcept
    {
        ifg_model_property(model_, key, value);
    }

    ifg_model *get() const noexcept
    {
        return model_;
    }

  private:
    static model_options named(const char *name) noexcept
    {
        model_options options;

        options.name = name;
        return options;
    }

    ifg_model *model_ = nullptr;
};

/** What a model does: a phase of its life, until the scope ends. */
class event : public scope
{
  public:
    event(const model &of, ifg_category category, const char *function = "main") noexcept
        : scope(ifg_wants_events() ? ifg_event_begin(of.get(), function, category) : ifg_zone{})
    {
    }

    /** How a load got its specialized model. */
    event &load_state(ifg_load_state state) noexcept
    {
        if (zone_.location)
            ifg_event_load_state(zone_, state);
        return *this;
    }
};

/** A number for one request through a pipeline. */
inline std::uint64_t new_request() noexcept
{
    return ifg_request_new();
}

/** A stage ("pre", "inference", "post" or any name) of a request. */
class stage : public scope
{
  public:
    stage(std::uint64_t request, std::string_view name, const char *function = __builtin_FUNCTION(),
          const char *file = __builtin_FILE(),
          std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE())) noexcept
        : scope(ifg_wants_events()
                    ? ifg_stage_begin(
                          location(name, IFG_LOCATION_STAGE, function, file, line).get(), request)
                    : ifg_zone{})
    {
    }
};

/** A span that may end on another thread: move it there, or let it live in a coroutine. */
class async_span
{
  public:
    async_span(std::string_view name, std::uint64_t id, const char *function = __builtin_FUNCTION(),
               const char *file = __builtin_FILE(),
               std::uint32_t line = static_cast<std::uint32_t>(__builtin_LINE())) noexcept
        : id_(id)
    {
        if (!is_recording())
            return;
        at_ = location(name, IFG_LOCATION_ASYNC, function, file, line).get();
        if (at_)
            ifg_async_begin(at_, id_);
    }

    async_span(async_span &&other) noexcept : at_(other.at_), id_(other.id_)
    {
        other.at_ = nullptr;
    }

    async_span &operator=(async_span &&other) noexcept
    {
        if (this != &other) {
            end();
            at_ = other.at_;
            id_ = other.id_;
            other.at_ = nullptr;
        }
        return *this;
    }

    ~async_span()
    {
        end();
    }

    void end() noexcept
    {
        if (at_)
            ifg_async_end(at_, id_);
        at_ = nullptr;
    }

  private:
    ifg_location *at_ = nullptr;
    std::uint64_t id_;
};

/** Work that is handed on: points of one name and id, each in the zone around it. */
class flow
{
  public:
    flow(std::string_view name, std::uint64_t id) noexcept
        : at_(location(name, IFG_LOCATION_FLOW, nullptr, nullptr, 0)), id_(id)
    {
    }

    void begin() const noexcept
    {
        if (is_recording())
            ifg_flow_begin(at_.get(), id_);
    }

    void step() const noexcept
    {
        if (is_recording())
            ifg_flow_step(at_.get(), id_);
    }

    void end() const noexcept
    {
        if (is_recording())
            ifg_flow_end(at_.get(), id_);
    }

  private:
    location at_;
    std::uint64_t id_;
};

/** The new value of a quantity. */
inline void counter(std::string_view name, double value) noexcept
{
    if (is_recording())
        ifg_counter(location(name, IFG_LOCATION_COUNTER, nullptr, nullptr, 0).get(), value);
}

/** A mark on this thread's timeline. */
inline void message(std::string_view text, ifg_level level = IFG_LEVEL_INFO) noexcept
{
    if (is_recording())
        ifg_message(level, text.data(), text.size());
}

/** The end of one frame, step or iteration. */
inline void frame(std::string_view name) noexcept
{
    if (is_recording())
        ifg_frame(location(name, IFG_LOCATION_FRAME, nullptr, nullptr, 0).get());
}

/** Names the calling thread, recording or not. */
inline void thread_name(const char *name) noexcept
{
    ifg_thread_name(name);
}

} // namespace inferogram

#endif
