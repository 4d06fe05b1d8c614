#include <errno.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAVE_LIBKMOD
#include <libkmod.h>
#endif
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/kmod.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

#include "ko.h"
#include "tree.h"

#define RELEASE "6.8.0-60-generic"
#define MODULES "usr/lib/modules/" RELEASE "/"
#define AMDGPU "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"

struct host {
	struct tree tree;
	struct rd_sysroot *sysroot;
	struct rd_kmod *kmod;
};

static const char *const fields[] = { "version=6.12.12",
	                              "srcversion=0123456789ABCDEF0123456",
	                              "firmware=amdgpu/navi10_mec.bin",
	                              "firmware=amdgpu/gc_11_0_0_mec.bin",
	                              "depends=drm,ttm",
	                              "vermagic=" RELEASE " SMP ",
	                              NULL };

/* A tree on a merged /usr, as every distribution has it. */
static void host_make(struct host *host)
{
	tree_make(&host->tree);
	tree_file(&host->tree, MODULES, "");
	tree_link(&host->tree, "lib", "usr/lib");
}

static void host_open(struct host *host)
{
	assert_int_equal(rd_sysroot_open(host->tree.dir, &host->sysroot, NULL), 0);
	assert_int_equal(rd_kmod_open(host->sysroot, RELEASE, &host->kmod, NULL), 0);
}

static void host_close(struct host *host)
{
	rd_kmod_close(host->kmod);
	rd_sysroot_free(host->sysroot);
	tree_remove(&host->tree);
}

static void a_kernel_without_modules_is_told_by_name(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	assert_int_equal(rd_sysroot_open(host.tree.dir, &host.sysroot, NULL), 0);
	assert_int_equal(rd_kmod_open(host.sysroot, "6.1.0-1-amd64", &host.kmod, &err), -ENOENT);
	assert_non_null(strstr(err.message, "6.1.0-1-amd64"));
	rd_error_clear(&err);
	assert_int_equal(rd_kmod_open(host.sysroot, "../../etc", &host.kmod, NULL), -EINVAL);
	assert_int_equal(rd_kmod_open(host.sysroot, "", &host.kmod, NULL), -EINVAL);
	host_close(&host);
}

static void the_module_that_modprobe_would_load_is_what_modules_dep_names(void **state)
{
	rd_auto_strv struct rd_strv needed = RD_STRV_INIT;
	rd_auto_free char *path = NULL, *other = NULL;
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_file(&host.tree, MODULES "modules.dep",
	          "kernel/drivers/gpu/drm/ttm/ttm.ko:\n"
	          "updates/dkms/amdgpu.ko.zst: updates/dkms/amdttm.ko.zst kernel/drivers/acpi/video.ko\n"
	          "/lib/modules/other/extra/amd-sched.ko:\n"
	          "a line without a colon\n");
	host_open(&host);

	assert_string_equal(rd_kmod_folder(host.kmod), "/usr/lib/modules/" RELEASE);
	assert_int_equal(rd_kmod_module_path(host.kmod, "amdgpu", &path), 0);
	assert_string_equal(path, "/" MODULES "updates/dkms/amdgpu.ko.zst");
	assert_int_equal(rd_kmod_dependencies(host.kmod, "amdgpu", &needed), 0);
	assert_int_equal(needed.n, 2);
	assert_string_equal(needed.v[0], "/" MODULES "updates/dkms/amdttm.ko.zst");
	assert_string_equal(needed.v[1], "/" MODULES "kernel/drivers/acpi/video.ko");
	/* '-' is '_', and weak-updates names modules of other kernels by their whole path. */
	assert_int_equal(rd_kmod_module_path(host.kmod, "amd_sched", &other), 0);
	assert_string_equal(other, "/lib/modules/other/extra/amd-sched.ko");
	assert_int_equal(rd_kmod_module_path(host.kmod, "radeon", &path), -ENOENT);
	host_close(&host);
}

