#include <cmocka.h>

#include "rocm-doctor/knowledge.h"
#include "rocm-doctor/probe.h"
#include "scratch.h"
#include "util/strv.h"
#include "util/xalloc.h"

extern const struct rd_probe rd_probe_framework_environments, rd_probe_framework_services, rd_probe_framework_torch;
extern const struct rd_probe rd_probe_framework_choice, rd_probe_framework_pip, rd_probe_framework_verdicts;
extern const struct rd_probe rd_probe_engine_programs, rd_probe_engine_wheels, rd_probe_engine_verdicts;

#define SITE "/opt/llm/lib/python3.12/site-packages"

struct host {
	char *dir;
	struct rd_sysroot *sr;
	struct rd_knowledge *knowledge;
	struct rd_fact *facts;
	struct rd_strv pythons;
};

static struct host host_new(void)
{
	struct host h = { .dir = scratch_new(), .facts = rd_facts_new() };

	return h;
}

static void host_free(struct host *h)
{
	rd_fact_free(h->facts);
	rd_sysroot_free(h->sr);
	rd_knowledge_free(h->knowledge);
	rd_strv_clear(&h->pythons);
	scratch_free(h->dir);
}

static void venv(struct host *h, const char *prefix)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/pyvenv.cfg", prefix);
	scratch_file(h->dir, path, "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.3\n");
	snprintf(path, sizeof(path), "%s/bin/python3", prefix);
	scratch_link(h->dir, path, "/usr/bin/python3.12");
	snprintf(path, sizeof(path), "%s/lib/python3.12/site-packages", prefix);
	scratch_dir(h->dir, path);
}

static void package(struct host *h, const char *site, const char *folder, const char *metadata)
{
	char *path = rd_xasprintf("%s/%s/METADATA", site, folder);

	scratch_file(h->dir, path, metadata);
	free(path);
}

static void torch(struct host *h, const char *site, const char *version, const char *hip, const char *cuda)
{
	char path[512], text[512];

	snprintf(path, sizeof(path), "%s/torch/version.py", site);
	snprintf(text, sizeof(text), "__version__ = '%s'\ncuda = %s\nhip = %s\n", version, cuda, hip);
	scratch_file(h->dir, path, text);
	snprintf(path, sizeof(path), "torch-%s.dist-info", version);
	package(h, site, path, "Name: torch\nRequires-Dist: pytorch-triton-rocm==3.4.0\n\n");
	snprintf(path, sizeof(path), "%s/torch-%s.dist-info/WHEEL", site, version);
	scratch_file(h->dir, path, "Tag: cp312-cp312-manylinux_2_28_x86_64\n");
}

static void look(struct host *h)
{
	static const struct rd_probe *const probes[] = {
		&rd_probe_framework_services, &rd_probe_framework_environments, &rd_probe_framework_torch,
		&rd_probe_framework_pip,      &rd_probe_engine_wheels,          &rd_probe_engine_programs,
		&rd_probe_framework_verdicts, &rd_probe_framework_choice,       &rd_probe_engine_verdicts,
	};
	struct rd_probe_options options = { .pythons = &h->pythons };
	struct rd_probe_ctx ctx = { .facts = h->facts, .options = &options };
	struct rd_error err = RD_ERROR_INIT;

	h->sr = scratch_open(h->dir);
	assert_int_equal(rd_knowledge_load(NULL, &h->knowledge, &err), 0);
	ctx.sysroot = h->sr;
	ctx.knowledge = h->knowledge;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		assert_int_equal(rd_probe_run_ctx(probes[i], &ctx), 0);
}

static const char *str(const struct host *h, const char *path)
{
	return rd_fact_get_str(h->facts, path);
}

static void gpu(struct host *h, const char *gfx)
{
	struct rd_fact *one = rd_fact_append(h->facts, "gpus", "test");

	rd_fact_set_str(one, "pci.address", "0000:03:00.0", "test");
	rd_fact_set_str(one, "gfx", gfx, "test");
	rd_fact_set_str(one, "kind", "dgpu", "test");
}

/* ------------------------------------------------------------ environments */

static void the_environment_that_is_switched_on_comes_first(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	venv(&h, "/opt/other");
	scratch_manifest(h.dir, "'environment': {'VIRTUAL_ENV': '/opt/other', 'PATH': '/usr/bin'}");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "python")), 2);
	assert_string_equal(str(&h, "python[0].prefix"), "/opt/other");
	assert_true(rd_fact_get_bool(h.facts, "python[0].active"));
	assert_string_equal(str(&h, "python[0].version"), "3.12.3");
	assert_string_equal(str(&h, "python[0].series"), "3.12");
	assert_string_equal(str(&h, "python[1].prefix"), "/opt/llm");
	assert_false(rd_fact_get_bool(h.facts, "python[1].active"));
	host_free(&h);
}

