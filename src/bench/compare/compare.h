// SPDX-License-Identifier: Apache-2.0
/*
 * Which is faster, and is it certain? Three ways, told apart in every output by the unit that was
 * compared: block pairs within one process (models, providers, settings), processes that take turns
 * (other libraries, commands), and result files, which were not interleaved.
 */
#ifndef IFG_BENCH_COMPARE_H
#define IFG_BENCH_COMPARE_H

#include "bench/inputs/accuracy.h"
#include "bench/measure/measure.h"

enum compare_unit {
    COMPARE_BLOCK_PAIRS,     /* A and B in one process, blocks in ABBA order */
    COMPARE_PROCESSES,       /* alternating processes, one median each */
    COMPARE_NOT_INTERLEAVED, /* result files */
};

struct compare_op {
    char *name, *op_type;
    double a_ms, b_ms; /* medians; NAN: not there */
    double share;      /* of the baseline's operators */
    struct statistics_change change;
    bool significant; /* survives Benjamini-Hochberg at 5 % over all operators */
};

struct compare_row {
    char *name;
    bool available;
    char *reason;
    uint64_t model_bytes;
    char *model_hash;
    double p50_ms;
    struct statistics_interval p50; /* of this side's units */
    double throughput;              /* per second, 1000 / p50 */
    uint64_t peak_bytes;            /* measured in a process of its own; 0: not known */
    double load_ms;
    /* against the baseline; zero for the baseline itself */
    struct statistics_change change;
    struct statistics_second_opinion second;
    enum statistics_verdict verdict;
    uint64_t more;             /* UNSURE: units still needed */
    struct accuracy *accuracy; /* per output of the baseline; NULL: not measured */
    size_t accuracy_count;
    char *accuracy_reason;
    bool outputs_differ; /* beyond the limits: it is no faster way to the same answer */
    char *outputs_reason;
    struct compare_op *ops;
    size_t op_count;
    bool ops_host_time;     /* see bench_row_has_host_times */
    double *unit_ms;        /* its units, in order; of the baseline all that it took part in */
    double *baseline_ms;    /* the baseline's partners (paired), or NULL */
    uint32_t *unit_process; /* which process they ran in, from 0 */
    size_t unit_capacity, baseline_capacity, process_capacity;
    bool by_process; /* block pairs: each process counts once (change.units of them) */
    size_t unit_count;
    struct statistics_summary summary; /* of all its inferences; count 0: only units are known */
    struct statistics_interval p99;    /* p99 is below .high with 95 % confidence */
    double first_ms;                   /* the first inference; NAN: not known */
    double specialization_ms;          /* NAN: the runtime does not tell */
    uint32_t block_iterations;         /* of a block; 0: units are no blocks */
    uint32_t look;                     /* the look that decided it, from 1; 0: none did */
    double drift;     /* result files: how far the machine's own speed was apart; NAN: not known */
    char *ops_reason; /* why there are no operators, if they were asked for */
};

struct compare {
    enum compare_unit unit;
    struct compare_row *rows; /* the baseline first */
    size_t row_count;
    bool one_sided;
    struct accuracy_limits limits;
    double threshold, alpha; /* alpha: of this comparison; each look spends looks'th of it */
    uint32_t looks;          /* planned */
    uint32_t looks_taken;
    double confidence;  /* of the intervals: 1 - alpha / looks */
    uint32_t processes; /* that were measured */
    bool few_processes; /* as asked for: then pairs count as if they were independent */
    double elapsed_s;
    char *measure;          /* "latency", "wall", "cpu", or the key in the commands' JSON */
    const char *value_unit; /* "ms"; "" for a key */
    uint64_t seed;
    uint32_t iterations_per_block;
    char *runtime, *library;
    char *inputs;
    char **outputs; /* names that accuracy points to */
    size_t output_count;
    char **warnings; /* differing context, trust */
    size_t warning_count, warning_capacity;
    struct trust trust; /* level TRUST_NOT_AVAILABLE and no lines for result files */
    bool interrupted;
};

struct compare_options {
    struct bench_options bench; /* inputs, common settings, runtime, stop, progress; variants are
                                    what is compared, the first is the baseline */
    double threshold;           /* 0.02 */
    double alpha;               /* 0.05 */
    uint32_t pairs;     /* block pairs or processes per side of the first look; 0: 40 or 20 / 8 */
    uint32_t pairs_max; /* stop there and be unsure; 0: 16 times that, of processes 4 */
    double max_s;       /* nor go on longer than this; 0: 300 */
    bool accuracy;      /* compare outputs */
    struct accuracy_limits limits;
    bool one_sided; /* that it is no slower is enough: stop as soon as that is certain */
    bool ops;
    bool force;          /* compare what is not the same work */
    uint32_t processes;  /* block pairs: that the first look's are split among; 0: 10 */
    const char *prepare; /* commands: what the shell runs before each run; NULL: nothing */
    uint32_t warmups;    /* commands: runs of each that do not count */
};

void compare_options_init(struct compare_options *options);

/* What is going to be started, for whoever waits for it. */
struct compare_plan {
    bool turns;              /* a process for each side; else all sides share one */
    uint32_t processes;      /* before the first look; turns: of each side */
    uint32_t processes_most; /* turns: of each side; else 0, as pairs decide */
    double max_s;
};

/* Whether these variants run in processes that take turns. */
bool compare_needs_turns(const struct bench_options *bench);

/* turns: also for commands. */
void compare_make_plan(const struct compare_options *options, bool turns,
                       struct compare_plan *out_plan);

/* A bench_options.variants entry each. Variants whose settings name other libraries ("ort") run in
 * processes that take turns. */
enum ifg_status compare_models(const struct compare_options *options, struct compare **out_compare,
                               struct ifg_error *err) IFG_MUST_CHECK;

enum compare_measure { COMPARE_WALL, COMPARE_CPU, COMPARE_JSON_KEY };

struct compare_command {
    const char *name;
    char *const *argv;
};

/* Runs whole commands in turn. measure JSON_KEY: the number under `key` in the JSON document that
 * the command prints last on stdout. */
enum ifg_status compare_commands(const struct compare_options *options,
                                 const struct compare_command *commands, size_t count,
                                 enum compare_measure measure, const char *key,
                                 struct compare **out_compare,
                                 struct ifg_error *err) IFG_MUST_CHECK;

/* IFG_INVALID: not the same work (the differences are in err), unless forced. */
enum ifg_status compare_results(const struct compare_options *options,
                                struct bench_result *const *results, const char *const *names,
                                size_t count, struct compare **out_compare,
                                struct ifg_error *err) IFG_MUST_CHECK;

/* The change over block pairs that ran in several processes: the pairs of a process are next to
 * each other and count once. For those who put comparisons together; unless few_processes. */
enum ifg_status compare_block_pairs(const double *a, const double *b, const uint32_t *process,
                                    size_t pairs, double confidence, uint64_t seed,
                                    struct statistics_change *out_change,
                                    struct ifg_error *err) IFG_MUST_CHECK;

void compare_destroy(struct compare *compare);

/* "DIFFERS" if the outputs do, whatever the time; else the verdict on time: "IMPROVED", ... */
const char *compare_verdict_name(const struct compare_row *row);

const char *compare_unit_name(enum compare_unit unit); /* "block pairs in one process", ... */

#endif
