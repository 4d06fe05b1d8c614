#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rocm-doctor/libdata.h"
#include "rocm-doctor/sysroot.h"
#include "util/cleanup.h"
#include "util/strv.h"
#include "util/xalloc.h"

static char top[64];

/* Makes an empty file and the folders above it. */
static void touch(const char *path)
{
	rd_auto_free char *full = rd_xasprintf("%s/%s", top, path);
	rd_auto_fclose FILE *file = NULL;

	for (char *slash = full + strlen(top) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(full, 0755);
	}
	file = fopen(full, "we");
	assert_non_null(file);
}

static int setup(void **state)
{
	static const char *const files[] = {
		"opt/rocm/lib/librocblas.so.4",
		"opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat",
		"opt/rocm/lib/rocblas/library/TensileLibrary_gfx1100.dat",
		"opt/rocm/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco",
		"opt/rocm/lib/rocblas/library/gfx1200/TensileLibrary_lazy_gfx1200.dat",
		"opt/rocm/lib/rocblas/library/gfx90a-xnack+/TensileLibrary_lazy_gfx90a.dat",
		"usr/lib/x86_64-linux-gnu/librocblas.so.0",
		"usr/lib/x86_64-linux-gnu/rocblas/5.5.1/library/TensileLibrary_lazy_gfx1030.dat",
		"opt/torch/lib/libaotriton_v2.so",
		"opt/torch/lib/aotriton.images/amd-gfx90a/flash/attn_fwd.zip",
		"opt/torch/lib/aotriton.images/amd-gfx11xx/flash/attn_fwd.zip",
		"opt/torch/lib/aotriton.images/amd-gfx120x/flash/attn_fwd.zip",
		"opt/bare/librocblas.so.4",
		"opt/llm/lib/python3.12/site-packages/_rocm_sdk_libraries/lib/librocblas.so.5",
		"opt/rocm/lib/libMIOpen.so.1",
		"opt/rocm/share/miopen/db/gfx90a68.HIP.fdb.txt",
		"opt/rocm/share/miopen/db/gfx90a68.db.txt",
		"opt/rocm/share/miopen/db/gfx90a6e.kdb",
		"opt/rocm/share/miopen/db/gfx942130.HIP.fdb.txt",
		"opt/rocm/share/miopen/db/gfx1030_36.db",
		"opt/rocm/share/miopen/db/gfx803_64.OpenCL.fdb.txt",
		"opt/rocm/share/miopen/db/gfx950.tn.model",
		"opt/rocm/share/miopen/db/gfx950_metadata.tn.model",
		"opt/rocm/share/miopen/db/gfx90a_ConvAsm1x1U_metadata.tn.model",
		"usr/lib/x86_64-linux-gnu/libMIOpen.so.1",
		"usr/share/miopen/db/gfx906_60.HIP.fdb.txt",
	};
	struct rd_sysroot *sr;

	snprintf(top, sizeof(top), "/tmp/rocm-doctor-libdata-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	for (size_t i = 0; i < RD_ARRAY_SIZE(files); i++)
		touch(files[i]);
	if (rd_sysroot_open(top, &sr, NULL) < 0)
		return -1;
	*state = sr;
	return 0;
}

static int teardown(void **state)
{
	rd_auto_free char *command = rd_xasprintf("rm -rf %s", top);

	rd_sysroot_free(*state);
	return system(command);
}

static enum rd_tri look(struct rd_sysroot *sr, enum rd_libdata_kind kind, const char *library, const char *gfx,
                        enum rd_feature xnack)
{
	struct rd_libdata data;
	struct rd_agent agent;
	enum rd_tri present;

	rd_agent_init(&agent, gfx);
	if (agent.xnack == RD_FEATURE_UNKNOWN)
		agent.xnack = xnack;
	data = rd_libdata_look(sr, kind, library, &agent);
	present = data.present;
	rd_libdata_release(&data);
	return present;
}

static void rocblas_has_files_for_a_gpu_or_not(void **state)
{
	static const char library[] = "/opt/rocm/lib/librocblas.so.4";

	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx942", RD_FEATURE_OFF), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx1100", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx1036", RD_FEATURE_ANY), RD_FALSE);
}

static void a_folder_of_the_gpu_comes_first(void **state)
{
	static const char library[] = "/opt/rocm/lib/librocblas.so.4";

	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx1200", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx90a", RD_FEATURE_ON), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx90a", RD_FEATURE_OFF), RD_FALSE);
}

static void a_distribution_puts_its_release_between(void **state)
{
	static const char library[] = "/usr/lib/x86_64-linux-gnu/librocblas.so.0";

	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx1030", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, library, "gfx1151", RD_FEATURE_ANY), RD_FALSE);
}

