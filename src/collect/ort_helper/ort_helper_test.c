// SPDX-License-Identifier: Apache-2.0
/* What is concluded from calls, how answers are read, and what a child may do to us. */
#include "collect/ort_helper/ort_helper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ticks.h"
#include "collect/ort_helper/answer.h"
#include "collect/ort_helper/cache.h"
#include "collect/ort_helper/child.h"
#include "collect/ort_helper/fields.h"
#include "collect/ort_helper/made_model.h"
#include "collect/ort_helper/report.h"
#include "collect/ort_helper/run_as.h"
#include "tap.h"

#define SOMEBODY 61234

/* ---- what is concluded ---- */

static struct report *read_report(const char *text)
{
    struct report *report = NULL;

    REQUIRE_INT(report_read(text, strlen(text), &report, NULL), IFG_OK);
    return report;
}

/* A runtime with functions 0x10 (compute) 0x20 (execute) 0x30 (run) 0x40 (api). */
static void put_run(struct ifg_bytes *out, const char *label, unsigned session, unsigned argument,
                    int wrong_at)
{
    static const int computes[] = { 5, 4, 2, 0 };
    int expected = 5;

    answer_put(out, "session %s 0x%x\nchain %s compute 0x10 0x20 0x30 0x40\n", label, session,
               label);
    answer_put(out, "enter %s 0x40 0x%x 0 0 0 0 0\n", label, session);
    answer_put(out, "enter %s 0x30 0x7fff00 0x%x 0 0 0 0\n", label, session);
    for (size_t i = 0; i < 4; i++) {
        int seen = (int)i == wrong_at ? 77 : expected;

        answer_put(out, "enter %s 0x20 0x7fff10 0x7fff20 %d %d 0 0\n", label,
                   argument == 3 ? seen : 9, argument == 4 ? seen : 9);
        answer_put(out, "compute %s %d\n", label, computes[i]);
        expected = computes[i] - 1;
    }
}

static void judge_runs(unsigned argument, int wrong_at, struct report_verdict *out)
{
    struct ifg_bytes text;
    struct report *report;

    ifg_bytes_init(&text, 1 << 16);
    answer_put(&text, "ort 1.20.1\napi run 0x40\nchain run compute 0x10 0x20 0x30 0x40\n");
    put_run(&text, "check-run", 0x111000, argument, wrong_at);
    put_run(&text, "check-other", 0x222000, argument, -1);
    put_run(&text, "check-bind", 0x111000, argument, -1);
    ifg_bytes_put(&text, "", 1);
    report = read_report((const char *)text.data);
    report_judge(report, out);
    report_free(report);
    ifg_bytes_fini(&text);
}

static void finds_execute_kernel_by_its_index(void)
{
    struct report_verdict verdict;

    judge_runs(3, -1, &verdict);
    CHECK_UINT(verdict.execute_kernel.address, 0x20);
    CHECK_UINT(verdict.execute_kernel.argument, 3);
    CHECK_UINT(verdict.execute_kernel.checked, 12);
    judge_runs(4, -1, &verdict);
    CHECK_UINT(verdict.execute_kernel.address, 0x20);
    CHECK_UINT(verdict.execute_kernel.argument, 4);
}

static void one_wrong_index_is_enough(void)
{
    struct report_verdict verdict;

    for (int at = 0; at < 4; at++) {
        judge_runs(3, at, &verdict);
        CHECK_UINT(verdict.execute_kernel.address, 0);
    }
}

static void finds_run_by_its_session(void)
{
    struct report_verdict verdict;

    judge_runs(3, -1, &verdict);
    CHECK_UINT(verdict.run.address, 0x40); /* all ways lead through it in this runtime */
    CHECK_UINT(verdict.run.argument, 1);
    CHECK_UINT(verdict.api_run.address, 0x40);
    CHECK_UINT(verdict.api_run.argument, 1);
}

