// SPDX-License-Identifier: Apache-2.0
/* Which domains a list wants, and that there is a limit to them. */
#include "hooks/annotations/annotations.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap.h"
#include "wire/wire.h"

static void lists(void)
{
    static const struct {
        const char *list;
        const char *name;
        bool has;
    } cases[] = {
        { "PyTorch", "PyTorch", true },
        { "PyTorch", "pytorch", false },
        { "PyTorch", "PyTorch2", false },
        { "PyTorch,oneDNN", "oneDNN", true },
        { "PyTorch,oneDNN", "tbb", false },
        { "dnnl*", "dnnl::primitive::execute", true },
        { "dnnl*", "dnn", false },
        { "*", "anything", true },
        { "-tbb", "tbb", false },
        { "-tbb", "PyTorch", true },
        { "-tbb*,tbb.flow", "tbb.flow", true },
        { "-tbb*,tbb.flow", "tbb", false },
        { "-tbb*,tbb.flow", "PyTorch", false },
        { "tbb*,-tbb.flow", "tbb.flow", false },
        { "", "anything", true },
        { ",,", "anything", true },
        { "-", "anything", true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (annotations_list_has(cases[i].list, cases[i].name) != cases[i].has)
            CHECK_STR(cases[i].list, cases[i].name);
}

static void a_name_is_one_domain(void)
{
    struct annotations_domain *domain = annotations_domain(ANNOTATIONS_NVTX, "one");

    CHECK(domain->is_wanted);
    CHECK(annotations_domain(ANNOTATIONS_NVTX, "one") == domain);
    CHECK(annotations_domain(ANNOTATIONS_ITT, "one") != domain);
    CHECK(annotations_is_domain(domain));
    CHECK(!annotations_is_domain((char *)domain + 1));
    CHECK(!annotations_is_domain(&domain));
}

static void the_variable_decides(void)
{
    setenv(IFG_ENV_ANNOTATIONS, "b*", 1);
    CHECK(!annotations_domain(ANNOTATIONS_ITT, "a")->is_wanted);
    CHECK(annotations_domain(ANNOTATIONS_ITT, "bc")->is_wanted);
}

static void there_is_a_limit(void)
{
    struct annotations_domain *domain = NULL;
    char name[32];

    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "domain %d", i);
        domain = annotations_domain(ANNOTATIONS_ITT, name);
    }
    CHECK(!domain->is_wanted);
    CHECK(annotations_is_domain(domain));
    CHECK(annotations_domain(ANNOTATIONS_ITT, "domain 1000")->is_wanted);
}

TAP_MAIN(TAP_CASE(lists), TAP_CASE(a_name_is_one_domain), TAP_CASE(the_variable_decides),
         TAP_CASE(there_is_a_limit))