static void nothing_is_found_where_depmod_never_ran(void **state)
{
	rd_auto_strv struct rd_strv needed = RD_STRV_INIT;
	rd_auto_free char *path = NULL;
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	host_open(&host);
	assert_int_equal(rd_kmod_module_path(host.kmod, "amdgpu", &path), -ENOENT);
	assert_int_equal(rd_kmod_dependencies(host.kmod, "amdgpu", &needed), -ENOENT);
	assert_false(rd_kmod_is_builtin(host.kmod, "amdgpu"));
	assert_false(rd_kmod_has_alias(host.kmod, "pci:v00001002d0000744Csv00001002sd00000E3Bbc03sc00i00", "amdgpu"));
	host_close(&host);
}

static void builtin_modules_and_aliases_are_found(void **state)
{
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_file(&host.tree, MODULES "modules.builtin",
	          "kernel/drivers/gpu/drm/drm.ko\nkernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko\n");
	tree_file(&host.tree, MODULES "modules.alias",
	          "# aliases\nalias pci:v00001002d*sv*sd*bc03sc00i00* amdgpu\nalias pci:v00001002d00006779sv*sd*bc*sc*i* "
	          "radeon\n");
	host_open(&host);
	assert_true(rd_kmod_is_builtin(host.kmod, "amdgpu"));
	assert_false(rd_kmod_is_builtin(host.kmod, "ttm"));
	assert_true(rd_kmod_has_alias(host.kmod, "pci:v00001002d0000744Csv00001002sd00000E3Bbc03sc00i00", "amdgpu"));
	/* An accelerator of class 12, which kernels before 6.5 or so have no alias for. */
	assert_false(rd_kmod_has_alias(host.kmod, "pci:v00001002d000074A1sv00001002sd000074A1bc12sc00i00", "amdgpu"));
	host_close(&host);
}

static void modinfo_comes_out_of_a_module_file(void **state)
{
	rd_auto_strv struct rd_strv info = RD_STRV_INIT;
	unsigned char bytes[KO_MAX];
	size_t n = ko_make(bytes, fields);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_bytes(&host.tree, MODULES AMDGPU, bytes, n);
	host_open(&host);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/lib/modules/" RELEASE "/" AMDGPU, &info), 0);
	for (size_t i = 0; fields[i]; i++)
		assert_true(rd_strv_has(&info, fields[i]));
	host_close(&host);
}

static void a_link_in_a_tree_leads_to_the_file_of_the_tree(void **state)
{
	rd_auto_strv struct rd_strv info = RD_STRV_INIT;
	unsigned char bytes[KO_MAX];
	size_t n = ko_make(bytes, fields);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_bytes(&host.tree, "opt/driver/amdgpu.ko", bytes, n);
	tree_link(&host.tree, MODULES "extra/amdgpu.ko", "/opt/driver/amdgpu.ko");
	tree_link(&host.tree, MODULES "extra/away.ko", "/etc/hostname");
	host_open(&host);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "extra/amdgpu.ko", &info), 0);
	assert_true(rd_strv_has(&info, "version=6.12.12"));
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "extra/away.ko", &info), -ENOENT);
	host_close(&host);
}

static void what_is_no_module_is_an_error(void **state)
{
	rd_auto_strv struct rd_strv info = RD_STRV_INIT;
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_file(&host.tree, MODULES "empty.ko", "");
	tree_file(&host.tree, MODULES "text.ko", "this is no module\n");
	tree_file(&host.tree, MODULES "text.ko.xz",
	          "\375"
	          "7zXZ and then nothing of the kind");
	tree_file(&host.tree, MODULES "text.ko.zst", "(\265/\375 and then nothing of the kind");
	tree_file(&host.tree, MODULES "folder.ko/", "");
	host_open(&host);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "empty.ko", &info), -EBADMSG);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "text.ko", &info), -EBADMSG);
	assert_true(rd_kmod_modinfo(host.kmod, "/" MODULES "text.ko.xz", &info) < 0);
	assert_true(rd_kmod_modinfo(host.kmod, "/" MODULES "text.ko.zst", &info) < 0);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "folder.ko", &info), -EINVAL);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "gone.ko", &info), -ENOENT);
	assert_int_equal(info.n, 0);
	host_close(&host);
}

