// SPDX-License-Identifier: Apache-2.0
/* `inferogram stats --by kernel`. */
#ifndef IFG_CLI_STATS_KERNELS_H
#define IFG_CLI_STATS_KERNELS_H

#include "analyze/device_kernels.h"

enum kernels_sort {
    KERNELS_BY_TOTAL,
    KERNELS_BY_COUNT,
    KERNELS_BY_MEAN,
    KERNELS_BY_P50,
    KERNELS_BY_P99,
    KERNELS_BY_MAX,
    KERNELS_BY_NAME,
};
enum kernels_form { KERNELS_TABLE, KERNELS_JSON, KERNELS_CSV };

struct kernels_request {
    const char *path;
    const struct timeline *timeline;
    struct device_kernels_options options;
    enum kernels_sort sort;
    enum kernels_form form;
    size_t limit; /* 0: all */
};

/* Prints them; the exit status. */
int stats_kernels_print(const struct kernels_request *request);

#endif
