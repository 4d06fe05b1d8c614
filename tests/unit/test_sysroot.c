#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/acl.h"
#include "rocm-doctor/elf.h"
#include "scratch.h"
#include "util/strbuf.h"
#include "util/strv.h"

#define SKIPPED 77

static int make_tree(void **state)
{
	*state = scratch_new();
	return 0;
}

static int remove_tree(void **state)
{
	scratch_free(*state);
	return 0;
}

/* All that the sysroot says about one path, as text: what is to be compared between ways of asking. */
static void describe(struct rd_sysroot *sr, const char *path, struct rd_strbuf *out)
{
	struct rd_strv names = RD_STRV_INIT;
	struct rd_stat st = { 0 };
	char *text = NULL, *link = NULL, *real = NULL;
	int r;

	r = rd_sysroot_read(sr, &text, path);
	rd_strbuf_addf(out, "%s: read %d '%s'", path, r, text ? text : "");
	r = rd_sysroot_list(sr, &names, path);
	rd_strbuf_addf(out, " list %d", r);
	for (size_t i = 0; i < names.n; i++)
		rd_strbuf_addf(out, " '%s'", names.v[i]);
	r = rd_sysroot_stat(sr, &st, path);
	rd_strbuf_addf(out, " stat %d %d %o %llu", r, r ? 0 : (int)st.type, st.mode, (unsigned long long)st.ino);
	r = rd_sysroot_readlink(sr, &link, path);
	rd_strbuf_addf(out, " link %d '%s'", r, link ? link : "");
	r = rd_sysroot_realpath(sr, &real, path);
	rd_strbuf_addf(out, " real %d '%s'", r, real ? real : "");
	rd_strbuf_addf(out, " exists %d\n", rd_sysroot_exists(sr, path));
	free(text);
	free(link);
	free(real);
	rd_strv_clear(&names);
}

static void reads(struct rd_sysroot *sr, const char *path, const char *expect)
{
	char *text = NULL;
	int r = rd_sysroot_read(sr, &text, path);

	if (r < 0)
		fail_msg("reading '%s' gives %d", path, r);
	assert_string_equal(text, expect);
	free(text);
}

static void read_fails(struct rd_sysroot *sr, const char *path, int expect)
{
	char *text = NULL;
	int r = rd_sysroot_read(sr, &text, path);

	if (r != expect)
		fail_msg("reading '%s' gives %d, not %d", path, r, expect);
	assert_null(text);
}

static void lists(struct rd_sysroot *sr, const char *dir, const char *expect)
{
	struct rd_strv names = RD_STRV_INIT;
	struct rd_strbuf all = RD_STRBUF_INIT;
	int r = rd_sysroot_list(sr, &names, dir);

	if (r < 0)
		fail_msg("listing '%s' gives %d", dir, r);
	for (size_t i = 0; i < names.n; i++)
		rd_strbuf_addf(&all, "%s%s", i ? " " : "", names.v[i]);
	assert_string_equal(all.buf, expect);
	rd_strbuf_release(&all);
	rd_strv_clear(&names);
}

static void list_fails(struct rd_sysroot *sr, const char *dir, int expect)
{
	struct rd_strv names = RD_STRV_INIT;
	int r = rd_sysroot_list(sr, &names, dir);

	if (r != expect)
		fail_msg("listing '%s' gives %d, not %d", dir, r, expect);
	assert_int_equal(names.n, 0);
}

static void links_lead_nowhere_outside_the_root(void **state)
{
	struct rd_sysroot *sr;
	char *text = NULL;

	scratch_file(*state, "/inside", "inside\n");
	scratch_dir(*state, "/etc");
	scratch_link(*state, "/abs", "/etc/passwd");
	scratch_link(*state, "/up", "../../../../../../../../../../../../etc/passwd");
	scratch_link(*state, "/opt/rocm", "/inside");
	scratch_link(*state, "/opt/far", "../../../../inside");
	scratch_link(*state, "/rootlink", "/");
	scratch_link(*state, "/proclink", "/proc/self/root/etc/passwd");
	sr = scratch_open(*state);
	read_fails(sr, "/abs", -ENOENT);
	read_fails(sr, "/up", -ENOENT);
	read_fails(sr, "/../../../../../../../../../../etc/passwd", -ENOENT);
	/* /proc is no part of the tree, so nobody knows. */
	read_fails(sr, "/proclink", -ENODATA);
	reads(sr, "/opt/rocm", "inside\n");
	reads(sr, "/opt/far", "inside\n");
	reads(sr, "/../inside", "inside\n");
	reads(sr, "/rootlink/rootlink/../inside", "inside\n");
	assert_int_equal(rd_sysroot_readlink(sr, &text, "/abs"), 0);
	assert_string_equal(text, "/etc/passwd");
	free(text);
	rd_sysroot_free(sr);
}

static void loops_and_odd_names_are_answered(void **state)
{
	struct rd_sysroot *sr;
	char *path = calloc(1, 6000);

	scratch_link(*state, "/self", "self");
	scratch_link(*state, "/ping", "pong");
	scratch_link(*state, "/pong", "ping");
	scratch_file(*state, "/d/new\nline", "1");
	scratch_file(*state, "/d/\xff\xfe", "2");
	scratch_file(*state, "/d/%s%n", "3");
	scratch_file(*state, "/d/...", "4");
	sr = scratch_open(*state);
	read_fails(sr, "/self", -ELOOP);
	read_fails(sr, "/ping/x", -ELOOP);
	assert_int_equal(rd_sysroot_exists(sr, "/ping"), -ELOOP);
	lists(sr, "/d", "%s%n ... new\nline \xff\xfe");
	reads(sr, "/d/%s%n", "3");
	reads(sr, "/d/new\nline", "1");
	memset(path, 'a', 5999);
	path[0] = '/';
	read_fails(sr, path, -ENAMETOOLONG);
	path[300] = '\0';
	read_fails(sr, path, -ENAMETOOLONG);
	read_fails(sr, "relative", -EINVAL);
	read_fails(sr, "", -EINVAL);
	rd_sysroot_free(sr);
	free(path);
}

