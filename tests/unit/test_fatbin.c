#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/fatbin.h"
#include "rocm-doctor/reader.h"
#include "rocm-doctor/sysroot.h"
#include "util/bytes.h"
#include "util/cleanup.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

#define FIXTURES RD_SOURCE_DIR "/tests/fixtures/fatbin"

static int setup(void **state)
{
	struct rd_sysroot *sr;

	if (rd_sysroot_open(FIXTURES, &sr, NULL) < 0)
		return -1;
	*state = sr;
	return 0;
}

static int teardown(void **state)
{
	rd_sysroot_free(*state);
	return 0;
}

static char *targets_of(const struct rd_fatbin *f)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;

	for (size_t i = 0; i < f->targets_n; i++)
		rd_strbuf_addf(&sb, "%s%s%s", i ? " " : "", f->targets[i].text, f->targets[i].legacy ? "(legacy)" : "");
	return rd_strbuf_detach(&sb);
}

static struct rd_fatbin *read_fixture(struct rd_sysroot *sr, const char *path)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_fatbin *f = NULL;

	if (rd_fatbin_read(sr, path, 0, &f, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return f;
}

static struct rd_coverage covers(const struct rd_fatbin *f, const char *processor)
{
	struct rd_agent agent;

	rd_agent_init(&agent, processor);
	return rd_fatbin_covers(f, &agent);
}

static void every_sample_yields_its_targets(void **state)
{
	static const struct {
		const char *path;
		size_t bundles, wrappers;
		const char *targets;
	} samples[] = {
		{ "/bundle_2arch.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v1_zstd.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v1_zlib.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v2_zstd.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v2_zlib.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v3_zstd.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/ccob_v3_zlib.hipfb", 1, 0, "gfx90a gfx942" },
		{ "/bundle_spirv_and_native.hipfb", 1, 0, "gfx942 amdgcnspirv" },
		{ "/bundle_legacy_ids.hipfb", 1, 0, "gfx906(legacy) gfx908:sramecc+" },
		{ "/obj_2arch.o", 1, 1, "gfx90a gfx942" },
		{ "/obj_2arch_ccob.o", 1, 1, "gfx90a gfx942" },
		{ "/obj_new_driver.o", 2, 0, "gfx90a:xnack+ gfx1100" },
		{ "/offload_v1.bin", 1, 0, "gfx90a:xnack+ gfx942" },
		{ "/offload_v2.bin", 1, 0, "gfx942:sramecc+:xnack- gfx1201" },
		{ "/offload_v3_zlib.bin", 1, 0, "gfx942:sramecc+:xnack- gfx1201" },
		{ "/offload_v3_zstd.bin", 1, 0, "gfx942:sramecc+:xnack- gfx1201" },
		{ "/lib_one_tu.so", 1, 1, "gfx90a gfx942" },
		{ "/lib_two_tu.so", 2, 2, "gfx90a gfx90a:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx942 gfx1100" },
		{ "/lib_two_tu_lld.so", 2, 2, "gfx90a gfx90a:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx942 gfx1100" },
		{ "/lib_two_tu_lld_relr.so", 2, 2, "gfx90a gfx90a:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx942 gfx1100" },
		{ "/lib_two_tu_ccob.so", 2, 2, "gfx90a gfx942 gfx1100 gfx1201" },
		{ "/lib_mixed.so", 2, 2, "gfx90a gfx942 gfx1201" },
		{ "/lib_generic.so", 1, 1, "gfx9-generic gfx11-generic" },
		{ "/code_gfx942.hsaco", 1, 0, "gfx942" },
		{ "/code_gfx90a_sramecc+_xnack-.hsaco", 1, 0, "gfx90a:sramecc+:xnack-" },
		{ "/code_gfx11-generic_cov6.hsaco", 1, 0, "gfx11-generic" },
		{ "/kpack_tree/lib/libdemo.so", 1, 1, "gfx942 gfx942:xnack+" },
		{ "/kpack_tree/.kpack/demo_gfx942.kpack", 1, 0, "gfx942" },
		{ "/kpack_tree/.kpack/demo_gfx942:xnack+.kpack", 1, 0, "gfx942:xnack+" },
		{ "/kpack_overlay/lib/libpair.so", 2, 2, "gfx90a gfx90a:xnack-" },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(samples); i++) {
		struct rd_fatbin *f = read_fixture(*state, samples[i].path);
		rd_auto_free char *targets = targets_of(f);

		print_message("%s\n", samples[i].path);
		assert_string_equal(targets, samples[i].targets);
		assert_int_equal(f->bundles, samples[i].bundles);
		assert_int_equal(f->bundles_read, samples[i].bundles);
		assert_int_equal(f->wrappers, samples[i].wrappers);
		assert_int_equal(f->problems->n, 0);
		assert_false(f->has_code_unknown);
		rd_fatbin_free(f);
	}
}

static void broken_samples_name_their_damage(void **state)
{
	static const struct {
		const char *path, *error, *problem;
	} samples[] = {
		{ "/bad_truncated_table.hipfb", NULL, "bundle at 0x0: the entry table is damaged" },
		{ "/bad_huge_count.hipfb", NULL, "bundle at 0x0: the entry table is damaged" },
		{ "/bad_huge_idlen.hipfb", NULL, "bundle at 0x0: the entry table is damaged" },
		{ "/bad_offset_overflow.hipfb", NULL, "bundle at 0x0: the entry table is damaged" },
		{ "/bad_ccob_truncated.hipfb", NULL, "compressed bundle at 0x0: its size of 1176 bytes does not fit" },
		{ "/bad_ccob_version9.hipfb", NULL, "compressed bundle at 0x0: version 9 is not known" },
		{ "/bad_ccob_method7.hipfb", NULL, "compressed bundle at 0x0: unknown compression method" },
		{ "/bad_ccob_total_too_small.hipfb", NULL, "" },
		{ "/bad_ccob_corrupt_payload.hipfb", NULL, "compressed bundle at 0x0: the compressed text is damaged" },
		{ "/bad_offload_strings.bin", NULL, "offload binary at 0x0: its tables are damaged" },
		{ "/bad_offload_version9.bin", NULL, "offload binary at 0x0: version 9 of 2816 bytes is not known" },
		{ "/bad_kpack_toc_outside.kpack", "the table of contents lies outside the file", NULL },
		{ "/bad_kpack_version2.kpack", "kpack version 2 is not known", NULL },
		{ "/bad_kpack_truncated_toc.kpack", "the table of contents is damaged", NULL },
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(samples); i++) {
		struct rd_error err = RD_ERROR_INIT;
		struct rd_fatbin *f = NULL;
		int r = rd_fatbin_read(*state, samples[i].path, 0, &f, &err);

		print_message("%s\n", samples[i].path);
		if (samples[i].error) {
			assert_true(r < 0);
			assert_string_equal(err.message, samples[i].error);
		} else {
			assert_int_equal(r, 0);
			assert_true(f->problems->n > 0);
			if (*samples[i].problem)
				assert_string_equal(f->problems->v[0], samples[i].problem);
			/* What could not be read is not "no code". */
			assert_int_equal(covers(f, "gfx1100").runs, RD_RUNS_UNKNOWN);
		}
		rd_fatbin_free(f);
		rd_error_clear(&err);
	}
}

static void cut_code_leaves_the_targets_readable(void **state)
{
	struct rd_fatbin *f = read_fixture(*state, "/bad_truncated_code.hipfb");
	rd_auto_free char *targets = targets_of(f);

	assert_string_equal(targets, "gfx90a gfx942");
	assert_int_equal(f->bundles, 1);
	assert_string_equal(f->problems->v[0], "bundle at 0x0: code objects reach past the end");
	rd_fatbin_free(f);
}

static void a_target_of_some_bundles_only_is_partial(void **state)
{
	struct rd_fatbin *f = read_fixture(*state, "/lib_two_tu.so");
	struct rd_coverage c = covers(f, "gfx942");

	assert_int_equal(c.runs, RD_RUNS_NATIVE);
	assert_int_equal(c.least, RD_RUNS_NO);
	assert_int_equal(c.bundles_without, 1);
	c = covers(f, "gfx1200");
	assert_int_equal(c.runs, RD_RUNS_NO);
	assert_int_equal(c.bundles_without, 2);
	rd_fatbin_free(f);
}

static void generic_and_spirv_code_run_where_they_may(void **state)
{
	struct rd_fatbin *f = read_fixture(*state, "/lib_generic.so");

	assert_int_equal(covers(f, "gfx1151").runs, RD_RUNS_GENERIC);
	assert_int_equal(covers(f, "gfx906").runs, RD_RUNS_GENERIC);
	assert_int_equal(covers(f, "gfx90a").runs, RD_RUNS_NO);
	rd_fatbin_free(f);
	f = read_fixture(*state, "/bundle_spirv_and_native.hipfb");
	assert_int_equal(covers(f, "gfx942").runs, RD_RUNS_NATIVE);
	assert_int_equal(covers(f, "gfx1201").runs, RD_RUNS_SPIRV);
	rd_fatbin_free(f);
}

static void a_legacy_id_is_not_found_by_the_runtime(void **state)
{
	struct rd_fatbin *f = read_fixture(*state, "/bundle_legacy_ids.hipfb");

	assert_int_equal(covers(f, "gfx906").runs, RD_RUNS_NO);
	rd_fatbin_free(f);
}

static void an_overlay_with_part_of_the_keys_is_told(void **state)
{
	struct rd_fatbin *f = read_fixture(*state, "/kpack_overlay/lib/libpair.so");

	assert_int_equal(f->incomplete_overlays->n, 1);
	assert_string_equal(f->incomplete_overlays->v[0], "/kpack_overlay/.kpack/pair_gfx90a:xnack-.kpack");
	rd_fatbin_free(f);
	f = read_fixture(*state, "/kpack_tree/lib/libdemo.so");
	assert_int_equal(f->incomplete_overlays->n, 0);
	assert_int_equal(covers(f, "gfx1100").runs, RD_RUNS_NO);
	rd_fatbin_free(f);
}

/* A copy of the samples of kpack as the tree of a process with some variables. */
static struct rd_sysroot *open_with(char dir[64], const char *environment)
{
	rd_auto_free char *copy = NULL, *manifest = NULL;
	struct rd_sysroot *sr;
	FILE *file;

	snprintf(dir, 64, "/tmp/rocm-doctor-fatbin-XXXXXX");
	assert_non_null(mkdtemp(dir));
	copy = rd_xasprintf("cp -r %s/kpack_tree %s/kpack_overlay %s/", FIXTURES, FIXTURES, dir);
	assert_int_equal(system(copy), 0);
	manifest = rd_xasprintf("%s/rocm-doctor-snapshot.json", dir);
	file = fopen(manifest, "we");
	assert_non_null(file);
	fprintf(file, "{ \"schema\": \"rocm-doctor/snapshot/1\", \"environment\": { %s } }", environment);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rd_sysroot_open(dir, &sr, NULL), 0);
	return sr;
}

