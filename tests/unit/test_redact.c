#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/redact.h"
#include "rocm-doctor/macros.h"

static void secrets_are_hidden_and_nothing_else(void **state)
{
	static const char *const rows[][2] = {
		{ "https://me:word@repo.radeon.com/rocm/apt/6.4", "https://***@repo.radeon.com/rocm/apt/6.4" },
		{ "deb http://a@b@host/x http://c:d@e", "deb http://***@host/x http://***@e" },
		{ "https://repo.radeon.com/a@b", "https://repo.radeon.com/a@b" },
		{ "http://@h http://", "http://@h http://" },
		{ "HF_TOKEN=abc HSA_ENABLE_SDMA=0", "HF_TOKEN=*** HSA_ENABLE_SDMA=0" },
		{ "export api_key=\"a b\" x=1", "export api_key=\"***\" x=1" },
		{ "rootpass=a", "rootpass=*" },
		{ "PASSWORD=", "PASSWORD=" },
		{ "PASSWORD='open", "PASSWORD='***" },
		{ "/bin/sh -c \"DB_PASS=a=b /x\"", "/bin/sh -c \"DB_PASS=*** /x\"" },
		{ "iommu.passthrough=0 bypass=1 signed-by=/k", "iommu.passthrough=0 bypass=1 signed-by=/k" },
		{ "", "" },
		{ "=", "=" },
	};

	(void)state;
	for (size_t i = 0; i < RD_ARRAY_SIZE(rows); i++) {
		char *text = strdup(rows[i][0]);

		rd_redact(text);
		assert_string_equal(text, rows[i][1]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_hidden_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
