// SPDX-License-Identifier: Apache-2.0
/* Tokens: made, kept in a file that only its owner can read, and compared. */
#include "remote/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static void made_tokens_differ(void)
{
    struct remote_token one;
    struct remote_token other;

    REQUIRE(remote_token_make(&one, NULL) == IFG_OK);
    REQUIRE(remote_token_make(&other, NULL) == IFG_OK);
    CHECK_UINT(strlen(one.text), 32);
    CHECK(remote_token_same(&one, &one));
    CHECK(!remote_token_same(&one, &other));
}

static void a_part_or_nothing_is_not_the_token(void)
{
    struct remote_token token;
    struct remote_token given = { .text = "" };

    REQUIRE(remote_token_make(&token, NULL) == IFG_OK);
    CHECK(!remote_token_same(&token, &given));
    CHECK(!remote_token_same(&given, &given)); /* empty ones are none */
    memcpy(given.text, token.text, 31);
    CHECK(!remote_token_same(&token, &given));
    memcpy(given.text, token.text, sizeof given.text);
    given.text[34] = 'x'; /* behind its end */
    CHECK(remote_token_same(&token, &given));
}

static void files_are_for_their_owner_only(void)
{
    char directory[] = "/tmp/ifg-token.XXXXXX";
    char path[64];
    struct remote_token token;
    struct remote_token got;
    struct ifg_error err = { .message = "" };
    struct stat info;

    REQUIRE(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/token", directory);
    CHECK_INT(remote_token_read(path, &got, &err), IFG_NOT_FOUND);
    REQUIRE(remote_token_make(&token, &err) == IFG_OK);
    REQUIRE(remote_token_write(path, &token, &err) == IFG_OK);
    REQUIRE(stat(path, &info) == 0);
    CHECK_UINT(info.st_mode & 0777, 0600);
    CHECK(remote_token_write(path, &token, &err) != IFG_OK); /* never over another one */
    CHECK_INT(remote_token_read(path, &got, &err), IFG_OK);
    CHECK(remote_token_same(&token, &got));
    REQUIRE(chmod(path, 0640) == 0);
    CHECK_INT(remote_token_read(path, &got, &err), IFG_PERMISSION);
    CHECK_CONTAINS(err.message, "chmod 600");
    CHECK(remote_token_read(directory, &got, &err) != IFG_OK);
    unlink(path);
    rmdir(directory);
}

static void short_tokens_are_refused(void)
{
    struct remote_token got;
    struct ifg_error err = { .message = "" };
    char text[REMOTE_TOKEN_MAX + 2];

    CHECK_INT(remote_token_set("0123456789abcdef", "here", &got, &err), IFG_OK);
    CHECK_INT(remote_token_set("0123456789abcde", "here", &got, &err), IFG_INVALID);
    CHECK_INT(remote_token_set("0123456789abcd f", "here", &got, &err), IFG_INVALID);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    CHECK_INT(remote_token_set(text, "here", &got, &err), IFG_INVALID);
    CHECK_CONTAINS(err.message, "16 to 128");
}

TAP_MAIN(TAP_CASE(made_tokens_differ), TAP_CASE(a_part_or_nothing_is_not_the_token),
         TAP_CASE(files_are_for_their_owner_only), TAP_CASE(short_tokens_are_refused))
