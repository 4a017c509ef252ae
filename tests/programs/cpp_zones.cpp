// SPDX-License-Identifier: Apache-2.0
// Everything that inferogram.hpp has, in numbers that tests/e2e/cpp.sh knows.
#include <inferogram/inferogram.hpp>

#include <string>
#include <thread>
#include <utility>

namespace
{

int recursive(int depth)
{
    inferogram::zone zone{ "recursive" };

    return depth ? 1 + recursive(depth - 1) : 0;
}

void throws()
{
    inferogram::zone zone{ "throws" };

    throw 1;
}

int zones(const std::string &suffix)
{
    int count = recursive(4);

    for (int i = 0; i < 10; i++) {
        inferogram::zone zone{ "work " + suffix };

        zone.text("text").value(7).color(0xff0000);
        zone.detail("round", i).detail("fill", 0.5).detail("who", suffix).detail("kind", "literal");
    }
    for (int i = 0; i < 3; i++) {
        try {
            throws();
        } catch (int one) {
            count += one;
        }
    }
    const inferogram::location kept{ "kept" };
    for (int i = 0; i < 5; i++)
        inferogram::zone zone{ kept };
    inferogram::zone early{ "early" };
    early.end();
    early.end();
    early.value(1);
    return count;
}

void models()
{
    inferogram::model_options options;

    options.name = "ocr";
    options.runtime = "test 1";
    inferogram::model first{ options };
    inferogram::model ocr{ std::move(first) };
    inferogram::model other{ "other" };
    other = std::move(ocr);
    {
        inferogram::event load{ other, IFG_LOAD };
        load.load_state(IFG_LOAD_CACHED);
    }
    for (int i = 0; i < 4; i++)
        inferogram::event run{ other, IFG_INFERENCE, "decode" };
    inferogram::stage stage{ inferogram::new_request(), "pre" };
}

void across_threads()
{
    const inferogram::flow flow{ "frame", 9 };
    inferogram::async_span span{ "fetch", 1 };

    {
        inferogram::zone zone{ "produce" };
        flow.begin();
    }
    std::thread([&flow, moved = std::move(span)]() mutable {
        inferogram::thread_name("consumer");
        inferogram::zone zone{ "consume" };
        flow.end();
        moved.end();
    }).join();
}

} // namespace

int main()
{
    int count = zones("here");

    models();
    across_threads();
    for (int i = 0; i < 6; i++) {
        inferogram::counter("depth", i);
        inferogram::frame("loop");
    }
    inferogram::message("done", IFG_LEVEL_WARNING);
    return count == 7 ? 0 : 1;
}