static void without_a_variable_python3_on_the_path_is_active(void **state)
{
	struct host h = host_new();

	(void)state;
	scratch_file(h.dir, "/usr/bin/python3.11", "");
	scratch_link(h.dir, "/usr/bin/python3", "python3.11");
	scratch_dir(h.dir, "/usr/lib/python3.11");
	scratch_file(h.dir, "/opt/llm/bin/python3", "");
	scratch_dir(h.dir, "/opt/llm/lib/python3.12");
	scratch_manifest(h.dir, "'environment': {'PATH': '/nowhere:/opt/llm/bin:/usr/bin'}");
	look(&h);
	assert_string_equal(str(&h, "python[0].prefix"), "/opt/llm");
	assert_true(rd_fact_get_bool(h.facts, "python[0].active"));
	assert_string_equal(str(&h, "python[1].prefix"), "/usr");
	assert_string_equal(str(&h, "python[1].version"), "3.11");
	host_free(&h);
}

static void what_is_active_is_unknown_where_the_variables_are_not_recorded(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
	look(&h);
	assert_true(rd_fact_is_unknown(h.facts, "python[0].active"));
	assert_true(rd_fact_get_bool(h.facts, "python[0].judged"));
	host_free(&h);
}

static void asking_for_an_interpreter_replaces_the_search(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	venv(&h, "/opt/other");
	scratch_manifest(h.dir, "'environment': {'VIRTUAL_ENV': '/opt/other', 'PATH': '/usr/bin'}");
	rd_strv_push(&h.pythons, "/opt/llm");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "python")), 1);
	assert_string_equal(str(&h, "python[0].prefix"), "/opt/llm");
	assert_true(rd_fact_get_bool(h.facts, "python[0].asked"));
	assert_false(rd_fact_get_bool(h.facts, "python[0].active"));
	host_free(&h);
}

static void all_are_judged_only_where_no_chosen_one_holds_a_framework(void **state)
{
	struct host h = host_new(), g = host_new();

	(void)state;
	for (struct host *one = &h; one; one = one == &h ? &g : NULL) {
		venv(one, "/opt/llm");
		venv(one, "/opt/other");
		torch(one, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
		scratch_manifest(one->dir, one == &h ? "'environment': {'VIRTUAL_ENV': '/opt/llm', 'PATH': ''}"
		                                     : "'environment': {'VIRTUAL_ENV': '/opt/other', 'PATH': ''}");
		look(one);
		assert_true(rd_fact_get_bool(one->facts, "python[0].judged"));
	}
	assert_false(rd_fact_get_bool(h.facts, "python[1].judged"));
	assert_true(rd_fact_get_bool(g.facts, "python[1].judged"));
	host_free(&h);
	host_free(&g);
}

static void pth_files_and_pythonpath_are_followed_in_order(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
	torch(&h, "/srv/first", "2.7.1+cu126", "None", "'12.6'");
	torch(&h, "/srv/last", "2.6.0", "None", "None");
	scratch_file(h.dir, SITE "/x.pth", "import os; os.system('false')\n# comment\n\n/srv/last\n/srv/not-there\n");
	scratch_manifest(h.dir, "'environment': {'VIRTUAL_ENV': '/opt/llm', 'PATH': '', 'PYTHONPATH': 'relative:/srv/first'}");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "python[0].paths")), 3);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "python[0].torch.copies")), 3);
	assert_string_equal(str(&h, "python[0].torch.version"), "2.7.1+cu126");
	assert_string_equal(str(&h, "python[0].torch.build"), "cuda");
	assert_string_equal(str(&h, "python[0].torch.copies[2].path"), "/srv/last");
	/* The packages that win are those of the same folders. */
	assert_string_equal(rd_fact_str(rd_fact_child(rd_fact_get(h.facts, "python[0].packages"), "torch")), "2.7.1+cu126");
	host_free(&h);
}

static void a_service_makes_its_environment_judged(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/srv/vllm");
	scratch_file(h.dir, "/srv/vllm/bin/vllm", "#!/srv/vllm/bin/python3\n");
	torch(&h, "/srv/vllm/lib/python3.12/site-packages", "2.8.0+rocm6.4", "'6.4.43482'", "None");
	scratch_file(h.dir, "/etc/systemd/system/llm.service",
	             "[Service]\nUser=llm\nEnvironment=\"HSA_OVERRIDE_GFX_VERSION=10.3.0\" HF_TOKEN=secret \\\n"
	             "  ROCR_VISIBLE_DEVICES=0\nExecStart=/srv/vllm/bin/vllm serve x\n");
	scratch_file(h.dir, "/etc/systemd/system/llm.service.d/10-b.conf", "[Service]\nEnvironment=ROCR_VISIBLE_DEVICES=1\n");
	scratch_manifest(h.dir, "'environment': {'PATH': '/usr/bin'}");
	look(&h);
	assert_string_equal(str(&h, "services[0].engine"), "vllm");
	assert_string_equal(str(&h, "services[0].python_prefix"), "/srv/vllm");
	assert_string_equal(str(&h, "services[0].environment.HSA_OVERRIDE_GFX_VERSION"), "10.3.0");
	assert_string_equal(str(&h, "services[0].environment.ROCR_VISIBLE_DEVICES"), "1");
	assert_null(rd_fact_get(h.facts, "services[0].environment.HF_TOKEN"));
	assert_string_equal(str(&h, "python[0].prefix"), "/srv/vllm");
	assert_true(rd_fact_get_bool(h.facts, "python[0].service"));
	assert_true(rd_fact_get_bool(h.facts, "python[0].judged"));
	host_free(&h);
}

