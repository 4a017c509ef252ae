// SPDX-License-Identifier: Apache-2.0
/* Zones in C++: exceptions, destructors of thread_local objects, lambdas, templates. */
#include <inferogram/inferogram.h>

#include <cstdio>
#include <stdexcept>
#include <thread>

static void thrower(int depth)
{
    IFG_ZONE("unwound");
    if (depth == 0)
        throw std::runtime_error("on purpose");
    thrower(depth - 1);
}

struct at_thread_exit {
    bool used = false;
    ~at_thread_exit()
    {
        IFG_ZONE("thread_local destructor");
    }
};

static thread_local at_thread_exit guard;

template <typename T> static T twice(T value)
{
    IFG_ZONE("template");
    return value + value;
}

struct at_exit {
    ~at_exit()
    {
        IFG_ZONE("static destructor");
    }
};

static at_exit last;

int main()
{
    for (int i = 0; i < 10; i++) {
        IFG_ZONE("outer");
        try {
            thrower(4);
        } catch (const std::exception &) {
            IFG_ZONE("caught");
        }
    }
    std::thread worker([] {
        guard.used = true;
        IFG_ZONE("lambda");
    });
    worker.join();
    std::printf("%d %.1f\n", twice(21), twice(0.5));
    return 0;
}
