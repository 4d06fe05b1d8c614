/*
 * Any transaction on disk: its files one after the other, each ended by the byte 0x1e: plan.json, log, before/0.json, before/0,
 * had-0. It is opened and taken back over a tree, and nothing outside of that tree is touched.
 */

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rocm-doctor/error.h"
#include "rocm-doctor/sysroot.h"
#include "rocm-doctor/transaction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "20260101T000000Z-1"
#define OUTSIDE "nobody's to change\n"

static const char *const files[] = { "plan.json", "log", "before/0.json", "before/0", "had-0" };
static char dir[64];

static void put(const char *name, const void *bytes, size_t n)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || close(fd) < 0)
		abort();
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0700) < 0)
		abort();
}

static void prepare(void)
{
	static const char *const folders[] = { "state", "state/" ID, "state/" ID "/before" };

	if (*dir)
		return;
	/* Where the one who runs it wants it, who removes it as well. */
	snprintf(dir, sizeof(dir), "%.40s/rd-fuzz-XXXXXX", getenv("RD_FUZZ_DIR") ? getenv("RD_FUZZ_DIR") : "/tmp");
	if (!mkdtemp(dir))
		abort();
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		make_folder(folders[i]);
	put("outside", OUTSIDE, strlen(OUTSIDE));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* The one before may have left anything there. */
static void fresh_root(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/root", dir);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	make_folder("root");
	make_folder("root/etc");
	make_folder("root/sys");
	put("root/etc/x", "after\n", 6);
	put("root/sys/value", "1\n", 2);
}

static void check_outside(void)
{
	char path[256], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/outside", dir);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f) || strcmp(text, OUTSIDE) != 0)
		abort();
	fclose(f);
}

static void take_back(void)
{
	char state[256], root[256];
	struct rd_error err = RD_ERROR_INIT;
	struct rd_transaction *tx = NULL;
	struct rd_sysroot *sr = NULL;

	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(root, sizeof(root), "%s/root", dir);
	free(rd_transaction_interrupted(state));
	if (rd_transaction_open(state, ID, &tx, &err) == 0 && rd_sysroot_open(root, &sr, &err) == 0) {
		(void)rd_tx_state_name(rd_transaction_state(tx));
		if (rd_transaction_undo(tx, sr, false, NULL, &err) < 0 && !err.message)
			abort();
	}
	rd_error_clear(&err);
	rd_sysroot_free(sr);
	rd_transaction_close(tx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	prepare();
	fresh_root();
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const uint8_t *end = size ? memchr(data, 0x1e, size) : NULL;
		size_t n = end ? (size_t)(end - data) : size;
		char name[128];

		snprintf(name, sizeof(name), "state/" ID "/%s", files[i]);
		put(name, n ? (const void *)data : "", n);
		data = end ? end + 1 : data;
		size = end ? size - n - 1 : 0;
	}
	take_back();
	check_outside();
	return 0;
}