static size_t pack_gz(unsigned char *to, size_t room, const unsigned char *from, size_t n)
{
	z_stream z = { .next_in = (unsigned char *)from, .avail_in = (unsigned)n, .next_out = to, .avail_out = (unsigned)room };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static size_t pack_xz(unsigned char *to, size_t room, const unsigned char *from, size_t n)
{
	size_t used = 0;

	/* The kernel's build asks for CRC32, as its own decoder does. */
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, from, n, to, &used, room), LZMA_OK);
	return used;
}

static size_t pack_zst(unsigned char *to, size_t room, const unsigned char *from, size_t n)
{
	size_t used = ZSTD_compress(to, room, from, n, 19);

	assert_false(ZSTD_isError(used));
	return used;
}

static const struct {
	const char *path;
	size_t (*pack)(unsigned char *to, size_t room, const unsigned char *from, size_t n);
} packed[] = { { MODULES "updates/dkms/amdgpu.ko.gz", pack_gz },
	       { MODULES "updates/dkms/amdgpu.ko.xz", pack_xz },
	       { MODULES "updates/dkms/amdgpu.ko.zst", pack_zst } };

static void packed_modules_are_unpacked(void **state)
{
	unsigned char bytes[KO_MAX], small[2 * KO_MAX];
	size_t n = ko_make(bytes, fields);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	for (size_t i = 0; i < RD_ARRAY_SIZE(packed); i++)
		tree_bytes(&host.tree, packed[i].path, small, packed[i].pack(small, sizeof(small), bytes, n));
	host_open(&host);
	for (size_t i = 0; i < RD_ARRAY_SIZE(packed); i++) {
		rd_auto_free char *path = rd_xasprintf("/%s", packed[i].path);
		rd_auto_strv struct rd_strv info = RD_STRV_INIT;

		assert_int_equal(rd_kmod_modinfo(host.kmod, path, &info), 0);
		assert_int_equal(info.n, RD_ARRAY_SIZE(fields) - 1);
	}
	host_close(&host);
}

/* @module with a signature behind it, which names its signer as PKCS#7 does: tag, length, name. */
static size_t sign(unsigned char *module, size_t n, unsigned char type, const char *der, size_t der_len)
{
	unsigned char tail[12] = { 0, 0, type, 0, 0, 0, 0, 0, 0, 0, 0, (unsigned char)der_len };
	static const char marker[] = "~Module signature appended~\n";

	memcpy(module + n, der, der_len);
	memcpy(module + n + der_len, tail, sizeof(tail));
	memcpy(module + n + der_len + sizeof(tail), marker, sizeof(marker) - 1);
	return n + der_len + sizeof(tail) + sizeof(marker) - 1;
}

static void the_signer_is_the_last_common_name_of_the_signature(void **state)
{
	static const char der[] = "\x30\x40\x06\x03\x55\x04\x03\x0c\x04root\x06\x03\x55\x04\x03\x0c\x0cgpu-host key\x02";
	rd_auto_strv struct rd_strv info = RD_STRV_INIT;
	unsigned char bytes[KO_MAX];
	size_t n = sign(bytes, ko_make(bytes, fields), 2, der, sizeof(der) - 1);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_bytes(&host.tree, MODULES "signed.ko", bytes, n);
	/* A length that reaches before the file. */
	bytes[n - 28 - 3] = 0xff;
	tree_bytes(&host.tree, MODULES "overlong.ko", bytes, n);
	host_open(&host);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "signed.ko", &info), 0);
	assert_true(rd_strv_has(&info, "sig_id=PKCS#7"));
	assert_true(rd_strv_has(&info, "signer=gpu-host key"));
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES "overlong.ko", &info), -EBADMSG);
	host_close(&host);
}