/* ------------------------------------------------------------ PyTorch */

static void a_rocm_build_is_known_by_its_version_file(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.8.0+rocm6.4", "'6.4.43482-0f2d60242'", "None");
	scratch_file(h.dir, SITE "/torch/lib/libamdhip64.so", "");
	look(&h);
	assert_string_equal(str(&h, "python[0].torch.build"), "rocm");
	assert_string_equal(str(&h, "python[0].torch.rocm"), "6.4");
	assert_string_equal(str(&h, "python[0].torch.hip"), "6.4.43482-0f2d60242");
	assert_string_equal(str(&h, "python[0].torch.cuda"), "");
	assert_true(rd_fact_get_bool(h.facts, "python[0].torch.rocm_bundled"));
	assert_string_equal(str(&h, "python[0].torch.triton.name"), "pytorch-triton-rocm");
	assert_false(rd_fact_get_bool(h.facts, "python[0].torch.other_python"));
	host_free(&h);
}

static void a_wheel_of_another_python_is_seen(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
	scratch_file(h.dir, SITE "/torch-2.8.0+rocm6.4.dist-info/WHEEL", "Tag: cp310-cp310-manylinux_2_28_x86_64\n");
	look(&h);
	assert_string_equal(str(&h, "python[0].torch.python_series"), "3.10");
	assert_true(rd_fact_get_bool(h.facts, "python[0].torch.other_python"));
	host_free(&h);
}

static void companions_of_another_build_or_release_are_named(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
	package(&h, SITE, "torchvision-0.23.0+cu126.dist-info", "Requires-Dist: torch==2.8.0\n");
	package(&h, SITE, "torchaudio-2.7.1+rocm6.4.dist-info", "Requires-Dist: torch==2.7.1\n");
	look(&h);
	assert_non_null(strstr(str(&h, "python[0].companion_mismatch"), "torchvision 0.23.0+cu126 is a cuda build"));
	assert_non_null(strstr(str(&h, "python[0].companion_mismatch"), "torchaudio 2.7.1+rocm6.4 wants torch 2.7.1"));
	host_free(&h);
}

static void companions_that_pin_no_torch_go_by_their_number(void **state)
{
	static const struct {
		const char *torch, *audio, *says;
	} cases[] = {
		{ "2.7.1+rocm7.0.0", "2.8.0a0+rocm7.0.0", "of another release than torch" },
		{ "2.8.0+rocm7.0.0", "2.8.0a0+rocm7.0.0", NULL },
		{ "2.10.0+rocm7.1", "2.8.0+rocm7.1", NULL }, /* not told: later ones keep to a stable interface */
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct host h = host_new();
		char folder[128], text[128];

		venv(&h, "/opt/llm");
		torch(&h, SITE, cases[i].torch, "'7.0.1-x'", "None");
		snprintf(folder, sizeof(folder), "torchaudio-%s.dist-info", cases[i].audio);
		snprintf(text, sizeof(text), "Name: torchaudio\nVersion: %s\nRequires-Dist: torch\n\n", cases[i].audio);
		package(&h, SITE, folder, text);
		look(&h);
		if (cases[i].says)
			assert_non_null(strstr(str(&h, "python[0].companion_mismatch"), cases[i].says));
		else
			assert_string_equal(str(&h, "python[0].companion_mismatch"), "");
		host_free(&h);
	}
}

static void a_space_in_the_path_of_torch_is_seen(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/srv/New Volume/venv");
	torch(&h, "/srv/New Volume/venv/lib/python3.12/site-packages", "2.4.1+rocm6.1", "'6.1.40091-x'", "None");
	rd_strv_push(&h.pythons, "/srv/New Volume/venv");
	look(&h);
	assert_true(rd_fact_get_bool(h.facts, "python[0].torch.space_in_path"));
	host_free(&h);
}

static void companions_of_another_minor_rocm_go_together(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.9.1+rocm6.4", "'6.4.43482'", "None");
	package(&h, SITE, "torchvision-0.24.1+rocm6.3.dist-info", "Requires-Dist: torch==2.9.1\n");
	look(&h);
	assert_string_equal(str(&h, "python[0].companion_mismatch"), "");
	host_free(&h);
}

static void plain_triton_counts_only_beside_a_rocm_one_that_is_required(void **state)
{
	struct host h = host_new(), g = host_new();

	(void)state;
	for (struct host *one = &h; one; one = one == &h ? &g : NULL) {
		venv(one, "/opt/llm");
		torch(one, SITE, "2.8.0+rocm6.4", "'6.4.43482'", "None");
		/* AMD's images build both from source: then torch requires no pytorch-triton-rocm. */
		if (one == &g)
			package(one, SITE, "torch-2.8.0+rocm6.4.dist-info", "Name: torch\n");
		package(one, SITE, "triton-3.4.0.dist-info", "Name: triton\n");
		look(one);
	}
	assert_string_equal(str(&h, "python[0].plain_triton"), "3.4.0");
	assert_string_equal(str(&g, "python[0].plain_triton"), "");
	host_free(&h);
	host_free(&g);
}

