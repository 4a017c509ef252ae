// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what input data is for a model of the given inputs, so that others can check it.
 *
 * usage: inputs_dump DATA NAME:TYPE:SHAPE...     (TYPE is ONNX's number; SHAPE such as ?x3, scalar)
 *
 * A line per tensor: set, name, type, shape, and its bytes in hexadecimal; then the summary. Exit
 * status 1 and a sentence on stderr if it does not fit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/inputs/inputs.h"

#define PORTS_MAX 8

static int parse_port(char *text, struct port *out)
{
    char *type = strchr(text, ':');
    char *shape = type ? strchr(type + 1, ':') : NULL;

    if (!shape)
        return 0;
    *type++ = '\0';
    *shape++ = '\0';
    out->name = text;
    out->type = (int32_t)strtol(type, NULL, 10);
    for (char *at = shape; at && *at && strcmp(shape, "scalar") != 0; at = strchr(at, 'x')) {
        at += *at == 'x';
        out->dims[out->rank++] = *at == '?' ? -1 : strtoll(at, NULL, 10);
        if (out->rank == IFG_BENCH_RANK_MAX)
            break;
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct port ports[PORTS_MAX] = { 0 };
    struct port_list list = { ports, 0 };
    struct inputs_options options = { .seed = 1 };
    struct input_sets sets;
    struct ifg_error err;

    for (int i = 2; i < argc && list.count < PORTS_MAX; i++)
        if (!parse_port(argv[i], &ports[list.count++]))
            return 2;
    if (argc < 3)
        return 2;
    options.data_path = argv[1];
    if (inputs_make(&list, &options, &sets, &err) != IFG_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < sets.count; i++) {
        for (size_t j = 0; j < sets.sets[i].count; j++) {
            const struct tensor *tensor = &sets.sets[i].items[j];
            char shape[128];

            printf("%zu %s %s %s ", i, tensor->name, tensor_type_name(tensor->type),
                   tensor_shape_text(tensor->dims, NULL, tensor->rank, shape, sizeof shape));
            for (size_t k = 0; k < tensor->bytes; k++)
                printf("%02x", tensor->data[k]);
            printf("\n");
        }
    }
    printf("%s\n", sets.summary);
    inputs_fini(&sets);
    return 0;
}
