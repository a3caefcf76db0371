/* The words that policies and options are made of. All of a text counts, byte by byte, whatever the locale says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Absolute, of letters, digits and `._/@+-`, without `.`, `..`, doubled or trailing slashes; `/` itself is one. */
bool word_is_path(const char *text);

/* Whether a path is that place or below it: /data/a is within /data, /database is not. */
bool word_is_within(const char *path, const char *place);

/* 1 to 63 letters, digits and `-`, with no `-` at the beginning. */
bool word_is_name(const char *text);

/* A variable's name: ^[A-Za-z_][A-Za-z0-9_]*$ */
bool word_is_variable(const char *text);

/* sha256: and 64 lowercase hexadecimal digits. */
bool word_is_digest(const char *text);

/*
 * Whether files may be the image of this digest, by their path: the directory that a store has an image in is called
 * sha256-<64 digits>, as it was measured. Of other paths nobody knows anything.
 */
bool word_may_be_image(const char *path, const char *digest);

/* Decimal digits, no sign, no zero in front; at most `most`. */
bool word_number(const char *text, uint64_t most, uint64_t *number);

/* A number of bytes, or of K, M, G of them; at most INT64_MAX, for files are no longer. */
bool word_size(const char *text, uint64_t *bytes);

/*
 * A path as people type it: doubled and trailing slashes and `.` are dropped, `..` and control characters are not
 * taken. A relative one must begin with `.`, and keeps it. NULL when it is none, or (errno ENOMEM) without memory.
 */
char *word_tidy_path(const char *text);