static void the_command_names_a_wheel_for_this_gpu_and_python(void **state)
{
	struct host h = host_new(), g = host_new();

	(void)state;
	for (struct host *one = &h; one; one = one == &h ? &g : NULL) {
		venv(one, "/opt/llm");
		torch(one, SITE, "2.7.1+cpu", "None", "None");
		package(one, SITE, "pip-24.0.dist-info", "");
		gpu(one, one == &h ? "gfx1100" : "gfx803");
		look(one);
	}
	assert_string_equal(str(&h, "python[0].install_torch"),
	                    "/opt/llm/bin/python3 -m pip install --force-reinstall "
	                    "--index-url https://download.pytorch.org/whl/rocm6.3 torch==2.7.1+rocm6.3");
	assert_string_equal(str(&h, "python[0].torch_requirements"), "torch==2.7.1+rocm6.3");
	assert_string_equal(str(&h, "python[0].torch_index"), "https://download.pytorch.org/whl/rocm6.3");
	assert_string_equal(str(&h, "python[0].torch_own_index"), "");
	assert_non_null(
		strstr(str(&g, "python[0].install_torch"), "no index of wheels, PyTorch's or AMD's, is known to have gfx803"));
	assert_string_equal(str(&g, "python[0].torch_requirements"), "");
	assert_string_equal(str(&g, "python[0].torch_index"), "");
	host_free(&h);
	host_free(&g);
}

/* PyTorch's index has the same release with code for the GPU, but what is there is AMD's, and lacks one package. */
static void only_the_device_package_is_added_to_amds_pytorch(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.13.0+rocm10.0.0", "'7.15.26333'", "None");
	scratch_file(h.dir, SITE "/torch/_rocm_init.py", "def initialize(): pass\n");
	gpu(&h, "gfx1151");
	look(&h);
	assert_string_equal(str(&h, "python[0].torch_requirements"), "torch[device-gfx1151]==2.13.0+rocm10.0.0");
	assert_string_equal(str(&h, "python[0].torch_index"), "https://stable.repo.amd.com/rocm/whl-next/");
	host_free(&h);
}

static void companions_are_pinned_to_the_release_that_goes_with_torch(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.9.1+rocm6.4", "'6.4.43482'", "None");
	package(&h, SITE, "torchvision-0.24.1.dist-info", "Requires-Dist: torch==2.9.1\n");
	gpu(&h, "gfx1100");
	look(&h);
	assert_string_equal(str(&h, "python[0].torch_requirements"), "torch==2.9.1+rocm6.4 torchvision==0.24.1+rocm6.4");
	assert_string_equal(str(&h, "python[0].torch_own_index"), "https://download.pytorch.org/whl/rocm6.4");
	host_free(&h);
}

static void an_environment_without_pip_gets_a_command_of_uv(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	torch(&h, SITE, "2.14.0+cpu", "None", "None");
	gpu(&h, "gfx1153");
	look(&h);
	assert_string_equal(str(&h, "python[0].install_torch"), "uv pip install --python /opt/llm/bin/python3 --reinstall "
	                                                        "--index-url https://stable.repo.amd.com/rocm/whl-next/ "
	                                                        "'torch[device-gfx1153]==2.14.0+rocm10.1.0'");
	host_free(&h);
}