/* Python cannot tell the pointer of a session: it is what creation and runs have in common. */
static void infers_sessions_of_python(void)
{
    static const char text[] =
        "ort 1.20.1\n"
        "chain python-run compute 0x10 0x30 0x31 0x90\n"
        "chain python-bind compute 0x10 0x30 0x90\n"
        "chain python-array infer 0x1 0x50 0x90\n"
        "chain python-path infer 0x1 0x50 0x51 0x90\n"
        "chain python-array kernel 0x2 0x60 0x90\n"
        "chain python-path kernel 0x2 0x60 0x90\n"
        "enter python-check-array 0x90 0x700000 0x710000 0 0 0 0\n"
        "enter python-check-array 0x50 0x7fff00 0x111000 0x900000 0 0 0\n"
        "enter python-check-array 0x60 0x7fff00 0x111000 0x7 0 0 0\n"
        "enter python-check-path 0x90 0x700000 0x710000 0 0 0 0\n"
        "enter python-check-path 0x51 0x7fff00 0x222000 0x900000 0 0 0 path=3\n"
        "enter python-check-path 0x50 0x7fff00 0x222000 0x910000 0 0 0\n"
        "enter python-check-path 0x60 0x7fff00 0x222000 0x7 0 0 0\n"
        "enter python-check-run 0x90 0x700000 0x710000 0 0 0 0\n"
        "enter python-check-run 0x31 0x111000 0x111000 0 0 0 0\n"
        "enter python-check-run 0x30 0x7fff00 0x111000 0x7 0 0 0\n"
        "enter python-check-other 0x30 0x7fff00 0x222000 0x7 0 0 0\n"
        "enter python-check-bind 0x30 0x7fff00 0x111000 0x7 0 0 0\n";
    struct report *report = read_report(text);
    struct report_verdict verdict;

    report_judge(report, &verdict);
    CHECK_UINT(verdict.run.address, 0x30);
    CHECK_UINT(verdict.run.argument, 2);
    CHECK_UINT(verdict.initialize.address, 0x60);
    CHECK_UINT(verdict.load.address, 0x50);
    CHECK_UINT(verdict.load_path.address, 0x51);
    CHECK_UINT(verdict.load_path.path, 3);
    CHECK_UINT(verdict.execute_kernel.address, 0);
    report_free(report);
}

static void chains_without_calls_prove_nothing(void)
{
    struct report *report = read_report("ort 1.20.1\nchain run compute 0x10 0x20 0x30 0x40\n"
                                        "compute run 5\nunchecked no\nchain x y\nenter run 1 2\n"
                                        "compute run\nchain run compute\nerror no luck\nchain");
    struct report_verdict verdict;

    report_judge(report, &verdict);
    CHECK_UINT(verdict.execute_kernel.address, 0);
    CHECK_UINT(verdict.run.address, 0);
    CHECK_UINT(report->chain_count, 1);
    CHECK_UINT(report->enter_count, 0);
    CHECK_STR(report->unchecked, "no");
    CHECK_STR(report->error, "no luck");
    report_free(report);
}

/* ---- answers ---- */

static enum ifg_status read_backtrace(const char *text, struct ort_backtrace *out,
                                      struct ifg_error *err)
{
    return answer_read_backtrace(text, strlen(text), out, err);
}

static void reads_a_backtrace(void)
{
    struct ort_backtrace backtrace;

    CHECK_INT(read_backtrace(ANSWER_FIRST_LINE
                             "\nversion 1.20.1\nbuild-id 00ff\nframe 0 0x10\nnew things\n"
                             "execute_kernel 0x20 0x24 argument 3 checked 12\n"
                             "node_names argument 2 offsets 0 264 0 8 40 checked 14\n"
                             "load_path 0x50 0x50 argument 2 path 3 checked 1\nend\n",
                             &backtrace, NULL),
              IFG_OK);
    CHECK_STR(backtrace.version, "1.20.1");
    CHECK_STR(backtrace.build_id, "00ff");
    CHECK_UINT(backtrace.execute_kernel.file_offset, 0x20);
    CHECK_UINT(backtrace.execute_kernel.probe_offset, 0x24);
    CHECK_UINT(backtrace.execute_kernel.argument, 3);
    CHECK_UINT(backtrace.load_path.path, 3);
    CHECK_UINT(backtrace.names.argument, 2);
    CHECK_UINT(backtrace.names.offsets[1], 264);
    CHECK_UINT(backtrace.names.offsets[4], 40);
    CHECK_UINT(backtrace.run.file_offset, 0);
}