static void only_regular_files_are_read(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct rd_file *f = NULL;
	struct rd_sysroot *sr;
	struct rd_stat st;

	assert_int_equal(mkfifo(scratch_path(*state, "/fifo"), 0644), 0);
	scratch_link(*state, "/to-fifo", "fifo");
	assert_true(strlen(scratch_path(*state, "/socket")) < sizeof(address.sun_path));
	strcpy(address.sun_path, scratch_path(*state, "/socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	scratch_dir(*state, "/dir");
	sr = scratch_open(*state);
	read_fails(sr, "/fifo", -EINVAL);
	read_fails(sr, "/to-fifo", -EINVAL);
	read_fails(sr, "/socket", -EINVAL);
	read_fails(sr, "/dir", -EISDIR);
	read_fails(sr, "/", -EISDIR);
	assert_int_equal(rd_file_open(sr, &f, "/fifo"), -EINVAL);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/fifo"), 0);
	assert_int_equal(st.type, RD_STAT_OTHER);
	list_fails(sr, "/fifo", -ENOTDIR);
	rd_sysroot_free(sr);
}

static void what_is_too_large_is_refused_unread(void **state)
{
	struct rd_file *f = NULL;
	struct rd_sysroot *sr;
	char bytes[4];
	int fd;

	fd = open(scratch_path(*state, "/sparse"), O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
	close(fd);
	fd = open(scratch_path(*state, "/just"), O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, (off_t)RD_SYSROOT_READ_MAX), 0);
	close(fd);
	sr = scratch_open(*state);
	read_fails(sr, "/sparse", -EFBIG);
	assert_int_equal(rd_sysroot_bytes_read(sr), 0);
	reads(sr, "/just", "");
	assert_int_equal(rd_sysroot_bytes_read(sr), RD_SYSROOT_READ_MAX);
	/* A few bytes of it can be had. */
	assert_int_equal(rd_file_open(sr, &f, "/sparse"), 0);
	assert_int_equal(rd_file_size(f), (uint64_t)1 << 30);
	assert_int_equal(rd_file_pread(f, bytes, 4, ((uint64_t)1 << 30) - 4), 0);
	assert_int_equal(rd_file_pread(f, bytes, 4, ((uint64_t)1 << 30) - 3), -ENODATA);
	assert_int_equal(rd_file_pread(f, bytes, 4, UINT64_MAX - 1), -ENODATA);
	assert_int_equal(rd_sysroot_bytes_read(sr), RD_SYSROOT_READ_MAX + 4 + 3);
	rd_file_close(f);
	rd_sysroot_free(sr);
}

static void the_beginning_of_a_binary_is_read_once(void **state)
{
	struct rd_sysroot *sr = scratch_open(*state);
	struct rd_file *f = NULL;
	uint64_t before;
	char bytes[8];

	scratch_file(*state, "/short", "\177ELF and more");
	assert_int_equal(rd_file_open(sr, &f, "/short"), 0);
	rd_file_keep_head(f);
	assert_int_equal(rd_file_pread(f, bytes, 4, 0), 0);
	before = rd_sysroot_bytes_read(sr);
	assert_int_equal(rd_file_pread(f, bytes, 4, 9), 0);
	assert_memory_equal(bytes, "more", 4);
	assert_int_equal(rd_file_pread(f, bytes, 0, 0), 0);
	assert_int_equal(rd_sysroot_bytes_read(sr), before);
	assert_int_equal(rd_file_pread(f, bytes, 4, 10), -ENODATA);
	assert_int_equal(rd_file_pread(f, bytes, 4, UINT64_MAX - 1), -ENODATA);
	rd_file_close(f);

	/* Shorter than it was when it was opened: what is there can be had. */
	assert_int_equal(rd_file_open(sr, &f, "/short"), 0);
	rd_file_keep_head(f);
	scratch_file(*state, "/short", "\177ELF");
	assert_int_equal(rd_file_pread(f, bytes, 4, 0), 0);
	assert_memory_equal(bytes, "\177ELF", 4);
	assert_int_equal(rd_file_pread(f, bytes, 4, 4), -ENODATA);
	rd_file_close(f);

	scratch_file(*state, "/empty", "");
	assert_int_equal(rd_file_open(sr, &f, "/empty"), 0);
	rd_file_keep_head(f);
	assert_int_equal(rd_file_pread(f, bytes, 0, 0), 0);
	assert_int_equal(rd_file_pread(f, bytes, 1, 0), -ENODATA);
	rd_file_close(f);
	rd_sysroot_free(sr);
}

static void numbers_are_whole_numbers(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
		{ "42\n", 0, 42 },       { " 7 \n", 0, 7 },       { "0x1002\n", 0, 0x1002 },
		{ "0X10", 0, 16 },       { "010", 0, 10 },        { "18446744073709551615", 0, UINT64_MAX },
		{ "", -EINVAL, 0 },      { "\n", -EINVAL, 0 },    { "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },    { "0x", -EINVAL, 0 },    { "1 2", -EINVAL, 0 },
		{ "12abc", -EINVAL, 0 }, { "1002h", -EINVAL, 0 }, { "18446744073709551616", -ERANGE, 0 },
	};
	struct rd_sysroot *sr = scratch_open(*state);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;

		scratch_file(*state, "/n", rows[i].text);
		if (rd_sysroot_readf_u64(sr, &value, "/%s", "n") != rows[i].r || value != rows[i].value)
			fail_msg("'%s' gives %llu", rows[i].text, (unsigned long long)value);
	}
	rd_sysroot_free(sr);
}

static void a_line_loses_the_white_space_at_its_end(void **state)
{
	struct rd_sysroot *sr = scratch_open(*state);
	char *line = NULL, *bytes = NULL;
	size_t len = 0;

	scratch_file(*state, "/line", " two words \t\r\n\n");
	scratch_bytes(*state, "/nul", "a\0b\n", 4);
	assert_int_equal(rd_sysroot_read_line(sr, &line, "/line"), 0);
	assert_string_equal(line, " two words");
	free(line);
	/* On a tree an ordinary read. */
	assert_int_equal(rd_sysroot_guarded_readf_line(sr, &line, "/%s", "line"), 0);
	assert_string_equal(line, " two words");
	free(line);
	assert_int_equal(rd_sysroot_read_bytes(sr, &bytes, &len, "/nul"), 0);
	assert_int_equal(len, 4);
	assert_memory_equal(bytes, "a\0b\n", 5);
	free(bytes);
	rd_sysroot_free(sr);
}

static void globs(struct rd_sysroot *sr, const char *pattern, const char *expect)
{
	struct rd_strv paths = RD_STRV_INIT;
	struct rd_strbuf all = RD_STRBUF_INIT;

	assert_int_equal(rd_sysroot_glob(sr, &paths, pattern), 0);
	for (size_t i = 0; i < paths.n; i++)
		rd_strbuf_addf(&all, "%s%s", i ? " " : "", paths.v[i]);
	assert_string_equal(all.buf, expect);
	rd_strbuf_release(&all);
	rd_strv_clear(&paths);
}

static void patterns_match_inside_components(void **state)
{
	struct rd_sysroot *sr;

	scratch_file(*state, "/opt/rocm-6.4.0/.info/version", "6.4.0");
	scratch_file(*state, "/opt/rocm-6.3.1/.info/version", "6.3.1");
	scratch_dir(*state, "/opt/rocm-bare");
	scratch_file(*state, "/opt/.hidden/.info/version", "no");
	scratch_link(*state, "/opt/rocm", "/opt/rocm-6.4.0");
	scratch_file(*state, "/opt/file", "");
	sr = scratch_open(*state);
	globs(sr, "/opt/rocm*", "/opt/rocm /opt/rocm-6.3.1 /opt/rocm-6.4.0 /opt/rocm-bare");
	globs(sr, "/opt/rocm-*/.info/version", "/opt/rocm-6.3.1/.info/version /opt/rocm-6.4.0/.info/version");
	globs(sr, "/opt/*/.info/version",
	      "/opt/rocm-6.3.1/.info/version /opt/rocm-6.4.0/.info/version /opt/rocm/.info/version");
	globs(sr, "/opt/.h*/.info/*", "/opt/.hidden/.info/version");
	globs(sr, "/o?t/rocm-?.?.?", "/opt/rocm-6.3.1 /opt/rocm-6.4.0");
	globs(sr, "/opt/file", "/opt/file");
	globs(sr, "/opt/file/*", "");
	globs(sr, "/nowhere/*", "");
	globs(sr, "/nowhere", "");
	globs(sr, "/*", "/etc /opt");
	rd_sysroot_free(sr);
}

static void absence_on_the_way_is_absence(void **state)
{
	struct rd_sysroot *sr;
	char *text = NULL;
	struct rd_stat st;

	scratch_file(*state, "/etc/file", "");
	sr = scratch_open(*state);
	read_fails(sr, "/etc/file/x", -ENOENT);
	list_fails(sr, "/etc/file/x", -ENOENT);
	list_fails(sr, "/etc/file", -ENOTDIR);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/file/x/y"), 0);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/etc/file/x"), -ENOENT);
	assert_int_equal(rd_sysroot_readlink(sr, &text, "/etc/file/x"), -ENOENT);
	assert_int_equal(rd_sysroot_readlink(sr, &text, "/etc/file"), -EINVAL);
	assert_int_equal(rd_sysroot_realpath(sr, &text, "/etc/file/x"), -ENOENT);
	rd_sysroot_free(sr);
}