/* PyTorch's own wheels first; where they have no code for the GPU, AMD's, with a package for it. */
static void the_wheels_of_a_gpu_are_one_set_of_exact_versions(void **state)
{
	static const struct {
		const char *gfx, *version, *companion, *requirements, *index;
	} cases[] = {
		{ "gfx1100", "2.14.1+cu130", "torchvision-0.29.1", "torch==2.14.1+rocm7.2 torchvision==0.29.1+rocm7.2",
		  "https://download.pytorch.org/whl/rocm7.2" },
		{ "gfx1100", "2.12.0+cu130", "torchaudio-2.11.0", "torch==2.12.0+rocm7.2 torchaudio==2.11.0+rocm7.2",
		  "https://download.pytorch.org/whl/rocm7.2" },
		{ "gfx1153", "2.14.0+cu130", "torchvision-0.29.0",
		  "torch[device-gfx1153]==2.14.0+rocm10.1.0 torchvision[device-gfx1153]==0.29.0a0+rocm10.1.0",
		  "https://stable.repo.amd.com/rocm/whl-next/" },
		{ "gfx1153", "2.13.0+cu130", "torchaudio-2.11.0",
		  "torch[device-gfx1153]==2.13.0+rocm10.1.0 torchaudio==2.11.0.2+rocm10.1.0",
		  "https://stable.repo.amd.com/rocm/whl-next/" },
		{ "gfx1031", "2.14.0+cu130", "pillow-12.0.0", "torch[device-gfx1031]==2.13.0+rocm10.0.0",
		  "https://stable.repo.amd.com/rocm/whl-next/" },
		{ "gfx803", "2.14.0+cu130", "pillow-12.0.0", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		rd_auto_free char *folder = rd_xasprintf("%s.dist-info", cases[i].companion);
		struct host h = host_new();

		venv(&h, "/opt/llm");
		torch(&h, SITE, cases[i].version, "None", "'13.0'");
		package(&h, SITE, folder, "");
		gpu(&h, cases[i].gfx);
		look(&h);
		assert_string_equal(str(&h, "python[0].torch_requirements"), cases[i].requirements);
		assert_string_equal(str(&h, "python[0].torch_index"), cases[i].index);
		host_free(&h);
	}
}

/* AMD's builds name the release of ROCm in full; PyTorch's name the series, of which no build is on record. */
static void rocm_wheels_are_of_the_release_in_pytorchs_version(void **state)
{
	static const struct {
		const char *gfx, *version, *requirements, *index;
	} cases[] = {
		{ "gfx942", "2.13.0+rocm10.0.0", "rocm[libraries,device-gfx942]==10.0.0",
		  "https://stable.repo.amd.com/rocm/whl-next/" },
		{ "gfx942", "2.12.0+rocm7.14.1", "rocm[libraries,device-gfx942]==7.14.1",
		  "https://repo.amd.com/rocm/whl-multi-arch/" },
		{ "gfx942", "2.9.0+rocm7.10.0", "rocm[libraries]==7.10.0", "https://repo.amd.com/rocm/whl/gfx94X-dcgpu/" },
		{ "gfx90a", "2.9.0+rocm7.10.0", "", "" },
		{ "gfx942", "2.14.1+rocm7.14", "", "https://download.pytorch.org/whl/rocm7.14" },
		{ "gfx942", "2.14.0+rocm10.1.0a20260910", "", "" },
		{ "gfx942", "2.9.1+rocm7.2.1.lw.gitff65f5bc", "", "" },
		{ "gfx942", "2.9.1+rocm7.2.1", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(cases); i++) {
		struct host h = host_new();

		venv(&h, "/opt/llm");
		torch(&h, SITE, cases[i].version, "'7.2'", "None");
		gpu(&h, cases[i].gfx);
		look(&h);
		assert_string_equal(str(&h, "python[0].rocm_sdk_requirements"), cases[i].requirements);
		assert_string_equal(str(&h, "python[0].torch_own_index"), cases[i].index);
		host_free(&h);
	}
}

static void an_old_dkms_driver_is_measured_with_the_wheels_rocm(void **state)
{
	static const struct {
		const char *origin, *version, *needed;
	} cases[] = { { "dkms", "6.8.5", "6.4" }, { "dkms", "6.12.12", "" }, { "dkms", "6.16.13", "" }, { "in-tree", "", "" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();

		venv(&h, "/opt/llm");
		torch(&h, SITE, "2.12.0+rocm7.2", "'7.2.26015'", "None");
		rd_fact_set_str(h.facts, "kernel.amdgpu.origin", cases[i].origin, "test");
		rd_fact_set_str(h.facts, "kernel.amdgpu.version", cases[i].version, "test");
		look(&h);
		assert_string_equal(str(&h, "python[0].torch.driver_needed"), cases[i].needed);
		host_free(&h);
	}
}

static void sdk_wheels_have_to_be_of_one_release_and_for_the_gpu(void **state)
{
	static const struct {
		const char *core, *device, *words;
	} cases[] = {
		{ "rocm_sdk_core-10.0.0.dist-info", "rocm_sdk_device_gfx950-10.0.0.dist-info", "" },
		{ "rocm_sdk_core-10.0.1.dist-info", "rocm_sdk_device_gfx950-10.0.0.dist-info",
		  "rocm-sdk-device-gfx950 is 10.0.0" },
		{ "rocm_sdk_core-10.0.0.dist-info", "rocm_sdk_device_gfx942-10.0.0.dist-info",
		  "no rocm-sdk-device wheel is for gfx950" },
		{ "rocm_sdk_core-10.0.0.dist-info", "rocm_sdk_libraries_gfx95X_dcgpu-10.0.0.dist-info", "" },
		{ "rocm_sdk_core-7.14.0.dist-info", "rocm_sdk_device_gfx950-7.14.0.dist-info",
		  "torch is built for ROCm 10.0.0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();

		venv(&h, "/opt/llm");
		torch(&h, SITE, "2.13.0+rocm10.0.0", "'7.15.26333'", "None");
		package(&h, SITE, cases[i].core, "");
		package(&h, SITE, cases[i].device, "");
		gpu(&h, "gfx950");
		look(&h);
		if (*cases[i].words)
			assert_non_null(strstr(str(&h, "python[0].rocm_sdk_mismatch"), cases[i].words));
		else
			assert_string_equal(str(&h, "python[0].rocm_sdk_mismatch"), "");
		host_free(&h);
	}
}

static void credentials_are_cut_out_of_index_addresses(void **state)
{
	struct host h = host_new();

	(void)state;
	scratch_file(h.dir, "/etc/pip.conf",
	             "[global]\nindex-url = https://me:s3cret@mirror.example/simple\nextra-index-url =\n"
	             "    https://download.pytorch.org/whl/cu126\n    https://download.pytorch.org/whl/rocm6.4\n");
	scratch_manifest(h.dir, "'environment': {'UV_TORCH_BACKEND': 'cpu'}");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "pip.indexes")), 4);
	assert_string_equal(str(&h, "pip.indexes[0].url"), "https://***@mirror.example/simple");
	assert_string_equal(str(&h, "pip.indexes[0].brings"), "");
	assert_string_equal(str(&h, "pip.indexes[1].brings"), "cuda");
	assert_string_equal(str(&h, "pip.indexes[2].brings"), "rocm");
	assert_string_equal(str(&h, "pip.indexes[3].brings"), "cpu");
	host_free(&h);
}

/* ------------------------------------------------------------ engines */

static void bitsandbytes_is_asked_for_the_library_that_its_loader_wants(void **state)
{
	static const struct {
		const char *version, *hip, *library, *wanted;
		bool missing, misreads;
	} cases[] = {
		{ "0.46.0", "6.3.1", "rocm64", "libbitsandbytes_rocm63.so", true, false },
		{ "0.46.0", "6.4.1", "rocm64", "libbitsandbytes_rocm64.so", false, false },
		{ "0.49.2", "7.14.2", "rocm72", "libbitsandbytes_rocm84.so", true, true },
		{ "0.50.0", "7.15.2", "rocm714", "libbitsandbytes_rocm715.so", false, false },
		{ "0.50.1", "6.4.1", "rocm714", "libbitsandbytes_rocm64.so", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();
		char text[128];

		venv(&h, "/opt/llm");
		snprintf(text, sizeof(text), "'%s'", cases[i].hip);
		torch(&h, SITE, "2.8.0", text, "None");
		snprintf(text, sizeof(text), "bitsandbytes-%s.dist-info", cases[i].version);
		package(&h, SITE, text, "");
		snprintf(text, sizeof(text), SITE "/bitsandbytes/libbitsandbytes_%s.so", cases[i].library);
		scratch_file(h.dir, text, "");
		look(&h);
		assert_string_equal(str(&h, "engines.bitsandbytes[0].wanted_library"), cases[i].wanted);
		assert_int_equal(rd_fact_get_bool(h.facts, "engines.bitsandbytes[0].library_missing"), cases[i].missing);
		assert_int_equal(rd_fact_get_bool(h.facts, "engines.bitsandbytes[0].misreads_rocm"), cases[i].misreads);
		host_free(&h);
	}
}

static void flash_attention_is_held_against_the_gpus_by_release(void **state)
{
	static const struct {
		const char *version, *gfx, *beside;
		size_t unsupported;
	} cases[] = {
		{ "2.7.4.post1", "gfx1100", "/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", 1 },
		{ "2.7.4.post1", "gfx942", "/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", 0 },
		{ "2.8.3", "gfx950", "/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", 0 },
		{ "2.8.3", "gfx1100", "/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", 1 },
		{ "2.0.4", "gfx1100", "/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", 0 },
		/* Built for Triton alone. */
		{ "2.8.3", "gfx1100", "/flash_attn/__init__.py", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();
		char text[256];

		venv(&h, "/opt/llm");
		snprintf(text, sizeof(text), "flash_attn-%s.dist-info", cases[i].version);
		package(&h, SITE, text, "");
		snprintf(text, sizeof(text), SITE "%s", cases[i].beside);
		scratch_file(h.dir, text, "");
		scratch_manifest(h.dir, "'environment': {'VIRTUAL_ENV': '/opt/llm', 'PATH': ''}");
		gpu(&h, cases[i].gfx);
		look(&h);
		assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "engines.flash_attn[0].unsupported_gpus")),
		                 cases[i].unsupported);
		host_free(&h);
	}
}

