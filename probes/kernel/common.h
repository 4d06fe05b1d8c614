/* What the kernel probes share. */
#pragma once

#include <stdbool.h>

#include "rocm-doctor/macros.h"
#include "util/strv.h"

struct rd_fact;
struct rd_probe_ctx;

/*
 * kernel_release - the release of the running kernel, "6.8.0-60-generic"
 * Returns 0 and the caller frees; -ENODATA where nothing tells.
 */
int kernel_release(struct rd_probe_ctx *ctx, char **ret) RD_MUST_CHECK;

/* What follows the numbers: "generic", "cloud-amd64", and the machine where the distribution's tag does ("x86_64"). Caller frees. */
char *kernel_flavour(const char *release) RD_MUST_CHECK;

/* True in a container, whose /lib, /etc, /boot and /var are an image's, not those of the host whose kernel runs. */
bool kernel_in_container(const struct rd_probe_ctx *ctx);
#define KERNEL_NOT_THE_HOST "a container has its image's files, not the host's"

/* A module's name as the kernel shows it: '-' as '_'. In place; returns it. */
char *kernel_underscores(char *name);

/*
 * kernel_words - the words of the kernel's command line up to "--", blanks inside double quotes kept, quotes dropped
 */
int kernel_words(struct rd_probe_ctx *ctx, struct rd_strv *ret) RD_MUST_CHECK;

/* The item of gpus[] with this PCI address; NULL where there is none. */
struct rd_fact *kernel_gpu(struct rd_probe_ctx *ctx, const char *address);
/* True where amdgpu drives at least one GPU. */
bool kernel_drives_a_gpu(const struct rd_probe_ctx *ctx);

/* True where a word is in a blank-separated list of words, as modinfo and tables hold them. */
bool kernel_has_word(const char *list, const char *word);
