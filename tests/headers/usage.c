// SPDX-License-Identifier: Apache-2.0
/* What a user's program looks like; compiled as C and as C++, recording and with IFG_DISABLE. */
#include <inferogram/inferogram.h>

static int work(int depth)
{
    IFG_ZONE("work");
    IFG_ZONE_COLOR("coloured", 0x3366ff);
    IFG_BEGIN(part, "part");
    IFG_TEXT(part, "detail");
    IFG_VALUE(part, 42);
    IFG_END(part);
    IFG_COUNTER("queue", depth);
    IFG_MESSAGE("late");
    IFG_FRAME("frame");
    IFG_FLOW_BEGIN("flow", depth);
    IFG_FLOW_STEP("flow", depth);
    IFG_FLOW_END("flow", depth);
    IFG_THREAD_NAME("worker");
    if (depth > 0)
        IFG_MESSAGE("a macro is one statement");
    else
        IFG_COUNTER("queue", 0);
    return depth;
}

static void infer(ifg_model *model)
{
    IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
    work(1);
    IFG_EVENT_END(event);
}

void usage(ifg_model *model);
void usage(ifg_model *model)
{
    infer(model);
}