static void flash_attention_from_its_repository_may_be_newer_than_its_number(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	package(&h, SITE, "flash_attn-2.8.3.dist-info", "");
	scratch_file(h.dir, SITE "/flash_attn-2.8.3.dist-info/direct_url.json", "{}");
	scratch_file(h.dir, SITE "/flash_attn_2_cuda.so", "");
	scratch_manifest(h.dir, "'environment': {'VIRTUAL_ENV': '/opt/llm', 'PATH': ''}");
	gpu(&h, "gfx1100");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "engines.flash_attn[0].unsupported_gpus")), 0);
	host_free(&h);
}

static void vllm_is_known_by_its_modules_and_version(void **state)
{
	static const struct {
		const char *version, *module, *build;
	} cases[] = { { "0.10.2+rocm64", "_C.abi3.so", "rocm" },
		      { "0.9.2.dev364+gb432b7a28", "_rocm_C.abi3.so", "rocm" },
		      { "0.10.2", "_C.abi3.so", "cuda" },
		      { "0.9.2.dev364+gb432b7a28", "_C.abi3.so", "" },
		      { "0.10.2+cpu", "_C.abi3.so", "cpu" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();
		char text[256];

		venv(&h, "/opt/llm");
		snprintf(text, sizeof(text), "vllm-%s.dist-info", cases[i].version);
		package(&h, SITE, text, "Requires-Dist: torch==2.8.0\n");
		snprintf(text, sizeof(text), SITE "/vllm/%s", cases[i].module);
		scratch_file(h.dir, text, "");
		look(&h);
		assert_string_equal(str(&h, "engines.vllm[0].build"), cases[i].build);
		assert_string_equal(str(&h, "engines.vllm[0].requires_torch"), "2.8.0");
		assert_false(rd_fact_get_bool(h.facts, "engines.vllm[0].amdsmi"));
		host_free(&h);
	}
}

static void ollama_has_rocm_where_its_libraries_lie_beside_it(void **state)
{
	static const struct {
		const char *file, *build;
	} cases[] = { { "/usr/local/lib/ollama/rocm_v7_2/libggml-hip.so", "rocm" },
		      { "/usr/local/lib/ollama/libggml-hip.so", "rocm" },
		      { "/usr/local/lib/ollama/cuda_v12/libggml-cuda.so", "cuda" },
		      { "/usr/local/lib/ollama/libggml-base.so", "cpu" },
		      { "/usr/local/lib/other", NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();

		scratch_file(h.dir, "/usr/local/bin/ollama", "");
		scratch_file(h.dir, cases[i].file, "");
		look(&h);
		if (cases[i].build)
			assert_string_equal(str(&h, "engines.ollama[0].build"), cases[i].build);
		else
			assert_true(rd_fact_is_unknown(h.facts, "engines.ollama[0].build"));
		host_free(&h);
	}
}

static void a_server_older_than_the_driver_is_seen_by_clock_and_log(void **state)
{
	static const char stat[] =
		"812 (ol) lama) S 1 812 812 0 -1 4194560 9999 0 0 0 100 50 0 0 20 0 30 0 180 2147483648 20000\n";
	static const struct {
		const char *log;
		bool before;
	} cases[] = { { "[    2.924000] kfd kfd: amdgpu: added device 1002:73df", true },
		      { "[    1.700000] kfd kfd: amdgpu: added device 1002:73df", false },
		      { "[    2.924000] something else", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h = host_new();
		char text[256];

		scratch_file(h.dir, "/etc/systemd/system/ollama.service", "[Service]\nExecStart=/usr/bin/ollama serve\n");
		scratch_file(h.dir, "/proc/812/comm", "ollama\n");
		scratch_file(h.dir, "/proc/812/stat", stat);
		scratch_file(h.dir, "/proc/812/environ", "HOME=/\n");
		scratch_file(h.dir, "/proc/812/cgroup", "0::/system.slice/ollama.service\n");
		snprintf(text, sizeof(text), "'kmsg': ['%s']", cases[i].log);
		scratch_manifest(h.dir, text);
		look(&h);
		assert_int_equal(rd_fact_get_int(h.facts, "servers[0].started_ms"), 1800);
		assert_int_equal(rd_fact_get_bool(h.facts, "services[0].started_before_driver"), cases[i].before);
		host_free(&h);
	}
}

/* ------------------------------------------------------------ bad input */

static void loops_and_garbage_end_in_unknown_or_nothing(void **state)
{
	struct host h = host_new();
	char garbage[4096];

	(void)state;
	memset(garbage, 0xff, sizeof(garbage));
	venv(&h, "/opt/llm");
	scratch_link(h.dir, "/opt/llm/lib/loop", "loop");
	scratch_link(h.dir, "/opt/a", "b");
	scratch_link(h.dir, "/opt/b", "a");
	scratch_link(h.dir, SITE "/self", ".");
	scratch_file(h.dir, SITE "/loop.pth", SITE "/self\nself/self\n../site-packages\n/opt/a\n");
	scratch_bytes(h.dir, SITE "/torch/version.py", garbage, sizeof(garbage));
	scratch_bytes(h.dir, SITE "/torch-2.8.0.dist-info/METADATA", garbage, sizeof(garbage));
	scratch_bytes(h.dir, SITE "/torch-2.8.0.dist-info/WHEEL", garbage, sizeof(garbage));
	scratch_bytes(h.dir, "/opt/llm/requirements.txt", garbage, sizeof(garbage));
	scratch_bytes(h.dir, "/etc/pip.conf", garbage, sizeof(garbage));
	scratch_bytes(h.dir, "/etc/systemd/system/ollama.service", garbage, sizeof(garbage));
	scratch_bytes(h.dir, "/proc/1/comm", garbage, sizeof(garbage));
	scratch_file(h.dir, "/proc/2/comm", "ollama");
	scratch_file(h.dir, "/proc/2/stat", "no parenthesis");
	look(&h);
	assert_string_equal(str(&h, "python[0].torch.version"), "2.8.0");
	assert_true(rd_fact_is_unknown(h.facts, "servers[0].started_ms"));
	host_free(&h);
}

static void more_packages_than_anyone_installs_are_unknown(void **state)
{
	struct host h = host_new();
	char path[128];

	(void)state;
	venv(&h, "/opt/llm");
	for (int i = 0; i < 4200; i++) {
		snprintf(path, sizeof(path), SITE "/p%d-1.0.dist-info", i);
		scratch_dir(h.dir, path);
	}
	look(&h);
	assert_true(rd_fact_is_unknown(h.facts, "python[0].packages"));
	assert_true(rd_fact_is_unknown(h.facts, "python[0].framework"));
	host_free(&h);
}

static void a_unit_that_may_not_be_read_is_known_by_its_name(void **state)
{
	struct host h = host_new();

	(void)state;
	scratch_file(h.dir, "/etc/systemd/system/ollama.service", "[Service]\nExecStart=/usr/bin/ollama serve\n");
	scratch_file(h.dir, "/etc/systemd/system/other.service", "[Service]\nExecStart=/usr/bin/ollama serve\n");
	scratch_manifest(h.dir, "'unreadable': {'/etc/systemd/system/ollama.service': 'EACCES', "
	                        "'/etc/systemd/system/other.service': 'EACCES'}");
	look(&h);
	assert_int_equal(rd_fact_count(rd_fact_get(h.facts, "services")), 1);
	assert_string_equal(str(&h, "services[0].engine"), "ollama");
	assert_true(rd_fact_is_unknown(h.facts, "services[0].environment"));
	host_free(&h);
}

static void a_folder_that_may_not_be_read_makes_the_packages_unknown(void **state)
{
	struct host h = host_new();

	(void)state;
	venv(&h, "/opt/llm");
	scratch_manifest(h.dir, "'unreadable': {'" SITE "': 'EACCES'}, 'environment': {'VIRTUAL_ENV': '/opt/llm', 'PATH': ''}");
	look(&h);
	assert_true(rd_fact_is_unknown(h.facts, "python[0].packages"));
	assert_true(rd_fact_is_unknown(h.facts, "python[0].companion_mismatch"));
	host_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_that_is_switched_on_comes_first),
		cmocka_unit_test(without_a_variable_python3_on_the_path_is_active),
		cmocka_unit_test(what_is_active_is_unknown_where_the_variables_are_not_recorded),
		cmocka_unit_test(asking_for_an_interpreter_replaces_the_search),
		cmocka_unit_test(all_are_judged_only_where_no_chosen_one_holds_a_framework),
		cmocka_unit_test(pth_files_and_pythonpath_are_followed_in_order),
		cmocka_unit_test(a_service_makes_its_environment_judged),
		cmocka_unit_test(a_rocm_build_is_known_by_its_version_file),
		cmocka_unit_test(a_wheel_of_another_python_is_seen),
		cmocka_unit_test(companions_of_another_build_or_release_are_named),
		cmocka_unit_test(companions_of_another_minor_rocm_go_together),
		cmocka_unit_test(companions_that_pin_no_torch_go_by_their_number),
		cmocka_unit_test(a_space_in_the_path_of_torch_is_seen),
		cmocka_unit_test(plain_triton_counts_only_beside_a_rocm_one_that_is_required),
		cmocka_unit_test(the_command_names_a_wheel_for_this_gpu_and_python),
		cmocka_unit_test(only_the_device_package_is_added_to_amds_pytorch),
		cmocka_unit_test(companions_are_pinned_to_the_release_that_goes_with_torch),
		cmocka_unit_test(an_environment_without_pip_gets_a_command_of_uv),
		cmocka_unit_test(the_wheels_of_a_gpu_are_one_set_of_exact_versions),
		cmocka_unit_test(rocm_wheels_are_of_the_release_in_pytorchs_version),
		cmocka_unit_test(an_old_dkms_driver_is_measured_with_the_wheels_rocm),
		cmocka_unit_test(sdk_wheels_have_to_be_of_one_release_and_for_the_gpu),
		cmocka_unit_test(credentials_are_cut_out_of_index_addresses),
		cmocka_unit_test(bitsandbytes_is_asked_for_the_library_that_its_loader_wants),
		cmocka_unit_test(flash_attention_is_held_against_the_gpus_by_release),
		cmocka_unit_test(flash_attention_from_its_repository_may_be_newer_than_its_number),
		cmocka_unit_test(vllm_is_known_by_its_modules_and_version),
		cmocka_unit_test(ollama_has_rocm_where_its_libraries_lie_beside_it),
		cmocka_unit_test(a_server_older_than_the_driver_is_seen_by_clock_and_log),
		cmocka_unit_test(loops_and_garbage_end_in_unknown_or_nothing),
		cmocka_unit_test(more_packages_than_anyone_installs_are_unknown),
		cmocka_unit_test(a_unit_that_may_not_be_read_is_known_by_its_name),
		cmocka_unit_test(a_folder_that_may_not_be_read_makes_the_packages_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
