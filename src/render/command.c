#include "command.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "rocm-doctor/macros.h"
#include "util/str.h"
#include "util/strbuf.h"
#include "util/strv.h"
#include "util/xalloc.h"

/* "NAME=value command". */
static bool begins_with_assignment(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n && text[n] == '=' && strchr(text, ' ');
}

static bool is_command(const char *text)
{
	static const char *const programs[] = {
		"sudo ",        "apt ",      "dnf ",       "zypper ",    "pip ",     "python3 ",
		"uv ",          "docker ",   "podman ",    "apptainer ", "kubectl ", "echo ",
		"printf ",      "modprobe ", "systemctl ", "export ",    "unset ",   "newgrp ",
		"rm ",          "cp ",       "ln ",        "ls ",        "df ",      "curl ",
		"cmake ",       "lspci ",    "amd-smi ",   "rocm-smi ",  "wsl ",     "amdgpu-install ",
		"rocm-doctor ",
	};

	for (size_t i = 0; i < RD_ARRAY_SIZE(programs); i++)
		if (rd_str_has_prefix(text, programs[i]))
			return true;
	/* A program by its path, with arguments. */
	return begins_with_assignment(text) || (*text == '/' && strstr(text, " -"));
}

const char *rd_command_in(const char *text)
{
	const char *colon = text;

	if (is_command(text))
		return text;
	while ((colon = strstr(colon, ": ")) != NULL) {
		colon += 2;
		if (is_command(colon))
			return colon;
	}
	return NULL;
}

char *rd_command_about(const char *text, const struct rd_strv *again)
{
	static const char ours[] = "rocm-doctor ";
	const char *command = rd_command_in(text), *options;
	struct rd_strbuf sb = RD_STRBUF_INIT;

	if (!command || !again || !rd_str_has_prefix(command, ours) || strstr(command, " --pid "))
		return rd_xstrdup(text);
	options = command + strlen(ours) + strcspn(command + strlen(ours), " ");
	rd_strbuf_addn(&sb, text, (size_t)(options - text));
	for (size_t i = 0; i < again->n; i++)
		rd_strbuf_addf(&sb, " %s", again->v[i]);
	rd_strbuf_add(&sb, options);
	return rd_strbuf_detach(&sb);
}
