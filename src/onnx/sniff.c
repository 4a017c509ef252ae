// SPDX-License-Identifier: Apache-2.0
/* Files that are no models, told by their first bytes, so that the message can say what to do. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "onnx/onnx_internal.h"

#define HEAD_BYTES 512u

struct magic {
    size_t at;
    const char *bytes;
    size_t count;
    const char *meaning;
};

#define MAGIC(at, text, meaning)                                                                   \
    {                                                                                              \
        at, text, sizeof(text) - 1, meaning                                                        \
    }

static const struct magic magics[] = {
    MAGIC(0, "version https://git-lfs", "this is a Git LFS pointer; run 'git lfs pull'"),
    MAGIC(0, "PK\3\4",
          "this is a zip archive (files of PyTorch are too); unpack it, or export the "
          "model to ONNX"),
    MAGIC(0, "PK\5\6", "this is an empty zip archive"),
    MAGIC(0, "\x1f\x8b", "this is compressed; run 'gunzip' first"),
    MAGIC(0, "\x28\xb5\x2f\xfd", "this is compressed; run 'unzstd' first"),
    MAGIC(0,
          "\xfd"
          "7zXZ",
          "this is compressed; run 'unxz' first"),
    MAGIC(0, "BZh", "this is compressed; run 'bunzip2' first"),
    MAGIC(0, "7z\xbc\xaf", "this is a 7z archive; unpack it first"),
    MAGIC(257, "ustar", "this is a tar archive; unpack it first"),
    MAGIC(0, "GGUF", "this is a GGUF model (llama.cpp); only ONNX models can be read"),
    MAGIC(0, "\x89HDF",
          "this is an HDF5 file (Keras?); export the model to ONNX, for example "
          "with tf2onnx"),
    MAGIC(4, "TFL3",
          "this is a TensorFlow Lite model; convert it to ONNX, for example with "
          "tf2onnx"),
    MAGIC(0, "\x80\2",
          "this is a Python pickle (PyTorch?); export the model to ONNX with "
          "torch.onnx.export"),
    MAGIC(0, "\x80\4",
          "this is a Python pickle (PyTorch?); export the model to ONNX with "
          "torch.onnx.export"),
    MAGIC(0, "\x93NUMPY", "this is an array of NumPy, not a model"),
    MAGIC(0,
          "\x7f"
          "ELF",
          "this is a program or library, not a model"),
    MAGIC(0, "%PDF", "this is a PDF document"),
    MAGIC(0, "\x89PNG", "this is a picture"),
};

static bool fail(struct wire *wire, const uint8_t *head, const char *meaning)
{
    if (isprint(head[0]))
        return wire_fail(wire, IFG_CORRUPT, "not an ONNX model: byte 0 is '%c'; %s", head[0],
                         meaning);
    return wire_fail(wire, IFG_CORRUPT, "not an ONNX model: byte 0 is 0x%02x; %s", head[0],
                     meaning);
}

static bool has_word(const char *head, const char *word)
{
    return strncasecmp(head, word, strlen(word)) == 0;
}

static bool is_safetensors(const uint8_t *head, size_t got, uint64_t bytes)
{
    uint64_t length = 0;

    for (unsigned i = 0; got > 9 && i < 8; i++)
        length |= (uint64_t)head[i] << (8 * i);
    return got > 9 && length > 1 && length < bytes && head[8] == '{' &&
           (head[9] == '"' || head[9] == '}');
}

/* A graph of TensorFlow is a list of nodes: field 1 with, in it, a name as field 1. ONNX writes a
 * number there. */
static bool is_tensorflow(const uint8_t *head, size_t got)
{
    size_t at = 1;

    if (got < 16 || head[0] != 0x0a)
        return false;
    while (at < 6 && (head[at] & 0x80))
        at++;
    return head[at + 1] == 0x0a && head[at + 2] < 0x80;
}

static bool is_text(const uint8_t *head, size_t got)
{
    for (size_t i = 0; i < got; i++)
        if (head[i] < 0x80 && !isprint(head[i]) && !isspace(head[i]))
            return false;
    return true;
}

bool onnx_sniff(struct wire *wire)
{
    uint8_t head[HEAD_BYTES + 1] = { 0 };
    size_t got = wire_read(wire, 0, head, HEAD_BYTES);
    const char *text = (const char *)head;

    if (!wire->bytes)
        return wire_fail(wire, IFG_CORRUPT,
                         "not an ONNX model: the file is empty (an interrupted download?)");
    if (!got)
        return wire_fail(wire, IFG_IO, "cannot be read");
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (magics[i].at + magics[i].count <= got &&
            memcmp(head + magics[i].at, magics[i].bytes, magics[i].count) == 0)
            return fail(wire, head, magics[i].meaning);
    if (is_safetensors(head, got, wire->bytes))
        return fail(wire, head,
                    "this is a safetensors file: weights without a graph; export the "
                    "model to ONNX, for example with Optimum");
    if (is_tensorflow(head, got))
        return fail(wire, head,
                    "this looks like a graph of TensorFlow; convert it to ONNX with "
                    "tf2onnx");
    while (isspace((unsigned char)*text))
        text++;
    if (has_word(text, "<?xml") || has_word(text, "<net"))
        return fail(wire, head, "this looks like XML (a model of OpenVINO?)");
    if (has_word(text, "<"))
        return fail(wire, head, "this looks like HTML (a download page?)");
    if (has_word(text, "{") && is_text(head, got))
        return fail(wire, head, "this looks like JSON, not a model");
    if (is_text(head, got) && got > 3)
        return fail(wire, head, "this looks like text, not a model");
    return true;
}