static void refuses_what_is_no_answer(void)
{
    static const char *const texts[] = {
        "",
        "hello\n",
        ANSWER_FIRST_LINE "\n",
        ANSWER_FIRST_LINE "\nversion 1.2.3\n",
        ANSWER_FIRST_LINE "\nend\n",
        ANSWER_FIRST_LINE "\nversion 1\nrun 0x20 0x10 argument 1\nend\n",
        ANSWER_FIRST_LINE "\nversion 1\nrun 0x20 0x2000 argument 1\nend\n",
        ANSWER_FIRST_LINE "\nversion 1\nrun 0x20 0x20 argument 99\nend\n",
        ANSWER_FIRST_LINE "\nversion 1\nrun 0x20\nend\n",
        ANSWER_FIRST_LINE "\nversion 1\nrun 0x20 0x20 argument 1 junk\nend\n",
        "inferogram-ort-helper 2\nversion 1\nend\n",
    };
    struct ort_backtrace backtrace;
    struct ifg_error err;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tap_note("text %zu", i);
        CHECK_INT(read_backtrace(texts[i], &backtrace, &err), IFG_CORRUPT);
        CHECK_UINT(backtrace.run.file_offset, 0);
    }
    CHECK_INT(read_backtrace("error it\x1b crashed\n", &backtrace, &err), IFG_UNSUPPORTED);
    CHECK_STR(err.message, "it? crashed");
}

static void reads_nodes(void)
{
    static const char text[] = ANSWER_FIRST_LINE "\nrun ok 1 1\n"
                                                 "node 7 % a%20b Conv CPUExecutionProvider\n"
                                                 "node 2 % % If CPU\n"
                                                 "node 7 2 inner Add CPU\n"
                                                 "node 8 2 one Add CPU\n"
                                                 "other 8 2 also Mul CPU\n"
                                                 "other 7 2 inner Add CPU\n"
                                                 "node 3 % loop Loop CPU\n"
                                                 "node 1 3 body Add CPU\n"
                                                 "node 0 2/7 deep Add CPU\nend\n";
    struct ort_nodes nodes;

    REQUIRE_INT(answer_read_nodes(text, strlen(text), &nodes, NULL), IFG_OK);
    CHECK_UINT(nodes.count, 9);
    CHECK(nodes.complete);
    REQUIRE(ort_nodes_find(&nodes, "", 7) != NULL);
    CHECK_STR(ort_nodes_find(&nodes, "", 7)->name, "a b");
    CHECK(!ort_nodes_find(&nodes, "", 7)->is_in_branch);
    CHECK_STR(ort_nodes_find(&nodes, "2", 7)->name, "inner");
    CHECK(ort_nodes_find(&nodes, "2", 7)->is_in_branch);
    CHECK(ort_nodes_find(&nodes, "2/7", 0)->is_in_branch);
    CHECK(!ort_nodes_find(&nodes, "3", 1)->is_in_branch);
    CHECK(!ort_nodes_find(&nodes, "2", 7)->is_ambiguous);
    CHECK(ort_nodes_find(&nodes, "2", 8)->is_ambiguous); /* two names */
    CHECK_STR(ort_nodes_find(&nodes, "2", 8)->name, "one");
    CHECK(ort_nodes_find(&nodes, "", 9) == NULL);
    ort_nodes_fini(&nodes);
    CHECK_INT(answer_read_nodes(text, strlen(text) - 4, &nodes, NULL), IFG_CORRUPT);
}

/* ---- the cache ---- */

static void keeps_what_was_found(void)
{
    char folder[] = "/tmp/ifg-cache.XXXXXX";
    struct cache_key key, other;
    struct ifg_bytes text, back;
    char command[64];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

    REQUIRE(mkdtemp(folder) != NULL);
    setenv("XDG_CACHE_HOME", folder, 1);
    ifg_bytes_init(&text, 1000);
    ifg_bytes_init(&back, 1000);
    ifg_bytes_put(&text, "hello\n", 6);
    cache_key_of(fd, "0123456789abcdef0123", 1000, &key);
    REQUIRE(key.build_id[0]);
    CHECK(!cache_read(&key, &back));
    cache_write(&key, &text);
    CHECK(cache_read(&key, &back));
    CHECK_UINT(back.size, 6);
    other = key;
    other.size++;
    CHECK(!cache_read(&other, &back));
    other = key;
    other.owner++;
    CHECK(!cache_read(&other, &back));
    other = key;
    other.inode++;
    CHECK(!cache_read(&other, &back));
    other = key;
    other.changed_ns++;
    CHECK(!cache_read(&other, &back));
    other = key;
    other.user = 0; /* what a program of user 1000 made us believe */
    CHECK(!cache_read(&other, &back));
    cache_key_of(fd, "../../etc/passwd", 1000, &other);
    close(fd);
    CHECK_STR(other.build_id, "");
    CHECK(!cache_read(&other, &back));
    ifg_bytes_fini(&text);
    ifg_bytes_fini(&back);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_INT(system(command), 0);
}

