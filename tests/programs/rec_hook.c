// SPDX-License-Identifier: Apache-2.0
/*
 * What a hook for an old ONNX Runtime does: tells of itself, records inferences, and hands the
 * session's profile over when all is done, on a thread that has ended as well. Also a few files
 * that nobody should read or remove.
 *
 * usage: rec_hook [good|bad]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <inferogram/inferogram.h>

#define MAIN_RUNS  50
#define OTHER_RUNS 10
#define RUNS_MAX   (MAIN_RUNS + OTHER_RUNS)
#define NODES      40

struct run {
    long tid;
    uint64_t start;
    uint64_t end;
    uint64_t start_us;
    uint64_t end_us;
};

static ifg_model *model;
static struct run runs[RUNS_MAX];
static int run_count;
static uint64_t begin_us;

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u - begin_us;
}

static void infer(void)
{
    struct run *run = &runs[run_count++];

    IFG_EVENT_BEGIN(event, model, "main", IFG_INFERENCE);
    run->tid = syscall(SYS_gettid);
    run->start = ifg_ticks();
    run->start_us = now_us();
    usleep(300);
    run->end_us = now_us();
    run->end = ifg_ticks();
    IFG_EVENT_END(event);
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < OTHER_RUNS; i++)
        infer();
    return NULL;
}

static FILE *create(char *path, size_t size, const char *name)
{
    FILE *file;

    snprintf(path, size, "%s/file-%d-%s", ifg_session_directory(), (int)getpid(), name);
    file = fopen(path, "w");
    if (!file)
        exit(3);
    return file;
}

static void write_profile(FILE *file)
{
    fputs("[\n", file);
    for (int i = 0; i < run_count; i++) {
        uint64_t step = (runs[i].end_us - runs[i].start_us) / NODES;

        for (uint64_t k = 0; k < NODES; k++)
            fprintf(file,
                    "{\"cat\" : \"Node\",\"pid\" :%d,\"tid\" :%ld,\"dur\" :%llu,\"ts\" :%llu,"
                    "\"ph\" : \"X\",\"name\" :\"/net/conv_%llu_kernel_time\",\"args\" : "
                    "{\"op_name\" : \"Conv\",\"provider\" : \"CPUExecutionProvider\","
                    "\"node_index\" : \"%llu\",\"output_size\" : \"4096\"}},\n",
                    (int)getpid(), runs[i].tid, (unsigned long long)step,
                    (unsigned long long)(runs[i].start_us + k * step), (unsigned long long)k,
                    (unsigned long long)k);
        fprintf(file,
                "{\"cat\" : \"Session\",\"pid\" :%d,\"tid\" :%ld,\"dur\" :%llu,\"ts\" :%llu,"
                "\"ph\" : \"X\",\"name\" :\"model_run\",\"args\" : {}},\n",
                (int)getpid(), runs[i].tid, (unsigned long long)(runs[i].end_us - runs[i].start_us),
                (unsigned long long)runs[i].start_us);
    }
    fputs("{}]\n", file);
    fclose(file);
}

static void write_list(FILE *file, const char *profile)
{
    fprintf(file, "inferogram ort-profile 1\nprofile %s\nsession 1\n", profile);
    for (int i = 0; i < run_count; i++)
        fprintf(file, "run %ld %llu %llu\n", runs[i].tid, (unsigned long long)runs[i].start,
                (unsigned long long)runs[i].end);
    fclose(file);
}

static void hand_over_good(void)
{
    char profile[512];
    char list[512];

    write_profile(create(profile, sizeof profile, "1.json"));
    write_list(create(list, sizeof list, "1.runs"), profile);
    ifg_file_hand_over(model, "ort-profile", list);
}

/* Paths out of the directory, a link, a profile elsewhere, a list that is none. */
static void hand_over_bad(void)
{
    char directory[256];
    char path[512];
    char list[512];
    FILE *file;

    snprintf(directory, sizeof directory, "%s", ifg_session_directory());
    ifg_file_hand_over(model, "ort-profile", "precious");
    snprintf(path, sizeof path, "%s/../precious", directory);
    ifg_file_hand_over(model, "ort-profile", path);
    snprintf(path, sizeof path, "%s/file-%d-2.runs", directory, (int)getpid());
    if (symlink("/etc/passwd", path) < 0)
        exit(4);
    ifg_file_hand_over(model, "ort-profile", path);
    if (getcwd(path, sizeof path - 16))
        strncat(path, "/precious", 15);
    write_list(create(list, sizeof list, "3.runs"), path);
    ifg_file_hand_over(model, "ort-profile", list);
    file = create(list, sizeof list, "4.runs");
    fputs("nonsense\n", file);
    fclose(file);
    ifg_file_hand_over(model, "ort-profile", list);
    snprintf(list, sizeof list, "%s/file-%d-5.runs", directory, (int)getpid());
    ifg_file_hand_over(model, "ort-profile", list); /* is not there */
}

int main(int argc, char **argv)
{
    pthread_t other;

    if (!ifg_is_recording())
        usleep(300000); /* the recorder is on its way */
    begin_us = now_us();
    model = ifg_model_create(&(ifg_model_options){ .struct_size = sizeof(ifg_model_options),
                                                   .name = "net",
                                                   .runtime = "ONNX Runtime 1.17.0" });
    ifg_instrument_report("ONNX Runtime 1.17.0", IFG_INSTRUMENT_UNAVAILABLE, "not yet");
    ifg_instrument_report("ONNX Runtime 1.17.0", IFG_INSTRUMENT_ON, "launch hooks");
    ifg_instrument_report("ONNX Runtime 1.17.0", IFG_INSTRUMENT_OFF, "in a worker");
    ifg_instrument_report("operators", IFG_INSTRUMENT_ON,
                          "first 64 inferences of each session, session profile");
    if (pthread_create(&other, NULL, work, NULL) != 0)
        return 2;
    pthread_join(other, NULL);
    for (int i = 0; i < MAIN_RUNS; i++)
        infer();
    if (argc > 1 && strcmp(argv[1], "bad") == 0)
        hand_over_bad();
    else
        hand_over_good();
    return 0;
}
