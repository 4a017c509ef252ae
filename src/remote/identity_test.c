// SPDX-License-Identifier: Apache-2.0
/* Fingerprints as people write them, and a certificate that stays the same. */
#include "remote/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define PAIRS  "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"

static char folder[] = "/tmp/ifg-identity-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void fingerprints_are_read_as_people_write_them(void)
{
    struct remote_fingerprint plain, other;
    char text[REMOTE_FINGERPRINT_TEXT];

    REQUIRE(remote_fingerprint_read(DIGITS, &plain));
    remote_fingerprint_write(&plain, text);
    CHECK_STR(text, DIGITS);
    CHECK(remote_fingerprint_read("SHA256:" DIGITS, &other));
    CHECK(remote_fingerprint_same(&plain, &other));
    CHECK(remote_fingerprint_read(PAIRS ":" PAIRS, &other)); /* as openssl prints them */
    CHECK(remote_fingerprint_same(&plain, &other));
    other.bytes[31] ^= 1;
    CHECK(!remote_fingerprint_same(&plain, &other));
}

static void what_is_no_fingerprint_is_refused(void)
{
    static const char *const wrong[] = {
        "",         "SHA256:",   "0011",
        DIGITS "0", DIGITS "00", ":" DIGITS,
        DIGITS ":", "x" DIGITS,  "SHA256:SHA256:" DIGITS,
        " " DIGITS,
    };
    struct remote_fingerprint out;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!remote_fingerprint_read(wrong[i], &out));
}

static void an_own_certificate_stays(void)
{
    static const char kept[] = "config/inferogram/agent/certificate.pem";
    struct remote_identity *first = NULL, *second = NULL;
    struct ifg_error err = { .message = "" };
    struct stat info;
    char command[128];

    REQUIRE(mkdtemp(folder) != NULL);
    setenv("XDG_CONFIG_HOME", in_folder("config"), 1);
    REQUIRE_INT(remote_identity_own(&first, &err), IFG_OK);
    REQUIRE_INT(remote_identity_own(&second, &err), IFG_OK);
    CHECK(remote_fingerprint_same(remote_identity_fingerprint(first),
                                  remote_identity_fingerprint(second)));
    remote_identity_destroy(second);
    REQUIRE_INT(stat(in_folder(kept), &info), 0);
    CHECK_UINT(info.st_mode & 0777, 0600);
    REQUIRE_INT(remote_identity_load(in_folder(kept), in_folder(kept), &second, &err), IFG_OK);
    CHECK(remote_fingerprint_same(remote_identity_fingerprint(first),
                                  remote_identity_fingerprint(second)));
    remote_identity_destroy(first);
    remote_identity_destroy(second);

    REQUIRE_INT(chmod(in_folder(kept), 0644), 0); /* others can read it: it is not used */
    CHECK_INT(remote_identity_own(&first, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "chmod 600");
    REQUIRE_INT(chmod(in_folder(kept), 0600), 0);
    REQUIRE_INT(truncate(in_folder(kept), 100), 0);
    CHECK_INT(remote_identity_own(&first, &err), IFG_INVALID);
    CHECK_INT(remote_identity_load("/dev/null", "/dev/null", &first, &err), IFG_INVALID);
    CHECK_INT(remote_identity_load(in_folder("none"), in_folder("none"), &first, &err),
              IFG_NOT_FOUND);
    CHECK(first == NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    REQUIRE_INT(system(command), 0);
}

TAP_MAIN(TAP_CASE(fingerprints_are_read_as_people_write_them),
         TAP_CASE(what_is_no_fingerprint_is_refused), TAP_CASE(an_own_certificate_stays))