/* ---- what a tree does not tell ---- */

static void a_tree_without_manifest_tells_nothing_but_its_files(void **state)
{
	const struct rd_uname *uname_of;
	const struct rd_user *user;
	uint64_t a, b;
	struct rd_strv all = RD_STRV_INIT;
	struct rd_sysroot *sr;
	const char *value;
	char *text = NULL;
	int64_t memlock;

	scratch_file(*state, "/etc/os-release", "ID=debian\n");
	sr = scratch_open(*state);
	assert_false(rd_sysroot_is_live(sr));
	assert_string_equal(rd_sysroot_dir(sr), *state);
	assert_int_equal(rd_sysroot_uname(sr, &uname_of), -ENODATA);
	assert_int_equal(rd_sysroot_user(sr, &user), -ENODATA);
	assert_int_equal(rd_sysroot_getenv(sr, &value, "PATH"), -ENODATA);
	assert_int_equal(rd_sysroot_environ(sr, &all), -ENODATA);
	assert_int_equal(rd_sysroot_memlock(sr, &memlock), -ENODATA);
	assert_int_equal(rd_sysroot_kmsg(sr, &text), -ENODATA);
	assert_int_equal(rd_sysroot_fs_free(sr, &a, &b, "/"), -ENODATA);
	/* The tree counts as complete ... */
	assert_int_equal(rd_sysroot_exists(sr, "/opt/rocm"), 0);
	/* ... where it can be: these are mount points, and nothing is mounted. */
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), -ENODATA);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/kfd"), -ENODATA);
	list_fails(sr, "/dev/dri", -ENODATA);
	read_fails(sr, "/proc/modules", -ENODATA);
	list_fails(sr, "/sys/class/drm", -ENODATA);
	rd_sysroot_free(sr);
}

static void empty_mount_points_tell_nothing(void **state)
{
	struct rd_sysroot *sr;

	scratch_dir(*state, "/sys");
	scratch_dir(*state, "/dev/shm");
	scratch_link(*state, "/dev/fd", "/proc/self/fd");
	scratch_file(*state, "/proc/modules", "amdgpu 1 0 - Live 0x0\n");
	sr = scratch_open(*state);
	list_fails(sr, "/sys", -ENODATA);
	list_fails(sr, "/sys/module", -ENODATA);
	/* No archive brings nodes along: that it brings a folder says nothing about them. */
	list_fails(sr, "/dev", -ENODATA);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/shm"), 1);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), -ENODATA);
	reads(sr, "/proc/modules", "amdgpu 1 0 - Live 0x0\n");
	read_fails(sr, "/proc/cmdline", -ENOENT);
	rd_sysroot_free(sr);
}

static void a_tree_with_real_nodes_tells_which_there_are(void **state)
{
	struct rd_sysroot *sr;
	struct rd_stat st;

	if (mkdir(scratch_path(*state, "/dev"), 0755) < 0 ||
	    mknod(scratch_path(*state, "/dev/null"), S_IFCHR | 0666, makedev(1, 3)) < 0)
		skip();
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/dev/null"), 0);
	assert_int_equal(st.type, RD_STAT_CHAR);
	assert_int_equal(st.major, 1);
	assert_int_equal(st.minor, 3);
	read_fails(sr, "/dev/null", -EINVAL);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), 0);
	lists(sr, "/dev", "null");
	/* A node of a tree is not opened: it is a node of the host that runs us. */
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/null"), -ENODATA);
	rd_sysroot_free(sr);
}

#define KFD "'/dev/kfd': {'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 109, 'major': 235, 'minor': 0, 'open': 'EACCES'}"
#define RENDER \
	"'/dev/dri/renderD128': {'type': 'char', 'mode': '0660', 'uid': 0, 'gid': 109, 'major': 226, 'minor': 128," \
	" 'open': 'ok', 'acl': [{'tag': 'user', 'id': 1000, 'perms': 'rw-'}]}"