/* ---- children ---- */

static int says_hello(void *user)
{
    return write(3, user, 5) == 5 ? 0 : 5;
}

static int crashes(void *user)
{
    (void)user;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int sleeps(void *user)
{
    while (user)
        pause();
    return 0;
}

/* Something that outlives it and holds the pipe. */
static int leaves_a_child(void *user)
{
    if (fork() == 0)
        sleeps(user);
    return 0;
}

static int closes_and_sleeps(void *user)
{
    close(3);
    return sleeps(user);
}

static int writes_for_ever(void *user)
{
    while (user && write(3, "words words words words words ", 30) > 0)
        continue;
    return 0;
}

static enum ifg_status try_child(int (*function)(void *), unsigned timeout_s,
                                 struct ifg_bytes *words, struct ifg_error *err)
{
    static const char *const environment[] = { NULL };
    static char hello[] = "hello";
    struct child child = { .what = "it",
                           .function = function,
                           .user = hello,
                           .environment = environment,
                           .result_fd = 3,
                           .timeout_s = timeout_s,
                           .file_bytes = 1000 };

    ifg_bytes_init(words, 1000);
    return child_collect(&child, words, err);
}

static void collects_words(void)
{
    struct ifg_bytes words;
    struct ifg_error err;

    CHECK_INT(try_child(says_hello, 30, &words, &err), IFG_OK);
    CHECK_UINT(words.size, 5);
    ifg_bytes_fini(&words);
}

/* The number of the first thing that is not as it must be. */
static int has_no_rights(void *user)
{
    struct credentials self;

    (void)user;
    if (credentials_of(getpid(), &self, NULL))
        return 2;
    if (self.uid != SOMEBODY || self.effective_uid != SOMEBODY || self.gid != SOMEBODY + 1 ||
        self.group_count)
        return 3;
    if (self.permitted || self.effective || !self.no_new_privs || self.seccomp_mode != 2)
        return 4;
    if (fcntl(20, F_GETFD) >= 0 || getsid(0) != getpid())
        return 5;
    /* Not setuid(), which aborts where another thread, as that of ThreadSanitizer, may do it. */
    return syscall(SYS_setuid, 0) == 0 ? 6 : 0;
}

static void foreign_code_has_the_rights_of_its_user(void)
{
    static const char *const environment[] = { NULL };
    struct credentials who = { .uid = SOMEBODY, .gid = SOMEBODY + 1 };
    struct child child = { .what = "it",
                           .function = has_no_rights,
                           .environment = environment,
                           .result_fd = 3,
                           .timeout_s = 30,
                           .file_bytes = 1000,
                           .who = &who,
                           .is_foreign = true };
    struct ifg_bytes words;
    struct ifg_error err = { .message = "" };

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    ifg_bytes_init(&words, 1000);
    CHECK_INT(dup2(1, 20), 20);
    CHECK_INT(child_collect(&child, &words, &err), IFG_OK);
    CHECK_STR(err.message, "");
    ifg_bytes_fini(&words);
}

static struct run_as_files files;
static char folder[64];

/* A library and an interpreter in a folder of their own, each with an owner and a mode. */
static void make_files(uid_t owner, mode_t mode)
{
    static char library[80], python[80];

    snprintf(folder, sizeof folder, "/tmp/ifg-run-as.XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(library, sizeof library, "%s/lib.so", folder);
    snprintf(python, sizeof python, "%s/python", folder);
    files = (struct run_as_files){ .library = library, .python = python };
    files.library_fd = open(library, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    files.python_fd = open(python, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE_INT(fchown(files.library_fd, owner, owner), 0);
    REQUIRE_INT(fchown(files.python_fd, owner, owner), 0);
    REQUIRE_INT(fchmod(files.library_fd, mode), 0);
    REQUIRE_INT(fchmod(files.python_fd, mode), 0);
}

static void remove_files(void)
{
    close(files.library_fd);
    close(files.python_fd);
    unlink(files.library);
    if (files.python)
        unlink(files.python);
    rmdir(folder);
}

static void a_users_program_is_looked_into_as_that_user(void)
{
    struct credentials target = { .uid = SOMEBODY, .gid = SOMEBODY }, who;
    struct ifg_error err = { .message = "" };

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    make_files(0, 0755); /* the owner of the file does not count */
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_OK);
    CHECK_UINT(who.uid, SOMEBODY);
    CHECK(run_as_is_for_another(&target));
    remove_files();
    make_files(SOMEBODY, 0755);
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_OK);
    CHECK_UINT(who.uid, SOMEBODY);
    remove_files();
    make_files(SOMEBODY + 1, 0755); /* an interpreter of a third */
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "can be written by others than root and that user");
    remove_files();
    make_files(SOMEBODY, 0777);
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_PERMISSION);
    remove_files();
}