static void variables_move_the_archives(void **state)
{
	static const struct {
		const char *environment, *targets;
		bool disabled, replaced, unknown;
	} cases[] = {
		{ "", "gfx942 gfx942:xnack+", false, false, false },
		{ "'ROCM_KPACK_DISABLE': '1'", "", true, false, false },
		{ "'ROCM_KPACK_DISABLE': '0'", "gfx942 gfx942:xnack+", false, false, false },
		{ "'ROCM_KPACK_DISABLE': ''", "gfx942 gfx942:xnack+", false, false, false },
		{ "'ROCM_KPACK_PATH': '/kpack_tree/.kpack/demo_gfx942.kpack'", "gfx942", false, true, false },
		{ "'ROCM_KPACK_PATH': ':/not/there.kpack:'", "", false, true, false },
		{ "'ROCM_KPACK_PATH': ':'", "gfx942 gfx942:xnack+", false, false, false },
		{ "'ROCM_KPACK_PATH': 'demo_gfx942.kpack'", "", false, true, true },
		/* Code of another library is none of this one's. */
		{ "'ROCM_KPACK_PATH': '/kpack_overlay/.kpack/pair_gfx90a.kpack'", "", false, true, false },
		{ "'ROCM_KPACK_PATH_PREFIX': '/kpack_overlay/.kpack/pair_gfx90a.kpack'", "gfx942 gfx942:xnack+", false, false,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		rd_auto_free char *json = rd_xstrdup(cases[i].environment), *remove = NULL, *targets = NULL;
		struct rd_sysroot *sr;
		struct rd_fatbin *f;
		char dir[64];

		for (char *quote = json; (quote = strchr(quote, '\''));)
			*quote = '"';
		sr = open_with(dir, json);
		f = read_fixture(sr, "/kpack_tree/lib/libdemo.so");
		targets = targets_of(f);
		print_message("%s\n", cases[i].environment);
		assert_string_equal(targets, cases[i].targets);
		assert_int_equal(f->kpack_disabled, cases[i].disabled);
		assert_int_equal(f->kpack_replaced, cases[i].replaced);
		assert_int_equal(f->has_code_unknown, cases[i].unknown);
		assert_int_equal(covers(f, "gfx1100").runs, cases[i].unknown ? RD_RUNS_UNKNOWN : RD_RUNS_NO);
		rd_fatbin_free(f);
		rd_sysroot_free(sr);
		remove = rd_xasprintf("rm -rf %s", dir);
		assert_int_equal(system(remove), 0);
	}
}

/* The runtime asks for archives by the GPU's names: one that is called otherwise helps no GPU. */
static void an_archive_under_another_name_is_not_opened(void **state)
{
	static const struct {
		const char *name, *targets;
	} cases[] = {
		{ "demo_gfx942.kpack", "gfx942" }, { "demo_gfx1100.kpack", "" },
		{ "demo_gfx942.bak.kpack", "" },   { "demo_gfx942:xnack-.kpack", "gfx942:xnack-" },
		{ "other_gfx942.kpack", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		rd_auto_free char *command = NULL, *targets = NULL, *remove = NULL;
		struct rd_sysroot *sr;
		struct rd_fatbin *f;
		char dir[64];

		sr = open_with(dir, "");
		/* By way of a third name: mv of a file to itself fails, with -n as well in coreutils 9.4. */
		command = rd_xasprintf("cd %s/kpack_tree/.kpack && rm demo_gfx942:* && mv demo_gfx942.kpack x && mv x '%s'",
		                       dir, cases[i].name);
		assert_int_equal(system(command), 0);
		f = read_fixture(sr, "/kpack_tree/lib/libdemo.so");
		targets = targets_of(f);
		print_message("%s\n", cases[i].name);
		assert_string_equal(targets, cases[i].targets);
		rd_fatbin_free(f);
		rd_sysroot_free(sr);
		remove = rd_xasprintf("rm -rf %s", dir);
		assert_int_equal(system(remove), 0);
	}
}

static void a_file_of_text_is_no_device_code(void **state)
{
	struct rd_fatbin *f = NULL;

	assert_int_equal(rd_fatbin_read(*state, "/README.md", 0, &f, NULL), -ENOEXEC);
	assert_int_equal(rd_fatbin_read(*state, "/kpack_tree/not-there.so", 0, &f, NULL), -ENODATA);
	assert_null(f);
}

/* A static library of three members, behind one of odd length. */
static void a_static_library_has_the_targets_of_its_members(void **state)
{
	rd_auto_strbuf struct rd_strbuf ar = RD_STRBUF_INIT;
	static const char *const members[] = { "/obj_2arch.o", "/obj_new_driver.o", "/code_gfx11-generic_cov6.hsaco" };
	struct rd_reader reader;
	struct rd_fatbin *f;

	rd_strbuf_add(&ar, "!<arch>\n");
	rd_strbuf_addf(&ar, "%-16s%-12s%-6s%-6s%-8s%-10d`\n", "note/", "0", "0", "0", "644", 3);
	rd_strbuf_add(&ar, "abc\n");
	for (size_t i = 0; i < RD_ARRAY_SIZE(members); i++) {
		rd_auto_free char *bytes = NULL;
		size_t len;

		assert_int_equal(rd_sysroot_read_bytes(*state, &bytes, &len, members[i]), 0);
		rd_strbuf_addf(&ar, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", "x.o/", "0", "0", "0", "644", len);
		rd_strbuf_addn(&ar, bytes, len);
		if (len % 2)
			rd_strbuf_addc(&ar, '\n');
	}
	reader = rd_reader_of_bytes(ar.buf, ar.len);
	assert_int_equal(rd_fatbin_scan(&reader, 0, &f, NULL), 0);
	rd_auto_free char *targets = targets_of(f);
	assert_string_equal(targets, "gfx90a gfx90a:xnack+ gfx942 gfx1100 gfx11-generic");
	rd_fatbin_free(f);
}

/* Many bundles, of which a few are unpacked when the budget is small: they are told apart from none. */
static void a_budget_takes_bundles_evenly(void **state)
{
	enum { N = 64, PAGE = 4096 };
	rd_auto_free char *one = NULL;
	rd_auto_free unsigned char *all = rd_xcalloc(N, PAGE);
	struct rd_reader reader;
	struct rd_fatbin *f;
	size_t len;

	assert_int_equal(rd_sysroot_read_bytes(*state, &one, &len, "/ccob_v2_zstd.hipfb"), 0);
	for (size_t i = 0; i < N; i++)
		memcpy(all + i * PAGE, one, len);
	reader = rd_reader_of_bytes(all, (N - 1) * PAGE + len);
	assert_int_equal(rd_fatbin_scan(&reader, 0, &f, NULL), 0);
	assert_int_equal(f->bundles, N);
	assert_int_equal(f->bundles_read, N);
	rd_fatbin_free(f);
	assert_int_equal(rd_fatbin_scan(&reader, 8 * 1024, &f, NULL), 0);
	assert_int_equal(f->bundles, N);
	assert_true(f->bundles_read >= 4 && f->bundles_read <= 16);
	assert_int_equal(covers(f, "gfx942").runs, RD_RUNS_NATIVE);
	assert_int_equal(covers(f, "gfx1100").runs, RD_RUNS_UNKNOWN);
	rd_fatbin_free(f);
}

/* The first bundle is made unreadable and more than a mebibyte of other bytes follows it: only relocations lead on. */
static void wrappers_lead_past_what_cannot_be_read(void **state)
{
	static const char *const libraries[] = { "/lib_two_tu_lld.so", "/lib_two_tu.so", "/lib_two_tu_lld_relr.so" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(libraries); i++) {
		rd_auto_free char *bytes = NULL;
		struct rd_reader reader;
		struct rd_fatbin *f;
		size_t len;
		char *at;

		assert_int_equal(rd_sysroot_read_bytes(*state, &bytes, &len, libraries[i]), 0);
		at = memmem(bytes, len, "__CLANG_OFFLOAD_BUNDLE__", 24);
		assert_non_null(at);
		at[2] = 'X';
		reader = rd_reader_of_bytes(bytes, len);
		assert_int_equal(rd_fatbin_scan(&reader, 0, &f, NULL), 0);
		rd_auto_free char *targets = targets_of(f);
		assert_string_equal(targets, "gfx90a:sramecc+:xnack- gfx90a:sramecc+:xnack+ gfx1100");
		assert_string_equal(f->problems->v[0], "2 wrappers and 1 bundles");
		rd_fatbin_free(f);
	}
}

static void every_cut_and_flipped_byte_is_survived(void **state)
{
	static const char *const samples[] = { "/lib_one_tu.so",           "/ccob_v3_zstd.hipfb",
		                               "/ccob_v1_zlib.hipfb",      "/kpack_tree/.kpack/demo_gfx942.kpack",
		                               "/bundle_legacy_ids.hipfb", "/offload_v1.bin",
		                               "/offload_v3_zstd.bin" };

	for (size_t i = 0; i < RD_ARRAY_SIZE(samples); i++) {
		rd_auto_free char *bytes = NULL;
		struct rd_fatbin *f;
		size_t len;

		assert_int_equal(rd_sysroot_read_bytes(*state, &bytes, &len, samples[i]), 0);
		for (size_t n = 0; n < len; n += n < 4096 ? 1 : 61) {
			/* A copy of its own length, so that a read past the end is seen. */
			rd_auto_free char *cut = rd_xmalloc(n + 1);
			struct rd_reader reader = rd_reader_of_bytes(cut, n);

			memcpy(cut, bytes, n);
			if (rd_fatbin_scan(&reader, 0, &f, NULL) == 0)
				rd_fatbin_free(f);
			reader = rd_reader_of_bytes(bytes, len);
			bytes[n] ^= 0x81;
			if (rd_fatbin_scan(&reader, 0, &f, NULL) == 0)
				rd_fatbin_free(f);
			bytes[n] ^= 0x81;
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_yields_its_targets),
		cmocka_unit_test(broken_samples_name_their_damage),
		cmocka_unit_test(cut_code_leaves_the_targets_readable),
		cmocka_unit_test(a_target_of_some_bundles_only_is_partial),
		cmocka_unit_test(generic_and_spirv_code_run_where_they_may),
		cmocka_unit_test(a_legacy_id_is_not_found_by_the_runtime),
		cmocka_unit_test(an_overlay_with_part_of_the_keys_is_told),
		cmocka_unit_test(variables_move_the_archives),
		cmocka_unit_test(an_archive_under_another_name_is_not_opened),
		cmocka_unit_test(a_file_of_text_is_no_device_code),
		cmocka_unit_test(a_static_library_has_the_targets_of_its_members),
		cmocka_unit_test(a_budget_takes_bundles_evenly),
		cmocka_unit_test(wrappers_lead_past_what_cannot_be_read),
		cmocka_unit_test(every_cut_and_flipped_byte_is_survived),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
