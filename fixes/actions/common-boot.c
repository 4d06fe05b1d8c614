#include "common-boot.h"

#include <stdlib.h>

#include "common-sys.h"
#include "rocm-doctor/action.h"
#include "rocm-doctor/error.h"
#include "rocm-doctor/facts.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/str.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* Where the partition that the firmware reads is mounted, by what systemd knows. */
static const char *const partitions[] = { "/boot", "/boot/efi", "/efi" };

int boot_kernels(const struct rd_step *step, struct rd_sysroot *sr, struct rd_strv *ret, struct rd_error *err)
{
	const char *newest = rd_fact_get_str(rd_step_facts(step), "kernel.newest");
	const struct rd_uname *un;
	int r = rd_sysroot_uname(sr, &un);

	if (r < 0)
		return fix_unable(err, "the release of the running kernel is not known: %s", rd_strerror(r));
	rd_strv_push(ret, un->release);
	if (*newest && !rd_streq(newest, un->release))
		rd_strv_push(ret, newest);
	for (size_t i = 0; i < ret->n && r == 0; i++)
		r = rd_arg_check_name(ret->v[i], err);
	return r;
}

int boot_entries(struct rd_sysroot *sr, struct rd_strv *ret)
{
	int r = 0;

	for (size_t i = 0; i < RD_ARRAY_SIZE(partitions) && r == 0; i++) {
		rd_auto_free char *pattern = rd_xasprintf("%s/loader/entries/*.conf", partitions[i]);

		r = rd_sysroot_glob(sr, ret, pattern);
	}
	return r;
}

bool boot_is_copied(struct rd_sysroot *sr, const char *kernel)
{
	rd_auto_strv struct rd_strv found = RD_STRV_INIT;

	for (size_t i = 0; i < RD_ARRAY_SIZE(partitions); i++) {
		/* In a folder of its own below one of the machine's, or as one unified image. */
		rd_auto_free char *folder = rd_xasprintf("%s/*/%s/linux", partitions[i], kernel);
		rd_auto_free char *image = rd_xasprintf("%s/EFI/Linux/*%s*.efi", partitions[i], kernel);

		if (rd_sysroot_glob(sr, &found, folder) < 0 || rd_sysroot_glob(sr, &found, image) < 0)
			continue;
	}
	return found.n;
}

int boot_install(struct rd_step *step, struct rd_sysroot *sr, const char *kernel,
                 void (*effect)(struct rd_step *step, const char *const argv[]), struct rd_error *err)
{
	rd_auto_free char *image = rd_xasprintf("/usr/lib/modules/%s/vmlinuz", kernel);

	if (!fix_has_program(sr, "kernel-install"))
		return fix_unable(err, "no kernel-install is here");
	if (rd_sysroot_exists(sr, image) != 1) {
		free(image);
		image = rd_xasprintf("/boot/vmlinuz-%s", kernel);
	}
	if (rd_sysroot_exists(sr, image) != 1)
		return fix_unable(err, "the image of kernel %s is not where it usually is", kernel);
	effect(step, (const char *const[]){ "kernel-install", "add", kernel, image, NULL });
	return 0;
}