static void nodes_of_the_manifest_are_there(void **state)
{
	struct rd_acl_entry *acl = NULL;
	struct rd_sysroot *sr;
	struct rd_stat st, again;
	char *text = NULL;

	scratch_link(*state, "/dev/dri/by-path/pci-0000:03:00.0-render", "../renderD128");
	scratch_link(*state, "/dev/char/226:128", "../dri/renderD128");
	scratch_manifest(*state, "'nodes': {" KFD ", " RENDER "}");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/dev/kfd"), 0);
	assert_int_equal(st.type, RD_STAT_CHAR);
	assert_int_equal(st.gid, 109);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/kfd"), -EACCES);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/dri/renderD128"), 0);
	/* Through links of the tree as well. */
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/dri/by-path/pci-0000:03:00.0-render"), 0);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/dev/dri/by-path/pci-0000:03:00.0-render"), 0);
	assert_int_equal(rd_sysroot_stat(sr, &again, "/dev/char/226:128"), 0);
	assert_true(st.dev == again.dev && st.ino == again.ino);
	assert_int_equal(rd_sysroot_realpath(sr, &text, "/dev/char/226:128"), 0);
	assert_string_equal(text, "/dev/dri/renderD128");
	free(text);
	lists(sr, "/dev", "char dri kfd");
	lists(sr, "/dev/dri", "by-path renderD128");
	globs(sr, "/dev/dri/renderD*", "/dev/dri/renderD128");
	assert_int_equal(rd_sysroot_acl(sr, &acl, "/dev/char/226:128"), 1);
	assert_int_equal(acl[0].tag, RD_ACL_USER);
	assert_int_equal(acl[0].id, 1000);
	assert_int_equal(acl[0].perms, 6);
	free(acl);
	assert_int_equal(rd_sysroot_acl(sr, &acl, "/dev/kfd"), 0);
	free(acl);
	read_fails(sr, "/dev/kfd", -EINVAL);
	/* With "nodes" it is known which there are. */
	assert_int_equal(rd_sysroot_exists(sr, "/dev/dri/renderD129"), 0);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/dri/renderD129"), -ENOENT);
	list_fails(sr, "/dev/kfd", -ENOTDIR);
	rd_sysroot_free(sr);
}

static void a_manifest_without_nodes_does_not_deny_them(void **state)
{
	struct rd_sysroot *sr;

	scratch_manifest(*state, "'uname': {'release': '6.8.0'}");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), -ENODATA);
	/* Of files the tree counts as complete. */
	assert_int_equal(rd_sysroot_exists(sr, "/sys/module/amdgpu"), 0);
	rd_sysroot_free(sr);
	scratch_manifest(*state, "'nodes': {}");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), 0);
	list_fails(sr, "/dev/dri", -ENOENT);
	rd_sysroot_free(sr);
}

static void nodes_make_the_folders_they_are_in(void **state)
{
	struct rd_sysroot *sr;
	struct rd_stat st;

	scratch_manifest(*state, "'nodes': {" RENDER "}");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/dev/dri"), 0);
	assert_int_equal(st.type, RD_STAT_DIR);
	lists(sr, "/dev/dri", "renderD128");
	lists(sr, "/dev", "dri");
	read_fails(sr, "/dev/dri", -EISDIR);
	rd_sysroot_free(sr);
}

static void an_empty_file_stands_for_its_node(void **state)
{
	struct rd_sysroot *sr;
	struct rd_stat st;

	scratch_file(*state, "/dev/kfd", "");
	scratch_manifest(*state, "'nodes': {" KFD "}");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/dev/kfd"), 0);
	assert_int_equal(st.type, RD_STAT_CHAR);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/kfd"), -EACCES);
	lists(sr, "/dev", "kfd");
	rd_sysroot_free(sr);
}

static void with_missing_only_what_was_asked_for_is_known(void **state)
{
	struct rd_sysroot *sr;
	char *text = NULL;

	scratch_file(*state, "/etc/os-release", "ID=debian\n");
	scratch_dir(*state, "/etc/modprobe.d");
	scratch_link(*state, "/opt/rocm", "/opt/rocm-6.4.0");
	scratch_link(*state, "/opt/link", "/opt/gone/x");
	scratch_manifest(*state,
	                 "'missing': ['/etc/modprobe.d/x.conf', '/sys/module/amdgpu', '/opt/gone'], 'nodes': {" KFD "}");
	sr = scratch_open(*state);
	reads(sr, "/etc/os-release", "ID=debian\n");
	read_fails(sr, "/etc/modprobe.d/x.conf", -ENOENT);
	read_fails(sr, "/etc/modprobe.d/y.conf", -ENODATA);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/modprobe.d/x.conf"), 0);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/modprobe.d/y.conf"), -ENODATA);
	/* What is in a folder that is not there is not there. */
	read_fails(sr, "/sys/module/amdgpu/version", -ENOENT);
	list_fails(sr, "/sys/module/amdgpu", -ENOENT);
	list_fails(sr, "/sys/module/kfd", -ENODATA);
	/* A folder that was captured, and those above what was captured. */
	lists(sr, "/etc/modprobe.d", "");
	assert_int_equal(rd_sysroot_exists(sr, "/etc"), 1);
	/* Where a link leads counts. */
	read_fails(sr, "/opt/rocm", -ENODATA);
	read_fails(sr, "/opt/link", -ENOENT);
	assert_int_equal(rd_sysroot_readlink(sr, &text, "/opt/rocm"), 0);
	free(text);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/kfd"), 1);
	assert_int_equal(rd_sysroot_exists(sr, "/dev/dri/renderD128"), -ENODATA);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/dri/renderD128"), -ENODATA);
	rd_sysroot_free(sr);
}

static void unreadable_is_not_absent(void **state)
{
	struct rd_sysroot *sr;
	struct rd_stat st;
	struct rd_file *f = NULL;
	char *text = NULL;

	scratch_file(*state, "/sys/devices/pci0/config", "");
	scratch_link(*state, "/sys/class/drm/card0/device", "../../../devices/pci0");
	scratch_file(*state, "/sys/devices/pci0/vendor", "0x1002\n");
	scratch_link(*state, "/sys/bus/pci/devices/0000:03:00.0", "../../../devices/pci0");
	scratch_dir(*state, "/root/secret");
	scratch_manifest(*state, "'unreadable': {'/sys/class/drm/card0/device/config': 'EIO', '/root/secret': 'EACCES',"
	                         " '/home/a': 'EPERM', '/dev/kmsg': 'EPERM'}");
	sr = scratch_open(*state);
	read_fails(sr, "/sys/class/drm/card0/device/config", -EIO);
	/* By its other names too. */
	read_fails(sr, "/sys/bus/pci/devices/0000:03:00.0/config", -EIO);
	read_fails(sr, "/sys/devices/pci0/../pci0/config", -EIO);
	assert_int_equal(rd_file_open(sr, &f, "/sys/devices/pci0/config"), -EIO);
	reads(sr, "/sys/class/drm/card0/device/vendor", "0x1002\n");
	/* It is there all the same. */
	assert_int_equal(rd_sysroot_exists(sr, "/sys/class/drm/card0/device/config"), 1);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/sys/devices/pci0/config"), 0);
	list_fails(sr, "/root/secret", -EACCES);
	assert_int_equal(rd_sysroot_exists(sr, "/root/secret"), 1);
	/* Whether something is in it cannot be known. */
	read_fails(sr, "/root/secret/x", -EACCES);
	read_fails(sr, "/home/a", -EPERM);
	assert_int_equal(rd_sysroot_exists(sr, "/home/a"), -EPERM);
	assert_int_equal(rd_sysroot_exists(sr, "/home/a/.venv"), -EPERM);
	assert_int_equal(rd_sysroot_exists(sr, "/home/ab"), 0);
	assert_int_equal(rd_sysroot_kmsg(sr, &text), -EPERM);
	rd_sysroot_free(sr);
}

