#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "rocm-doctor/error.h"
#include "util/str.h"
#include "util/strbuf.h"

int rd_error_set(struct rd_error *err, int code, const char *format, ...)
{
	struct rd_strbuf sb = RD_STRBUF_INIT;
	va_list ap;

	if (!err || err->message)
		return code;
	va_start(ap, format);
	rd_strbuf_vaddf(&sb, format, ap);
	va_end(ap);
	err->code = code;
	err->message = rd_strbuf_detach(&sb);
	return code;
}

void rd_error_clear(struct rd_error *err)
{
	free(err->message);
	*err = (struct rd_error)RD_ERROR_INIT;
}

static const struct {
	int value;
	const char *name;
	const char *words;
} errnos[] = {
	{ EPERM, "EPERM", "operation not permitted" },
	{ ENOENT, "ENOENT", "no such file or directory" },
	{ EINTR, "EINTR", "interrupted" },
	{ EIO, "EIO", "input/output error" },
	{ ENXIO, "ENXIO", "no such device or address" },
	{ EBADF, "EBADF", "bad file descriptor" },
	{ EAGAIN, "EAGAIN", "resource temporarily unavailable" },
	{ ENOMEM, "ENOMEM", "cannot allocate memory" },
	{ EACCES, "EACCES", "permission denied" },
	{ EFAULT, "EFAULT", "bad address" },
	{ EBUSY, "EBUSY", "device or resource busy" },
	{ EEXIST, "EEXIST", "file exists" },
	{ EXDEV, "EXDEV", "leads out of the root" },
	{ ENODEV, "ENODEV", "no such device" },
	{ ENOTDIR, "ENOTDIR", "not a directory" },
	{ EISDIR, "EISDIR", "is a directory" },
	{ EINVAL, "EINVAL", "not what was expected there" },
	{ ENFILE, "ENFILE", "too many open files on the host" },
	{ EMFILE, "EMFILE", "too many open files" },
	{ EFBIG, "EFBIG", "larger than is read" },
	{ ENOSPC, "ENOSPC", "no space left on device" },
	{ EROFS, "EROFS", "read-only file system" },
	{ ERANGE, "ERANGE", "number out of range" },
	{ ENAMETOOLONG, "ENAMETOOLONG", "name too long" },
	{ ENOSYS, "ENOSYS", "not implemented by this kernel" },
	{ ENOTEMPTY, "ENOTEMPTY", "directory not empty" },
	{ ELOOP, "ELOOP", "too many levels of symbolic links" },
	{ ENODATA, "ENODATA", "not captured in this snapshot" },
	{ EOVERFLOW, "EOVERFLOW", "value too large" },
	{ EILSEQ, "EILSEQ", "malformed text" },
	{ EBADMSG, "EBADMSG", "malformed data" },
	{ ENOEXEC, "ENOEXEC", "not an ELF file" },
	{ EOPNOTSUPP, "EOPNOTSUPP", "not supported" },
	{ ETIMEDOUT, "ETIMEDOUT", "no answer in time" },
	{ EHOSTDOWN, "EHOSTDOWN", "device is down" },
	{ ESTALE, "ESTALE", "changed since it was read" },
	{ EUCLEAN, "EUCLEAN", "structure needs cleaning" },
	{ EREMOTEIO, "EREMOTEIO", "remote input/output error" },
	{ ECANCELED, "ECANCELED", "cancelled" },
	{ EPIPE, "EPIPE", "broken pipe" },
	{ ESRCH, "ESRCH", "no such process" },
	{ E2BIG, "E2BIG", "argument list too long" },
	{ ECHILD, "ECHILD", "no child process" },
	{ ETXTBSY, "ETXTBSY", "text file busy" },
	{ ENOTTY, "ENOTTY", "not supported by this device" },
	{ ESPIPE, "ESPIPE", "illegal seek" },
	{ EMLINK, "EMLINK", "too many links" },
	{ EDEADLK, "EDEADLK", "would deadlock" },
	{ ENOTBLK, "ENOTBLK", "not a block device" },
	{ ETIME, "ETIME", "timer expired" },
	{ EPROTO, "EPROTO", "protocol error" },
	{ EMSGSIZE, "EMSGSIZE", "message too long" },
	{ ENOBUFS, "ENOBUFS", "no buffer space" },
	{ EADDRINUSE, "EADDRINUSE", "address in use" },
	{ ECONNREFUSED, "ECONNREFUSED", "connection refused" },
	{ ECONNRESET, "ECONNRESET", "connection reset" },
	{ EALREADY, "EALREADY", "already in progress" },
	{ EINPROGRESS, "EINPROGRESS", "in progress" },
	{ EDQUOT, "EDQUOT", "quota exceeded" },
	{ ENOMEDIUM, "ENOMEDIUM", "no medium" },
	{ ENOKEY, "ENOKEY", "no such key" },
	{ EHWPOISON, "EHWPOISON", "memory page has a hardware error" },
	{ ENOTRECOVERABLE, "ENOTRECOVERABLE", "not recoverable" },
	{ ESHUTDOWN, "ESHUTDOWN", "shut down" },
	{ EUSERS, "EUSERS", "too many users" },
	{ ENOLINK, "ENOLINK", "link has been severed" },
	{ ENOTCONN, "ENOTCONN", "not connected" },
	{ EXFULL, "EXFULL", "exchange full" },
};

const char *rd_strerror(int err)
{
	static _Thread_local char other[32];

	err = abs(err);
	for (size_t i = 0; i < RD_ARRAY_SIZE(errnos); i++)
		if (errnos[i].value == err)
			return errnos[i].words;
	snprintf(other, sizeof(other), "error %d", err);
	return other;
}

const char *rd_errno_name(int err)
{
	err = abs(err);
	for (size_t i = 0; i < RD_ARRAY_SIZE(errnos); i++)
		if (errnos[i].value == err)
			return errnos[i].name;
	return NULL;
}

int rd_errno_value(const char *name)
{
	for (size_t i = 0; i < RD_ARRAY_SIZE(errnos); i++)
		if (rd_streq(errnos[i].name, name))
			return errnos[i].value;
	return 0;
}
