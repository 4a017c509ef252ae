// SPDX-License-Identifier: Apache-2.0
/*
 * Ranges that begin and end on one thread.
 *
 * Within a domain they nest; those of two domains, or a range and somebody else's zone, may cross.
 * Zones of a thread always nest, so a range is a zone as long as it can be one, and is visible
 * while it is open. What would cross becomes a span of its own instead:
 *
 *   an end with only our ranges above it   ends the zone; those above go on as spans
 *   an end with another's zone above it    is a span; its entry among the open zones is given up
 *                                          when it is uncovered
 *   an end after that of a zone around it  is a span
 *
 * A begin is followed up to its end also when recording stops in between; a begin that was never
 * seen has an end that finds nothing, and is ignored.
 */
#include "hooks/annotations/annotations.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "client/open_zones.h"
#include "trace/keys.h"

#define STACKS 1024u
#define DEPTH  128u /* ranges of a thread that are recorded at once */
#define MARKS  512u /* more that are followed, but not recorded */

enum state {
    NOT_RECORDED, /* its end is awaited, that is all */
    AS_ZONE,
    AS_SPAN, /* begun as a zone that is given up */
    ENDED,   /* the zone of somebody else above it keeps it among the open ones */
};

struct range {
    ifg_zone zone;
    const struct annotations_domain *domain;
    struct annotations_detail detail;
    enum state state;
    bool keeps_color; /* another one than its location has */
};

struct annotations_stack {
    uint32_t in_use;
    uint32_t count;     /* of ranges and marks */
    uint64_t untracked; /* begun when all of this was full */
    struct range ranges[DEPTH];
    const struct annotations_domain *marks[MARKS];
};

__thread uint32_t annotations_open __attribute__((tls_model("initial-exec")));
static __thread struct annotations_stack *mine __attribute__((tls_model("initial-exec")));

static struct annotations_stack stacks[STACKS];
static pthread_key_t exit_key;
static bool exit_key_usable;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

static void stack_give_back(struct annotations_stack *stack)
{
    stack->count = 0;
    stack->untracked = 0;
    __atomic_store_n(&stack->in_use, 0, __ATOMIC_RELEASE);
}

static void thread_ends(void *value)
{
    mine = NULL;
    annotations_open = 0;
    stack_give_back(value);
}

static void make_exit_key(void)
{
    exit_key_usable = pthread_key_create(&exit_key, thread_ends) == 0;
}

static struct annotations_stack *stack_take(void)
{
    int saved_errno = errno;

    pthread_once(&exit_key_once, make_exit_key);
    for (unsigned i = 0; i < STACKS && exit_key_usable && !mine; i++) {
        uint32_t expected = 0;

        if (!__atomic_compare_exchange_n(&stacks[i].in_use, &expected, 1, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        if (pthread_setspecific(exit_key, &stacks[i]) == 0)
            mine = &stacks[i];
        else
            __atomic_store_n(&stacks[i].in_use, 0, __ATOMIC_RELEASE);
    }
    if (mine)
        annotations_thread_arrives();
    else
        annotations_lose(ANNOTATIONS_TOO_MANY_THREADS);
    errno = saved_errno;
    return mine;
}

/* In the child of a fork: there is this thread only, and what it has open is its parent's. */
void annotations_ranges_forked(void)
{
    for (unsigned i = 0; i < STACKS; i++)
        if (&stacks[i] != mine && __atomic_load_n(&stacks[i].in_use, __ATOMIC_RELAXED))
            stack_give_back(&stacks[i]);
    for (unsigned i = 0; mine && i < mine->count && i < DEPTH; i++)
        mine->ranges[i].state = NOT_RECORDED;
}

static void set_count(struct annotations_stack *stack, uint32_t count)
{
    stack->count = count;
    annotations_open = count + (stack->untracked != 0);
}

/* ---- what a range is recorded with ---- */

void annotations_tell(ifg_zone zone, const char *key, const struct annotations_detail *detail)
{
    char digits[24];

    if (detail->value_kind == ANNOTATIONS_INTEGER) {
        ifg_zone_detail_int(zone, key, detail->value.integer);
    } else if (detail->value_kind == ANNOTATIONS_FLOAT) {
        ifg_zone_detail_float(zone, key, detail->value.real);
    } else if (detail->value_kind == ANNOTATIONS_UNSIGNED && detail->value.natural > INT64_MAX) {
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)detail->value.natural);
        ifg_zone_detail_string(zone, key, digits);
    } else if (detail->value_kind == ANNOTATIONS_UNSIGNED) {
        ifg_zone_detail_int(zone, key, (int64_t)detail->value.natural);
    }
}

static void tell_details(const struct range *range)
{
    const struct annotations_detail *detail = &range->detail;

    annotations_tell(range->zone, TRACE_KEY_PAYLOAD, detail);
    if (detail->category) {
        const char *name = annotations_category(range->domain, detail->category);
        char number[16];

        snprintf(number, sizeof number, "%u", detail->category);
        ifg_zone_detail_string(range->zone, TRACE_KEY_CATEGORY, name ? name : number);
    }
    if (range->keeps_color)
        ifg_zone_color(range->zone, detail->rgb);
}

static void end_as_span(const struct range *range)
{
    static uint64_t last;

    ifg_location_async(range->zone.location, __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED),
                       range->zone.start, ifg_ticks());
}

/* The ranges above go on as spans: the zones that they were are given up. */
static void uncover(struct annotations_stack *stack, uint32_t at)
{
    for (uint32_t i = stack->count < DEPTH ? stack->count : DEPTH; i-- > at + 1;) {
        struct range *above = &stack->ranges[i];

        if (above->state != AS_ZONE && above->state != ENDED)
            continue;
        ifg_zone_give_up(above->zone);
        above->state = above->state == AS_ZONE ? AS_SPAN : NOT_RECORDED;
    }
}

