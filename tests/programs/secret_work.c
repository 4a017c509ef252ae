// SPDX-License-Identifier: Apache-2.0
/* A library whose function gets something that is nobody else's business. */

int secret_load(const char *secret);

__attribute__((visibility("default"), noinline)) int secret_load(const char *secret)
{
    __asm__ volatile("" : : "r"(secret) : "memory");
    return secret[0] != 0;
}