static void the_manifest_tells_the_rest(void **state)
{
	const struct rd_uname *uname_of = NULL;
	const struct rd_user *user = NULL;
	struct rd_strv all = RD_STRV_INIT;
	struct rd_sysroot *sr;
	const char *value;
	char *text = NULL;
	int64_t memlock = 0;

	scratch_manifest(*state,
	                 "'uname': {'release': '6.8.0-45-generic'}, 'environment': {'PATH': '/bin', 'EMPTY': '', 'PATHX': 'x'},"
	                 "'user': {'name': 'me', 'uid': 1000, 'gid': 1000}, 'rlimits': {'memlock': -1}, 'kmsg': ['[1] a']");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_uname(sr, &uname_of), 0);
	assert_string_equal(uname_of->release, "6.8.0-45-generic");
	assert_string_equal(uname_of->machine, "");
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_string_equal(user->name, "me");
	assert_int_equal(user->groups_n, 1);
	assert_int_equal(rd_sysroot_getenv(sr, &value, "PATH"), 1);
	assert_string_equal(value, "/bin");
	assert_int_equal(rd_sysroot_getenv(sr, &value, "EMPTY"), 1);
	assert_string_equal(value, "");
	assert_int_equal(rd_sysroot_getenv(sr, &value, "HOME"), 0);
	assert_null(value);
	assert_int_equal(rd_sysroot_environ(sr, &all), 0);
	assert_int_equal(all.n, 3);
	assert_string_equal(all.v[0], "EMPTY=");
	rd_strv_clear(&all);
	assert_int_equal(rd_sysroot_memlock(sr, &memlock), 0);
	assert_true(memlock == INT64_MAX);
	assert_int_equal(rd_sysroot_kmsg(sr, &text), 0);
	assert_string_equal(text, "[1] a\n");
	free(text);
	rd_sysroot_free(sr);
}