/* How many of the zones above are ours. */
static int ours_above(const struct annotations_stack *stack, uint32_t at)
{
    int count = 0;

    for (uint32_t i = at + 1; i < stack->count && i < DEPTH; i++)
        if (stack->ranges[i].state == AS_ZONE || stack->ranges[i].state == ENDED)
            count += ifg_zone_covers(stack->ranges[i].zone) >= 0;
    return count;
}

/* True: nothing of it is left. */
static bool end_range(struct annotations_stack *stack, uint32_t at)
{
    struct range *range = &stack->ranges[at];
    int covers;

    if (range->state == AS_SPAN)
        end_as_span(range);
    if (range->state != AS_ZONE)
        return true;
    covers = ifg_zone_covers(range->zone);
    if (covers > 0 && covers == ours_above(stack, at)) {
        uncover(stack, at);
        covers = 0;
    }
    if (covers == 0) {
        tell_details(range);
        ifg_zone_end(range->zone);
        return true;
    }
    end_as_span(range);
    ifg_zone_hide(range->zone);
    range->state = ENDED;
    return covers < 0;
}

/* Those that ended below somebody else's zone go when that has ended. */
static void drop_ended(struct annotations_stack *stack)
{
    uint32_t count = stack->count;

    while (count && count <= DEPTH && stack->ranges[count - 1].state == ENDED) {
        int covers = ifg_zone_covers(stack->ranges[count - 1].zone);

        if (covers > 0)
            break;
        ifg_zone_give_up(stack->ranges[count - 1].zone);
        count--;
    }
    set_count(stack, count);
}

/* Far more than a program can mean: from here on, nobody knows which end belongs to which begin. */
static void lose_track(struct annotations_stack *stack)
{
    for (uint32_t i = DEPTH; i-- > 0;) {
        struct range *range = &stack->ranges[i];

        if (range->state == AS_ZONE || range->state == ENDED)
            ifg_zone_give_up(range->zone);
        range->state = NOT_RECORDED;
    }
    annotations_lose(ANNOTATIONS_TOO_DEEP);
}

/* ---- begin and end ---- */

void annotations_range_begin(const struct annotations_domain *domain, ifg_location *location,
                             const struct annotations_text *name,
                             const struct annotations_detail *detail)
{
    struct annotations_stack *stack = mine ? mine : stack_take();
    struct range *range;

    if (!stack)
        return;
    drop_ended(stack);
    if (stack->untracked || stack->count == DEPTH + MARKS) {
        if (!stack->untracked++)
            lose_track(stack);
        set_count(stack, stack->count);
        return;
    }
    if (stack->count >= DEPTH) {
        stack->marks[stack->count - DEPTH] = domain;
        set_count(stack, stack->count + 1);
        if (location)
            annotations_lose(ANNOTATIONS_TOO_DEEP);
        return;
    }
    range = &stack->ranges[stack->count];
    range->domain = domain;
    range->state = NOT_RECORDED;
    set_count(stack, stack->count + 1);
    if (!location)
        return;
    if (detail)
        range->detail = *detail;
    else
        range->detail = (struct annotations_detail){ .id = 0 };
    range->keeps_color = range->detail.rgb && range->detail.rgb != location->color;
    range->zone = ifg_zone_begin(location);
    if (!range->zone.depth)
        return; /* there was no ring; that is counted */
    range->state = AS_ZONE;
    if (annotations_is_shared(location) && name)
        ifg_zone_name(range->zone, name->bytes, name->length);
}

static void remove_at(struct annotations_stack *stack, uint32_t at)
{
    uint32_t in_ranges = stack->count < DEPTH ? stack->count : DEPTH;

    if (at >= DEPTH) {
        memmove(&stack->marks[at - DEPTH], &stack->marks[at - DEPTH + 1],
                (stack->count - at - 1) * sizeof stack->marks[0]);
    } else {
        memmove(&stack->ranges[at], &stack->ranges[at + 1],
                (in_ranges - at - 1) * sizeof stack->ranges[0]);
        if (stack->count > DEPTH) { /* a mark takes the last place */
            stack->ranges[DEPTH - 1].domain = stack->marks[0];
            stack->ranges[DEPTH - 1].state = NOT_RECORDED;
            memmove(&stack->marks[0], &stack->marks[1],
                    (stack->count - DEPTH - 1) * sizeof stack->marks[0]);
        }
    }
    set_count(stack, stack->count - 1);
}

void annotations_range_end(const struct annotations_domain *domain)
{
    struct annotations_stack *stack = mine;

    if (!stack || !annotations_open)
        return;
    if (stack->untracked) {
        stack->untracked--;
        set_count(stack, stack->count);
        return;
    }
    for (uint32_t at = stack->count; at-- > 0;) {
        bool is_range = at < DEPTH;

        if ((is_range ? stack->ranges[at].domain : stack->marks[at - DEPTH]) != domain ||
            (is_range && stack->ranges[at].state == ENDED))
            continue;
        if (!is_range || end_range(stack, at))
            remove_at(stack, at);
        break;
    }
    drop_ended(stack);
}

ifg_zone annotations_range_find(const struct annotations_domain *domain, uint64_t id)
{
    const struct annotations_stack *stack = mine;

    for (uint32_t at = stack ? stack->count : 0; at-- > 0;) {
        const struct range *range = &stack->ranges[at];

        if (at < DEPTH && range->domain == domain && range->state == AS_ZONE &&
            (!id || range->detail.id == id))
            return range->zone;
    }
    return (ifg_zone){ 0, 0, 0 };
}