/* libkmod's fields of a file. */
static void libkmod_modinfo(const struct host *host, const char *path, struct rd_strv *ret)
{
#ifdef HAVE_LIBKMOD
	static const char *const no_config[] = { NULL };
	struct kmod_ctx *ctx = kmod_new(host->tree.dir, no_config);
	rd_auto_free char *full = rd_xasprintf("%s/%s", host->tree.dir, path);
	struct kmod_list *list = NULL, *entry;
	struct kmod_module *module = NULL;

	assert_int_equal(kmod_module_new_from_path(ctx, full, &module), 0);
	assert_true(kmod_module_get_info(module, &list) > 0);
	kmod_list_foreach(entry, list)
		rd_strv_pushf(ret, "%s=%s", kmod_module_info_get_key(entry), kmod_module_info_get_value(entry));
	kmod_module_info_free_list(list);
	kmod_module_unref(module);
	kmod_unref(ctx);
#else
	(void)host, (void)path, (void)ret;
	skip();
#endif
}

static void libkmod_finds_the_same_fields(void **state)
{
	rd_auto_strv struct rd_strv own = RD_STRV_INIT, other = RD_STRV_INIT;
	unsigned char bytes[KO_MAX];
	size_t n = ko_make(bytes, fields);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	tree_bytes(&host.tree, MODULES AMDGPU, bytes, n);
	host_open(&host);
	assert_int_equal(rd_kmod_modinfo(host.kmod, "/" MODULES AMDGPU, &own), 0);
	libkmod_modinfo(&host, MODULES AMDGPU, &other);
	assert_int_equal(own.n, other.n);
	for (size_t i = 0; i < own.n; i++)
		assert_string_equal(own.v[i], other.v[i]);
	host_close(&host);
}

/* Every byte of a module set to what breaks most, and every length: an error or other fields, never a crash. */
static void a_damaged_module_is_survived(void **state)
{
	static const unsigned char values[] = { 0x00, 0xff, 0x7f, 0x80, 0x01 };
	static const char der[] = "\x06\x03\x55\x04\x03\x0c\x04root\x02";
	unsigned char bytes[KO_MAX], damaged[KO_MAX];
	size_t n = sign(bytes, ko_make(bytes, fields), 2, der, sizeof(der) - 1);
	struct host host = { 0 };

	(void)state;
	host_make(&host);
	host_open(&host);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= sizeof(values); j++) {
			rd_auto_strv struct rd_strv info = RD_STRV_INIT;
			size_t len = j < sizeof(values) ? n : i;

			memcpy(damaged, bytes, n);
			if (j < sizeof(values))
				damaged[i] = values[j];
			tree_bytes(&host.tree, MODULES "damaged.ko", damaged, len);
			(void)!rd_kmod_modinfo(host.kmod, "/" MODULES "damaged.ko", &info);
		}
	}
	host_close(&host);
}

static void names_are_what_the_kernel_shows(void **state)
{
	static const char *const cases[][2] = { { "kernel/drivers/gpu/drm/scheduler/gpu-sched.ko.zst", "gpu_sched" },
		                                { "amdgpu.ko", "amdgpu" },
		                                { "snd-hda-intel", "snd_hda_intel" },
		                                { "/x/kobject.ko.xz", "kobject" },
		                                { "a.kox", "a.kox" },
		                                { "", "" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rd_auto_free char *name = rd_kmod_name(cases[i][0]);

		assert_string_equal(name, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_without_modules_is_told_by_name),
		cmocka_unit_test(the_module_that_modprobe_would_load_is_what_modules_dep_names),
		cmocka_unit_test(nothing_is_found_where_depmod_never_ran),
		cmocka_unit_test(builtin_modules_and_aliases_are_found),
		cmocka_unit_test(modinfo_comes_out_of_a_module_file),
		cmocka_unit_test(a_link_in_a_tree_leads_to_the_file_of_the_tree),
		cmocka_unit_test(what_is_no_module_is_an_error),
		cmocka_unit_test(packed_modules_are_unpacked),
		cmocka_unit_test(the_signer_is_the_last_common_name_of_the_signature),
		cmocka_unit_test(libkmod_finds_the_same_fields),
		cmocka_unit_test(a_damaged_module_is_survived),
		cmocka_unit_test(names_are_what_the_kernel_shows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
