// SPDX-License-Identifier: Apache-2.0
/* Names of code that has none. */
#include "cli/module_name.h"

#include "tap.h"

static const char *shortened(const char *name)
{
    static char out[128];

    return module_name_short(name, out, sizeof out);
}

static void names_have_modules_in_them(void)
{
    CHECK(module_names("libx.so", "libx.so+0x12"));
    CHECK(!module_names("libx.so", "libx.so.1+0x12"));
    CHECK(!module_names("libx.so", "run"));
    CHECK(!module_names("", "+0x12"));
}

static void long_ones_are_shortened(void)
{
    CHECK_STR(shortened("onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so+0xfc23a0"),
              "onnxruntime_pybind11_state….so+0xfc23a0");
    CHECK_STR(shortened("a_library_with_a_very_long_name_indeed.so.1.30.0+0x1"),
              "a_library_with_a_very_long….so.1.30.0+0x1");
    CHECK_STR(shortened("a_program_with_a_very_long_name_indeed+0x1"),
              "a_program_with_a_very_long…+0x1");
    CHECK_STR(shortened("a.so.that.is.not.at.the.end.of.the.name+0x1"),
              "a.so.that.is.not.at.the.en…+0x1");
    CHECK_STR(shortened("a_program_with_a_very_lon\xc3\xa9_name_indeed+0x1"),
              "a_program_with_a_very_lon…+0x1"); /* no half characters */
}

static void others_are_not(void)
{
    CHECK_STR(shortened("libonnxruntime.so.1+0x1815690"), "libonnxruntime.so.1+0x1815690");
    CHECK_STR(shortened("a::function<that>::is(called, by, a, long, name)::indeed"),
              "a::function<that>::is(called, by, a, long, name)::indeed");
    CHECK_STR(shortened(""), "");
}

static void what_was_copied_is_understood(void)
{
    CHECK_STR(module_name_copied("run"), "run");
    CHECK_STR(module_name_copied("? pool::Worker::(virtual 2)"), "pool::Worker::(virtual 2)");
    CHECK_STR(module_name_copied("? onnxruntime_pybind11_state….so+0x1470d70"), "0x1470d70");
    CHECK_STR(module_name_copied("cut…"), "cut…");
}

TAP_MAIN(TAP_CASE(names_have_modules_in_them), TAP_CASE(long_ones_are_shortened),
         TAP_CASE(others_are_not), TAP_CASE(what_was_copied_is_understood))
