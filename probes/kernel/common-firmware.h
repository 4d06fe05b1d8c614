/* Firmware files on disk against what the module names. */
#pragma once

struct rd_probe_ctx;
struct rd_strv;

/*
 * kernel_firmware_judge - which files without which a GPU cannot start are missing, for each GPU that has no driver
 * @modinfo: "field=value" lines of the module that is loaded for it, NULL where they were not read
 *
 * Sets gpus[].firmware.missing: empty where nothing is missing or nothing can be said against the disk.
 */
void kernel_firmware_judge(struct rd_probe_ctx *ctx, const struct rd_strv *modinfo);