static void a_bad_manifest_or_root_is_said(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	struct rd_sysroot *sr = NULL;

	scratch_file(*state, "rocm-doctor-snapshot.json", "{\"uname\": 5}");
	assert_int_equal(rd_sysroot_open(*state, &sr, &err), -EINVAL);
	assert_non_null(strstr(err.message, "rocm-doctor-snapshot.json': at '/uname': wants an object"));
	rd_error_clear(&err);
	unlink(scratch_path(*state, "rocm-doctor-snapshot.json"));
	scratch_link(*state, "rocm-doctor-snapshot.json", "/etc/passwd");
	assert_int_equal(rd_sysroot_open(*state, &sr, &err), -EINVAL);
	assert_non_null(strstr(err.message, "not a regular file"));
	rd_error_clear(&err);
	unlink(scratch_path(*state, "rocm-doctor-snapshot.json"));
	assert_int_equal(mkfifo(scratch_path(*state, "rocm-doctor-snapshot.json"), 0644), 0);
	assert_int_equal(rd_sysroot_open(*state, &sr, &err), -EINVAL);
	rd_error_clear(&err);
	unlink(scratch_path(*state, "rocm-doctor-snapshot.json"));
	close(open(scratch_path(*state, "rocm-doctor-snapshot.json"), O_CREAT | O_WRONLY, 0644));
	assert_int_equal(truncate(scratch_path(*state, "rocm-doctor-snapshot.json"), (off_t)1 << 33), 0);
	assert_int_equal(rd_sysroot_open(*state, &sr, &err), -EFBIG);
	rd_error_clear(&err);
	scratch_file(*state, "file", "");
	assert_int_equal(rd_sysroot_open(scratch_path(*state, "file"), &sr, &err), -ENOTDIR);
	rd_error_clear(&err);
	assert_int_equal(rd_sysroot_open(scratch_path(*state, "gone"), &sr, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/gone': no such file or directory"));
	rd_error_clear(&err);
	assert_int_equal(rd_sysroot_open("", &sr, &err), -ENOENT);
	rd_error_clear(&err);
	assert_null(sr);
}

/* ---- the walker does what the kernel does ---- */

static int refuse_openat2(unsigned error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -1;
	/* And it is refused indeed. */
	return syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == (int)error ? 0 : -1;
}

static char *describe_all(const char *dir, unsigned remembered)
{
	static const char *const paths[] = {
		"/",
		"/..",
		"/a",
		"/a/",
		"/a/b",
		"/a/b/c",
		"/a/b/../b/c",
		"/a/b/c/",
		"/a/b/c/..",
		"/a/b/c/x",
		"/abs",
		"/abs/c",
		"/rel",
		"/rel/c",
		"/up",
		"/up/a/b/c",
		"/loop",
		"/loop/x",
		"/dangling",
		"/dangling/x",
		"/chain39",
		"/chain40",
		"/to-file",
		"/to-file/",
		"/to-file/..",
		"/nowhere",
		"/nowhere/..",
		"/a/../../../a/b/c",
		"/fifo",
		"/to-root",
		"/to-root/..",
		"/slash",
		"/slash/b",
		"/dots",
		"/a/b/up3/a/b/c",
		"/outside",
		"/closed",
		"/closed/x",
		"/dot/.",
		"/./a/./b/./c",
		"//a//b//c",
		"/proc/self/root",
		"/file-slash",
		"/empty-dir",
		"/empty-dir/..",
		"/abs/../b",
	};
	struct rd_strbuf all = RD_STRBUF_INIT;
	struct rd_sysroot *sr = scratch_open(dir);

	rd_sysroot_remember(sr, remembered);
	/* Of several rounds the last one counts: then all has been seen before. */
	for (unsigned round = 0; round == 0 || round < remembered; round++) {
		rd_strbuf_truncate(&all, 0);
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
			describe(sr, paths[i], &all);
	}
	rd_sysroot_free(sr);
	return rd_strbuf_detach(&all);
}

static void walked(const char *dir, unsigned error)
{
	char *expect = describe_all(dir, 0), *got;
	int status;
	pid_t pid;

	/* Links of a tree were followed at all. */
	assert_non_null(strstr(expect, "/abs/c: read 0 'deep'"));
	pid = fork();
	if (pid == 0) {
		if (refuse_openat2(error) < 0)
			_exit(SKIPPED);
		got = describe_all(dir, 0);
		if (strcmp(got, expect) != 0)
			fprintf(stderr, "kernel:\n%s\nwalker:\n%s\n", expect, got);
		_exit(strcmp(got, expect) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(expect);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int make_links(void **state)
{
	char name[16], target[16];

	make_tree(state);
	scratch_file(*state, "/a/b/c", "deep");
	scratch_link(*state, "/abs", "/a/b");
	scratch_link(*state, "/rel", "a/b");
	scratch_link(*state, "/up", "../../../..");
	scratch_link(*state, "/loop", "loop");
	scratch_link(*state, "/dangling", "/nowhere/x");
	scratch_link(*state, "/to-file", "/a/b/c");
	scratch_link(*state, "/to-root", "/");
	scratch_link(*state, "/slash", "/a/");
	scratch_link(*state, "/file-slash", "/a/b/c/");
	scratch_link(*state, "/dots", "./a/.././a/b/c");
	scratch_link(*state, "/a/b/up3", "../../..");
	scratch_link(*state, "/outside", "/etc/hostname");
	scratch_dir(*state, "/empty-dir");
	mkfifo(scratch_path(*state, "/fifo"), 0644);
	scratch_file(*state, "/closed/x", "x");
	chmod(scratch_path(*state, "/closed"), 0);
	scratch_link(*state, "/chain0", "/a/b/c");
	for (int i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "/chain%d", i);
		snprintf(target, sizeof(target), "chain%d", i - 1);
		scratch_link(*state, name, target);
	}
	return 0;
}

static int remove_links(void **state)
{
	chmod(scratch_path(*state, "/closed"), 0755);
	return remove_tree(state);
}

static void without_openat2_every_answer_is_the_same(void **state)
{
	walked(*state, ENOSYS);
}

static void where_openat2_is_not_permitted_every_answer_is_the_same(void **state)
{
	walked(*state, EPERM);
}

static void where_openat2_is_too_old_every_answer_is_the_same(void **state)
{
	walked(*state, EINVAL);
}

static void what_is_remembered_is_answered_the_same(void **state)
{
	char *expect = describe_all(*state, 0);

	for (unsigned rounds = 1; rounds <= 2; rounds++) {
		char *got = describe_all(*state, rounds);

		assert_string_equal(got, expect);
		free(got);
	}
	free(expect);
}

static void remembering_takes_few_descriptors(void **state)
{
	char *expect = describe_all(*state, 0), *got;
	struct rlimit limit, few = { 16, 16 };
	int fds[16], n = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	got = describe_all(*state, 2);
	assert_string_equal(got, expect);
	while (n < 16 && (fds[n] = dup(0)) >= 0)
		n++;
	/* None was left open. */
	assert_true(n >= 8);
	while (n)
		close(fds[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	free(expect);
	free(got);
}

static void what_is_remembered_can_be_forgotten(void **state)
{
	struct rd_sysroot *sr;

	scratch_file(*state, "/old/file", "old");
	sr = scratch_open(*state);
	rd_sysroot_remember(sr, true);
	reads(sr, "/old/file", "old");
	lists(sr, "/old", "file");
	assert_int_equal(rd_sysroot_exists(sr, "/old/new"), 0);
	scratch_file(*state, "/old/new", "new");
	scratch_file(*state, "/old/file", "changed");
	/* One picture of the host, as it was. */
	lists(sr, "/old", "file");
	reads(sr, "/old/file", "old");
	assert_int_equal(rd_sysroot_exists(sr, "/old/new"), 0);
	rd_sysroot_remember(sr, false);
	lists(sr, "/old", "file new");
	reads(sr, "/old/file", "changed");
	reads(sr, "/old/new", "new");
	rd_sysroot_free(sr);
}

/* Of the names of a file that a snapshot has by hard links, one may have been out of reach. */
static void an_elf_file_is_kept_for_the_names_that_may_be_read(void **state)
{
	const Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		                    .e_type = ET_DYN,
		                    .e_machine = EM_X86_64,
		                    .e_version = EV_CURRENT,
		                    .e_ehsize = sizeof(header) };
	struct rd_reader reader = rd_reader_of_bytes(&header, sizeof(header));
	struct rd_elf *elf = NULL, *again;
	struct rd_sysroot *sr;
	struct rd_stat st;
	char *first;

	scratch_bytes(*state, "/usr/lib.so", &header, sizeof(header));
	scratch_dir(*state, "/root");
	first = strdup(scratch_path(*state, "/usr/lib.so"));
	assert_int_equal(link(first, scratch_path(*state, "/root/lib.so")), 0);
	free(first);
	scratch_link(*state, "/home", "root");
	scratch_manifest(*state, "'unreadable': {'/root/lib.so': 'EACCES'}");
	sr = scratch_open(*state);
	rd_sysroot_remember(sr, true);
	assert_int_equal(rd_elf_open(&reader, &elf, NULL), 0);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/usr/lib.so"), 0);
	assert_null(rd_sysroot_kept_elf(sr, &st, "/usr/lib.so"));
	rd_sysroot_keep_elf(sr, &st, elf);
	again = rd_sysroot_kept_elf(sr, &st, "/usr/lib.so");
	assert_ptr_equal(again, elf);
	rd_elf_close(again);
	assert_null(rd_sysroot_kept_elf(sr, &st, "/root/lib.so"));
	assert_null(rd_sysroot_kept_elf(sr, &st, "/usr/..//home/lib.so"));
	rd_elf_close(elf);
	rd_sysroot_free(sr);
}

static void what_changes_while_it_is_remembered_leads_nowhere_outside(void **state)
{
	char *from, *to;
	struct rd_sysroot *sr;

	scratch_file(*state, "/a/b/c", "inside");
	scratch_file(*state, "/etc/hostname", "ours");
	scratch_file(*state, "/etc/passwd", "file");
	sr = scratch_open(*state);
	rd_sysroot_remember(sr, true);
	assert_int_equal(rd_sysroot_exists(sr, "/a/b"), 1);
	assert_int_equal(rd_sysroot_exists(sr, "/a/b/hostname"), 0);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/passwd"), 1);
	/* A folder and a file become links to what the host has at these places. */
	from = strdup(scratch_path(*state, "/etc/passwd"));
	assert_int_equal(unlink(from), 0);
	scratch_link(*state, "/etc/passwd", "/etc/hostname");
	free(from);
	from = strdup(scratch_path(*state, "/a/b"));
	to = strdup(scratch_path(*state, "/a/was"));
	assert_int_equal(rename(from, to), 0);
	scratch_link(*state, "/a/b", "/etc");
	reads(sr, "/etc/passwd", "ours");
	read_fails(sr, "/a/b/hostname", -ENOENT);
	rd_sysroot_free(sr);
	free(from);
	free(to);
}

/* Where a path would be if all were there is no way to what is there. */
static void nothing_is_remembered_of_a_way_through_what_is_missing(void **state)
{
	struct rd_sysroot *sr;
	char *real = NULL;

	scratch_file(*state, "/moved/self/limits", "1");
	scratch_link(*state, "/proc", "/nonexist/../moved");
	sr = scratch_open(*state);
	for (int remembered = 0; remembered < 2; remembered++) {
		rd_sysroot_remember(sr, remembered);
		for (int round = 0; round < 2; round++) {
			read_fails(sr, "/proc/self/limits", -ENOENT);
			assert_int_equal(rd_sysroot_exists(sr, "/proc/self/limits"), 0);
			assert_int_equal(rd_sysroot_realpath(sr, &real, "/proc/self/limits"), -ENOENT);
		}
	}
	rd_sysroot_free(sr);
}

static void a_folder_that_becomes_a_link_is_found_by_the_kernel(void **state)
{
	struct rd_sysroot *sr;

	scratch_dir(*state, "/a");
	scratch_file(*state, "/etc/hostname", "ours");
	sr = scratch_open(*state);
	rd_sysroot_remember(sr, true);
	assert_int_equal(rd_sysroot_exists(sr, "/a"), 1);
	assert_int_equal(rmdir(scratch_path(*state, "/a")), 0);
	scratch_link(*state, "/a", "/etc");
	reads(sr, "/a/hostname", "ours");
	rd_sysroot_free(sr);
}

/* ---- users ---- */

static void another_user_is_found_in_the_files_of_the_root(void **state)
{
	struct rd_error err = RD_ERROR_INIT;
	const struct rd_user *user = NULL;
	struct rd_sysroot *sr;

	scratch_file(*state, "/etc/passwd",
	             "root:x:0:0:root:/root:/bin/bash\nbroken\n:::\nme:x:1000:100:,,,:/home/me:/bin/sh\n"
	             "big:x:99999999999:0::/:\n1001:x:1002:1002::/:\nother:x:1001:1001::/:");
	scratch_file(*state, "/etc/group",
	             "root:x:0:\nusers:x:100:\nvideo:x:44:you,me\nrender:x:109:me,x\nnot:x:45:meme,me2\n"
	             "bad:x:\nworse\nagain:x:44:me\n");
	sr = scratch_open(*state);
	assert_int_equal(rd_sysroot_set_user(sr, "me", &err), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_string_equal(user->name, "me");
	assert_int_equal(user->uid, 1000);
	assert_int_equal(user->groups_n, 3);
	assert_int_equal(user->groups[0].gid, 44);
	assert_string_equal(user->groups[0].name, "video");
	assert_int_equal(user->groups[1].gid, 100);
	assert_string_equal(user->groups[1].name, "users");
	assert_int_equal(user->groups[2].gid, 109);
	/* A uid, but a name first. */
	assert_int_equal(rd_sysroot_set_user(sr, "1000", &err), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_string_equal(user->name, "me");
	assert_int_equal(rd_sysroot_set_user(sr, "1001", &err), 0);
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_int_equal(user->uid, 1002);
	assert_int_equal(rd_sysroot_set_user(sr, "nobody", &err), -ENOENT);
	assert_string_equal(err.message, "cannot judge for user 'nobody': not in /etc/passwd");
	rd_error_clear(&err);
	rd_sysroot_free(sr);
}

/* ---- ACLs ---- */

static void acls_of_the_kernel_are_bounded(void **state)
{
	static const unsigned char good[] = { 2, 0, 0, 0, 1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, 2, 0, 4, 0, 0xe8, 3, 0, 0 };
	unsigned char bad[sizeof(good)], *large = calloc(1, RD_ACL_BYTES_MAX + 8);
	struct rd_acl_entry *acl = NULL;

	(void)state;
	assert_int_equal(rd_acl_parse(good, sizeof(good), &acl), 2);
	assert_int_equal(acl[0].tag, RD_ACL_USER_OBJ);
	assert_int_equal(acl[1].tag, RD_ACL_USER);
	assert_int_equal(acl[1].id, 1000);
	assert_int_equal(acl[1].perms, 4);
	free(acl);
	acl = NULL;
	for (size_t n = 0; n < sizeof(good); n++)
		if (n != 4 && n != 12)
			assert_int_equal(rd_acl_parse(good, n, &acl), -EINVAL);
	memcpy(bad, good, sizeof(bad));
	bad[0] = 3;
	assert_int_equal(rd_acl_parse(bad, sizeof(bad), &acl), -EINVAL);
	bad[0] = 2;
	bad[4] = 3;
	assert_int_equal(rd_acl_parse(bad, sizeof(bad), &acl), -EINVAL);
	assert_null(acl);
	large[0] = 2;
	assert_int_equal(rd_acl_parse(large, RD_ACL_BYTES_MAX + 8, &acl), -EINVAL);
	free(large);
}

/* ---- recording ---- */

struct note {
	struct rd_recorder recorder;
	struct rd_strbuf log;
};

static void take_note(struct rd_recorder *self, char what, const char *path, int result)
{
	rd_strbuf_addf(&((struct note *)self)->log, "%c %s %d\n", what, path, result);
}

static void every_access_is_recorded_with_its_answer(void **state)
{
	struct note note = { { take_note }, RD_STRBUF_INIT };
	struct rd_strv names = RD_STRV_INIT;
	struct rd_file *f = NULL;
	struct rd_sysroot *sr;
	struct rd_stat st;
	char *text = NULL;

	scratch_file(*state, "/etc/a", "a");
	scratch_link(*state, "/etc/l", "a");
	sr = scratch_open(*state);
	rd_sysroot_record(sr, &note.recorder);
	assert_int_equal(rd_sysroot_read(sr, &text, "/etc//a"), 0);
	free(text);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/b"), 0);
	assert_int_equal(rd_sysroot_stat(sr, &st, "/etc/l"), 0);
	assert_int_equal(rd_sysroot_readlink(sr, &text, "/etc/l"), 0);
	free(text);
	assert_int_equal(rd_sysroot_list(sr, &names, "/etc/"), 0);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/kfd"), -ENODATA);
	assert_int_equal(rd_file_open(sr, &f, "/etc/l"), 0);
	rd_file_close(f);
	rd_sysroot_record(sr, NULL);
	assert_int_equal(rd_sysroot_exists(sr, "/etc/c"), 0);
	assert_string_equal(note.log.buf,
	                    "r /etc/a 0\nx /etc/b -2\ns /etc/l 0\nk /etc/l 0\nl /etc 0\no /dev/kfd -61\nb /etc/l 0\n");
	rd_strbuf_release(&note.log);
	rd_strv_clear(&names);
	rd_sysroot_free(sr);
}

/* ---- the running system ---- */

static void the_running_system_is_asked_itself(void **state)
{
	const struct rd_uname *uname_of = NULL;
	const struct rd_user *user = NULL;
	struct rd_sysroot *sr = scratch_open("/");
	struct utsname u;
	const char *value;
	char *text = NULL;
	bool primary = false;

	(void)state;
	uname(&u);
	assert_true(rd_sysroot_is_live(sr));
	assert_string_equal(rd_sysroot_dir(sr), "/");
	assert_int_equal(rd_sysroot_uname(sr, &uname_of), 0);
	assert_string_equal(uname_of->release, u.release);
	setenv("ROCM_DOCTOR_TEST", "x=y", 1);
	assert_int_equal(rd_sysroot_getenv(sr, &value, "ROCM_DOCTOR_TEST"), 1);
	assert_string_equal(value, "x=y");
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	for (size_t i = 0; i < user->groups_n; i++)
		primary |= user->groups[i].gid == user->gid;
	assert_true(primary);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/null"), 0);
	assert_int_equal(rd_sysroot_open_node(sr, "/dev/rocm-doctor-test"), -ENOENT);
	read_fails(sr, "/dev/zero", -EINVAL);
	assert_int_equal(rd_sysroot_guarded_readf_line(sr, &text, "/proc/%s/comm", "self"), 0);
	free(text);
	assert_int_equal(rd_sysroot_guarded_readf_line(sr, &text, "/dev/zero"), -EINVAL);
	assert_int_equal(rd_sysroot_guarded_readf_line(sr, &text, "/nowhere"), -ENOENT);
	rd_sysroot_free(sr);
	/* Nobody is left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void files_without_a_size_are_read_to_their_end(void **state)
{
	struct rd_sysroot *sr = scratch_open("/");
	char *text = NULL, *status = NULL;

	(void)state;
	assert_int_equal(rd_sysroot_read(sr, &text, "/proc/self/maps"), 0);
	assert_non_null(strstr(text, "[stack]"));
	assert_int_equal(rd_sysroot_read(sr, &status, "/proc/self/status"), 0);
	assert_true(rd_sysroot_bytes_read(sr) >= strlen(text) + strlen(status));
	free(text);
	free(status);
	rd_sysroot_free(sr);
}

static void without_sudo_the_caller_is_judged_and_with_it_who_called_sudo(void **state)
{
	const struct rd_user *user = NULL;
	struct rd_sysroot *sr;

	(void)state;
	if (geteuid() != 0)
		skip();
	setenv("SUDO_USER", "daemon", 1);
	setenv("SUDO_UID", "1", 1);
	sr = scratch_open("/");
	if (rd_sysroot_user(sr, &user) == 0) {
		assert_string_equal(user->name, "daemon");
		assert_int_equal(user->uid, 1);
	}
	rd_sysroot_free(sr);
	/* root became root: there is nobody else. */
	setenv("SUDO_USER", "root", 1);
	setenv("SUDO_UID", "0", 1);
	sr = scratch_open("/");
	assert_int_equal(rd_sysroot_user(sr, &user), 0);
	assert_int_equal(user->uid, 0);
	rd_sysroot_free(sr);
	unsetenv("SUDO_USER");
	unsetenv("SUDO_UID");
}

#define ON_TREE(test) cmocka_unit_test_setup_teardown(test, make_tree, remove_tree)
#define ON_LINKS(test) cmocka_unit_test_setup_teardown(test, make_links, remove_links)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_TREE(links_lead_nowhere_outside_the_root),
		ON_TREE(loops_and_odd_names_are_answered),
		ON_TREE(only_regular_files_are_read),
		ON_TREE(what_is_too_large_is_refused_unread),
		ON_TREE(the_beginning_of_a_binary_is_read_once),
		ON_TREE(numbers_are_whole_numbers),
		ON_TREE(a_line_loses_the_white_space_at_its_end),
		ON_TREE(patterns_match_inside_components),
		ON_TREE(absence_on_the_way_is_absence),
		ON_TREE(a_tree_without_manifest_tells_nothing_but_its_files),
		ON_TREE(empty_mount_points_tell_nothing),
		ON_TREE(a_tree_with_real_nodes_tells_which_there_are),
		ON_TREE(nodes_of_the_manifest_are_there),
		ON_TREE(a_manifest_without_nodes_does_not_deny_them),
		ON_TREE(nodes_make_the_folders_they_are_in),
		ON_TREE(an_empty_file_stands_for_its_node),
		ON_TREE(with_missing_only_what_was_asked_for_is_known),
		ON_TREE(unreadable_is_not_absent),
		ON_TREE(the_manifest_tells_the_rest),
		ON_TREE(a_bad_manifest_or_root_is_said),
		ON_LINKS(without_openat2_every_answer_is_the_same),
		ON_LINKS(where_openat2_is_not_permitted_every_answer_is_the_same),
		ON_LINKS(where_openat2_is_too_old_every_answer_is_the_same),
		ON_LINKS(what_is_remembered_is_answered_the_same),
		ON_LINKS(remembering_takes_few_descriptors),
		ON_TREE(what_is_remembered_can_be_forgotten),
		ON_TREE(an_elf_file_is_kept_for_the_names_that_may_be_read),
		ON_TREE(what_changes_while_it_is_remembered_leads_nowhere_outside),
		ON_TREE(nothing_is_remembered_of_a_way_through_what_is_missing),
		ON_TREE(a_folder_that_becomes_a_link_is_found_by_the_kernel),
		ON_TREE(another_user_is_found_in_the_files_of_the_root),
		cmocka_unit_test(acls_of_the_kernel_are_bounded),
		ON_TREE(every_access_is_recorded_with_its_answer),
		cmocka_unit_test(the_running_system_is_asked_itself),
		cmocka_unit_test(files_without_a_size_are_read_to_their_end),
		cmocka_unit_test(without_sudo_the_caller_is_judged_and_with_it_who_called_sudo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