/* In a wheel there is no other place. */
static void no_folder_at_all_is_unknown_outside_of_wheels(void **state)
{
	static const char wheel[] = "/opt/llm/lib/python3.12/site-packages/_rocm_sdk_libraries/lib/librocblas.so.5";

	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, wheel, "gfx942", RD_FEATURE_OFF), RD_FALSE);
	assert_int_equal(look(*state, RD_LIBDATA_ROCBLAS, "/opt/bare/librocblas.so.4", "gfx942", RD_FEATURE_OFF), RD_UNKNOWN);
}

static void images_are_for_families(void **state)
{
	static const char library[] = "/opt/torch/lib/libaotriton_v2.so";

	assert_int_equal(look(*state, RD_LIBDATA_AOTRITON, library, "gfx90a", RD_FEATURE_OFF), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_AOTRITON, library, "gfx1151", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_AOTRITON, library, "gfx1201", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_AOTRITON, library, "gfx942", RD_FEATURE_OFF), RD_FALSE);
	assert_int_equal(look(*state, RD_LIBDATA_AOTRITON, library, "gfx1030", RD_FEATURE_ANY), RD_FALSE);
}

static void targets_are_the_ends_of_names(void **state)
{
	rd_auto_strv struct rd_strv targets = RD_STRV_INIT;

	assert_int_equal(rd_libdata_targets(*state, RD_LIBDATA_ROCBLAS, "/opt/rocm/lib/rocblas/library", &targets), 0);
	assert_int_equal(targets.n, 4);
	assert_string_equal(targets.v[0], "gfx1100");
	assert_string_equal(targets.v[1], "gfx1200");
	assert_string_equal(targets.v[2], "gfx90a");
	assert_string_equal(targets.v[3], "gfx942");
}

static void families_of_images_are_listed(void **state)
{
	rd_auto_strv struct rd_strv targets = RD_STRV_INIT;

	assert_int_equal(rd_libdata_targets(*state, RD_LIBDATA_AOTRITON, "/opt/torch/lib/aotriton.images", &targets), 0);
	assert_int_equal(targets.n, 3);
	assert_string_equal(targets.v[0], "gfx11xx");
	assert_string_equal(targets.v[1], "gfx120x");
	assert_string_equal(targets.v[2], "gfx90a");
}

static void databases_tell_gfx_and_compute_units(void **state)
{
	static const struct rd_miopen_db wanted[] = {
		{ "gfx1030", 36, RD_MIOPEN_PERFORMANCE }, { "gfx90a", 104, RD_MIOPEN_PERFORMANCE | RD_MIOPEN_FIND },
		{ "gfx90a", 110, RD_MIOPEN_KERNELS },     { "gfx942", 304, RD_MIOPEN_FIND },
		{ "gfx950", 0, RD_MIOPEN_MODEL },
	};
	rd_auto_free struct rd_miopen_db *list = NULL;
	size_t n;

	assert_int_equal(rd_libdata_miopen(*state, "/opt/rocm/share/miopen/db", &list, &n), 0);
	assert_int_equal(n, RD_ARRAY_SIZE(wanted));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(list[i].gfx, wanted[i].gfx);
		assert_int_equal(list[i].cu_count, wanted[i].cu_count);
		assert_int_equal(list[i].has, wanted[i].has);
	}
}

static void any_database_for_the_processor_will_do(void **state)
{
	static const char own[] = "/opt/rocm/lib/libMIOpen.so.1", debian[] = "/usr/lib/x86_64-linux-gnu/libMIOpen.so.1";

	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, own, "gfx90a", RD_FEATURE_OFF), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, own, "gfx1030", RD_FEATURE_ANY), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, own, "gfx1100", RD_FEATURE_ANY), RD_FALSE);
	/* A model alone is none. */
	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, own, "gfx950", RD_FEATURE_OFF), RD_FALSE);
	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, debian, "gfx906", RD_FEATURE_OFF), RD_TRUE);
	assert_int_equal(look(*state, RD_LIBDATA_MIOPEN, "/opt/bare/libMIOpen.so.1", "gfx906", RD_FEATURE_OFF), RD_UNKNOWN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rocblas_has_files_for_a_gpu_or_not),
		cmocka_unit_test(a_folder_of_the_gpu_comes_first),
		cmocka_unit_test(a_distribution_puts_its_release_between),
		cmocka_unit_test(no_folder_at_all_is_unknown_outside_of_wheels),
		cmocka_unit_test(images_are_for_families),
		cmocka_unit_test(targets_are_the_ends_of_names),
		cmocka_unit_test(families_of_images_are_listed),
		cmocka_unit_test(databases_tell_gfx_and_compute_units),
		cmocka_unit_test(any_database_for_the_processor_will_do),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