static void roots_program_is_looked_into_as_nobody(void)
{
    struct credentials target = { .uid = 0 }, who;
    struct ifg_error err = { .message = "" };

    if (getuid() != 0)
        SKIP("root: only root can become another user");
    make_files(0, 0755); /* in a folder that only root can enter */
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_OK);
    CHECK_UINT(who.uid, 0);
    REQUIRE_INT(chmod(folder, 0755), 0);
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_OK);
    CHECK_UINT(who.uid, CREDENTIALS_NOBODY);
    remove_files();
    make_files(SOMEBODY, 0750); /* root uses what somebody else can replace, nobody cannot read */
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "somebody else could have written");
    remove_files();
    make_files(SOMEBODY, 0755);
    unlink(files.python);
    files.python = NULL; /* a library alone is read through its descriptor */
    CHECK_INT(run_as_choose(&target, &files, &who, &err), IFG_OK);
    CHECK_UINT(who.uid, CREDENTIALS_NOBODY);
    remove_files();
}

static void survives_bad_children(void)
{
    static const struct {
        int (*function)(void *);
        unsigned timeout_s;
        const char *message;
    } cases[] = {
        { crashes, 30, "it crashed: Segmentation fault" },
        { sleeps, 1, "it did not come to an end within 1 s" },
        { leaves_a_child, 1, "it did not come to an end within 1 s" },
        { closes_and_sleeps, 1, "it did not come to an end within 1 s" },
        { writes_for_ever, 1, "it did not come to an end within 1 s" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ifg_bytes words;
        struct ifg_error err = { 0 };

        tap_note("child %zu", i);
        CHECK_INT(try_child(cases[i].function, cases[i].timeout_s, &words, &err), IFG_UNSUPPORTED);
        CHECK_STR(err.message, cases[i].message);
        ifg_bytes_fini(&words);
    }
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to be reaped */
}

static void a_program_that_is_not_there(void)
{
    struct ort_helper_options options = ORT_HELPER_OPTIONS_INIT;
    struct ort_backtrace backtrace;
    struct ifg_error err = { 0 };

    options.helper = "/nowhere/helper";
    options.no_cache = true;
    CHECK_INT(ort_helper_backtrace("/proc/self/exe", &options, &backtrace, &err), IFG_NOT_FOUND);
    CHECK_CONTAINS(err.message, "/nowhere/helper");
    CHECK_INT(ort_helper_backtrace("/nowhere/lib.so", &options, &backtrace, &err), IFG_NOT_FOUND);
}

static void the_model_is_small(void)
{
    uint8_t model[MADE_MODEL_BYTES];
    size_t bytes = made_model(model);

    CHECK(bytes > 100 && bytes < 400);
    CHECK_UINT(model[0], 0x08); /* ir_version */
}

TAP_MAIN(TAP_CASE(finds_execute_kernel_by_its_index), TAP_CASE(one_wrong_index_is_enough),
         TAP_CASE(finds_run_by_its_session), TAP_CASE(infers_sessions_of_python),
         TAP_CASE(chains_without_calls_prove_nothing), TAP_CASE(reads_a_backtrace),
         TAP_CASE(refuses_what_is_no_answer), TAP_CASE(reads_nodes), TAP_CASE(keeps_what_was_found),
         TAP_CASE(collects_words), TAP_CASE(survives_bad_children),
         TAP_CASE(foreign_code_has_the_rights_of_its_user),
         TAP_CASE(a_users_program_is_looked_into_as_that_user),
         TAP_CASE(roots_program_is_looked_into_as_nobody), TAP_CASE(a_program_that_is_not_there),
         TAP_CASE(the_model_is_small))
